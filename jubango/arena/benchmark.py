"""What ``jubango bench`` measures: the hot paths alone, on every core."""

from __future__ import annotations

import contextlib
import functools
import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run import Run
from jubango.arena.schedule.plan import Plan, make_plan
from jubango.bots.config import Bot
from jubango.bots.evaluators.evaluator import Evaluator, Params, Uniform
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rule import Rule
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.compute.lane_loops import STEPS_A_TURN, repeat, turn
from jubango.sgf_games.compute.machine import device_layout, gathered
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import FRESH, LEAVE, MOVES_A_STEP, table_program
from jubango.sgf_games.rules.game import Game, State

STEPS_A_CALL = 200  # rules steps in one call; even, since a turn of a loop is two
# Games at once on a device. A power of two would put the same lane of every array into the same set of the
# processor's cache: 4,096 lanes run at three quarters of the speed of 4,128.
GAMES_AT_ONCE = 4128


def playout_speed(game: Game, lanes: int, seconds: float) -> tuple[float, float]:
    """(moves, games) a second of random play, a finished lane starting the next game at once.

    Each device plays ``lanes`` games at a time. The first second, which includes compiling and the
    games' openings, is not counted.
    """
    start, run, progress = _random_play(game.compiled_as, lanes)
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
    """(start(seed), run(state), progress(state) -> [moves, games])."""
    endless = game.endless_games()

    def run(state: Any) -> Any:
        if endless.elementwise:
            return repeat(STEPS_A_CALL, endless.turn, state)
        return lax.fori_loop(0, STEPS_A_CALL // STEPS_A_TURN, lambda _, carry: turn(endless.turn)(carry), state)

    def progress(state: Any) -> np.ndarray:
        return np.array([np.asarray(count).sum(dtype=np.int64) for count in endless.counts(state)])

    return jit(lambda seed: endless.start(_seeds(seed, lanes))), jit(run, donate_argnums=(0,)), progress


@dataclass(frozen=True)
class SearchCase:
    """A search to be timed: ``trees`` at once, each of ``simulations``, from positions ``plies`` random
    moves into the game."""

    game: str
    trees: int
    simulations: int
    evaluator: Evaluator = field(default_factory=Uniform)
    rule: Rule = field(default_factory=lambda: Puct(base=19652.0))
    leaves: int = 1
    plies: int = 0
    params: Params = field(default=(), compare=False)  # the evaluator's weights

    @property
    def label(self) -> str:
        parts = [f"{self.game}, {self.trees} x {self.simulations}"]
        if isinstance(self.evaluator, Rollout):
            parts.append(f"{self.evaluator.rollouts} rollout(s)")
        if isinstance(self.evaluator, NetworkEvaluator):
            parts.append(f"network {self.evaluator.shape.channels}x{self.evaluator.shape.blocks}")
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
    search = Search(game, case.rule, case.evaluator, case.simulations, leaves=case.leaves)
    driver = Driver(search, case.trees, params=case.params)
    states, legal = _random_positions(game, driver.trees, case.plies)
    params = SearchParams(case.simulations, c=1.25)
    orders = [SearchRequest(i, legal[i], params, i) for i in range(case.trees)]
    speeds = []
    for _ in range(repeats + 1):
        began, before = time.perf_counter(), driver.made
        driver.begin(orders, states)
        while driver.busy.any():
            driver.advance(math.inf)
        speeds.append((driver.made - before) / (time.perf_counter() - began))
    return speeds[1:]


@dataclass(frozen=True)
class TournamentCase:
    """A tournament to be timed: bots of so many simulations (0: the random bot) on one game."""

    game: str
    simulations: tuple[int, ...]
    games_per_pairing: int
    games_at_once: int

    @property
    def label(self) -> str:
        bots = "random" if not any(self.simulations) else "uct " + ", ".join(map(str, self.simulations))
        return f"{self.game}, {bots}, {self.games_at_once} at once"

    def plan(self) -> Plan:
        bots = [
            Bot("uct", name=f"uct-{n}", simulations=n) if n else Bot("random", name=f"random-{i}")
            for i, n in enumerate(self.simulations, 1)
        ]
        keys = {"games": self.games_per_pairing, "games_at_once": self.games_at_once, "seed": 1, "name": "bench"}
        return make_plan(self.game, bots, keys)


TOURNAMENT_CASES = (
    TournamentCase("connect_four", (100, 400, 800), 400, 128),
    TournamentCase("connect_four", (100, 400, 800), 1000, 1024),
    TournamentCase("go:9,komi=7", (50, 200, 800), 400, 256),
    TournamentCase("tic_tac_toe", (0, 0), 20_000, 1024),
)


class TournamentSpeed(NamedTuple):
    games: int
    seconds: float  # from the first move to the last game stored; making the programs is not counted
    simulations: float  # a second
    bare: float  # simulations a second of the bare search: the same lanes, the largest of the budgets, no games

    @property
    def share(self) -> float:
        return self.simulations / self.bare if self.bare else math.nan


def tournament_speed(case: TournamentCase) -> TournamentSpeed:
    """Play a whole tournament into a folder that is thrown away, everything recorded, and the bare search before and
    after it."""
    largest = max(case.simulations)
    bare = SearchCase(case.game, case.games_at_once, largest, Rollout(), Ucb1())
    speeds = search_speed(bare, 3) if largest else []
    ready, stored, made = 0.0, 0.0, 0

    def look(run: Run) -> None:
        nonlocal made, stored
        if run.table:
            made, stored = run.table.simulations, time.perf_counter()

    @contextlib.contextmanager
    def preparing(what: str) -> Iterator[None]:
        nonlocal ready
        yield
        ready = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        run = play_plan(case.plan(), Path(folder), look, preparing)
    seconds = stored - ready
    speeds += search_speed(bare, 3) if largest else []
    return TournamentSpeed(len(run.results), seconds, made / seconds, statistics.median(speeds) if speeds else 0.0)


def _random_positions(game: Game, lanes: int, plies: int) -> tuple[State, np.ndarray]:
    """(positions after so many random moves, the same every time, on the devices; their legal actions)."""
    rng = np.random.default_rng(1)
    number, size = device_layout(lanes)
    table = table_program(game, size, number)
    states, told = table.first(), np.full((MOVES_A_STEP, size), LEAVE, np.int32)
    for ply in range(plies + 1):
        states, look, _ = table.step(states, told, np.bool_(False))
        seen = gathered(look)
        legal, over = seen[:, :-2].view(bool), seen[:, -1] > 0
        if ply < plies:  # a finished game begins anew
            points = legal[:, : game.height * game.width]
            chosen = [rng.choice(np.flatnonzero(row)) if row.any() else LEAVE for row in points]
            told[0] = np.where(over, FRESH, chosen)
    return states, legal


def _seeds(seed: jax.Array, lanes: int) -> jax.Array:
    return mix(jnp.arange(lanes, dtype=jnp.uint32) + seed * jnp.uint32(lanes) + jnp.uint32(1))
