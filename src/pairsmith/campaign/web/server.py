"""Who may hold a connection, and for how long: people who send nothing keep nobody else out."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

WAIT = 20.0  # seconds in which a whole request must arrive
BACKLOG = 64  # connections that asyncio accepts before it looks at any
RESERVED = 64  # files for the database and everything else
FILES = 4096  # that we ask the system for, if it allows so many
MINUTE = 60.0


class Limit:
    """How many connections there may be, and a word when there are more: one, and no second within a minute."""

    def __init__(self) -> None:
        files = _allowed()
        self.most = max(8, (files - RESERVED - BACKLOG) // 2)  # each may have a file of the campaign open
        self.told, self.reached = -MINUTE, False

    def allows(self, count: int) -> bool:
        """Whether there may be so many connections."""
        if count <= self.most:
            self.reached = False
            return True
        self.tell(f"{self.most} connections are open, which is the limit; more are refused until some end")
        return False

    def tell(self, what: str) -> None:
        if not self.reached and time.monotonic() - self.told >= MINUTE:
            self.told = time.monotonic()
            print(f"Warning: {what}", file=sys.stderr, flush=True)
        self.reached = True

    def filter(self, record: logging.LogRecord) -> bool:
        """For asyncio's log: at the limit for files it would fill the disk with the same traceback."""
        if "out of system resource" not in record.getMessage():
            return True
        self.tell("no more files can be opened, so that nobody can connect; see ulimit -n")
        return False


class Patient(H11Protocol):
    """HTTP that ends connections on which no whole request arrives in time, and refuses those beyond a limit."""

    limit: Limit
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit.allows(len(self.connections)):
            self._expect()
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._expect_nothing()

    def _expect(self) -> None:
        """Start the clock if the client has to go on, with a request or the rest of one; or else stop it."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._expect_nothing()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(WAIT, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def serve(app: ASGIApp, *listeners: socket.socket) -> None:
    """Serve until somebody stops it."""
    limit = Limit()
    protocol = type("Limited", (Patient,), {"limit": limit})
    logging.getLogger("asyncio").addFilter(limit)
    # Uvicorn's warnings are about requests that are no HTTP; anybody can send millions of them.
    config: Any = uvicorn.Config(app, http=protocol, log_level="error", access_log=False, server_header=False,
                                 ws="none", backlog=BACKLOG, timeout_graceful_shutdown=3)  # fmt: skip
    uvicorn.Server(config).run(sockets=list(listeners))


def _allowed() -> int:
    """How many files this process may have open, after asking for more."""
    try:
        import resource
    except ImportError:  # Windows
        return FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return FILES
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # macOS may allow less than it says
            pass
    return min(soft, FILES)
