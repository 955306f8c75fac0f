"""Two runs side by side."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from jubango.analysis.tables.comparison import Comparison, RunGames, compared
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import open_run, plan_in
from jubango.arena.runs.weights import network_name
from jubango.arena.schedule.plan import Plan
from jubango.sgf_games.base.errors import UserError


def compare_runs(first: Run | Path | str, second: Run | Path | str) -> Comparison:
    """What changed from one run to another: for every bot in both, the change of its rating in Elo and how sure it is.

    Besides the Elo with its 95 % error it has the probability that the bot is stronger now, its games, seconds a game,
    and failures. ``.frame`` is a pandas frame. Changes are measured against the bots with the same settings in both;
    :mod:`jubango.analysis.tables.comparison` says how.

    first, second: two runs or their folders.

    Raises UserError if no bot is in both.
    """
    if not isinstance(first, Run) and not isinstance(second, Run) and Path(first).resolve() == Path(second).resolve():
        raise UserError(f"compare: {first} twice; name two runs")
    runs = [run if isinstance(run, Run) else open_run(run) for run in (first, second)]
    return compared(*(RunGames(_label(run), run.plan.game.spec, settings(run.plan), run.counting) for run in runs))


def settings(plan: Plan) -> dict[str, str]:
    """Of every bot its spec, with the beginning of its weights' digest where that is known."""
    found = {}
    for bot in plan.bots:
        digest = plan.networks.get(network_name(plan, bot), "")
        found[bot.name] = f"{bot.spec} (weights {digest[:8]})" if digest else bot.spec
    return found


def other_settings(folders: Iterable[Path], apart: Collection[str] = ()) -> list[str]:
    """Where runs say different things by one name: bots with other settings, but those that are kept ``apart``, and
    games. A line for each; folders that hold no run say nothing."""
    plans: dict[Path, Plan] = {}
    for folder in folders:
        with contextlib.suppress(UserError):
            plans[folder] = plan_in(folder)
    said: list[str] = []
    specs: dict[str, dict[str, Path]] = {}  # of each name, and the first folder that says it
    games: dict[str, Path] = {}
    for folder, plan in plans.items():
        games.setdefault(plan.game.spec.partition(",")[0], folder)  # terms such as komi are a run's own
        for name, spec in settings(plan).items():
            specs.setdefault(name, {}).setdefault(spec, folder)
    if len(games) > 1:
        said.append(f"different games are rated as one: {_where(games)}")
    for name, own in specs.items():
        if len(own) > 1 and name not in apart:
            mend = f"--apart {shlex.quote(name)} tells them apart"
            said.append(f'"{name}" is rated as one player, though it is {_where(own)}; {mend}')
    return said


def left_out_of(folders: Iterable[Path]) -> dict[Path, list[str]]:
    """Of every run's folder whose test, or search for the best, has decided: the games behind those on which it has,
    which count for nothing."""
    found: dict[Path, list[str]] = {}
    for folder in folders:
        with contextlib.suppress(UserError):  # who reads its games will say so
            plan = plan_in(folder)
            if (plan.sprt or plan.format.kind == "best") and (own := open_run(folder).left_out):
                found[folder] = own
    return found


def _where(found: Mapping[str, Path]) -> str:
    return ", ".join(f"{what} in {folder}" for what, folder in found.items())


def _label(run: Run) -> str:
    return str(run.folder) if run.folder else run.plan.name
