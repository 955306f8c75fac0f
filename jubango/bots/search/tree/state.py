"""A search under way, and what it reports."""

from __future__ import annotations

from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.tree.transpositions import Transpositions
from jubango.bots.search.tree.tree import Array, Tree


class SearchState(NamedTuple):
    """A search under way; every leaf but the paths has the trees first."""

    tree: Tree
    params: TracedParams
    seed: jax.Array  # uint32 [B]
    done: jax.Array  # int32 [B], simulations made, those of a kept tree included
    wanted: jax.Array  # int32 [B], simulations to make; 0 in idle trees
    fresh: jax.Array  # bool [B], the root is still to be evaluated, which takes a step
    legal: jax.Array  # bool [B, A], exact at the root
    paths: jax.Array  # int32 [D, 2, L], the way of the last simulation from the root to its leaf: of each level the
    # node, the spare one where a path has ended, and the action
    table: Transpositions | None

    @property
    def tree_of_lanes(self) -> jax.Array:
        """int32 [L]: the tree of each lane."""
        trees, lanes = self.done.shape[0], self.paths.shape[-1]
        return jnp.repeat(jnp.arange(trees, dtype=jnp.int32), lanes // trees)


class Leaf(NamedTuple):
    """Where a simulation leaves the tree; every array is [L]."""

    parent: jax.Array  # int32
    action: jax.Array  # int32
    child: jax.Array  # int32, the node that is there, or -1; -1 at a root that is to be evaluated
    length: jax.Array  # int32, edges from the root


class LeafValue(NamedTuple):
    """What a simulation has come to; every array is [L]."""

    node: jax.Array  # int32, where it ends, the spare one of idle lanes
    value: jax.Array  # float32, for the node's player
    player: jax.Array  # int32, the node's
    lead: jax.Array | None  # float32, its lead in points, with a score utility


class RootStatistics(NamedTuple, Generic[Array]):
    """What the roots know; the trees come first. On the device, or on the host with numpy's arrays."""

    visits: Array  # int32 [B, A]
    value: Array  # float32 [B, A] in [-1, 1], mean for the player to move; 0 where unvisited
    prior: Array  # float32 [B, A], noise included
    mean: Array  # float32 [B], of all values at the root, for the player to move
    raw: Array  # float32 [B], what the evaluator said
    bounds: Array  # float32 [B, 2, A], what is proved of the actions' values, see Tree; A is 0 without a solver
    final: Array  # float32 [B, A], the rule's score of the moves to play
    utility: Array  # float32 [B, A], the means that the rule compares; A is 0 without a score utility: the values
    done: Array  # int32 [B], simulations made
    remaining: Array  # int32 [B], simulations still to make, the root's evaluation included

    @property
    def compared(self) -> Array:
        """float32 [B, A]: the means that the rule compares."""
        return self.utility if self.utility.shape[-1] else self.value
