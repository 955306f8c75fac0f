"""Komi is a number of the state: one program for all of them, and never another game's komi in it."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import random_network
from referee.go import PASS, RefereeGo
from schedules import round_robin

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.games.pool import GamePool
from jubango.bots.composition import evaluator_for, search_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.evaluator import Evaluation, Evaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search.host.run import run_many
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, initial_states, rules, table_program
from jubango.sgf_games.rules.go.go import Go, Komi

KOMIS = (7, 7.5, 0, -5.5, 100)
HALVES = st.integers(-2000, 2000).map(lambda n: n / 2)


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """What is compiled, or loaded from the disk, inside."""
    said: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "Finished XLA compilation" in record.getMessage():
                said.append(record.getMessage()[:100])

    keep, logger = Keep(), logging.getLogger("jax")
    logger.addHandler(keep)
    try:
        with jax.log_compiles():
            yield said
    finally:
        logger.removeHandler(keep)


def refereed(game: Go, moves: list[str] | tuple[str, ...]) -> float:
    """The margin of a game's last position, by the book."""
    referee = RefereeGo(game.width, game.height, game.komi, game.ko, game.suicide)
    for text in moves:
        referee.play(PASS if text == "pass" else game.action_point(None, game.parse_action(text)))
    return referee.area()


@pytest.mark.full
def test_tournaments_with_other_komis_compile_nothing_and_are_scored_with_their_own():
    """More games than lanes, so that lanes begin anew in the program too; at the end the first komi again."""
    bots = [bot_from_spec(spec) for spec in (
        "random", "uct:simulations=16,reuse=true", "uct:evaluator=heuristic,simulations=8,transpositions=true",
        "minimax:depth=2",
    )]  # fmt: skip
    tasks = list(round_robin([bot.name for bot in bots], 2, 3))
    games: dict[float, list] = {}
    initial_state.cache_clear()  # other tests' positions; the program that made them may be gone
    for komi in (5.5, *KOMIS, 5.5):
        game = Go(3, 3, komi)
        with compilations() as compiled:
            records = [record for finished in GamePool(game, bots, 8).play(tasks) for record in finished]
        assert len(records) == len(tasks)
        for record in records:
            assert record.game == game.spec
            assert record.result == game.margin_text(refereed(game, record.moves)), record
        found = sorted((record.game_id, record.moves, record.result) for record in records)
        assert found == games.setdefault(komi, found), "the same again, whatever has been played in between"
        if len(games) > 1:
            assert compiled == []
    assert {record[2] for record in games[0]} & {"0", "B+9"}
    assert all(record[2].startswith("W+") for record in games[100])


@settings(max_examples=40, deadline=None)
@given(komi=HALVES, seed=st.integers(0, 2**32 - 1))
def test_the_same_moves_differ_by_the_komi(komi: float, seed: int):
    """Whole, half, negative: the margin of a random game, its result and its draws are the referee's."""
    game, rng = Go(3, 3, komi), np.random.default_rng(seed)
    state, referee = initial_state(game), RefereeGo(3, 3, komi)
    for _ in range(rng.integers(0, 12)):
        move = referee.legal_moves()[rng.integers(len(referee.legal_moves()))]
        if move is PASS:
            continue
        referee.play(move)
        state = rules(game).step(state, game.point_action(move))
    for _ in range(2):
        state = rules(game).step(state, game.pass_action)
    margin = referee.area()
    assert game.result_text(state) == game.margin_text(margin)
    assert np.asarray(rules(game).view(state).returns).tolist() == [np.sign(margin), -np.sign(margin)]


def test_games_of_many_komis_in_one_batch():
    """One search of positions of different games: the value of each is its own komi's."""
    komis, ko = (-100, 100, 8.5, 9.5, -100), "situational"
    found = run_many(
        Search(Go(3, 3, 100, ko), Ucb1(), Rollout(), 32),
        [initial_state(Go(3, 3, komi, ko)) for komi in komis],
        seed=[1] * len(komis),
    )
    values = [result.value for result in found]
    assert (values[0], values[1], values[3], values[4]) == (1, -1, -1, 1)
    assert -1 < values[2] <= 1


def test_set_up_positions_carry_the_komi():
    stones = np.zeros((5, 5), np.int8)
    stones[2, 1:4] = 1
    for komi in (0.5, 30, -2):
        game = Go(5, 5, komi)
        with compilations() as compiled:
            state = game.set_up(stones, player=1)
            assert (
                game.result_text(state) == game.result_text(game.with_player(state, 0)) == game.margin_text(25 - komi)
            )
            for text in ("A1", "pass", "pass"):
                state = rules(game).step(state, game.parse_action(text))
            assert game.result_text(state) == game.margin_text(3 - 1 - komi)
        assert komi == 0.5 or compiled == []


