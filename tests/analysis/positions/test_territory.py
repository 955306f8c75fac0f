"""Who is ahead where no network says it: random games, and what is taken off them."""

from __future__ import annotations

import numpy as np
import pytest

from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.territory import told_apart
from jubango.bots.gtp_server.territory import Territory
from jubango.bots.interactive.interactive_search import MoveInfo
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules

GAME = make_game("go:7,komi=7")
OPENING = ["D4", "D5", "C5", "E5", "E4", "F4", "C6", "F3", "E3", "D6"]  # reasonable moves


def found(vertex: str, visits: int = 10) -> MoveInfo:
    return MoveInfo(GAME.parse_action(vertex), visits, 0.5, 0.4, 0.0, ())


@pytest.mark.full
def test_the_lead_does_not_swing_with_who_is_to_move():
    """Random games by themselves: four points to and fro. Of 512 from either of two positions, with margins that
    scatter by 40 points, the mean scatters by 1.3, and that of five such means by 0.6."""
    bot = bot_from_spec("uct")
    territory, state = Territory(GAME, evaluator_for(GAME, bot)), initial_state(GAME)
    leads = []
    for vertex in OPENING:
        judged = territory.judge(state, [found(vertex), found("A1", 3)])
        assert judged.after[GAME.parse_action(vertex)] == pytest.approx(judged.score), "the best move leads to no other"
        leads.append(judged.score)
        state = rules(GAME).step(state, GAME.parse_action(vertex))
    black, white = np.array(leads).reshape(-1, 2).mean(axis=0)
    assert abs(black - white) / 2 < 2
    assert np.std(leads) < 6


def test_moves_differ_by_what_is_no_noise():
    weights = np.array([5, 5, 5, 5])
    noise = told_apart(np.array([1.0, -1.0, 2.0, -2.0]), weights, variance=4.0)
    assert noise == pytest.approx([0, 0, 0, 0])
    real = told_apart(np.array([30.0, -30.0, 30.0, -30.0]), weights, variance=4.0)
    assert real == pytest.approx([30, -30, 30, -30], rel=0.01)
    assert told_apart(np.array([7.0]), np.array([1]), variance=4.0) == pytest.approx([7])
