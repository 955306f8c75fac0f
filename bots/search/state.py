"""A search under way, and what it reports."""

from __future__ import annotations

from typing import NamedTuple

import jax

from jubango.bots.search.rules.rule import Settings
from jubango.bots.search.transpositions import Transpositions
from jubango.bots.search.tree import Tree


class Paths(NamedTuple):
    """The way of the last simulation from the root to its leaf, a level a row."""

    node: jax.Array  # int32 [D, L], the spare node where a path has ended
    action: jax.Array  # int32 [D, L]


class Searching(NamedTuple):
    """A search under way; every leaf but the paths has the trees first."""

    tree: Tree
    settings: Settings
    seed: jax.Array  # uint32 [B]
    done: jax.Array  # int32 [B], simulations made, those of a kept tree included
    wanted: jax.Array  # int32 [B], simulations to make; 0 in idle trees
    paths: Paths
    table: Transpositions | None


class Leaf(NamedTuple):
    """Where a simulation leaves the tree; every array is [L]."""

    parent: jax.Array  # int32
    action: jax.Array  # int32
    child: jax.Array  # int32, the node that is there, or -1
    length: jax.Array  # int32, edges from the root


class RootStatistics(NamedTuple):
    """What the roots know; the trees come first."""

    visits: jax.Array  # int32 [B, A]
    value: jax.Array  # float32 [B, A] in [-1, 1], mean for the player to move; 0 where unvisited
    prior: jax.Array  # float32 [B, A], noise included
    mean: jax.Array  # float32 [B], of all values at the root, for the player to move
    raw: jax.Array  # float32 [B], what the evaluator said
    exact: jax.Array  # float32 [B, A], proved values or UNKNOWN; A is 0 without a solver
    final: jax.Array  # float32 [B, A], the rule's score of the moves to play
    done: jax.Array  # int32 [B], simulations made
    remaining: jax.Array  # int32 [B], simulations still to make
