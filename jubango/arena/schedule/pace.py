"""How long games take, pairing by pairing, and so how long those will that are still to be played.

The games that have ended are the short ones, so those under way count as well. A game's moves are taken to be normally
distributed. Of a game under way it is known that it has more of them than so far: a censored observation (Tobin 1958,
fitted as by Dempster, Laird and Rubin 1977). The seconds of a move are those of late, for they change with the
number of games at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jubango.arena.schedule.pairings import Pairing

USUAL_SPREAD = 0.3  # of games' lengths, as a share of the mean, and
USUAL_GAMES = 4.0  # how many games that counts for
ALIKE = 1.0  # games that the mean of all pairings counts for in each
FIT_STEPS = 12  # of the fit
LATE = 0.1  # share of the time after which seconds of a move count half, and
LATE_LEAST = 3.0  # seconds at least
SHORTEST_GAME = 1.0  # seconds that a game takes at least to end
Seconds = Callable[[Pairing], float]


class GameUnderWay(NamedTuple):
    """A game under way."""

    game_id: str
    pair: Pairing
    moves: int  # so far, those of its opening left out
    seconds: float  # so far


@dataclass
class Lengths:
    """Of the games of a pairing that have ended."""

    games: int = 0
    moves: float = 0.0
    squares: float = 0.0


@dataclass
class Spent:
    """What moves have taken, those of late above all."""

    moves: float = 0.0
    seconds: float = 0.0


class Pace:
    """``missing`` says how many games of each pairing are still to be played, those under way included.

    work: simulations a move of the bots of which that is known; by it a pairing is judged that has not begun.
    processes: how many games at once each engine plays at most.
    """

    def __init__(
        self, missing: dict[Pairing, int], work: Mapping[str, float] | None = None,
        processes: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.missing = missing
        self._work, self._processes = work or {}, processes or {}
        self._lengths: defaultdict[Pairing, Lengths] = defaultdict(Lengths)
        self._spent: defaultdict[Pairing, Spent] = defaultdict(Spent)
        self._seen: dict[str, tuple[int, float]] = {}  # moves and seconds of games under way, at the last look
        self._looked = 0.0  # seconds that had passed then

    def known(self, pair: Pairing, moves: float, seconds: float) -> None:
        """A game was played before: its length counts in full, what its moves took until others are seen. One of which
        this is not known counts for nothing."""
        if not (moves >= 0 and 0 <= seconds < math.inf):
            return
        self._end(pair, moves)
        spent = self._spent[pair]
        games = self._lengths[pair].games
        spent.moves += (moves - spent.moves) / games
        spent.seconds += (seconds - spent.seconds) / games

    def add(self, game: GameUnderWay) -> None:
        """A game has ended."""
        self.missing[game.pair] = self.missing.get(game.pair, 0) - 1
        self._end(game.pair, game.moves)
        self._look(game)
        del self._seen[game.game_id]

    def _end(self, pair: Pairing, moves: float) -> None:
        lengths = self._lengths[pair]
        lengths.games += 1
        lengths.moves += moves
        lengths.squares += moves**2

    def _look(self, game: GameUnderWay) -> None:
        """Count what is new of a game."""
        moves, seconds = self._seen.get(game.game_id, (0, 0.0))
        spent = self._spent[game.pair]
        spent.moves += max(0, game.moves - moves)  # fewer where some were taken back
        spent.seconds += max(0.0, game.seconds - seconds)
        self._seen[game.game_id] = game.moves, game.seconds

    def left(
        self, under_way: Sequence[GameUnderWay], elapsed: float, lanes: int = 1, rounds: Sequence[int] = ()
    ) -> float | None:
        """Seconds until all games are played, with ``elapsed`` ones behind; None if nobody knows yet.

        It is at least what all games take, spread over the lanes that are at work, and those of an engine, as many at a
        time as it has processes. A game may take longer than that, one to come or the last of those ``under_way``.
        The rest then lies between the two, as games that end leave some of the machine to the others: their geometric
        mean is taken. The games of later ``rounds``, so many each, which nobody knows yet, come on top of
        that, on ``lanes`` lanes.
        """
        fade = 0.5 ** ((elapsed - self._looked) / max(LATE_LEAST, LATE * elapsed))
        self._looked = elapsed
        for spent in self._spent.values():
            spent.moves, spent.seconds = fade * spent.moves, fade * spent.seconds
        for game in under_way:
            self._look(game)
        known = {pair: spent.seconds / spent.moves for pair, spent in self._spent.items() if spent.moves > 1e-3}
        if not known or not any(lengths.games for lengths in self._lengths.values()):
            return None
        of_move = self._seconds_of_move(known)
        length, spread = self._fit(under_way)
        waiting = dict(self.missing)
        for game in under_way:
            waiting[game.pair] = waiting.get(game.pair, 0) - 1
        whole = {pair: of_move(pair) * length(pair) for pair, games in waiting.items() if games > 0}
        work = {pair: waiting[pair] * seconds for pair, seconds in whole.items()}
        rests, last = 0.0, 0.0
        if under_way:
            seconds, means = (np.array([f(game.pair) for game in under_way]) for f in (of_move, length))
            so_far = np.array([game.moves for game in under_way], float)
            rests = float((seconds * (_longer(so_far, means, spread) - so_far)).sum())
            last = _last_end(so_far, means, spread, seconds)
        engines = [
            sum(seconds for pair, seconds in work.items() if name in pair) / processes
            for name, processes in self._processes.items()
        ]
        least = max((rests + sum(work.values())) / (len(under_way) or lanes), *engines, SHORTEST_GAME)
        found = max(least, math.sqrt(least * max(last, *whole.values(), 0.0)))
        usual = sum(known.values()) / len(known) * sum(map(length, known)) / len(known)
        return found + sum(max(usual, games * usual / lanes) for games in rounds)

    def _fit(self, under_way: Sequence[GameUnderWay]) -> tuple[Seconds, float]:
        """(a pairing's mean length, the standard deviation of all), in moves: of greatest likelihood, nearly, a few
        games as are usual counted in."""
        pairs = list(dict.fromkeys([*self._lengths, *(game.pair for game in under_way)]))
        at = {pair: i for i, pair in enumerate(pairs)}
        ended = [self._lengths.get(pair, Lengths()) for pair in pairs]
        games, moves, squares = (
            np.array([getattr(one, key) for one in ended], float) for key in ("games", "moves", "squares")
        )
        places = np.array([at[game.pair] for game in under_way], int)
        so_far = np.array([game.moves for game in under_way], float)
        every = games + np.bincount(places, minlength=len(pairs))
        middle = float(moves.sum() / games.sum())
        means, spread = np.full(len(pairs), middle), max(1.0, USUAL_SPREAD * middle)
        for _ in range(FIT_STEPS):
            expected = _longer(so_far, means[places], spread)
            # Of the truncated distribution: E[x²] = variance + mean (so far + mean) - mean so far, seen from 0.
            squared = spread**2 + means[places] * expected + so_far * (expected - means[places])
            total = moves + np.bincount(places, expected, len(pairs))
            total_squares = squares + np.bincount(places, squared, len(pairs))
            middle = float((total / every).mean())
            means = (total + ALIKE * middle) / (every + ALIKE)
            around = float((total_squares - 2 * means * total + every * means**2).sum())
            usual = USUAL_GAMES * (USUAL_SPREAD * middle) ** 2
            spread = max(1.0, math.sqrt((usual + around) / (USUAL_GAMES + every.sum())))
        found = dict(zip(pairs, means.tolist(), strict=True))
        return lambda pair: found.get(pair, middle), spread

    def _seconds_of_move(self, known: Mapping[Pairing, float]) -> Seconds:
        """A pairing's seconds a move: those ``known``, else by its bots' simulations, else by their other games."""

        def work(pair: Pairing) -> float:
            return sum(self._work[name] for name in pair) if all(name in self._work for name in pair) else 0.0

        mean = sum(known.values()) / len(known)
        of_bot: defaultdict[str, list[float]] = defaultdict(list)
        for pair, seconds in known.items():
            for name in pair:
                of_bot[name].append(seconds)
        judged = [(seconds, work(pair)) for pair, seconds in known.items() if work(pair)]
        rate = sum(seconds for seconds, _ in judged) / sum(made for _, made in judged) if judged else 0.0

        def seconds_of(pair: Pairing) -> float:
            by_bots = sum(sum(seen) / len(seen) if (seen := of_bot.get(name)) else mean for name in pair) / 2
            return known.get(pair) or rate * work(pair) or by_bots

        return seconds_of


def _longer(so_far: np.ndarray, means: np.ndarray, spread: float) -> np.ndarray:
    """The mean lengths of games that are longer than ``so_far``."""
    from scipy.special import log_ndtr

    z = (so_far - means) / spread
    longer: np.ndarray = means + spread * np.exp(-z * z / 2 - math.log(2 * math.pi) / 2 - log_ndtr(-z))
    return np.maximum(longer, so_far)


def _last_end(so_far: np.ndarray, means: np.ndarray, spread: float, seconds: np.ndarray) -> float:
    """Seconds until the last of these games ends, which with an even chance are enough; a move takes ``seconds``."""
    from scipy.special import log_ndtr

    now = log_ndtr((means - so_far) / spread)

    def over(then: float) -> float:
        """The logarithm of the chance that all have ended."""
        going = np.exp(log_ndtr((means - so_far - then / seconds) / spread) - now)
        return float(np.log1p(-np.minimum(going, 1 - 1e-12)).sum())

    low, high = 0.0, 1.0
    while over(high) < -math.log(2) and high < 1e9:
        low, high = high, 2 * high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) < -math.log(2) else (low, middle)
    return high
