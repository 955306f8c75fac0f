"""A run as its page shows it: the summary and games so far, and the boards of games under way."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

if TYPE_CHECKING:
    from jubango.analysis.report.run_page import RunPage

LARGEST_BOARDS = 200_000  # bytes of a file
HOSTS_SHOWN = 50  # that have a line
MOST_VIEWS = 20  # runs that are kept in memory


class RunView:
    """Of one run's folder. Games are read once; all that is said of them is worked out again where there are more."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._page: RunPage | None = None
        self._row = 0  # of the last game that the page has
        self._table: Hashable = None  # that they are from: a run may be played anew in its folder
        self._left_out: list[str] = []
        self._said: tuple[object, str] = ((), "")  # of what, and the summary
        self._lock = threading.Lock()

    def look(self, line: str) -> None:
        """Read what is new. line: how the run stands, in words. Raises UserError."""
        with self._lock:
            self._look(line)

    def _look(self, line: str) -> None:
        from jubango.analysis.tables.tables import kept_after
        from jubango.arena.runs.page import page_of
        from jubango.arena.runs.run_folder import PLAN_FILE, open_run
        from jubango.arena.schedule.plan import read_plan
        from jubango.sgf_games.library.database import DATABASE

        if not self._folder.has(PLAN_FILE):  # it is beginning
            plan = read_plan(Path(f"{self._folder.path}.toml"))
            self._page = page_of(plan, [])
            self._said = (), self._page.summary(plan.total, [], line)
            return

        if self._page is not None and self._said[0] and not self._has_more() and self._said[0] == (self._row, line):
            return
        try:
            run = open_run(self._folder.path)
        except UserError:
            if self._page is None:
                raise
            return  # its files are being made
        table, _ = self._last_kept()
        if self._page is None or not self._said[0] or run.left_out != self._left_out or table != self._table:
            self._table = table
            self._page, self._row, self._left_out = page_of(run.plan, run.kept.machines), 0, run.left_out
        if self._folder.has(DATABASE):
            with suppress(UserError):  # the table is being made
                games, moves, row = kept_after(self._folder.path, self._row)
                self._page.add(*(one[~one["game_id"].isin(self._left_out)] for one in (games, moves)))
                self._row = row
        self._said = (self._row, line), self._page.summary(run.total, run.told, line, run.sprt)

    def _has_more(self) -> bool:
        return self._last_kept() != (self._table, self._row)

    def _last_kept(self) -> tuple[Hashable, int]:
        """Of the table as it is now; None and 0 if there is none, and what is known of it while it is being made."""
        from jubango.analysis.tables.tables import last_kept
        from jubango.sgf_games.library.database import DATABASE

        if not self._folder.has(DATABASE):
            return None, 0
        with suppress(UserError, OSError):
            return last_kept(self._folder.path)
        return self._table, self._row

    @property
    def title(self) -> str:
        assert self._page is not None
        return self._page.title

    @property
    def summary(self) -> str:
        """As HTML, made by a template that escapes what users have named."""
        return self._said[1]

    def data(self, since: int = 0) -> dict[str, object]:
        """What the page's script reads: the game, and all games from ``since`` on."""
        from jubango.analysis.report.page import board_facts

        assert self._page is not None
        begin = since if since <= len(self._page.games) else 0
        return {"game": board_facts(self._page.game), "since": begin, **self._page.more(begin)}


def shown_boards(folder: Folder) -> list[Mapping[str, object]]:
    """The boards of games under way, as far as the process that plays shows them; from now on it does."""
    from jubango.arena.runs.under_way import SHOWN_BOARDS, WATCHED

    boards: list[Mapping[str, object]] = []
    with suppress(UserError, OSError, ValueError, TypeError, KeyError):
        folder.write(WATCHED, b"", flush=False)
        for one in json.loads(folder.read(SHOWN_BOARDS, LARGEST_BOARDS) or b"[]"):
            boards.append({
                **{key: str(one[key]) for key in ("id", "black", "white", "thought", "stones")},
                **{key: int(one[key]) for key in ("moves", "last")},
            })  # fmt: skip
    return boards


def shown_hosts(folder: Folder) -> list[str]:
    """A line for each host that plays for a run, if hosts do; of many the last ones."""
    from jubango.arena.hosts.hosts_file import hosts_in
    from jubango.arena.text.hosts import host_lines

    return list(host_lines(hosts_in(folder), HOSTS_SHOWN))
