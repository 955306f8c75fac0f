"""Ratings: a Bradley-Terry fit with draws, first-move advantage, a prior and anchors.

The model: Black's expected score is 1 / (1 + 10^(-(black - white + advantage) / 400)); a draw counts as half a win
and half a loss. Errors come from the joint covariance of all ratings, the inverse of the full information matrix,
less what draws scatter less. One player's curvature alone would take the others' ratings for known, and is far too
small in sparse tables. benchmarks/known_truth.py shows how often they hold.

The prior is games that were not played. Every player has some against a virtual one of its group, whose rating is
fitted along with the others. Two virtual players of equal strength hold the advantage near zero. So one
anchor moves a group as a whole, and several pull it only as far as its games let them.

References: Bradley & Terry 1952; Agresti, Categorical Data Analysis, section 11.6 (home
advantage and the joint covariance); Coulom 2005 (Bayeselo) for the prior of virtual games.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jubango.analysis.ratings.bradley_terry import Bounds, Rows, bounds, components, maximum, numbered, row_covariance
from jubango.analysis.ratings.results import ENDINGS, Result, decided
from jubango.analysis.ratings.scatter import pair_covariance
from jubango.sgf_games.base.errors import UserError, nearest

ELO = 400 / math.log(10)  # Elo points in one unit of log-odds
Z95 = 1.959964


@dataclass(frozen=True)
class Rating:
    """One player's rating.

    Without a prior ``elo`` may be infinite, for a perfect score and what amounts to it. With an infinite ``error`` and
    a finite ``elo`` the games do not say where the player stands.
    """

    name: str
    elo: float
    error: float  # half the width of the 95 % interval, Elo
    games: int
    wins: int
    draws: int
    losses: int
    group: int  # players of different groups never met, directly or through others
    time: int = 0  # of the losses those on time,
    forfeit: int = 0  # by an engine's failure
    resignation: int = 0  # and by resignation
    distinct_games: int | None = None  # as :func:`jubango.analysis.ratings.results.distinct_games` has it
    pair_error: float = math.inf  # as error, by the spread between pairs of games instead of the model's of games

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        return self.points / self.games if self.games else 0.0


@dataclass(frozen=True)
class RatingList:
    """All ratings, strongest first, scale after scale. Players with infinite ratings are ordered by the results between
    them where those decide it."""

    ratings: tuple[Rating, ...]
    advantage: float  # Elo that moving first is worth; 0 if not fitted, or if its error is infinite: it cannot be told
    advantage_error: float  # 95 %
    advantage_pair_error: float  # the same by the spread between pairs of games
    places: np.ndarray  # [n] Elo, in the order of ``ratings``: the finite ones, and of others where in their set
    covariance: np.ndarray  # [n, n] of the places, Elo squared
    pair_covariance: np.ndarray  # the same without the model's word for how games scatter: by their pairs
    groups: int
    scales: tuple[int, ...]  # ratings of one scale can be compared: of one group, or of groups with anchors
    sets: np.ndarray  # int [n]: places of one set have finite differences
    between: np.ndarray  # [sets, sets]: what a row's players are above a column's: 0, inf, -inf; nan: not known

    @cached_property
    def _index(self) -> dict[str, int]:
        return {rating.name: i for i, rating in enumerate(self.ratings)}

    def difference(self, first: str, second: str, *, by_pairs: bool = False) -> tuple[float, float, float]:
        """(Elo difference, its 95 % error, likelihood of superiority) from the joint covariance: the model's, or
        ``by_pairs`` that of the pairs of games.

        (0, inf, 0.5) where the games do not say.
        """
        i, j = self._index[first], self._index[second]
        way = float(self.between[self.sets[i], self.sets[j]])
        if way:
            return (0.0, math.inf, 0.5) if math.isnan(way) else (way, math.inf, float(way > 0))
        gap = float(self.places[i] - self.places[j])
        cov = self.pair_covariance if by_pairs else self.covariance
        sigma = math.sqrt(max(0.0, float(cov[i, i] + cov[j, j] - 2 * cov[i, j])))
        return gap, Z95 * sigma, superiority(gap, sigma)

    @property
    def superiority(self) -> np.ndarray:
        """[n, n]: the likelihood that the row's player is stronger than the column's, in the order of ``ratings``; 0.5
        where the games do not say, and of a player and himself."""
        names = [rating.name for rating in self.ratings]
        return np.array([[0.5 if a == b else self.difference(a, b)[2] for b in names] for a in names])


def superiority(gap: float, sigma: float) -> float:
    """The probability that a difference is above 0 which is thought to be ``gap`` with the standard error ``sigma``."""
    if not sigma:
        return 0.5 if not gap else float(gap > 0)
    return 0.5 * math.erfc(-gap / sigma / math.sqrt(2))


def rate(
    results: Iterable[Result | tuple[str, str, float]],
    prior: float = 0.5,
    first_move_advantage: bool = True,
    anchors: Mapping[str, float] | None = None,
    players: Iterable[str] = (),
) -> RatingList:
    """The ratings of all players of ``results``, in Elo, with errors.

    results: games, or (first, second, score of the first).
    prior: wins, and as many losses, of every player against a virtual one of its group, and as many of the first mover
        between two equal ones.
    first_move_advantage: whether moving first is fitted too, or taken as worth nothing.
    anchors: fixed ratings by name. Without any each group averages 0, and errors are those of the difference from that
        average.
    players: more players, who need not have games.

    Raises UserError for an unknown anchor.
    """
    anchors = dict(anchors or {})
    games = decided(results)
    names = sorted({name for game in games for name in (game.black, game.white)} | set(players))
    for anchor in anchors:
        if anchor not in names:
            raise UserError(f'anchor "{anchor}": no player of that name{nearest(anchor, names)}')
    if not (math.isfinite(prior) and prior >= 0):
        raise UserError(f"prior={prior} must be a number of games, 0 or more")
    index = {name: i for i, name in enumerate(names)}
    played = [game for game in games if game.black != game.white]
    rows, row = _rows(played, index)
    group = _groups(rows, len(names))
    held = np.array([name in anchors for name in names], bool)
    start = np.array([anchors.get(name, 0.0) / ELO for name in names])
    found = _fit(rows, group, start, held, prior, first_move_advantage)
    limit = found.limits.place(held)
    places = np.where(held, [anchors.get(name, 0.0) for name in names], _rounded(found.theta[:-1]))
    elo = np.where(limit == 0, places, np.nan_to_num(limit, nan=0.0, posinf=np.inf, neginf=-np.inf))
    side, advantage = found.limits.side, float(_rounded(found.theta[-1:])[0])
    finite = np.append(limit, side) == 0
    errors = _errors(found.covariance, finite)
    between, sets = found.limits.between, found.limits.set
    above = np.sign(np.nan_to_num(between)).sum(1)[sets]  # players certainly weaker minus players certainly stronger
    world = found.limits.world
    leading = np.full(len(names), len(names))
    np.minimum.at(leading, world, group)
    order = np.lexsort((-places, sets, -above, -elo, leading[world]))  # stable: names are in order
    tally, distinct = _tally(played, names), _distinct(played)
    telling = [game for game, told in zip(played, found.limits.rows[row], strict=True) if told]
    # The prior's games have the model's variance: they are all there is where pairs do not scatter at all.
    spread = found.prior + pair_covariance(telling, index, found.theta, found.inverse) * ELO**2
    pair_errors = _errors(spread, finite)
    ratings = tuple(
        Rating(
            names[i], float(elo[i]), float(errors[i]), group=int(group[i]), distinct_games=distinct.get(names[i]),
            pair_error=float(pair_errors[i]), **tally[names[i]],
        )
        for i in order
    )  # fmt: skip
    return RatingList(
        ratings, advantage if side == 0 else 0.0 if math.isnan(side) else side, float(errors[-1]),
        float(pair_errors[-1]), places[order], found.covariance[np.ix_(order, order)], spread[np.ix_(order, order)],
        int(group.max(initial=-1)) + 1, tuple(int(world[i]) for i in order), sets[order], between,
    )  # fmt: skip


def _errors(covariance: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Half the 95 % intervals of what is finite, the others' infinite."""
    return np.round(Z95 * np.sqrt(np.where(finite, np.maximum(covariance.diagonal(), 0), np.inf)), 9)


