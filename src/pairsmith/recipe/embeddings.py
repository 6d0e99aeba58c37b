"""Embeddings that are installed: by name, a function from a list of texts or of image files to an array.

`EMBEDDINGS[name](model)` gives that function; what a user calls "fastembed:BAAI/bge-small-en-v1.5" is
EMBEDDINGS["fastembed"]("BAAI/bge-small-en-v1.5"). Another one is another entry. Nothing is ever downloaded here: what
is not installed, or has no weights on disk, gets an error of one line that says how to get it.

Vectors can be kept in a cache, a SQLite file, under a hash of the embedding's name (and of the model's file, where it
is one) and of the content: what was embedded before, in a run that was stopped too, is not embedded again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.recipe.images import square

Embed = Callable[[list[Any]], Any]  # from texts, or from paths of image files, to an (n, d) array
_BATCH = 256
_MEAN, _SPREAD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet, as its models expect


def check(name: str, kind: str | None = None) -> None:
    """Refuse what is no embedding, not one of this kind (text or image), or not installed, before any work.

    Weights are looked for when they are needed.
    """
    source = name.partition(":")[0]
    if source not in EMBEDDINGS:
        raise ValueError(f"there is no embedding {source!r}; choose one of {', '.join(EMBEDDINGS)}")
    if kind is not None and _KINDS.get(source, kind) != kind:
        raise ValueError(f"the embedding {source!r} is for {_KINDS[source]}s, not for {kind}s")
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
    identity = _identity(name)
    keys = [_key(identity, value) for value in values]
    known = _kept(cache)
    new = list({key: value for key, value in zip(keys, values, strict=True) if key not in known}.items())
    tell(len(values) - len(new))
    function = find(name) if new else list  # weights are loaded only where they are needed
    with closing(sqlite3.connect(":memory:" if cache is None else cache)) as kept:
        kept.execute("CREATE TABLE IF NOT EXISTS embedded (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        for low in range(0, len(new), _BATCH):
            some = new[low : low + _BATCH]
            found = _vectors(function, [value for _, value in some], name)
            known |= {key: vector for (key, _), vector in zip(some, found, strict=True)}
            rows = [(key, known[key].astype("<f8").tobytes()) for key, _ in some]
            with kept:  # a batch is kept as soon as it is there, for a run that is stopped
                kept.executemany("INSERT INTO embedded VALUES (?, ?)", rows)
            tell(len(some))
    lengths = {len(known[key]) for key in keys}
    if len(lengths) > 1:
        raise ValueError(f"the embedding {name!r} gives vectors of different lengths; delete the cache {cache}")
    return np.stack([known[key] for key in keys])


def _kept(cache: Path | None) -> dict[str, Floats]:
    """What is in the cache."""
    if cache is None or not cache.exists():
        return {}
    try:
        with closing(sqlite3.connect(cache)) as kept:
            kept.execute("CREATE TABLE IF NOT EXISTS embedded (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
            return {key: np.frombuffer(vector, dtype="<f8") for key, vector in kept.execute("SELECT * FROM embedded")}
    except sqlite3.DatabaseError:
        raise ValueError(f"cache {cache} is no cache of embeddings; name another file, or delete it") from None


def _identity(name: str) -> bytes:
    """What tells embeddings apart: the name and, where a file has the model, what is in it."""
    model = Path(name.partition(":")[2])
    return name.encode() + b"\0" + (hashlib.blake2b(model.read_bytes()).digest() if model.is_file() else b"")


def _key(identity: bytes, value: str | Path) -> str:
    content = value.read_bytes() if isinstance(value, Path) else value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(identity + content, digest_size=16).hexdigest()


def _vectors(function: Embed, values: list[Any], name: str) -> Floats:
    try:
        found = function(values)
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # of a library, of which each has its own
        raise ValueError(f"the embedding {name!r} failed ({_cause(error)})") from None
    return _checked(found, len(values), name)


def _checked(found: Any, n: int, name: str) -> Floats:
    array = np.asarray(found, dtype=np.float64)
    if array.ndim != 2 or len(array) != n or not np.isfinite(array).all():
        raise ValueError(f"the embedding {name!r} gave an array of shape {array.shape} for {n}; want one row each")
    return array


def _cause(error: Exception) -> str:
    """What a library says, on one line and no longer than can be read at once."""
    return textwrap.shorten(str(error), 200) or type(error).__name__


@contextmanager
def _by_itself() -> Iterator[None]:
    """While a library loads weights: the hub is not asked, which it would be even for files on disk, and no chatter."""
    try:
        from huggingface_hub import constants
    except ImportError:
        constants = None
    before = getattr(constants, "HF_HUB_OFFLINE", False)
    try:
        if constants is not None:
            constants.HF_HUB_OFFLINE = True
        with redirect_stderr(StringIO()):
            yield
    finally:
        if constants is not None:
            constants.HF_HUB_OFFLINE = before


def _sentence_transformers(model: str) -> Embed:
    model = model or "all-MiniLM-L6-v2"
    try:
        with _by_itself():
            from sentence_transformers import SentenceTransformer

            loaded = SentenceTransformer(model, local_files_only=True)
    except Exception as error:  # of several libraries, each with its own
        raise ValueError(
            f"sentence-transformers cannot load {model!r} from this disk ({_cause(error)}); where its weights are"
            f" missing: python -c \"from sentence_transformers import SentenceTransformer as S; S('{model}')\""
        ) from None
    return lambda texts: loaded.encode(texts, show_progress_bar=False)


def _fastembed(model: str) -> Embed:
    model = model or "BAAI/bge-small-en-v1.5"
    try:
        with _by_itself():
            from fastembed import TextEmbedding

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
    entry, *others = session.get_inputs()
    shape = list(entry.shape)
    if others or len(shape) != 4 or shape[1] != 3 or shape[2] != shape[3] or entry.type != "tensor(float)":
        described = "; ".join(f"{one.name}: {one.type} of {one.shape}" for one in (entry, *others))
        raise ValueError(f"{model} takes {described}; needed is one tensor(float) of (n, 3, side, side)")
    side = shape[3] if isinstance(shape[3], int) else 224
    at_once = shape[0] if isinstance(shape[0], int) else None  # many models are made for a batch of one

    def vectors(paths: list[Path]) -> Any:
        pictures = np.stack([square(path, 0, lambda _: "image", side)[0] for path in paths])
        standard = np.moveaxis((pictures - _MEAN) / _SPREAD, -1, 1).astype(np.float32)
        size = at_once or len(paths)
        found = []
        for low in range(0, len(paths), size):
            some = standard[low : low + size]
            filled = np.concatenate([some, np.zeros((size - len(some), *some.shape[1:]), dtype=np.float32)])
            found.append(session.run(None, {entry.name: np.ascontiguousarray(filled)})[0][: len(some)])
        return np.concatenate(found).reshape(len(paths), -1)

    return vectors


_MODULES = {"sentence-transformers": "sentence_transformers", "fastembed": "fastembed", "onnx": "onnxruntime"}
_KINDS = {"sentence-transformers": "text", "fastembed": "text", "onnx": "image"}  # of columns; others take any
EMBEDDINGS: dict[str, Callable[[str], Embed]] = {
    "sentence-transformers": _sentence_transformers,
    "fastembed": _fastembed,
    "onnx": _onnx,
}
