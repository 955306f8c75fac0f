"""How many points a player is ahead in a game of territory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.composition import evaluator_for, params_for
from jubango.bots.config import SearchConfig
from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.networks.model import Shape, apply
from jubango.sgf_games.compiled import stacked
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.machine import jit, shard, split_last, spread
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
    game, (shape, params) = positions[0].game, _network(positions[0], bot)
    known = bool(shape and shape.scores and game.counts_points)
    if not known and not (by_games and isinstance(game, Go)):
        return [None] * len(positions)
    states = stacked([game.without_history(position.state) for position in positions])
    lanes = jax.tree.leaves(states)[0].shape[-1]
    if known:
        said = np.asarray(_said(game.compiled_as, shape)(params, states)) * game.height * game.width
        black = np.array([1 - 2 * position.player for position in positions])
        found = said[: len(positions)] * black
    else:
        dice = np.resize(np.array(seeds, np.uint32), lanes)
        found = np.asarray(_played(game.compiled_as, lanes)(states, jnp.asarray(dice)))[: len(positions)]
    return [float(lead) for lead in found]


def _network(position: Position, bot: SearchConfig) -> tuple[Shape | None, Params]:
    """The shape and the weights of a bot's network, if it has one."""
    evaluator, params = evaluator_for(position.game, bot), params_for(position.game, bot)
    if isinstance(evaluator, Mixed):
        evaluator, params = evaluator.first, params[0]
    return (evaluator.shape, params) if isinstance(evaluator, NetworkEvaluator) else (None, ())


@functools.lru_cache(maxsize=8)
def _said(game: Game, shape: Shape) -> Callable[[Params, State], jax.Array]:
    """float32 [B]: the lead of the player to move, over the board's points."""

    def score(params: Params, states: State) -> jax.Array:
        return apply(shape, params, jax.vmap(game.observe, in_axes=-1)(states)).score

    return jit(score)


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
    return jit(
        jax.shard_map(
            mean, mesh=sharding.mesh, in_specs=(split, split_last(1)), out_specs=split_last(1), check_vma=False
        ),
        number > 1,
    )
