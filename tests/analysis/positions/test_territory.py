"""Who is ahead: as a network says, or random games, and what is taken off either."""

from __future__ import annotations

import numpy as np
import pytest

from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.territory import leads, opinions, scorer_of, told_apart
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
    told = []
    for vertex in OPENING:
        judged = territory.judge(state, [found(vertex), found("A1", 3)])
        assert judged.after[GAME.parse_action(vertex)] == pytest.approx(judged.score), "the best move leads to no other"
        told.append(judged.score)
        state = rules(GAME).step(state, GAME.parse_action(vertex))
    black, white = np.array(told).reshape(-1, 2).mean(axis=0)
    assert abs(black - white) / 2 < 2
    assert np.std(told) < 6


NETWORK_S = (
    "G3 F4 C7 F3 F6 G4 D4 E5 E6 D5 C4 C5 B5 B6 B4 C6 D7 B7 B8 D2 C2 D3 C3 E4 H6 H5 G5"  # its moves, after three others
)


@pytest.mark.full
def test_a_network_s_lead_is_no_saw():
    """Its score is better for the side to move: here it swings by two points a move, and the lead by one."""
    game = make_game("go:9,komi=7")
    judge = evaluator_for(game, bot_from_spec("alphazero"))
    network = scorer_of(judge)
    actions = [game.parse_action(vertex) for vertex in NETWORK_S.split()]
    states = [initial_state(game)]
    for action in actions:
        states.append(rules(game).step(states[-1], action))
    states, after, actions = states[3:-1], states[4:], actions[3:]
    raw = opinions(game, [*states, *after], *network).score[: len(states)] * 81 * np.resize([-1, 1], len(states))
    lead = leads(game, states, actions, [1] * len(states), judge)
    assert np.abs(np.diff(lead)).mean() < 0.7 * np.abs(np.diff(raw)).mean()
    territory, said = Territory(game, judge), []
    for state, action in zip(states, actions, strict=True):
        best = MoveInfo(action, 10, 0.5, 0.4, 0.0, ())
        judged = territory.judge(state, [best])
        assert judged.score_after(best) == pytest.approx(judged.score, abs=1e-4), "the best move leads to no other"
        assert territory.owners(state, [best]).sum() - 7 == pytest.approx(judged.score, abs=1e-4)
        said.append(judged.score)
    assert np.abs(np.diff(said)).mean() < 1.5


def test_moves_differ_by_what_is_no_noise():
    weights = np.array([5, 5, 5, 5])
    noise = told_apart(np.array([1.0, -1.0, 2.0, -2.0]), weights, variance=4.0)
    assert noise == pytest.approx([0, 0, 0, 0])
    real = told_apart(np.array([30.0, -30.0, 30.0, -30.0]), weights, variance=4.0)
    assert real == pytest.approx([30, -30, 30, -30], rel=0.01)
    assert told_apart(np.array([7.0]), np.array([1]), variance=4.0) == pytest.approx([7])
