"""Tournaments and matches from Python: the arguments become a plan, which is played with a dashboard."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.hosts.cluster import Cluster, cluster_of
from jubango.arena.runs.merging import merge_runs
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
    part: str | None = None,
    again: Sequence[str] = (),
    cluster: str | None = None,
    progress: bool | None = None,
) -> Run:
    """The run of a tournament: ``tournament("go:9", ["uct:simulations=200", Bot("uct", c=1.0)])``.

    game: a spec string or a game; or, without ``bots``, the path of a tournament file, of which the other arguments
        change the keys: ``tournament("demo.toml")``.
    bots: spec strings, what :func:`jubango.Bot` makes, and players in Python (:class:`jubango.Player`).
    games: of each pairing, an even number; by default 20.
    out: a folder, where all is kept and a run that was begun goes on; by default it is in memory only.
    seed: of all random numbers; by default 1.
    games_at_once: by default 128.
    clock: seconds of each player in each game, "60", "60+1", "300+3x30".
    sprt: a test of two bots, see :func:`match`.
    format: "round-robin", "gauntlet" (of the first bot), "match", "knockout", "swiss", or "best". The last finds the
        best of all, and takes as many ``games`` as that needs.
    rounds: of a Swiss tournament.
    indifference, alpha: of "best": it may find a bot up to 20 Elo below the best, and is wrong with a chance of at most
        0.05.
    openings: "random", "balanced", an SGF file or a folder of such, or the moves of each, ``["D4 C4", ...]``.
    opening_plies: only so many of their first moves.
    adjudication: the keys of :class:`jubango.arena.schedule.adjudication.Adjudication`.
    matchups: what is different between two bots, ``[{"bots": ["a", "b"], "komi": 0.5, "handicap": 2, "black": "b",
        "clock": "60"}]``.
    name: of the tournament.
    part: "2/3" is the second of three parts of the games, for three machines; :func:`merge` puts them together.
    again: reasons, ``["crash", "time"]`` for instance, for which games of the folder are played again.
    cluster: hosts that play in the place of this process: "local:3" for three processes of this machine, or a Ray
        cluster, "auto" or "HOST:PORT".
    progress: whether it is shown; by default in notebooks and on terminals.

    Raises UserError for input that cannot be used, Interrupted, a KeyboardInterrupt, and Stopped if a bot is lost.
    """
    claim()  # before a game of pgx starts JAX
    hosts = cluster_of(cluster)
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
        "part": part,
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
    return _shown(plan, out, progress, again, hosts)


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
    cluster: str | None = None,
    progress: bool | None = None,
) -> Run:
    """The run of a match: two bots in colour-swapped pairs of games.

    ``match(...).verdict`` says which is stronger, by how much, and how surely.

    first, second: the bots, as in :func:`tournament`.
    sprt: a test of the first bot, "0,20" for instance; the match ends where it decides, and ``match(...).sprt`` says
        how.
    clock: as in :func:`tournament`; with one, games are played one at a time.
    game, games, out, seed, openings, opening_plies, again, cluster, progress: as in :func:`tournament`.

    Raises UserError, Interrupted and Stopped as :func:`tournament` does.
    """
    claim()
    hosts = cluster_of(cluster)
    begin = {"openings": as_key(openings), "opening_plies": opening_plies}
    keys = {key: value for key, value in begin.items() if value is not None}
    plan = match_plan(first, second, game, games, seed, clock or "", str(sprt or ""), keys)
    return _shown(plan, out, progress, again, hosts)


def merge(folders: Sequence[Path | str], out: Path | str) -> Run:
    """The run that several folders make together, such as the parts of ``tournament(..., part="1/3")``. Each game is
    there once; what is missing still is played by ``tournament(out / "tournament.toml", out=out)``.

    folders: of runs of one plan; nothing is written there. A game that did not end alike in two of them is not stored,
        and named by a warning.
    out: the folder where all is put. What it holds already stays, so that the same call goes on where another was
        stopped.

    Raises UserError for runs of other plans, before anything is stored.
    """
    run, _, differing = merge_runs(folders, out)
    for game in differing:
        warnings.warn(str(game), stacklevel=2)
    return run


def _shown(
    plan: Plan, out: Path | str | None, progress: bool | None, again: Sequence[str], hosts: Cluster | None
) -> Run:  # fmt: skip
    for note in dict.fromkeys(filter(None, (note_on(plan.game, bot) for bot in plan.bots))):
        warnings.warn(note, stacklevel=3)
    dashboard = dashboard_for(progress)
    with dashboard.running():
        return play_plan(plan, out, dashboard.show, dashboard.preparing, again, hosts)
