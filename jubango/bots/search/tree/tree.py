"""The search tree: one per game, all in the same arrays, written in place.

Shape legend: B trees, N nodes a tree can hold plus one slot that takes the writes of idle lanes,
A actions. Node 0 is the root; a node first reached by simulation i has index i, until its tree gets another root and
it moves to the front. Per-action arrays belong to the parent, so that one row tells a node's whole choice.

What is known of a node's actions lies in one block, so that a step down the tree meets the memory once. Its visits and
children are whole numbers, which float32 holds exactly up to MOST_NODES.

What else is known of a node, its state included, are the words of one row, so that a new node is written at once. Only
whose turn it is and whether it has ended lies apart, in a byte, as every step down and up a tree asks.

Memory: a node takes 16 A + 13 bytes and its state (9x9 Go: 1,325 + 64). A rule that asks who took what takes 8 A
more, one that asks for variances 4 A. A solver takes 8 A + 4 more, a score utility 4 A + 4, and transpositions at least
24 for the table.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from jubango.bots.search.rules.rule import Edges, Rule
from jubango.bots.search.tree.node_states import words_of
from jubango.sgf_games.compute.kernels import IN_BOUNDS
from jubango.sgf_games.compute.machine import suited
from jubango.sgf_games.rules.game import Game

OPEN, EXACT, CUT_OFF = 0, 1, 2  # may be expanded; over or proved; too deep
LOWER, UPPER = range(2)  # the rows of a node's bounds
VISITS, VALUE_SUM, PRIOR, CHILD, TAKEN_VISITS, TAKEN_SUM = range(6)  # the columns of a node's actions
PARENT, ACTION, VALUE, STATE = range(4)  # the words of a node; its state's are those from STATE on
END, PLAYER = 3, 2  # of a node's byte: the bits that say how it ended, and by how far the player lies above them
MOST_NODES = 2**24
Array = TypeVar("Array", jax.Array, np.ndarray)
LEAST_MOVED_AT_ONCE = 8  # nodes of each tree, when trees get other roots
LONGEST_KEPT_LINE = 4  # moves after which a tree can still be kept


class Tree(NamedTuple):
    edges: jax.Array  # float32 [B, N, 4, A]: visits; value sum, from the view of the node's player; prior, zero where
    # illegal; child, the node an action leads to, or -1. [B, N, 6, A] for rules that want it: the games from here in
    # which the node's player took the action: was the first to, sooner or later, or had its point at the end; their
    # value sum. For those that want it, one row more behind these 4 or 6: the sum of the values' squares
    nodes: jax.Array  # uint32 [B, N, STATE + W], the words of a node: its parent; the parent's action that leads here;
    # as a float32's bits its value, the evaluator's, or the exact one where that is known; and the words of the game's
    # state (node_states)
    kind: jax.Array  # uint8 [B, N]: OPEN, EXACT or CUT_OFF, and the player
    bounds: jax.Array  # float32 [B, N, 2, A]: what is proved of an action's value for the node's player, from LOWER to
    # UPPER: -1 to 1 at first, -1 to -1 where illegal, the result where the game is over; A is 0 without a solver
    sure: jax.Array  # float32 [B, N], the best LOWER of a node's actions; N is 0 without a solver
    leads: jax.Array  # float32 [B, N, A + 1]: of each action the sum of the leads in points, from the view of the
    # node's player; then the node's own, as the evaluator says it. The last axis is 0 without a score utility


Index = jax.Array | int | slice

# The compiler of JAX before 0.9.2 turns an array round, and so copies all trees in every step, where what is added lies
# along another axis than the last. Number by number it does not, which newer ones take 2 to 8 % longer for.
WINDOWS_LAST = jax.__version_info__ < (0, 9, 2)


def pick(array: jax.Array, *index: Index) -> jax.Array:
    """``array[index]`` for indices known to be in bounds and not negative, which spares the checks."""
    return array.at[index].get(**IN_BOUNDS)


def put(array: jax.Array, value: ArrayLike, *index: Index) -> jax.Array:
    """``array`` with ``array[index] = value``, in bounds."""
    return array.at[index].set(value, **IN_BOUNDS)


def add(array: jax.Array, value: ArrayLike, *index: Index) -> jax.Array:
    """``array`` with ``array[index] += value``, in bounds; equal indices add up."""
    return array.at[index].add(value, **IN_BOUNDS)


def parent_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    """int32, and so the next three: what is known of ``node`` of tree ``b``."""
    return pick(tree.nodes, b, node, PARENT).astype(jnp.int32)


def action_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    """The parent's action that leads to it."""
    return pick(tree.nodes, b, node, ACTION).astype(jnp.int32)


