"""Hex files of other programs. The grammar is that of https://www.red-bean.com/sgf/hex.html."""

from __future__ import annotations

import numpy as np
import pytest

import jubango as jb
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import positions
from jubango.sgf_games.sgf.sgf import parse_sgf
from jubango.sgf_games.sgf.sgf_tree import read_trees, write_trees

GAME = b"""(;AP[HexWorld]FF[4]GM[11]SZ[11]PB[Ann]PW[Bob];B[a10]C[at b2: no]LB[a10:1][K1:k1]AR[a1:b3];W[swap-pieces]
;B[i6];W[E8]TR[c3][d4:e5](;B[k11];W[resign])(;B[f5]))"""


def moves(data):
    (game,) = parse_sgf(data, "hex.sgf")
    return [("BW"[node.move[0]], game.game.point_text(node.move[1])) for node in game.nodes if node.move]


def test_cells_have_their_names():
    """Our columns have no I."""
    assert moves(GAME) == [("B", "A10"), ("W", "swap"), ("B", "J6"), ("W", "E8"), ("B", "L11")]
    assert moves(b"(;GM[11];B[c2])") == [("B", "C2")]
    assert parse_sgf(b"(;GM[11];B[c2])", "x")[0].game.spec == "hex:11"
    assert parse_sgf(b"(;GM[11]SZ[5:5];B[c2])", "x")[0].game.spec == "hex:5"


def test_what_is_marked_is_so_afterwards():
    (game,) = parse_sgf(GAME, "hex.sgf")
    first, _, _, fourth, *_ = list(game.trees[0].main_line)[1:]
    assert first.properties["LB"] == [b"ab:1", b"kk:k1"]
    assert first.properties["AR"] == [b"ak:bi"]
    assert first.text("C") == "at b2: no"
    assert fourth.properties["TR"] == [b"ci", b"dh:eg"]
    again, _ = read_trees(write_trees(game.trees), "again")
    assert [node.properties for node in again[0].main_line][1:] == [n.properties for n in game.trees[0].main_line][1:]
    assert moves(write_trees(game.trees)) == moves(GAME)
    other = fourth.children[1]
    assert other.properties["B"] == [b"fg"]


def test_the_swap_of_sides_is_that_of_pieces():
    """The rest of the game is told with the other colours and on the mirrored board."""
    by_sides = b"(;GM[11]SZ[11]RE[B+R];B[a10];W[swap-sides];C[so]WL[9];W[f9]WL[8];B[h5]CR[d2]PL[W](;W[k11];B[forfeit])(;W[e6]))"
    assert moves(by_sides) == moves(GAME)
    (game,) = parse_sgf(by_sides, "hex.sgf")
    assert game.properties["RE"] == "W+R"
    third, fourth = list(game.trees[0].main_line)[4:6]
    assert third.properties == {"B": [b"if"], "BL": [b"8"]}
    assert fourth.properties["CR"] == [b"bh"]  # B4
    assert fourth.properties["PL"] == [b"B"]
    assert fourth.children[1].properties == {"B": [b"fg"]}


@pytest.mark.parametrize(
    ("result", "swap", "rest"),
    [("B+", "sides", "W[a1];B[b1];W[c1];B[a3]"), ("W+", "pieces", "B[a1];W[a2];B[a3];W[c1]")],
)
def test_the_result_is_that_of_the_board(result, swap, rest):
    """The same game: b2, b1 and a3 are Black's after a swap of sides, and White's, mirrored, after one of pieces."""
    (game,) = parse_sgf(f"(;GM[11]SZ[3]RE[{result}];B[b2];W[swap-{swap}];{rest})".encode(), "won")
    *_, last = positions(game)
    assert last.over
    assert game.properties["RE"] == game.game.result_text(last.state) == "W+"


def test_who_does_not_swap_sides_keeps_the_result():
    """A swap in a variation is no part of the game."""
    (game,) = parse_sgf(b"(;GM[11]SZ[3]RE[B+];B[b2](;W[b3])(;W[swap-sides];W[a1]))", "x")
    assert game.properties["RE"] == "B+"
    assert game.trees[0].children[0].children[1].children[0].properties == {"B": [b"ac"]}


