"""The search: one compiled program that grows a tree in every lane at once.

It runs in chunks and carries its state between them, so that lanes start and finish on their own:
a lane whose budget is spent is answered and given its next position while its neighbours go on.
What a lane finds depends on its root, its settings and its seed, never on its neighbours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bots.evaluators.evaluator import Evaluator
from bots.search.select import Edges, Selection, Settings
from bots.search.tree import Tree, empty_tree, lanes_first, lanes_last
from sgf_games.game import Game, State
from sgf_games.lanes import jit, mix

VECTOR = 32  # lanes that one vector instruction of the rules handles


class Searching(NamedTuple):
    """A search under way; every leaf has the lanes first."""

    tree: Tree
    settings: Settings
    seed: jax.Array  # uint32 [B]
    done: jax.Array  # int32 [B], simulations made
    wanted: jax.Array  # int32 [B], simulations to make; 0 in idle lanes


class RootStatistics(NamedTuple):
    """What the roots know; the batch comes first."""

    visits: jax.Array  # int32 [B, A]
    value: jax.Array  # float32 [B, A] in [-1, 1], mean for the player to move; 0 where unvisited
    action: jax.Array  # int32 [B], the move to play
    remaining: jax.Array  # int32 [B], simulations still to make


@dataclass(frozen=True)
class Search:
    """A composition: a game, a selection rule, an evaluator, and room for ``capacity`` simulations."""

    game: Game
    selection: Selection
    evaluator: Evaluator
    capacity: int

    # -- the algorithm, for lanes ------------------------------------------------------------

    def simulate(self, s: Searching) -> Searching:
        """One simulation in every lane that has some left: select, expand, evaluate, back up."""
        active = s.done < s.wanted
        parent, action, known = self._select(s, active)
        node = jnp.where(active, jnp.where(known >= 0, known, s.done + 1), self.capacity + 1)
        tree, value = self._expand(s, parent, action, node, active)
        tree = self._back_up(tree, node, value, active)
        return s._replace(tree=tree, done=s.done + active)

    def _select(self, s: Searching, active: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(node, action, child or -1) where each lane's path leaves the tree or meets its end."""
        tree, lanes = s.tree, jnp.arange(s.seed.shape[0])

        def body(carry: tuple) -> tuple:
            node, action, child, going = carry
            edges = Edges(tree.visits[lanes, node], tree.value_sum[lanes, node], tree.prior[lanes, node])
            best = jnp.argmax(self.selection(edges, s.settings), axis=-1).astype(jnp.int32)
            next_node = tree.child[lanes, node, best]
            action = jnp.where(going, best, action)
            child = jnp.where(going, next_node, child)
            deeper = going & (next_node >= 0) & ~tree.terminal[lanes, jnp.maximum(next_node, 0)]
            return jnp.where(deeper, next_node, node), action, child, deeper

        zero = jnp.zeros(lanes.shape, jnp.int32)
        start = (zero, zero, zero - 1, active)
        node, action, child, _ = lax.while_loop(lambda c: jnp.any(c[3]), body, start)
        return node, action, child

    def _expand(
        self, s: Searching, parent: jax.Array, action: jax.Array, node: jax.Array, active: jax.Array
    ) -> tuple[Tree, jax.Array]:
        """Write ``node`` with its evaluation; returns the tree and the value for the node's player."""
        tree, lanes = s.tree, jnp.arange(s.seed.shape[0])
        parents = lanes_last(jax.tree.map(lambda x: x[lanes, parent], tree.state))
        states = jax.vmap(self.game.step, in_axes=(-1, 0), out_axes=-1)(parents, action)
        legal = jax.vmap(self.game.legal_action_mask, in_axes=-1)(states)
        seeds = mix(s.seed + (s.done + 1).astype(jnp.uint32) * jnp.uint32(0x9E3779B9))
        player, terminal, prior, value = self._judge(states, legal, seeds)
        trash = jnp.where(active, parent, self.capacity + 1)
        tree = self._write(tree, node, states, player, terminal, prior, value)
        return tree._replace(
            child=tree.child.at[lanes, trash, action].set(node),
            parent=tree.parent.at[lanes, node].set(parent),
            action=tree.action.at[lanes, node].set(action),
        ), value

    def _judge(self, states: State, legal: jax.Array, seeds: jax.Array) -> tuple:
        """(player, terminal, prior, value): the exact result of finished games, else the evaluator's."""
        terminal = jax.vmap(self.game.is_terminal, in_axes=-1)(states)
        player = jax.vmap(self.game.current_player, in_axes=-1)(states)
        returns = jax.vmap(self.game.returns, in_axes=-1, out_axes=-1)(states)
        exact = jnp.take_along_axis(returns, player[None], axis=0)[0]
        evaluation = self.evaluator(self.game, states, legal, seeds)
        return player, terminal, evaluation.prior, jnp.where(terminal, exact, evaluation.value)

    def _write(
        self, tree: Tree, node: jax.Array, states: State, player: jax.Array, terminal: jax.Array,
        prior: jax.Array, value: jax.Array,
    ) -> Tree:  # fmt: skip
        """Fill a new node. A finished game met again is written as it was; it has no visits to lose."""
        lanes = jnp.arange(node.shape[0])
        at = (lanes, node)
        return tree._replace(
            visits=tree.visits.at[at].set(0),
            value_sum=tree.value_sum.at[at].set(0.0),
            prior=tree.prior.at[at].set(prior),
            child=tree.child.at[at].set(-1),
            player=tree.player.at[at].set(player),
            value=tree.value.at[at].set(value),
            terminal=tree.terminal.at[at].set(terminal),
            state=jax.tree.map(lambda x, y: x.at[at].set(y), tree.state, lanes_first(states)),
        )

    def _back_up(self, tree: Tree, node: jax.Array, value: jax.Array, active: jax.Array) -> Tree:
        """Add the value along the path to the root. The one place where a value changes sides."""
        lanes = jnp.arange(node.shape[0])

        def body(carry: tuple) -> tuple:
            node, value, going, visits, value_sum = carry
            parent = jnp.where(going, tree.parent[lanes, node], self.capacity + 1)
            action = tree.action[lanes, node]
            same_side = tree.player[lanes, parent] == tree.player[lanes, node]
            value = jnp.where(same_side, value, -value)
            visits = visits.at[lanes, parent, action].add(1)
            value_sum = value_sum.at[lanes, parent, action].add(value)
            return parent, value, going & (parent > 0), visits, value_sum

        start = (node, value, active, tree.visits, tree.value_sum)
        *_, visits, value_sum = lax.while_loop(lambda c: jnp.any(c[2]), body, start)
        return tree._replace(visits=visits, value_sum=value_sum)

    def begin(
        self, s: Searching, mask: jax.Array, roots: State, legal: jax.Array, settings: Settings,
        seeds: jax.Array,
    ) -> Searching:  # fmt: skip
        """Start over in the lanes of ``mask``. roots: without history, lanes FIRST. legal: bool
        [B, A], exact at the root. seeds: uint32 [B]."""
        states = lanes_last(roots)
        seed = jnp.where(mask, seeds, s.seed)
        player, _, prior, value = self._judge(states, legal, mix(seed))
        root = jnp.where(mask, 0, self.capacity + 1)
        tree = self._write(s.tree, root, states, player, jnp.zeros_like(mask), prior, value)
        chosen = jax.tree.map(lambda new, old: jnp.where(mask, new, old), settings, s.settings)
        wanted = jnp.minimum(chosen.simulations, self.capacity)
        return Searching(
            tree=tree,
            settings=chosen,
            seed=seed,
            done=jnp.where(mask, 0, s.done),
            wanted=jnp.where(mask, wanted, s.wanted),
        )

    def advance(self, s: Searching, simulations: jax.Array) -> tuple[Searching, RootStatistics]:
        """Up to ``simulations`` more in every lane that has some left."""

        def going_on(carry: tuple) -> jax.Array:
            i, s = carry
            return (i < simulations) & jnp.any(s.done < s.wanted)

        _, s = lax.while_loop(going_on, lambda c: (c[0] + 1, self.simulate(c[1])), (jnp.int32(0), s))
        return s, root_statistics(s)

    def idle(self, lanes: int) -> Searching:
        """A search with nothing to do."""
        zero = jnp.zeros(lanes, jnp.int32)
        return Searching(
            tree=empty_tree(self.game, lanes, self.capacity),
            settings=Settings(zero, jnp.zeros(lanes, jnp.float32)),
            seed=zero.astype(jnp.uint32),
            done=zero,
            wanted=zero,
        )