def _rounded(log_odds: np.ndarray) -> np.ndarray:
    """In Elo, without the last digits, which are the arithmetic's own, and without a minus before 0."""
    return np.round(log_odds * ELO, 9) + 0.0


def _rows(played: list[Result], index: dict[str, int]) -> tuple[Rows, np.ndarray]:
    """(one row for each pair of first and second player, which of them each game is in)."""
    n = max(1, len(index))
    codes = np.array([index[game.black] * n + index[game.white] for game in played], int)
    pairs, where, games = np.unique(codes, return_inverse=True, return_counts=True)
    wins = np.bincount(where, [game.score for game in played], len(pairs))
    drawn = np.bincount(where, [game.score == 0.5 for game in played], len(pairs))
    share = len(played) / (len(played) + 2)  # as if two more had been decided: a few games, all drawn, prove little
    return Rows(*np.divmod(pairs, n), np.ones(len(pairs)), wins, games.astype(float), share * drawn), where


def _tally(played: list[Result], names: list[str]) -> dict[str, dict[str, int]]:
    """Of each player how many games it played, won, ..."""
    tally = {name: dict.fromkeys(("games", "wins", "draws", "losses", *ENDINGS.values()), 0) for name in names}
    for (black, white, score, ending), count in Counter(game[:4] for game in played).items():
        for name, own in ((black, score), (white, 1 - score)):
            tally[name]["games"] += count
            tally[name]["wins" if own > 0.75 else "losses" if own < 0.25 else "draws"] += count
            if own < 0.25 and ending in ENDINGS:
                tally[name][ENDINGS[ending]] += count
    return tally


