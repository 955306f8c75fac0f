"""A tuning as it runs: the best settings so far with their intervals, what they promise, how long yet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from jubango.analysis.ratings.ratings import expected_score
from jubango.analysis.tables.verdicts import signed
from jubango.arena.runs.run import Run
from jubango.arena.screens.dashboard import Dashboard, clock
from jubango.arena.text.console import Console
from jubango.arena.text.hosts import host_texts, hosts_said
from jubango.arena.training.view import spark
from jubango.arena.tuning.tuning import Tuning, interval_text
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.base.specs import value_text

LIVE_SECONDS = 0.5  # between two pictures
LINE_SECONDS = 15.0  # between two plain lines of one round
BAR_WIDTH = 24  # of a response's course
WIDE = 100  # columns from which on there is room for it


class TuningView:
    """On a terminal a table that changes in place; elsewhere a line for every round. The match in the end is shown as
    every match is."""

    def __init__(self, console: Console, screen: bool = True) -> None:
        self.console = console
        self.dashboard = Dashboard(console, screen)
        self._live: Live | None = None
        self._began: float | None = None
        self._before = 0  # games at that time
        self._last = 0.0
        self._shown = (0, 0)  # round and games at the last line
        self._told = 0  # of the notes
        self._said = False  # what the tuning has found, before its match

    @contextmanager
    def running(self) -> Iterator[TuningView]:
        """What is shown in place goes away at the end."""
        with self.dashboard.running():
            try:
                yield self
            finally:
                self._stop()

    @contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        """Programs are being made for ``what``."""
        self._stop()
        with self.dashboard.preparing(what):
            yield
        self._began = None

    def confirming(self, run: Run) -> None:
        """The match of the best settings is being played."""
        self._stop()
        self.dashboard.show(run)

    def show(self, tuning: Tuning) -> None:
        now = time.perf_counter()
        if self._began is None:
            self._began, self._before = now, tuning.done
        for note in tuning.notes[self._told :]:
            self.console.print(note, style="dim", soft_wrap=not self.console.is_terminal)
        self._told = len(tuning.notes)
        new = tuning.round != self._shown[0] or (not tuning.missing and tuning.done != self._shown[1])
        wait = LIVE_SECONDS if self.console.is_terminal else LINE_SECONDS
        if tuning.done == self._shown[1] or (not new and now - self._last < wait):
            return
        self._last, self._shown = now, (tuning.round, tuning.done)
        if not self.console.is_terminal:
            self.console.print(self.line(tuning), soft_wrap=True)
            return
        if self._live is None:
            self._live = Live(console=self.console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self.render(tuning), refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    # -- what is shown -----------------------------------------------------------------------

    def line(self, tuning: Tuning) -> Text:
        """How far it is, and what is best so far."""
        elapsed = time.perf_counter() - (self._began or 0.0)
        speed = (tuning.done - self._before) / max(elapsed, 1e-9)
        parts = [f"round {tuning.round}", f"{tuning.done}/{tuning.total} games"]
        if tuning.missing:
            parts += [f"{clock(tuning.missing / speed if speed else None)} left", f"{speed:.1f} games/s"]
        if tuning.latest is not None:
            parts += [f"{one.key} {value_text(one.value)} ({interval_text(one)})" for one in tuning.best]
            parts += [f"{signed(elo.value)} Elo against {printable(name)}" for name, elo in tuning.against.items()]
        if tuning.hosts:
            parts.append(hosts_said(tuning.hosts))
        return Text(", ".join(parts))

    def render(self, tuning: Tuning) -> Group:
        width = self.console.width
        title = Text("Tuning ", style="bold").append(tuning.plan.start.spec, style="cyan")
        title.append(f" in {tuning.plan.playing.game.spec}")
        bar = RichTable.grid()
        bar.add_row(ProgressBar(total=max(1, tuning.total), completed=tuning.done, width=width - 1))
        far = self.line(tuning).plain.split(", ")[:4]
        rows: list[RenderableType] = [title, bar, Text(", ".join(far)), *host_texts(tuning.hosts), Text()]
        rows.append(settings_table(tuning, width >= WIDE))
        if tuning.latest is None:
            rows.append(Text("\nthe first round tries settings from the whole range", style="dim"))
        else:
            rows += [Text(), against_table(tuning)]
            rows += [Text(remark, style="yellow") for remark in tuning.remarks]
        return Group(*rows)


def settings_table(tuning: Tuning, courses: bool = False) -> RichTable:
    """A row for every setting: the best value with its interval, where it was sought, the value without tuning; with
    ``courses`` also how the response goes over its range."""
    table = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("setting", no_wrap=True)
    for heading in ("best", "95 %", "without"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("range", no_wrap=True)
    response = tuning.latest
    if courses and response is not None:
        table.add_column("Elo over the range", no_wrap=True)
    for number, (found, setting) in enumerate(zip(tuning.best, tuning.plan.settings, strict=True)):
        cells = [found.key, value_text(found.value), interval_text(found), f"{found.start:.4g}"]
        if response is None:
            cells[1:3] = "", ""
        cells.append(setting.range)
        if courses and response is not None:
            cells.append(spark(response.slope(number, np.linspace(-1, 1, BAR_WIDTH).tolist())[0].tolist()))
        table.add_row(*cells)
    return table


def against_table(tuning: Tuning) -> RichTable:
    """A row for every opponent: what the response promises of the best settings against it."""
    table = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("predicted against", no_wrap=True)
    for heading in ("Elo", "95 %", "score"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, elo in tuning.against.items():
        score = f"{100 * expected_score(elo.value):.1f} %"
        table.add_row(printable(name), signed(elo.value), f"{signed(elo.low)} to {signed(elo.high)}", score)
    return table


def tuning_view_for(progress: bool | None) -> TuningView:
    """What a tuning that was started from Python shows itself on: the terminal, or, unless ``progress`` is True,
    nothing. False is nothing anywhere."""
    console = Console(stderr=True)
    shown = progress or (progress is None and console.is_terminal)
    return TuningView(console if shown else Console(quiet=True), screen=False)
