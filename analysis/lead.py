"""How many points a player is ahead in a game of territory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from jubango.bots.composition import evaluator_for, params_for
from jubango.bots.config import SearchConfig
from jubango.bots.evaluators.ownership import network_of, opinions
from jubango.sgf_games.compiled import stacked
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import State
from jubango.sgf_games.go import Go
from jubango.sgf_games.machine import shard, split_last, spread
from jubango.sgf_games.programs import jit
from jubango.sgf_games.replay import Position

GAMES = 32  # random games from a position


def leads(
    positions: Sequence[Position], seeds: Sequence[int], bot: SearchConfig, by_games: bool = True
) -> list[float | None]:
    """Black's lead in points, komi included, in positions of games that differ in komi at most.

    It is what the bot's network says if it has a head for it; in Go else, ``by_games``, the mean of 32 random games,
    which know little of life and death. None in games without points, and where nobody knows.
    """
    if not positions:
        return []
    game, states = positions[0].game, [position.state for position in positions]
    network = network_of(evaluator_for(game, bot), params_for(game, bot))
    if network and network[0].shape.scores and game.counts_points:
        said = np.asarray(opinions(game, states, *network).score) * game.height * game.width
        found = said * np.array([1 - 2 * position.player for position in positions])
    elif by_games and isinstance(game, Go):
        batch = stacked(list(map(game.without_history, states)))
        lanes = jax.tree.leaves(batch)[0].shape[-1]
        dice = np.resize(np.array(seeds, np.uint32), lanes)
        found = np.asarray(_played(game.compiled_as, lanes)(batch, jnp.asarray(dice)))[: len(positions)]
    else:
        return [None] * len(positions)
    return [float(lead) for lead in found]


@functools.lru_cache(maxsize=8)
def _played(game: Go, lanes: int) -> Callable[[State, jax.Array], jax.Array]:
    """float32 [B]: Black's mean margin, on all devices."""

    def mean(states: State, seeds: jax.Array) -> jax.Array:
        def one(k: jax.Array, total: jax.Array) -> jax.Array:
            return total + game.playout_margin(states, mix(seeds + k.astype(jnp.uint32) * jnp.uint32(0x632BE5AB)))

        return lax.fori_loop(0, GAMES, one, jnp.zeros(seeds.shape, jnp.float32)) / GAMES

    number, _ = spread(lanes)
    sharding, _ = shard(number)
    split = jax.tree.map(lambda x: split_last(x.ndim + 1), jax.eval_shape(game.init))
    places = jax.tree.map(lambda spec: NamedSharding(sharding.mesh, spec), (split, split_last(1)))
    return jit(
        jax.shard_map(
            mean, mesh=sharding.mesh, in_specs=(split, split_last(1)), out_specs=split_last(1), check_vma=False
        ),
        number > 1,
        ("margins", game, lanes, number),
        in_shardings=places,
        out_shardings=places[1],
    )
