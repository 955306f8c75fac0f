"""A search's life: trees begin, advance in chunks, are content with what they have, and stay for the next move.

Trees start and finish on their own: one whose budget is spent is answered and given its next position while its
neighbours go on. What a tree holds depends on its root, its settings and its seed, never on its neighbours.

Shape legend: B trees; K leaves that each tree evaluates at once; L = B K lanes, those of one tree side
by side; A actions; D the longest path.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.rules.rule import Edges, Settings
from jubango.bots.search.simulate import LEVELS, judge, mean_value, simulate, write
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.state import Paths, RootStatistics, Searching
from jubango.bots.search.transpositions import empty_table
from jubango.bots.search.tree import LONGEST_LINE, OPEN, UNKNOWN, empty_tree, pick, subtree
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import State


class Cue(NamedTuple):
    """What trees begin with; see :func:`begin`."""

    mask: jax.Array  # bool [B]
    kept: jax.Array  # bool [B]
    roots: State
    legal: jax.Array  # bool [B, A]
    settings: Settings
    seeds: jax.Array  # uint32 [B]


def begin(
    search: SearchSpec, params: Params, s: Searching, mask: jax.Array, kept: jax.Array, roots: State,
    legal: jax.Array, settings: Settings, seeds: jax.Array,
) -> Searching:  # fmt: skip
    """Start over in the trees of ``mask``; those ``kept`` (bool [B]) go on from what :func:`keep` has
    left, unless it holds visits of moves that are not ``legal`` any more. roots: without history, trees
    LAST. legal: bool [B, A], exact at the root. seeds: uint32 [B]."""
    seed, old = jnp.where(mask, seeds, s.seed), s.tree
    # What is written over is read here, once and for all: else the compiler copies the whole tree.
    player, prior, value, before = lax.cond(
        jnp.any(mask),
        lambda: (*_judged(search, params, roots, legal, mix(seed)), old.visits[:, 0]),
        lambda: (*_nothing(legal), jnp.zeros(legal.shape, jnp.int32)),
    )
    share = settings.noise[:, None]
    prior = jnp.where(prior > 0, (1 - share) * prior + share * settings.dirichlet, 0.0)
    b, open_end = jnp.arange(mask.shape[0]), jnp.full(mask.shape, OPEN, jnp.int8)
    root = jnp.where(mask, 0, search.spare)
    kept &= ~jnp.any((before > 0) & (prior == 0), axis=-1)  # superko has forbidden what was visited
    value = jnp.where(kept, old.value[:, 0], value)
    keep = kept[:, None]
    visits = jnp.where(keep, before, 0)
    value_sum = jnp.where(keep, old.value_sum[:, 0], 0.0)
    child = jnp.where(keep, old.child[:, 0], -1)
    exact = jnp.where(keep, old.exact[:, 0], UNKNOWN) if search.solver else UNKNOWN
    tree = write(old, b, root, roots, player, open_end, prior, value, visits, value_sum, child, exact)
    table = s.table and s.table._replace(node=jnp.where(mask[:, None], -1, s.table.node))
    chosen = jax.tree.map(lambda new, now: jnp.where(_rows(mask, now), new, now), settings, s.settings)
    return s._replace(
        tree=tree,
        settings=chosen,
        seed=seed,
        done=jnp.where(mask, jnp.sum(visits, axis=-1), s.done),
        wanted=jnp.where(mask, jnp.minimum(chosen.simulations, search.capacity), s.wanted),
        table=table,
    )


def _judged(search: SearchSpec, params: Params, roots: State, legal: jax.Array, seeds: jax.Array) -> tuple:
    player, _, prior, value = judge(search, params, roots, legal, seeds)
    return player, prior, value


def _nothing(legal: jax.Array) -> tuple:
    lanes = legal.shape[0]
    return jnp.zeros(lanes, jnp.int32), jnp.zeros(legal.shape, jnp.float32), jnp.zeros(lanes, jnp.float32)


def keep(s: Searching, mask: jax.Array, line: jax.Array) -> tuple[Searching, jax.Array]:
    """Move the roots of the trees of ``mask`` down a ``line`` of actions (int32 [B, LONGEST_LINE],
    filled up with -1). Returns also which trees have kept something: bool [B]."""
    b = jnp.arange(mask.shape[0], dtype=jnp.int32)
    node = jnp.where(mask, 0, -1)
    for k in range(LONGEST_LINE):
        below = pick(s.tree.child, b, jnp.maximum(node, 0), jnp.maximum(line[:, k], 0))
        node = jnp.where((line[:, k] >= 0) & (node >= 0), below, node)
    kept = node > 0
    moved = subtree(s.tree, jnp.maximum(node, 0))
    tree = jax.tree.map(lambda new, old: jnp.where(_rows(kept, old), new, old), moved, s.tree)
    return s._replace(tree=tree), kept


def stop(s: Searching, mask: jax.Array) -> Searching:
    """Let the trees of ``mask`` be content with what they have."""
    return s._replace(wanted=jnp.where(mask, s.done, s.wanted))


def advance(
    search: SearchSpec, params: Params, s: Searching, steps: jax.Array
) -> tuple[Searching, RootStatistics[jax.Array]]:
    """Up to ``steps`` times :func:`simulate`, fewer if no tree has anything left to do."""

    def going_on(carry: tuple) -> jax.Array:
        i, s = carry
        return (i < steps) & jnp.any(s.done < s.wanted)

    _, s = lax.while_loop(going_on, lambda c: (c[0] + 1, simulate(search, params, c[1])), (jnp.int32(0), s))
    return s, root_statistics(search, s)


def root_edges(s: Searching) -> Edges:
    tree = s.tree
    return Edges(tree.visits[:, 0], tree.value_sum[:, 0], tree.prior[:, 0], tree.value[:, 0])


def root_statistics(search: SearchSpec, s: Searching) -> RootStatistics[jax.Array]:
    tree, b, edges = s.tree, jnp.arange(s.done.shape[0]), root_edges(s)
    final = jnp.where(edges.prior > 0, search.rule.final(edges, s.settings), -jnp.inf)
    value = edges.q
    if search.solver:
        value = jnp.where(tree.exact[:, 0] < UNKNOWN, tree.exact[:, 0], value)
    mean = mean_value(tree, b, jnp.zeros_like(s.done))
    return RootStatistics(
        edges.visits, value, edges.prior, mean, edges.value, tree.exact[:, 0], final, s.done, s.wanted - s.done
    )


def leading(found: RootStatistics[jax.Array]) -> jax.Array:
    """bool [B, A]: the actions that nothing but dice can tell apart as the best: by the rule, the visits, the value and
    the prior, in this order."""
    searched = jnp.any(found.visits > 0, axis=-1, keepdims=True)
    best = found.prior > 0
    for score in (jnp.where(searched, found.final, found.prior), found.visits, found.value, found.prior):
        best &= score == jnp.max(jnp.where(best, score, -jnp.inf), axis=-1, keepdims=True)
    return best


def idle(search: SearchSpec, trees: int) -> Searching:
    """A search with nothing to do."""
    zero, number = jnp.zeros(trees, jnp.int32), jnp.zeros(trees, jnp.float32)
    actions = search.game.num_actions
    gumbel, schedule = (actions, search.capacity) if search.rule.scheduled else (0, 0)
    path = jnp.full((search.capacity + 1 + LEVELS, trees * search.leaves), search.spare, jnp.int32)
    return Searching(
        tree=empty_tree(search.game, trees, search.capacity, search.solver),
        settings=Settings(
            zero, number, number, zero, number, jnp.zeros((trees, actions), jnp.float32),
            jnp.zeros((trees, gumbel), jnp.float32), jnp.zeros((trees, schedule), jnp.int32),
        ),
        seed=zero.astype(jnp.uint32),
        done=zero,
        wanted=zero,
        paths=Paths(path, jnp.zeros_like(path)),
        table=empty_table(trees, search.capacity) if search.transpositions else None,
    )  # fmt: skip


def _rows(mask: jax.Array, array: jax.Array) -> jax.Array:
    """The mask [B] in the shape [B, 1, ...] of an array [B, ...]."""
    return mask.reshape(-1, *[1] * (array.ndim - 1))
