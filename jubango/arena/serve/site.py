"""What the rooms share: the folder, the pages' templates and threads for what takes time."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from starlette.background import BackgroundTask
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from jubango.arena.serve.search.thinker import Thinker
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.folder import Folder

if TYPE_CHECKING:
    from jinja2 import Environment

MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
SHARED = {"board.js", "page.css", "run.js"}  # with the pages of reports
THREADS = 4
RULES_MODULE = "jubango.sgf_games.rules.compiled"  # whose import starts JAX
Result = TypeVar("Result")


class Room(NamedTuple):
    """One of the places of the page."""

    name: str  # its address and the names of its files in pages/: "play"
    title: str
    routes: Sequence[Route] = ()
    close: Callable[[], None] | None = None


class Site:
    """One server's. Raises UserError for a folder that is none."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.rooms: list[Room] = []
        self.thinker = Thinker()
        self._threads = ThreadPoolExecutor(THREADS, "serve")
        self._rules = ThreadPoolExecutor(1, "rules")
        self._warm = False
        self._soon: set[asyncio.Task[None]] = set()

    async def in_background(self, work: Callable[..., Result], *arguments: object) -> Result:
        """What ``work`` returns, which may take a while."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, functools.partial(work, *arguments))

    async def in_order(self, work: Callable[..., Result], *arguments: object) -> Result:
        """The same for what is soon done and changes games: one thing after the other."""
        return await asyncio.get_running_loop().run_in_executor(self._rules, functools.partial(work, *arguments))

    def soon(self, work: Coroutine[object, object, None]) -> None:
        """Do it, whoever waits, for as long as the server runs; a UserError of it is nobody's."""

        async def quietly() -> None:
            with suppress(UserError):
                await work

        task = asyncio.ensure_future(quietly())
        self._soon.add(task)
        task.add_done_callback(self._soon.discard)

    def warm(self) -> None:
        """Somebody has come: have ready what takes seconds to import, here and where searches are made."""
        if not self._warm:
            self._warm = True
            self.thinker.start()
            self._rules.submit(importlib.import_module, RULES_MODULE)

    def page(self, room: str, template: str = "", **shown: object) -> Response:
        """The room's page, ``pages/ROOM.html``, or another ``template`` of it; ``shown`` is what that reads."""
        text = _template(template or room, here=room, rooms=self.rooms, **shown)
        return HTMLResponse(text, background=BackgroundTask(self._soon_warm))

    async def _soon_warm(self) -> None:
        self.warm()

    async def end(self) -> None:
        """Close it, and wait for the processes."""
        for task in self._soon:
            task.cancel()
        self.close()
        await self.thinker.ended()

    def close(self) -> None:
        for room in self.rooms:
            if room.close is not None:
                room.close()
        self.thinker.close()
        for threads in (self._threads, self._rules):
            threads.shutdown(wait=False, cancel_futures=True)


def file_text(name: str) -> str | None:
    """A script, a style or a picture of the pages; None if there is none of that name."""
    if not all(part.isidentifier() for part in name.split(".")) or name.rpartition(".")[2] not in MEDIA_TYPES:
        return None
    package, folder = ("jubango.analysis.report", "templates") if name in SHARED else ("jubango.arena.serve", "pages")
    file = resources.files(package).joinpath(folder, name)
    return file.read_text("utf-8") if file.is_file() else None


def _template(room: str, **shown: object) -> str:
    return _environment().get_template(f"{room}.html").render(**shown)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def fit(value: object) -> object:
        return printable(value, keep="\n") if type(value) is str else value

    loader = PackageLoader("jubango.arena.serve", "pages")
    return Environment(
        loader=loader, autoescape=True, finalize=fit, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
