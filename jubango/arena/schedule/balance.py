"""Sets of openings that are fair: drawn, searched, and kept if both sides have a chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jubango.analysis.positions.position import PositionAnalysis, analyze, searching_bot
from jubango.arena.schedule.openings import OPENINGS_AT_ONCE, board_key
from jubango.arena.schedule.pairings import Opening, drawn
from jubango.bots.composition import network_file, strongest
from jubango.bots.config import BotConfig
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import Position, position
from jubango.sgf_games.sgf.sgf import write_line

GLANCE = 2  # simulations that show the policy
FLATTER = 0.5  # the power of the policy that moves are drawn by, or openings would be too much alike
STALE = 10  # times that nothing new is drawn, before it is given up
CANDIDATES_EACH = 50  # candidates for each opening that is wanted, before it is given up


class Balanced(NamedTuple):
    """An opening and what the search said of it."""

    opening: Opening
    win_rate: float  # Black's, draws counting half, in [0, 1]


class TooFew(UserError):
    """There are not so many; ``found`` are those that there are, the most even first."""

    def __init__(self, said: str, found: list[Balanced]) -> None:
        super().__init__(said)
        self.found = found


class BalanceInterrupted(KeyboardInterrupt):
    """Ctrl-C; ``found`` are those so far, the most even first."""

    def __init__(self, found: list[Balanced]) -> None:
        super().__init__(f"{len(found)} openings had been found")
        self.found = found


def balanced_openings(
    game: Game,
    count: int,
    plies: int,
    bot: str | BotConfig | None = None,
    between: tuple[float, float] = (0.4, 0.6),
    seed: int = 1,
    on_progress: Callable[[int, int], object] = lambda kept, looked: None,
    **keys: object,
) -> list[Balanced]:
    """``count`` openings of ``plies`` moves after which Black's win rate lies ``between`` two numbers, by a search of
    ``bot`` (the strongest there is for the game), the most even first. Their moves are drawn by the root of the
    policy of the bot's network, or are random if it has none; no two can be turned or mirrored into each other.

    ``on_progress`` is told how many are kept and how many were looked at. Raises TooFew, a
    UserError, if there are not enough, and Interrupted; both hold what was found.
    """
    searching = searching_bot(bot or strongest(game, keys), **keys)
    informed = bool(network_file(game, searching))
    kept: list[Balanced] = []
    try:
        _look(game, count, plies, searching, informed, between, seed, on_progress, kept)
    except KeyboardInterrupt:
        raise BalanceInterrupted(_even(kept, count)) from None
    return _even(kept, count)


def _look(
    game: Game, count: int, plies: int, searching: BotConfig, informed: bool, between: tuple[float, float],
    seed: int, on_progress: Callable[[int, int], object], kept: list[Balanced],
) -> None:  # fmt: skip
    """Go on until ``kept`` has as many as are wanted. Raises TooFew."""
    low, high = between
    seen: set[bytes] = set()
    looked, stale = 0, 0
    while len(kept) < count:
        candidates = _drawn(game, plies, searching if informed else None, seed, looked)
        looked += len(candidates) or OPENINGS_AT_ONCE  # none where all games end before
        new = []
        for place, moves in candidates:
            key = board_key(game, place.state)
            if not place.over and key not in seen:
                seen.add(key)
                new.append((place, moves))
        for found, (_, moves) in zip(analyze([place for place, _ in new], searching, seed=seed), new, strict=True):
            if low <= found.win_rate.black <= high:
                kept.append(Balanced(Opening("", moves), found.win_rate.black))
        on_progress(min(len(kept), count), looked)
        stale = 0 if new else stale + 1
        if len(kept) < count and (stale == STALE or looked >= CANDIDATES_EACH * max(count, OPENINGS_AT_ONCE)):
            raise TooFew(
                f"openings: of {looked:,} openings of {plies} moves {len(kept)} are between {100 * low:g} and "
                f"{100 * high:g} %, not {count}; ask for fewer, other plies, or a wider range",
                _even(kept, count),
            )


def _even(kept: list[Balanced], count: int) -> list[Balanced]:
    """The first ``count``, with their names, the most even first."""
    best = sorted(kept[:count], key=lambda one: abs(one.win_rate - 0.5))
    return [one._replace(opening=Opening(f"balanced {i}", one.opening.moves)) for i, one in enumerate(best, 1)]


def openings_sgf(game: Game, openings: list[Balanced], said: str) -> bytes:
    """A collection of them, a game each; ``said`` is how the win rates were found."""
    games = []
    for one in openings:
        comment = f"Black's win rate {100 * one.win_rate:.1f} % ({said})"
        games.append(write_line(game, one.opening.moves, {"ON": one.opening.name, "C": comment}))
    return b"".join(games)


def _drawn(
    game: Game, plies: int, bot: BotConfig | None, seed: int, first: int
) -> list[tuple[Position, tuple[str, ...]]]:
    """Candidates by their numbers, of which the next is ``first``."""
    generators = [random.Random(drawn(seed, f"candidate {first + i}")) for i in range(OPENINGS_AT_ONCE)]
    lines: list[list[str]] = [[] for _ in generators]
    for _ in range(plies):
        places = [position(game, line) for line in lines]
        going = [i for i, place in enumerate(places) if not place.over]
        shares: dict[int, np.ndarray] = {}
        if bot is not None and going:
            glances: list[PositionAnalysis] = analyze([places[i] for i in going], bot, simulations=GLANCE, seed=seed)
            shares = {i: glance.priors for i, glance in zip(going, glances, strict=True)}
        for i in going:
            able = [a for a in np.flatnonzero(places[i].legal).tolist() if game.action_text(a) != "pass"]
            weights = [float(shares[i][a]) ** FLATTER for a in able] if i in shares else None
            if able:
                lines[i].append(game.action_text(generators[i].choices(able, weights)[0]))
    return [(position(game, line), tuple(line)) for line in lines if len(line) == plies]
