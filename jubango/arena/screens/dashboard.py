"""The tournament as it runs: a live screen or line on a terminal, plain lines elsewhere, a picture in a notebook."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from jubango.analysis.positions.plot import BLACK, WHITE, board_text, stone_text
from jubango.analysis.ratings.results import doubts
from jubango.analysis.ratings.sprt import SprtState
from jubango.arena.games.slot import GameSlot
from jubango.arena.runs.run import Run
from jubango.arena.text.console import Console
from jubango.arena.text.hosts import host_lines, hosts_said
from jubango.arena.text.names import SHORTEST_NAME, short_names
from jubango.arena.text.preparing import Preparing, shown
from jubango.arena.text.standings import cross_for, natural_width, shortest_standings, standings_for, standings_html
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.records.record import Failure

LIVE_SECONDS = 0.5  # between two pictures
LINE_SECONDS = 5.0  # between two plain lines
WON = {"B+": "Black won", "W+": "White won", "0": "drawn"}  # where a result says no more
FAILED = tuple(Failure)  # reasons that are said of a game
STANDINGS = 72  # columns that the standings take beside a big board
NOTE_ROOM = 26  # lines below the head from which on what is left idle is said there too
CLEAR = 16  # columns of a name that a board beside the standings leaves
AROUND = 7, 6  # columns and lines around a board: its coordinates, who plays, the last move, a gap
ENDED = 8  # games that ended last


class Dashboard:
    """Call :meth:`show` after every tick; it looks at the clock first and is usually done then.

    On a terminal it fills the ``screen``, or else one line that changes in place.
    """

    def __init__(self, console: Console, screen: bool = True) -> None:
        self.console, self.screen = console, screen
        self.in_place = console.is_terminal
        self._live: Live | None = None
        self._began = time.perf_counter()
        self._last = 0.0
        self._size = console.size  # at the last picture
        self._run: Run | None = None
        self._told = 0  # of the run's notes
        self._shown = 0  # pictures or lines so far
        self._shown_done = -1  # games done at the last one
        self.seconds_spent = 0.0
        self.where = ""  # the address of the run's page, if it has one

    @contextmanager
    def running(self) -> Iterator[Dashboard]:
        """What is shown in place goes away at the end."""
        try:
            yield self
        finally:
            if self._live is not None:
                self._live.stop()
                self._live = None
            if self._run is not None:
                self._tell_notes(self._run)

    @contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        """Programs are being made for ``what``: a spinner with the time taken so far, or a line if it takes a while."""
        with shown(self.console, Preparing(what), everywhere=True):
            yield
        self._began = time.perf_counter()

    def show(self, run: Run) -> None:
        now = time.perf_counter()
        done, self._run = len(run.results), run
        wait = LIVE_SECONDS if self.in_place else LINE_SECONDS
        # A picture may cost no more than a fiftieth of the time.
        wait = max(wait, 50 * self.seconds_spent / max(1, self._shown)) if self._shown else 0.0
        resized = self.in_place and self.console.size != self._size
        if now - self._last < wait and run.missing and not resized:
            return
        if not run.missing and self._shown and self._shown_done == done:
            return
        self._tell_notes(run)
        self._size = self.console.size
        self._draw(run)
        self._last = time.perf_counter()
        self.seconds_spent += self._last - now
        self._shown += 1
        self._shown_done = done

    def _tell_notes(self, run: Run) -> None:
        for note in run.notes[self._told :]:
            self._tell(note)
        self._told = len(run.notes)

    def _draw(self, run: Run) -> None:
        if not self.in_place:
            self._print(self.line(run).plain)
            return
        if self._live is None:
            # A screen of its own is drawn anew at every size: nothing of another one is left over.
            self._live = Live(console=self.console, auto_refresh=False, transient=True, screen=self.screen)
            self._live.start()
        self._live.update(self.render(run) if self.screen else self._one_line(self.line(run)), refresh=True)

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    def _tell(self, note: str) -> None:
        """Something to know, once."""
        self.console.print(note, style="dim", soft_wrap=not self.in_place)

    # -- what is shown -----------------------------------------------------------------------

    def speeds(self, run: Run) -> tuple[float, float, float | None]:
        """(games a second, simulations a second, seconds left or None if unknown)."""
        elapsed = max(1e-9, time.perf_counter() - self._began)
        done = len(run.finished) - run.before
        simulations = run.table.simulations / elapsed if run.table else 0.0
        return done / elapsed, simulations, run.seconds_left(elapsed)

    def line(self, run: Run, doubtful: bool = True) -> Text:
        """How far it is, and if ``doubtful`` is to be said what the games were."""
        games, simulations, left = self.speeds(run)
        done, test = len(run.results), run.sprt
        far = [f"{done}/{run.total} games", f"{100 * done / max(1, run.total):.0f} %", f"{clock(left)} left"]
        if test is not None:
            lower, upper = test.sprt.bounds
            far = [f"{done} games", f"LLR {test.llr:.2f} ({lower:.2f} to {upper:.2f})", test.accepted or "undecided"]
        if run.best is not None:
            able = 1 + sum(not one.beaten for one in run.best.standings[1:])
            far = [f"{done} games", f"{able} of {len(run.best.standings)} may be the best", f"{run.best.best} leads"]
        parts = list(far)
        if games:
            parts.append(f"{games:.2f} games/s")
        elif run.table:  # until a game is over its moves show that all goes on
            parts.append(f"{run.table.moves_made:,} moves made")
        if simulations:
            parts.append(f"{simulations:,.0f} simulations/s")
        if run.table and run.table.hosts:
            parts.append(hosts_said(run.table.hosts))
        return Text(", ".join([*parts, *(doubts(run.results) if doubtful else [])]))

    def render(self, run: Run) -> Group:
        """A whole screen: the standings with the crosstable below them, boards beside them, or as much as there is room
        for. The standings matter more than the boards."""
        width, height = self.console.size
        title = Text(run.plan.called, style="bold")
        title.append(f"  {run.plan.game.spec}", style="cyan").append(f"  {self.where}" * bool(self.where), style="dim")
        bar = RichTable.grid()  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=max(1, run.total), completed=len(run.results), width=width - 1))
        head: list[RenderableType] = [title, bar, self._one_line(self.line(run, doubtful=False))]
        if run.sprt is not None:
            head = [title, between(run.sprt, width - 1), head[-1]]
            head += [self._one_line(Text(line)) for line in run.told[1:] if run.sprt.games]
        if said := doubts(run.results):
            head.append(self._one_line(Text(", ".join(said), style="yellow")))
        head += [self._one_line(Text(line, style="dim")) for line in host_lines(run.table.hosts if run.table else ())]
        room, note = height - len(head) - 1, Text(run.table.note if run.table else "", style="dim")
        if not note or room < NOTE_ROOM:
            return Group(*head, self._body(run, width, room))
        room -= len(note.wrap(self.console, width)) + 1
        return Group(*head, self._body(run, width, room), "", note)

    def _body(self, run: Run, width: int, room: int) -> RenderableType:
        """``room`` lines of ``width``."""
        ratings = run.rating_list
        bots = len(ratings.ratings)
        rows = min(bots, max(1, room - 1))
        cell = self._cell(run, width, room)
        seen = run.table is not None and cell[1] <= room + 1
        standings = standings_for(width - cell[0], ratings, rows, CLEAR, los=True) if seen else None
        beside = standings is not None
        standings = standings or standings_for(width, ratings, rows, los=True) or shortest_standings(ratings, rows)
        left: list[RenderableType] = [standings]
        left_width, left_rows, below = natural_width(standings), rows + 1, None
        if left_rows + bots + 2 <= room:
            cross = cross_for(width - cell[0] if beside else width, run.results, ratings)
            if cross is not None:
                left += ["", cross]
                left_width, left_rows = max(left_width, natural_width(cross)), left_rows + bots + 2
            elif max(left_rows, cell[1]) + bots + 2 <= room:
                below = cross_for(width, run.results, ratings)
        if (rest := room - left_rows - 2) > 0 and run.latest:
            own = left_width if beside else width - 1
            left += ["", *self._ended(run, own, min(rest, ENDED))]
        if not beside:
            return Group(*left)
        grid = RichTable.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=left_width)
        lines = room - (bots + 2 if below else 0)
        columns = max(1, (width - left_width - 2) // cell[0])
        for _ in range(columns):
            grid.add_column(width=cell[0] - 2)
        boards = self._boards(run, columns * max(1, (lines + 1) // cell[1]), cell)
        stacks = [Group(*boards[i::columns]) for i in range(columns)]
        grid.add_row(Group(*left), *stacks)
        return Group(grid, "", below) if below else Group(grid)

    @staticmethod
    def _last_move(run: Run, lane: GameSlot) -> str:
        """``23 D4, 400 in 0.1 s``."""
        if len(lane.moves) <= lane.opening or not lane.thoughts:
            return f"{len(lane.moves)} moves of the opening" if lane.moves else ""
        thought = lane.thoughts[-1]
        spent = f"{max(0.0, thought.seconds):.1f} s" if not math.isnan(thought.seconds) else ""
        made = f"{thought.simulations:,} in " if thought.simulations > 0 else ""
        return f"{len(lane.moves)} {run.plan.game.action_text(lane.moves[-1])}, {made}{spent}"

    def _one_line(self, line: Text) -> Text:
        line.no_wrap = True
        line.truncate(self.console.width - 1, overflow="ellipsis")
        return line

    def _cell(self, run: Run, width: int, room: int) -> tuple[int, int]:
        """Columns and lines of a board with what is around it: big where all games under way have room beside the
        standings."""
        game = run.plan.game
        slant = game.hexagonal * (game.height - 1)  # of a small board, in characters
        big = 4 * game.width + 2 * slant + AROUND[0] + 2, 2 * game.height - 1 + AROUND[1]
        playing = sum(lane is not None for lane in run.table.lanes) if run.table else 0
        if playing and playing * big[0] + STANDINGS <= width and big[1] <= room + 1:
            return big
        return max(2 * game.width + slant + AROUND[0], 12) + 2, game.height + AROUND[1]

    def _ended(self, run: Run, width: int, most: int) -> list[Text]:
        """The games that ended last, and how."""
        every = [bot.name for bot in run.plan.bots]
        short = dict(zip(every, short_names(every, max(SHORTEST_NAME, (width - 30) // 2)), strict=True))
        lines = [Text("ended last", style="bold")]
        for record in list(run.latest)[::-1][: most - 1]:
            spent = f"{record.seconds:.1f} s" if record.seconds < 100 else clock(record.seconds)
            won = WON.get(record.result, record.result)
            how = f"{won}{f' ({record.reason})' if record.reason in FAILED else ''}"
            line = Text(f"{short[record.black]} – {short[record.white]}: {how}, {len(record.moves)} moves, {spent}")
            line.no_wrap = True
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
        return lines

    def _boards(self, run: Run, most: int, cell: tuple[int, int]) -> list[Text]:
        """The first games under way, with who plays and what the last move was: simulations and seconds."""
        if run.table is None:
            return []
        game, width = run.plan.game, cell[0] - 2
        big = cell[1] > game.height + AROUND[1]
        playing = [(i, lane) for i, lane in enumerate(run.table.lanes) if lane][:most]
        every = [bot.name for bot in run.plan.bots]
        short = dict(zip(every, short_names(every, width - 2), strict=True))
        out = []
        for (_, lane), (stones, last) in zip(playing, run.table.boards([i for i, _ in playing]), strict=True):
            text = Text(no_wrap=True, overflow="crop")
            for mark, name in ((BLACK, lane.task.black), (WHITE, lane.task.white)):
                text.append_text(stone_text(mark)).append(f" {short[name]}\n")
            text.append(self._last_move(run, lane)[:width] + "\n", style="dim")
            out.append(text.append_text(board_text(stones, last, big=big, slanted=game.hexagonal)).append("\n"))
        return out


class NotebookDashboard(Dashboard):
    """The line and the standings, updated in place under a notebook's cell; in the end one line is left."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self.in_place = True
        self._handle: Any = None  # IPython's, of the output

    @contextmanager
    def running(self) -> Iterator[Dashboard]:
        yield self

    @contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        preparing, over = Preparing(what), threading.Event()

        def tell() -> None:
            while not over.wait(LIVE_SECONDS):
                self._put(escape(str(preparing)))

        self._put(escape(str(preparing)))
        thread = threading.Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self._began = time.perf_counter()

    def _draw(self, run: Run) -> None:
        line = escape(self.line(run).plain)
        if not run.missing:
            self._put(line)
            return
        bar = f'<progress max="{run.total}" value="{len(run.results)}" style="width: 30em"></progress>'
        self._put(f"{bar}<br>{line}{standings_html(run.plan.called, run.rating_list, run.results)}")

    def _tell(self, note: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(f"<small>{escape(printable(note))}</small>"))

    def _put(self, html: str) -> None:
        from IPython.display import HTML, display

        html = printable(html, keep="\n")
        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def dashboard_for(progress: bool | None) -> Dashboard:
    """What a run that was started from Python shows itself on: the notebook, the terminal, or, unless ``progress`` is
    True, nothing. False is nothing anywhere."""
    console = Console(stderr=True)
    if progress is False:
        return Dashboard(Console(quiet=True))
    if _in_notebook():
        return NotebookDashboard()
    return Dashboard(console if progress or console.is_terminal else Console(quiet=True), screen=False)


def _in_notebook() -> bool:
    """Is this a Jupyter kernel? IPython at a terminal is a terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def between(test: SprtState, width: int) -> Text:
    """Where the log-likelihood ratio is between the bounds: ``H0 +0 ───────┼──●──── +20 H1``."""
    lower, upper = test.sprt.bounds
    left, right = f"H0 {test.sprt.elo0:+g} ", f" {test.sprt.elo1:+g} H1"
    room = max(3, width - len(left) - len(right))
    place, zero = (min(room - 1, max(0, round((x - lower) / (upper - lower) * (room - 1)))) for x in (test.llr, 0.0))
    line = ["─"] * room
    line[zero] = "┼"
    text = Text(left, style="bold" if test.accepted == "H0" else "dim")
    text.append("".join(line[:place]), style="dim")
    text.append("●", style="green" if place > zero else "red" if place < zero else "yellow")
    return text.append("".join(line[place + 1 :]), style="dim").append(
        right, style="bold" if test.accepted == "H1" else "dim"
    )


def clock(seconds: float | None) -> str:
    """``0:42``, ``1:02:03``; ``?`` when unknown."""
    if seconds is None:
        return "?"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
