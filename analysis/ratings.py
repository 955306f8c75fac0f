"""Ratings: a Bradley-Terry fit with draws, first-move advantage, a prior and anchors.

The model: Black's expected score is 1 / (1 + 10^(-(black - white + advantage) / 400)); a draw
counts as half a win and half a loss. Errors come from the joint covariance of all ratings
(the inverse of the full information matrix), never from one player's curvature alone, which
takes the others' ratings for known and is far too small in sparse tables.

References: Bradley & Terry 1952; Agresti, Categorical Data Analysis, section 11.6 (home
advantage and the joint covariance); Coulom 2005 (Bayeselo) for the prior of virtual games.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from jubango.sgf_games.errors import UserError, nearest

ELO = 400 / math.log(10)  # Elo points in one unit of log-odds
Z95 = 1.959964


@dataclass(frozen=True)
class Rating:
    """One player's rating. ``elo`` is infinite for a perfect score without a prior."""

    name: str
    elo: float
    error: float  # half the width of the 95 % interval, Elo
    games: int
    wins: float
    draws: float
    losses: float
    group: int  # players of different groups never met, directly or through others

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        return self.points / self.games if self.games else 0.0


@dataclass(frozen=True)
class RatingList:
    """All ratings, strongest first, group after group."""

    ratings: tuple[Rating, ...]
    advantage: float  # Elo that moving first is worth; 0 if not fitted
    advantage_error: float  # 95 %
    covariance: np.ndarray  # [n, n] of the ratings, Elo squared, in the order of ``ratings``
    groups: int

    def difference(self, first: str, second: str) -> tuple[float, float, float]:
        """(Elo difference, its 95 % error, likelihood of superiority) from the joint covariance."""
        order = [r.name for r in self.ratings]
        i, j = order.index(first), order.index(second)
        gap = self.ratings[i].elo - self.ratings[j].elo
        cov = self.covariance
        sigma = math.sqrt(max(0.0, cov[i, i] + cov[j, j] - 2 * cov[i, j]))
        los = 0.5 * (1 + math.erf(gap / sigma / math.sqrt(2))) if sigma else float(gap > 0) or 0.5
        return gap, Z95 * sigma, los


Result = tuple[str, str, float]  # Black, White, Black's score


def rate(
    results: Iterable[Result],
    prior: float = 0.5,
    first_move_advantage: bool = True,
    anchors: Mapping[str, float] | None = None,
    players: Iterable[str] = (),
) -> RatingList:
    """Rate the players of ``results`` (and ``players`` without games, when there is a prior).

    ``prior``: wins, and as many losses, of every player against a virtual one at 0 Elo, or at the
    mean of the anchors. Without anchors each group's ratings average 0, and errors are those of
    the difference from that average. Raises UserError for an unknown anchor.
    """
    anchors = dict(anchors or {})
    played = [(b, w, float(s)) for b, w, s in results if b != w and s == s]  # a void game's score is NaN
    names = sorted({n for b, w, _ in played for n in (b, w)} | set(players))
    for anchor in anchors:
        if anchor not in names:
            raise UserError(f'anchor "{anchor}": no player of that name{nearest(anchor, names)}')
    if not (math.isfinite(prior) and prior >= 0):
        raise UserError(f"prior={prior} must be a number of games, 0 or more")
    index = {name: i for i, name in enumerate(names)}
    n = len(names)
    # wins[i, j]: points of i as Black against j as White; games likewise.
    wins, games = np.zeros((n, n)), np.zeros((n, n))
    tally = np.zeros((n, 3))
    for black, white, score in played:
        i, j = index[black], index[white]
        wins[i, j] += score
        games[i, j] += 1
        for player, own in ((i, score), (j, 1 - score)):
            tally[player, 0 if own > 0.75 else 2 if own < 0.25 else 1] += 1
    group = _groups(games + games.T)
    elo, covariance, advantage, advantage_error = _fit(
        wins, games, group, prior, first_move_advantage, {index[a]: e for a, e in anchors.items()}
    )
    order = sorted(range(n), key=lambda i: (group[i], -elo[i] if elo[i] == elo[i] else 0.0, names[i]))
    ratings = tuple(
        Rating(
            names[i], float(elo[i]), Z95 * math.sqrt(max(0.0, covariance[i, i])), int(tally[i].sum()),
            float(tally[i, 0]), float(tally[i, 1]), float(tally[i, 2]), int(group[i]),
        )
        for i in order
    )  # fmt: skip
    return RatingList(
        ratings, advantage, advantage_error, covariance[np.ix_(order, order)], int(group.max(initial=-1)) + 1
    )


