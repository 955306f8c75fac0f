"""The rule of AlphaGo (Silver et al. 2016) as the articles on it give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.rule import Edges, Rule, Settings


@dataclass(frozen=True)
class AlphaGo(Rule):
    """Q + eta P / (1 + n): the bonus of AlphaGo without the parent's visits, as the articles on it
    give it (after Silver et al. 2016, Methods, "Searching with policy and value networks")."""

    usual_c: ClassVar[float] = 5.0

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        return edges.q + settings.c[:, None] * edges.prior / (1 + edges.visits).astype(jnp.float32)
