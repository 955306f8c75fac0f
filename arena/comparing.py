"""Two runs side by side."""

from __future__ import annotations

from pathlib import Path

from jubango.analysis.comparison import Comparison, RunGames, compared
from jubango.arena.run import Run
from jubango.arena.run_folder import open_run
from jubango.arena.weights import network_of


def compare_runs(first: Run | Path | str, second: Run | Path | str) -> Comparison:
    """What changed from the first run to the second, two runs or their folders: of every bot that is in both, by its
    name, the change of its rating in Elo with the 95 % error and the probability that it is stronger now, its games,
    seconds a game, and failures; ``.frame`` is a pandas frame. Bots with the same settings in both are what changes are
    measured against; :mod:`jubango.analysis.comparison` says how. Raises UserError if no bot is in both."""
    runs = [run if isinstance(run, Run) else open_run(run) for run in (first, second)]
    return compared(*(RunGames(_label(run), run.plan.game.spec, settings(run), run.games) for run in runs))


def settings(run: Run) -> dict[str, str]:
    """Of every bot its spec, with the beginning of its weights' digest where that is known."""
    found = {}
    for bot in run.plan.bots:
        digest = run.plan.networks.get(network_of(run.plan, bot), "")
        found[bot.name] = f"{bot.spec} (weights {digest[:8]})" if digest else bot.spec
    return found


def _label(run: Run) -> str:
    return str(run.folder) if run.folder else run.plan.name
