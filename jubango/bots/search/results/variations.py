"""Principal variations of a search under way, read where its tree lies: trees are large, variations are not."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.search.tree.state import SearchState
from jubango.bots.search.tree.tree import CHILD, VALUE_SUM, VISITS
from jubango.sgf_games.compute.programs import Compiled, jit


def variations(s: SearchState, longest: int) -> np.ndarray:
    """int [A, longest]: of the first tree every action of the root, then the most visited action of every node, while
    there are visits, then -1."""
    parts = s.tree.edges.addressable_shards
    first = min(parts, key=lambda part: part.index[0].start or 0)
    return np.asarray(_program(longest)(first.data))


@functools.cache
def _program(longest: int) -> Compiled[[jax.Array], jax.Array]:
    def lines(edges: jax.Array) -> jax.Array:
        tree = edges[0]
        actions = jnp.arange(tree.shape[-1])

        def on(node: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            rows = tree[jnp.maximum(node, 0)]
            visits = rows[:, VISITS]
            mean = rows[:, VALUE_SUM] / jnp.maximum(visits, 1)
            most = jnp.max(visits, axis=-1)
            best = jnp.argmax(jnp.where(visits == most[:, None], mean, -jnp.inf), axis=-1)
            known = (node >= 0) & (most > 0)
            child = rows[actions, CHILD, best].astype(jnp.int32)
            return jnp.where(known, child, -1), jnp.where(known, best, -1).astype(jnp.int32)

        _, found = lax.scan(on, tree[0, CHILD].astype(jnp.int32), length=longest - 1)
        return jnp.concatenate([actions[:, None].astype(jnp.int32), found.T], axis=1)

    return jit(lines)
