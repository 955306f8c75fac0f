"""What cannot be known is not said: noise as a heatmap, how accurate players are to a bot that sees less than they."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gtp_talk import Talk

from jubango.analysis.positions.position import MoveStatistics, PositionAnalysis
from jubango.analysis.positions.win_rate import WinRate
from jubango.analysis.reviews.annotation import lizzie
from jubango.analysis.reviews.review_moves import Candidate, ReviewedPosition, Thresholds, grade_of
from jubango.analysis.reviews.review_summary import accuracy_of, accuracy_text, summaries
from jubango.bots.composition import judging_note
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import position_at
from jubango.sgf_games.sgf.sgf import parse_sgf


def analysis(*visits: int, note: str = "") -> PositionAnalysis:
    """Of an empty board, where the first points have so many visits."""
    position = position_at(parse_sgf(b"(;SZ[5]KM[0])", "x")[0], None)
    game, rate = position.game, WinRate(0.5, 0)
    moves = tuple(
        MoveStatistics(i, game.action_text(i), (0, i), seen, seen / sum(visits), 0.04, rate, (game.action_text(i),))
        for i, seen in enumerate(visits)
    )
    return PositionAnalysis(position, moves, rate, sum(visits), np.full(26, 1 / 26, np.float32), note)


@pytest.mark.parametrize("values", ["visits", "value"])
def test_noise_is_no_heatmap(values, tmp_path):
    few, enough = analysis(2, 2, 1), analysis(5, 2)
    assert not few.diagram(values).cells and few.diagram(values).best is None
    assert "no move has more than 2 visits of 5, which is noise" in few.diagram(values).title
    assert len(enough.diagram(values).cells) == 2 and "noise" not in enough.diagram(values).title
    few.save_png(tmp_path / "few.png", values)
    assert few.heat("visits").grid[0, 0] == 2, "the numbers are there"
    assert few.diagram("prior").cells, "what is no visit is as good as ever"


def test_a_picture_says_that_there_is_no_network():
    assert "no network for go:19" in analysis(9, note="no network for go:19: ...").diagram().title


@pytest.mark.parametrize(
    ("game", "bot", "noted"),
    [
        ("go:25", "rave:rollout_moves=tactical", True), ("go:25", "alphazero", True), ("go:9x19", "uct", True),
        ("go:9", "alphazero", False), ("go:9", "uct", False), ("gomoku:15", "uct", False), ("go:19", "random", False),
        ("go:19", "uct:evaluator=heuristic", False),
    ],
)  # fmt: skip
def test_a_large_board_without_a_network_is_said_to_be_one(game, bot, noted):
    said = judging_note(make_game(game), bot_from_spec(bot))
    assert bool(said) == noted
    assert not noted or (said.startswith(f"no network for {game}: ") and "\n" not in said)


@pytest.mark.parametrize("game", ["go:13", "go:19"])
def test_of_a_modest_network_it_is_said(game):
    said = judging_note(make_game(game), bot_from_spec("alphazero"))
    assert said.startswith(f"the network for {game} is a modest player: ") and "\n" not in said
    assert not judging_note(make_game(game), bot_from_spec("alphazero:network=mine.safetensors")), "it is its author's"


@pytest.mark.parametrize("bot", ["rave:rollout_moves=tactical", "alphazero:network=none"])
def test_random_games_are_said_to_judge_where_a_network_could(bot):
    said = judging_note(make_game("go:19"), bot_from_spec(f"{bot},name=one"))
    assert said.startswith("one asks no network: ")
    assert "random games judge" in said and "\n" not in said


@pytest.mark.full
def test_a_server_says_so_once(monkeypatch, capfd):
    monkeypatch.setattr("jubango.bots.composition.LARGE", 20)
    talk = Talk("go:5,komi=0")
    for line in ("clear_board", "boardsize 5", "clear_board"):
        assert talk.ask(line) == "="
    talk.end()
    assert capfd.readouterr().err.count("no network for go:5: random games judge") == 1


def test_no_move_surprises_a_bot_that_does_not_know():
    usual = Thresholds()
    assert grade_of(-0.2, 0.0, usual) == "surprise"
    assert grade_of(-0.2, 0.0, usual, knows=False) == ""
    assert grade_of(0.3, 1.0, usual, knows=False) == "blunder"


class Move:
    player, phase, is_best, lead_loss, grade = 0, "opening", False, None, ""

    def __init__(self, loss: float, error: float) -> None:
        self.loss, self.error = loss, error


def test_accuracy_has_its_error_or_is_left_out():
    moves = [Move(0.02, 0.1), Move(-0.03, 0.1)]
    known, unknown = summaries(moves)[0], summaries(moves, knows=False)[0]
    error = math.hypot(0.1, 0.1) / 2
    assert known.accuracy == pytest.approx(1, abs=1e-4)
    assert known.accuracy_error == pytest.approx((1 - accuracy_of(error - 0.005)) / 2, abs=1e-4)
    assert accuracy_text(known) == f"100.0 % ± {100 * known.accuracy_error:.1f}"
    assert math.isnan(unknown.accuracy) and accuracy_text(unknown) == ""
    assert unknown.mean_loss == known.mean_loss


def test_what_has_no_prior_names_none():
    moves = (Candidate("C3", 9, None, 0.6, ("C3",)), Candidate("B2", 3, 0.25, 0.5, ("B2",)))
    here = ReviewedPosition(0, 0, False, (), None, 0.6, 0.1, None, 12, moves)
    assert lizzie(here).split("\n")[1] == (
        "move C3 visits 9 winrate 6000 order 0 pv C3 info move B2 visits 3 winrate 5000 prior 2500 order 1 pv B2"
    )
