"""The search: one compiled program that grows many trees at once.

It runs in chunks and carries its state between them, so that trees start and finish on their own:
one whose budget is spent is answered and given its next position while its neighbours go on.
What a tree holds depends on its root, its settings and its seed, never on its neighbours.

Shape legend: B trees; K leaves that each tree evaluates at once; L = B K lanes, those of one tree side
by side; A actions; D the longest path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.evaluators.evaluator import Evaluator
from jubango.bots.search.select import Edges, Selection, Settings
from jubango.bots.search.simulate import LEVELS, judge, mean_value, simulate, write
from jubango.bots.search.state import Paths, RootStatistics, Searching
from jubango.bots.search.transpositions import empty_table
from jubango.bots.search.tree import (
    LONGEST_LINE,
    OPEN,
    UNKNOWN,
    empty_tree,
    lanes_last,
    pick,
    subtree,
)
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import Game, State


@dataclass(frozen=True)
class Search:
    """A composition of parts, compiled for one game. Numbers that do not change the program are in
    :class:`Settings`.

    capacity: simulations a tree has room for.
    width: actions of a node that are considered, by largest prior; 0 for all.
    cutoff: a leaf at the depth limit counts as the evaluator says ("value") or as a draw ("draw").
    opponent: replies are "searched", or "sampled" from the prior (AlphaGo as the articles describe it).
    draws: count "half", or go to a "random" side.
    solver: back up proved wins, losses and draws as such (Winands et al. 2008, MCTS-Solver).
    transpositions: positions reached by different orders share a node.
    leaves: K, evaluated at once in one tree, kept apart by virtual losses (Chaslot et al. 2008).
    ties: between equal scores the "first" action or a "random" one.
    """

    game: Game
    selection: Selection
    evaluator: Evaluator
    capacity: int
    width: int = 0
    cutoff: Literal["value", "draw"] = "value"
    opponent: Literal["searched", "sampled"] = "searched"
    draws: Literal["half", "random"] = "half"
    solver: bool = False
    transpositions: bool = False
    leaves: int = 1
    ties: Literal["first", "random"] = "first"

    @property
    def spare(self) -> int:
        """The node that takes the writes of idle lanes."""
        return self.capacity + 1

    # -- a search's life ---------------------------------------------------------------------

    def begin(
        self, s: Searching, mask: jax.Array, kept: jax.Array, roots: State, legal: jax.Array,
        settings: Settings, seeds: jax.Array,
    ) -> Searching:  # fmt: skip
        """Start over in the trees of ``mask``; those ``kept`` (bool [B]) go on from what :meth:`keep` has
        left, unless it holds visits of moves that are not ``legal`` any more. roots: without history, trees
        FIRST. legal: bool [B, A], exact at the root. seeds: uint32 [B]."""
        seed = jnp.where(mask, seeds, s.seed)
        states, old = lanes_last(roots), s.tree
        player, _, prior, value = judge(self, states, legal, mix(seed))
        share = settings.noise[:, None]
        prior = jnp.where(prior > 0, (1 - share) * prior + share * settings.dirichlet, 0.0)
        b, open_end = jnp.arange(mask.shape[0]), jnp.full(mask.shape, OPEN, jnp.int8)
        root = jnp.where(mask, 0, self.spare)
        # Old rows are read only for what is written over them: else the whole tree would be copied.
        kept &= ~jnp.any((old.visits[:, 0] > 0) & (prior == 0), axis=-1)  # superko has forbidden what was visited
        value = jnp.where(kept, old.value[:, 0], value)
        keep = kept[:, None]
        visits = jnp.where(keep, old.visits[:, 0], 0)
        value_sum = jnp.where(keep, old.value_sum[:, 0], 0.0)
        child = jnp.where(keep, old.child[:, 0], -1)
        exact = jnp.where(keep, old.exact[:, 0], UNKNOWN) if self.solver else UNKNOWN
        tree = write(old, b, root, states, player, open_end, prior, value, visits, value_sum, child, exact)
        table = s.table and s.table._replace(node=jnp.where(mask[:, None], -1, s.table.node))
        chosen = jax.tree.map(lambda new, now: jnp.where(_rows(mask, now), new, now), settings, s.settings)
        return s._replace(
            tree=tree,
            settings=chosen,
            seed=seed,
            done=jnp.where(mask, jnp.sum(visits, axis=-1), s.done),
            wanted=jnp.where(mask, jnp.minimum(chosen.simulations, self.capacity), s.wanted),
            table=table,
        )

    def keep(self, s: Searching, mask: jax.Array, line: jax.Array) -> tuple[Searching, jax.Array]:
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

    def stop(self, s: Searching, mask: jax.Array) -> Searching:
        """Let the trees of ``mask`` be content with what they have."""
        return s._replace(wanted=jnp.where(mask, s.done, s.wanted))

    def advance(self, s: Searching, steps: jax.Array) -> tuple[Searching, RootStatistics]:
        """Up to ``steps`` times :func:`simulate`, fewer if no tree has anything left to do."""

        def going_on(carry: tuple) -> jax.Array:
            i, s = carry
            return (i < steps) & jnp.any(s.done < s.wanted)

        _, s = lax.while_loop(going_on, lambda c: (c[0] + 1, simulate(self, c[1])), (jnp.int32(0), s))
        return s, self.root_statistics(s)

    def root_statistics(self, s: Searching) -> RootStatistics:
        tree, b = s.tree, jnp.arange(s.done.shape[0])
        edges = Edges(tree.visits[:, 0], tree.value_sum[:, 0], tree.prior[:, 0], tree.value[:, 0])
        final = edges.prior[:, :0]
        if self.selection.gumbel:
            final = jnp.where(edges.prior > 0, self.selection.final(edges, s.settings), -jnp.inf)  # type: ignore[attr-defined]
        value = edges.q
        if self.solver:
            value = jnp.where(tree.exact[:, 0] < UNKNOWN, tree.exact[:, 0], value)
        mean = mean_value(tree, b, jnp.zeros_like(s.done))
        return RootStatistics(
            edges.visits, value, edges.prior, mean, edges.value, tree.exact[:, 0], final, s.done, s.wanted - s.done
        )

    def idle(self, trees: int) -> Searching:
        """A search with nothing to do."""
        zero, number = jnp.zeros(trees, jnp.int32), jnp.zeros(trees, jnp.float32)
        actions = self.game.num_actions
        gumbel, schedule = (actions, self.capacity) if self.selection.gumbel else (0, 0)
        path = jnp.full((self.capacity + 1 + LEVELS, trees * self.leaves), self.spare, jnp.int32)
        return Searching(
            tree=empty_tree(self.game, trees, self.capacity, self.solver),
            settings=Settings(
                zero, number, number, zero, number, jnp.zeros((trees, actions), jnp.float32),
                jnp.zeros((trees, gumbel), jnp.float32), jnp.zeros((trees, schedule), jnp.int32),
            ),
            seed=zero.astype(jnp.uint32),
            done=zero,
            wanted=zero,
            paths=Paths(path, jnp.zeros_like(path)),
            table=empty_table(trees, self.capacity) if self.transpositions else None,
        )  # fmt: skip


def _rows(mask: jax.Array, array: jax.Array) -> jax.Array:
    """The mask [B] in the shape [B, 1, ...] of an array [B, ...]."""
    return mask.reshape(-1, *[1] * (array.ndim - 1))