def _groups(met: np.ndarray) -> np.ndarray:
    """int [n]: which connected group each player belongs to, the largest group first."""
    from scipy.sparse.csgraph import connected_components

    groups, label = connected_components(met, directed=False)
    sizes = np.bincount(label, minlength=groups)
    rank = np.empty(groups, int)
    rank[np.lexsort((np.arange(groups), -sizes))] = np.arange(groups)  # labels are in the order of the players
    return rank[label]


def _fit(
    wins: np.ndarray, games: np.ndarray, group: np.ndarray, prior: float, with_advantage: bool,
    anchors: dict[int, float],
) -> tuple[np.ndarray, np.ndarray, float, float]:  # fmt: skip
    """(Elo [n], their covariance [n, n], the first-move advantage, its 95 % error).

    The likelihood is concave in the log-odds, whose last one is the advantage: its only maximum is where the
    gradient is zero. Only what the games and the prior determine is searched, the range of the information matrix;
    in other directions, such as all ratings of a group together, the ratings stay where they began.
    """
    from scipy.optimize import minimize, root

    n = len(wins)
    centre = float(np.mean(list(anchors.values()))) / ELO if anchors else 0.0
    start = np.append(np.full(n, centre), 0.0)
    for i, elo in anchors.items():
        start[i] = elo / ELO
    unbounded = _unbounded(wins, games, group) if prior == 0 else np.zeros(n, int)
    for i in anchors:
        unbounded[i] = 0
    free = np.array([i not in anchors and not unbounded[i] for i in range(n)] + [with_advantage])
    kept = (unbounded == 0)[:, None] & (unbounded == 0)[None, :]
    wins, games = np.where(kept, wins, 0.0), np.where(kept, games, 0.0)
    if with_advantage and prior == 0 and (wins.sum() in (0, games.sum()) or not games.sum()):
        free[n] = False  # one colour won everything: nothing bounds the advantage
    basis = _range(_derivatives(np.zeros(n + 1), wins, games, prior, 0.0)[1] * np.outer(free, free))

    def loss(x: np.ndarray) -> float:
        return -_log_likelihood(start + basis @ x, wins, games, prior, centre)

    def slope(x: np.ndarray) -> np.ndarray:
        return -basis.T @ _derivatives(start + basis @ x, wins, games, prior, centre)[0]

    def information(x: np.ndarray) -> np.ndarray:
        return basis.T @ _derivatives(start + basis @ x, wins, games, prior, centre)[1] @ basis

    theta, covariance = start, np.zeros((n + 1, n + 1))
    if basis.size:
        # The minimum is found from anywhere, but to the precision of the loss; its slope knows the last digits.
        near = minimize(loss, np.zeros(basis.shape[1]), jac=slope, hess=information, method="trust-exact", tol=1e-9).x
        exact = root(slope, near, jac=information, method="lm", tol=1e-15).x
        theta = start + basis @ exact
        covariance = basis @ np.linalg.pinv(information(exact), hermitian=True) @ basis.T
    # Without anchors only differences mean something: put each group's average at zero.
    projection = np.eye(n + 1)
    for g in range(int(group.max(initial=-1)) + 1):
        members = np.flatnonzero((group == g) & (unbounded == 0))
        if len(members) and not any(int(m) in anchors for m in members):
            theta[members] -= theta[members].mean()
            projection[np.ix_(members, members)] -= 1 / len(members)
    covariance = projection @ covariance @ projection.T * ELO**2
    fitted = theta * ELO
    for player in np.flatnonzero(unbounded):
        fitted[player] = unbounded[player] * np.inf
        covariance[player, player] = np.inf
    return fitted[:n], covariance[:n, :n], float(fitted[n]), Z95 * math.sqrt(max(0.0, covariance[n, n]))


