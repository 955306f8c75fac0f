"""Which of several players is the best, with as few games as that takes.

Colour-swapped pairs of games are played between the players themselves, in rounds. After every round a Bradley-Terry
model is fitted to all pairs. The highest rating leads. Each other player is beaten once the games show that it is less
than so many Elo above the leader. The next round is played among the leader and those that are not beaten yet. Once
all are, the leader is the best, or so near to it that it does not matter.

Evidence and stopping: the generalised likelihood ratio with an indifference zone, against the threshold
log((1 + log t) / alpha) after t pairs (Garivier & Kaufmann, "Optimal best arm identification with fixed confidence",
2016, section 5 and its numerical experiments). Which pairs are played: those whose results lower the variances of the
differences from the leader most, each weighed by its gap, one after the other (the XY-adaptive allocation of Soare,
Lazaric & Munos, "Best-arm identification in linear bandits", 2014: a pair of players is an arm, whose features are +1
and -1). Pairs count in the order in which they are scheduled, whichever end first. So short games cannot sway
anything, and the same results give the same schedule. benchmarks/best.py says how many games that saves, and how often
the best is missed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.analysis.ratings.bradley_terry import Rows, maximum
from jubango.analysis.ratings.ratings import ELO, Z95
from jubango.sgf_games.base.errors import UserError

PRIOR = 0.5  # pairs won, and lost, by every player against a virtual one, as for ratings
INDEPENDENT = 0.5  # variance of the mean of two games to that of one
SEEN = 10.0  # as much variance has been seen of such pairs before any was played
MOST_CONTENDERS = 128  # between whom a round is played
MOST_NAMED = 5


class Duel(NamedTuple):
    """A colour-swapped pair of games."""

    first: str  # of the two names in their order
    second: str
    number: int  # from 0, of all duels of these two


class Standing(NamedTuple):
    """A player as it stands against the leader."""

    name: str
    elo: float  # less than the leader, 0 or below
    error: float  # half of the 95 % interval of that
    duels: int
    beaten: bool  # for sure not so much better than the leader that it matters


class BestState(NamedTuple):
    """Where the search for the best stands, or what it has come to."""

    best: str
    decided: bool
    pairs: int  # that it has looked at
    indifference: float  # Elo
    alpha: float
    standings: tuple[Standing, ...]  # the leader first

    @property
    def games(self) -> int:
        return 2 * self.pairs

    @property
    def summary(self) -> dict[str, object]:
        """As JSON."""
        return {
            "best": self.best, "decided": self.decided, "games": self.games, "indifference": self.indifference,
            "alpha": self.alpha, "standings": [one._asdict() for one in self.standings],
        }  # fmt: skip

    def __str__(self) -> str:
        """In words."""
        number, after = len(self.standings), f"after {self.games:,} games"
        if self.decided:
            near = f"{self.best} is the best of {number}, or less than {self.indifference:g} Elo below it"
            return f"{near}, {after} (wrong in {100 * self.alpha:g} % of the cases at most)"
        left = [one.name for one in self.standings[1:] if not one.beaten]
        named = ", ".join(left[:MOST_NAMED] + ["..."] * (len(left) > MOST_NAMED))
        lead = f"{self.best} leads {after}; of the other {number - 1},"
        return f"{lead} {len(left)} may still be {self.indifference:g} Elo better or more: {named}"


class BestOf:
    """The search for the best of some players, who meet in pairs of games.

    indifference: Elo that do not matter: the player that is found is less than so much weaker than the best of all,
        but for a chance of ``alpha``.
    size: duels of a round. The next round is scheduled when the one before the last has ended, so that 4 ``size``
        games are under way at most, and nothing but ``size`` decides who plays whom after the same results.

    Play what stands in ``schedule``, which grows, in any order, and say with :meth:`add` how each game ended, until
    it is :attr:`decided`. Raises UserError for names that are not two or more different ones, and numbers out of range.
    """

    def __init__(self, names: Sequence[str], indifference: float = 20.0, alpha: float = 0.05, size: int = 32) -> None:
        if len(names) < 2 or len(set(names)) < len(names):
            raise UserError(f"the best of {len(names)} name(s), {len(set(names))} of them different: give two or more")
        if not 0 < indifference < math.inf:
            raise UserError(
                f"indifference = {indifference:g}: should be above 0, or two equal players would never be told apart"
            )
        if not 0 < alpha < 1:
            raise UserError(f"alpha = {alpha:g}: should be between 0 and 1")
        if size < 1:
            raise UserError(f"size = {size}: should be 1 or more")
        self.names, self.indifference, self.alpha, self.size = tuple(sorted(names)), indifference, alpha, size
        self.schedule: list[Duel] = []
        self._index = {name: i for i, name in enumerate(self.names)}
        self._meetings: Counter[tuple[int, int]] = Counter()
        self._halves: dict[tuple[str, str, int], float] = {}  # scores of games whose other one has not ended
        self._shares_of: dict[Duel, float] = {}  # of the points, of duels that have not been looked at
        self._looked = 0  # duels
        n = len(names)
        self._duels, self._shares, self._squares = (np.zeros((n, n)) for _ in range(3))  # row against column
        self._fit = self._fitted()
        self.decided = False  # has it come to its end?
        for _ in range(2):
            self._plan_round()

    def add(self, first: str, second: str, number: int, score: float) -> None:
        """The game with this number, from 0, of those of two players (in the order of their names) has ended, which may
        be one that is not scheduled yet; the score is the first one's: 0, 0.5 or 1, nan if the game was not decided, by
        which the other one of its duel counts for nothing too. Raises UserError."""
        if first not in self._index or second not in self._index or not first < second:
            raise UserError(f"{first}, {second}: should be two of the players, in the order of their names")
        if score == score and score not in (0, 0.5, 1):
            raise UserError(f"{first}, {second}: a score of {score}: should be 0, 0.5 or 1")
        other = self._halves.pop((first, second, number ^ 1), None)
        if other is None:
            self._halves[first, second, number] = score
            return
        self._shares_of[Duel(first, second, number // 2)] = (other + score) / 2
        while not self.decided and all(due in self._shares_of for due in self._round_due):
            for due in self._round_due:
                self._count(self._index[due.first], self._index[due.second], self._shares_of.pop(due))
            self._looked += self.size
            self._fit = self._fitted()
            self.decided = bool(self._beaten().all())
            if not self.decided:
                self._plan_round()

    @property
    def _round_due(self) -> list[Duel]:
        """Which is looked at next."""
        return self.schedule[self._looked : self._looked + self.size]

    @property
    def state(self) -> BestState:
        """After the last round that has ended before any that has not."""
        fit, beaten = self._fit, self._beaten()
        errors = Z95 * ELO * np.sqrt(fit.dispersion * fit.apart)
        order = sorted(range(len(self.names)), key=lambda i: (i != fit.leader, fit.gaps[i]))
        standings = tuple(
            Standing(
                self.names[i], 0.0 - ELO * float(fit.gaps[i]), float(errors[i]), int(self._duels[i].sum()),
                i != fit.leader and bool(beaten[i]),
            )
            for i in order
        )  # fmt: skip
        return BestState(self.names[fit.leader], self.decided, self._looked, self.indifference, self.alpha, standings)

    def _count(self, first: int, second: int, share: float) -> None:
        if math.isnan(share):
            return
        for i, j, own in ((first, second, share), (second, first, 1 - share)):
            self._duels[i, j] += 1
            self._shares[i, j] += own
            self._squares[i, j] += own**2

    def _fitted(self) -> _Fit:
        """What all duels that were looked at say."""
        n = len(self.names)
        first, second = np.nonzero(np.triu(self._duels))
        duels, shares, squares = (of[first, second] for of in (self._duels, self._shares, self._squares))
        players, zeros = np.arange(n), np.zeros(len(first) + n)
        rows = Rows(
            np.append(first, players), np.append(second, np.full(n, n)), zeros, np.append(shares, np.full(n, PRIOR)),
            np.append(duels, np.full(n, 2 * PRIOR)), zeros,
        )  # fmt: skip
        theta, inverse = maximum(rows, np.zeros(n + 2), np.arange(n + 2) < n)
        expected = 1 / (1 + np.exp(theta[second] - theta[first]))
        off = np.sum(squares - 2 * expected * shares + duels * expected**2)
        dispersion = (off + INDEPENDENT * SEEN) / (duels @ (expected * (1 - expected)) + SEEN)
        return _Fit(theta[:n], inverse[:n, :n], float(dispersion))

    def _beaten(self) -> np.ndarray:
        """bool [n]: who is for sure not so much better than the leader that it matters; so is the leader himself."""
        needed = math.log((1 + math.log(max(1, self._looked))) / self.alpha)
        return self._fit.evidence(self.indifference / ELO) > needed

    def _plan_round(self) -> None:
        for i, j in self._round():
            self.schedule.append(Duel(self.names[i], self.names[j], self._meetings[i, j]))
            self._meetings[i, j] += 1

    def _round(self) -> list[tuple[int, int]]:
        """The duels of the next round. Those under way count as played, with results as expected."""
        fit, matters = self._fit, self.indifference / ELO
        for duel in self.schedule[self._looked :]:
            fit = fit.played(self._index[duel.first], self._index[duel.second])
        evidence = fit.evidence(matters)
        near = np.argsort(evidence, kind="stable")[: MOST_CONTENDERS - 1]
        left = near[~self._beaten()[near]]
        contenders = np.append(left if len(left) else near[:1], fit.leader)
        pairs = fit.most_telling(contenders, matters, self.size)
        return [(min(pair), max(pair)) for pair in contenders[pairs].tolist()]


class _Fit(NamedTuple):
    """What duels say of the players, in log-odds."""

    theta: np.ndarray  # [n]
    covariance: np.ndarray  # [n, n], where the dispersion is 1
    dispersion: float  # of pairs' points to those of single games

    @property
    def leader(self) -> int:
        return int(np.argmax(self.theta))

    @property
    def gaps(self) -> np.ndarray:
        """[n]: what the leader is ahead by."""
        return self.theta.max() - self.theta

    @property
    def apart(self) -> np.ndarray:
        """[n]: the variance of that, where the dispersion is 1."""
        return np.maximum(_apart(self.covariance)[self.leader], 0)

    def evidence(self, matters: float) -> np.ndarray:
        """[n]: the log-likelihood ratio of what is found to being ``matters`` better than the leader."""
        return (self.gaps + matters) ** 2 / (2 * self.dispersion * np.maximum(self.apart, 1e-12))

    def played(self, first: int, second: int) -> _Fit:
        """The same after one more duel that has ended as expected."""
        change = self.covariance[first] - self.covariance[second]
        step = _step(change, first, second, _information(self.theta[[first, second]])[0, 1])
        return self._replace(covariance=self.covariance - step * np.outer(change, change))

    def most_telling(self, contenders: np.ndarray, matters: float, number: int) -> list[tuple[int, int]]:
        """The next duels, as places among ``contenders``, of whom the last is the leader.

        Each duel is the one that lowers a sum most, if it ends as expected. The sum is over the others: the variance of
        their distance to the leader, divided by the square of that distance plus ``matters``.

        number: how many duels.
        """
        covariance, told = self.covariance[np.ix_(contenders, contenders)], _information(self.theta[contenders])
        weight = 1 / (self.gaps[contenders] + matters) ** 2
        lead = covariance[-1] - covariance  # [j, i]: the covariance of j's distance to the leader with i
        products = (lead * weight[:, None]).T @ lead
        chosen = []
        for _ in range(number):
            gain = _apart(products) * told / (1 + told * _apart(covariance))
            i, j = divmod(int(np.argmax(gain)), len(contenders))
            chosen.append((i, j))
            change = covariance[i] - covariance[j]
            step = _step(change, i, j, told[i, j])
            off = change[-1] - change
            along = np.outer(lead.T @ (weight * off), change)
            products += step**2 * (weight @ off**2) * np.outer(change, change) - step * (along + along.T)
            lead -= step * np.outer(off, change)
            covariance -= step * np.outer(change, change)
        return chosen


def _information(theta: np.ndarray) -> np.ndarray:
    """[n, n]: of a duel of any two."""
    chance = 1 / (1 + np.exp(theta - theta[:, None]))
    return chance * (1 - chance)


def _apart(products: np.ndarray) -> np.ndarray:
    """[n, n]: squares of the distances of any two, whose products these are."""
    own = products.diagonal()
    return own[:, None] + own - 2 * products


def _step(change: np.ndarray, i: int, j: int, told: float) -> float:
    """How much of the square of ``change``, the difference of two rows of a covariance, a duel of these two takes."""
    return float(told / (1 + told * (change[i] - change[j])))
