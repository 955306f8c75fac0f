"""Othello: the counts that are published, a referee in plain Python, pgx, and the shortest game there is."""

from __future__ import annotations

import itertools
import re

import jax
import numpy as np
import pytest
from perft import perft
from tiers import full_but

import jubango as jb
from jubango.bots.learning.recorded_games import line_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.library.recovery import read_record
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states, rules
from jubango.sgf_games.sgf.positions import position
from jubango.sgf_games.sgf.sgf import parse_sgf

WAYS = [way for way in itertools.product((-1, 0, 1), repeat=2) if way != (0, 0)]


@pytest.mark.parametrize("depth", full_but([5], [5, 7]))
def test_counts(depth):
    """As Bik's "Perft for Reversi" has them."""
    assert perft("othello", depth)[0] == [4, 12, 56, 244, 1396, 8200, 55092][:depth]


def test_the_shortest_game():
    """Nine moves, as Othello players write them; White has no stone left."""
    end = position("othello", "e6 f4 e3 f6 g5 d6 e7 f5 c5")
    stones = end.game.stones(end.state)
    assert end.over
    assert (np.count_nonzero(stones == 1), np.count_nonzero(stones == 2)) == (13, 0)
    assert end.game.result_text(end.state) == "B+"


def enclosed(board: np.ndarray, player: int, row: int, column: int) -> list[tuple[int, int]]:
    """The points whose stones a move turns over."""
    found = []
    for down, across in WAYS:
        line, r, c = [], row + down, column + across
        while 0 <= r < board.shape[0] and 0 <= c < board.shape[1] and board[r, c] == 2 - player:
            line.append((r, c))
            r, c = r + down, c + across
        if 0 <= r < board.shape[0] and 0 <= c < board.shape[1] and board[r, c] == 1 + player:
            found += line
    return found


def moves_of(board: np.ndarray, player: int) -> dict[tuple[int, int], list[tuple[int, int]]]:
    empty = map(tuple, np.argwhere(board == 0).tolist())
    return {point: turned for point in empty if (turned := enclosed(board, player, *point))}


@pytest.mark.parametrize("spec", full_but(["othello:4"], ["othello", "othello:4", "othello:6x4", "othello:4x8"]))
def test_a_plain_referee_agrees(spec):
    game, games = make_game(spec), 16
    known, rng = rules(game), np.random.default_rng(3)
    states = initial_states(game, games)
    boards = np.repeat(game.stones(game.init())[None], games, axis=0)
    players, over, passes = np.zeros(games, int), np.zeros(games, bool), 0
    for _ in range(game.max_plies + 1):
        view = known.view_lanes(states)
        actions = np.zeros(games, np.int32)
        for lane, board in enumerate(boards):
            state = jax.tree.map(lambda x: x[..., lane], states)  # noqa: B023
            assert np.array_equal(game.stones(state), board)
            found, others = (moves_of(board, player) for player in (players[lane], 1 - players[lane]))
            over[lane] = not found and not others
            legal = {row * game.width + column for row, column in found} or {game.pass_action}
            legal = set() if over[lane] else legal
            assert set(np.flatnonzero(view.legal[lane]).tolist()) == legal
            assert view.terminal[lane] == over[lane]
            first = np.sign(np.sum(board == 1) - np.sum(board == 2)) * over[lane]
            assert view.returns[lane].tolist() == [first, -first]
            if over[lane]:
                continue
            actions[lane] = rng.choice(sorted(legal))
            if actions[lane] == game.pass_action:
                passes += 1
            else:
                point = divmod(int(actions[lane]), game.width)
                for row, column in [point, *found[point]]:
                    board[row, column] = 1 + players[lane]
            players[lane] = 1 - players[lane]
        if over.all():
            break
        states = known.step_lanes(states, actions)
    assert over.all()
    assert passes > 0


