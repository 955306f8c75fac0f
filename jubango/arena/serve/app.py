"""The application: the rooms of a site behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from jubango.arena.serve.rooms import ROOMS
from jubango.arena.serve.site import MEDIA_TYPES, Site, file_text
from jubango.arena.serve.web.guard import Guard


def make_app(site: Site, token: str, hosts: Iterable[str], any_address: bool = False) -> Guard:
    """All of it, for a server that listens at ``hosts`` (names with the port; see :class:`Guard`)."""
    site.rooms = [make(site) for make in ROOMS]

    async def first(request: Request) -> Response:
        return RedirectResponse(f"/{site.rooms[0].name}", 303)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        text = file_text(name)
        if text is None:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(text, media_type=MEDIA_TYPES[name.rpartition(".")[2]])

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await site.end()

    routes = [Route("/", first), Route("/files/{name}", file), *(route for room in site.rooms for route in room.routes)]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, hosts, any_address)
