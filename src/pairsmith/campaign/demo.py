"""A campaign to try: the digits of scikit-learn, as images, of which people choose the larger."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from pairsmith.campaign import is_url
from pairsmith.campaign.create import check_place, create
from pairsmith.campaign.database import CampaignError
from pairsmith.data.arrays import Floats
from pairsmith.datasets.embedded import digits
from pairsmith.files.items import Items


def make_demo(target: str, count: int = 300, k: int = 60, seed: int = 0) -> int:
    """A campaign from the digits of scikit-learn, as images in a folder beside it: which is larger?"""
    check_place(target)
    data = digits()
    chosen = np.sort(np.random.default_rng(seed).choice(len(data.X), count, replace=False))
    folder = Path(target).with_suffix("") if not is_url(target) else Path("digits")
    folder = folder.with_name(f"{folder.name}-images")
    folder.mkdir(exist_ok=True)
    X = data.X[chosen]
    shown: list[list[tuple[str, str]]] = []
    for row, pixels in zip(chosen, X, strict=True):
        path = folder / f"{row}.png"
        try:
            path.write_bytes(png(pixels.reshape(8, 8) / 16))
        except OSError as error:  # that of a full disk names no file
            raise CampaignError(f"{path} cannot be written: {error.strerror}") from None
        shown.append([("image", path.name)])
    X = X / 16
    X = X[:, X.std(axis=0) > 0]
    names = [f"pixel_{column}" for column in range(X.shape[1])]
    features = pd.DataFrame(X, index=[f"digit {row}" for row in chosen], columns=names)
    return create(
        target,
        Items(Path(target), features),
        shown,
        question="Which digit is larger?",
        instructions="Choose the **larger digit**: 7 is larger than 3. Where both are the same, call it a tie. Where"
        " you cannot read one of them, skip.",
        k=k,
        media=folder,
    )


def png(ink: Floats, size: int = 120) -> bytes:
    """A small grey picture of values from 0 (paper) to 1 (ink), enlarged smoothly."""
    from scipy.ndimage import zoom

    large = np.clip(zoom(np.pad(ink, 1), size / (len(ink) + 2), order=3, mode="nearest", grid_mode=True), 0, 1)
    grey = np.round(255 * (1 - np.clip(1.5 * large - 0.25, 0, 1))).astype(np.uint8)  # crisper than it was scanned
    height, width = grey.shape
    raw = np.hstack([np.zeros((height, 1), dtype=np.uint8), grey]).tobytes()  # each line: no filter

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b"")
