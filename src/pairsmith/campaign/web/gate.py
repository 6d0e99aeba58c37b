"""What every request passes before it is looked at, and what every response carries."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 64 * 1024  # bytes of a body; an answer has about a hundred, instructions may be long
HEADERS = {
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
# What proxies add to the requests they pass on.
ADDED = ("x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "forwarded", "via")
PROXIED = 400, "this request came through a proxy; serve with pairsmith serve --invited behind one"


class Gate:
    """ASGI middleware: refuses other sites' posts, other servers' names and large bodies; adds security headers.

    Without invites (`local`) only this machine may ask, also under the name that a page elsewhere might have given to
    127.0.0.1 (DNS rebinding), and not through a proxy, which would make everybody a visitor from this machine.
    """

    def __init__(self, app: ASGIApp, local: bool) -> None:
        self.app, self.local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = _refusal(Headers(scope=scope), scope["method"], self.local)
        # Browsers have not spoken HTTP/1.0 for decades; a proxy that was told nothing does.
        if refusal is None and self.local and scope.get("http_version") == "1.0":
            refusal = PROXIED
        if refusal is not None:
            await _refuse(with_headers, *refusal)
            return
        body = b""
        more = scope["method"] not in ("GET", "HEAD")
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has left
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST:
                await _refuse(with_headers, 413, f"the body is larger than {LARGEST} bytes")
                return
        read = False

        async def replay() -> Message:
            nonlocal read
            if read or scope["method"] in ("GET", "HEAD"):
                return await receive()
            read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, with_headers)


def _refusal(headers: Headers, method: str, local: bool) -> tuple[int, str] | None:
    host = headers.get("host", "")
    if local and _name(host) not in ("127.0.0.1", "localhost", "::1"):
        return 400, "this campaign is served to its own machine only; use http://127.0.0.1"
    if local and any(name in ADDED or name.startswith(("x-forwarded", "x-original-")) for name in headers):
        return PROXIED
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        return 400, "the content length is no number"
    if len(length) > 9 or int(length) > LARGEST:
        return 413, f"the body is larger than {LARGEST} bytes"
    if method in ("GET", "HEAD"):
        return None
    origin = headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != host
    if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return 403, "requests from other sites are refused"
    return None


def _name(host: str) -> str:
    """The host without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 413:
        headers.append((b"connection", b"close"))  # what is left of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
