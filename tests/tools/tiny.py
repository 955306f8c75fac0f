"""A game that is an explicit tree, carried in the state, with its evaluator: any tree, one program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Amaf, Evaluation, Evaluator, Owners
from jubango.sgf_games.rules.game import Game


class TinyState(NamedTuple):
    position: jax.Array  # int32
    child: jax.Array  # int32 [P, A], -1 where illegal
    player: jax.Array  # int32 [P]
    terminal: jax.Array  # bool [P]
    value: jax.Array  # float32 [P], for the player to move
    prior: jax.Array  # float32 [P, A]


@dataclass(frozen=True)
class Tiny(Game):
    positions: int = 60
    actions: int = 4
    height: int = 1
    width: int = 4
    players: int = 2

    name: ClassVar[str] = "tiny"

    @property
    def num_actions(self):
        return self.actions

    @property
    def max_plies(self):
        return self.positions

    def init(self):
        p, a = self.positions, self.actions
        return TinyState(
            jnp.int32(0), jnp.full((p, a), -1, jnp.int32), jnp.zeros(p, jnp.int32), jnp.ones(p, bool),
            jnp.zeros(p, jnp.float32), jnp.zeros((p, a), jnp.float32),
        )  # fmt: skip

    def step(self, state, action):
        child = state.child[state.position, action]
        return state._replace(position=jnp.where(child >= 0, child, state.position))

    def legal_action_mask(self, state):
        return state.child[state.position] >= 0

    def current_player(self, state):
        return state.player[state.position]

    def is_terminal(self, state):
        return state.terminal[state.position]

    def returns(self, state):
        own = jnp.where(state.terminal[state.position], state.value[state.position], 0.0)
        first = jnp.where(state.player[state.position] == 0, own, -own)
        return jnp.stack([first, -first])

    def observe(self, state):
        return jnp.zeros((1, self.actions, 1))

    @property
    def spec(self):
        return "tiny"

    def stones(self, state):
        return np.zeros((1, self.actions), np.int8)


@dataclass(frozen=True)
class Table(Evaluator):
    """The evaluator that reads the tree's own values and priors."""

    def __call__(self, params, game, states, legal, seeds):
        def one(state):
            return state.prior[state.position], state.value[state.position]

        return Evaluation(*jax.vmap(one, in_axes=-1)(states))


@dataclass(frozen=True)
class Telling(Table):
    """The same, with two games from each position: who took what first, or who ``owns`` what at the end."""

    owns: bool = False

    def __call__(self, params, game, states, legal, seeds):
        plain = super().__call__(params, game, states, legal, seeds)
        told = [game_from(states.position[:, None], jnp.arange(game.actions), g) for g in range(2)]
        games = jnp.stack(told, 1), jnp.stack([plain.value, -plain.value], 1)
        return plain._replace(owners=Owners(*games)) if self.owns else plain._replace(amaf=Amaf(*games))


def game_from(position, action, game):
    """The player who takes an action in one of the games from a position, or -1: as good as any."""
    return (position * 7 + action * 3 + position * action + game) % 3 - 1


def random_tree(rng, positions=60, actions=4, one_player=False, results=0):
    """(state, the same as lists for the referee): a random tree with terminal leaves, and players who
    now and then move twice. results: 0 for any, else finished games are worth multiples of 1 / ``results``."""
    child = np.full((positions, actions), -1, np.int32)
    player, depth = np.zeros(positions, np.int32), np.zeros(positions, int)
    used = 1
    for p in range(positions):
        if p >= used:
            break
        count = int(rng.integers(1, actions + 1)) if p == 0 else int(rng.integers(0, actions + 1))
        for a in rng.permutation(actions)[:count]:
            if used < positions:
                child[p, a] = used
                depth[used] = depth[p] + 1
                again = rng.random() < 0.15
                player[used] = player[p] if again or one_player else 1 - player[p]
                used += 1
    terminal = ~(child >= 0).any(axis=1)
    value = rng.uniform(-1, 1, positions).astype(np.float32)
    if results:
        value = np.where(terminal, np.round(value * results * 1.4) / results, value).clip(-1, 1).astype(np.float32)
    prior = rng.uniform(0.05, 1, (positions, actions)) * (child >= 0)
    prior = (prior / np.maximum(prior.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    state = TinyState(jnp.int32(0), *(jnp.asarray(x) for x in (child, player, terminal, value, prior)))
    lists = {
        "child": child.tolist(), "player": player.tolist(), "terminal": terminal.tolist(),
        "value": value.tolist(), "prior": prior.tolist(),
    }  # fmt: skip
    return state, lists


def same_tree(found, referee, tolerance=1e-4):
    """Compare a SearchTree with a referee's root; returns how many nodes were compared."""
    pairs, compared = [(0, referee)], 0
    while pairs:
        i, node = pairs.pop()
        compared += 1
        assert found.visits[i] == node.visits, (i, found.visits[i], node.visits)
        assert abs(found.value[i] - node.total / node.visits) < tolerance
        below = {int(found.action[k]): int(k) for k in found.children(i)}
        theirs = {a: child for a, child in node.children.items() if child.visits}
        assert below.keys() == theirs.keys()
        assert (found.lower[i], found.upper[i]) == (node.lower, node.upper)
        pairs += [(k, theirs[a]) for a, k in below.items()]
    assert compared == len(found)
    return compared
