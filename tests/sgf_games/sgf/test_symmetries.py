"""Games that are the same but for how the board is turned or mirrored."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jubango as jb
from jubango.analysis.ratings.results import Result, decided, distinct_games, first_of_equal
from jubango.analysis.tables.tables import results_of
from jubango.arena.commands import run as command
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.sgf import parse_sgf
from jubango.sgf_games.sgf.symmetries import turned_moves, turned_nodes

BOARDS = {"go:5": 8, "go:4x3": 4, "gomoku:6": 8, "tic_tac_toe": 8, "connect_four:5x4": 2}


@given(st.sampled_from(sorted(BOARDS)), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_all_boards_that_a_game_can_be_turned_to_are_one(spec, rng: random.Random):
    """Two lists of moves are told alike if, and only if, some turn makes one of the other."""
    game = make_game(spec)
    actions = game.symmetries[1]
    assert len(actions) == BOARDS[spec]
    number = rng.randrange(1, 5)
    one, other = ([rng.randrange(game.num_actions) for _ in range(number)] for _ in range(2))
    if rng.random() < 0.5:
        other = actions[rng.randrange(len(actions)), one].tolist()
    boards = actions[:, one].tolist()
    texts = [[" ".join(map(game.action_text, moves)) for moves in every] for every in (boards, [other])]
    told = {turned_moves(spec, text) for text in texts[0]}
    assert len(told) == 1
    assert told <= set(texts[0]), "the game as it is on one of the boards"
    assert ({turned_moves(spec, texts[1][0])} == told) == (other in boards)


@pytest.mark.parametrize(("moves", "kinds"), [(1, 3), (2, 12), (3, 66)])
def test_openings_of_tic_tac_toe(moves, kinds):
    """By Burnside's lemma: of 9, 72 and 504 the four mirrors keep 3, 6 and 6, the two quarter turns and the half turn 1
    (the centre), 0 and 0."""
    kept = {1: (9, 3, 1), 2: (72, 6, 0), 3: (504, 6, 0)}[moves]
    assert (kept[0] + 4 * kept[1] + 3 * kept[2]) / 8 == kinds
    game = make_game("tic_tac_toe")
    played = itertools.permutations(map(game.action_text, range(9)), moves)
    assert len({turned_moves("tic_tac_toe", " ".join(texts)) for texts in played}) == kinds


@pytest.mark.parametrize("spec", ["nobody's game", "pgx:othello", "go:5,komi=x", "tic_tac_toe"])
def test_what_is_not_known_stays_as_it_is(spec):
    assert turned_moves(spec, "Z9 swap") == "Z9 swap"


def test_a_pass_is_a_pass():
    assert turned_moves("go:3", "C3 pass A1 pass") == turned_moves("go:3", "A1 pass C3 pass")
    assert turned_moves("go:3", "C3 A1 pass") != turned_moves("go:3", "C3 pass A1")
    assert turned_moves("go:9", "pass pass") == "pass pass"


def _sgf(text: str):
    return parse_sgf(text.encode(), "here")[0]


def test_stones_that_are_set_up_turn_with_the_board():
    """In whatever order a file names them; and what is not turned, or is not the same, is told apart."""
    one = "(;GM[1]SZ[5]AB[ad][db];W[aa];B[tt])"
    turned = "(;GM[1]SZ[5]AB[bd][ab];W[ea];B[])"  # mirrored: a and e, b and d change places, c stays
    found = turned_nodes(_sgf(one))
    assert found != turned_nodes(_sgf(turned))
    mirrored = "(;GM[1]SZ[5]AB[bb][ed];W[ea];B[])"
    assert found == turned_nodes(_sgf(mirrored))
    for other in ("(;GM[1]SZ[5]AW[bb][ed];W[ea];B[])", "(;GM[1]SZ[5]HA[2]AB[bb][ed];B[ea];W[])"):
        assert found != turned_nodes(_sgf(other))


@pytest.mark.parametrize("game", ["mnk:3x2,k=3", "connect_four:3x2,k=3"])
def test_runs_and_their_files_tell_games_apart_alike(game, tmp_path, capsys):
    """A run's rows, its SGF files, and a count by brute force say the same; --distinct rates each game once."""
    jb.tournament(game, ["random", jb.Bot("random", name="again")], games=200, out=tmp_path / "run", progress=False)
    frame = jb.open_run(tmp_path / "run").games
    rules = make_game(game)
    numbers = {rules.action_text(action): action for action in range(rules.num_actions)}
    games = {
        (
            row.black,
            frozenset(tuple(turn[[numbers[text] for text in row.moves.split()]]) for turn in rules.symmetries[1]),
        )
        for row in frame.itertuples()
    }
    assert len(games) < len(set(zip(frame["black"], frame["moves"], strict=True))) <= 200
    for folder in (tmp_path / "run", tmp_path / "run" / "games"):
        results = results_of([folder])
        assert distinct_games(results) == len(games)
        assert len(first_of_equal(results)) == len(games)
        assert command(["rate", str(folder), "--distinct", "--format", "json"]) == 0
        out, err = capsys.readouterr()
        said = json.loads(out)
        assert (said["games"], said["distinct_games"], said["repeated_games"]) == (
            len(games),
            len(games),
            200 - len(games),
        )
        assert f"{200 - len(games)} of 200 games had been played before" in " ".join(err.split())
        assert sum(rating["games"] for rating in said["ratings"]) == 2 * len(games)


def test_of_equal_games_the_first_decided_one_is_kept():
    games = [
        Result("a", "b", np.nan, game=1), Result("a", "b", 1.0, game=1), Result("a", "b", 0.0, game=1), Result("b", "a", 1.0, game=1),
        ("a", "b", 0.5), ("a", "b", 0.5), Result("a", "b", np.nan, game=1),
    ]  # fmt: skip
    kept = first_of_equal(games)
    assert [game[:3] for game in decided(kept)] == [("a", "b", 1.0), ("b", "a", 1.0), ("a", "b", 0.5), ("a", "b", 0.5)]
    assert len(kept) == 6


def test_without_moves_nothing_can_be_told_apart(tmp_path, capsys):
    path = tmp_path / "results.csv"
    path.write_text("black,white,result\na,b,1-0\na,b,1-0\n")
    assert command(["rate", str(path)]) == 0
    capsys.readouterr()
    assert command(["rate", str(path), "--distinct"]) == 2
    assert "without moves" in " ".join(capsys.readouterr().err.split())