def player_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    return (pick(tree.kind, b, node) >> PLAYER).astype(jnp.int32)


def end_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    """OPEN, EXACT or CUT_OFF."""
    return (pick(tree.kind, b, node) & END).astype(jnp.int32)


def value_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    """float32: the evaluator's, or the exact one where that is known."""
    return lax.bitcast_convert_type(pick(tree.nodes, b, node, VALUE), jnp.float32)


def state_of(tree: Tree, b: Index, node: Index) -> jax.Array:
    """uint32 [..., W]: the words of its state."""
    return pick(tree.nodes, b, node, slice(STATE, None))


def words_of_value(value: jax.Array) -> jax.Array:
    """uint32: a node's value as it is kept."""
    return lax.bitcast_convert_type(value.astype(jnp.float32), jnp.uint32)


def words_of_nodes(parent: jax.Array, action: jax.Array, value: jax.Array, state: jax.Array) -> jax.Array:
    """uint32 [L, STATE + W]: the words of new nodes; ``state`` [L, W], the others [L]."""
    first = [parent.astype(jnp.uint32), action.astype(jnp.uint32), words_of_value(value)]
    return jnp.concatenate([jnp.stack(first, axis=-1), state], axis=-1)


def kind_of(player: jax.Array, end: jax.Array) -> jax.Array:
    """uint8: a node's byte."""
    return (end | player << PLAYER).astype(jnp.uint8)


def settle(tree: Tree, value: jax.Array, b: jax.Array, node: jax.Array) -> Tree:
    """The value of a node is exact from now on."""
    return tree._replace(
        nodes=put(tree.nodes, words_of_value(value), b, node, VALUE),
        kind=put(tree.kind, kind_of(player_of(tree, b, node), jnp.int32(EXACT)), b, node),
    )


def edges_of(rule: Rule, tree: Tree, b: jax.Array, node: jax.Array) -> Edges:
    """The actions of ``node`` of tree ``b``, a row each."""
    columns = [column for column in range(tree.edges.shape[2]) if column != CHILD]
    return edges_from(rule, [pick(tree.edges, b, node, column) for column in columns], value_of(tree, b, node))


def edges_from(rule: Rule, columns: Sequence[jax.Array], value: jax.Array) -> Edges:
    """The actions of nodes out of their columns but for CHILD, and what the evaluator said of the nodes."""
    visits, value_sum, prior, *more = columns
    names = [f"{kind}_{what}" for kind in taken_by(rule) for what in ("visits", "sum")] + ["square_sum"] * rule.variance
    return Edges(visits.astype(jnp.int32), value_sum, prior, value, **dict(zip(names, more, strict=True)))


def taken_by(rule: Rule | type[Rule]) -> list[str]:
    """In what sense actions are taken in the games that its edges count, if it has them count any."""
    return ["amaf"] if rule.amaf else ["owned"] if rule.owners else []


def child_of(tree: Tree, b: jax.Array, node: jax.Array, action: jax.Array) -> jax.Array:
    """int32: the node that ``action`` leads to from ``node`` of tree ``b``, or -1."""
    return pick(tree.edges, b, node, CHILD, action).astype(jnp.int32)


def add_in_order(array: jax.Array, value: jax.Array, leaves: int, same: jax.Array, *index: Index) -> jax.Array:
    """:func:`add` where equal indices may be those of lanes of one tree, ``leaves`` of which lie side by side: lane
    after lane, as a CPU adds, on devices that add in any order, too. All lanes of an index find the same sum.

    value: [..., L, ...]. same: [..., T, K, K], whether two lanes of a tree have the same index.
    """
    if leaves == 1 or not suited().in_order:
        return add(array, value, *index)
    lead = same.ndim - 3
    rest = value.shape[lead + 1 :]
    apart = *value.shape[:lead], -1, leaves, *rest
    values, sums = value.reshape(apart), pick(array, *index).reshape(apart)
    for k in range(leaves):
        own = same[..., k].reshape(*same.shape[:-1], *[1] * len(rest))
        sums = jnp.where(own, sums + lax.index_in_dim(values, k, lead + 1), sums)
    return put(array, sums.reshape(value.shape), *index)


def equal_in_trees(leaves: int, *keys: jax.Array) -> jax.Array:
    """bool [..., T, K, K]: which lanes of a tree agree in all ``keys``, int32 [..., L]."""
    apart = [key.reshape(*key.shape[:-1], -1, leaves) for key in keys]
    return functools.reduce(jnp.logical_and, [x[..., :, None] == x[..., None, :] for x in apart])


