"""The sequential probability ratio test of one player against another, on games or on colour-swapped pairs.

A generalised likelihood ratio: under either hypothesis the outcomes have the distribution of greatest likelihood that
has the hypothesis's strength, so that nothing is assumed about draws, nor, with pairs, about how the two games of one
opening hang together (Van den Bergh, "The generalized sequential probability ratio test", 2020).

Counts are of outcomes from the worst to the best for the player who is tested: (losses, draws, wins) of games, or the
five of pairs (both lost, ..., both won). The bounds are Wald's (1945).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from jubango.analysis.ratings import Z95, elo_of_score, expected_score
from jubango.sgf_games.errors import UserError

Model = Literal["logistic", "normalized", "bayesian"]
Decision = Literal["", "H0", "H1"]
NORMALIZED = 800 / math.log(10)  # nElo of one standard deviation of a game
ABSENT = 1e-3  # in the place of an outcome that has not been seen
MOST_ELO = 4000.0
MOST_TILT = 200.0  # log-odds of a win to a loss, where a distribution of a normalized strength is sought
OUTCOMES = {3: np.array([0, 0.5, 1]), 5: np.array([0, 0.25, 0.5, 0.75, 1])}


@dataclass(frozen=True)
class Sprt:
    """Is the player ``elo1`` stronger (H1), rather than ``elo0`` (H0)?

    alpha, beta: chances to accept H1 at a true strength of ``elo0``, and H0 at ``elo1``.
    model: what Elo means: of the mean score ("logistic"), of the score in standard deviations of a game ("normalized"),
        or BayesElo's, whose draws depend on the strength ("bayesian", of games only).
    Raises UserError for hypotheses in the wrong order and numbers out of range.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "logistic"

    def __post_init__(self) -> None:
        if self.model not in ("logistic", "normalized", "bayesian"):
            raise UserError(f'sprt: model "{self.model}": should be logistic, normalized or bayesian')
        for key in ("elo0", "elo1"):
            if not abs(getattr(self, key)) <= MOST_ELO:
                raise UserError(f"sprt: {key} = {getattr(self, key)}: should be from {-MOST_ELO:.0f} to {MOST_ELO:.0f}")
        if not self.elo0 < self.elo1:
            raise UserError(f"sprt: elo0 = {self.elo0:g} has to be below elo1 = {self.elo1:g}")
        for key in ("alpha", "beta"):
            if not 0 < getattr(self, key) < 1:
                raise UserError(f"sprt: {key} = {getattr(self, key)}: should be between 0 and 1")
        if self.alpha + self.beta >= 1:
            raise UserError(f"sprt: alpha + beta = {self.alpha + self.beta:g}: should be below 1")

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the log-likelihood ratio: H0 is accepted at the lower one, H1 at the upper."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[float]) -> float:
        """The log-likelihood ratio of H1 to H0; 0 without games. Raises UserError for counts that cannot be."""
        observed = checked_counts(counts)
        if self.model == "bayesian" and len(observed) != 3:
            raise UserError("sprt: the bayesian model is of single games: give wins, draws and losses")
        total = observed.sum()
        if not total:
            return 0.0
        seen = np.where(observed == 0, ABSENT, observed)
        if self.model == "bayesian":
            return _bayesian(seen, self.elo0, self.elo1)
        number = seen.sum()
        p0, p1 = (self.distribution(seen / number, elo) for elo in (self.elo0, self.elo1))
        return float(number * np.sum(seen / number * np.log(p1 / p0)))

    def distribution(self, shares: np.ndarray, elo: float) -> np.ndarray:
        """The distribution of greatest likelihood, where outcomes have been seen in these ``shares``, that has the
        strength ``elo`` of the model (logistic or normalized)."""
        scores = OUTCOMES[len(shares)]
        if self.model == "logistic":
            return _tilted(shares, scores - expected_score(elo))
        return _normalized(shares, scores, elo / NORMALIZED * math.sqrt(2 if len(shares) == 5 else 1))

    def decision(self, llr: float) -> Decision:
        """What is accepted, if anything is."""
        lower, upper = self.bounds
        return "H1" if llr >= upper else "H0" if llr <= lower else ""


class Strength(NamedTuple):
    """What games between two say of the first: Elo by the mean score, the same in standard deviations of a game, both
    with half their 95 % intervals, and the likelihood of superiority."""

    elo: float
    elo_error: float
    nelo: float
    nelo_error: float
    los: float
    score: float


