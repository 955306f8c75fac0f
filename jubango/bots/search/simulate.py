"""One simulation in every lane: select, expand, evaluate, back up.

Shape legend: B trees; K leaves that each tree evaluates at once; L = B K lanes, those of one tree side
by side; A actions; D the longest path.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.evaluators.evaluator import Amaf, Owners, Params, name_of
from jubango.bots.evaluators.judgement import Judged, judged
from jubango.bots.search.backup import back_up, back_up_taken, prove
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.rule import Edges, Rule, steady_sum
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.node_states import lanes_of, words_of_lanes
from jubango.bots.search.tree.score_utility import compared, own_lead
from jubango.bots.search.tree.state import Leaf, LeafValue, SearchState
from jubango.bots.search.tree.transpositions import look_up, remember
from jubango.bots.search.tree.tree import (
    CHILD,
    CUT_OFF,
    EXACT,
    LOWER,
    OPEN,
    UPPER,
    Tree,
    child_of,
    count,
    edges_of,
    end_of,
    first_bounds,
    kind_of,
    no_edges,
    pick,
    player_of,
    put,
    state_of,
    value_of,
    words_of_nodes,
)
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.kernels import first_largest
from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.machine import AXIS, suited
from jubango.sgf_games.compute.random_numbers import coin, gumbel_max_scores, mix, random_bits
from jubango.sgf_games.rules.game import State

GOLDEN = 0x9E3779B9
OUT = -2e9  # below every score; chosen only where nothing else may be
TINY = 1e-37  # a prior that is as good as zero


def simulate(search: SearchSpec, params: Params, s: SearchState) -> SearchState:
    """One simulation in every lane of a tree that has some left: select, expand, evaluate, back up. In a fresh tree the
    root is evaluated instead, like any new node but for its noise and its exact legal moves."""
    left = jnp.where(s.fresh, 1, s.wanted - s.done)
    active = worker_of_lanes(search, s) < per_lane(search, left)
    s, leaf, levels = select(search, s, active)
    active, order = without_doubles(search, leaf, active)
    s, new, taken = expand(search, params, s, leaf, active, order)
    if search.solver:
        s = s._replace(tree=prove(search, s, new.node, leaf, active))
    tree = back_up(search, s, new, active, levels)
    if search.rule.amaf or search.rule.owners:
        tree = back_up_taken(search, s._replace(tree=tree), new, taken, active, levels)
    made = jnp.sum(active.reshape(-1, search.leaves), axis=-1, dtype=jnp.int32)
    done, fresh = s.done + jnp.where(s.fresh, 0, made), s.fresh & (left == 0)  # none; zeros are a kernel by themselves
    s = s._replace(tree=tree, done=done, fresh=fresh)
    if search.solver:  # a root that is proved has all that it wants
        s = s._replace(wanted=jnp.where((end_of(s.tree, slice(None), 0) == EXACT) & (s.wanted > 0), s.done, s.wanted))
    return s


def per_lane(search: SearchSpec, x: jax.Array) -> jax.Array:
    """[B, ...] -> [L, ...]."""
    return x if search.leaves == 1 else jnp.repeat(x, search.leaves, axis=0)


def worker_of_lanes(search: SearchSpec, s: SearchState) -> jax.Array:
    """int32 [L]: the place of each lane among those of its tree."""
    return jnp.tile(jnp.arange(search.leaves, dtype=jnp.int32), s.done.shape[0])


# -- select ------------------------------------------------------------------------------


class Descent(NamedTuple):
    """The way down the trees, a level further every time."""

    depth: jax.Array  # int32, the level all lanes are at
    going: jax.Array  # bool [L], still inside the tree
    node: jax.Array  # int32 [L], where each lane is, or has left the tree from
    child: jax.Array  # int32 [L], where each lane's last action leads, or -1; read afterwards, it had the tree copied
    action: jax.Array  # int32 [L], that last action
    length: jax.Array  # int32 [L], edges from the root
    paths: jax.Array
    edges: jax.Array  # the tree's, with the virtual losses of several leaves


def select(search: SearchSpec, s: SearchState, active: jax.Array) -> tuple[SearchState, Leaf, jax.Array]:
    """(the search with its paths, where each lane leaves the tree, the longest path)."""
    choose = one_leaf if search.leaves == 1 else several_leaves

    def level(d: Descent, root: bool = False) -> Descent:
        b, tree = s.tree_of_lanes, s.tree._replace(edges=d.edges)
        action, edges = choose(search, s._replace(tree=tree), d, root)
        child = child_of(s.tree._replace(edges=edges), b, d.node, action)  # none of the old ones: XLA would keep a copy
        going = d.going & (child >= 0) & (end_of(s.tree, b, jnp.maximum(child, 0)) == OPEN)
        node = jnp.where(going, child, d.node)
        child, action = jnp.where(d.going, child, d.child), jnp.where(d.going, action, d.action)
        return Descent(d.depth + 1, going, node, child, action, d.length + d.going, d.paths, edges)

    def levels(d: Descent, number: int, root: bool = False) -> Descent:
        """So many of them, written down together; where nobody goes on they change nothing."""
        if not number:
            return d
        first, way = d.depth, []
        for _ in range(number):
            at = jnp.where(d.going, d.node, search.spare)
            d = level(d, root)
            way.append(jnp.stack([at, d.action]))
        return d._replace(paths=lax.dynamic_update_slice_in_dim(d.paths, jnp.stack(way), first, axis=0))

    going, zero = active & ~per_lane(search, s.fresh), jnp.zeros(active.shape, jnp.int32)
    top = Descent(jnp.int32(0), going, zero, zero - 1, zero, zero, s.paths, s.tree.edges)
    if search.leaves > 1 or search.rule.root_differs:  # then the root has a way of its own
        top = levels(top, 1, root=True)
    top = levels(top, suited().first)
    end = while_loop(lambda d: jnp.any(d.going), functools.partial(levels, number=suited().descent), top)
    tree = s.tree._replace(edges=end.edges)
    leaf = Leaf(end.node, end.action, end.child, end.length)
    return s._replace(tree=tree, paths=end.paths), leaf, end.depth


def one_leaf(search: SearchSpec, s: SearchState, d: Descent, root: bool) -> tuple[jax.Array, jax.Array]:
    """(the action each tree takes, its edges as they are)."""
    edges = to_compare(search, s, s.tree_of_lanes, d.node)
    return best_action(search, s, edges, s.tree_of_lanes, d.node, d.depth, root), s.tree.edges


def several_leaves(search: SearchSpec, s: SearchState, d: Descent, root: bool) -> tuple[jax.Array, jax.Array]:
    """(the action each lane takes, the tree's edges with virtual losses).

    The lanes of one tree that are at one node choose one after another, each seeing the virtual losses of those
    before it: as if each had gone all the way down before the next set out.
    """
    b, actions = s.tree_of_lanes, jnp.arange(search.game.num_actions)
    here = jnp.where(d.going, d.node, -1).reshape(-1, search.leaves)
    same = here[:, :, None] == here[:, None, :]
    earlier = jnp.tril(jnp.ones((search.leaves, search.leaves), bool), -1)
    rank = jnp.where(d.going, jnp.sum(same & earlier, axis=-1, dtype=jnp.int32).reshape(-1), -1)
    rows, node = b, d.node
    if root:  # one row a tree will do
        rows = jnp.arange(s.done.shape[0], dtype=jnp.int32)
        node, same = jnp.zeros_like(rows), same[:, :1]
    edges = to_compare(search, s, rows, node)

    def turn(carry: tuple) -> tuple:
        i, action, visits, value_sum = carry
        now = edges._replace(visits=visits, value_sum=value_sum)
        chosen = best_action(search, s, now, rows, node, d.depth, root)
        chosen = jnp.repeat(chosen, search.leaves) if root else chosen
        its = jnp.where(rank == i, chosen, -1)
        taken = jnp.max(jnp.where(same, its.reshape(-1, 1, search.leaves), -1), axis=-1).reshape(-1)
        loss = actions == taken[:, None]
        return i + 1, jnp.maximum(action, its), visits + loss, value_sum - loss

    last = jnp.max(rank)
    start = jnp.int32(0), jnp.full_like(d.node, -1), edges.visits, edges.value_sum
    action = jnp.maximum(while_loop(lambda c: c[0] <= last, turn, start)[1], 0)
    at = jnp.where(d.going, d.node, search.spare)
    return action, count(s.tree.edges, 1, jnp.full(b.shape, -1.0, jnp.float32), b, at, action)


def to_compare(search: SearchSpec, s: SearchState, b: jax.Array, node: jax.Array) -> Edges:
    """The actions of ``node`` of tree ``b`` as the rule is told them, without virtual losses."""
    edges = compared(s.tree, b, node, edges_of(search.rule, s.tree, b, node), search.game, search.score_utility)
    if not search.rule.changes_prior:
        return edges
    weights = search.rule.prior(edges, params_of(search, s, b)[0])
    return edges._replace(prior=normalised(weights, edges.prior > 0, 0))


def params_of(search: SearchSpec, s: SearchState, b: jax.Array) -> tuple[TracedParams, jax.Array]:
    """The parameters and the seeds of trees ``b``: of each once, or of each of its lanes."""
    own = s.params, s.seed
    return own if b.shape == s.done.shape else jax.tree.map(functools.partial(per_lane, search), own)


def best_action(
    search: SearchSpec, s: SearchState, edges: Edges, b: jax.Array, node: jax.Array, depth: jax.Array, root: bool
) -> jax.Array:
    """int32 [L]: the action to take at ``node`` of tree ``b``, whose actions are ``edges``."""
    tree = s.tree
    params, seed = params_of(search, s, b)
    scores = search.rule.root(edges, params) if root else search.rule(edges, params)
    if search.solver:
        low, high = (pick(tree.bounds, b, node, row) for row in (LOWER, UPPER))
        best = pick(tree.sure, b, node)[:, None]
        sure = (low >= best) & (best > -1)  # searched on at the root, where a move is played by its visits
        worst = jnp.where(sure, jnp.where(node[:, None] > 0, OUT, scores), 2 * OUT)
        scores = jnp.where(high > best, scores, jnp.minimum(scores, worst))
    if search.opponent == "sampled" and not root:
        replies = player_of(tree, b, node) != player_of(tree, b, 0)
        scores = jnp.where(replies[:, None], random_scores(search, s, edges.prior, depth), scores)
    scores = jnp.where(edges.prior > 0, scores, -jnp.inf)
    if search.ties == "random":
        best = scores == jnp.max(scores, axis=-1, keepdims=True)
        tie_bits = random_bits(mix(seed ^ node.astype(jnp.uint32))[:, None], jnp.arange(scores.shape[-1]))
        scores = jnp.where(best, (tie_bits >> 1).astype(jnp.int32), -1)
    return first_largest(scores)


def random_scores(search: SearchSpec, s: SearchState, prior: jax.Array, depth: jax.Array) -> jax.Array:
    """float32 [L, A]: the largest falls on each action with the probability of its prior."""
    number = per_lane(search, s.done) + worker_of_lanes(search, s)
    throw = mix(per_lane(search, s.seed) + number.astype(jnp.uint32) * jnp.uint32(GOLDEN)) + depth.astype(jnp.uint32)
    return gumbel_max_scores(prior, throw)


def without_doubles(search: SearchSpec, leaf: Leaf, active: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(lanes that go on, the place of each among those of its tree). Of the lanes of one tree that
    came to one unexpanded action the first goes on."""
    if search.leaves == 1:
        return active, jnp.zeros_like(leaf.parent)
    edge = jnp.where(leaf.child < 0, leaf.parent * search.game.num_actions + leaf.action, -1)
    edge, live = edge.reshape(-1, search.leaves), active.reshape(-1, search.leaves)
    earlier = jnp.tril(jnp.ones((search.leaves, search.leaves), bool), -1)
    same = (edge[:, :, None] == edge[:, None, :]) & (edge >= 0)[:, :, None] & live[:, None, :] & earlier
    live &= ~jnp.any(same, axis=-1)
    return live.reshape(-1), (jnp.cumsum(live, axis=-1, dtype=jnp.int32) - 1).reshape(-1)


# -- expand ------------------------------------------------------------------------------


def expand(
    search: SearchSpec, params: Params, s: SearchState, leaf: Leaf, active: jax.Array, order: jax.Array
) -> tuple[SearchState, LeafValue, Amaf | Owners | None]:
    """Make a node of each leaf that is new. Returns also what the simulations have come to, and for rules that ask who
    took what after it."""
    tree, b, fresh = s.tree, s.tree_of_lanes, per_lane(search, s.fresh)
    parents = lanes_of(state_of(tree, b, leaf.parent), search.game)
    stepped = jax.vmap(search.game.step, in_axes=(-1, 0), out_axes=-1)(parents, leaf.action)
    states = jax.tree.map(
        lambda old, new: jnp.where(fresh, old, lax.convert_element_type(new, old.dtype)), parents, stepped
    )
    legal = jax.vmap(search.game.legal_action_mask, in_axes=-1)(states)
    legal = jnp.where(fresh[:, None], per_lane(search, s.legal), legal)
    made = per_lane(search, s.done) + ~fresh + order
    seeds = mix(per_lane(search, s.seed) + made.astype(jnp.uint32) * jnp.uint32(GOLDEN))
    player, terminal, prior, value, taken, lead = judge(search, params, states, legal, active, seeds)
    noise, dirichlet, depth = (per_lane(search, x) for x in (s.params.noise, s.params.dirichlet, s.params.depth))
    prior = jnp.where(fresh[:, None], noisy(prior, noise, dirichlet), prior)
    too_deep = leaf.length >= depth
    end = jnp.where(terminal, EXACT, jnp.where(too_deep, CUT_OFF, OPEN))
    end = jnp.where(fresh, OPEN, end)
    if search.cutoff == "draw":
        value = jnp.where(end == CUT_OFF, 0.0, value)
    known = leaf.child >= 0
    node = jnp.where(known, leaf.child, made)
    proved = known & (end_of(tree, b, node) == EXACT)
    value = jnp.where(proved, value_of(tree, b, node), value)
    end = jnp.where(proved, EXACT, end)
    new, table = active & ~known, s.table
    if table is not None:
        key = jax.vmap(search.game.transposition_key, in_axes=-1)(states)
        key = mix(key + leaf.length[:, None].astype(jnp.uint32) * jnp.uint32(GOLDEN))
        twin, place = look_up(table, b, key)
        shared = ~known & (twin >= 0)
        node, new = jnp.where(shared, twin, node), new & ~shared
        value = jnp.where(shared, mean_value(search.rule, tree, b, jnp.maximum(twin, 0)), value)
        if lead is not None:
            lead = jnp.where(shared, own_lead(tree, b, jnp.maximum(twin, 0)), lead)  # its visits may be virtual
        new &= ~(value > 1e30)  # never so: makes this write wait for the reads, else XLA copies every tree
        table = remember(table, b, jnp.where(new & ~fresh, place, table.node.shape[1]), key, node)
    at, above = jnp.where(new, node, search.spare), jnp.where(active & ~known & ~fresh, leaf.parent, search.spare)
    words = words_of_nodes(leaf.parent, leaf.action, value, words_of_lanes(states, search.game))
    tree = write(search, tree, b, at, words, player, end, prior, value, legal, lead)
    tree = tree._replace(edges=put(tree.edges, node.astype(jnp.float32), b, above, CHILD, leaf.action))
    if search.draws == "random":
        value = jnp.where((end == EXACT) & (value == 0), coin(seeds), value)
    leaf_value = LeafValue(jnp.where(active, node, search.spare), value, player, lead)
    return s._replace(tree=tree, table=table), leaf_value, taken


def mean_value(rule: Rule, tree: Tree, b: jax.Array, node: jax.Array) -> jax.Array:
    """float32 [L]: the mean of all values backed up to a node, its own included."""
    edges = edges_of(rule, tree, b, node)
    mean = (edges.value + steady_sum(edges.value_sum)) / edges.node_visits.astype(jnp.float32)
    return jnp.where(end_of(tree, b, node) == EXACT, edges.value, mean)


def noisy(prior: jax.Array, noise: jax.Array, dirichlet: jax.Array) -> jax.Array:
    """float32 [B, A]: a root's prior with its share [B] of Dirichlet noise."""
    share = noise[:, None]
    return jnp.where(prior > 0, (1 - share) * prior + share * dirichlet, 0.0)


def judge(
    search: SearchSpec, params: Params, states: State, legal: jax.Array, active: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, Amaf | Owners | None, jax.Array | None]:
    """(player, terminal, prior, value, taken, lead): the exact result of finished games, else the evaluator's, which is
    not asked for finished games and in lanes that are not ``active``."""
    terminal = jax.vmap(search.game.is_terminal, in_axes=-1)(states)
    player = jax.vmap(search.game.current_player, in_axes=-1)(states)
    asked = active & ~terminal
    found = by_devices(search, params, states, legal & asked[:, None], seeds)
    said = jnp.where(asked, found.value, 0.0)

    def exact() -> jax.Array:
        returns = jax.vmap(search.game.returns, in_axes=-1, out_axes=-1)(states)
        return jnp.where(terminal, jnp.take_along_axis(returns, player[None], axis=0)[0].astype(jnp.float32), said)

    value = lax.cond(jnp.any(terminal), exact, lambda: said) if suited().skips else exact()
    lead = leads_of(search, states, player, terminal, found.lead) if search.score_utility else None
    taken = found.owners if search.rule.owners else found.amaf
    if search.rule.owners and taken is None:
        name = name_of(search.evaluator, search.game)
        raise UserError(f"{type(search.rule).__name__}: {name} does not say who has which point at the end of games")
    return player, terminal, normalised(found.weights, legal, search.width), value, taken, lead


def by_devices(search: SearchSpec, params: Params, states: State, legal: jax.Array, seeds: jax.Array) -> Judged:
    """What the evaluator says of all lanes. Devices that search the same trees each ask it of their share of them, and
    tell each other."""
    if search.devices == 1:
        return judged(search.evaluator, params, search.game, states, legal, seeds)
    share = legal.shape[0] // search.devices
    first = lax.axis_index(AXIS) * share
    own = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first, share, axis=x.ndim - 1), states)
    legal, seeds = (lax.dynamic_slice_in_dim(x, first, share) for x in (legal, seeds))
    found = judged(search.evaluator, params, search.game, own, legal, seeds)
    each, tree = jax.tree.flatten(found)
    rows = jnp.concatenate([x.reshape(share, -1).astype(jnp.float32) for x in each], axis=1)  # told all at once
    columns = jnp.split(lax.all_gather(rows, AXIS, tiled=True), np.cumsum([x[0].size for x in each])[:-1], axis=1)
    told = [x.reshape(-1, *like.shape[1:]).astype(like.dtype) for x, like in zip(columns, each, strict=True)]
    return jax.tree.unflatten(tree, told)


