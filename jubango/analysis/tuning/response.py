"""How a score depends on settings: a response fitted to pairs of games, where it is highest, what to try next.

Over the cube of settings the log-odds of a point are a quadratic form and a smooth deviation from it, a Gaussian
process with a squared-exponential kernel (explicit basis functions: Rasmussen & Williams, Gaussian Processes for
Machine Learning, 2006, section 2.7), beside a strength of each opponent. The process is written out in random Fourier
features (Rahimi & Recht, "Random features for large-scale kernel machines", 2007), so that all of it is a Bayesian
logistic regression, whatever the number of games: Newton's method, and Laplace's approximation around what it finds
(Rasmussen & Williams, sections 3.4 and 3.7). Over the kernel's width and height it is averaged, by their evidence.

What is tried next is drawn: a response from the posterior, as in Thompson sampling (Thompson 1933), and a place where
that response is high, in the measure that the games so far can tell (the weights of CLOP; Coulom, "CLOP: confident
local optimization for noisy black-box parameter tuning", 2011). So many places at once need not wait for each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jubango.analysis.ratings.ratings import ELO, Z95

FEATURES = 96
KERNELS = [(width, height) for width in (0.3, 0.6, 1.2) for height in (0.15, 0.4, 1.2)]  # half an edge is 1; log-odds
QUADRATIC = 1.5  # log-odds: prior deviation of each coefficient of the quadratic form
STRENGTH = 2.0  # log-odds: prior deviation of an opponent's strength
KNOWN_GAMES = 1000.0  # what it counts that settings score a half against themselves
EVEN_PAIRS = 20.0  # pairs that scatter as single games do: what is thought of dispersion before there are games
DISPERSION = 0.05, 4.0  # bounds
WORTH_TRYING = 4.0  # standard errors of the mean of all games: by so much less than the best is still worth trying
NET, NEAR, CLOSER = 512, 16, 12  # points looked at for a maximum; around the best so far; how many times, ever nearer
TRY_NET = 2048  # points that what is tried next is drawn from
# Intervals are taken from a wider posterior: what is tried depends on what was seen, few widths of the kernel stand for
# all, and so of plain 95 % intervals on planted responses 80 % held (of these 95 %; test_response.py).
WIDER = 1.5
DRAWS = 400  # responses that intervals are taken from
# What is recommended is the maximum of a lower bound: so many standard errors of the wider posterior below the mean.
# The highest mean is often at an end that few games have tried (benchmarks/tune.py: it loses half as much again).
CAUTION = 1.3

Surface = Callable[[np.ndarray], np.ndarray]  # of k responses: places [k or 1, n, d] -> log-odds [k, n]


class Trials(NamedTuple):
    """Colour-swapped pairs that have been played."""

    places: np.ndarray  # float [n, d] in [-1, 1]
    opponents: np.ndarray  # int [n]
    points: np.ndarray  # float [n]: 0, 0.5, ..., 2


class Estimate(NamedTuple):
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Optimum:
    """Where the response is highest for sure (see CAUTION). The interval of a setting is that of the place of the
    maximum."""

    place: np.ndarray  # float [d] in [-1, 1]
    low: np.ndarray
    high: np.ndarray


class _Fit(NamedTuple):
    """Coefficients under one kernel: strengths of opponents, then those of the features."""

    width: float
    mode: np.ndarray  # [m]
    root: np.ndarray  # [m, m]: Cholesky's of the precision
    evidence: float  # its logarithm


class Response:
    """What ``trials`` in a cube of so many ``dimensions`` say. ``known``: places, and the opponents who have just these
    settings, against whom they score a half."""

    def __init__(
        self, trials: Trials, dimensions: int, opponents: int = 1, known: Sequence[tuple[np.ndarray, int]] = ()
    ) -> None:
        self.trials, self.dimensions, self.opponents = trials, dimensions, opponents
        places = np.concatenate([trials.places.reshape(-1, dimensions), *(place[None] for place, _ in known)])
        whom = np.concatenate([trials.opponents, [opponent for _, opponent in known]]).astype(int)
        games = np.append(np.full(len(trials.points), 2.0), np.full(len(known), KNOWN_GAMES))
        points = np.append(trials.points, np.full(len(known), KNOWN_GAMES / 2))

        def fit(kernel: tuple[float, float], dispersion: float) -> _Fit:
            width, height = kernel
            columns = np.concatenate([np.eye(opponents)[whom], features(places, width)], axis=1)
            return _fit(width, columns, points / dispersion, games / dispersion, self._deviations(height))

        plain = fit(KERNELS[len(KERNELS) // 2], 1.0)
        self.dispersion = _dispersion(self._score(plain), trials.points / 2)
        self._fits = [fit(kernel, self.dispersion) for kernel in KERNELS]
        evidence = np.array([one.evidence for one in self._fits])
        self._weights = np.exp(evidence - evidence.max()) / np.exp(evidence - evidence.max()).sum()

    def _deviations(self, height: float) -> np.ndarray:
        quadratic = self.dimensions + self.dimensions * (self.dimensions + 1) // 2
        return np.repeat([STRENGTH, QUADRATIC, height], [self.opponents, quadratic, FEATURES])

    def _score(self, fit: _Fit) -> np.ndarray:
        """Expected of a game of each trial."""
        log_odds = features(self.trials.places, fit.width) @ fit.mode[self.opponents :]
        return 1 / (1 + np.exp(-log_odds - fit.mode[self.trials.opponents]))

    def mean(self, places: np.ndarray) -> np.ndarray:
        """Log-odds [n] at places [n, d], against an opponent of strength 0."""
        own = [features(places, fit.width) @ fit.mode[self.opponents :] for fit in self._fits]
        return self._weights @ np.array(own)

    @property
    def strengths(self) -> np.ndarray:
        """Log-odds [opponents] that are added against each."""
        return self._weights @ np.array([fit.mode[: self.opponents] for fit in self._fits])

    def drawn(self, number: int, rng: np.random.Generator, wider: float = 1.0) -> Drawn:
        """Responses from the posterior, or from one that is so many times ``wider``."""
        groups = []
        for fit, count in zip(self._fits, rng.multinomial(number, self._weights), strict=True):
            if count:
                spread = np.linalg.solve(fit.root.T, rng.standard_normal((len(fit.mode), count)))
                groups.append((fit.width, fit.mode + wider * spread.T))
        return Drawn(groups, self.opponents)

    @functools.cached_property
    def sample(self) -> Drawn:
        """Those that intervals are taken from."""
        return self.drawn(DRAWS, np.random.default_rng(0), WIDER)

    @functools.cached_property
    def optimum(self) -> Optimum:
        rng = np.random.default_rng(0)
        level = self.sample(spread(NET, self.dimensions, 0.5)[None]).mean(axis=1, keepdims=True)

        def surely(places: np.ndarray) -> np.ndarray:
            over = self.sample(places) - level
            return (over.mean(axis=0) - CAUTION * over.std(axis=0))[None]

        place = highest(surely, 1, self.dimensions, rng)[0]
        low, high = np.percentile(highest(self.sample, DRAWS, self.dimensions, rng), [2.5, 97.5], axis=0)
        return Optimum(place, np.minimum(low, place), np.maximum(high, place))

    def elo(self, place: np.ndarray, opponent: int | None = None) -> Estimate:
        """What a place scores against an opponent, or the mean of all."""
        ahead = self.sample(place[None, None])[:, 0]
        theirs = self.sample.strengths
        ahead = ahead + (theirs.mean(axis=1) if opponent is None else theirs[:, opponent])
        strengths = self.strengths.mean() if opponent is None else self.strengths[opponent]
        return _estimate(ahead, self.mean(place[None])[0] + strengths)

    def gain(self, place: np.ndarray, over: np.ndarray) -> Estimate:
        """Elo of one place over another, against the same opponents."""
        ahead, behind = self.sample(np.array([[place, over]])).T
        return _estimate(ahead - behind, -float(np.diff(self.mean(np.array([place, over])))[0]))

    def elos(self, places: np.ndarray) -> np.ndarray:
        """Elo [n] over the mean of all opponents at places [n, d]."""
        return ELO * (self.mean(places) + self.strengths.mean())

    def slope(self, axis: int, at: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Elo over the mean of all opponents, with the lower and upper end of its 95 % interval, [n] each, where one
        setting has the places ``at`` and all others those of the optimum."""
        places = np.repeat(self.optimum.place[None], len(at), axis=0)
        places[:, axis] = at
        drawn = self.sample(places[None]) + self.sample.strengths.mean(axis=1)[:, None]
        low, high = ELO * np.percentile(drawn, [2.5, 97.5], axis=0)
        return self.elos(places), low, high

    def scatter(self, axis: int, bins: int) -> list[tuple[float, Estimate]]:
        """(mean place, Elo) of trials that are near each other in one setting: the slope there, moved by what their
        results were above or below the response (partial residuals; Larsen & McCleary 1972)."""
        trials, found = self.trials, []
        log_odds = self.mean(trials.places) + self.strengths[trials.opponents]
        score = 1 / (1 + np.exp(-log_odds))
        order = np.argsort(trials.places[:, axis], kind="stable")
        for own in np.array_split(order, min(bins, len(order))):
            place = float(trials.places[own, axis].mean())
            weight = 2 * (score[own] * (1 - score[own])).sum()
            elo = self.slope(axis, [place])[0][0] + ELO * (trials.points[own] - 2 * score[own]).sum() / weight
            error = Z95 * ELO * np.sqrt(self.dispersion / weight)
            found.append((place, Estimate(elo, elo - error, elo + error)))
        return found

    def tries(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """float [number, d]: places to try next. ``rng`` is all the randomness there is."""
        net = spread(TRY_NET, self.dimensions, rng.random(self.dimensions))
        values = self.drawn(number, rng)(net[None])
        reach = WORTH_TRYING / np.sqrt(max(1.0, 2 * len(self.trials.points)) / 4)
        chances = np.cumsum(np.exp((values - values.max(axis=1, keepdims=True)) / reach), axis=1)
        chosen = (chances < rng.random((len(values), 1)) * chances[:, -1:]).sum(axis=1)
        return net[rng.permutation(chosen)]


class Drawn:
    """Responses from a posterior; called with places, their log-odds against an opponent of strength 0."""

    def __init__(self, groups: list[tuple[float, np.ndarray]], opponents: int) -> None:
        self._groups = [(width, coefficients[:, opponents:]) for width, coefficients in groups]
        self.strengths = np.concatenate([coefficients[:, :opponents] for _, coefficients in groups])  # [k, opponents]

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """places: [k, n, d], or [1, n, d] for the same of all; returns [k, n]."""
        found, first = [], 0
        for width, coefficients in self._groups:
            own = places if len(places) == 1 else places[first : first + len(coefficients)]
            first += len(coefficients)
            columns = features(own, width)
            found.append(
                coefficients @ columns[0].T if len(own) == 1 else np.einsum("knm,km->kn", columns, coefficients)
            )
        return np.concatenate(found)


def highest(surface: Surface, number: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """float [number, d]: where each of so many responses is highest in the cube."""
    net = spread(NET, dimensions, 0.5)
    values = surface(net[None])
    best, value = net[values.argmax(axis=1)], values.max(axis=1)
    step = 2.0 * NET ** (-1 / dimensions)
    for _ in range(CLOSER):
        near = np.clip(best[:, None] + step * rng.standard_normal((number, NEAR, dimensions)), -1, 1)
        values = surface(near)
        rows, which = np.arange(number), values.argmax(axis=1)
        better = values[rows, which] > value
        best = np.where(better[:, None], near[rows, which], best)
        value = np.maximum(value, values[rows, which])
        step *= 0.7
    return best


def spread(number: int, dimensions: int, start: np.ndarray | float) -> np.ndarray:
    """float [number, d]: points that fill the cube [-1, 1]^d evenly, from ``start`` in [0, 1] on: an additive sequence
    by powers of the generalised golden ratio (Roberts, "The unreasonable effectiveness of quasirandom sequences",
    2018)."""
    ratio = 2.0
    for _ in range(60):  # x^(d + 1) = x + 1
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    return 2 * ((start + np.arange(1, number + 1)[:, None] * steps) % 1) - 1


def features(places: np.ndarray, width: float) -> np.ndarray:
    """[..., m] of places [..., d]: the terms of a quadratic form, then waves that make a kernel of this ``width``."""
    dimensions = places.shape[-1]
    first, second = np.triu_indices(dimensions)
    frequencies, phases = _waves(dimensions)
    waves = np.sqrt(2 / FEATURES) * np.cos(places @ (frequencies / width) + phases)
    return np.concatenate([places, places[..., first] * places[..., second], waves], axis=-1)


@functools.cache
def _waves(dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [d, FEATURES] of a kernel of width 1, normally distributed, and phases."""
    from scipy.special import ndtri

    chances = (1 + spread(FEATURES, dimensions + 1, 0.5)) / 2
    return ndtri(np.clip(chances[:, :-1], 1e-6, 1 - 1e-6)).T, 2 * np.pi * chances[:, -1]


def _fit(width: float, columns: np.ndarray, points: np.ndarray, games: np.ndarray, deviations: np.ndarray) -> _Fit:
    """The logistic regression of ``points`` out of ``games`` on ``columns`` with a normal prior."""
    prior = deviations**-2.0

    def gain(coefficients: np.ndarray, log_odds: np.ndarray) -> float:
        likelihood = points @ log_odds - games @ np.logaddexp(0, log_odds)
        return float(likelihood - prior @ coefficients**2 / 2)

    mode, log_odds = np.zeros(len(prior)), np.zeros(len(points))
    value, gained = gain(mode, log_odds), np.inf
    while gained > 1e-10 * abs(value):
        score = 1 / (1 + np.exp(-log_odds))
        weight = games * score * (1 - score)
        root = np.linalg.cholesky((columns.T * weight) @ columns + np.diag(prior))
        way = columns.T @ (points - games * score) - prior * mode
        step = np.linalg.solve(root.T, np.linalg.solve(root, way))
        while (new := gain(mode + step, log_odds + columns @ step)) < value and np.abs(step).max() > 1e-12:
            step /= 2  # Newton's steps may go too far where nearly all games are won or lost
        gained = new - value
        if gained > 0:
            mode, log_odds, value = mode + step, log_odds + columns @ step, new
    evidence = value - np.log(root.diagonal()).sum() - np.log(deviations).sum()
    return _Fit(width, mode, root, evidence)


def _dispersion(expected: np.ndarray, scores: np.ndarray) -> float:
    """How much more pairs scatter than two games that are won or lost, and by chance alone: less where many are drawn,
    or where one game of a pair pays for the other (McCullagh & Nelder, Generalized Linear Models, section 4.5)."""
    variance = np.maximum(expected * (1 - expected), 1e-3) / 2
    total = float(((scores - expected) ** 2 / variance).sum())
    return float(np.clip((total + EVEN_PAIRS) / (len(scores) + EVEN_PAIRS), *DISPERSION))


def _estimate(drawn: np.ndarray, log_odds: float) -> Estimate:
    """In Elo."""
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Estimate(ELO * float(log_odds), ELO * float(low), ELO * float(high))
