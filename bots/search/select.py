"""Selection: which child a simulation goes down to. A rule scores all actions of a node at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np


class Settings(NamedTuple):
    """The numbers a bot may vary without a new program; every array is [B]."""

    simulations: jax.Array  # int32, per move, up to the search's capacity
    c: jax.Array  # float32, the exploration constant of the selection rule


class Edges(NamedTuple):
    """The actions of one node per lane; every array is [B, A]."""

    visits: jax.Array  # int32
    value_sum: jax.Array  # float32, from the view of the node's player
    prior: jax.Array  # float32, zero where illegal


class Selection(Protocol):
    """A frozen (hashable) rule."""

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the largest is chosen; illegal actions must be minus infinity."""
        ...


@dataclass(frozen=True)
class Ucb1:
    """w/n + c * sqrt(ln N / n), with w/n a score between 0 and 1; unvisited actions come first, in
    the order of the prior. Kocsis & Szepesvari 2006, section 2.2; Browne et al. 2012, equation 1.

    ``capacity`` bounds the visits of a node; logarithms come from a table of that size, so that
    they are the same numbers on every machine and in every batch.
    """

    capacity: int

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        table = jnp.asarray(np.log(np.arange(1, self.capacity + 2, dtype=np.float64)).astype(np.float32))
        visits = edges.visits
        total = jnp.sum(visits, axis=-1)
        log_total = table[jnp.clip(total - 1, 0, self.capacity)]
        n = jnp.maximum(visits, 1).astype(jnp.float32)
        score = 0.5 + 0.5 * (edges.value_sum / n)
        bonus = settings.c[:, None] * jnp.sqrt(log_total[:, None] / n)
        unvisited = 1e6 * (1.0 + edges.prior)
        chosen = jnp.where(visits > 0, score + bonus, unvisited)
        return jnp.where(edges.prior > 0, chosen, -jnp.inf)
