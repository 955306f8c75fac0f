"""Whose each point is in the end, as far as anybody can tell."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jubango.analysis.heat import Heat
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import Shape, apply
from jubango.bots.networks.shipped import shipped
from jubango.sgf_games.compiled import stacked
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.go_scoring import LANES, ROUNDS, playout_program
from jubango.sgf_games.machine import jit
from jubango.sgf_games.replay import Position

Weights = dict[str, jax.Array]


def ownership(positions: Sequence[Position]) -> list[Heat]:
    """Whose each point is in the end, of positions of one game: from 1, Black's for sure, to -1, White's.

    It is what the network says that comes with the package for the game, if it has a head for it (Go on 9x9); else the
    mean of 512 random games from there, which know little of life and death: in Go by area, elsewhere by the stone that
    lies there.
    """
    if not positions:
        return []
    game = positions[0].game
    known = _network(game)
    if known is None:
        found = [_by_random_games(position) for position in positions]
    else:
        shape, weights = known
        states = stacked([game.without_history(position.state) for position in positions])
        said = np.asarray(_program(game.compiled_as, shape)(weights, states))
        found = [own * (1 - 2 * position.player) for own, position in zip(said, positions, strict=False)]
    return [Heat(np.reshape(black, (game.height, game.width)), "ownership in %", "sides") for black in found]


@functools.lru_cache(maxsize=4)
def _network(game: Game) -> tuple[Shape, Weights] | None:
    """The package's own for the game, if it says whose points are."""
    path = shipped(game)
    if path is None:
        return None
    weights, shape, _ = load_weights(path)
    return (shape, weights) if shape.scores else None


@functools.lru_cache(maxsize=8)
def _program(game: Game, shape: Shape) -> Callable[[Weights, State], jax.Array]:
    """float32 [B, H, W]: for the player to move."""

    def owners(weights: Weights, states: State) -> jax.Array:
        return apply(shape, weights, jax.vmap(game.observe, in_axes=-1)(states)).ownership

    return jit(owners)


def _by_random_games(position: Position) -> np.ndarray:
    """float [H * W] or [H, W]."""
    game, state = position.game, position.state
    if not isinstance(game, Go):
        return np.mean([_ends(position, seed) for seed in range(ROUNDS)], axis=0)
    program = playout_program(game.width, game.height)
    theirs, own = np.mean([program(state.own, state.opp, np.uint32(seed)) for seed in range(ROUNDS)], axis=0)
    return (own - theirs) * (1 - 2 * position.player)


def _ends(position: Position, seed: int) -> np.ndarray:
    """float [H, W]: whose the stones are at the ends of random games."""
    game = position.game
    seeds = mix(jnp.uint32(seed * LANES) + jnp.arange(LANES, dtype=jnp.uint32))
    states = jax.device_get(_ends_program(game.compiled_as)(game.without_history(position.state), seeds))
    boards = [game.stones(jax.tree.map(lambda x, lane=lane: x[..., lane], states)) for lane in range(LANES)]
    return np.mean([(board == 1) * 1.0 - (board == 2) for board in boards], axis=0)


@functools.lru_cache(maxsize=8)
def _ends_program(game: Game) -> Callable[[State, jax.Array], State]:
    def ends(state: State, seeds: jax.Array) -> State:
        states = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, LANES)), state)
        return game.random_ends(states, seeds)

    return jit(ends)
