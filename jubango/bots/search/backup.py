"""What a simulation leaves behind: values, who took what, and what is proved, carried up its path.

Shape legend as in :mod:`simulate`.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.evaluators.evaluator import Amaf, Owners
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.state import Leaf, LeafValue, SearchState
from jubango.bots.search.tree.tree import (
    EXACT,
    LOWER,
    UPPER,
    Tree,
    count,
    count_leads,
    count_squares,
    count_taken,
    end_of,
    pick,
    player_of,
    put,
    settle,
    value_of,
)
from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.machine import suited

Sums: TypeAlias = tuple[jax.Array, jax.Array | None]  # the tree's edges, and its leads where they count


def back_up(search: SearchSpec, s: SearchState, leaf_value: LeafValue, active: jax.Array, levels: jax.Array) -> Tree:
    """Add the value to every edge of the path. Here values change sides, and in :func:`prove` the bounds do. With a
    solver a value comes up no further than what is proved allows: a player who has a draw for sure loses no more by the
    moves that are still searched for a better one."""
    tree, at_once = s.tree, suited().climb
    _, value, player, lead = leaf_value

    def counted(depth: jax.Array, sums: Sums, worth: tuple) -> tuple[Sums, tuple]:
        (edges, leads), b = sums, s.tree_of_lanes
        way = lax.dynamic_slice_in_dim(s.paths, depth, at_once)
        nodes, actions = way[:, 0], way[:, 1]
        nodes = jnp.where((depth + jnp.arange(at_once) < levels)[:, None], nodes, search.spare)
        if search.solver:
            gain, worth = bounded(nodes, *worth)
        else:
            gain = jnp.where(player_of(tree, b, nodes) == player, value, -value)
        if lead is not None and leads is not None:
            points = jnp.where(player_of(tree, b, nodes) == player, lead, -lead)
            leads = count_leads(leads, jnp.where(active, points, 0.0), b, nodes, actions, search.leaves)
        if search.rule.variance:
            square = jnp.where(active, jnp.square(gain), 0.0)
            edges = count_squares(edges, jnp.broadcast_to(square, nodes.shape), b, nodes, actions, search.leaves)
        visits = jnp.float32(1)
        if search.leaves > 1:  # the visits are there; take back the virtual losses, and what was a double
            visits, gain = jnp.where(active, 0.0, -1.0), jnp.where(active, gain, 0.0) + 1.0
        return (count(edges, visits, gain, b, nodes, actions, search.leaves), leads), worth

    def bounded(nodes: jax.Array, value: jax.Array, mover: jax.Array) -> tuple[jax.Array, tuple]:
        """(the gains at the nodes of some levels, what comes out above them and whose it is)."""
        b = s.tree_of_lanes
        owners, sure = player_of(tree, b, nodes), pick(tree.sure, b, nodes)
        gains = []
        for k in reversed(range(at_once)):
            here = nodes[k] != search.spare
            gains.append(jnp.where(owners[k] == mover, value, -value))
            value = jnp.where(here, jnp.maximum(gains[-1], sure[k]), value)
            mover = jnp.where(here, owners[k], mover)
        return jnp.stack(gains[::-1]), (value, mover)

    def down(carry: tuple) -> tuple:
        depth, sums = carry
        return depth + at_once, counted(depth, sums, ())[0]

    def up(carry: tuple) -> tuple:
        depth, sums, worth = carry
        return depth - at_once, *counted(depth, sums, worth)

    now = tree.edges, None if lead is None else tree.leads
    if search.solver:
        start = (levels - 1) // at_once * at_once, now, (value, player)
        now = while_loop(lambda c: c[0] >= 0, up, start)[1]
    else:
        top = jnp.int32(0), now
        top = top if suited().skips else down(top)
        now = while_loop(lambda c: c[0] < levels, down, top)[1]
    return tree._replace(edges=now[0], leads=tree.leads if now[1] is None else now[1])


def back_up_taken(
    search: SearchSpec, s: SearchState, leaf_value: LeafValue, games: Amaf | Owners | None, active: jax.Array,
    levels: jax.Array,
) -> Tree:  # fmt: skip
    """Tell every node of the path which actions its player took in the evaluator's games. By AMAF it is those that the
    player was the first to take from there to the end of the game, those of the path below it among them (Gelly &
    Silver 2011, section 4.1); else those whose points the player had at the end."""
    tree, b, actions = s.tree, s.tree_of_lanes, jnp.arange(search.game.num_actions)
    _, value, player, _ = leaf_value
    if games is None:  # the moves of the path are all there is
        games = Amaf(jnp.full((value.shape[0], 1, actions.size), -1, jnp.int32), value[:, None])
    gain = jnp.where(active[:, None], games.result, 0.0)

    def level(carry: tuple) -> tuple:
        depth, by, edges = carry
        at, action = lax.dynamic_index_in_dim(s.paths, depth, keepdims=False)
        mover = player_of(tree, b, at)
        if search.rule.amaf:
            here = (actions == action[:, None]) & (at != search.spare)[:, None]
            by = jnp.where(here[:, None], mover[:, None, None], by)
        own = ((by == mover[:, None, None]) & active[:, None, None]).astype(jnp.float32)
        gains = own * jnp.where(mover == player, 1.0, -1.0)[:, None, None] * gain[:, :, None]
        return depth - 1, by, count_taken(edges, mean(own), mean(gains), b, at, search.leaves)

    def mean(x: jax.Array) -> jax.Array:
        """Over the games, in this order whatever the batch."""
        return functools.reduce(jnp.add, jnp.unstack(x, axis=1)) / x.shape[1]

    start = levels - 1, games.player, tree.edges
    return tree._replace(edges=while_loop(lambda c: c[0] >= 0, level, start)[2])


def prove(search: SearchSpec, s: SearchState, node: jax.Array, leaf: Leaf, active: jax.Array) -> Tree:
    """The tree with what follows from a proved leaf proved on its path, as far as that is news.

    A node's bounds are the best lower and the best upper bound of its actions; where they meet they are its value
    (Cazenave & Saffidine 2010). An action that is legal and not considered (``width``) may be worth anything.
    """
    b, lanes, tree = s.tree_of_lanes, jnp.arange(node.shape[0]), s.tree

    def known(bounds: jax.Array, node: jax.Array) -> jax.Array:
        return jnp.max(pick(bounds, b, node), axis=-1)  # float32 [L, 2]

    def level(carry: tuple) -> tuple:
        depth, going, child, below, tree = carry
        at, action = s.paths[depth, :, lanes].T
        at = jnp.where(going, at, search.spare)
        same = player_of(tree, b, at) == player_of(tree, b, child)
        gain = jnp.where(same[:, None], below, -below[:, ::-1])
        going &= jnp.any(gain != pick(tree.bounds, b, at, slice(None), action), axis=-1)
        at = jnp.where(going, at, search.spare)
        bounds = put(tree.bounds, gain, b, at, slice(None), action)
        own = known(bounds, at)
        proved = jnp.where(own[:, LOWER] >= own[:, UPPER], at, search.spare)
        tree = tree._replace(bounds=bounds, sure=put(tree.sure, own[:, LOWER], b, at))
        tree = settle(tree, own[:, LOWER], b, proved)
        return jnp.maximum(depth - 1, 0), going & (depth > 0) & told(own), at, own, tree

    def told(bounds: jax.Array) -> jax.Array:
        return (bounds[:, LOWER] > -1) | (bounds[:, UPPER] < 1)

    over = end_of(tree, b, node) == EXACT
    result = jnp.where(over, value_of(tree, b, node), 0.0)[:, None]
    below = jnp.where(over[:, None], result, jnp.array([-1.0, 1.0], jnp.float32))
    if search.transpositions:  # a node that is new here may be known in part
        below = known(tree.bounds, node)
    start = jnp.maximum(leaf.length - 1, 0), active & (leaf.length > 0) & told(below), node, below, tree
    return while_loop(lambda c: jnp.any(c[1]), level, start)[-1]
