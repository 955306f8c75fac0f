"""Random rollouts: the value of a position is how random games from it end."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from bots.evaluators.evaluator import Evaluation
from sgf_games.game import Game, State
from sgf_games.lanes import mix, random_bits


@dataclass(frozen=True)
class RandomRollout:
    """The mean result of ``rollouts`` random games; moves in random order.

    Kocsis & Szepesvari 2006, section 3; in Go the games never fill an own eye.
    """

    rollouts: int = 1

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        lanes = seeds.shape[0]
        # All rollouts of a position are lanes of one batch: [..., B] -> [..., rollouts * B].
        repeated = jax.tree.map(lambda x: jnp.concatenate([x] * self.rollouts, axis=-1), states)
        which = jnp.repeat(jnp.arange(1, self.rollouts + 1, dtype=jnp.uint32), lanes)
        each = mix(jnp.tile(seeds, self.rollouts) + which * jnp.uint32(0x632BE5AB))
        returns = game.random_playout(repeated, each)  # [players, rollouts * B]
        mean = jnp.mean(returns.reshape(game.num_players, self.rollouts, lanes), axis=1)
        mover = jax.vmap(game.current_player, in_axes=-1)(states)
        value = jnp.take_along_axis(mean, mover[None], axis=0)[0]
        return Evaluation(random_order(legal, seeds), value)


def random_order(legal: jax.Array, seeds: jax.Array) -> jax.Array:
    """float32 [B, A]: distinct-looking numbers in (0, 1] for legal actions, zero for the others."""
    actions = jnp.arange(legal.shape[-1], dtype=jnp.int32)
    bits = random_bits(seeds[:, None], actions + 0x5BD1)
    return jnp.where(legal, ((bits >> 8) + 1).astype(jnp.float32) / 2.0**24, 0.0)
