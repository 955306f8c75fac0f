"""How often the host calls a device, and how much goes between them: an accelerator waits for every call.

The profiler of JAX counts what is executed, on every device, whoever asks for it. The bounds are those of today: who
adds a call, or a transfer, to a chunk of simulations or to a move raises a number here, and says why.
"""

from __future__ import annotations

import contextlib
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.bots.evaluators.evaluator import Uniform
from jubango.bots.learning import self_play
from jubango.bots.learning.self_play import SelfPlay, starts_of
from jubango.bots.search.host import driver
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.search import Search
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states

profiler = pytest.mark.skipif(not hasattr(jax.profiler, "ProfileData"), reason="this JAX cannot read its profiles")


class Calls:
    """What was executed."""

    programs: float = math.nan  # by all devices together


@contextlib.contextmanager
def counted(folder):
    calls = Calls()
    with jax.profiler.trace(str(folder)):
        yield calls
    (path,) = folder.glob("**/*.xplane.pb")
    planes = jax.profiler.ProfileData.from_file(str(path)).planes
    names = [event.name for plane in planes for line in plane.lines for event in line.events]
    calls.programs = sum("ExecuteHelper" in name for name in names)


@pytest.fixture
def sent(monkeypatch):
    """Bytes that chunks of simulations take from the host, and bring back: {"up": [...], "down": [...]}."""
    found = {"up": [], "down": []}
    gathered = driver.gathered

    def brought(array, axis=0):
        host = gathered(array, axis)
        found["down"].append(host.nbytes)
        return host

    def watched(program):
        def run_chunk(*args):
            found["up"].append(sum(x.nbytes for x in jax.tree.leaves(args) if not isinstance(x, jax.Array)))
            assert not any(isinstance(x, np.ndarray) for x in jax.tree.leaves(args[:3])), "trees, weights and states"
            return program.run_chunk(*args)

        run_chunk.ahead = program.run_chunk.ahead
        return program._replace(run_chunk=run_chunk)

    original = driver.program
    monkeypatch.setattr(driver, "gathered", brought)
    monkeypatch.setattr(driver, "program", lambda *args: watched(original(*args)))
    return found


@profiler
def test_a_chunk_of_a_search_is_one_call(tmp_path, sent):
    game, lanes = make_game("tic_tac_toe"), 8
    search = Search(game, Puct(), Uniform(), 8)
    driving = Driver(search, lanes)
    states = jax.device_put(initial_states(game, driving.trees), driving.program.roots)
    orders = [SearchRequest(i, np.ones(9, bool), SearchParams(8), i) for i in range(lanes)]

    def search_all():
        driving.begin(orders, states)
        chunks = 0
        while driving.busy.any():
            driving.advance(math.inf)
            chunks += 1
        return chunks

    search_all()
    sent["up"].clear(), sent["down"].clear()
    with counted(tmp_path) as calls:
        chunks = sum(search_all() for _ in range(3))
    devices = len(driving.program.sharding.device_set)
    assert calls.programs == chunks * devices
    assert len(sent["up"]) == chunks and max(sent["up"]) <= 4 * driving.trees * (9 + 32)
    answers = 4 * driving.trees * (5 * game.num_actions + 2)  # what roots know
    assert len(sent["down"]) <= 2 * chunks and max(sent["down"]) <= answers


@profiler
@pytest.mark.parametrize(
    ("key", "each", "once"), [("c=0.7", 1, 3), pytest.param("solver=true", 1.5, 2, marks=pytest.mark.full)]
)
def test_a_tournament_calls_once_a_chunk_and_once_a_move(tmp_path, sent, key, each, once):
    """Searches that go on by themselves make their moves on the device: a match is one chunk and its table. Those with
    a solver come back after every move: a chunk of each of the two, and a step of the table."""

    def play():
        return jb.match("uct:simulations=4", f"uct:simulations=4,{key}", game="tic_tac_toe", games=32, seed=3)

    play()
    sent["up"].clear(), sent["down"].clear()
    with counted(tmp_path) as calls:
        run = play()
    assert len(run.results) == 32
    assert calls.programs <= each * len(sent["up"]) + once
    assert max(sent["up"]) <= 200 * 32 and max(sent["down"]) <= 350 * 32  # bytes a game


@profiler
def test_moves_of_self_play_are_one_call(tmp_path):
    game = make_game("tic_tac_toe")
    plan = SelfPlay(Search(game, Puct(), Uniform(), 4), 4, 2)
    begin, play = self_play.program(plan, 32, 1, 4)
    starts, keys = starts_of([game]), [jax.random.key(i) for i in range(4)]
    lanes = begin(starts, keys[0])
    lanes, _ = play((), lanes, starts, keys[0], jnp.float32(-2))
    resign = jnp.float32(-2)
    with counted(tmp_path) as calls:
        for key in keys:
            lanes, moves = play((), lanes, starts, key, resign)
        jax.block_until_ready(moves)
    assert calls.programs == len(keys)
