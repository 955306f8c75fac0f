"""Things that a room keeps in the folder, games or analyses: each in memory while it is wanted, and in two files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from jubango.arena.serve.site import Site
from jubango.arena.serve.web.events import EventStream
from jubango.sgf_games.base.errors import UserError

_ID = re.compile("[0-9a-f]{12}")
_LARGEST_FILE = 8_000_000  # bytes
_LISTED = 30  # of the newest
_MOST_IDLE = 64  # in memory that nobody looks at

Data = Mapping[str, object]


class KeptThing(Protocol):
    """One of them, in the thread of the event loop, but for :meth:`keep` and :meth:`sgf`."""

    name: str

    @property
    def wanted(self) -> bool:
        """Does anybody look, or wait for it?"""

    def keep(self) -> None:
        """Write its files: for the thread of the rules."""

    def sgf(self) -> str:
        """It as SGF: for the same thread."""

    def tell(self) -> None:
        """Let everybody who looks know how it stands."""

    def answer(self) -> EventStream:
        """The stream for one more who looks."""

    def close(self) -> None:
        """Nothing more is done about it."""


One = TypeVar("One", bound=KeptThing)
Content = TypeVar("Content")


class KeptThings(ABC, Generic[One, Content]):
    """Those of a site, by their names. ``folder`` is where their files are, and ``what`` what messages call one."""

    folder: ClassVar[str]
    what: ClassVar[str]

    def __init__(self, site: Site) -> None:
        self._site = site
        self._open: OrderedDict[str, One] = OrderedDict()
        self._loading = asyncio.Lock()

    @abstractmethod
    def _of(self, name: str, content: Content) -> One:
        """One of this name."""

    @abstractmethod
    def _read(self, data: Data) -> Content:
        """What a file holds, which may be a stranger's. Raises UserError."""

    @abstractmethod
    def _row(self, data: Data) -> dict[str, object] | None:
        """What a list says of it; None for a file that holds something else."""

    async def new(self, make: Callable[[], Content]) -> One:
        """A new one. Raises UserError."""
        one = await self._site.in_background(lambda: self._kept(secrets.token_hex(6), make()))
        self._add(one)
        return one

    async def get(self, name: str) -> One:
        """The one of this name, from its file if need be. Raises UserError."""
        if name not in self._open:  # who has it open does not wait for others
            async with self._loading:  # two who want the same get the same
                if name not in self._open:
                    self._add(await self._site.in_background(self._load, name))
        self._open.move_to_end(name)
        return self._open[name]

    def _kept(self, name: str, content: Content) -> One:
        one = self._of(name, content)
        one.keep()
        return one

    def _add(self, one: One) -> None:
        self._open[one.name] = one
        one.tell()
        idle = [name for name, other in self._open.items() if not other.wanted and other is not one]
        for name in idle[: max(0, len(idle) - _MOST_IDLE)]:
            self._open.pop(name).close()

    def _load(self, name: str) -> One:
        data = self._data(name)
        if data is None:
            raise UserError(f"there is no such {self.what} here")
        return self._kept(name, self._read(data))

    def _data(self, name: str) -> Data | None:
        if not _ID.fullmatch(name):
            return None
        text = self._site.folder.read_text(f"{self.folder}/{name}.json", _LARGEST_FILE)
        if text is None:
            return None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text, parse_constant=_no_number)
            if isinstance(found, dict):
                return found
        raise UserError(f"the file of that {self.what} is damaged")

    def listed(self) -> list[dict[str, object]]:
        """The newest in the folder."""
        folder, found = self._site.folder, []
        with contextlib.suppress(UserError):  # it leads elsewhere: there are none
            for file in folder.files(self.folder, ".json"):
                with contextlib.suppress(UserError, OSError):
                    found.append((folder.file(file).stat().st_mtime, file[len(self.folder) + 1 : -len(".json")]))
        rows = []
        for _, name in sorted(found, reverse=True)[:_LISTED]:
            with contextlib.suppress(UserError):
                data = self._data(name)
                row = self._row(data) if data else None
                if data and row is not None:
                    own = {"game": str(row["game"])[:60], "result": str(data.get("result"))[:20]}
                    rows.append({"id": name, **row, **own})
        return rows

    def file(self, name: str, suffix: str) -> bytes | None:
        """Another file of one; None if there is none. Raises UserError."""
        return self._site.folder.read(f"{self.folder}/{name}{suffix}") if _ID.fullmatch(name) else None

    def close(self) -> None:
        for one in self._open.values():
            one.close()

    def routes(self, room: str) -> list[Route]:
        """How pages are told of one of them, and its SGF: ``/room/NAME/events`` and ``/room/NAME/game.sgf``."""
        return [Route(f"/{room}/{{name}}/events", _Events(self)), Route(f"/{room}/{{name}}/game.sgf", self._sgf)]

    async def _sgf(self, request: Request) -> Response:
        try:
            one = await self.get(request.path_params["name"])
        except UserError as error:
            return PlainTextResponse(str(error), 404)
        head = {"Content-Disposition": f'attachment; filename="{one.name}.sgf"'}
        return Response(await self._site.in_order(one.sgf), media_type="application/x-go-sgf", headers=head)


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number of JSON")


class _Events:
    """The stream of one of them, as an application of its own."""

    def __init__(self, kept: KeptThings[One, Content]) -> None:
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer: ASGIApp = (await self._kept.get(scope["path_params"]["name"])).answer()
        except UserError as error:
            answer = PlainTextResponse(str(error), 404)
        await answer(scope, receive, send)


def keep_files(site: Site, folder: str, what: str, name: str, data: Data, sgf: str) -> str:
    """Write both files of one; what is said where they cannot be written, empty where they are."""
    files = site.folder
    try:
        (files.path / folder).mkdir(exist_ok=True)
        files.write(f"{folder}/{name}.json", json.dumps(data).encode(), flush=False)
        files.write(f"{folder}/{name}.sgf", sgf.encode(), flush=False)
    except OSError as error:
        return f"the {what} is not kept: {files.path / folder}: {error.strerror}"
    return ""
