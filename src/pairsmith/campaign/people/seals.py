"""Seals: marks that only this user's key can make, on campaigns and invites that this user made or confirmed.

The key is 32 random bytes in a file of the user. A campaign from elsewhere may name any folder to show files from, and
may hold invites whose links its sender knows. Without a seal, neither is valid.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

from pairsmith.campaign.store.database import CampaignError

KEY_BYTES = 32
# Requests need the key even when the process cannot open another file.
_keys_read: dict[Path, bytes] = {}


class NoKey(CampaignError):
    """There is no place to keep a key."""


def home() -> Path:
    """Return the folder of the key: $PAIRSMITH_HOME, or where the platform keeps data of applications."""
    if own := os.environ.get("PAIRSMITH_HOME"):
        return Path(own)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", ""))
        if not base.is_absolute():
            base = Path.home() / ".local" / "share"
    return base / "pairsmith"


def key(make: bool = True) -> bytes | None:
    """Return this user's key. If there is none, make one or, without `make`, return None."""
    try:
        place = home() / "key"
    except RuntimeError:  # the user has no home
        place = Path("~/pairsmith/key")
    if place in _keys_read:
        return _keys_read[place]
    try:
        try:
            own = place.read_bytes()
        except FileNotFoundError:
            if not make:
                return None
            own = _make_key(place)
    except OSError as error:
        if not make:
            return None
        raise NoKey(
            f"no key can be kept in {place.parent} ({error.strerror}); set PAIRSMITH_HOME to a folder of yours that"
            " can be written to"
        ) from None
    if len(own) != KEY_BYTES:
        if not make:
            return None
        raise NoKey(f"{place} is no key of pairsmith ({len(own)} bytes, not {KEY_BYTES}); delete it, and confirm anew")
    _keys_read[place] = own
    return own


def _make_key(place: Path) -> bytes:
    """Make a key and return it, or the key of another process that was faster. A key appears whole or not at all."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = place.with_name(f".key.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, place)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not place.exists():
                os.replace(temporary, place)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return place.read_bytes()


def seal(*sealed: str) -> str:
    """Return this user's seal on these texts."""
    own = key()
    assert own is not None
    return _seal(own, sealed)


def is_valid(mark: object, *sealed: object) -> bool:
    """Return whether this is this user's seal on these texts."""
    own = key(make=False)
    if own is None or not isinstance(mark, str) or not all(isinstance(text, str) for text in sealed):
        return False
    return hmac.compare_digest(_seal(own, sealed).encode(), mark.encode("utf-8", "surrogatepass"))


def _seal(own: bytes, sealed: tuple[object, ...]) -> str:
    return hmac.digest(own, json.dumps(sealed).encode(), "sha256").hex()
