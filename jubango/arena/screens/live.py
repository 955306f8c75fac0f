"""The page of a run while it is being played, for browsers on this machine alone."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from jubango.analysis.tables.tables import kept_after
from jubango.arena.runs.machines import this_machine
from jubango.arena.runs.page import page_of
from jubango.arena.runs.run import Run
from jubango.arena.schedule.plan import Plan
from jubango.arena.screens.page_server import HOST, PageResponse, PageServer
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.database import DATABASE

SECONDS = 1.0  # between two questions of a browser
LAST_ANSWER = 3.0  # seconds that the end is kept for a browser that has been asking


class Live:
    """Serves the page of the run in ``folder``; nothing is worked out while nobody looks.

    port: of the loopback address, 0 for any that is free. Raises UserError for one that is taken.
    """

    def __init__(self, plan: Plan, folder: Path, port: int = 0) -> None:
        self._folder, self._plan, self._page = folder, plan, page_of(plan, [this_machine()])
        self._row = 0  # of the last game that the page has
        self._due = 0.0  # when to look for more
        self._total, self._told, self._line = 0, list[str](), "the run begins"
        self._summary = self._page.summary(live=self._line)
        self._made = b""  # the page with that summary
        self._left_out, self._without = list[str](), list[str]()  # games that count for nothing, now and in the page
        self._noted = self._asked = -LAST_ANSWER
        self._over, self._said_so = "", threading.Event()
        try:
            self._server = PageServer(self._answer, port)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"--port {port}: cannot be listened to: {why}; leave it out for any that is free") from None
        self.url = f"http://{HOST}:{self._server.port}/"

    def note(self, run: Run, line: Callable[[Run], str]) -> None:
        """Keep what the run says of itself, and what ``line`` says of it, for who asks. For the thread that plays."""
        now = time.perf_counter()
        if now - self._noted >= SECONDS or not run.missing:
            told = [*run.told, *(run.table.hosts if run.table else ())]
            self._noted, self._total, self._told, self._line = now, run.total, told, line(run)
            self._left_out = run.left_out

    def close(self, said: str) -> None:
        """The run has ended, as ``said``; who is looking is told."""
        self._over = said
        if time.perf_counter() - self._asked < LAST_ANSWER:
            self._said_so.wait(LAST_ANSWER)
        self._server.close()

    # -- for the thread that answers -------------------------------------------------------------

    def _answer(self, asked: str) -> PageResponse:
        path, _, query = asked.partition("?")
        since = parse_qs(query).get("since", ["0"])[0]
        if path == "/":
            return PageResponse(HTTPStatus.OK, "text/html", self._whole())
        if path == "/new" and re.fullmatch("[0-9]{1,9}", since):
            return PageResponse(HTTPStatus.OK, "application/json", self._new(int(since)).encode())
        return PageResponse(HTTPStatus.NOT_FOUND)

    def _whole(self) -> bytes:
        """The page, the same until there is more to look at."""
        self._look()
        if not self._made:
            began = time.thread_time()
            self._made = self._page.page(self._summary, live=True).encode()
            self._due += 50 * (time.thread_time() - began)
        return self._made

    def _new(self, since: int) -> str:
        """What a page lacks that has ``since`` games, as JSON: what the run says of itself, and the summary where there
        are more games."""
        over = self._over
        self._look(bool(over))
        begin = 0 if self._without else since  # the page was made again, with fewer games
        more = over or len(self._page.games) > begin
        answer = {
            "since": begin, "line": over or self._line, "again": 0 if over else SECONDS,
            "summary": self._summary if more else "", **self._page.more(begin),
        }  # fmt: skip
        if over:
            self._said_so.set()
        return json.dumps(answer, allow_nan=False)

    def _look(self, now: bool = False) -> None:
        """Read the games that are new, which may take a fiftieth of the time of one core."""
        self._asked = time.perf_counter()
        if (self._asked < self._due and not now) or not self._total or not (self._folder / DATABASE).exists():
            return  # before the first note games may still be taken back, to be played anew
        began = time.thread_time()
        with suppress(UserError):  # the table is being made
            if self._left_out != self._without:
                self._row, self._without, self._page = 0, self._left_out, page_of(self._plan, [this_machine()])
            games, moves, row = kept_after(self._folder, self._row)
            self._page.add(*(found[~found["game_id"].isin(self._without)] for found in (games, moves)))
            self._row = row
        self._summary = self._page.summary(self._total, self._told, self._over or self._line)
        self._made = b""
        self._due = self._asked + 50 * (time.thread_time() - began)
