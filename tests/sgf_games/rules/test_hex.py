"""Hex: a referee in plain Python, pgx, and what is known of every board: just one player connects his sides, and with
the swap the second player wins."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest
from tiers import full_but

import jubango as jb
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.recovery import read_record
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states, rules
from jubango.sgf_games.sgf.positions import position

BESIDE = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1)]


def connects(board: np.ndarray, player: int) -> bool:
    """Black (0) the first row with the last one, White (1) the first column with the last."""
    size = len(board)
    open_points = [point for point in map(tuple, np.argwhere(board == player + 1).tolist()) if point[player] == 0]
    seen = set(open_points)
    while open_points:
        row, column = open_points.pop()
        if (row, column)[player] == size - 1:
            return True
        for down, across in BESIDE:
            point = row + down, column + across
            if point not in seen and min(point) >= 0 and max(point) < size and board[point] == player + 1:
                seen.add(point)
                open_points.append(point)
    return False


@pytest.mark.parametrize("spec", full_but(["hex:4"], ["hex:4", "hex:7", "hex:17"]))
def test_a_plain_referee_agrees(spec):
    game, games = make_game(spec), 16
    known, rng = rules(game), np.random.default_rng(3)
    states, size = initial_states(game, games), game.width
    boards, over = np.zeros((games, size, size), int), np.zeros(games, bool)
    for ply in range(game.max_plies + 1):
        view, actions = known.view_lanes(states), np.zeros(games, np.int32)
        for lane, board in enumerate(boards):
            state = jax.tree.map(lambda x: x[..., lane], states)  # noqa: B023
            assert np.array_equal(game.stones(state), board)
            winner = next((player for player in (0, 1) if connects(board, player)), None)
            over[lane] = winner is not None
            legal = np.append(board.reshape(-1) == 0, ply == 1) & ~over[lane]
            assert np.array_equal(view.legal[lane], legal)
            assert view.returns[lane].tolist() == {None: [0, 0], 0: [1, -1], 1: [-1, 1]}[winner]
            if over[lane]:
                continue
            swaps = ply == 1 and lane % 2
            actions[lane] = game.swap_action if swaps else rng.choice(np.flatnonzero(legal[:-1]))
            if swaps:
                ((row, column),) = np.argwhere(board == 1)
                board[row, column] = 0
                # Row for column as they are named: D2 becomes B4.
                board[size - 1 - column, size - 1 - row] = 2
            else:
                board.reshape(-1)[actions[lane]] = 1 + ply % 2
        if over.all():
            break
        states = known.step_lanes(states, actions)
    assert over.all()


def test_random_games_end_as_a_referee_says():
    """Full boards, on which just one player has connected his sides."""
    game = make_game("hex:6")
    seeds = np.arange(40, dtype=np.uint32)
    returns, owners = map(np.asarray, jax.jit(game.random_playout_with_amaf)(initial_states(game, 40), seeds))
    boards = 1 + owners[:-1].T.reshape(40, 6, 6)
    assert set(boards.reshape(-1)) == {1, 2}
    for board, (first, second) in zip(boards, returns.T.tolist(), strict=True):
        assert (first > 0, second > 0) == (connects(board, 0), connects(board, 1))
    assert len(set(returns[0])) == 2


def test_the_swap_as_people_write_it():
    after = position("hex:5", "d2 swap")
    assert after.game.stones(after.state)[5 - 4, 1] == 2, "B4 is White's"
    assert np.count_nonzero(after.game.stones(after.state)) == 1
    assert position("hex:5", "d2 swap-pieces c3").game.action_text(25) == "swap"
    for moves, why in [("swap", "only the second player's first move"), ("d2 c3 swap", "only the second"), ("d2 pass", "there is no pass in hex")]:  # fmt: skip
        with pytest.raises(UserError, match=why):
            position("hex:5", moves)


@pytest.mark.full
def test_searches_play_it(tmp_path):
    run = jb.match("rave:simulations=64", "random", "hex:3", 8, tmp_path)
    assert set(run.games["reason"]) == {"connected"}
    assert sum(one.score if one.black != "random" else 1 - one.score for one in run.results) > 4
    assert any("swap" in moves.split() for moves in run.games["moves"]), "and a swap is written and read"
    for one in run.games.itertuples():
        moves = tuple(one.moves.split())
        assert read_record((tmp_path / one.sgf).read_bytes(), one.sgf).moves == moves
        assert jb.read_sgf(tmp_path / one.sgf).moves == moves


@pytest.mark.parametrize(
    ("spec", "message"),
    [("hex:1", "hex: 1x1 is no board; sizes go from 2 to 19"), ("hex:20", "hex: 20x20"), ("hex:5x6", "both sides alike")],
)  # fmt: skip
def test_what_is_no_board(spec, message):
    with pytest.raises(UserError, match=re.escape(message)):
        make_game(spec)


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 3])
def test_with_the_swap_the_second_player_wins(size):
    """Without it the first does (Nash, by the argument of the stolen strategy): of one who opens in the centre and is not
    answered by a swap the solver proves it."""
    bot = "uct:solver=true,simulations=20000"
    assert jb.analyze(position(f"hex:{size}", ""), bot).win_rate.black == 0.0
    reply = position(f"hex:{size}", "b2 a1" if size == 3 else "b1 a2")
    assert jb.analyze(reply, bot).win_rate.black == 1.0


@pytest.mark.full
def test_pgx_has_the_same_games():
    """Mirrored, so that what slants one way here slants the other way there."""
    pytest.importorskip("pgx")
    game, other = make_game("hex:11"), make_game("pgx:hex")
    places = np.arange(121).reshape(11, 11)[:, ::-1].reshape(-1)
    lanes, rng = 16, np.random.default_rng(5)
    states, theirs = initial_states(game, lanes), initial_states(other, lanes)
    observe, observe_theirs = (jax.jit(jax.vmap(one.observe, in_axes=-1)) for one in (game, other))
    for ply in range(game.max_plies):
        view, their_view = rules(game).view_lanes(states), rules(other).view_lanes(theirs)
        assert np.array_equal(view.terminal, their_view.terminal)
        on = ~np.asarray(view.terminal)
        if not on.any():
            break
        legal, their_legal = np.asarray(view.legal), np.asarray(their_view.legal)
        assert np.array_equal(legal[on], np.hstack([their_legal[:, places], their_legal[:, -1:]])[on])
        stones = np.asarray(observe_theirs(theirs)).reshape(lanes, 121, 4)[:, places, :2].reshape(lanes, 11, 11, 2)
        assert np.array_equal(np.asarray(observe(states))[on][..., :2], stones[on])
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in legal], np.int32)
        if ply == 1:
            actions[::2] = game.swap_action
        states = rules(game).step_lanes(states, actions)
        theirs = rules(other).step_lanes(theirs, np.append(places, 121)[actions].astype(np.int32))
    assert np.array_equal(view.returns, their_view.returns)
    assert view.terminal.all()