@pytest.mark.full
def test_a_table_s_lanes_begin_with_their_game_s_komi():
    for komi in (7.5, 5.5, 7.5):
        table = table_program(Go(3, 3, komi), 4, 1)
        states = table.first()
        told = np.full((17, 4), -1, np.int32)
        told[0] = (-2, 9, 4, -1)  # anew, pass, a stone, nothing
        states, _, _ = table.step(states, told, np.bool_(True))
        told[0] = 9
        states, look, _ = table.step(states, told, np.bool_(True))
        states, look, margins = table.step(states, told, np.bool_(True))  # two passes: begun anew inside
        assert np.asarray(look)[:, -1].any()
        assert np.asarray(states.komi).tolist() == [komi] * 4
        over = np.asarray(look)[:, -1] > 0
        assert set(np.asarray(margins)[over].tolist()) <= {-komi, 9 - komi}


@pytest.mark.full
def test_the_game_that_programs_are_made_for_has_no_komi():
    """What would take one from it fails, or is seen."""
    kept = Go(3, 3, 6.5, "positional", True)
    game = kept.compiled_as
    assert game == Go(3, 3, 0, "positional", True).compiled_as == game.compiled_as
    assert game != kept.compiled_as.__class__(3, 3, 6.5, "simple", True).compiled_as
    assert game.komi is Komi.OF_STATE
    with pytest.raises(TypeError):
        jnp.float32(1) - game.komi
    with pytest.raises(UserError, match="not a number"):
        make_game(game.spec)
    assert np.isnan(game.init().komi)
    assert np.isnan(game.margin(game.init()))
    for other in ("connect_four", "tic_tac_toe", "gomoku:8"):
        assert make_game(other).compiled_as == make_game(other)


class Reckons(Evaluator):
    """One that reads the komi where it is not."""

    def __call__(self, params, game, states, legal, seeds):
        return Evaluation(legal.astype(jnp.float32), jnp.full(legal.shape[0], jnp.tanh(0.0 - game.komi)))


def test_an_evaluator_that_takes_the_komi_from_the_game_is_stopped():
    game = Go(3, 3, 6.5)
    with pytest.raises(TypeError, match="Komi"):
        run_many(Search(game, Ucb1(), Reckons(), 4), [initial_state(game)])


@pytest.mark.full
def test_programs_of_the_library_hold_no_komi():
    """So that what the disk keeps of one komi does for the next, inside anybody's programs too."""
    texts = set()
    for komi in (6.5, 0):
        game = Go(3, 3, komi)
        search = jb.Search(game, jb.Puct(), Rollout(), capacity=4)
        states = jax.tree.map(lambda x: np.moveaxis(np.asarray(x), -1, 0), initial_states(game, 2))
        texts.add(jax.jit(search).lower((), states, jax.random.key(0)).as_text())
        texts.add(jax.jit(jax.vmap(game.random_playout, in_axes=(-1, 0))).lower(
            jax.tree.map(lambda x: np.asarray(x)[..., None, None].repeat(2, -1), game.without_history(initial_state(game))),
            np.zeros((2, 1), np.uint32)).as_text())  # fmt: skip
    assert len(texts) == 2


@pytest.mark.full
def test_networks_of_other_komis_are_one_program(tmp_path):
    found = set()
    for komi in (6.5, 0):
        game, path = Go(3, 3, komi), tmp_path / f"{komi}.safetensors"
        random_network(path, game, 4, 1)
        bot = bot_from_spec(f"alphazero:simulations=4,network={path}")
        search = search_for(game, [bot], evaluator_for(game, bot).evaluator)
        found.add(dataclasses.replace(search, game=game.compiled_as))
    assert len(found) == 1


def test_one_position_does_not_hide_another_by_its_komi():
    """The table of transpositions is filled as it was before the komi was in the state."""
    keys = {tuple(np.asarray(Go(5, 5, k).transposition_key(initial_state(Go(5, 5, k)))).tolist()) for k in KOMIS}
    assert len(keys) == 1


@pytest.mark.full
def test_analyses_with_other_komis_compile_once(tmp_path, capsys):
    texts = {}
    for komi in ("6.5", "0.5", "-90", "90"):
        path = tmp_path / f"{komi}.sgf"
        path.write_text(f"(;GM[1]SZ[4]KM[{komi}]HA[2]AB[bb][cc];W[bc];B[cb])")
        with compilations() as compiled:
            assert command(["analyze", str(path), "--bot", "uct:simulations=64", "--format", "json"]) == 0
        texts[komi] = capsys.readouterr().out
        if len(texts) > 1:
            assert compiled == []
    assert len(set(texts.values())) == 4
    record = jb.read_sgf(tmp_path / "0.5.sgf")
    assert [float(p.state.komi) for p in record.positions] == [0.5] * 3
