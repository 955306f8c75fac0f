"""The search: one compiled program that grows many trees at once.

It runs in chunks and carries its state between them, so that trees start and finish on their own:
one whose budget is spent is answered and given its next position while its neighbours go on.
What a tree holds depends on its root, its settings and its seed, never on its neighbours.

Shape legend: B trees; K leaves that each tree evaluates at once; L = B K lanes, those of one tree side
by side; A actions; D the longest path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from bots.evaluators.evaluator import Evaluator
from bots.search.select import Edges, Selection, Settings, first_largest, steady_sum
from bots.search.transpositions import Transpositions, empty_table, look_up, remember
from bots.search.tree import (
    CUT_OFF,
    EXACT,
    LONGEST_LINE,
    OPEN,
    UNKNOWN,
    Tree,
    add,
    empty_tree,
    lanes_first,
    lanes_last,
    pick,
    put,
    subtree,
)
from sgf_games.game import Game, State
from sgf_games.lanes import mix, random_bits

LEVELS = 4  # levels of a path that are backed up in one go
GOLDEN = 0x9E3779B9
PROVED_LOSS = -1e9  # chosen only where all is lost


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
    final: jax.Array  # float32 [B, A], a Gumbel search's score of the moves; [B, 0] in the others
    done: jax.Array  # int32 [B], simulations made
    remaining: jax.Array  # int32 [B], simulations still to make


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

    def simulate(self, s: Searching) -> Searching:
        """One simulation in every lane of a tree that has some left: select, expand, evaluate, back up."""
        active = self._workers(s) < self._lanes(s.wanted - s.done)
        s, leaf, levels = self._select(s, active)
        active, order = self._without_doubles(leaf, active)
        s, node, value = self._expand(s, leaf, active, order)
        tree = self._back_up(s, node, value, active, levels)
        made = jnp.sum(active.reshape(-1, self.leaves), axis=-1, dtype=jnp.int32)
        s = s._replace(tree=tree, done=s.done + made)
        return self._prove(s, node, leaf, active) if self.solver else s

    def _trees(self, s: Searching) -> jax.Array:
        """int32 [L]: the tree of each lane."""
        return jnp.repeat(jnp.arange(s.done.shape[0], dtype=jnp.int32), self.leaves)

    def _lanes(self, x: jax.Array) -> jax.Array:
        """[B, ...] -> [L, ...]."""
        return x if self.leaves == 1 else jnp.repeat(x, self.leaves, axis=0)

    def _workers(self, s: Searching) -> jax.Array:
        """int32 [L]: the place of each lane among those of its tree."""
        return jnp.tile(jnp.arange(self.leaves, dtype=jnp.int32), s.done.shape[0])

    # -- select ------------------------------------------------------------------------------

    def _select(self, s: Searching, active: jax.Array) -> tuple[Searching, Leaf, jax.Array]:
        """(the search with its paths, where each lane leaves the tree, the longest path)."""
        b = self._trees(s)

        def level(carry: tuple, root: bool = False) -> tuple:
            depth, going, at, leaf, paths, visits, value_sum = carry
            tree = s.tree._replace(visits=visits, value_sum=value_sum)
            action, visits, value_sum = self._choose(s._replace(tree=tree), at, going, depth, root)
            paths = Paths(
                lax.dynamic_update_slice(paths.node, jnp.where(going, at, self.spare)[None], (depth, 0)),
                lax.dynamic_update_slice(paths.action, action[None], (depth, 0)),
            )
            child = pick(tree.child, b, at, action)
            leaf = Leaf(
                jnp.where(going, at, leaf.parent),
                jnp.where(going, action, leaf.action),
                jnp.where(going, child, leaf.child),
                leaf.length + going,
            )
            going &= (child >= 0) & (pick(tree.end, b, jnp.maximum(child, 0)) == OPEN)
            return depth + 1, going, jnp.where(going, child, at), leaf, paths, visits, value_sum

        zero = jnp.zeros(b.shape, jnp.int32)
        start = (jnp.int32(0), active, zero, Leaf(zero, zero, zero - 1, zero), s.paths,
                 s.tree.visits, s.tree.value_sum)  # fmt: skip
        if self.leaves > 1 or self.selection.gumbel:  # then the root has a way of its own
            start = level(start, root=True)
        levels, _, _, leaf, paths, visits, value_sum = lax.while_loop(lambda c: jnp.any(c[1]), level, start)
        return s._replace(tree=s.tree._replace(visits=visits, value_sum=value_sum), paths=paths), leaf, levels

    def _choose(
        self, s: Searching, node: jax.Array, going: jax.Array, depth: jax.Array, root: bool
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(the action each lane takes, the tree's visits and value sums with virtual losses)."""
        tree, b = s.tree, self._trees(s)
        if self.leaves == 1:
            return self._best(s, b, node, depth, root), tree.visits, tree.value_sum
        # The lanes of one tree that are at one node choose one after another, each seeing the virtual
        # losses of those before it: as if each had gone all the way down before the next set out.
        here = jnp.where(going, node, -1).reshape(-1, self.leaves)
        earlier = jnp.tril(jnp.ones((self.leaves, self.leaves), bool), -1)
        rank = jnp.sum((here[:, :, None] == here[:, None, :]) & earlier, axis=-1, dtype=jnp.int32).reshape(-1)
        rank = jnp.where(going, rank, -1)
        trees = jnp.arange(s.done.shape[0], dtype=jnp.int32)

        def turn(carry: tuple) -> tuple:
            i, action, visits, value_sum = carry
            now = s._replace(tree=tree._replace(visits=visits, value_sum=value_sum))
            if root:  # one row a tree will do
                chosen = jnp.repeat(self._best(now, trees, jnp.zeros_like(trees), depth, root), self.leaves)
            else:
                chosen = self._best(now, b, node, depth, root)
            at = jnp.where(rank == i, node, self.spare)
            visits = add(visits, 1, b, at, chosen)
            value_sum = add(value_sum, -1.0, b, at, chosen)
            return i + 1, jnp.where(rank == i, chosen, action), visits, value_sum

        last = jnp.max(rank)
        start = (jnp.int32(0), jnp.zeros_like(node), tree.visits, tree.value_sum)
        return lax.while_loop(lambda c: c[0] <= last, turn, start)[1:]

    def _best(self, s: Searching, b: jax.Array, node: jax.Array, depth: jax.Array, root: bool) -> jax.Array:
        """int32 [L]: the action to take at ``node`` of tree ``b``."""
        tree = s.tree
        edges = Edges(*(pick(x, b, node) for x in (tree.visits, tree.value_sum, tree.prior, tree.value)))
        settings, seed = s.settings, s.seed
        if b.shape != s.done.shape:
            settings, seed = jax.tree.map(self._lanes, (settings, seed))
        rule = self.selection.root if root and self.selection.gumbel else self.selection  # type: ignore[attr-defined]
        scores = rule(edges, settings)
        if self.solver:
            scores = jnp.where(pick(tree.exact, b, node) <= -1, PROVED_LOSS, scores)
        if self.opponent == "sampled":
            replies = pick(tree.player, b, node) != pick(tree.player[:, 0], b)
            scores = jnp.where(replies[:, None], self._lots(s, edges.prior, depth), scores)
        scores = jnp.where(edges.prior > 0, scores, -jnp.inf)
        if self.ties == "random":
            best = scores == jnp.max(scores, axis=-1, keepdims=True)
            lots = random_bits(mix(seed ^ node.astype(jnp.uint32))[:, None], jnp.arange(scores.shape[-1]))
            scores = jnp.where(best, (lots >> 1).astype(jnp.int32), -1)
        return first_largest(scores)

    def _lots(self, s: Searching, prior: jax.Array, depth: jax.Array) -> jax.Array:
        """float32 [L, A]: the largest falls on each action with the probability of its prior."""
        number = self._lanes(s.done) + self._workers(s)
        throw = mix(self._lanes(s.seed) + number.astype(jnp.uint32) * jnp.uint32(GOLDEN)) + depth.astype(jnp.uint32)
        bits = random_bits(throw[:, None], jnp.arange(prior.shape[-1]) + 0x2545)
        uniform = ((bits >> 8).astype(jnp.float32) + 0.5) / 2.0**24
        return jnp.log(jnp.maximum(prior, 1e-37)) - jnp.log(-jnp.log(uniform))

    def _without_doubles(self, leaf: Leaf, active: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(lanes that go on, the place of each among those of its tree). Of the lanes of one tree that
        came to one unexpanded action the first goes on."""
        if self.leaves == 1:
            return active, jnp.zeros_like(leaf.parent)
        edge = jnp.where(leaf.child < 0, leaf.parent * self.game.num_actions + leaf.action, -1)
        edge, live = edge.reshape(-1, self.leaves), active.reshape(-1, self.leaves)
        earlier = jnp.tril(jnp.ones((self.leaves, self.leaves), bool), -1)
        same = (edge[:, :, None] == edge[:, None, :]) & (edge >= 0)[:, :, None] & live[:, None, :] & earlier
        live &= ~jnp.any(same, axis=-1)
        return live.reshape(-1), (jnp.cumsum(live, axis=-1, dtype=jnp.int32) - 1).reshape(-1)

    # -- expand ------------------------------------------------------------------------------

    def _expand(
        self, s: Searching, leaf: Leaf, active: jax.Array, order: jax.Array
    ) -> tuple[Searching, jax.Array, jax.Array]:
        """Make a node of each leaf that is new. Returns also the nodes and their values for their players."""
        tree, b = s.tree, self._trees(s)
        parents = lanes_last(jax.tree.map(lambda x: pick(x, b, leaf.parent), tree.state))
        states = jax.vmap(self.game.step, in_axes=(-1, 0), out_axes=-1)(parents, leaf.action)
        legal = jax.vmap(self.game.legal_action_mask, in_axes=-1)(states)
        made = self._lanes(s.done) + 1 + order
        seeds = mix(self._lanes(s.seed) + made.astype(jnp.uint32) * jnp.uint32(GOLDEN))
        player, terminal, prior, value = self._judge(states, legal, seeds)
        too_deep = leaf.length >= self._lanes(s.settings.depth)
        end = jnp.where(terminal, EXACT, jnp.where(too_deep, CUT_OFF, OPEN)).astype(jnp.int8)
        if self.cutoff == "draw":
            value = jnp.where(end == CUT_OFF, 0.0, value)
        known = leaf.child >= 0
        node = jnp.where(known, leaf.child, made)
        proved = known & (pick(tree.end, b, node) == EXACT)
        value = jnp.where(proved, pick(tree.value, b, node), value)
        end = jnp.where(proved, jnp.int8(EXACT), end)
        new, table = active & ~known, s.table
        if table is not None:
            key = jax.vmap(self.game.transposition_key, in_axes=-1)(states)
            key = mix(key + leaf.length[:, None].astype(jnp.uint32) * jnp.uint32(GOLDEN))
            twin, place = look_up(table, b, key)
            shared = ~known & (twin >= 0)
            node, new = jnp.where(shared, twin, node), new & ~shared
            value = jnp.where(shared, self._mean(tree, b, jnp.maximum(twin, 0)), value)
            table = remember(table, b, jnp.where(new, place, table.node.shape[1]), key, node)
        at, above = jnp.where(new, node, self.spare), jnp.where(active & ~known, leaf.parent, self.spare)
        tree = self._write(tree, b, at, states, player, end, prior, value)
        tree = tree._replace(
            child=put(tree.child, node, b, above, leaf.action),
            parent=put(tree.parent, leaf.parent, b, at),
            action=put(tree.action, leaf.action, b, at),
        )
        if self.draws == "random":
            coin = jnp.where(mix(seeds ^ jnp.uint32(0x51ED27)) >> 31 == 1, 1.0, -1.0)
            value = jnp.where((end == EXACT) & (value == 0), coin, value)
        return s._replace(tree=tree, table=table), jnp.where(active, node, self.spare), value

    def _mean(self, tree: Tree, b: jax.Array, node: jax.Array) -> jax.Array:
        """float32 [L]: the mean of all values backed up to a node, its own included."""
        visits = 1 + jnp.sum(pick(tree.visits, b, node), axis=-1)
        mean = (pick(tree.value, b, node) + steady_sum(pick(tree.value_sum, b, node))) / visits.astype(jnp.float32)
        return jnp.where(pick(tree.end, b, node) == EXACT, pick(tree.value, b, node), mean)

    def _judge(self, states: State, legal: jax.Array, seeds: jax.Array) -> tuple:
        """(player, terminal, prior, value): the exact result of finished games, else the evaluator's."""
        terminal = jax.vmap(self.game.is_terminal, in_axes=-1)(states)
        player = jax.vmap(self.game.current_player, in_axes=-1)(states)
        evaluation = self.evaluator(self.game, states, legal, seeds)

        def exact() -> jax.Array:
            returns = jax.vmap(self.game.returns, in_axes=-1, out_axes=-1)(states)
            return jnp.where(terminal, jnp.take_along_axis(returns, player[None], axis=0)[0], evaluation.value)

        value = lax.cond(jnp.any(terminal), exact, lambda: evaluation.value)
        prior = jnp.where(legal, jnp.maximum(evaluation.prior, 1e-37), 0.0)
        if 0 < self.width < self.game.num_actions:
            best = lax.top_k(prior, self.width)[1]
            keep = jnp.zeros_like(legal).at[jnp.arange(legal.shape[0])[:, None], best].set(True)
            prior = jnp.where(keep, prior, 0.0)
        total = steady_sum(prior)
        return player, terminal, prior / jnp.where(total > 0, total, 1.0)[:, None], value

    def _write(
        self, tree: Tree, b: jax.Array, node: jax.Array, states: State, player: jax.Array, end: jax.Array,
        prior: jax.Array, value: jax.Array,
    ) -> Tree:  # fmt: skip
        """Fill a new node."""
        at = (b, node)
        return tree._replace(
            visits=put(tree.visits, 0, *at),
            value_sum=put(tree.value_sum, 0.0, *at),
            prior=put(tree.prior, prior, *at),
            child=put(tree.child, -1, *at),
            player=put(tree.player, player, *at),
            value=put(tree.value, value, *at),
            end=put(tree.end, end, *at),
            state=jax.tree.map(lambda x, y: put(x, y, *at), tree.state, lanes_first(states)),
            exact=put(tree.exact, UNKNOWN, *at),
        )

    # -- back up -----------------------------------------------------------------------------

    def _back_up(self, s: Searching, node: jax.Array, value: jax.Array, active: jax.Array, levels: jax.Array) -> Tree:
        """Add the value to every edge of the path. The one place where a value changes sides."""
        tree, b = s.tree, self._trees(s)
        player = pick(tree.player, b, node)

        def some_levels(carry: tuple) -> tuple:
            depth, visits, value_sum = carry
            rows = (LEVELS, b.shape[0])
            nodes = lax.dynamic_slice(s.paths.node, (depth, 0), rows)
            actions = lax.dynamic_slice(s.paths.action, (depth, 0), rows)
            nodes = jnp.where((depth + jnp.arange(LEVELS) < levels)[:, None], nodes, self.spare)
            gain = jnp.where(pick(tree.player, b, nodes) == player, value, -value)
            if self.leaves == 1:
                visits = add(visits, 1, b, nodes, actions)
            else:  # the visits are there; take back the virtual losses, and what was a double
                gain = jnp.where(active, gain, 0.0) + 1.0
                visits = add(visits, jnp.where(active, 0, -1), b, nodes, actions)
            return depth + LEVELS, visits, add(value_sum, gain, b, nodes, actions)

        start = (jnp.int32(0), tree.visits, tree.value_sum)
        _, visits, value_sum = lax.while_loop(lambda c: c[0] < levels, some_levels, start)
        return tree._replace(visits=visits, value_sum=value_sum)

    def _prove(self, s: Searching, node: jax.Array, leaf: Leaf, active: jax.Array) -> Searching:
        """Where a leaf's value is exact, prove what follows from it on its path: a node is won if one
        action wins, and has its best action's value once all are proved."""
        b, lanes, tree = self._trees(s), jnp.arange(node.shape[0]), s.tree

        def level(carry: tuple) -> tuple:
            depth, child, going, exact, end, value = carry
            at = jnp.where(going, s.paths.node[depth, lanes], self.spare)
            gain = pick(value, b, child)
            gain = jnp.where(pick(tree.player, b, at) == pick(tree.player, b, child), gain, -gain)
            exact = put(exact, gain, b, at, s.paths.action[depth, lanes])
            row, legal = pick(exact, b, at), pick(tree.prior, b, at) > 0
            best = jnp.max(jnp.where(legal & (row < UNKNOWN), row, -1.0), axis=-1)
            all_known = ~jnp.any(legal & (row == UNKNOWN), axis=-1) & (self.width == 0)
            proved = going & ((best >= 1) | all_known)
            at = jnp.where(proved, at, self.spare)
            end, value = put(end, EXACT, b, at), put(value, best, b, at)
            return jnp.maximum(depth - 1, 0), at, proved & (depth > 0), exact, end, value

        start = (jnp.maximum(leaf.length - 1, 0), node, active & (pick(tree.end, b, node) == EXACT),
                 tree.exact, tree.end, tree.value)  # fmt: skip
        *_, exact, end, value = lax.while_loop(lambda c: jnp.any(c[2]), level, start)
        wanted = jnp.where((end[:, 0] == EXACT) & (s.wanted > 0), s.done, s.wanted)
        return s._replace(tree=tree._replace(exact=exact, end=end, value=value), wanted=wanted)

    # -- a search's life ---------------------------------------------------------------------

    def begin(
        self, s: Searching, mask: jax.Array, kept: jax.Array, roots: State, legal: jax.Array,
        settings: Settings, seeds: jax.Array,
    ) -> Searching:  # fmt: skip
        """Start over in the trees of ``mask``; those ``kept`` (bool [B]) go on from what :meth:`keep`
        has left. roots: without history, trees FIRST. legal: bool [B, A], exact at the root. seeds: uint32 [B]."""
        seed = jnp.where(mask, seeds, s.seed)
        states, old = lanes_last(roots), s.tree
        player, _, prior, value = self._judge(states, legal, mix(seed))
        share = settings.noise[:, None]
        prior = jnp.where(prior > 0, (1 - share) * prior + share * settings.dirichlet, 0.0)
        b, open_end = jnp.arange(mask.shape[0]), jnp.full(mask.shape, OPEN, jnp.int8)
        root = jnp.where(mask, 0, self.spare)
        value = jnp.where(kept, old.value[:, 0], value)
        tree = self._write(old, b, root, states, player, open_end, prior, value)
        keep = kept[:, None] & (prior > 0)
        visits = jnp.where(keep, old.visits[:, 0], 0)
        tree = tree._replace(
            visits=put(tree.visits, visits, b, root),
            value_sum=put(tree.value_sum, jnp.where(keep, old.value_sum[:, 0], 0.0), b, root),
            child=put(tree.child, jnp.where(keep, old.child[:, 0], -1), b, root),
        )
        if self.solver:
            proofs = jnp.where(keep, old.exact[:, 0], UNKNOWN)
            tree = tree._replace(exact=put(tree.exact, proofs, b, root))
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
        """Up to ``steps`` times :meth:`simulate`, fewer if no tree has anything left to do."""

        def going_on(carry: tuple) -> jax.Array:
            i, s = carry
            return (i < steps) & jnp.any(s.done < s.wanted)

        _, s = lax.while_loop(going_on, lambda c: (c[0] + 1, self.simulate(c[1])), (jnp.int32(0), s))
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
        mean = self._mean(tree, b, jnp.zeros_like(s.done))
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
