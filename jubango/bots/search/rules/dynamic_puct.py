"""PUCT whose exploration grows with the spread of the values seen, and whose move is the surest (KataGo)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rule import Edges, MoveRule, steady_sum

PRIOR_VISITS = 2.0  # that the expected standard deviation counts as
NOT_PLAYED = -1e9  # below every bound
VISITS_SHARE = 0.15  # of the first move's visits, that a move needs to be played for its bound


@dataclass(frozen=True)
class DynamicPuct(Puct):
    """PUCT with c (1 + stdev_scale (s / stdev - 1)), s being the standard deviation of the values at the node.

    Where all that is searched comes out alike there is little to find by looking further, where values differ much
    there is more. The move is the one with the largest lower confidence bound, q - lcb times the standard error, among
    those with at least 0.15 of the visits of the first.

    stdev: the standard deviation that is expected, which counts as two visits.
    stdev_scale: how much of the difference counts; 0: PUCT's own c.
    lcb: standard errors below the mean; 0: the highest mean.

    Source: Wu, KataGo's docs/KataGoMethods.md, "Dynamic Variance-Scaled cPUCT"; the bound: Leela Zero, pull request
    2290.
    """

    params: ClassVar[tuple[Param, ...]] = (
        *Puct.params,
        Param("stdev", 0.4, 0.001, 10.0, "dynamic-puct: the standard deviation of values that is expected"),
        Param("stdev_scale", 0.85, 0.0, 1.0, "dynamic-puct: how much a node's own counts"),
        Param("lcb", 2.0, 0.0, 100.0, "dynamic-puct: standard errors that move=lcb takes off a mean"),
    )
    variance: ClassVar[bool] = True
    move: ClassVar[MoveRule] = "lcb"

    def exploration(self, edges: Edges, params: TracedParams) -> jax.Array:
        assert edges.square_sum is not None
        total = edges.node_visits.astype(jnp.float32)
        mean = (edges.value + steady_sum(edges.value_sum)) / total
        squares = jnp.maximum((jnp.square(edges.value) + steady_sum(edges.square_sum)) / total, jnp.square(mean))
        expected = jnp.square(mean) + jnp.square(params.stdev)
        both = (expected * PRIOR_VISITS + squares * total) / (PRIOR_VISITS + total - 1.0)
        spread = jnp.sqrt(jnp.maximum(both - jnp.square(mean), 0.0))
        spread = jnp.where(total > 1, spread, params.stdev)
        factor = 1.0 + params.stdev_scale * (spread / params.stdev - 1.0)
        return super().exploration(edges, params) * factor

    def final(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the lower confidence bounds of the moves that are in question."""
        assert edges.square_sum is not None
        n = edges.visits.astype(jnp.float32)
        expected = jnp.square(edges.q) + jnp.square(params.stdev)[:, None]
        squares = (expected * PRIOR_VISITS + edges.square_sum) / (PRIOR_VISITS + n)
        error = jnp.sqrt(jnp.maximum(squares - jnp.square(edges.q), 0.0) / jnp.maximum(n, 1.0))
        asked = n >= VISITS_SHARE * jnp.max(n, axis=-1, keepdims=True)
        return jnp.where(asked & (n > 0), edges.q - params.lcb[:, None] * error, NOT_PLAYED)