def test_black_connects_top_and_bottom():
    """The first row with the last, by cells that are neighbours there: (column - 1, row + 1) is one, (+1, +1) is not."""
    won = b"(;GM[11]SZ[3];B[c1];W[a1];B[b2];W[c2];B[a3])"
    *_, last = positions(parse_sgf(won, "won")[0])
    assert last.over
    assert last.returns.tolist() == [1, -1]
    open_ = b"(;GM[11]SZ[3];B[a1];W[a2];B[b2];W[b3];B[c3])"
    *_, last = positions(parse_sgf(open_, "open")[0])
    assert not last.over


@pytest.mark.parametrize("seed", range(3))
def test_a_random_game_is_read_as_it_was_played(seed):
    rng, position = np.random.default_rng(seed), jb.position("hex:10", [])
    said, expected = "(;GM[11]SZ[10]", []
    while not position.over:
        action = int(rng.choice(np.flatnonzero(position.legal)))
        text = position.game.action_text(action)
        row, column = divmod(action, 10)
        cell = "swap-pieces" if text == "swap" else f"{'abcdefghij'[column]}{10 - row}"
        said += f";{'BW'[position.player]}[{cell}]"
        expected.append(("BW"[position.player], text))
        position = position.after(text)
    assert moves(f"{said})".encode()) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"(;GM[11]SZ[11];B[a1];W[l3])", r"move 2: W\[l3\] is neither a point of 11x11 nor another move of Hex"),
        (b"(;GM[11]SZ[5];B[a1];W[b6])", r"move 2: W\[b6\] is neither a point of 5x5 nor"),
        (b"(;GM[11];B[swap])", r"move 1: B\[swap\] is neither a point of 11x11 nor another move of Hex"),
        (b"(;GM[11];B[a1];W[c\xc3\xa4])", r"move 2: W\[cä\] is neither"),
        (b"(;GM[11]AB[a0];B[a1])", r"root node: AB\[a0\] is no point of 11x11$"),
        (b"(;GM[11];B[a1];W[swap-sides];B[b2])", r"move 3: B\[b2\]: after swap-sides White is to move"),
        (b"(;GM[11]SZ[11:10];B[a1])", "hex: 11x10 is no board"),
        (b"(;GM[11]SZ[x];B[a1])", r"SZ\[x\] is no board size"),
    ],
)
def test_what_is_no_move_is_named(data, message):
    with pytest.raises(UserError, match=f"^hex.sgf: {message}"):
        parse_sgf(data, "hex.sgf")


def test_marks_and_variations_that_are_none_are_left_out():
    data = b"(;GM[11]SZ[5 : 5];B[a1]LB[z9:x][b1:y]VW[]DD[]TR[z9](;W[b\\1];B[c1])(;W[z1];B[c2])(;W[c3]AR[a1:z9]))"
    (game,) = parse_sgf(data, "x")
    first = game.trees[0].children[0]
    assert first.properties == {"B": [b"ae"], "LB": [b"be:y"], "VW": [b""], "DD": [b""]}
    assert [child.properties for child in first.children] == [{"W": [b"be"]}, {"W": [b"cc"]}]
    assert moves(data) == [("B", "A1"), ("W", "B1"), ("B", "C1")]
    assert moves(b"(;GM[11]SZ[5];B[a1];W[swap-sides];B[resign])") == [("B", "A1"), ("W", "swap")]


def test_our_own_files_are_as_they_were():
    game = make_game("hex:5")
    assert game.spec == "hex:5"
    assert moves(b"(;GM[4]JG[hex:5]SZ[5];B[aa];W[])") == [("B", "A5"), ("W", "swap")]
    assert moves(b"(;GM[11]JG[hex:5]SZ[5];B[aa];W[])") == [("B", "A5"), ("W", "swap")]
