"""What the rooms Watch and Train have together: the processes of a site, the list of its runs, and what is done with
one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from jubango.arena.serve.site import Room, Site
from jubango.arena.serve.web.posts import Posted, posted, text_of
from jubango.arena.serve.work.jobs import Jobs
from jubango.arena.serve.work.listing import Listing
from jubango.arena.serve.work.polling import Polled
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

LIST_SECONDS = 2.0  # between two looks at the folder


class Worked(NamedTuple):
    """Of a site."""

    jobs: Jobs
    listing: Listing


_OF_SITES: WeakKeyDictionary[Site, Worked] = WeakKeyDictionary()


def worked_in(site: Site) -> Worked:
    """The same whoever asks."""
    if site not in _OF_SITES:
        jobs = Jobs(site.folder)
        _OF_SITES[site] = Worked(jobs, Listing(site.folder, jobs))
    return _OF_SITES[site]


class RunsRoom(ABC):
    """A room of runs of some ``kinds``. Each is a page, begun, stopped and gone on with; ``seconds``: between two looks
    at one that somebody looks at."""

    name: str
    title: str
    kinds: tuple[str, ...]
    seconds: float

    def __init__(self, site: Site) -> None:
        self._site = site
        self._jobs, self._listing = worked_in(site)
        self._list, self._feeds = Polled(site, LIST_SECONDS), Polled(site, self.seconds)

    def room(self, *more: Route, close: Callable[[], None] | None = None) -> Room:
        """It, with ``more`` that it answers."""
        at = f"/{self.name}"
        routes = [
            Route(at, self._page),
            Route(f"{at}/list", self._listed),
            Route(f"{at}/run/{{name:path}}", self._run),
            Route(f"{at}/feed/{{name:path}}", self._feed),
            Route(f"{at}/start", posted(self._started), methods=["POST"]),
            Route(f"{at}/stop", posted(self._stopped), methods=["POST"]),
            Route(f"{at}/go", posted(self._gone_on_with), methods=["POST"]),
            *more,
        ]
        return Room(self.name, self.title, routes, close)

    @abstractmethod
    async def _run(self, request: Request) -> Response:
        """The page of a run."""

    @abstractmethod
    def _live(self, name: str) -> Mapping[str, object]:
        """How a run is now. Raises UserError."""

    @abstractmethod
    def _start(self, data: Posted) -> str:
        """Begin a run, and its name. Raises UserError."""

    @abstractmethod
    def _go_on(self, row: Mapping[str, object], data: Posted) -> None:
        """Go on with the run of a row. Raises UserError."""

    def _rows(self) -> list[dict[str, object]]:
        return [row for row in self._listing.rows() if row["kind"] in self.kinds]

    def _known(self, name: str) -> Mapping[str, object]:
        """The row of a run that this room has. Raises UserError."""
        row = self._listing.row(name)
        if row["kind"] not in self.kinds:
            raise UserError(f"{name}: is a {row['kind']}, which has no page in {self.title}")
        return row

    def _run_folder(self, name: str) -> Folder:
        """That of a run; of the folder that is served, if that is the run."""
        path = self._site.folder.path
        return self._site.folder.folder(name) if (path / name).is_dir() else Folder(path)

    async def _page(self, request: Request) -> Response:
        return self._site.page(self.name)

    async def _listed(self, request: Request) -> ASGIApp:
        return await self._list.answer("", lambda: {"runs": self._rows()})

    async def _feed(self, request: Request) -> ASGIApp:
        name = request.path_params["name"]
        return await self._feeds.answer(name, lambda: self._live(name))

    async def _started(self, request: Request, data: Posted) -> Mapping[str, object]:
        return {"run": await self._site.in_background(self._start, data)}

    async def _stopped(self, request: Request, data: Posted) -> Mapping[str, object]:
        def stop() -> None:
            name = text_of(data, "run")
            self._known(name)
            self._jobs.stop(name)

        await self._site.in_background(stop)
        return {}

    async def _gone_on_with(self, request: Request, data: Posted) -> Mapping[str, object]:
        await self._site.in_background(lambda: self._go_on(self._known(text_of(data, "run")), data))
        return {}
