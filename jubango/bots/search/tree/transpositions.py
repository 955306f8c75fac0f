"""Transpositions: positions reached by different orders of moves share one node.

An open-addressing hash table per tree. A position's key is mixed with its depth, so that a path can
never come back to where it was. Childs, Brodeur & Kocsis 2008: statistics stay with the edges (their
UCT1); the node's own evaluation and its children are shared.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

PROBES = 8  # a position that finds no place in so many is not shared


class Transpositions(NamedTuple):
    key: jax.Array  # uint32 [B, M, 2]
    node: jax.Array  # int32 [B, M], or -1


def empty_table(trees: int, capacity: int) -> Transpositions:
    """At least twice as many places as simulations."""
    size = 2 << max(1, capacity - 1).bit_length()
    return Transpositions(jnp.zeros((trees, size, 2), jnp.uint32), jnp.full((trees, size), -1, jnp.int32))


def look_up(table: Transpositions, tree: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(node or -1, the place to write it or M). tree: int32 [L]; key: uint32 [L, 2]."""
    size = table.node.shape[1]
    found = jnp.full(tree.shape, -1, jnp.int32)
    place = jnp.full(tree.shape, size, jnp.int32)
    for probe in range(PROBES):
        at = ((key[:, 0] + jnp.uint32(probe)) % jnp.uint32(size)).astype(jnp.int32)
        node = table.node[tree, at]
        same = (node >= 0) & jnp.all(table.key[tree, at] == key, axis=-1)
        found = jnp.where((found < 0) & same, node, found)
        place = jnp.where((place == size) & (node < 0), at, place)
    return found, place


def remember(
    table: Transpositions, tree: jax.Array, place: jax.Array, key: jax.Array, node: jax.Array
) -> Transpositions:
    """Write ``node`` at ``place``; a place of M is no place. Of the lanes of one tree that want one place the first has
    it: a device may write a key and a node of different lanes."""
    trees, size = table.node.shape
    wanted = place.reshape(trees, -1)
    earlier = jnp.tril(jnp.ones((wanted.shape[1], wanted.shape[1]), bool), -1)
    taken = jnp.any((wanted[:, :, None] == wanted[:, None, :]) & earlier, axis=-1).reshape(-1)
    place = jnp.where(taken, size, place)
    return Transpositions(
        table.key.at[tree, place].set(key, mode="drop"), table.node.at[tree, place].set(node, mode="drop")
    )
