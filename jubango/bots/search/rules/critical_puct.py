"""PUCT that looks first at the points on which the game hangs (Coulom 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rule import Edges, steady_sum

HALF_TRUST = 50.0  # after so many simulations a node's criticality counts half: that of a few is noise


@dataclass(frozen=True)
class CriticalPuct(Puct):
    """PUCT with the prior P exp(w n / (n + 50) cov(own, z)), made to add up to 1 again.

    n simulations have gone through the node. z is the result of a game of theirs from the view of its player, own is 1
    where this player has the action's point at the end, else 0. Their covariance is the point's criticality, -1/2 to
    1/2: large where those who get the point win. The values must be those of the games alone, so it is for rollouts.

    criticality: w; 0: PUCT's own prior.

    Source: Coulom 2009, "Criticality: a Monte-Carlo heuristic for Go programs"; Pellegrino et al. 2009, "Localizing
    search in Monte-Carlo Go using statistical covariance".
    """

    params: ClassVar[tuple[Param, ...]] = (
        *Puct.params,
        Param("criticality", 12.0, 0.0, 1000.0, "critical-puct: how much of a point's criticality counts"),
    )
    owners: ClassVar[bool] = True

    def prior(self, edges: Edges, params: TracedParams) -> jax.Array:
        assert edges.owned_visits is not None and edges.owned_sum is not None
        simulations = (edges.node_visits - 1).astype(jnp.float32)[:, None]
        some = jnp.maximum(simulations, 1.0)
        mean = steady_sum(edges.value_sum)[:, None] / some
        covariance = edges.owned_sum / some - edges.owned_visits / some * mean
        grown = params.criticality[:, None] * simulations / (simulations + HALF_TRUST) * covariance
        most = jnp.max(jnp.where(edges.prior > 0, grown, -jnp.inf), axis=-1, keepdims=True)
        return edges.prior * jnp.exp(jnp.minimum(grown - most, 0.0))
