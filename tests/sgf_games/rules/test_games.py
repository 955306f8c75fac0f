"""All games pass the conformance suite; the published counts of the line games."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from perft import perft
from tiers import full_but

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import CATALOGUE, make_game, register_game
from jubango.sgf_games.rules.compiled import LEAVE, MOVES_A_STEP, initial_state, initial_states, rules, table_program
from jubango.sgf_games.rules.conformance.check_game import check_game
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import position

SPECS = [
    "go:5,ko=positional", "go:3x4,komi=0.5,ko=situational,suicide=true", "go:16x2", "connect_four", "tic_tac_toe",
    "gomoku:6", "mnk:4x5,k=3", "connect_four:4x5,k=3", "mnk:17x3,k=3", "othello", "othello:4x6",
    "hex:4", "hex:16",
]  # fmt: skip


@pytest.mark.parametrize("spec", full_but(["connect_four", "tic_tac_toe"], SPECS))
def test_conformance(spec):
    check_game(spec)


@pytest.mark.parametrize("spec", SPECS)
def test_specs_round_trip(spec):
    game = make_game(spec)
    assert make_game(game.spec) == game
    assert hash(make_game(game.spec)) == hash(game)


@pytest.mark.parametrize(
    "spec", full_but(["go:4", "tic_tac_toe"], ["go:4", "connect_four", "tic_tac_toe", "mnk:5x4,k=4", "othello"])
)
def test_playouts_depend_on_their_seed_and_state_alone(spec):
    game = make_game(spec)
    playout = jit(game.random_playout)
    states = game.without_history(initial_states(game, 64))
    seeds = jnp.arange(64, dtype=jnp.uint32) * 977
    together = np.asarray(playout(states, seeds))
    assert np.array_equal(together[:, 5:6], playout(jax.tree.map(lambda x: x[..., 5:6], states), seeds[5:6]))
    assert np.array_equal(together[:, ::-1], playout(states, seeds[::-1]))
    assert np.all(together.sum(0) == 0)
    assert len(np.unique(together)) > 1


def test_random_tic_tac_toe_ends_as_computed():
    """Uniformly random games: the first player wins 737/1260, the second 121/420, draws 8/63."""
    game = make_game("tic_tac_toe")
    n = 40_000
    returns = np.asarray(jit(game.random_playout)(initial_states(game, n), jnp.arange(n, dtype=jnp.uint32)))[0]
    for value, expected in ((1, 737 / 1260), (-1, 121 / 420), (0, 8 / 63)):
        error = (expected * (1 - expected) / n) ** 0.5
        assert abs(np.mean(returns == value) - expected) < 5 * error


def test_the_plain_playout_agrees_with_the_fast_one():
    """The generic playout that users' own games get has the same distribution."""
    from jubango.sgf_games.rules.game import Game

    game = make_game("connect_four")
    n = 2_000
    states, seeds = initial_states(game, n), jnp.arange(n, dtype=jnp.uint32)
    plain = np.asarray(jit(lambda s, k: Game.random_playout(game, s, k))(states, seeds))[0]
    fast = np.asarray(jit(game.random_playout)(states, seeds + 5))[0]
    assert abs(plain.mean() - fast.mean()) < 5 * (2 / n) ** 0.5


def test_a_stone_lies_where_it_is_said_to_or_nowhere():
    """A column by its letter or its number, or the point where a stone comes to lie."""
    game = make_game("connect_four")
    assert [game.parse_action(text) for text in ("D", "d", "4", "D4")] == [3, 3, 3, 3]
    here = position(game, "D 4 d3")
    assert here.last == (3, 3)
    for move, said in {
        "D2": "D2: it is taken; a stone in column D comes to lie on D4: D",
        "D5": "D5: nothing lies below it; a stone in column D comes to lie on D4: D",
        "8": '"8" is no column; there are 1 to 7',
        "9" * 5000: "is no column",
        "D7": '"D7" is not on the 7x6 board',
    }.items():
        with pytest.raises(UserError, match=re.escape(said)):
            here.after(move)
    full = position(game, "D D D D D D")
    for move in ("D", "4", "D6"):
        with pytest.raises(UserError, match="is illegal"):
            full.after(move)


def test_connect_four_counts():
    sequences, positions = perft("connect_four", 8)
    assert sequences == [7, 49, 343, 2401, 16807, 117649, 823536, 5673234]
    assert positions[:6] == [7, 49, 238, 1120, 4263, 16422]


@pytest.mark.full
def test_tic_tac_toe_counts():
    """255,168 games; 5,478 positions."""
    game = make_game("tic_tac_toe")
    compiled = rules(game)
    first = jax.device_get(game.init())
    empty = game.stones(first).tobytes()
    results, seen = {1: 0, 0: 0, -1: 0}, {empty}
    boards: dict[bytes, tuple] = {empty: (first, 1)}
    while boards:
        keys = list(boards)
        batch = jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x], -1), *[boards[k][0] for k in keys])
        ways = [boards[k][1] for k in keys]
        width = 1 << max(4, (len(keys) - 1).bit_length())
        pad = lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - len(keys))])  # noqa: E731, B023
        view = jax.device_get(compiled.view_lanes(jax.tree.map(pad, batch)))
        following: dict[bytes, tuple] = {}
        for i, way in enumerate(ways):
            if view.terminal[i]:
                results[int(view.returns[i][0])] += way
                continue
            for action in np.flatnonzero(view.legal[i]):
                after = jax.device_get(compiled.step(jax.tree.map(lambda x: x[..., i], batch), action))  # noqa: B023
                key = game.stones(after).tobytes()
                seen.add(key)
                following[key] = (after, following.get(key, (None, 0))[1] + way)
        boards = following
    assert results == {1: 131_184, -1: 77_904, 0: 46_080}
    assert len(seen) == 5_478


