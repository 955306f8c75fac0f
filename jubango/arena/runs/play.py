"""The engine of every run: a plan is played to its end, on disk or in memory; or tried, to learn how long it takes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from jubango.arena.games.pool import GamePool, GameTable, told_by
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import Memory, RunFolder
from jubango.arena.schedule.formats import OPEN
from jubango.arena.schedule.pairings import GameTask, Pairing
from jubango.arena.schedule.plan import Plan
from jubango.bots.config import BotConfig, EngineConfig
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import CannotGoOn, UserError, nearest
from jubango.sgf_games.compute.machine import games_at_once
from jubango.sgf_games.records.record import Failure


class TableMaker(Protocol):
    """Makes what plays the games of a plan: hosts, in the place of this process."""

    def __call__(
        self,
        plan: Plan,
        bots: Sequence[BotConfig],
        games: int,
        on_tick: Callable[[Any], None],
        folder: Path | None,
        first: Iterable[GameTask],
    ) -> GameTable:
        """``games``: that there are to be played. ``first``: those to begin with. Raises UserError and CannotGoOn."""
        ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, during play; ``run`` holds the games that were finished."""

    def __init__(self, run: Run) -> None:
        super().__init__(_finished(run))
        self.run = run


class Stopped(CannotGoOn):
    """A bot was lost during play, such as an engine that does not start any more; ``run`` holds the games that were
    finished, and the same call goes on."""

    def __init__(self, run: Run, why: CannotGoOn) -> None:
        super().__init__(f"{why}; {_finished(run)}")
        self.run = run


def _finished(run: Run) -> str:
    where = f"kept in {run.folder}" if run.folder else "held by this exception's run"
    return f"{len(run.results)} of {run.total} games are finished and {where}"


def play_plan(
    plan: Plan,
    folder: Path | str | None = None,
    on_progress: Callable[[Run], None] = lambda run: None,
    preparing: Callable[[str], AbstractContextManager[object]] = nullcontext,
    again: Sequence[str] = (),
    hosts: TableMaker | None = None,
) -> Run:
    """Play what is missing in ``folder``, where every finished game is kept, whatever happens next; without one play
    all in memory. Games that ended by one of the reasons in ``again`` are played anew.

    ``on_progress`` is called with the growing run after every tick; it must be quick. ``preparing`` is entered with
    the words for what programs are being made for, and left before the first move. ``hosts`` play in the place of this
    process. Raises UserError, Interrupted and Stopped.
    """
    kept = Memory() if folder is None else RunFolder(folder)
    unknown = next((reason for reason in again if reason not in list(Failure)), None)
    if unknown is not None:
        raise UserError(f'again: no game ends by "{unknown}"{nearest(unknown, Failure)}')
    if again and folder is None:
        raise UserError("again: says what to play anew in a run's folder; name it with out")
    with kept.claimed(plan):
        kept.forget(again)
        run = Run(plan, kept)
        try:
            if run.missing:
                _play(run, on_progress, preparing, hosts)
            on_progress(run)
        except KeyboardInterrupt:
            kept.conclude(run)
            raise Interrupted(run) from None
        except CannotGoOn as why:
            with contextlib.suppress(CannotGoOn):
                kept.conclude(run)
            raise Stopped(run, why) from None
        finally:
            run.table = None
        kept.conclude(run)
        return run


def _play(
    run: Run, on_progress: Callable[[Run], None], preparing: Callable[[str], AbstractContextManager[object]],
    hosts: TableMaker | None = None,
) -> None:  # fmt: skip
    plan = run.plan
    missing = {pair: count for pair, count in run.pace.missing.items() if count > 0}
    more = plan.format.kind not in OPEN  # anybody may be in a later round
    bots = [bot for bot in plan.bots if more or any(bot.name in pair for pair in missing)]
    under_way, machines = run.kept.under_way, 0

    def tick(table: GameTable) -> None:
        nonlocal machines
        run.settle()
        if under_way:
            under_way.look(table)
        run.notes += told_by(table)
        if len(table.machines) > machines:
            machines = len(table.machines)
            run.kept.begin(plan, table.machines)
        on_progress(run)

    table: GameTable
    with preparing(f"{plan.game.spec} for {_some([bot.name for bot in bots])}"):
        if hosts is None:
            lanes = _lanes_for(plan, bots, missing)
            table = GamePool(plan.game, bots, lanes, plan.name, tick, timed=plan.timed, adjudication=plan.adjudication)
        else:
            table = hosts(plan, bots, sum(missing.values()), tick, run.folder, run.next_games())
    if table.note:
        run.notes.append(table.note)
    with contextlib.closing(table):
        run.table = table
        run.kept.begin(plan, table.machines or None)
        try:
            for records in table.play(run.next_games(), run.next_games, under_way.begun if under_way else None):
                run.add(records)
                if run.decided:
                    break
        except KeyboardInterrupt:
            run.add(table.ended())
            raise
        finally:
            run.settle(now=True)


class _Enough(Exception):
    """A trial has lasted long enough."""


def trial(
    plan: Plan, seconds: float, preparing: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> float | None:
    """Play the first games of a plan for so long, and keep nothing: how many seconds all games would take; None if none
    has ended. Raises UserError for bots that cannot play, and CannotGoOn."""
    run = Run(plan, Memory())
    began: list[float] = []
    left: list[float | None] = [None]

    def look(run: Run) -> None:
        began.append(time.perf_counter())
        elapsed = began[-1] - began[0]
        left[0] = run.seconds_left(max(elapsed, 1e-9))
        if elapsed > seconds or not run.missing:
            left[0] = elapsed if not run.missing else left[0] and left[0] + elapsed
            raise _Enough
        del began[1:]

    with run.kept.claimed(plan), contextlib.suppress(_Enough):
        _play(run, look, preparing)
    return left[0]


def _lanes_for(plan: Plan, bots: list[BotConfig], missing: Mapping[Pairing, int]) -> int:
    """How many games to have under way: as asked, as there are, as engines and memory allow."""
    external = {bot.name: bot.processes for bot in plan.bots if isinstance(bot, EngineConfig)}
    inside = sum(count for pair, count in missing.items() if not external.keys() & set(pair))
    possible = max(1, inside + sum(external.values()))
    return min(sum(missing.values()), games_at_once(plan.games_at_once), possible, affordable_lanes(plan.game, bots))


def _some(names: list[str], most: int = 3) -> str:
    """A list of names that does not get long."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
