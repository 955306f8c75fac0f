"""The rule of AlphaGo (Silver et al. 2016) as the articles on it give it."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.rule import Edges, Rule


@dataclass(frozen=True)
class AlphaGo(Rule):
    """Q + eta P / (1 + n): AlphaGo's bonus without the parent's visits.

    Source: Silver et al. 2016, Methods, "Searching with policy and value networks", as articles on it give it.
    """

    params = (Param("c", 5.0, 0.0, 1000.0, "exploration: eta"),)

    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        return edges.q + params.c[:, None] * edges.prior / (1 + edges.visits).astype(jnp.float32)
