"""What ``jubango bench`` measures: the hot paths alone, on every core."""

from __future__ import annotations

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sgf_games import bitboard as bb
from sgf_games import go_playout
from sgf_games.game import Game
from sgf_games.go import Go
from sgf_games.lanes import jit, mix
from sgf_games.mnk import LineGame

STEPS = 200  # rules steps in one call


def playout_speed(game: Game, lanes: int, seconds: float) -> tuple[float, float]:
    """(moves, games) a second of random play, a finished lane starting the next game at once.

    Each device plays ``lanes`` games at a time. The first second, which includes compiling and the
    games' openings, is not counted.
    """
    start, run, progress = _random_play(game, lanes)
    devices = jax.devices()
    playing = [jax.device_put(start(jnp.uint32(i)), device) for i, device in enumerate(devices)]

    def advance() -> None:
        for i, state in enumerate(playing):  # all devices work at the same time
            playing[i] = run(state)
        jax.block_until_ready(playing)

    until = time.perf_counter() + 1.0
    advance()
    while time.perf_counter() < until:
        advance()
    before = np.sum([progress(state) for state in playing], axis=0)
    began = time.perf_counter()
    while time.perf_counter() < began + seconds:
        advance()
    elapsed = time.perf_counter() - began
    moves, games = np.sum([progress(state) for state in playing], axis=0) - before
    return moves / elapsed, games / elapsed


@functools.cache
def _random_play(game: Game, lanes: int) -> tuple[Any, Any, Any]:
    """(start(seed), run(state), progress(state) -> [moves, games]) for a game of the package."""
    if isinstance(game, Go):
        return _random_go(game, lanes)
    assert isinstance(game, LineGame)
    return _random_lines(game, lanes)


def _seeds(seed: jax.Array, lanes: int) -> jax.Array:
    return mix(jnp.arange(lanes, dtype=jnp.uint32) + seed * jnp.uint32(lanes) + jnp.uint32(1))


def _random_go(game: Go, lanes: int) -> tuple[Any, Any, Any]:
    attempt = go_playout.attempt(game.width, restart=True)
    limit = 4 * game.width * game.height + 40

    def start(seed: jax.Array) -> Any:
        rows = [jnp.zeros(lanes, bb.row_type(game.width))] * game.height
        zero = jnp.zeros(lanes, jnp.int32)
        playing = go_playout.start(rows, rows, zero - 1, zero, zero > 0, _seeds(seed, lanes), game.width)
        return playing, zero

    def run(state: Any) -> Any:
        def body(_: int, carry: Any) -> Any:
            playing, games = carry
            after = attempt(playing, limit)
            return after, games + ((after.attempts == 0) & (playing.attempts > 0))

        return lax.fori_loop(0, STEPS, body, state)

    def progress(state: Any) -> np.ndarray:
        playing, games = state
        return np.array([np.asarray(playing.turn).sum(dtype=np.int64), np.asarray(games).sum(dtype=np.int64)])

    return jit(start), jit(run, donate_argnums=(0,)), progress


def _random_lines(game: LineGame, lanes: int) -> tuple[Any, Any, Any]:
    move = game.random_move(restart=True)

    def start(seed: jax.Array) -> Any:
        rows = [jnp.zeros(lanes, bb.row_type(game.width))] * game.height
        zero = jnp.zeros(lanes, jnp.int32)
        return rows, rows, zero, zero > 0, _seeds(seed, lanes), zero, zero

    def run(state: Any) -> Any:
        return lax.fori_loop(0, STEPS, lambda _, s: move(*s), state)

    def progress(state: Any) -> np.ndarray:
        *_, turns, games = state
        return np.array([np.asarray(turns).sum(dtype=np.int64), np.asarray(games).sum(dtype=np.int64)])

    return jit(start), jit(run, donate_argnums=(0,)), progress