def test_who_took_what_in_random_games():
    game, lanes = make_game("othello:4"), 64
    states, seeds = initial_states(game, lanes), np.arange(lanes, dtype=np.uint32)
    returns, taken = map(np.asarray, jit(game.random_playout_with_amaf)(states, seeds))
    assert np.array_equal(returns, jit(game.random_playout)(states, seeds)), "it is the same game"
    assert (taken[[5, 6, 9, 10, game.pass_action]] == -1).all(), "where stones lay, and the pass"
    first, second = ((taken == player).sum(axis=0) for player in (0, 1))
    assert (first + second <= 12).all()
    assert (first + second == 12).any()
    assert set(taken[2]) >= {0, 1}, "either player takes a point"
    over = jax.tree.map(lambda x: x[..., 0], states)._replace(over=np.bool_(True))
    ended = jax.tree.map(lambda x: np.asarray(x)[..., None], over)
    assert (np.asarray(jit(game.random_playout_with_amaf)(ended, seeds[:1])[1]) == -1).all()


@pytest.mark.full
def test_recorded_games_end_without_passes(tmp_path):
    """Unlike games of Go, where a margin says that the players have passed and counted."""
    game = make_game("othello:4")
    run = jb.match("random", "random:name=other", game, 4, tmp_path)
    for one in run.games.itertuples():
        text = (tmp_path / one.sgf).read_text().replace("RE[B+]", "RE[B+4]").replace("RE[W+]", "RE[W+4]")
        (sgf,) = parse_sgf(text.encode(), one.sgf)
        assert len(line_of(sgf, [game]).actions) == one.plies


@pytest.mark.full
def test_searches_play_it(tmp_path):
    run = jb.match("uct:simulations=64", "random", "othello:4", 8, tmp_path)
    assert set(run.games["reason"]) == {"stones"}
    assert sum(one.score if one.black != "random" else 1 - one.score for one in run.results) > 4
    assert any("pass" in moves.split() for moves in run.games["moves"]), "and a pass is written and read"
    assert [read_record((tmp_path / one.sgf).read_bytes(), one.sgf).moves for one in run.games.itertuples()] == [
        tuple(moves.split()) for moves in run.games["moves"]
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [("othello:7", "othello: 7x7 is no board"), ("othello:10", "its sides have 4, 6 or 8 squares"), ("othello,k=3", 'othello has no key "k"')],
)  # fmt: skip
def test_what_is_no_board(spec, message):
    with pytest.raises(UserError, match=re.escape(message)):
        make_game(spec)


@pytest.mark.parametrize(
    ("move", "why"), [("d4", "the point is occupied"), ("a1", "it would turn no stone over"), ("pass", "a move can be made")]
)  # fmt: skip
def test_why_a_move_is_illegal(move, why):
    with pytest.raises(UserError, match=why):
        position("othello", move)


@pytest.mark.full
def test_pgx_has_the_same_games():
    """On a board that is mirrored, and with two passes at the end where neither has a move."""
    pytest.importorskip("pgx")
    game, other = make_game("othello"), make_game("pgx:othello")
    mirrored = np.append(np.arange(64).reshape(8, 8)[::-1].reshape(-1), 64)
    lanes, rng = 32, np.random.default_rng(5)
    states, theirs = initial_states(game, lanes), initial_states(other, lanes)
    observe, observe_theirs = (jax.jit(jax.vmap(one.observe, in_axes=-1)) for one in (game, other))
    for _ in range(70):
        view, their_view = rules(game).view_lanes(states), rules(other).view_lanes(theirs)
        on = ~np.asarray(view.terminal)
        if not on.any():
            break
        legal = np.asarray(view.legal)
        assert np.array_equal(legal[on], np.asarray(their_view.legal)[:, mirrored][on])
        seen, seen_there = np.asarray(observe(states)), np.asarray(observe_theirs(theirs))
        assert np.array_equal(seen[on], seen_there[:, ::-1][on])
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 64 for row in legal], np.int32)
        states = rules(game).step_lanes(states, actions)
        theirs = rules(other).step_lanes(theirs, mirrored[actions].astype(np.int32))
    for _ in range(2):
        theirs = rules(other).step_lanes(theirs, np.full(lanes, 64, np.int32))
    returns = np.asarray(rules(game).view_lanes(states).returns)
    assert np.array_equal(returns, np.asarray(rules(other).view_lanes(theirs).returns))
    assert np.any(returns > 0)
