"""The sequential probability ratio test of one player against another, on games or on colour-swapped pairs.

A generalised likelihood ratio: under either hypothesis the outcomes have the distribution of greatest likelihood that
has the hypothesis's strength. So nothing is assumed about draws, nor, with pairs, about the correlation of the two
games of one opening (Van den Bergh, "The generalized sequential probability ratio test", 2020).

Counts are of outcomes from the worst to the best for the player who is tested: (losses, draws, wins) of games, or the
five of pairs (both lost, ..., both won). The bounds are Wald's (1945).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from jubango.analysis.ratings.ratings import ELO, Z95, elo_of_score, expected_score
from jubango.sgf_games.base.errors import UserError

Model = Literal["logistic", "normalized", "bayesian"]
Decision = Literal["", "H0", "H1"]
NORMALIZED = 800 / math.log(10)  # nElo of one standard deviation of a game
ABSENT = 1e-3  # in the place of an outcome that has not been seen
MOST_ELO = 4000.0
MOST_COUNTED = 100_000_000  # beyond them floats do not tell absent outcomes from none
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
    pairs: bool = True  # are counts those of colour-swapped pairs, where games are played?

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """``0,20``, ``0,20,alpha=0.01,model=normalized,pairs=false``: the two hypotheses' Elo, then keys. Raises
        UserError."""
        first, second, *rest = [part.strip() for part in text.split(",")] + ["", ""][text.count(",") :]
        values: dict[str, Any] = {}
        try:
            elo0, elo1 = float(first), float(second)
            for part in filter(None, rest):
                key, equals, value = (word.strip() for word in part.partition("="))
                if not equals or key in values:
                    raise ValueError
                values[key] = {"true": True, "false": False}[value] if key == "pairs" else value
                if key in ("alpha", "beta"):
                    values[key] = float(value)
                elif key not in ("model", "pairs"):
                    raise ValueError
        except (ValueError, KeyError):
            raise UserError(
                f'sprt "{text}": should be ELO0,ELO1 and, where needed, alpha=, beta=, model= and pairs=, as in '
                "0,20,alpha=0.01,model=normalized"
            ) from None
        if values.get("model") == "bayesian":
            values.setdefault("pairs", False)
        return cls(elo0, elo1, **values)

    def __str__(self) -> str:
        parts = [f"{self.elo0:g},{self.elo1:g}"]
        usual = {name: field.default for name, field in self.__dataclass_fields__.items()}
        for key in ("alpha", "beta", "model", "pairs"):
            value = getattr(self, key)
            if value != usual[key]:
                parts.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
        return ",".join(parts)

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
        if self.model == "bayesian" and self.pairs:
            raise UserError("sprt: the bayesian model is of single games, not of pairs (pairs=false)")
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
        return float(seen @ self.steps(seen / seen.sum()))

    def steps(self, shares: np.ndarray) -> np.ndarray:
        """What each outcome adds to the log-likelihood ratio where outcomes are seen in these ``shares``."""
        if self.model == "bayesian":
            return np.log(_bayesian_chances(shares, self.elo1) / _bayesian_chances(shares, self.elo0))
        p0, p1 = (self.distribution(shares, elo) for elo in (self.elo0, self.elo1))
        return np.log(p1 / p0)

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


class SprtState(NamedTuple):
    """Where a test stands, or what it has come to."""

    sprt: Sprt
    llr: float
    accepted: Decision
    counts: tuple[int, ...]  # of the games, or pairs, that it has looked at, from the worst outcome to the best

    @property
    def games(self) -> int:
        return sum(self.counts) * (2 if self.sprt.pairs else 1)

    @property
    def strength(self) -> Strength:
        return strength(self.counts)

    def told(self, first: str, second: str) -> list[str]:
        """In words: what has been accepted of the first player against the second, and on what evidence."""
        sprt, (lower, upper), found = self.sprt, self.sprt.bounds, self.strength
        games = "1 game" if self.games == 1 else f"{self.games:,} games"
        llr = f"LLR {self.llr + 0.0:.2f}, bounds {lower:.2f} and {upper:.2f}, after {games}"
        units = {"logistic": "Elo", "normalized": "nElo", "bayesian": "BayesElo"}[sprt.model]
        low, high = (f"{elo:+g}" if elo else "0" for elo in (sprt.elo0, sprt.elo1))
        if self.accepted:
            near, far = (high, low) if self.accepted == "H1" else (low, high)
            said = [
                f"{self.accepted} accepted: {first} is nearer to {near} than to {far} {units} against {second} ({llr})"
            ]
        else:
            said = [f"undecided between {low} and {high} {units} of {first} against {second} ({llr})"]
        kind = "pairs from both lost to both won" if sprt.pairs else "losses, draws, wins"
        said.append(f"{found}; {kind}: {', '.join(map(str, self.counts))}")
        return said

    @property
    def summary(self) -> dict[str, object]:
        """The same for JSON."""
        lower, upper = self.sprt.bounds
        return {
            **asdict(self.sprt), "llr": self.llr, "lower": lower, "upper": upper, "accepted": self.accepted or None,
            "games": self.games, "counts": list(self.counts), **self.strength._asdict(),
        }  # fmt: skip


class SequentialTest:
    """A test of games that are numbered as they are scheduled and end in any order: it looks at each game, or pair,
    when all before it have ended, and at nothing after the first that decides. So which games are short cannot sway it.

    A game that was not decided is left out, with the other one of its pair.
    """

    def __init__(self, sprt: Sprt) -> None:
        self.sprt = sprt
        self._counts = [0] * (5 if sprt.pairs else 3)
        self._waiting: dict[int, float] = {}
        self._next = 0  # game
        self._llr = 0.0
        self._accepted: Decision = ""

    def add(self, number: int, score: float) -> None:
        """The game with this number, from 0, has ended; the score is that of the player who is tested: 0, 0.5 or 1,
        nan if the game was not decided."""
        if number >= self._next:
            self._waiting[number] = score
        size = 2 if self.sprt.pairs else 1
        while not self._accepted and all(self._next + i in self._waiting for i in range(size)):
            scores = [self._waiting.pop(self._next + i) for i in range(size)]
            self._next += size
            if any(math.isnan(one) for one in scores):
                continue
            self._counts[round(2 * sum(scores))] += 1
            self._llr = self.sprt.llr(self._counts)
            self._accepted = self.sprt.decision(self._llr)

    @property
    def looked(self) -> int:
        """How many games it has looked at, those that were left out included: the first so many."""
        return self._next

    @property
    def state(self) -> SprtState:
        return SprtState(self.sprt, self._llr, self._accepted, tuple(self._counts))


class Strength(NamedTuple):
    """What games between two say of the first: Elo by the mean score, the same in standard deviations of a game, both
    with half their 95 % intervals, and the likelihood of superiority.

    Where all games, or pairs, have ended alike there is no variance to judge by: errors are infinite, and the
    likelihood of superiority is that of as many wins, or losses, with a uniform prior. Where an end of the interval
    lies beyond a score of 0 or 1 the error of Elo is that of small deviations (the delta method)."""

    elo: float
    elo_error: float
    nelo: float
    nelo_error: float
    los: float
    score: float

    def __str__(self) -> str:
        return (
            f"Elo {self.elo:+.1f} ± {self.elo_error:.1f}, nElo {self.nelo:+.1f} ± {self.nelo_error:.1f}, "
            f"LOS {100 * self.los:.1f} %"
        )


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
        half = (elo_of_score(mean + Z95 * error) - elo_of_score(mean - Z95 * error)) / 2
        if not math.isfinite(half):
            half = Z95 * error * ELO / (mean * (1 - mean))
        nelo = (mean - 0.5) / math.sqrt(variance * pairs) * NORMALIZED
        los = 0.5 * math.erfc(-(mean - 0.5) / error / math.sqrt(2))
        return Strength(elo_of_score(mean), half, nelo, Z95 * NORMALIZED / math.sqrt(pairs * number), los, mean)
    side = float(np.sign(mean - 0.5))
    sure = 0.5 + side * (0.5 - 2.0 ** -(min(number, 1000) + 1))
    return Strength(elo_of_score(mean), math.inf, side * math.inf if side else 0.0, math.inf, sure, mean)


def checked_counts(counts: Sequence[float]) -> np.ndarray:
    """The counts as an array. Raises UserError if they are not 3 or 5, not numbers, or below 0."""
    try:
        observed = np.asarray(list(counts), float)
    except (TypeError, ValueError):
        observed = np.full(1, np.nan)
    if observed.shape not in ((3,), (5,)) or not (np.isfinite(observed) & (observed >= 0)).all():
        raise UserError(f"sprt: counts {list(counts)}: should be 3 of games or 5 of pairs, none below 0")
    if observed.sum() > MOST_COUNTED:
        raise UserError(f"sprt: counts {list(counts)}: should be {MOST_COUNTED:,} in all at most")
    return observed


def _tilted(shares: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The likeliest distribution with a mean ``gap`` of 0: shares / (1 + x gap) (Owen, Empirical Likelihood, 2001)."""
    from scipy.optimize import brentq

    low, high = -1 / gap.max(), -1 / gap.min()
    edge = 1e-12 * (high - low)
    parts = list(zip((shares * gap).tolist(), gap.tolist(), strict=True))  # of so few, floats are quicker than arrays
    x = brentq(lambda x: sum(part / (1 + x * one) for part, one in parts), low + edge, high - edge, xtol=1e-15)
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


def _bayesian_chances(shares: np.ndarray, elo: float) -> np.ndarray:
    """Of losses, draws and wins by BayesElo's model, draws being as likely as their share says."""
    losses, _, wins = shares
    return bayesian_chances(elo, 200 * math.log10((1 - losses) / losses * (1 - wins) / wins))


def bayesian_chances(elo: float, draw: float) -> np.ndarray:
    """Of a loss, a draw and a win by BayesElo's model with the parameter ``draw`` (drawelo)."""
    win, loss = expected_score(elo - draw), expected_score(-elo - draw)
    return np.array([loss, win * loss * math.expm1(draw * math.log(10) / 200), win])
