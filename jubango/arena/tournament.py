"""Tournaments, matches and reviews from Python: the arguments become a plan, which is played with a dashboard."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack, overload

from jubango.analysis.positions.asked import limits_of, running
from jubango.analysis.ratings.sprt import Sprt
from jubango.analysis.reviews.engine_search import EngineSearcher
from jubango.analysis.reviews.review import Review
from jubango.analysis.reviews.review_file import MOST_REPEATS
from jubango.analysis.reviews.review_moves import Thresholds
from jubango.analysis.reviews.reviewing import REPEATS, ReviewProgress, reviews_of
from jubango.arena.hosts.cluster import Cluster, cluster_of
from jubango.arena.hosts.work.reviews import ReviewingHosts
from jubango.arena.runs.merging import merge_runs
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run import Run
from jubango.arena.schedule.openings import as_key
from jubango.arena.schedule.plan import Plan, make_plan, match_plan, read_plan
from jubango.arena.screens.dashboard import dashboard_for
from jubango.bots.bot_keys import BotKeys
from jubango.bots.composition import note_on
from jubango.bots.config import BotConfig
from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine
from jubango.bots.players.player import AnyBot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import Record


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
    games_at_once: by default 128, on accelerators 2,048.
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


@overload
def review(
    games: Record | Path | str, bot: str | BotConfig | None = ..., *, engine: str | AnalysisEngine | None = ...,
    repeats: int = ..., seed: int = ..., thresholds: Thresholds = ..., file: Path | str | None = ...,
    cluster: str | None = ..., on_progress: Callable[[ReviewProgress], None] = ..., **keys: Unpack[BotKeys],
) -> Review: ...  # fmt: skip
@overload
def review(
    games: list[Record | Path | str], bot: str | BotConfig | None = ..., *, engine: str | AnalysisEngine | None = ...,
    repeats: int = ..., seed: int = ..., thresholds: Thresholds = ..., file: None = ...,
    cluster: str | None = ..., on_progress: Callable[[ReviewProgress], None] = ..., **keys: Unpack[BotKeys],
) -> list[Review]: ...  # fmt: skip
def review(
    games: Record | Path | str | list[Record | Path | str],
    bot: str | BotConfig | None = None,
    *,
    engine: str | AnalysisEngine | None = None,
    repeats: int = REPEATS,
    seed: int = 1,
    thresholds: Thresholds = Thresholds(),  # noqa: B008 - a tuple
    file: Path | str | None = None,
    cluster: str | None = None,
    on_progress: Callable[[ReviewProgress], None] = lambda progress: None,
    **keys: Unpack[BotKeys],
) -> Review | list[Review]:
    """A game looked through, or a list of many: what every move lost, how surely, and what would have been better.

    games: records, or names of SGF files.
    bot: a spec string or a configuration, by default the strongest there is for the game.
    engine: in the place of a bot, an engine that speaks KataGo's JSON analysis protocol, or GTP with ``kata-analyze``
        or ``lz-analyze``: its command, or one that runs already.
    repeats: searches of every position, each with its own seed.
    seed: of the searches' random numbers; an engine has its own.
    thresholds: from what loss on a move is called an inaccuracy, a mistake, a blunder.
    file: the searches of a game are kept there, and those that are there already are taken.
    cluster: hosts that search in the place of this process, as of :func:`tournament`; engines stay here.
    on_progress: called with how far the searches are; of many games, some are finished before others begin.
    keys: change the bot's: ``simulations=200``. An engine has ``simulations``, its visits, and ``seconds``.

    Raises UserError for a bot that does not search, an illegal move, and a file that cannot be read or written or is
    another game's; for an engine that cannot be started, or answers with an error. One that dies is a RuntimeError.
    """
    alone = isinstance(games, Record | Path | str)
    listed = [games] if isinstance(games, Record | Path | str) else games
    if file is not None and not alone:
        raise UserError("review: file= keeps one game's searches; review these one after another, or without it")
    if not 1 <= repeats <= MOST_REPEATS:
        raise UserError(f"review: repeats={repeats}: should be from 1 to {MOST_REPEATS}")
    thresholds.check()
    if engine is None:
        with reviewing_hosts(cluster) as hosts:
            search = hosts.search if hosts else None
            reviews = reviews_of(listed, bot, repeats, seed, thresholds, file, on_progress, {**keys}, search)
        notes = hosts.notes if hosts else []
    elif bot is not None or cluster:
        raise UserError(f"review: {'bot' if bot is not None else 'cluster'} and engine exclude each other; give one")
    else:
        limits = limits_of({**keys})
        with running(engine) as started:
            asked = EngineSearcher(started, limits)
            reviews = reviews_of(listed, asked, repeats, seed, thresholds, file, on_progress, {})
        notes = started.notes
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return reviews[0] if alone else reviews


@contextmanager
def reviewing_hosts(cluster: str | None) -> Iterator[ReviewingHosts | None]:
    """Those that ``--cluster`` names, which end afterwards; None if it names none. Raises UserError."""
    named = cluster_of(cluster)
    if named is None:
        yield None
        return
    hosts = ReviewingHosts(named.fleet(), named.mixed)
    try:
        yield hosts
    finally:
        hosts.close()