def _distinct(played: list[Result]) -> dict[str, int]:
    """Of each player of whose games any moves are known, how many are distinct."""
    played_by: Counter[str] = Counter()
    for game in played:
        played_by.update((game.black, game.white))
    repeated: dict[str, int] = {}
    for (black, white, _), count in Counter((g.black, g.white, g.game) for g in played if g.game is not None).items():
        for name in (black, white):
            repeated[name] = repeated.get(name, 0) + count - 1
    return {name: played_by[name] - count for name, count in repeated.items()}


def _groups(rows: Rows, players: int) -> np.ndarray:
    """int [n]: which connected group each player belongs to, the largest group first."""
    label = components(rows.first, rows.second, players)
    sizes = np.bincount(label)
    rank = np.empty(len(sizes), int)
    rank[np.lexsort((np.arange(len(sizes)), -sizes))] = np.arange(len(sizes))  # labels are in the order of the players
    return rank[label]


@dataclass(frozen=True)
class _Fit:
    theta: np.ndarray  # log-odds of the players, and the advantage last, as far as their differences are finite
    inverse: np.ndarray  # of the information
    covariance: np.ndarray  # Elo squared
    prior: np.ndarray  # the prior's part of it
    limits: Bounds


def _fit(
    rows: Rows, group: np.ndarray, start: np.ndarray, held: np.ndarray, prior: float, with_advantage: bool
) -> _Fit:  # fmt: skip
    """The maximum of the likelihood, as far as it has one."""
    n = len(group)
    anchored = np.isin(group, group[held])
    if prior > 0:
        world = numbered(np.where(anchored, -1, group))
        apart = np.where(np.eye(int(world.max(initial=-1)) + 1, dtype=bool), 0.0, np.nan)
        limits = Bounds(world, apart, 0.0, np.ones(len(rows.first), bool), world)
        rows = _with_virtual_games(rows, group, prior)
    else:
        limits = bounds(rows, n, held, with_advantage)
        rows = rows.kept(limits.rows)
    extra = int(group.max(initial=-1)) + 1 if prior > 0 else 0  # virtual players
    numbers = n + extra
    theta = np.concatenate([start, np.full(extra, start[held].mean() if held.any() else 0.0), [0.0]])
    free = np.concatenate([~held, np.ones(extra, bool), [with_advantage and n > 0 and limits.side == 0]])
    # Without a player who is held only differences mean something: hold any.
    label = components(rows.first, rows.second, numbers)
    first = np.unique(label, return_index=True)[1]
    free[first[~np.isin(np.arange(len(first)), label[:n][held])]] = False
    theta, inverse = maximum(rows, theta, free)
    virtual = rows.kept(np.arange(len(rows.games)) >= len(limits.rows))  # those that come after the games
    covariances = row_covariance(rows, theta, inverse), row_covariance(virtual, theta, inverse)
    place = limits.place(held)
    sets = [np.flatnonzero((group == g) & (place == 0)) for g in np.unique(group[~anchored])]
    theta = np.delete(theta, np.s_[n:-1])
    for finite in sets:
        theta[finite] -= theta[finite].mean()
    covariance, prior_part = (_centred(matrix, n, sets) * ELO**2 for matrix in covariances)
    return _Fit(theta, _centred(inverse, n, sets), covariance, prior_part, limits)


def _centred(matrix: np.ndarray, players: int, sets: list[np.ndarray]) -> np.ndarray:
    """The rows and columns of the players and the advantage, those of a set of players as said from its average."""
    matrix = np.delete(np.delete(matrix, np.s_[players:-1], 0), np.s_[players:-1], 1)
    for one in sets:
        matrix[one] -= matrix[one].mean(0)
        matrix[:, one] -= matrix[:, one].mean(1, keepdims=True)
    return matrix


def _with_virtual_games(rows: Rows, group: np.ndarray, prior: float) -> Rows:
    """Every player against the virtual one of its group, moving first counting nothing; and two equals, which are
    written as anybody against himself, moving first counting."""
    n = len(group)
    if not n:
        return rows
    points, side = np.full(n + 1, float(prior)), np.append(np.zeros(n), 1.0)
    virtual = Rows(np.append(np.arange(n), 0), np.append(n + group, 0), side, points, 2 * points, np.zeros(n + 1))
    return Rows(*(np.concatenate(columns) for columns in zip(rows, virtual, strict=True)))


def elo_of_score(score: float) -> float:
    """400 log10(s / (1 - s)); infinite at 0 and 1."""
    if score <= 0 or score >= 1:
        return math.inf if score >= 1 else -math.inf
    return 400 * math.log10(score / (1 - score))


def expected_score(elo: float) -> float:
    """The inverse of :func:`elo_of_score`."""
    return 1 / (1 + 10 ** (-elo / 400))
