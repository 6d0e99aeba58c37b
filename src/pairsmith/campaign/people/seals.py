"""Which campaigns and invites this user made or confirmed: they carry a seal that only this user's key can make.

The key is 32 random bytes in a file of the user's own. A campaign from elsewhere may name any folder to show files of,
and may hold invites whose links its sender knows: without a seal, neither counts.
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

LENGTH = 32  # bytes of the key
# Keys that were read. Requests need them even when the process has run out of files that it may open.
_keys_read: dict[Path, bytes] = {}


class NoKey(CampaignError):
    """There is no place to keep a key in."""


def home() -> Path:
    """The folder of the key: $PAIRSMITH_HOME, or a folder where the platform keeps such things."""
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
    """This user's key. Without one it is made, or, where `make` is not wanted, None."""
    try:
        place = home() / "key"
    except RuntimeError:  # nobody knows where home is
        place = Path("~/pairsmith/key")
    if place in _keys_read:
        return _keys_read[place]
    try:
        try:
            found = place.read_bytes()
        except FileNotFoundError:
            if not make:
                return None
            found = _made(place)
    except OSError as error:
        if not make:
            return None
        raise NoKey(
            f"no key can be kept in {place.parent} ({error.strerror}); set PAIRSMITH_HOME to a folder of yours that"
            " can be written to"
        ) from None
    if len(found) != LENGTH:
        if not make:
            return None
        raise NoKey(f"{place} is no key of pairsmith ({len(found)} bytes, not {LENGTH}); delete it, and confirm anew")
    _keys_read[place] = found
    return found


def _made(place: Path) -> bytes:
    """A new key, or the one of a process that was faster: the first that is in place, whole, counts."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = place.with_name(f".key.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
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
    """The seal of these texts by this user."""
    own = key()
    assert own is not None
    return _seal(own, sealed)


def holds(found: object, *sealed: object) -> bool:
    """Whether this is their seal, by this user."""
    own = key(make=False)
    if own is None or not isinstance(found, str) or not all(isinstance(text, str) for text in sealed):
        return False
    return hmac.compare_digest(_seal(own, sealed).encode(), found.encode("utf-8", "surrogatepass"))


def _seal(own: bytes, sealed: tuple[object, ...]) -> str:
    return hmac.digest(own, json.dumps(sealed).encode(), "sha256").hex()
