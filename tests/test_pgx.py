"""Games of pgx are played, named and recorded at the price of the package's own."""

from __future__ import annotations

import jax
import pytest

from jubango.arena.tournament import match
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.sgf import read_games

pytest.importorskip("pgx")


@pytest.mark.parametrize("name", ["othello", "connect_four"])
def test_twenty_games(tmp_path, name):
    run = match("random", "random", game=f"pgx:{name}", games=20, out=tmp_path)
    assert set(run.games["reason"]) == {"end"}
    assert run.failures == {}, "a game that is played out is no failure"
    for game in run.games.itertuples():
        (sgf,) = read_games(tmp_path / game.sgf)
        assert sgf.move_count == game.plies


@pytest.mark.parametrize("name", ["othello", "hex", "connect_four", "gardner_chess"])
def test_moves_are_named_without_compiling(name, caplog):
    game = make_game(f"pgx:{name}")
    game.parse_action(game.action_text(0))
    caplog.clear()
    with jax.log_compiles():
        for action in range(game.num_actions):
            assert game.parse_action(game.action_text(action)) == action
    assert not caplog.records