def count(
    edges: jax.Array, visits: ArrayLike, gain: jax.Array, b: jax.Array, node: jax.Array, action: jax.Array,
    leaves: int = 1,
) -> jax.Array:  # fmt: skip
    """The trees' edges with so many visits more and so much more value of an action; equal ones add up, in the order of
    the ``leaves`` of a tree. They need none where all lanes add the same."""
    both = jnp.stack([jnp.broadcast_to(jnp.asarray(visits, jnp.float32), gain.shape), gain], axis=-1)
    same = equal_in_trees(leaves, node, action)
    if WINDOWS_LAST:
        columns = jnp.arange(VISITS, VALUE_SUM + 1, dtype=jnp.int32)
        b, node, action = (jnp.broadcast_to(x, gain.shape)[..., None] for x in (b, node, action))
        return add_in_order(edges, both, leaves, same, b, node, columns, action)
    return add_in_order(edges, both, leaves, same, b, node, slice(VISITS, VALUE_SUM + 1), action)


def count_squares(
    edges: jax.Array, square: jax.Array, b: jax.Array, node: jax.Array, action: jax.Array, leaves: int = 1
) -> jax.Array:
    """The trees' edges with so much more in the sum of squares of an action; equal ones add up as in :func:`count`."""
    same = equal_in_trees(leaves, node, action)
    return add_in_order(edges, square, leaves, same, b, node, edges.shape[2] - 1, action)


def count_leads(
    leads: jax.Array, gain: jax.Array, b: jax.Array, node: jax.Array, action: jax.Array, leaves: int = 1
) -> jax.Array:
    """The trees' leads with so much more in the sum of an action; equal ones add up as in :func:`count`."""
    return add_in_order(leads, gain, leaves, equal_in_trees(leaves, node, action), b, node, action)


def count_taken(
    edges: jax.Array, share: jax.Array, gain: jax.Array, b: jax.Array, node: jax.Array, leaves: int = 1
) -> jax.Array:
    """The trees' edges with so much more of what the node's player took, [L, A] each."""
    both, columns = jnp.stack([share, gain], axis=-2), slice(TAKEN_VISITS, TAKEN_SUM + 1)
    return add_in_order(edges, both, leaves, equal_in_trees(leaves, node), b, node, columns)


def columns_of(rule: Rule | type[Rule]) -> int:
    """How many numbers an action has."""
    return 1 + (TAKEN_SUM if taken_by(rule) else CHILD) + rule.variance


def no_edges(prior: jax.Array, columns: int) -> jax.Array:
    """float32 [..., columns, A]: the block of a node nothing has gone through."""
    zero = jnp.zeros_like(prior)
    return jnp.stack([zero, zero, prior, zero - 1, zero, zero, zero][:columns], axis=-2)


def first_bounds(legal: jax.Array, over: jax.Array, value: jax.Array) -> jax.Array:
    """float32 [..., 2, A]: what is known of a new node's actions; ``over`` and ``value`` are [...]."""
    known = jnp.stack([jnp.full(legal.shape, -1.0), jnp.where(legal, 1.0, -1.0)], axis=-2).astype(jnp.float32)
    return jnp.where(over[..., None, None], value[..., None, None], known)


def within(edges: Edges, low: jax.Array, high: jax.Array) -> Edges:
    """The actions with no mean beyond its bounds."""
    visits = edges.visits.astype(jnp.float32)
    return edges._replace(value_sum=jnp.clip(edges.value_sum, low * visits, high * visits))


def in_question(bounds: Array, value: Array, choices: Array) -> Array:
    """bool [..., A]: which of the ``choices`` are moves to play by their ``bounds`` [..., 2, A] and mean ``value``
    [..., A] within these; numpy's arrays or JAX's.

    They may be better than what the best one has for sure, and are no worse as far as they have been searched; or they
    have just that for sure while none of those may be better still.
    """
    low, high = bounds[..., LOWER, :], bounds[..., UPPER, :]
    best = low.max(axis=-1, keepdims=True)
    better, sure = choices & (high > best) & (value >= best), choices & (low >= best)
    return better | (sure & ~(better & sure).any(axis=-1, keepdims=True))


def empty_tree(
    game: Game, trees: int, capacity: int, rule: Rule, solver: bool = False, with_leads: bool = False
) -> Tree:
    """Room for ``capacity`` simulations in each tree."""
    nodes, actions = capacity + 2, game.num_actions
    per_node = trees, nodes
    return Tree(
        edges=no_edges(jnp.zeros((*per_node, actions), jnp.float32), columns_of(rule)),
        nodes=jnp.zeros((*per_node, STATE + words_of(game)), jnp.uint32),
        kind=jnp.zeros(per_node, jnp.uint8),
        bounds=jnp.zeros((*per_node, 2, actions if solver else 0), jnp.float32),
        sure=jnp.zeros((trees, nodes if solver else 0), jnp.float32),
        leads=jnp.zeros((*per_node, actions + 1 if with_leads else 0), jnp.float32),
    )


