"""The search tree: one per lane, all in the same arrays, written in place.

Shape legend: B lanes, N nodes a tree can hold plus one slot that takes the writes of idle lanes,
A actions. Node 0 is the root; a node first reached by simulation i has index i. Per-action arrays
belong to the parent, so that one row tells a node's whole choice.

Memory: a node takes 16 A + 17 bytes and its state (9x9 Go: 1,329 + 52).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sgf_games.game import Game


class Tree(NamedTuple):
    visits: jax.Array  # int32 [B, N, A]
    value_sum: jax.Array  # float32 [B, N, A], from the view of the node's player
    prior: jax.Array  # float32 [B, N, A], zero where illegal
    child: jax.Array  # int32 [B, N, A], the node an action leads to, or -1
    parent: jax.Array  # int32 [B, N]
    action: jax.Array  # int32 [B, N], the parent's action that leads here
    player: jax.Array  # int32 [B, N]
    value: jax.Array  # float32 [B, N], the evaluator's, or the exact result of a finished game
    terminal: jax.Array  # bool [B, N]
    state: Any  # the game's state, batch axes [B, N] first


def empty_tree(game: Game, lanes: int, capacity: int) -> Tree:
    """A tree of ``capacity`` simulations for each lane."""
    nodes, actions = capacity + 2, game.num_actions
    per_action = (lanes, nodes, actions)
    first = game.without_history(game.init())
    return Tree(
        visits=jnp.zeros(per_action, jnp.int32),
        value_sum=jnp.zeros(per_action, jnp.float32),
        prior=jnp.zeros(per_action, jnp.float32),
        child=jnp.full(per_action, -1, jnp.int32),
        parent=jnp.zeros((lanes, nodes), jnp.int32),
        action=jnp.zeros((lanes, nodes), jnp.int32),
        player=jnp.zeros((lanes, nodes), jnp.int32),
        value=jnp.zeros((lanes, nodes), jnp.float32),
        terminal=jnp.zeros((lanes, nodes), bool),
        state=jax.tree.map(lambda x: jnp.zeros((lanes, nodes, *x.shape), x.dtype), first),
    )


def tree_bytes(game: Game, capacity: int) -> int:
    """Memory of one lane's tree."""
    first = jax.eval_shape(lambda: game.without_history(game.init()))
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(first))
    return (capacity + 2) * (16 * game.num_actions + 17 + state)


def lanes_last(states: Any) -> Any:
    """[B, ...] -> [..., B]: from the tree's layout to the rules'."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), states)


def lanes_first(states: Any) -> Any:
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), states)
