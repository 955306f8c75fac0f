"""Feeds of what is found out by looking again and again, for as long as somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from jubango.arena.serve.site import Site
from jubango.arena.serve.web.events import EventStream, Feed
from jubango.sgf_games.base.errors import UserError

Look = Callable[[], Mapping[str, object]]
MOST_FEEDS = 200  # things that are looked at


class Polled:
    """Feeds by their names. ``look`` is called in a thread; where it gives something else than before, all who look
    are told. Nothing is looked at while nobody does."""

    def __init__(self, site: Site, seconds: float) -> None:
        self._site, self._seconds = site, seconds
        self._feeds: dict[str, tuple[Feed, dict[str, Mapping[str, object]]]] = {}

    async def answer(self, name: str, look: Look) -> ASGIApp:
        """The stream for one more who looks; a line where there is nothing to look at."""
        try:
            return await self._stream(name, look)
        except (UserError, OSError) as error:
            return PlainTextResponse(f"{error}\n", 404)

    async def _stream(self, name: str, look: Look) -> EventStream:
        if name not in self._feeds:
            if len(self._feeds) >= MOST_FEEDS:
                raise UserError("too many things are looked at; close some pages")
            known = {"all": await self._site.in_background(look)}
            if name not in self._feeds:  # nobody has come meanwhile
                feed = Feed(lambda: known["all"])
                self._feeds[name] = feed, known
                self._site.soon(self._follow(name, look))
        return self._feeds[name][0].answer()

    async def _follow(self, name: str, look: Look) -> None:
        feed, known = self._feeds[name]
        try:
            while True:
                await asyncio.sleep(self._seconds)
                if not feed.watched:
                    return
                try:
                    found = await self._site.in_background(look)
                except (UserError, OSError) as error:
                    found = {"gone": str(error)}
                if found != known["all"]:
                    known["all"] = found
                    feed.send("all", found)
        finally:
            del self._feeds[name]
