"""Training as it runs: a game of self-play on the board, the losses, the Elo curve, how fast and how long yet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from jubango.analysis.positions.plot import board_text
from jubango.arena.screens.dashboard import clock
from jubango.arena.text.console import Console
from jubango.arena.text.hosts import host_texts, hosts_said
from jubango.arena.text.preparing import AGAIN, Busy, Line, Preparing, shown
from jubango.arena.training.tables import HeldOutRow
from jubango.arena.training.training import TrainingProgress

SPARKS = "▁▂▃▄▅▆▇█"
LINE_SECONDS = 10.0  # between two plain lines
REFRESHES = 2  # a second
RECENT_STEPS = 20  # turns that speeds are taken over
STAGE_TEXTS = {
    "records": "learning from records",
    "rollouts": "learning from rollouts",
    "self-play": "self-play",
    "catching up": "learning from earlier games",
}


class TrainingView:
    """On a terminal it fills the screen; elsewhere it is a line now and then."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live: Live | None = None
        self._last = 0.0
        self._recent: deque[tuple[float, int, int]] = deque(maxlen=RECENT_STEPS)  # seconds, games, positions of turns
        self._told = 0
        self._began = time.perf_counter()
        self._waiting: Line | None = None  # while something is made or measured
        self._plain: Line | None = None  # what is said off a terminal while that goes on
        self._stage = ("", "")

    @contextmanager
    def running(self) -> Iterator[TrainingView]:
        try:
            if self.console.is_terminal:
                starting = Line(Busy("starting"))
                self._live = Live(starting, console=self.console, refresh_per_second=REFRESHES, screen=True)
                self._live.start()
                yield self
            else:
                with shown(self.console, Busy("starting"), everywhere=True, patience=AGAIN) as self._plain:
                    yield self
        finally:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def show(self, progress: TrainingProgress) -> None:
        step = progress.step
        if step is not None:
            self._recent.append((sum(step.seconds), step.games.number, step.samples))
        new = (progress.stage, progress.doing) != self._stage
        if new:
            self._stage = progress.stage, progress.doing
            kind = {"compiling": Preparing, "measuring": Busy}.get(progress.stage)
            self._waiting = Line(kind(doing(progress))) if kind else None
            if self._plain is not None:
                self._plain.says = self._waiting.says if self._waiting else ""
        if self._live is not None:
            self._live.update(self.render(progress), refresh=True)
            return
        for note in progress.training.notes[self._told :]:
            self.console.print(note, soft_wrap=True)
        self._told = len(progress.training.notes)
        now = time.perf_counter()
        if progress.stage == "compiling":
            since = f", {clock(now - self._began)} so far" if now - self._began >= 1 else ""
            self.console.print(f"compiling {progress.doing}{since}", soft_wrap=True)
        elif now - self._last >= LINE_SECONDS or (new and self._waiting) or progress.stage == "done":
            self._last = now
            self.console.print(self.line(progress), soft_wrap=True)

    def line(self, progress: TrainingProgress) -> Text:
        counts, training = progress.training.trainer.counts, progress.training
        parts = [
            doing(progress),
            f"{clock(progress.seconds)} trained",
            f"{int(counts['games']):,} games",
            f"{int(counts['positions']):,} positions",
            f"{training.trainer.steps:,} steps",
        ]
        if progress.left is not None:
            parts.insert(2, f"{clock(progress.left)} left")
        if training.measurements.elo:
            _, elo, error = training.measurements.elo[-1]
            parts.append(f"{elo:+.0f} ± {error:.0f} Elo")
        if training.hosts:
            parts.append(hosts_said(training.hosts))
        if progress.stage == "records" and training.held_out:
            parts.append(held_out_text(training.held_out[-1]))
        return Text(", ".join(parts))

    def render(self, progress: TrainingProgress) -> Group:
        """A whole screen."""
        training, step = progress.training, progress.step
        title = Text("Training ", style="bold").append(training.title, style="cyan")
        grid = RichTable.grid(padding=(0, 3, 0, 0))
        facts = self._facts(progress)
        if step is not None:
            grid.add_row(board_text(step.game.stones(step.state), slanted=step.game.hexagonal), facts)
        else:
            grid.add_row(facts)
        notes = [Text(note, style="yellow") for note in training.notes[-3:]]
        foot = Text(f"Ctrl-C saves and ends; the same command goes on. {training.folder}", style="dim")
        return Group(title, Text(), grid, Text(), *notes, foot, *host_texts(training.hosts))

    def _facts(self, progress: TrainingProgress) -> RichTable:
        training, trainer = progress.training, progress.training.trainer
        counts = trainer.counts
        table = RichTable.grid(padding=(0, 2, 0, 0))

        def row(name: str, value: str) -> None:
            table.add_row(Text(name, style="dim"), Text(value))

        table.add_row(Text("stage", style="dim"), self._waiting or Text(doing(progress)))
        left = "" if progress.left is None else f", {clock(progress.left)} left"
        row("time", f"{clock(progress.seconds)} trained{left}")
        seconds = sum(one[0] for one in self._recent)
        if seconds:
            games, positions = (sum(one[i] for one in self._recent) / seconds for i in (1, 2))
            row("speed", f"{games:.1f} games/s, {positions:,.0f} positions/s")
        row("played", f"{int(counts['games']):,} games, {int(counts['positions']):,} positions to learn from")
        row("learnt", f"{trainer.steps:,} steps of {training.settings.batch}")
        if training.rows:
            policy = [r["policy"] - r["target"] for r in training.rows]
            row("policy loss", f"{policy[-1]:.3f} {spark(policy)}")
            outcome = [r["outcome"] for r in training.rows]
            row("outcome loss", f"{outcome[-1]:.3f} {spark(outcome)}")
            row("entropy", f"{training.rows[-1]['entropy']:.2f} of the policy")
        for name in dict.fromkeys(one.found.board for one in training.held_out):
            own = [one for one in training.held_out if one.found.board == name]
            hits = spark([one.found.top1 for one in own])
            row(f"held out, {name.split(',')[0]}", f"{held_out_text(own[-1], named=False)} {hits}")
        if measured := training.measurements.elo:
            _, elo, error = measured[-1]
            row("Elo", f"{elo:+.0f} ± {error:.0f} {spark([one[1] for one in measured])}  (random 0)")
        matches = training.measurements.matches
        for match in matches:
            if match.network == matches[-1].network:
                row("", f"{match.wins}-{match.draws}-{match.losses} against {match.opponent}")
        return table


def doing(progress: TrainingProgress) -> str:
    """The stage in words, with what is compiled or measured against."""
    if progress.stage == "compiling":  # which is said of all programs that are made
        return progress.doing
    if progress.stage == "measuring":
        return f"measuring against {progress.doing}"
    return STAGE_TEXTS.get(progress.stage, progress.stage)


def held_out_text(row: HeldOutRow, named: bool = True) -> str:
    """What the network knew of recorded games that it had not learnt from."""
    found = row.found
    board = f"{found.board.split(',')[0]} " if named else ""
    return (
        f"{board}held out: {found.top1:.1%} of {found.positions:,} moves are its first choice, {found.top5:.1%} among "
        f"its five, value off by {found.value:.3f} (mean square)"
    )


def spark(values: Sequence[float], width: int = 24) -> str:
    """The course of values, oldest first, as bars; of many, means of stretches."""
    if len(values) < 2:
        return ""
    size = -(-len(values) // width)
    means = [sum(part) / len(part) for part in (values[i : i + size] for i in range(0, len(values), size))]
    low, high = min(means), max(means)
    return "".join(SPARKS[round((value - low) / (high - low or 1) * (len(SPARKS) - 1))] for value in means)