def root_statistics(s: Searching) -> RootStatistics:
    """Most visits decide; among equals the higher mean, then the higher prior (in rollout searches a
    random order: the lowest action would pull every undecided game to the top of the board)."""
    visits, sums = s.tree.visits[:, 0], s.tree.value_sum[:, 0]
    value = sums / jnp.maximum(visits, 1)
    prior = s.tree.prior[:, 0]
    most = (visits == jnp.max(visits, axis=-1, keepdims=True)) & (prior > 0)
    mean = jnp.where(most, value, -jnp.inf)
    best = mean == jnp.max(mean, axis=-1, keepdims=True)
    action = jnp.argmax(jnp.where(best, prior, -1.0), axis=-1).astype(jnp.int32)
    return RootStatistics(visits, value, action, s.wanted - s.done)


class Program(NamedTuple):
    """The compiled search over all devices: its lanes are split evenly among them."""

    idle: Any
    begin: Any
    advance: Any
    lanes: int


@functools.cache
def program(search: Search, lanes: int) -> Program:
    """Compile ``search`` for at least ``lanes`` lanes (rounded up to fill the devices' vectors)."""
    devices = jax.devices()
    if lanes <= VECTOR:
        devices = devices[:1]
    if lanes > 2:  # a vector that is not full is done lane by lane
        per_device = -(-lanes // len(devices))
        lanes = -(-per_device // VECTOR) * VECTOR * len(devices)
    mesh = Mesh(np.array(devices), ("lanes",))
    split, whole = PartitionSpec("lanes"), PartitionSpec()

    lanes_split, replicated = NamedSharding(mesh, split), NamedSharding(mesh, whole)

    def sharded(function: Any, *in_specs: PartitionSpec) -> Any:
        mapped = jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=split, check_vma=False)
        places = tuple(lanes_split if spec == split else replicated for spec in in_specs)
        return jit(mapped, in_shardings=places, out_shardings=lanes_split, donate_argnums=(0,))

    return Program(
        idle=jit(lambda: search.idle(lanes), out_shardings=lanes_split),
        begin=sharded(search.begin, *(split,) * 6),
        advance=sharded(search.advance, split, whole),
        lanes=lanes,
    )