def test_gomoku_has_572_lines():
    from jubango.sgf_games.compute import bitboard as bb
    from jubango.sgf_games.rules.lines.mnk import has_line

    rng = np.random.default_rng(2)
    n = 15
    lines = []
    for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for r in range(n):
            for c in range(n):
                if 0 <= r + 4 * dr < n and 0 <= c + 4 * dc < n:
                    lines.append([(r + i * dr, c + i * dc) for i in range(5)])
    assert len(lines) == 572
    found = jit(lambda rows: has_line(bb.unpack(rows), 5))
    boards = np.zeros((572 * 2, n, n), bool)
    for i, line in enumerate(lines):
        for r, c in line:
            boards[i, r, c] = True
        boards[572 + i] = boards[i]
        boards[572 + i][line[rng.integers(5)]] = False
    packed = (boards << np.arange(n)).sum(-1).astype(np.uint16).T
    answers = np.asarray(found(jnp.asarray(packed)))
    assert answers[:572].all()
    assert not answers[572:].any()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("goo:9", 'did you mean "go"'), ("go:26", "1 to 25"), ("go:9,komi=nan", "not a number"), ("go:0", "1 to 25"),
        ("go:9,komi=0.3", "half"), ("go:9,kom=7", 'did you mean "komi"'), ("go:9,ko=super", "positional"),
        ("go:9,suicide=maybe", "true or false"), ("go:9x", "width x height"), ("mnk:3,k=0", "between"),
        ("go:9,7", "key=value"), ("go:9,komi=1,komi=2", "twice"), ("", "no game"),
    ],
)  # fmt: skip
def test_bad_specs_get_one_clear_line(spec, message):
    with pytest.raises(UserError, match=message) as caught:
        make_game(spec)
    assert "\n" not in str(caught.value)


def test_a_game_of_ones_own():
    from dataclasses import dataclass
    from typing import ClassVar

    from jubango.sgf_games.rules.lines.mnk import Mnk

    @dataclass(frozen=True)
    class Reversed(Mnk):
        name: ClassVar[str] = "misere"

        def returns(self, state):
            return -super().returns(state)

    register_game("misere", Reversed, "3", "three in a row loses")
    try:
        assert make_game("misere").returns(Reversed().init()).shape == (2,)
    finally:
        del CATALOGUE["misere"]


def test_a_table_makes_several_moves_in_one_step():
    game = make_game("connect_four")
    table = table_program(game, 4, 1)
    rng = np.random.default_rng(4)
    moves = [[int(x) for x in rng.integers(0, 7, n)] for n in (0, 1, 5, 12)]
    told = np.full((MOVES_A_STEP, 4), LEAVE, np.int32)
    for lane, own in enumerate(moves):
        told[: len(own), lane] = own
    states, _, _ = table.step(table.first(), told, np.bool_(False))
    for lane, own in enumerate(moves):
        state = initial_state(game)
        for action in own:
            state = rules(game).step(state, action)
        for x, y in zip(jax.tree.leaves(states), jax.tree.leaves(state), strict=True):
            assert np.array_equal(np.asarray(x)[..., lane], np.asarray(y))


@pytest.mark.parametrize("spec", ["tic_tac_toe", "gomoku:7", "connect_four", "go:3"])
@pytest.mark.parametrize("plain", [False, True])
def test_who_took_what_first_in_random_games(spec, plain):
    """What a random game tells of its moves fits the game; the plain form, which serves any game, as a game's own."""
    game = make_game(spec)
    states = initial_states(game, 32)
    for action in (1, 0):
        states = jax.vmap(game.step, in_axes=(-1, None), out_axes=-1)(states, action)
    states = game.without_history(states)
    seeds = jnp.arange(32, dtype=jnp.uint32) * 5 + 2
    kind = Game if plain else type(game)
    returns = jit(lambda states, seeds: kind.random_playout(game, states, seeds))(states, seeds)
    told, first = map(
        np.asarray, jit(lambda states, seeds: kind.random_playout_with_amaf(game, states, seeds))(states, seeds)
    )
    assert np.array_equal(told, returns), "it is the same game"
    assert set(np.unique(first)) == {-1, 0, 1}
    if spec in ("tic_tac_toe", "gomoku:7"):  # every stone is the first on its point
        assert (first[:2] == -1).all(), "these had been taken before"
        by = [(first == player).sum(axis=0) for player in (0, 1)]
        assert np.isin(by[0] - by[1], (0, 1)).all()
        won, full = np.asarray(returns[0]) != 0, sum(by) == game.num_actions - 2
        assert (won | full).all()
        black_last = by[0] > by[1]
        assert np.array_equal(np.asarray(returns[0])[won] > 0, black_last[won]), "who moves last has won"
