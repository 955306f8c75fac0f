"""The Bradley-Terry likelihood of paired games: where its maximum is, how sharp, and whether there is one.

A player has one number, log-odds, and the last number of all is what moving first is worth. Games are rows: who
moved first, against whom, and whether that counts. All that is here is in log-odds; ratings.py has the Elo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FAR = 100.0  # log-odds that a step goes at most, where the likelihood is too flat to say how far
MANY = 200  # numbers: more are solved for step by step, not all at once


class Rows(NamedTuple):
    """Games by pair of players: arrays of one length."""

    first: np.ndarray  # int: who moved first
    second: np.ndarray
    side: np.ndarray  # 1 where moving first counts, else 0
    wins: np.ndarray  # points of the first
    games: np.ndarray
    drawn: np.ndarray  # of the games

    def kept(self, chosen: np.ndarray) -> Rows:
        return Rows(*(column[chosen] for column in self))

    def gap(self, theta: np.ndarray) -> np.ndarray:
        """What the first is ahead by."""
        return theta[self.first] - theta[self.second] + self.side * theta[-1]

    def log_likelihood(self, theta: np.ndarray) -> float:
        from scipy.special import log_expit

        gap = self.gap(theta)
        return float(self.wins @ log_expit(gap) + (self.games - self.wins) @ log_expit(-gap))

    def variance(self, theta: np.ndarray) -> np.ndarray:
        """Of the points: s (1 - s) for a game of the expected score s, less a quarter for every draw."""
        from scipy.special import expit

        gap = self.gap(theta)
        return np.maximum(self.games * expit(gap) * expit(-gap) - self.drawn / 4, 0)


def maximum(rows: Rows, start: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the numbers of greatest likelihood, the inverse of the information), those that are not ``free`` held where they
    start, with zeros in the inverse.

    The maximum has to be finite and the only one. Newton's method, begun at the least squares of the pairs' own scores.
    """
    from scipy.special import logit

    theta = start.copy()
    theta[free] += _solved(*_equations(rows, theta, free, logit((rows.wins + 0.5) / (rows.games + 1))))
    best = rows.log_likelihood(theta)
    for _ in range(200):
        step = np.zeros(len(theta))
        step[free] = _solved(*_equations(rows, theta, free, rows.gap(theta)))
        step *= min(1.0, FAR / max(FAR, np.abs(step).max(initial=0)))
        for _ in range(60):  # too far is halved
            found = rows.log_likelihood(theta + step)
            if found >= best - 1e-13 * abs(best):
                break
            step /= 2
        theta, best = theta + step, found
        if np.abs(step).max(initial=0) < 1e-9:
            break
    information, gradient = _equations(rows, theta, free, rows.gap(theta))
    inverse = np.zeros((len(theta), len(theta)))
    if free.any():
        inverse[np.ix_(free, free)] = own = _inverse(information.toarray())
        theta[free] += np.clip(own @ gradient, -1e-6, 1e-6)  # the last digits
    return theta, inverse


