"""Games that were played by the clock: their SGF says by which, and what was left after every move."""

from __future__ import annotations

import contextlib

import pytest

import jubango as jb
from jubango.bots.players.clock import Clock, TimeControl
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.sgf.grammar import sgf_grammar
from jubango.sgf_games.sgf.positions import read_sgf


@pytest.mark.parametrize(
    ("clock", "time", "overtime"),
    [
        ("60", "60", "none"),
        ("60+1", "60", "1 fischer"),
        ("300+3x30", "300", "3x30 byo-yomi"),
        ("0+2x10", "0", "2x10 byo-yomi"),
    ],
)
def test_a_clocked_game_says_so_in_its_sgf_written_again_too(clock, time, overtime, tmp_path):
    run = jb.match("random", "random", game="go:3", games=2, clock=clock, out=tmp_path)
    (path, _) = sorted((tmp_path / "games").iterdir())
    data = path.read_bytes()
    root, *moves = sgf_grammar.parse_sgf_game(data).sequence
    assert (root["TM"], root["OT"]) == ([time.encode()], [overtime.encode()])
    assert len(moves) == run.games["plies"][0]
    for i, node in enumerate(moves):
        left, periods = float(node["WL" if i % 2 else "BL"][0]), node.get("OW" if i % 2 else "OB")
        if clock == "0+2x10":
            assert (left, periods) == (10, [b"2"])
        else:
            assert 0 < left <= float(time) + len(moves)
            assert periods is None
    path.unlink()
    with contextlib.closing(Library(tmp_path)):
        assert path.read_bytes() == data
    assert len(read_sgf(path)) == len(moves)


def test_without_a_clock_there_is_none(tmp_path):
    jb.match("random", "random", game="go:3", games=2, out=tmp_path)
    for path in (tmp_path / "games").iterdir():
        root, *moves = sgf_grammar.parse_sgf_game(path.read_bytes()).sequence
        assert (root["TM"], root["OT"]) == ([b"0"], [b"none"])
        assert not {"BL", "WL", "OB", "OW"} & {key for node in moves for key in node}


def test_what_a_clock_shows():
    clock = Clock(TimeControl.parse("10+3x5"))
    seen = [clock.reading for spent in (0, 4, 5.5, 1, 4, 6, 4) if clock.spend(spent)]
    assert seen == [(10, 0), (6, 0), (0.5, 0), (5, 3), (5, 3), (5, 2), (5, 2)]
    fischer = Clock(TimeControl.parse("10+2"))
    assert fischer.spend(3)
    assert fischer.reading == (9, 0)
