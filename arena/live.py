"""The page of a run while it is being played, for browsers on this machine alone."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from jubango.analysis.report.run_page import RunPage
from jubango.analysis.tables import kept_after
from jubango.arena.plan import Plan
from jubango.arena.run import Run
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.library import DATABASE

HOST = "127.0.0.1"
SECONDS = 1.0  # between two questions of a browser
PATIENCE = 3.0  # seconds that the end is kept for a browser that has been asking


class Live:
    """Serves the page of the run in ``folder``; nothing is worked out while nobody looks.

    port: of the loopback address, 0 for any that is free. Raises UserError for one that is taken.
    """

    def __init__(self, plan: Plan, folder: Path, port: int = 0) -> None:
        self._folder, self._page = folder, RunPage(plan.name, plan.game, [bot.name for bot in plan.bots])
        self._row = 0  # of the last game that the page has
        self._due = 0.0  # when to look for more
        self._lock = threading.Lock()
        self._total, self._told, self._line = 0, list[str](), "the run begins"
        self._summary = self._page.summary(live=self._line)
        self._noted = self._asked = -PATIENCE
        self._over, self._said_so = "", threading.Event()
        try:
            self._server = ThreadingHTTPServer((HOST, port), lambda *request: _Handler(self, *request))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"--port {port}: cannot be listened to: {why}; leave it out for any that is free") from None
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://{HOST}:{self.port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, run: Run, line: Callable[[Run], str]) -> None:
        """Keep what the run says of itself, and what ``line`` says of it, for who asks. For the thread that plays."""
        now = time.perf_counter()
        if now - self._noted >= SECONDS or not run.missing:
            self._noted, self._total, self._told, self._line = now, run.total, run.told, line(run)

    def close(self, said: str) -> None:
        """The run has ended, as ``said``; who is looking is told."""
        self._over = said
        if time.perf_counter() - self._asked < PATIENCE:
            self._said_so.wait(PATIENCE)
        self._server.shutdown()
        self._server.server_close()

    # -- for the threads that answer -------------------------------------------------------------

    def whole(self) -> str:
        """The page."""
        with self._lock:
            self._look()
            return self._page.page(self._summary, live=True)

    def new(self, since: int) -> str:
        """What a page lacks that has ``since`` games, as JSON: what the run says of itself, and the summary where there
        are more games."""
        with self._lock:
            over = self._over
            self._look(bool(over))
            more = over or len(self._page.games) > since
            answer = {
                "line": over or self._line, "again": 0 if over else SECONDS, "summary": self._summary if more else "",
                **self._page.more(since),
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
            games, moves, row = kept_after(self._folder, self._row)
            self._page.add(games, moves)
            self._row = row
        self._summary = self._page.summary(self._total, self._told, self._over or self._line)
        self._due = self._asked + 50 * (time.thread_time() - began)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, live: Live, *request: object) -> None:
        self._live = live
        super().__init__(*request)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        port = self._live.port
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):  # another site's name for us
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        asked = urlsplit(self.path)
        since = parse_qs(asked.query).get("since", ["0"])[0]
        if asked.path == "/":
            self._answer("text/html", self._live.whole())
        elif asked.path == "/new" and re.fullmatch("[0-9]{1,9}", since):
            self._answer("application/json", self._live.new(int(since)))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(HTTPStatus.OK)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(data)), "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "frame-ancestors 'none'",
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
