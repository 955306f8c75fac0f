"""The root: which moves a search plays in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jubango.bots.search.rules.rule import MoveRule
from jubango.bots.search.ties import drawn, tie_break_bits
from jubango.bots.search.tree.state import RootStatistics
from jubango.bots.search.tree.tree import LOWER, UPPER, in_question

CLOSE = 0.8  # of the most visits: a move that has so many may come to be the first
TRIED = 0.1  # of them: a move's value counts


def final_moves(
    found: RootStatistics[np.ndarray],
    moves: Sequence[MoveRule],
    temperatures: Sequence[float],
    seeds: Sequence[int],
    ties: str = "first",
) -> np.ndarray:
    """int [n]: the moves to play, from the statistics of n roots.

    moves: what each is chosen by. With a temperature t > 0 it is drawn with probabilities visits^(1/t) (AlphaGo Zero,
    Methods, "Play"; by "lcb", too), prior^(1/t) or exp(value / t). At 0 the largest decides; among equals the more
    visits, the higher mean, the higher prior, and then the lowest action or, ``ties`` being "random", any. An action
    of which it is proved that another is no worse, and may be better, is not played.
    """
    visits, value, prior = found.visits, found.value, found.prior
    legal: np.ndarray = prior > 0
    if found.bounds.shape[-1]:
        legal = in_question(found.bounds, found.value, legal)
    seen = legal & (visits > 0)
    heat = np.asarray(temperatures)
    moves = ["visits" if rule == "lcb" and t > 0 else rule for rule, t in zip(moves, heat, strict=True)]
    by_visits = np.array([rule in ("visits", "value", "lcb") for rule in moves])
    by_visits &= seen.any(axis=1)  # without visits the prior decides
    by = [rule if rule == "gumbel" or ok else "prior" for rule, ok in zip(moves, by_visits, strict=True)]
    main = prior.astype(np.float64)
    for rule, key in (("visits", visits), ("value", found.compared), ("gumbel", found.final), ("lcb", found.final)):
        rows = np.array([own == rule for own in by])
        if rows.any():
            main[rows] = key[rows]
    choices = np.where(by_visits[:, None], seen, legal)
    best = choices
    for key in (main, visits, value, prior):
        best = best & (key == np.where(best, key, -np.inf).max(axis=1, keepdims=True))
    out = best.argmax(axis=1)
    warm = (heat > 0) & (np.array(by) != "gumbel")
    for i in np.flatnonzero(warm):  # drawn at random
        rng = np.random.default_rng([seeds[int(i)], 3])
        among = np.flatnonzero(choices[i])
        logits = main[i, among].astype(np.float32) if by[int(i)] == "value" else np.log(main[i, among])
        weights = np.exp((logits - logits.max()) / temperatures[int(i)])
        out[i] = rng.choice(among, p=weights / weights.sum())
    equal = np.flatnonzero(~warm & (best.sum(axis=1) > 1))
    if len(equal) and ties == "random":
        rows = best[equal]
        which = drawn(tie_break_bits(np.array(seeds, np.uint32)[equal]), rows.sum(axis=1))
        out[equal] = (rows.cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return out


def settled(found: RootStatistics[np.ndarray], left: np.ndarray) -> np.ndarray:
    """bool [n]: whether no other move can have as many visits as the first, with ``left`` (float [n]) simulations still
    to be made, so that :func:`final_moves` by visits, without a temperature, is decided."""
    legal: np.ndarray = found.prior > 0
    if found.bounds.shape[-1]:
        legal = in_question(found.bounds, found.value, legal)
    visits = np.sort(np.where(legal, found.visits, -np.inf), axis=1)
    return visits[:, -1] - np.pad(visits, [(0, 0), (1, 0)], constant_values=-np.inf)[:, -2] > left


def undecided(found: RootStatistics[np.ndarray]) -> np.ndarray:
    """bool [n]: whether it is open which move most visits will choose, as another one has a higher value or nearly as
    many visits (UNST and CLOSE of Baier & Winands, "Time Management for Monte Carlo Tree Search", 2016)."""
    legal: np.ndarray = found.prior > 0
    if found.bounds.shape[-1]:
        legal = in_question(found.bounds, found.value, legal)
    visits = np.where(legal, found.visits, 0)
    most = visits.max(axis=1, keepdims=True)
    tried = visits >= np.maximum(TRIED * most, 1)
    first = tried & (visits == most)
    values = np.where(tried, found.compared, -np.inf)
    unstable = values.max(axis=1) > np.where(first, found.compared, -np.inf).max(axis=1)
    close = (visits >= CLOSE * most).sum(axis=1) > 1
    return (most[:, 0] > 0) & (unstable | close)


def merged(found: RootStatistics[np.ndarray], ensemble: int) -> RootStatistics[np.ndarray]:
    """The statistics of n roots out of those of n * ``ensemble`` trees, by visits (Chaslot, Winands & van den Herik
    2008, root parallelisation)."""
    if ensemble == 1:
        return found
    each = RootStatistics(*(x.reshape(len(x) // ensemble, ensemble, *x.shape[1:]) for x in found))
    visits: Any = each.visits.sum(axis=1)

    def mean_of(x: np.ndarray) -> Any:
        return (x * each.visits).sum(axis=1) / np.maximum(visits, 1)

    value = mean_of(each.value)
    utility = mean_of(each.utility) if each.utility.shape[-1] else each.utility[:, 0]
    prior, mean, raw, final = (x.mean(axis=1) for x in (each.prior, each.mean, each.raw, each.final))
    bounds = each.bounds[:, 0]
    if bounds.shape[-1]:  # proved anywhere is proved
        low, high = each.bounds[:, :, LOWER].max(axis=1), each.bounds[:, :, UPPER].min(axis=1)
        bounds = np.stack([low, high], axis=1)
        value, mean = np.clip(value, low, high), np.clip(mean, low.max(axis=1), high.max(axis=1))
    done, left = each.done.sum(axis=1), each.remaining.max(axis=1)
    return RootStatistics(visits, value, prior, mean, raw, bounds, final, utility, done, left)
