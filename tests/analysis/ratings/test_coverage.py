"""Errors and sequential tests hold what they promise: a small part of benchmarks/known_truth.py, with its own seeds."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from jubango.analysis.ratings.sprt import SequentialTest, Sprt
from jubango.analysis.ratings.sprt_length import expectation

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import known_truth as known
from dice import Dice, game_chances, pair_chances, scores

sys.path.pop(0)


@pytest.mark.parametrize("gap", [-300, 0, 60])
@pytest.mark.parametrize("dice", [Dice(), Dice(100, 0.5, 0.7), Dice(100, 0.5, -0.7), Dice(0, 0.9, -1.0)])
def test_pairs_are_of_the_games_they_should_be_of(gap, dice):
    """Whatever hangs together, each game by itself has its chances; and it hangs together as is said."""
    found = pair_chances(gap, dice)
    assert (found >= 0).all()
    first, second = game_chances(gap + dice.first_move, dice.drawn), game_chances(gap - dice.first_move, dice.drawn)
    assert found.sum(1) == pytest.approx(first)
    assert found.sum(0) == pytest.approx(second)
    points = np.array([0, 0.5, 1])
    together = points @ (found - np.outer(first, second)) @ points
    assert np.sign(round(together, 9)) == np.sign(dice.hang)


@pytest.mark.parametrize(
    ("tournament", "number"),
    [
        (known.Tournament((60, 0), (50,), Dice(drawn=0.6)), 300),
        (known.Tournament((0, 0), (10,)), 300),
        (known.Tournament(known.EIGHT, (2,), Dice(50, 0.3)), 100),
    ],
)
def test_the_models_errors_hold_where_games_are_independent(tournament, number):
    """By the model and by pairs: 95 % within three standard errors of as many tournaments as are looked at here."""
    found = known.coverage(tournament, number, seed=5)
    margin = 3 * math.sqrt(0.95 * 0.05 / number)
    assert found == pytest.approx([0.95] * 6, abs=margin)


@pytest.mark.parametrize("hang", [0.6, -0.6])
def test_errors_by_pairs_hold_where_the_games_of_a_pair_hang_together(hang):
    number = 100
    found = known.coverage(known.Tournament(known.EIGHT, (2,), Dice(hang=hang)), number, seed=6)
    assert found[3:] == pytest.approx([0.95] * 3, abs=3 * math.sqrt(0.95 * 0.05 / number))
    assert (found.differences < 0.92) if hang > 0 else (found.differences > 0.97), (
        "the model takes them for independent"
    )


TRIALS = [
    (known.Trial(Sprt(0, 150, pairs=False), Dice(drawn=0.4)), 150), (known.Trial(Sprt(0, 150), Dice(50, 0.4, 0.5)), 150),
    (known.Trial(Sprt(0, 250, model="normalized"), Dice(0, 0.3, -0.5)), 60),
]  # fmt: skip


@pytest.mark.parametrize(("trial", "number"), TRIALS)
def test_tests_err_as_rarely_as_they_say_and_last_as_long(trial, number):
    for elo in (trial.test.elo0, trial.test.elo1):
        found = known.tests(trial, elo, number, seed=7)
        expected = expectation(trial.test, known.outcomes(trial.chances(elo), trial.test.pairs))
        wrong = found.accepted_h1 if elo == trial.test.elo0 else 1 - found.accepted_h1
        assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / number)
        assert found.games == pytest.approx(expected.games, abs=4 * found.error)


def test_games_that_end_early_do_not_sway_a_test():
    """Where wins end in half the time: what ends first is won, and a test of that finds equal players unequal."""
    patient, hasty = known.in_any_order(Sprt(0, 100, pairs=False), 0, 0.5, 60, seed=8)
    assert patient <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)
    assert hasty > 0.9


@pytest.mark.parametrize("pairs", [True, False])
def test_a_tests_verdict_is_that_of_its_schedule(pairs):
    """Whichever games end first, it is what it would be if they ended one after the other."""
    test, rng = Sprt(0, 150, pairs=pairs), np.random.default_rng(9)
    for _ in range(20):
        games = list(itertools.islice(scores(pair_chances(75, Dice(drawn=0.3)), rng), 1000))
        one, other = SequentialTest(test), SequentialTest(test)
        for number, score in enumerate(games):
            one.add(number, score)
        for number, score in known.ending(iter(games), 0.3, rng):
            other.add(number, score)
        assert one.state.accepted
        assert one.state == other.state
