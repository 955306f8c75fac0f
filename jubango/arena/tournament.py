"""Tournaments and matches: a plan is played to its end, on disk or in memory, by the command and from Python alike."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.games.pool import GamePool
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import Memory, RunFolder
from jubango.arena.schedule.formats import OPEN
from jubango.arena.schedule.openings import as_key
from jubango.arena.schedule.pairings import Pairing
from jubango.arena.schedule.plan import Plan, make_plan, match_plan, read_plan
from jubango.arena.screens.dashboard import dashboard_for
from jubango.bots.composition import note_on
from jubango.bots.config import BotConfig, EngineConfig
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import CannotGoOn, UserError, nearest
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.records.record import Failure
from jubango.sgf_games.rules.game import Game


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


def tournament(
    game: str | Game | Path,
    bots: Sequence[str | BotConfig] | None = None,
    games: int | None = None,
    out: Path | str | None = None,
    seed: int | None = None,
    *,
    games_at_once: int | None = None,
    clock: str | None = None,
    sprt: str | Sprt | None = None,
    format: str | None = None,
    rounds: int | None = None,
    indifference: float | None = None,
    alpha: float | None = None,
    openings: str | Path | Sequence[str] | None = None,
    opening_plies: int | None = None,
    adjudication: Mapping[str, float] | None = None,
    matchups: Sequence[Mapping[str, object]] | None = None,
    name: str | None = None,
    again: Sequence[str] = (),
    progress: bool | None = None,
) -> Run:
    """Play every bot against every other: ``tournament("go:9", ["uct:simulations=200", Bot("uct", c=1.0)])``, or
    ``tournament("demo.toml")``, a tournament file, of which the arguments given change the keys.

    ``game`` is a spec string, a game, or, without ``bots``, the path of a file; ``bots`` are spec strings and what
    :func:`jubango.bots.config.Bot` makes. The other keys of a file:

    - ``games`` per pairing (20; an even number), ``seed`` (1) of all dice, ``games_at_once`` (128), ``name``;
    - ``clock``: seconds of each player in each game, "60", "60+1", "300+3x30";
    - ``sprt``: of two bots, see :func:`match`;
    - ``format``: "round-robin", "gauntlet" (of the first bot), "match", "knockout", "swiss" (``rounds``),
      or "best", which finds the best of all, or one less than ``indifference`` (20) Elo below it, wrong with a chance
      of ``alpha`` (0.05) at most, and takes as many ``games`` as that needs;
    - ``openings``: "random", "balanced", an SGF file or a folder of such, or the moves of each, ``["D4 C4", ...]``; of
      them the first ``opening_plies`` moves;
    - ``adjudication``: the keys of :class:`jubango.arena.schedule.adjudication.Adjudication`;
    - ``matchups``: what is different between two bots,
      ``[{"bots": ["a", "b"], "komi": 0.5, "handicap": 2, "black": "b", "clock": "60"}]``.

    With ``out``, a folder, all is kept there and a run that was begun there goes on; else it is in memory only.
    ``again`` are reasons, ``["crash", "time"]`` for instance, for which games there are played anew.
    ``progress`` is shown in notebooks and on terminals; False hides it, True shows it anywhere.

    Raises UserError for input that cannot be used, Interrupted, a KeyboardInterrupt, and Stopped if a bot is lost.
    """
    claim()  # before a game of pgx starts JAX
    given = {
        "games": games,
        "seed": seed,
        "games_at_once": games_at_once,
        "clock": clock,
        "name": name,
        "sprt": sprt and str(sprt),
        "format": format,
        "rounds": rounds,
        "indifference": indifference,
        "alpha": alpha,
        "openings": as_key(openings),
        "opening_plies": opening_plies,
        "adjudication": adjudication and dict(adjudication),
        "matchups": matchups and [dict(matchup) for matchup in matchups],
    }
    keys: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    if bots is not None:
        if isinstance(game, Path):
            raise UserError(f"tournament: {game} is a path; give a game, or the file alone without bots")
        plan = make_plan(game, bots, keys)
    elif isinstance(game, Game):
        raise UserError("tournament: a game needs bots; give a list of them")
    elif not Path(game).exists() and Path(game).suffix != ".toml":
        raise UserError(f'tournament: "{game}" is no file; give bots with a game, or the path of a tournament file')
    else:
        plan = read_plan(Path(game), keys)
    return _shown(plan, out, progress, again)


def match(
    first: str | BotConfig,
    second: str | BotConfig,
    game: str | Game = "go:9",
    games: int | None = None,
    out: Path | str | None = None,
    seed: int = 1,
    *,
    clock: str | None = None,
    sprt: str | Sprt | None = None,
    openings: str | Path | Sequence[str] | None = None,
    opening_plies: int | None = None,
    again: Sequence[str] = (),
    progress: bool | None = None,
) -> Run:
    """Play two bots against each other in colour-swapped pairs; ``match(...).verdict`` says who is stronger, by how
    much, how surely. The arguments are those of :func:`tournament`, with a clock one game at a time. With ``sprt``,
    "0,20" for instance, the match ends where that test of the first bot decides, ``match(...).sprt``."""
    claim()
    begin = {"openings": as_key(openings), "opening_plies": opening_plies}
    keys = {key: value for key, value in begin.items() if value is not None}
    plan = match_plan(first, second, game, games, seed, clock or "", str(sprt or ""), keys)
    return _shown(plan, out, progress, again)


def _shown(plan: Plan, out: Path | str | None, progress: bool | None, again: Sequence[str]) -> Run:
    for note in dict.fromkeys(filter(None, (note_on(plan.game, bot) for bot in plan.bots))):
        warnings.warn(note, stacklevel=3)
    dashboard = dashboard_for(progress)
    with dashboard.running():
        return play_plan(plan, out, dashboard.show, dashboard.preparing, again)


def play_plan(
    plan: Plan,
    folder: Path | str | None = None,
    on_progress: Callable[[Run], None] = lambda run: None,
    preparing: Callable[[str], AbstractContextManager[object]] = nullcontext,
    again: Sequence[str] = (),
) -> Run:
    """Play what is missing in ``folder``, where every finished game is kept, whatever happens next; without one play
    all in memory. Games that ended by one of the reasons in ``again`` are played anew.

    ``on_progress`` is called with the growing run after every tick; it must be quick. ``preparing`` is entered with
    the words for what programs are being made for, and left before the first move. Raises UserError, Interrupted and
    Stopped.
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
                _play(run, on_progress, preparing)
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
    run: Run, on_progress: Callable[[Run], None], preparing: Callable[[str], AbstractContextManager[object]]
) -> None:
    plan = run.plan
    missing = {pair: count for pair, count in run.pace.missing.items() if count > 0}
    more = plan.format.kind not in OPEN  # anybody may be in a later round
    bots = [bot for bot in plan.bots if more or any(bot.name in pair for pair in missing)]
    lanes = _lanes_for(plan, bots, missing)

    def tick(table: GamePool) -> None:
        run.settle()
        on_progress(run)

    with preparing(f"{plan.game.spec} for {_some([bot.name for bot in bots])}"):
        table = GamePool(plan.game, bots, lanes, plan.name, tick, timed=plan.timed, adjudication=plan.adjudication)
    if table.note:
        run.notes.append(table.note)
    with contextlib.closing(table):
        run.table = table
        run.kept.begin(plan)
        try:
            for records in table.play(run.next_games(), run.next_games):
                run.add(records)
                if run.decided:
                    break
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
    return min(sum(missing.values()), plan.games_at_once, possible, affordable_lanes(plan.game, bots))


def _some(names: list[str], most: int = 3) -> str:
    """A list of names that does not get long."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
