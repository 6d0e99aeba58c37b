"""The server: limits on the number of connections and on how long they wait, so that idle ones lock nobody out."""

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

REQUEST_SECONDS = 20.0  # the time in which a whole request must arrive
BACKLOG = 64  # connections that asyncio accepts before it handles any
RESERVED_FILES = 64  # open files for the database and everything else
MAX_FILES = 4096  # open files that we request from the system
SECONDS_BETWEEN_WARNINGS = 60.0


class ConnectionLimit:
    """The greatest number of connections, and a warning when it is reached, at most once a minute."""

    def __init__(self) -> None:
        # Each connection may have a file of the campaign open too.
        self.max_connections = max(8, (_max_open_files() - RESERVED_FILES - BACKLOG) // 2)
        self.last_warning, self.reached = -SECONDS_BETWEEN_WARNINGS, False

    def allows(self, count: int) -> bool:
        """Return whether there may be this many connections."""
        if count <= self.max_connections:
            self.reached = False
            return True
        self._warn(f"{self.max_connections} connections are open, which is the limit; more are refused until some end")
        return False

    def filter(self, record: logging.LogRecord) -> bool:
        """Filter asyncio's log: at the limit of open files, the same traceback over and over would fill the disk."""
        if "out of system resource" not in record.getMessage():
            return True
        self._warn("no more files can be opened, so nobody can connect; raise the limit with ulimit -n")
        return False

    def _warn(self, text: str) -> None:
        if not self.reached and time.monotonic() - self.last_warning >= SECONDS_BETWEEN_WARNINGS:
            self.last_warning = time.monotonic()
            print(f"Warning: {text}", file=sys.stderr, flush=True)
        self.reached = True


class LimitedProtocol(H11Protocol):
    """HTTP that refuses connections beyond a limit, and ends connections whose request does not arrive in time."""

    limit: ConnectionLimit
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit.allows(len(self.connections)):
            self._update_deadline()
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._cancel_deadline()

    def _update_deadline(self) -> None:
        """Start the clock if it is the client's turn, with a request or the rest of one; otherwise stop it."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._cancel_deadline()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def serve(app: ASGIApp, *listeners: socket.socket) -> None:
    """Serve the app until the process is stopped."""
    limit = ConnectionLimit()
    protocol = type("Protocol", (LimitedProtocol,), {"limit": limit})
    logging.getLogger("asyncio").addFilter(limit)
    # Uvicorn's warnings are about requests that are not proper HTTP, and anybody can send millions of them.
    config: Any = uvicorn.Config(app, http=protocol, log_level="error", access_log=False, server_header=False,
                                 ws="none", backlog=BACKLOG, timeout_graceful_shutdown=3)  # fmt: skip
    uvicorn.Server(config).run(sockets=list(listeners))


def _max_open_files() -> int:
    """Return how many files this process may open, after raising the limit where possible."""
    try:
        import resource
    except ImportError:  # Windows
        return MAX_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_FILES
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # macOS may allow less than it reports
            pass
    return min(soft, MAX_FILES)