def _log_likelihood(theta: np.ndarray, wins: np.ndarray, games: np.ndarray, prior: float, centre: float) -> float:
    from scipy.special import log_expit

    n = len(wins)
    gap = theta[:n, None] - theta[None, :n] + theta[n]
    virtual = np.append(theta[:n] - centre, theta[n])
    played = wins * log_expit(gap) + (games - wins) * log_expit(-gap)
    return float(played.sum() + prior * (log_expit(virtual) + log_expit(-virtual)).sum())


def _derivatives(
    theta: np.ndarray, wins: np.ndarray, games: np.ndarray, prior: float, centre: float
) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, information matrix) of the log-likelihood at ``theta``."""
    n = len(wins)
    expected = _logistic(theta[:n, None] - theta[None, :n] + theta[n])
    surplus = wins - games * expected  # of Black, by pair
    weight = games * expected * (1 - expected)
    against = _logistic(theta[:n] - centre)  # the virtual games
    gradient = np.append(
        surplus.sum(1) - surplus.sum(0) + prior * (1 - 2 * against),
        surplus.sum() + prior * (1 - 2 * _logistic(theta[n])),
    )
    both = weight + weight.T
    hessian = np.zeros((n + 1, n + 1))
    hessian[:n, :n] = np.diag(both.sum(1) + 2 * prior * against * (1 - against)) - both
    hessian[:n, n] = hessian[n, :n] = weight.sum(1) - weight.sum(0)
    side = _logistic(theta[n])
    hessian[n, n] = weight.sum() + 2 * prior * side * (1 - side)
    return gradient, hessian


def _range(matrix: np.ndarray) -> np.ndarray:
    """[n, rank]: orthonormal columns that span the range of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, values > len(matrix) * np.finfo(float).eps * np.abs(values).max(initial=0)]


def _logistic(x: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(x)


def _unbounded(wins: np.ndarray, games: np.ndarray, group: np.ndarray) -> np.ndarray:
    """int [n]: +1 for players of a set that took every point from the rest, -1 for the reverse.

    Ford 1957: the fit is finite exactly when every player can be reached from every other along
    points taken. Of a group's strongly connected sets the largest is kept finite.
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    out = np.zeros(len(wins), int)
    took = (wins + (games - wins).T) > 0  # row took points from column
    _, mutual = connected_components(took, connection="strong")
    for g in range(int(group.max(initial=-1)) + 1):
        members = np.flatnonzero(group == g)
        sets = [members[mutual[members] == label] for label in dict.fromkeys(mutual[members])]
        core = max(sets, key=len)  # of equal ones that of the first player
        above = breadth_first_order(took.T, core[0], return_predecessors=False)  # who took points of the core, ...
        out[members] = np.where(np.isin(members, above), 1, -1)
        out[core] = 0
    return out


def crosstable_cells(results: Iterable[Result], order: list[str]) -> list[list[str]]:
    """For every pair of ``order`` the row player's wins-draws-losses, empty where they never met."""
    tally = {(a, b): [0, 0, 0] for a in order for b in order}
    for black, white, score in results:
        if score != score:  # a void game
            continue
        for a, b, own in ((black, white, score), (white, black, 1 - score)):
            tally[a, b][0 if own > 0.75 else 2 if own < 0.25 else 1] += 1
    return [["" if a == b or not sum(tally[a, b]) else "-".join(map(str, tally[a, b])) for b in order] for a in order]


def elo_of_score(score: float) -> float:
    """400 log10(s / (1 - s)); infinite at 0 and 1."""
    if score <= 0 or score >= 1:
        return math.inf if score >= 1 else -math.inf
    return 400 * math.log10(score / (1 - score))


def expected_score(elo: float) -> float:
    """The inverse of :func:`elo_of_score`."""
    return 1 / (1 + 10 ** (-elo / 400))
