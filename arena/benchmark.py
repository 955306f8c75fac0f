"""What ``jubango bench`` measures: the hot paths alone, on every core."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.evaluators.evaluator import Evaluator, Uniform
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search.program import program
from jubango.bots.search.root import Numbers, settings_for
from jubango.bots.search.search import Search
from jubango.bots.search.select import Puct, Selection, Ucb1
from jubango.sgf_games import bitboard as bb
from jubango.sgf_games import go_playout
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.compiled import initial_states, rules
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import Game
from jubango.sgf_games.go import Go
from jubango.sgf_games.kernels import twice
from jubango.sgf_games.machine import jit
from jubango.sgf_games.mnk import LineGame

STEPS = 200  # rules steps in one call; even, since a turn of a loop is two
# Games at once on a device. A power of two would put the same lane of every array into the same set of the
# processor's cache: 4,096 lanes run at three quarters of the speed of 4,128.
LANES = 4128


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


@dataclass(frozen=True)
class SearchCase:
    """A search to be timed: ``trees`` at once, each of ``simulations``, from positions ``plies`` random
    moves into the game."""

    game: str
    trees: int
    simulations: int
    evaluator: Evaluator = field(default_factory=Uniform)
    selection: Selection = field(default_factory=lambda: Puct(base=19652.0))
    leaves: int = 1
    plies: int = 0

    @property
    def label(self) -> str:
        parts = [f"{self.game}, {self.trees} x {self.simulations}"]
        if isinstance(self.evaluator, Rollout):
            parts.append(f"{self.evaluator.rollouts} rollout(s)")
        if self.leaves > 1:
            parts.append(f"{self.leaves} leaves at once")
        if self.plies:
            parts.append(f"after {self.plies} random moves")
        return ", ".join(parts)


# Uniform prior and zero value, then rollouts: what is compared with other programs in benchmarks/.
SEARCH_CASES = (
    SearchCase("go:9", 64, 128),
    SearchCase("go:9", 64, 512),
    SearchCase("go:9", 64, 128, plies=40),
    SearchCase("go:9", 1, 800, leaves=32),
    SearchCase("go:9", 1, 800),
    SearchCase("connect_four", 256, 128),
    SearchCase("tic_tac_toe", 256, 128),
    SearchCase("go:9", 128, 400, Rollout(), Ucb1()),
    SearchCase("connect_four", 128, 800, Rollout(), Ucb1()),
    SearchCase("gomoku:8", 128, 400, Rollout(), Ucb1()),
    SearchCase("tic_tac_toe", 128, 800, Rollout(), Ucb1()),
)


def search_speed(case: SearchCase, repeats: int = 5) -> list[float]:
    """Simulations a second of each of ``repeats`` searches, from positions on the devices to having
    the root statistics on the host; a first one, which compiles, is not counted. The middle of them is the figure."""
    game = make_game(case.game)
    search = Search(game, case.selection, case.evaluator, case.simulations, leaves=case.leaves)
    compiled = program(search, case.trees)
    states = _random_positions(game, compiled.trees, case.plies)
    legal = np.array(rules(game).view_lanes(states).legal)
    roots = jax.tree.map(lambda x: np.moveaxis(np.asarray(x), -1, 0), game.without_history(states))
    mask = np.arange(compiled.trees) < case.trees
    numbers = [Numbers(case.simulations, c=1.25)] * compiled.trees
    seeds = np.arange(compiled.trees, dtype=np.uint32)
    settings = settings_for(search, numbers, legal, seeds)
    arguments = jax.device_put((mask, np.zeros_like(mask), roots, legal, settings, seeds), compiled.sharding)
    s, speeds = compiled.idle(), []
    for _ in range(repeats + 1):
        jax.block_until_ready(s)
        began = time.perf_counter()
        s = compiled.begin(s, *arguments)
        s, found = compiled.advance(s, case.simulations)
        done = int(np.asarray(found.done)[: case.trees].sum())
        speeds.append(done / (time.perf_counter() - began))
    return speeds[1:]


def _random_positions(game: Game, lanes: int, plies: int) -> Any:
    """A batch of positions after so many random moves, the same every time; a finished game begins anew."""
    states, rng = initial_states(game, lanes), np.random.default_rng(1)
    view = jax.device_get(rules(game).view_lanes(states))
    for _ in range(plies):
        actions = np.array([rng.choice(np.flatnonzero(row[: game.height * game.width])) if row.any() else -1
                            for row in view.legal], np.int32)  # fmt: skip
        states, view = jax.device_get(rules(game).step_lanes(states, actions, view.terminal))
    return states


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
        def step(carry: Any) -> Any:
            playing, games = carry
            after = attempt(playing, limit)
            return after, games + ((after.attempts == 0) & (playing.attempts > 0))

        return lax.fori_loop(0, STEPS // 2, lambda _, carry: twice(step)(carry), state)

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
        return lax.fori_loop(0, STEPS // 2, lambda _, s: twice(lambda s: move(*s))(s), state)

    def progress(state: Any) -> np.ndarray:
        *_, turns, games = state
        return np.array([np.asarray(turns).sum(dtype=np.int64), np.asarray(games).sum(dtype=np.int64)])

    return jit(start), jit(run, donate_argnums=(0,)), progress
