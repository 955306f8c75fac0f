"""What pages send: JSON, of a size that is looked at before it is read, answered with JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable

MOST_POSTED = 4_000_000  # bytes
TO_POST = 30.0  # seconds in which they are to be here

Posted = Mapping[str, object]
Answer = Callable[[Request, Posted], Awaitable[Mapping[str, object] | None]]


def posted(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for a route with ``methods=["POST"]``: ``answer(request, data)`` is told what was posted, a JSON
    object, and says what to answer; a UserError of it becomes ``{"error": "one line"}`` with status 400."""

    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await answer(request, await _data(request)) or {})
        except UserError as error:
            return JSONResponse({"error": printable(str(error))}, 400)
        except ClientDisconnect:
            return Response(status_code=400)

    return endpoint


async def _data(request: Request) -> Posted:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UserError("what is posted has to be application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(TO_POST):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_POSTED:
                    raise UserError(f"that is too much: at most {MOST_POSTED:,} bytes are taken")
    except TimeoutError:
        raise UserError(f"what is posted has to be here within {TO_POST:g} seconds") from None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise UserError("what was posted is no JSON") from None
    if not isinstance(data, dict):
        raise UserError("what was posted is no JSON object")
    return data


def text_of(data: Posted, key: str, default: str | None = None, most: int = 1000) -> str:
    """A text that was posted. Raises UserError."""
    value = data.get(key, default)
    if not isinstance(value, str) or len(value) > most:
        raise UserError(f"{key}: has to be a text of at most {most:,} characters")
    return value


def number_of(data: Posted, key: str, low: float, high: float, default: float | None = None) -> float:
    """A number that was posted. Raises UserError."""
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"{key}: has to be a number from {low:g} to {high:g}")
    return float(value)


def whole_of(data: Posted, key: str, low: int, high: int, default: int | None = None) -> int:
    """A whole number that was posted. Raises UserError."""
    value = number_of(data, key, low, high, default)
    if value != int(value):
        raise UserError(f"{key}: has to be a whole number from {low} to {high}")
    return int(value)


def truth_of(data: Posted, key: str) -> bool:
    """Yes or no, as it was posted. Raises UserError."""
    value = data.get(key)
    if not isinstance(value, bool):
        raise UserError(f"{key}: has to be true or false")
    return value
