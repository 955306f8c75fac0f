"""Tournaments and matches from Python: the arguments become a plan, which is played with a dashboard."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run import Run
from jubango.arena.schedule.openings import as_key
from jubango.arena.schedule.plan import Plan, make_plan, match_plan, read_plan
from jubango.arena.screens.dashboard import dashboard_for
from jubango.bots.composition import note_on
from jubango.bots.players.player import AnyBot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.rules.game import Game


def tournament(
    game: str | Game | Path,
    bots: Sequence[AnyBot] | None = None,
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

    ``game`` is a spec string, a game, or, without ``bots``, the path of a file; ``bots`` are spec strings, what
    :func:`jubango.bots.config.Bot` makes, and players in Python
    (:class:`jubango.bots.players.player.Player`). The other keys of a file:

    - ``games`` per pairing (20; an even number), ``seed`` (1) of all that is random, ``games_at_once`` (128), ``name``;
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
    first: AnyBot,
    second: AnyBot,
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
