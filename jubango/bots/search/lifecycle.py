"""The life cycle of a batch of searches: start (``begin``), run (``advance``), stop early (``stop``), and keep the
subtree for the next move (``keep``).

Trees start and finish on their own: one whose budget is spent is answered and given its next position while its
neighbours go on. What a tree holds depends on its root, its settings and its seed, never on its neighbours.

Shape legend: B trees; K leaves that each tree evaluates at once; L = B K lanes, those of one tree side
by side; A actions; D the longest path.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.packing import nothing_prepared, number_names
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.rule import Edges, Rule
from jubango.bots.search.simulate import OUT, mean_value, noisy, normalised, simulate
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.score_utility import compared
from jubango.bots.search.tree.state import RootStatistics, SearchState
from jubango.bots.search.tree.transpositions import empty_table
from jubango.bots.search.tree.tree import (
    LONGEST_KEPT_LINE,
    LOWER,
    OPEN,
    PRIOR,
    STATE,
    UPPER,
    VISITS,
    Tree,
    child_of,
    edges_from,
    empty_tree,
    in_question,
    kind_of,
    player_of,
    put,
    rerooted,
    settle,
    value_of,
    within,
)
from jubango.sgf_games.compute.loops import in_a_row, while_loop
from jubango.sgf_games.compute.machine import suited


class NewRoots(NamedTuple):
    """What trees begin with."""

    mask: jax.Array  # bool [B], those that do
    kept: jax.Array  # bool [B], those that have kept something for it
    roots: jax.Array  # uint32 [B, W], the words of their states
    legal: jax.Array  # bool [B, A], exact at the root
    params: TracedParams
    seeds: jax.Array  # uint32 [B]


def begin(search: SearchSpec, s: SearchState, new_roots: NewRoots) -> SearchState:
    """Start over in the trees of the cue; their roots are evaluated in the next step. Those ``kept`` go on from what
    :func:`keep` has left, unless it holds visits of moves that are not legal any more."""
    tree, mask, b = s.tree, new_roots.mask, jnp.arange(new_roots.mask.shape[0])
    before, _, prior, *_ = root_edges(search.rule, s)
    choices = new_roots.legal & (prior > 0)
    kept = mask & new_roots.kept & jnp.any(choices, axis=-1)
    kept &= ~jnp.any((before > 0) & ~choices, axis=-1)  # superko has forbidden what was visited
    prior = noisy(normalised(prior, choices, 0), new_roots.params.noise, new_roots.params.dirichlet)
    root = jnp.where(mask, 0, search.spare)
    tree = tree._replace(
        nodes=put(tree.nodes, new_roots.roots, b, root, slice(STATE, None)),
        kind=put(tree.kind, kind_of(player_of(tree, b, root), jnp.int32(OPEN)), b, root),
        edges=put(tree.edges, prior, b, jnp.where(kept, 0, search.spare), PRIOR),
    )
    chosen = jax.tree.map(lambda new, now: jnp.where(_rows(mask, now), new, now), new_roots.params, s.params)
    held = jnp.where(kept, s.done, 0)  # of a tree that pondered it may be more than is asked for
    wanted = jnp.maximum(jnp.minimum(chosen.simulations, search.capacity), held)
    if search.solver:
        tree, proved = _still_proved(tree, kept, new_roots.legal, choices)
        wanted = jnp.where(proved, s.done, wanted)
    return s._replace(
        tree=tree,
        params=chosen,
        seed=jnp.where(mask, new_roots.seeds, s.seed),
        done=jnp.where(mask & ~kept, 0, s.done),
        wanted=jnp.where(mask, wanted, s.wanted),
        fresh=jnp.where(mask, ~kept, s.fresh),
        legal=jnp.where(mask[:, None], new_roots.legal, s.legal),
        table=s.table and s.table._replace(node=jnp.where(mask[:, None], -1, s.table.node)),
    )


def _still_proved(tree: Tree, kept: jax.Array, legal: jax.Array, choices: jax.Array) -> tuple[Tree, jax.Array]:
    """(the trees, which of the roots that were ``kept`` are proved) with the exact legal moves."""
    b, spare = jnp.arange(kept.shape[0]), tree.nodes.shape[1] - 1
    low, high = tree.bounds[:, 0, LOWER], tree.bounds[:, 0, UPPER]
    high = jnp.where(choices, high, jnp.where(legal, 1.0, -1.0))  # nothing was known of a move that is no choice
    low = jnp.where(choices, low, -1.0)
    best = jnp.max(low, axis=-1)
    proved = kept & (best >= jnp.max(high, axis=-1))
    root, solved = jnp.where(kept, 0, spare), jnp.where(proved, 0, spare)
    tree = tree._replace(
        bounds=put(tree.bounds, jnp.stack([low, high], axis=1), b, root),
        sure=put(tree.sure, best, b, root),
    )
    return settle(tree, best, b, solved), proved


def keep(s: SearchState, mask: jax.Array, line: jax.Array) -> tuple[SearchState, jax.Array]:
    """Move the roots of the trees of ``mask`` down a ``line`` of actions (int32 [B, LONGEST_LINE],
    filled up with -1); what is done are then the simulations under them. Returns also which trees have kept something:
    bool [B]."""
    b = jnp.arange(mask.shape[0], dtype=jnp.int32)
    node = jnp.where(mask, 0, -1)
    for k in range(LONGEST_KEPT_LINE):
        below = child_of(s.tree, b, jnp.maximum(node, 0), jnp.maximum(line[:, k], 0))
        node = jnp.where((line[:, k] >= 0) & (node >= 0), below, node)
    tree, nodes = rerooted(s.tree, jnp.maximum(node, 0), s.done + 1)
    kept = nodes > 0  # not node > 0: XLA would read it again from a copy of the old trees
    below = jnp.sum(tree.edges[:, 0, VISITS], axis=-1).astype(jnp.int32)
    below = jnp.maximum(below, nodes - 1)  # nodes that are shared may have been reached from elsewhere alone
    return s._replace(tree=tree, done=jnp.where(kept, below, s.done)), kept


def working(s: SearchState) -> jax.Array:
    """bool [B]: which trees have something to do."""
    return (s.done < s.wanted) | s.fresh


def stop(s: SearchState, mask: jax.Array) -> SearchState:
    """Stop the searches in ``mask`` now and keep their results."""
    return s._replace(wanted=jnp.where(mask, s.done, s.wanted))


def advance(
    search: SearchSpec, params: Params, s: SearchState, steps: jax.Array
) -> tuple[SearchState, RootStatistics[jax.Array]]:
    """Up to ``steps`` times :func:`simulate` (on accelerators the next multiple of ``suited().simulations``), fewer if
    no tree has anything left to do. The first evaluates the roots of trees that have begun."""

    def going_on(carry: tuple) -> jax.Array:
        i, s = carry
        return (i < steps) & jnp.any(working(s))

    number = suited().simulations
    some = in_a_row(number, functools.partial(simulate, search, params))
    _, s = while_loop(going_on, lambda c: (c[0] + number, some(c[1])), (jnp.int32(0), s))
    return s, root_statistics(search, s)


def root_edges(rule: Rule, s: SearchState) -> Edges:
    visits, value_sum, prior, _, *more = jnp.moveaxis(s.tree.edges[:, 0], 1, 0)
    edges = edges_from(rule, [visits, value_sum, prior, *more], value_of(s.tree, slice(None), 0))
    bounds = s.tree.bounds[:, 0]
    return within(edges, bounds[:, LOWER], bounds[:, UPPER]) if bounds.shape[-1] else edges


def roots_to_compare(search: SearchSpec, s: SearchState, edges: Edges) -> Edges:
    """The roots' ``edges`` as the rule is told them."""
    b = jnp.arange(s.done.shape[0])
    return compared(s.tree, b, jnp.zeros_like(s.done), edges, search.game, search.score_utility)


