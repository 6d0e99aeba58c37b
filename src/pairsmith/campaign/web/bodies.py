"""Bodies of requests: JSON in which no key is repeated."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from pairsmith.files.json_reader import RepeatedKey, parse_json


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return parse_json(await self.body())
        except RepeatedKey as error:
            raise HTTPException(422, str(error)) from None


class StrictRoute(APIRoute):
    """A route that refuses a body with a repeated key, as it may mean two things."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly
