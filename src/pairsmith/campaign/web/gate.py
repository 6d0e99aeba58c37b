"""The checks that every request passes before its handler sees it, and the headers that every response carries."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 * 1024  # an answer has about a hundred bytes; instructions may be long
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src"
    " 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
PROXY_HEADERS = ("x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "forwarded",
                 "via")  # fmt: skip
PROXY_HEADER_PREFIXES = ("x-forwarded", "x-original-")
PROXY_REFUSAL = 400, "this request came through a proxy; serve with pairsmith serve --invited behind one"
TOO_LARGE = 413, f"the body is larger than {MAX_BODY_BYTES} bytes"


class Gate:
    """ASGI middleware that refuses posts from other sites, wrong hosts and large bodies, and adds security headers.

    Without invites (`local`), requests must come from this machine. The host name is checked because a foreign page can
    make a name of its own point to 127.0.0.1 (DNS rebinding). Proxies are refused because behind one, everybody would
    seem to be at this machine.
    """

    def __init__(self, app: ASGIApp, local: bool) -> None:
        self.app, self.local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = _refusal(Headers(scope=scope), scope["method"], self.local)
        # Browsers have not spoken HTTP/1.0 for decades; a proxy without further configuration does.
        if refusal is None and self.local and scope.get("http_version") == "1.0":
            refusal = PROXY_REFUSAL
        if refusal is not None:
            await _refuse(send_with_headers, *refusal)
            return
        body = b""
        more = scope["method"] not in ("GET", "HEAD")
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has disconnected
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BODY_BYTES:
                await _refuse(send_with_headers, *TOO_LARGE)
                return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed or scope["method"] in ("GET", "HEAD"):
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send_with_headers)


def _refusal(headers: Headers, method: str, local: bool) -> tuple[int, str] | None:
    """Return the status and the message with which to refuse these headers, or None."""
    host = headers.get("host", "")
    if local and _without_port(host) not in LOCAL_NAMES:
        return 400, "this campaign is served to its own machine only; use http://127.0.0.1"
    if local and any(name in PROXY_HEADERS or name.startswith(PROXY_HEADER_PREFIXES) for name in headers):
        return PROXY_REFUSAL
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        return 400, "the content length is not a number"
    if len(length) > 9 or int(length) > MAX_BODY_BYTES:
        return TOO_LARGE
    if method in ("GET", "HEAD"):
        return None
    origin = headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != host
    if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return 403, "requests from other sites are refused"
    return None


def _without_port(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 413:
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