def root_statistics(search: SearchSpec, s: SearchState) -> RootStatistics[jax.Array]:
    tree, b, edges = s.tree, jnp.arange(s.done.shape[0]), root_edges(search.rule, s)
    told = roots_to_compare(search, s, edges)
    final = search.rule.final(told, s.params)
    final = jnp.where(edges.prior > 0, jnp.where(jnp.isnan(final), OUT, final), -jnp.inf)
    value, mean, bounds = edges.q, mean_value(search.rule, tree, b, jnp.zeros_like(s.done)), tree.bounds[:, 0]
    if search.solver:
        value = jnp.clip(value, bounds[:, LOWER], bounds[:, UPPER])
        mean = jnp.clip(mean, *jnp.moveaxis(jnp.max(bounds, axis=-1), 1, 0))
    return RootStatistics(
        edges.visits, value, edges.prior, mean, edges.value, bounds, final,
        told.q if search.score_utility else value[:, :0], s.done, s.wanted - s.done + s.fresh,
    )  # fmt: skip


def leading(found: RootStatistics[jax.Array]) -> jax.Array:
    """bool [B, A]: the actions that only a tie-break can tell apart as the best: by what is proved, the rule, the
    visits, the value and the prior, in this order."""
    searched = jnp.any(found.visits > 0, axis=-1, keepdims=True)
    best = found.prior > 0
    if found.bounds.shape[-1]:
        best = in_question(found.bounds, found.value, best)
    for score in (jnp.where(searched, found.final, found.prior), found.visits, found.value, found.prior):
        score = score.astype(jnp.float32)
        best &= score == jnp.max(jnp.where(best, score, -jnp.inf), axis=-1, keepdims=True)
    return best


def idle(search: SearchSpec, trees: int) -> SearchState:
    """A search with nothing to do."""
    zero = jnp.zeros(trees, jnp.int32)
    actions, roots = search.game.num_actions, nothing_prepared(search, trees)
    levels = search.capacity + 1 + suited().first + suited().descent + suited().climb  # none is beyond it, asked or not
    nowhere = jnp.array([[search.spare], [0]], jnp.int32)
    return SearchState(
        tree=empty_tree(search.game, trees, search.capacity, search.rule, search.solver, search.score_utility > 0),
        params=TracedParams(
            simulations=zero,
            depth=zero,
            noise=zero.astype(jnp.float32),
            dirichlet=jnp.asarray(roots.dirichlet),
            own=dict.fromkeys(number_names(search), zero.astype(jnp.float32)),
            prepared=jax.tree.map(jnp.asarray, roots.rule),
        ),
        seed=zero.astype(jnp.uint32),
        done=zero,
        wanted=zero,
        fresh=zero > 0,
        legal=jnp.zeros((trees, actions), bool),
        paths=jnp.broadcast_to(nowhere, (levels, 2, trees * search.leaves)),
        table=empty_table(trees, search.capacity) if search.transpositions else None,
    )  # fmt: skip


def _rows(mask: jax.Array, array: jax.Array) -> jax.Array:
    """The mask [B] in the shape [B, 1, ...] of an array [B, ...]."""
    return mask.reshape(-1, *[1] * (array.ndim - 1))
