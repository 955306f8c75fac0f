"""How long a sequential test lasts and what it comes to, at a known strength."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.analysis.ratings.ratings import elo_of_score, expected_score
from jubango.analysis.ratings.sprt import NORMALIZED, Sprt, bayesian_chances, checked_counts
from jubango.sgf_games.base.errors import UserError

MOST_STEPS = 1_000_000
GRID = 1001, 8001  # places of the log-likelihood ratio, at least and at most, where a walk is solved for: as many
FINE = 200  # as are this many to a step of the usual size


class Expectation(NamedTuple):
    """What a test comes to at a known strength."""

    games: float  # mean number until it ends
    accepts_h1: float  # chance


def expectation(sprt: Sprt, chances: Sequence[float]) -> Expectation:
    """How long a test lasts and what it comes to, if games, or pairs, have outcomes with these ``chances`` (3 or 5).

    The log-likelihood ratio moves by what an outcome adds to it where all have been seen as often as is to be expected.
    Raises UserError for chances that cannot be.
    """
    given = checked_counts(chances)
    if not given.sum() or len(given) != (5 if sprt.pairs else 3):
        raise UserError(f"sprt: chances {list(chances)}: should be {5 if sprt.pairs else 3}, not all of them 0")
    shares = np.maximum(given / given.sum(), 1e-9)
    shares /= shares.sum()
    steps, possible = sprt.steps(shares), given > 0
    if np.abs(steps[possible]).max() < 1e-12:  # nothing that can happen tells the hypotheses apart
        return Expectation(math.inf, 0.5)
    walk = _walk_of_two if possible.sum() == 2 else _walk
    length, accepted = walk(steps[possible], given[possible] / given.sum(), *sprt.bounds)
    return Expectation(float(length) * (2 if sprt.pairs else 1), min(1.0, max(0.0, float(accepted))))


def chances(sprt: Sprt, elo: float, drawn: float) -> list[float]:
    """Of the outcomes of games, or of pairs of independent ones, at a true strength of ``elo`` (of the mean score, or
    the model's own) with so many ``drawn``, of equal players in BayesElo's model. Raises UserError if there are more
    draws than such a score leaves room for.
    """
    if not math.isfinite(elo):
        raise UserError(f"sprt: a strength of {elo} Elo: should be a number")
    if sprt.model == "bayesian":
        if not drawn < 1:
            raise UserError("sprt: where all games are drawn there is nothing to test")
        draw = -elo_of_score((1 - drawn) / 2)
        return bayesian_chances(elo, draw).tolist()
    if sprt.model == "normalized":  # (s - 1/2) / sigma = gap, where sigma^2 = s (1 - s) - drawn / 4
        gap = elo / NORMALIZED
        score = 0.5 + gap * math.sqrt((1 - drawn) / 4 / (1 + gap**2))
    else:
        score = expected_score(elo)
    game = np.array([1 - score - drawn / 2, drawn, score - drawn / 2])
    if game.min() < -1e-12:
        raise UserError(
            f"sprt: {100 * drawn:g} % of draws are more than a score of {100 * score:.1f} % leaves room for"
        )
    game = np.maximum(game, 0)
    return (np.convolve(game, game) if sprt.pairs else game).tolist()


def _walk_of_two(steps: np.ndarray, chances: np.ndarray, lower: float, upper: float) -> tuple[float, float]:
    """(mean length, chance to end above) of a walk from 0 with two kinds of steps: exactly."""
    alive, length, accepted, number = np.ones(1), 0.0, 0.0, 0
    while (total := alive.sum()) > 1e-12 and number < MOST_STEPS:
        length += total
        number += 1
        alive = np.append(chances[0] * alive, 0) + np.append(0, chances[1] * alive)
        second = np.arange(number + 1)
        place = (number - second) * steps[0] + second * steps[1]
        above, below = place >= upper, place <= lower
        accepted += alive[above].sum()
        alive[above | below] = 0
    return length, accepted


def _walk(steps: np.ndarray, chances: np.ndarray, lower: float, upper: float) -> tuple[float, float]:
    """The same of any steps, to three or four digits: the places between the bounds are those of a grid, and a step
    that ends between two of them ends at either, as often as makes its mean right."""
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import spsolve

    places = int(np.clip(FINE * (upper - lower) / math.sqrt(chances @ steps**2), *GRID))
    inner = np.arange(1, places - 1)
    width, ended_above = (upper - lower) / (places - 1), np.zeros(places)
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for chance, step in zip(chances, steps, strict=True):
        ends = inner + step / width
        ended_above[inner[ends >= places - 1]] += chance
        inside = (ends > 0) & (ends < places - 1)
        low = np.floor(ends[inside]).astype(int)
        part = ends[inside] - low
        entries += [(inner[inside], low, chance * (1 - part)), (inner[inside], low + 1, chance * part)]
    row, column, weight = (np.concatenate(values) for values in zip(*entries, strict=True))
    ended_above[-1] = 1
    counted = np.ones(places)
    counted[[0, -1]] = 0
    moves = coo_array((weight, (row, column)), (places, places))
    found = spsolve((eye_array(places) - moves).tocsc(), np.stack([counted, ended_above], axis=1))
    length, accepted = (float(np.interp(-lower / width, np.arange(places), values)) for values in found.T)
    return length, accepted
