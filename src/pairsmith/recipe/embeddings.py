"""Embeddings that are installed: by name, a function from a list of texts or of image files to an array.

`EMBEDDINGS[name](model)` gives that function; what a user calls "fastembed:BAAI/bge-small-en-v1.5" is
EMBEDDINGS["fastembed"]("BAAI/bge-small-en-v1.5"). Another one is another entry. Nothing is ever downloaded here: what
is not installed, or has no weights on disk, gets an error of one line that says how to get it.

Vectors can be kept in a cache, a SQLite file, under a hash of the embedding's name and of the content: what was
embedded before, in a run that was stopped too, is not embedded again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import textwrap
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.recipe.images import square

Embed = Callable[[list[Any]], Any]  # from texts, or from paths of image files, to an (n, d) array
_BATCH = 256
_MEAN, _SPREAD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet, as its models expect


def check(name: str) -> None:
    """Refuse what is no embedding, or not installed, before any work; weights are looked for when they are needed."""
    source = name.partition(":")[0]
    if source not in EMBEDDINGS:
        raise ValueError(f"there is no embedding {source!r}; choose one of {', '.join(EMBEDDINGS)}")
    module = _MODULES.get(source)
    if module is not None and find_spec(module) is None:
        package = module.replace("_", "-")
        raise ValueError(f"the embedding {source!r} needs {package}; pip install {package}")


def find(name: str) -> Embed:
    """The function that this name stands for."""
    check(name)
    source, _, model = name.partition(":")
    return EMBEDDINGS[source](model)


def embed(
    name: str,
    values: Sequence[str] | Sequence[Path],
    cache: Path | None = None,
    tell: Callable[[int], object] = lambda _: None,
) -> Floats:
    """(N, d) vectors of texts, or of image files; `tell` hears how many more are done."""
    keys = [_key(name, value) for value in values]
    known: dict[str, Floats] = {}
    with closing(sqlite3.connect(":memory:" if cache is None else cache)) as kept:
        try:
            kept.execute("CREATE TABLE IF NOT EXISTS embedded (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        except sqlite3.DatabaseError:
            raise ValueError(f"cache {cache} is no cache of embeddings; name another file, or delete it") from None
        for key, vector in kept.execute("SELECT key, vector FROM embedded"):
            known[key] = np.frombuffer(vector, dtype="<f8")
        new = list({key: value for key, value in zip(keys, values, strict=True) if key not in known}.items())
        tell(len(values) - len(new))
        function = find(name) if new else list  # weights are loaded only where they are needed
        for low in range(0, len(new), _BATCH):
            some = new[low : low + _BATCH]
            found = _checked(function([value for _, value in some]), len(some), name)
            known |= {key: vector for (key, _), vector in zip(some, found, strict=True)}
            rows = [(key, known[key].astype("<f8").tobytes()) for key, _ in some]
            with kept:  # a batch is kept as soon as it is there, for a run that is stopped
                kept.executemany("INSERT INTO embedded VALUES (?, ?)", rows)
            tell(len(some))
    lengths = {len(known[key]) for key in keys}
    if len(lengths) > 1:
        raise ValueError(f"the embedding {name!r} gives vectors of different lengths; delete the cache {cache}")
    return np.stack([known[key] for key in keys])


def _key(name: str, value: str | Path) -> str:
    content = value.read_bytes() if isinstance(value, Path) else value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name.encode() + b"\0" + content, digest_size=16).hexdigest()


def _checked(found: Any, n: int, name: str) -> Floats:
    array = np.asarray(found, dtype=np.float64)
    if array.ndim != 2 or len(array) != n or not np.isfinite(array).all():
        raise ValueError(f"the embedding {name!r} gave an array of shape {array.shape} for {n}; want one row each")
    return array


def _cause(error: Exception) -> str:
    """What a library says, on one line and no longer than can be read at once."""
    return textwrap.shorten(str(error), 200) or type(error).__name__


def _sentence_transformers(model: str) -> Embed:
    from sentence_transformers import SentenceTransformer

    model = model or "all-MiniLM-L6-v2"
    try:
        loaded = SentenceTransformer(model, local_files_only=True)
    except Exception as error:  # of several libraries, each with its own
        raise ValueError(
            f"sentence-transformers cannot load {model!r} from this disk ({_cause(error)}); where its weights are"
            f" missing: python -c \"from sentence_transformers import SentenceTransformer as S; S('{model}')\""
        ) from None
    return lambda texts: loaded.encode(texts, show_progress_bar=False)


def _fastembed(model: str) -> Embed:
    from fastembed import TextEmbedding

    model = model or "BAAI/bge-small-en-v1.5"
    try:
        loaded = TextEmbedding(model, local_files_only=True)
    except Exception as error:  # as above
        raise ValueError(
            f"fastembed cannot load {model!r} from this disk ({_cause(error)}); where its weights are missing:"
            f" python -c \"from fastembed import TextEmbedding as T; T('{model}')\""
        ) from None
    return lambda texts: np.stack(list(loaded.embed(texts)))


def _onnx(model: str) -> Embed:
    """A model of images in a file: its one input is (n, 3, side, side), standardised as of ImageNet."""
    if not model or not Path(model).is_file():
        raise ValueError(f"onnx: there is no model file {model!r}; name one, such as onnx:resnet18.onnx")
    from onnxruntime import InferenceSession

    try:
        session = InferenceSession(model, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise ValueError(f"{model} is no ONNX model ({_cause(error)})") from None
    entry = session.get_inputs()[0]
    side = entry.shape[-1] if isinstance(entry.shape[-1], int) else 224

    def vectors(paths: list[Path]) -> Any:
        pictures = np.stack([square(path, 0, lambda _: "image", side)[0] for path in paths])
        standard = np.moveaxis((pictures - _MEAN) / _SPREAD, -1, 1).astype(np.float32)
        return session.run(None, {entry.name: np.ascontiguousarray(standard)})[0].reshape(len(paths), -1)

    return vectors


_MODULES = {"sentence-transformers": "sentence_transformers", "fastembed": "fastembed", "onnx": "onnxruntime"}
EMBEDDINGS: dict[str, Callable[[str], Embed]] = {
    "sentence-transformers": _sentence_transformers,
    "fastembed": _fastembed,
    "onnx": _onnx,
}
