"""The search tree: one per game, all in the same arrays, written in place.

Shape legend: B trees, N nodes a tree can hold plus one slot that takes the writes of idle lanes,
A actions. Node 0 is the root; a node first reached by simulation i has index i. Per-action arrays
belong to the parent, so that one row tells a node's whole choice.

Memory: a node takes 16 A + 17 bytes and its state (9x9 Go: 1,329 + 52), with a solver 4 A more, and
with transpositions at least 24 for the table.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jubango.sgf_games.game import Game, State
from jubango.sgf_games.kernels import IN_BOUNDS

OPEN, EXACT, CUT_OFF = 0, 1, 2  # may be expanded; over or proved; too deep
UNKNOWN = 2.0  # no value is as large
T = TypeVar("T")  # a pytree of arrays
LONGEST_LINE = 4  # moves after which a tree can still be kept


class Tree(NamedTuple):
    visits: jax.Array  # int32 [B, N, A]
    value_sum: jax.Array  # float32 [B, N, A], from the view of the node's player
    prior: jax.Array  # float32 [B, N, A], zero where illegal
    child: jax.Array  # int32 [B, N, A], the node an action leads to, or -1
    parent: jax.Array  # int32 [B, N]
    action: jax.Array  # int32 [B, N], the parent's action that leads here
    player: jax.Array  # int32 [B, N]
    value: jax.Array  # float32 [B, N], the evaluator's, or the exact value where that is known
    end: jax.Array  # int8 [B, N]: OPEN, EXACT or CUT_OFF
    state: State  # the game's state, batch axes [B, N] first
    exact: jax.Array  # float32 [B, N, A], proved values of actions or UNKNOWN; A is 0 without a solver


def pick(array: jax.Array, *index: jax.Array) -> jax.Array:
    """``array[index]`` for indices known to be in bounds and not negative, which spares the checks."""
    return array.at[index].get(**IN_BOUNDS)


def put(array: jax.Array, value: ArrayLike, *index: jax.Array) -> jax.Array:
    """``array`` with ``array[index] = value``, in bounds."""
    return array.at[index].set(value, **IN_BOUNDS)


def add(array: jax.Array, value: ArrayLike, *index: jax.Array) -> jax.Array:
    """``array`` with ``array[index] += value``, in bounds; equal indices add up."""
    return array.at[index].add(value, **IN_BOUNDS)


def empty_tree(game: Game, trees: int, capacity: int, solver: bool = False) -> Tree:
    """Room for ``capacity`` simulations in each tree."""
    nodes, actions = capacity + 2, game.num_actions
    per_node, per_action = (trees, nodes), (trees, nodes, actions)
    first = game.without_history(game.init())
    return Tree(
        visits=jnp.zeros(per_action, jnp.int32),
        value_sum=jnp.zeros(per_action, jnp.float32),
        prior=jnp.zeros(per_action, jnp.float32),
        child=jnp.full(per_action, -1, jnp.int32),
        parent=jnp.zeros(per_node, jnp.int32),
        action=jnp.zeros(per_node, jnp.int32),
        player=jnp.zeros(per_node, jnp.int32),
        value=jnp.zeros(per_node, jnp.float32),
        end=jnp.zeros(per_node, jnp.int8),
        state=jax.tree.map(lambda x: jnp.zeros((trees, nodes, *x.shape), x.dtype), first),
        exact=jnp.full((*per_node, actions if solver else 0), UNKNOWN, jnp.float32),
    )


def tree_bytes(game: Game, capacity: int, solver: bool = False) -> int:
    """Memory of one tree, transpositions aside."""
    first = jax.eval_shape(lambda: game.without_history(game.init()))
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(first))
    return (capacity + 2) * ((20 if solver else 16) * game.num_actions + 17 + state)


def subtree(tree: Tree, root: jax.Array) -> Tree:
    """The trees under the nodes ``root`` (int32 [B]), nodes in the order in which they were made.

    A node belongs to it if its chain of parents meets the new root; a link counts only if parent
    and child agree on it, which leaves out what an earlier search has left in the arrays.
    """
    trees, nodes = tree.parent.shape
    b, index = jnp.arange(trees)[:, None], jnp.arange(nodes, dtype=jnp.int32)[None]
    linked = (tree.child[b, tree.parent, tree.action] == index) & (index > 0)
    above = jnp.where(linked, tree.parent, nodes - 1)  # the spare slot is nobody's ancestor
    inside = index == root[:, None]
    for _ in range(max(1, (nodes - 1).bit_length())):  # chains twice as long each time
        inside |= inside[b, above]
        above = above[b, above]
    inside &= index < nodes - 1
    count = jnp.sum(inside, axis=-1, dtype=jnp.int32)[:, None]
    new_index = jnp.cumsum(inside, axis=-1, dtype=jnp.int32) - 1
    source = jnp.zeros((trees, nodes), jnp.int32).at[b, jnp.where(inside, new_index, nodes - 1)].set(
        jnp.broadcast_to(index, (trees, nodes))
    )  # fmt: skip
    kept = index < count
    source = jnp.where(kept, source, nodes - 1)
    moved = jax.tree.map(lambda x: x[b, source], tree)
    below = jnp.maximum(moved.child, 0)
    stays = (moved.child >= 0) & kept[..., None] & inside[b[..., None], below]  # a shared node may lie outside
    child = jnp.where(stays, new_index[b[..., None], below], -1)
    return moved._replace(
        visits=jnp.where(kept[..., None], moved.visits, 0),
        value_sum=jnp.where(kept[..., None], moved.value_sum, 0.0),
        child=child,
        parent=jnp.where(kept & (index > 0), new_index[b, moved.parent], 0),
    )


def lanes_last(states: T) -> T:
    """[B, ...] -> [..., B]: from the tree's layout to the rules'."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), states)


def lanes_first(states: T) -> T:
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), states)
