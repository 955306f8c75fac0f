"""Whose each point is in the end, as far as anybody can tell."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jubango.analysis.positions.heat import Heat
from jubango.bots.composition import evaluator_for, params_for, strongest
from jubango.bots.config import SearchConfig, bot_from_spec
from jubango.bots.evaluators.territory import ownership as owners
from jubango.sgf_games.compute.dice import mix
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.sgf.positions import Position

LANES, ROUNDS = 64, 4  # random games at once, and how often


def ownership(positions: Sequence[Position]) -> list[Heat]:
    """Whose each point is in the end, of positions of one game: from 1, Black's for sure, to -1, White's.

    In games that count points it is what the network of the strongest bot there is for the board says (Go 9x9), else
    the mean of 256 random games from there, which know little of life and death. In games without territory it is
    whose stone lies there in the end of such games.
    """
    if not positions:
        return []
    game = positions[0].game
    if game.counts_points:
        bot = bot_from_spec(strongest(game))
        assert isinstance(bot, SearchConfig)
        judge = evaluator_for(game, bot), params_for(game, bot)
        found = owners(game, [position.state for position in positions], *judge)
    else:
        found = np.stack([_by_random_games(position) for position in positions])
    return [Heat(black.reshape(game.height, game.width), "ownership in %", "sides") for black in found]


def _by_random_games(position: Position) -> np.ndarray:
    """float [H, W]: whose the stones are at the ends of random games."""
    game, program = position.game, _ends_program(position.game.compiled_as)
    state = game.without_history(position.state)
    boards = []
    for number in range(ROUNDS):
        seeds = mix(jnp.uint32(number * LANES) + jnp.arange(LANES, dtype=jnp.uint32))
        ends = jax.device_get(program(state, seeds))
        boards += [game.stones(jax.tree.map(lambda x, lane=lane: x[..., lane], ends)) for lane in range(LANES)]
    return np.mean([(board == 1) * 1.0 - (board == 2) for board in boards], axis=0)


@functools.lru_cache(maxsize=8)
def _ends_program(game: Game) -> Callable[[State, jax.Array], State]:
    def ends(state: State, seeds: jax.Array) -> State:
        states = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, LANES)), state)
        return game.random_ends(states, seeds)

    return jit(ends, parts=("random ends", game, LANES))
