"""What KataGo's networks are told of Go, against what KataGo's own code makes of the same moves."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules, view_of
from jubango.sgf_games.rules.go.life import alive_areas, liberty_counts

# By KataGo 1.17.2's fillRowV7: the moves of a game, the planes [22, H, W] packed into bits, the numbers.
GOLDEN = json.loads((Path(__file__).parent / "katago_inputs.json").read_text())


@pytest.mark.full
@pytest.mark.parametrize("spec", GOLDEN)
def test_planes_and_numbers_are_katagos(spec):
    """Liberties, ko and superko, the last moves, ladders now and before, areas, komi and rules, bit by bit."""
    game = make_game(spec)
    states = []
    for one in GOLDEN[spec]:
        state = game.init()
        for move in one["moves"]:
            state = rules(game).step(state, move)
        states.append(state)
    legal = view_of(game, states).legal
    batch = jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *states)
    planes, numbers = jax.jit(game.katago_inputs)(batch, jnp.asarray(legal))
    for i, one in enumerate(GOLDEN[spec]):
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(one["planes"]), np.uint8))[: 22 * game.height * game.width]
        wanted = bits.reshape(22, game.height, game.width)
        for plane in range(22):
            np.testing.assert_array_equal(planes[i, :, :, plane], wanted[plane], f"plane {plane} of position {i}")
        np.testing.assert_allclose(numbers[i], one["numbers"], atol=1e-6)


AREAS = [
    # Black lives with two eyes; White's stone in one of them is dead; what both touch is nobody's.
    (
        "XX.X.OO/.XXXXO./XXOX.O./.X.X.OO/XXXX.../......./......O",
        "XXXX.OO/XXXXXOO/XXXX.OO/XXXX.OO/XXXX.../......./......O",
    ),
    # One eye is no life; the corner is Black's as long as nobody contests it.
    (
        "..X..../XXX..../......./......./......./......./......O",
        "XXX..../XXX..../......./......./......./......./......O",
    ),
    (
        "......./......./......./...X.../......./......./.......",
        "XXXXXXX/XXXXXXX/XXXXXXX/XXXXXXX/XXXXXXX/XXXXXXX/XXXXXXX",
    ),
]


@pytest.mark.parametrize(("board", "wanted"), AREAS)
def test_areas(board, wanted):
    def points(text, colour):
        return np.array([sign == colour for sign in text.replace("/", "")])

    black, white = (jnp.asarray(points(board, colour)) for colour in "XO")
    found = jax.jit(lambda *x: alive_areas(*x, 7, 7, suicide=False))
    expected = points(wanted, "X").astype(int) - points(wanted, "O")
    np.testing.assert_array_equal(found(black, white), expected)
    np.testing.assert_array_equal(found(white, black), -expected)


def test_liberties_of_random_boards():
    """As counted stone by stone."""
    rng = np.random.default_rng(0)
    count = jax.jit(lambda *x: liberty_counts(*x, 5, 6))
    for _ in range(20):
        board = rng.choice(3, (5, 6), p=[0.3, 0.35, 0.35])
        found = np.asarray(count(jnp.asarray(board.ravel() == 1), jnp.asarray(board.ravel() == 2))).reshape(5, 6)
        for point in np.ndindex(5, 6):
            assert found[point] == liberties_of(board, point)


def liberties_of(board, point):
    if not board[point]:
        return 0
    chain, free, ahead = {point}, set(), [point]
    while ahead:
        y, x = ahead.pop()
        for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if 0 <= near[0] < board.shape[0] and 0 <= near[1] < board.shape[1] and near not in chain:
                if board[near] == board[point]:
                    chain.add(near)
                    ahead.append(near)
                elif not board[near]:
                    free.add(near)
    return len(free)