def strength(counts: Sequence[float]) -> Strength:
    """The strength that counts of games, or of pairs, show. Infinite where every game was won or lost."""
    observed = checked_counts(counts)
    number = observed.sum()
    if not number:
        return Strength(0.0, math.inf, 0.0, math.inf, 0.5, 0.5)
    scores, shares = OUTCOMES[len(observed)], observed / number
    mean = float(shares @ scores)
    variance = float(shares @ (scores - mean) ** 2)
    error = math.sqrt(variance / number)
    pairs = 2 if len(observed) == 5 else 1
    if variance:
        low, high = elo_of_score(mean - Z95 * error), elo_of_score(mean + Z95 * error)
        nelo = (mean - 0.5) / math.sqrt(variance * pairs) * NORMALIZED
        los = 0.5 * math.erfc(-(mean - 0.5) / error / math.sqrt(2))
        return Strength(
            elo_of_score(mean), (high - low) / 2, nelo, Z95 * NORMALIZED / math.sqrt(pairs * number), los, mean
        )
    elo = elo_of_score(mean)
    return Strength(elo, math.inf, elo, math.inf, 0.5 if mean == 0.5 else float(mean > 0.5), mean)


def checked_counts(counts: Sequence[float]) -> np.ndarray:
    """The counts as an array. Raises UserError if they are not 3 or 5, not numbers, or below 0."""
    try:
        observed = np.asarray(list(counts), float)
    except (TypeError, ValueError):
        observed = np.full(1, np.nan)
    if observed.shape not in ((3,), (5,)) or not (np.isfinite(observed) & (observed >= 0)).all():
        raise UserError(f"sprt: counts {list(counts)}: should be 3 of games or 5 of pairs, none below 0")
    return observed


def _tilted(shares: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The likeliest distribution with a mean ``gap`` of 0: shares / (1 + x gap) (Owen, Empirical Likelihood, 2001)."""
    from scipy.optimize import brentq

    low, high = -1 / gap.max(), -1 / gap.min()
    edge = 1e-12 * (high - low)
    x = brentq(lambda x: float(np.sum(shares * gap / (1 + x * gap))), low + edge, high - edge, xtol=1e-15)
    return shares / (1 + x * gap)


def _normalized(shares: np.ndarray, scores: np.ndarray, gap: float) -> np.ndarray:
    """The likeliest distribution whose mean is ``gap`` of its own standard deviations above a half.

    Begun at a distribution that meets the condition, step by step to the likeliest one that meets the condition's
    linear form where the last step ended; a step that leads to where no such form can be met is shortened.
    """
    from scipy.optimize import brentq

    def moments(found: np.ndarray) -> tuple[float, float]:
        mean = float(found @ scores)
        return mean, math.sqrt(float(found @ (scores - mean) ** 2))

    def slope(found: np.ndarray) -> np.ndarray:
        mean, deviation = moments(found)
        return scores - 0.5 - gap * deviation * (1 + ((scores - mean) / deviation) ** 2) / 2

    def tilted(tilt: float) -> np.ndarray:
        grown = np.log(shares) + tilt * scores
        grown = np.exp(grown - grown.max())
        return grown / grown.sum()

    def missing(tilt: float) -> float:
        mean, deviation = moments(tilted(tilt))
        return mean - 0.5 - gap * deviation

    found = tilted(brentq(missing, -MOST_TILT, MOST_TILT))
    for _ in range(1000):
        last, way = found, _tilted(shares, slope(found)) - found
        if np.abs(way).max() < 1e-11:
            break
        for _ in range(60):
            found = last + way
            condition = slope(found)
            if condition.min() < 0 < condition.max():
                break
            way /= 2
    return found


def _bayesian(counts: np.ndarray, elo0: float, elo1: float) -> float:
    """BayesElo's model, its draws as likely as they have been."""
    losses, _, wins = counts / counts.sum()
    draw = 200 * math.log10((1 - losses) / losses * (1 - wins) / wins)

    def chances(elo: float) -> np.ndarray:
        win, loss = expected_score(elo - draw), expected_score(-elo - draw)
        return np.array([loss, 1 - win - loss, win])

    return float(counts @ np.log(chances(elo1) / chances(elo0)))