def tree_bytes(
    game: Game, capacity: int, rule: Rule | type[Rule], solver: bool = False, with_leads: bool = False
) -> int:
    """Memory of one tree, transpositions aside."""
    more = (8 * game.num_actions + 4 if solver else 0) + (4 * game.num_actions + 4 if with_leads else 0)
    return (capacity + 2) * (4 * columns_of(rule) * game.num_actions + 1 + more + 4 * (STATE + words_of(game)))


def rerooted(tree: Tree, root: jax.Array, used: jax.Array) -> tuple[Tree, jax.Array]:
    """(the trees with the nodes ``root`` (int32 [B]) as roots, how many nodes each has then), written in place: what is
    under these moves to the front, in the order in which it was made. Trees whose root is 0 stay as they are, and are
    said to have none. ``used`` (int32 [B]): no node has this index or a larger one; every node has a larger one than
    its parent. What lies behind a tree's nodes is of no meaning.

    It takes as long as there are nodes, however much room there is: piece by piece, first who goes where, then the
    moves, none of which goes to where something is that has not moved yet. A node is under the root if its chain of
    parents meets it. A link counts only if parent and child agree: an index may hold the rest of an older search. Where
    several actions lead to one node, it stays with its parent.
    """
    trees, nodes, _ = tree.nodes.shape
    spare, size = nodes - 1, min(nodes, max(LEAST_MOVED_AT_ONCE, suited().moved // trees))
    b, piece = jnp.arange(trees)[:, None], jnp.arange(size, dtype=jnp.int32)
    used = jnp.where(root > 0, jnp.minimum(used, spare), 0)[:, None]

    def places(carry: tuple) -> tuple:
        start, number, place, source = carry
        rows = start + piece
        row = jnp.minimum(rows, spare)[None]
        parent = parent_of(tree, b, row)
        linked = (child_of(tree, b, parent, action_of(tree, b, row)) == rows) & (rows > root[:, None])
        own, above = rows == root[:, None], parent - start  # among this piece's nodes, or before them
        known = (own | (linked & (pick(place, b, parent) >= 0))) & (rows < used)
        linked &= (above >= 0) & (rows < used)

        def further(carry: tuple) -> tuple:
            now, _ = carry
            new = now | (linked & pick(now, b, jnp.clip(above, 0, size - 1)))
            return new, jnp.any(new != now)

        inside = lax.while_loop(lambda c: c[1], further, (known, jnp.any(linked)))[0]
        index = jnp.where(inside, number + jnp.cumsum(inside, axis=-1, dtype=jnp.int32) - 1, -1)
        place = put(place, index, b, row)
        source = put(source, jnp.broadcast_to(rows, index.shape), b, jnp.where(inside, index, spare))
        return start + size, number + jnp.sum(inside, axis=-1, dtype=jnp.int32)[:, None], place, source

    nothing = jnp.full((trees, nodes), -1, jnp.int32)
    first = jnp.int32(0), jnp.zeros_like(used), nothing, jnp.full_like(nothing, spare)
    _, number, place, source = lax.while_loop(lambda c: c[0] < jnp.max(used), places, first)

    def move(carry: tuple[jax.Array, Tree]) -> tuple[jax.Array, Tree]:
        start, tree = carry
        rows = start + piece
        stays = rows < number
        of = jnp.where(stays, pick(source, b, jnp.minimum(rows, spare)[None]), spare)
        new = jax.tree.map(lambda x: pick(x, b, of) if x.shape[1] else x, tree)
        child = new.edges[:, :, CHILD].astype(jnp.int32)
        child = jnp.where(child >= 0, pick(place, b[..., None], jnp.maximum(child, 0)), -1)  # -1: shared, and outside
        parent = jnp.where(stays & (rows > 0), pick(place, b, new.nodes[:, :, PARENT].astype(jnp.int32)), 0)
        new = new._replace(
            edges=new.edges.at[:, :, CHILD].set(child.astype(jnp.float32)),
            nodes=new.nodes.at[:, :, PARENT].set(parent.astype(jnp.uint32)),
        )
        to = jnp.where(stays, rows, spare)
        return start + size, jax.tree.map(lambda x, y: put(x, y, b, to) if x.shape[1] else x, tree, new)

    return lax.while_loop(lambda c: c[0] < jnp.max(number), move, (jnp.int32(0), tree))[1], number[:, 0]
