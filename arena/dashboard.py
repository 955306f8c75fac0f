"""The tournament as it runs: a live screen on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from jubango.analysis.plot import BLACK, WHITE, board_text
from jubango.analysis.ratings import RatingList, Result, crosstable_cells, rate
from jubango.arena.tournament import Progress

LIVE_SECONDS = 0.5  # between two pictures
LINE_SECONDS = 5.0  # between two plain lines


class Dashboard:
    """Call :meth:`show` after every tick; it looks at the clock first and is usually done then."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live: Live | None = None
        self._began = time.perf_counter()
        self._last = 0.0
        self._watched = 0
        self._shown = 0  # pictures or lines so far
        self._shown_done = -1  # games done at the last one
        self.seconds_spent = 0.0

    @contextmanager
    def running(self) -> Iterator[Dashboard]:
        if not self.console.is_terminal:
            yield self
            return
        with Live(console=self.console, auto_refresh=False, transient=True) as live:
            self.live = live
            try:
                yield self
            finally:
                self.live = None

    def show(self, progress: Progress) -> None:
        now = time.perf_counter()
        done = len(progress.results)
        wait = LIVE_SECONDS if self.live else LINE_SECONDS
        # A picture may cost no more than a fiftieth of the time.
        wait = max(wait, 50 * self.seconds_spent / max(1, self._shown)) if self._shown else 0.0
        if now - self._last < wait and done < progress.total:
            return
        if done == progress.total and self.live is None and self._shown and self._shown_done == done:
            return
        if self.live:
            self.live.update(self.render(progress), refresh=True)
        else:
            self.console.print(self.line(progress).plain, highlight=False, soft_wrap=True)
        self._last = time.perf_counter()
        self.seconds_spent += self._last - now
        self._shown += 1
        self._shown_done = done

    # -- what is shown -----------------------------------------------------------------------

    def speeds(self, progress: Progress) -> tuple[float, float, float | None]:
        """(games a second, simulations a second, seconds left or None if unknown)."""
        elapsed = max(1e-9, time.perf_counter() - self._began)
        done = len(progress.results) - progress.before
        simulations = progress.table.simulations / elapsed if progress.table else 0.0
        rate_of_games = done / elapsed
        left = progress.total - len(progress.results)
        return rate_of_games, simulations, left / rate_of_games if done else (0.0 if not left else None)

    def line(self, progress: Progress) -> Text:
        games, simulations, left = self.speeds(progress)
        done = len(progress.results)
        parts = [
            f"{done}/{progress.total} games",
            f"{100 * done / max(1, progress.total):.0f} %",
            f"{clock(left)} left",
            f"{games:.2f} games/s",
        ]
        if simulations:
            parts.append(f"{simulations:,.0f} simulations/s")
        return Text(", ".join(parts))

    def render(self, progress: Progress) -> Group:
        width, height = self.console.size
        plan = progress.plan
        title = Text(plan.name, style="bold")
        title.append(f"  {plan.game.spec}", style="cyan")
        done = len(progress.results)
        bar = RichTable.grid()  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=max(1, progress.total), completed=done, width=width - 1))
        ratings = rate(progress.results, players=[bot.name for bot in plan.bots])
        room = height - 4
        board = self._board(progress, room)
        board_width = max((len(line) for line in board.plain.splitlines()), default=0) if board else 0
        table_width = width - board_width - 2 if board else width
        if table_width < 46:  # the standings matter more than a board
            board, table_width = None, width
        rows = min(len(ratings.ratings), max(1, room - 3))
        left: list = [standings_table(ratings, rows, min(table_width, 100))]
        cross_room = room - rows - 4
        n = len(ratings.ratings)
        if n <= 12 and cross_room >= n + 2 and 24 + 11 * n <= table_width:
            left += [Text(), cross_table(progress.results, ratings)]
        body: RichTable | Group = Group(*left)
        if board is not None:
            grid = RichTable.grid(padding=(0, 2, 0, 0))
            grid.add_column(width=table_width)
            grid.add_column(width=board_width)
            grid.add_row(body, board)
            body = Group(grid)
        line = self.line(progress)
        line.no_wrap = True
        line.truncate(width - 1, overflow="ellipsis")
        return Group(title, bar, line, body)

    def _board(self, progress: Progress, room: int) -> Text | None:
        table = progress.table
        if table is None or table.game.height + 3 > room:
            return None
        lanes = table.lanes
        if not (self._watched < len(lanes) and lanes[self._watched]):
            self._watched = next((i for i, lane in enumerate(lanes) if lane), 0)
        lane = lanes[self._watched] if lanes else None
        if lane is None:
            return None
        stones, last = table.board(self._watched)
        text = Text(no_wrap=True)
        limit = max(12, 2 * table.game.width + 3)
        for mark, name in ((BLACK, lane.task.black), (WHITE, lane.task.white)):
            line = Text(f"{mark} {name}\n")
            line.truncate(limit, overflow="ellipsis")
            text.append_text(line if line.plain.endswith("\n") else line + Text("\n"))
        return text + board_text(stones, last)


def standings_table(ratings: RatingList, rows: int, width: int | None = None) -> RichTable:
    """Elo with its 95 % error, games, wins-draws-losses, score."""
    table = RichTable(box=None, padding=(0, 1), header_style="bold", width=width, pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("bot", overflow="ellipsis", no_wrap=True, ratio=1)
    for heading in ("Elo", "±95%", "games", "W-D-L", "score"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i, r in enumerate(ratings.ratings[:rows], 1):
        unbounded = abs(r.elo) == float("inf")
        table.add_row(
            str(i), Text(r.name), "" if not r.games else f"{r.elo:+}" if unbounded else f"{r.elo:+.0f}",
            "" if unbounded or not r.games else f"{r.error:.0f}", str(r.games),
            f"{r.wins:.0f}-{r.draws:.0f}-{r.losses:.0f}", f"{100 * r.score:.1f} %" if r.games else "",
        )  # fmt: skip
    return table


def cross_table(results: list[Result], ratings: RatingList) -> RichTable:
    """Wins-draws-losses of the row against the column; columns are numbered as the rows."""
    order = [r.name for r in ratings.ratings]
    cells = crosstable_cells(results, order)
    table = RichTable(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("row against column", overflow="ellipsis", no_wrap=True, max_width=32)
    for i in range(1, len(order) + 1):
        table.add_column(str(i), justify="center", no_wrap=True)
    for i, (name, row) in enumerate(zip(order, cells, strict=True), 1):
        table.add_row(str(i), Text(name), *["—" if j == i else cell or "·" for j, cell in enumerate(row, 1)])
    return table


def clock(seconds: float | None) -> str:
    """``0:42``, ``1:02:03``; ``?`` when unknown."""
    if seconds is None:
        return "?"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
