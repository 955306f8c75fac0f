"""A user's own game of territory: a plug-in in one file."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jubango as jb


class Stones(NamedTuple):
    signs: jax.Array  # int8 [H, W]: 1 the first player's stones, -1 the second's
    player: jax.Array
    passes: jax.Array
    ply: jax.Array
    komi: jax.Array


@jb.game("influence", size="4", about="a point is whose stones are more beside it")
class Influence(jb.Game):
    width: int = 4
    height: int = 4
    komi: float = 0.5

    counts_points = True
    on_crossings = True

    @property
    def compiled_as(self):
        return replace(self, komi=0.0)

    @property
    def num_actions(self):
        return self.width * self.height + 1

    @property
    def pass_action(self):
        return self.width * self.height

    @property
    def max_plies(self):
        return 3 * self.width * self.height

    def init(self):
        return self.set_up(np.zeros((self.height, self.width), np.int8), 0)

    def step(self, state, action):
        row, column = jnp.divmod(action, self.width)
        signs = state.signs.at[row, column].set((1 - 2 * state.player).astype(jnp.int8), mode="drop")
        passes = jnp.where(action == self.pass_action, state.passes + 1, 0)
        after = Stones(signs, 1 - state.player, passes, state.ply + 1, state.komi)
        return jax.tree.map(lambda new, old: jnp.where(self.is_terminal(state), old, new), after, state)

    def legal_action_mask(self, state):
        return jnp.append(state.signs.ravel() == 0, True) & ~self.is_terminal(state)

    def current_player(self, state):
        return state.player

    def is_terminal(self, state):
        return (state.passes >= 2) | (state.ply >= self.max_plies)

    def returns(self, state):
        first = jnp.where(self.is_terminal(state), jnp.sign(self.margin(state)), 0.0)
        return jnp.stack([first, -first])

    def observe(self, state):
        mine = state.signs * (1 - 2 * state.player)
        return jnp.stack([mine == 1, mine == -1], axis=-1).astype(jnp.float32)

    def stones(self, state):
        return np.asarray(state.signs) % 3

    # What makes it a game of territory: points, komi, passes, stones that are set up.

    def owners(self, state):
        wide = jnp.pad(state.signs, 1)
        beside = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        return jnp.sign(jnp.where(state.signs == 0, beside, state.signs)).ravel().astype(jnp.int8)

    def margin(self, state):
        return jnp.sum(self.owners(state), dtype=jnp.float32) - state.komi

    def resumed(self, state, passes=0):
        return state._replace(passes=jnp.minimum(state.passes, passes))

    def with_player(self, state, player):
        return state._replace(player=jnp.int32(player))

    def set_up(self, stones, player):
        zero, signs = jnp.int32(0), np.where(np.asarray(stones) == 2, -1, stones)
        return Stones(jnp.asarray(signs, jnp.int8), jnp.int32(player), zero, zero, jnp.float32(self.komi))