def leads_of(
    search: SearchSpec, states: State, player: jax.Array, terminal: jax.Array, said: jax.Array | None
) -> jax.Array:
    """float32 [L]: the lead of the player to move in points: of finished games the margin, else what is ``said``.

    Raises UserError where the evaluator says nothing.
    """
    if said is None:
        raise UserError(f"score_utility: {name_of(search.evaluator, search.game)} says no lead in points")

    def exact() -> jax.Array:
        margin = jax.vmap(search.game.margin, in_axes=-1)(states)
        return jnp.where(terminal, jnp.where(player == 0, margin, -margin), said)

    return lax.cond(jnp.any(terminal), exact, lambda: said) if suited().skips else exact()


def normalised(weights: jax.Array, legal: jax.Array, width: int) -> jax.Array:
    """float32 [B, A]: legal actions, the ``width`` largest of them if it is not 0, with priors that add up to 1.
    None of them is quite zero, which would make it illegal; without any weight all are alike."""
    if 0 < width < legal.shape[-1]:
        best = lax.top_k(jnp.where(legal, weights, -1.0), width)[1]
        legal &= jnp.zeros_like(legal).at[jnp.arange(legal.shape[0])[:, None], best].set(True)
    weights = jnp.where(legal, jnp.maximum(weights, 0.0), 0.0)
    total = steady_sum(weights)[:, None]
    weights = jnp.where(total > 0, weights, legal)
    total = jnp.where(total > 0, total, jnp.maximum(jnp.sum(legal, axis=-1, keepdims=True), 1))
    return jnp.where(legal, jnp.maximum(weights / total, TINY), 0.0)


def write(
    search: SearchSpec, tree: Tree, b: jax.Array, node: jax.Array, words: jax.Array, player: jax.Array, end: jax.Array,
    prior: jax.Array, value: jax.Array, legal: jax.Array, lead: jax.Array | None,
) -> Tree:  # fmt: skip
    """Fill a new node: no visits, no children, and nothing proved but the result of a finished game."""
    at = (b, node)
    if search.solver:
        tree = tree._replace(
            bounds=put(tree.bounds, first_bounds(legal, end == EXACT, value), *at),
            sure=put(tree.sure, jnp.where(end == EXACT, value, -1.0), *at),
        )
    if lead is not None:
        tree = tree._replace(leads=put(tree.leads, jnp.pad(lead[:, None], ((0, 0), (prior.shape[-1], 0))), *at))
    return tree._replace(
        edges=put(tree.edges, no_edges(prior, tree.edges.shape[2]), *at),
        nodes=put(tree.nodes, words, *at),
        kind=put(tree.kind, kind_of(player, end), *at),
    )
