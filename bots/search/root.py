"""The root: what a search is told before it begins, and which move it plays in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from jubango.bots.search.rules.gumbel import considered_visits
from jubango.bots.search.search import Search
from jubango.bots.search.select import Settings
from jubango.bots.search.state import RootStatistics
from jubango.bots.search.tree import UNKNOWN

MoveRule = Literal["visits", "value", "prior", "gumbel"]


class Numbers(NamedTuple):
    """The numbers of one tree, as a person gives them."""

    simulations: int = 400
    c: float | None = None  # by default the selection rule's own
    fpu_reduction: float = 0.0
    depth: int = 0  # 0: no limit
    noise: float = 0.0  # the share of Dirichlet noise in the root's prior
    alpha: float = 0.0  # of the Dirichlet distribution; 0: 10 / legal actions
    considered: int = 16  # actions a Gumbel root begins with
    gumbel_scale: float = 1.0  # 0: no Gumbel noise


def settings_for(search: Search, numbers: Sequence[Numbers], legal: np.ndarray, seeds: np.ndarray) -> Settings:
    """The arrays a program takes. legal: bool [B, A]. seeds: uint32 [B]; they decide the noise too."""
    trees, actions = legal.shape
    gumbel = search.selection.gumbel
    dirichlet = np.zeros((trees, actions), np.float32)
    root_gumbel = np.zeros((trees, actions if gumbel else 0), np.float32)
    schedule = np.zeros((trees, search.capacity if gumbel else 0), np.int32)
    for i, own in enumerate(numbers):
        count = int(legal[i].sum())
        if own.noise and count:
            alpha = own.alpha or 10.0 / count
            dirichlet[i, legal[i]] = np.random.default_rng([int(seeds[i]), 1]).dirichlet(np.full(count, alpha))
        if gumbel:
            root_gumbel[i] = own.gumbel_scale * np.random.default_rng([int(seeds[i]), 2]).gumbel(size=actions)
            visits = considered_visits(min(own.considered, count), own.simulations)[: search.capacity]
            schedule[i, : len(visits)] = visits
    arrays: dict[str, Any] = {
        "simulations": np.array([own.simulations for own in numbers], np.int32),
        "c": np.array([search.selection.usual_c if own.c is None else own.c for own in numbers], np.float32),
        "fpu_reduction": np.array([own.fpu_reduction for own in numbers], np.float32),
        "depth": np.array([own.depth or 2**30 for own in numbers], np.int32),
        "noise": np.array([own.noise for own in numbers], np.float32),
        "dirichlet": dirichlet,
        "gumbel": root_gumbel,
        "considered": schedule,
    }
    return Settings(**arrays)


def final_move(
    found: RootStatistics, rule: MoveRule = "visits", temperature: float = 0.0, seed: int = 0, ties: str = "first"
) -> int:
    """The move to play, from the statistics of ONE root.

    With ``temperature`` t > 0 it is drawn with probabilities visits^(1/t) (AlphaGo Zero, Methods,
    "Play"), prior^(1/t) or exp(value / t). At 0 the largest decides; among equals the more visits, the
    higher mean, the higher prior, and then the lowest action or, ``ties`` being "random", any. A
    proved win is always played and a proved loss never while there is something else.
    """
    legal = np.asarray(found.prior) > 0
    visits, value = np.asarray(found.visits), np.asarray(found.value)
    if found.exact.size:
        exact = np.asarray(found.exact)
        proved = np.where(legal & (exact < UNKNOWN), exact, 0.0)
        if (proved >= 1).any():
            legal = proved >= 1
        elif (legal & (proved > -1)).any():
            legal &= proved > -1
    if rule in ("visits", "value") and not (visits * legal).any():
        rule = "prior"
    seen = legal & (visits > 0) if rule in ("visits", "value") else legal
    main = {"visits": visits, "value": value, "prior": np.asarray(found.prior), "gumbel": np.asarray(found.final)}[rule]
    if temperature > 0 and rule != "gumbel":
        choices = np.flatnonzero(seen)
        logits = main[choices] if rule == "value" else np.log(main[choices].astype(np.float64))
        weights = np.exp((logits - logits.max()) / temperature)
        return int(np.random.default_rng([seed, 3]).choice(choices, p=weights / weights.sum()))
    best = np.flatnonzero(seen)
    for key in (main, visits, value, np.asarray(found.prior)):
        best = best[key[best] == key[best].max()]
        if len(best) == 1:
            return int(best[0])
    return int(np.random.default_rng([seed, 3]).choice(best) if ties == "random" else best[0])


def merged(found: RootStatistics) -> RootStatistics:
    """One root's statistics out of those of several trees, by visits (Chaslot, Winands & van den Herik
    2008, root parallelisation)."""
    if len(found.done) == 1:
        return RootStatistics(*(x[0] for x in found))
    visits: Any = found.visits.sum(axis=0)
    value: Any = (found.value * found.visits).sum(axis=0) / np.maximum(visits, 1)
    mean = lambda x: x.mean(axis=0)  # noqa: E731
    exact = found.exact.min(axis=0)  # proved anywhere is proved; UNKNOWN is the largest
    if exact.size:
        value = np.where(exact <= 1, exact, value)
    done, left = found.done.sum(axis=0), found.remaining.max(axis=0)
    final = mean(found.final) if found.final.size else found.final[0]
    return RootStatistics(visits, value, mean(found.prior), mean(found.mean), mean(found.raw), exact, final, done, left)
