"""The page of a run while it is being played, for browsers on this machine alone."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from jubango.analysis.ratings.sprt import SprtState
from jubango.analysis.tables.tables import kept_after
from jubango.arena.runs.machines import this_machine
from jubango.arena.runs.page import page_of
from jubango.arena.runs.run import Run
from jubango.arena.schedule.plan import Plan
from jubango.arena.serve.web.guard import Guard
from jubango.arena.serve.web.listening import HOST, Listening, bound
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.database import DATABASE

SECONDS = 1.0  # between two questions of a browser
OWN_POLICY = "frame-ancestors 'none'"  # the page itself says what it may load
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
        self._test: SprtState | None = None
        self._summary = self._page.summary(live=self._line)
        self._made = b""  # the page with that summary
        self._left_out, self._without = list[str](), list[str]()  # games that count for nothing, now and in the page
        self._noted = self._asked = -LAST_ANSWER
        self._over, self._said_so = "", threading.Event()
        try:
            listener = bound(HOST, port)
        except UserError as error:
            why = str(error).partition(": cannot be listened to: ")[2].partition(";")[0]
            raise UserError(f"--port {port}: cannot be listened to: {why}; leave it out for any that is free") from None
        self._worker = ThreadPoolExecutor(1)  # one question after the other
        port = listener.getsockname()[1]
        app = Starlette(routes=[Route("/", self._page_asked), Route("/new", self._more_asked)])
        self._server = Listening(Guard(app, "", [f"{HOST}:{port}", f"localhost:{port}"]), listener)
        self._server.start()
        self.url = f"http://{HOST}:{port}/"

    def note(self, run: Run, line: Callable[[Run], str]) -> None:
        """Keep what the run says of itself, and what ``line`` says of it, for who asks. For the thread that plays."""
        now = time.perf_counter()
        if now - self._noted >= SECONDS or not run.missing:
            told = [*run.told, *(run.table.hosts if run.table else ())]
            self._noted, self._total, self._told, self._line = now, run.total, told, line(run)
            self._test = run.sprt
            self._left_out = run.left_out

    def close(self, said: str) -> None:
        """The run has ended, as ``said``; who is looking is told."""
        self._over = said
        if time.perf_counter() - self._asked < LAST_ANSWER:
            self._said_so.wait(LAST_ANSWER)
        self._server.close()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # -- for the thread that answers -------------------------------------------------------------

    async def _page_asked(self, request: Request) -> Response:
        page = await asyncio.get_running_loop().run_in_executor(self._worker, self._whole)
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": OWN_POLICY})

    async def _more_asked(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not re.fullmatch("[0-9]{1,9}", since, re.ASCII):
            return PlainTextResponse("", 404)
        more = await asyncio.get_running_loop().run_in_executor(self._worker, self._new, int(since))
        return Response(more, media_type="application/json")

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
        self._summary = self._page.summary(self._total, self._told, self._over or self._line, self._test)
        self._made = b""
        self._due = self._asked + 50 * (time.thread_time() - began)
