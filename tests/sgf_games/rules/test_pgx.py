"""Games of pgx are played, named and recorded at the price of the package's own."""

from __future__ import annotations

import random
import re

import jax
import pytest
from sgfmill import sgf as sgfmill_sgf

from jubango.arena.tournament import match
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.recovery import read_record
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.conformance.random_games import check_turned_games
from jubango.sgf_games.rules.coordinates import sgf_pair
from jubango.sgf_games.sgf.sgf import parse_sgf, read_games, write_record

pytestmark = pytest.mark.full
pytest.importorskip("pgx")


@pytest.mark.parametrize("name", ["othello", "connect_four"])
def test_twenty_games(tmp_path, name):
    run = match("random", "random", game=f"pgx:{name}", games=20, out=tmp_path)
    assert set(run.games["reason"]) == {"end"}
    assert run.failures == {}, "a game that is played out is no failure"
    for game in run.games.itertuples():
        (sgf,) = read_games(tmp_path / game.sgf)
        assert sgf.move_count == game.plies


@pytest.mark.parametrize(("name", "boards"), [("othello", 4), ("hex", 2), ("connect_four", 2), ("tic_tac_toe", 8)])
def test_a_turned_board_is_the_same_game(name, boards):
    game = make_game(f"pgx:{name}")
    assert [len(table) for table in game.symmetries] == [boards] * 2
    check_turned_games(game, games=8, seed=1)


@pytest.mark.parametrize("name", ["othello", "hex", "connect_four", "gardner_chess"])
def test_moves_are_named_without_compiling(name, caplog):
    game = make_game(f"pgx:{name}")
    game.parse_action(game.action_text(0))
    caplog.clear()
    with jax.log_compiles():
        for action in range(game.num_actions):
            assert game.parse_action(game.action_text(action)) == action
    assert not caplog.records


@pytest.mark.parametrize("name", ["gardner_chess", "shogi", "animal_shogi"])
def test_records_of_moves_without_places_are_read_by_other_programs(name):
    game = make_game(f"pgx:{name}")
    dice = random.Random(7)
    moves = tuple(game.action_text(dice.randrange(game.num_actions)) for _ in range(30))
    record = GameRecord("a~b~1", game.spec, "a", "b", "random", "random", 1, moves, "B+1", "end", comments=("hm",) * 30)
    data = write_record(record)
    other = sgfmill_sgf.Sgf_game.from_bytes(data)
    assert (other.get_player_name("b"), other.get_winner()) == ("a", "b")
    assert [node.get("C") for node in other.get_main_sequence()[1:]] == ["hm"] * 30
    for node in other.get_main_sequence():
        node.get_move()
    assert read_record(data, "x.sgf") == record


def test_older_records_of_moves_without_places_are_read():
    game = make_game("pgx:gardner_chess")
    moves = "".join(f";{'BW'[i % 2]}[{sgf_pair(game.action_point(None, a))}]" for i, a in enumerate((3, 1224, 700)))
    (sgf,) = parse_sgf(f"(;GM[4]SZ[35]JG[pgx:gardner_chess]{moves})".encode(), "x")
    assert [game.point_text(node.move[1]) for node in sgf.nodes if node.move] == ["3", "1224", "700"]
    with pytest.raises(UserError, match=re.escape('x: move 1: JB[x9]: "x9" is no move of pgx:gardner_chess')):
        parse_sgf(b"(;GM[4]JG[pgx:gardner_chess];JB[x9])", "x")