def row_covariance(rows: Rows, theta: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The covariance that the numbers of greatest likelihood have by the variance of these rows' points.

    Of all rows without draws that is the inverse of the information. A draw counts as half a win and half a loss, but
    scatters less: the covariance is that of a quasi-likelihood (McCullagh & Nelder, Generalized Linear Models, 1989,
    chapter 9), whose points have the variance that games with so many draws have.
    """
    return inverse @ _products(rows, rows.variance(theta), len(theta)).toarray() @ inverse


def _equations(rows: Rows, theta: np.ndarray, free: np.ndarray, gap: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """(matrix, vector) of the step from ``theta`` to the least squares, weighted as at ``gap``, of the gaps that
    explain the points. Where ``gap`` is that of ``theta`` they are the information and the gradient."""
    from scipy.special import expit

    weight = rows.games * expit(gap) * expit(-gap)
    pull = rows.wins - rows.games * expit(gap) + weight * (gap - rows.gap(theta))
    gradient = sum(np.bincount(player, sign * pull, len(theta)) for player, sign in _signs(rows, len(theta)))
    matrix = _products(rows, weight, len(theta))
    return matrix[free][:, free], np.asarray(gradient)[free]


def _products(rows: Rows, weight: np.ndarray, numbers: int) -> csr_array:
    """[numbers, numbers]: the sum of the rows' products, sign by sign, so much of each."""
    from scipy.sparse import coo_array

    signs = _signs(rows, numbers)
    blocks = [(u, v, weight * a * b) for u, a in signs for v, b in signs]
    u, v, values = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return coo_array((values, (u, v)), (numbers, numbers)).tocsr()


def _signs(rows: Rows, numbers: int) -> tuple[tuple[np.ndarray, float | np.ndarray], ...]:
    """Which numbers a row's gap is made of, and with which sign."""
    return (rows.first, 1.0), (rows.second, -1.0), (np.full(len(rows.first), numbers - 1), rows.side)


def _solved(matrix: csr_array, vector: np.ndarray) -> np.ndarray:
    """The step to take; of many numbers a near one, as the next step mends what this one lacks."""
    from scipy.linalg import cho_solve
    from scipy.sparse import dia_array
    from scipy.sparse.linalg import cg

    diagonal = matrix.diagonal()
    if len(vector) > MANY and (diagonal > 0).all():
        near, failed = cg(matrix, vector, M=dia_array((1 / diagonal[None], [0]), matrix.shape))
        if not failed:
            return np.asarray(near)
    return np.asarray(cho_solve(_factor(matrix.toarray()), vector)) if len(vector) else vector


def _factor(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    from scipy.linalg import LinAlgError, cho_factor

    ridge = 1e-14 * matrix.diagonal().max(initial=1e-30)
    while True:
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:  # a likelihood as flat as rounding
            matrix = matrix + ridge * np.eye(len(matrix))
            ridge *= 100


def _inverse(matrix: np.ndarray) -> np.ndarray:
    from scipy.linalg.lapack import dpotri

    lower = np.tril(dpotri(_factor(matrix)[0], lower=1)[0])
    return lower + np.tril(lower, -1).T


# -- whether there is a maximum ------------------------------------------------------------------


class Bounds(NamedTuple):
    """Which numbers have a finite maximum."""

    set: np.ndarray  # int [n]: players of one set have finite differences
    between: np.ndarray  # [sets, sets]: what a row's players are above a column's: 0, inf, -inf; nan if undetermined
    side: float  # the same of moving first
    rows: np.ndarray  # bool: the games that say something of finite differences
    world: np.ndarray  # int [n]: players of one world have met, directly, through others, or by being held

    def place(self, held: np.ndarray) -> np.ndarray:
        """[n]: what each player is above those of its world who are ``held``, or else above its largest set."""
        size = np.bincount(self.set)[self.set].astype(float)
        size[held] = np.inf
        order = np.lexsort((np.arange(len(size)), -size, self.world))
        core = self.set[order[np.unique(self.world[order], return_index=True)[1]]]
        return self.between[self.set, core[self.world]]


class _Cone(NamedTuple):
    """The directions in which no game's likelihood falls, with moving first changed by ``slope``: differences
    d[u] - d[v] >= -weight for all edges u -> v. Either there are none, or ``place`` is one of them."""

    slope: int
    edges: tuple[np.ndarray, np.ndarray, np.ndarray]  # u, v, weight
    place: np.ndarray  # int [n]


def bounds(rows: Rows, players: int, held: np.ndarray, with_side: bool) -> Bounds:
    """Ford's condition (1957) with moving first as one more number, and what is infinite where it does not hold.

    The likelihood has no finite maximum where some direction lowers no game's likelihood and raises one's: a win of u
    over v asks for d[u] - d[v] >= 0, plus or minus what the direction adds to moving first. For a given sum these are
    constraints on differences, which shortest paths solve. Two players' difference is finite if all such directions
    leave it alone, infinite if all that change it change it one way, and undetermined otherwise.
    """
    node = np.arange(players)
    if held.any():
        node[held] = np.flatnonzero(held)[0]  # those held are one place
    rows = rows._replace(first=node[rows.first], second=node[rows.second])
    slopes = (1, -1, 0) if with_side else (0,)
    cones = [cone for slope in slopes if (cone := _cone(rows, players, slope)) is not None]
    strict = cones[0]  # of two with a slope either says the same
    u, v, weight = strict.edges
    tight = strict.place[v] == strict.place[u] + weight
    together = components(u[tight], v[tight], players, "strong")
    inside = together[rows.first] == together[rows.second]
    rows_inside = inside & (rows.gap(np.append(strict.place, strict.slope)) == 0)
    alike = numbered(np.unique(np.stack([together, strict.place]), axis=1, return_inverse=True)[1].ravel()[node])
    farthest = np.max([_farthest(cone, alike) for cone in cones], axis=0)
    ways = {cone.slope for cone in cones}
    side = float(_sign(*np.array([[min(ways)], [max(ways)]]))[0])
    world = numbered(components(rows.first, rows.second, players)[node])
    return Bounds(alike, _sign(-farthest, farthest.T), side, rows_inside, world)


def _sign(lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """Where something goes that moves between two bounds as it likes."""
    return np.select(
        [(lowest < 0) & (highest > 0), highest > 0, lowest < 0],
        [np.full(lowest.shape, x) for x in (np.nan, np.inf, -np.inf)],
        0.0,
    )


def _cone(rows: Rows, players: int, slope: int) -> _Cone | None:
    won, lost = rows.wins > 0, rows.wins < rows.games
    u = np.concatenate([rows.first[won], rows.second[lost]])
    v = np.concatenate([rows.second[won], rows.first[lost]])
    weight = slope * np.concatenate([rows.side[won], -rows.side[lost]]).astype(int)
    pairs, where = np.unique(u * players + v, return_inverse=True)
    least = np.full(len(pairs), 1)
    np.minimum.at(least, where, weight)
    u, v = np.divmod(pairs, players)
    falling = least < 0
    if (falling & np.isin(pairs, v[falling] * players + u[falling])).any():  # the shortest of circles that never end
        return None
    place = _lowest((u, v, least), players)
    return None if place is None else _Cone(slope, (u, v, least), place.astype(int))


def _lowest(edges: tuple[np.ndarray, np.ndarray, np.ndarray], players: int) -> np.ndarray | None:
    """[n]: the length of the shortest path from anybody, 0 at most; None if it has no end."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford

    u, v, weight = edges
    everybody, other = np.arange(players), u != v
    u = np.concatenate([u[other], np.full(players, players)])
    v = np.concatenate([v[other], everybody])
    weight = np.concatenate([weight[other], np.zeros(players)])
    places = u.astype(np.int32), v.astype(np.int32)  # the oldest scipy takes no others
    graph = coo_array((weight, places), (players + 1, players + 1)).tocsr()
    try:
        return bellman_ford(graph, indices=players)[:players]
    except NegativeCycleError:
        return None


def _farthest(cone: _Cone, alike: np.ndarray) -> np.ndarray:
    """[sets, sets]: how far the players of a column's set can come to be above those of a row's."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import johnson

    sets = int(alike.max(initial=-1)) + 1
    if sets < 2:
        return np.zeros((sets, sets))
    u, v, weight = cone.edges
    pairs, where = np.unique(alike[u] * sets + alike[v], return_inverse=True)
    least = np.full(len(pairs), 1)
    np.minimum.at(least, where, weight)
    u, v = (x.astype(np.int32) for x in np.divmod(pairs, sets))
    other = u != v
    return johnson(coo_array((least[other].astype(float), (u[other], v[other])), (sets, sets)).tocsr())


def components(u: np.ndarray, v: np.ndarray, players: int, connection: str = "weak") -> np.ndarray:
    """int [n]: the connected set of each player, numbered in the players' order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    places = u.astype(np.int32), v.astype(np.int32)  # the oldest scipy takes no others
    graph = coo_array((np.ones(len(u)), places), (players, players))
    return connected_components(graph, connection=connection)[1]


def numbered(labels: np.ndarray) -> np.ndarray:
    """The same sets as ``labels`` name, numbered without a gap."""
    return np.unique(labels, return_inverse=True)[1].ravel()
