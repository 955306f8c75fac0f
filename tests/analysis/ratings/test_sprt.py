"""The sequential test: values of fastchess's own tests, exact lengths, and that its order is the schedule's."""

from __future__ import annotations

import json
import math
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jubango as jb
from jubango.analysis.ratings.ratings import expected_score
from jubango.analysis.ratings.sprt import MOST_COUNTED, OUTCOMES, SequentialTest, Sprt, SprtState, strength
from jubango.analysis.ratings.sprt_length import chances, expectation
from jubango.arena.commands import run as command
from jubango.sgf_games.base.errors import UserError


@pytest.mark.parametrize(
    ("counts", "test", "llr"),
    [
        ([36027, 68692, 36433], Sprt(0, 2, model="normalized"), 0.9233),
        ([21184, 40708, 21404], Sprt(0.5, 2.5), -1.5719),
        ([68526, 128429, 68965], Sprt(0, 2, model="bayesian", pairs=False), -1.2622),
        ([365, 16618, 36229, 16974, 390], Sprt(0, 2, model="normalized"), 2.2504),
        ([223, 9863, 21279, 10037, 246], Sprt(0.5, 2.5), -3.0741),
    ],
)
def test_values_of_fastchess(counts, test, llr):
    assert test.llr(counts) == pytest.approx(llr, abs=5e-5)


def test_strengths_of_fastchess():
    found = strength([89, 123, 76])
    assert (found.score, found.nelo, found.nelo_error) == pytest.approx((0.4774, -20.76, 40.13), abs=5e-3)
    assert 100 * found.los == pytest.approx(15.53, abs=5e-3)
    found = strength([34, 54, 63, 64, 75])
    assert tuple(found)[:4] == pytest.approx((55.58, 27.65, 57.94, 28.28), abs=5e-3)
    assert found.los == pytest.approx(1, abs=5e-5)


def test_bounds_are_walds():
    assert Sprt(0, 5).bounds == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert Sprt(0, 5, alpha=0.01, beta=0.1).bounds == pytest.approx((math.log(0.1 / 0.99), math.log(0.9 / 0.01)))


@pytest.mark.parametrize(("elo", "games", "accepts"), [(0, 264.35, 0.0472), (25, 439.23, 0.5018), (50, 265.70, 0.9531)])
def test_exact_lengths_without_draws(elo, games, accepts):
    test = Sprt(0, 50, pairs=False)
    found = expectation(test, chances(test, elo, 0.0))
    assert found.games == pytest.approx(games, abs=5e-3)
    assert found.accepts_h1 == pytest.approx(accepts, abs=5e-5)


def test_the_grid_agrees_with_what_is_exact():
    """One game in a million drawn is none; but then the walk is solved for on a grid."""
    test = Sprt(0, 50, pairs=False)
    near, exact = (expectation(test, chances(test, 25, drawn)) for drawn in (1e-6, 0.0))
    assert near.games == pytest.approx(exact.games, rel=1e-3)
    assert near.accepts_h1 == pytest.approx(exact.accepts_h1, abs=1e-3)


@pytest.mark.full
@pytest.mark.parametrize(("model", "number"), [("logistic", 200), ("normalized", 40)])
def test_lengths_are_those_of_tests_that_are_played(model, number):
    """Of simulated pairs whose two games hang together; within four standard errors."""
    test = Sprt(0, 60, model=model)
    both = np.array(chances(test, 60, 0.3))
    both += 0.3 * np.array([1, -1, 0, -1, 1]) * min(both)  # of the same mean, more spread
    expected, rng = expectation(test, both), np.random.default_rng(3)
    lengths, accepted = [], 0
    for _ in range(number):
        counts, llr = np.zeros(5), 0.0
        while not test.decision(llr):
            counts[rng.choice(5, p=both / both.sum())] += 1
            llr = test.llr(counts)
        lengths.append(2 * counts.sum())
        accepted += test.decision(llr) == "H1"
    assert np.mean(lengths) == pytest.approx(expected.games, abs=4 * np.std(lengths) / math.sqrt(number))
    assert accepted / number == pytest.approx(expected.accepts_h1, abs=4 * math.sqrt(0.05 * 0.95 / number))


DEGENERATE = [
    ([144, 3, 1, 0, 0], Sprt(-1500, -500, model="normalized"), -1), ([0, 0, 1, 3, 144], Sprt(500, 1500, model="normalized"), 1),
    ([0, 0, 1], Sprt(0, 20), 1), ([1, 0, 0], Sprt(0, 20), -1), ([0, 0, 0, 0, 9], Sprt(0, 20), 1),
    ([0, 1000, 0], Sprt(0, 20), -1), ([0, 0, 50], Sprt(0, 20, model="bayesian", pairs=False), 1),
    ([50, 0, 0], Sprt(0, 20, model="bayesian", pairs=False), -1), ([0, 0, 10**6], Sprt(-4000, 4000, model="normalized"), 1),
    ([0] * 5, Sprt(0, 20), 0), ([0] * 3, Sprt(0, 20, model="normalized"), 0), ([7, 0, 0, 0, 7], Sprt(-10, 10, model="normalized"), 0),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "test", "sign"), DEGENERATE)
def test_degenerate_counts_are_finite_and_rightly_signed(counts, test, sign):
    llr = test.llr(counts)
    assert math.isfinite(llr)
    assert np.sign(round(llr, 9)) == sign


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 400), min_size=5, max_size=5) | st.lists(st.integers(0, 400), min_size=3, max_size=3),
    st.sampled_from(["logistic", "normalized"]), st.integers(-300, 290), st.integers(1, 200),
)  # fmt: skip
def test_any_counts(counts, model, elo0, more):
    """Finite; the other player's test is the mirror image; a hypothesis's distribution has its strength."""
    test, mirrored = Sprt(elo0, elo0 + more, model=model), Sprt(-elo0 - more, -elo0, model=model)
    llr = test.llr(counts)
    assert math.isfinite(llr)
    assert mirrored.llr(counts[::-1]) == pytest.approx(-llr, abs=1e-5, rel=1e-5)
    found = test.distribution(np.array([*counts[:-1], counts[-1] + 1]) / (sum(counts) + 1) + 1e-6, elo0)
    assert found.min() > 0
    if model == "logistic":
        assert found @ OUTCOMES[len(counts)] / found.sum() == pytest.approx(expected_score(elo0), abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_order_in_which_games_end_means_nothing(seed, pairs):
    """Also games that end long after others, and some that never do."""
    dice = random.Random(seed)
    scores = [dice.choice([0.0, 0.5, 1.0, 1.0, 1.0, math.nan]) for _ in range(400)]
    test = Sprt(0, 100, pairs=pairs)
    straight = SequentialTest(test)
    for number, score in enumerate(scores):
        straight.add(number, score)
    order = list(range(400))
    dice.shuffle(order)
    shuffled = SequentialTest(test)
    for number in order:
        shuffled.add(number, scores[number])
    assert shuffled.state == straight.state
    assert straight.state.accepted
    held_up = SequentialTest(test)
    for number in order:
        if number:
            held_up.add(number, scores[number])
    assert held_up.state.games == 0, "nothing is decided while the first game is being played"


@pytest.mark.full
def test_a_match_ends_where_its_test_does(tmp_path):
    """With other numbers of games at once, and gone on with, the same games decide."""
    bots = ("uct:simulations=40,name=strong", "random")
    found = jb.match(*bots, game="tic_tac_toe", sprt="0,100", out=tmp_path / "run", seed=5)
    assert found.sprt is not None
    assert (found.sprt.accepted, found.missing) == ("H1", 0)
    few = jb.tournament("tic_tac_toe", bots, 10_000, seed=5, games_at_once=6, sprt="0,100")
    assert few.sprt == found.sprt
    assert len(few.left_out) < len(found.left_out), "fewer were under way when it was decided"
    assert few.ratings.equals(found.ratings)
    assert few.crosstable.equals(found.crosstable)
    assert len(found.results) == found.sprt.games == len(found.games) - len(found.left_out)
    again = jb.match(*bots, game="tic_tac_toe", sprt="0,100", out=tmp_path / "run", seed=5)
    assert again.sprt == found.sprt
    assert len(again.results) == len(found.results)
    weak = jb.match(*bots[::-1], game="tic_tac_toe", sprt="0,100", seed=5)
    assert weak.sprt is not None
    assert weak.sprt.accepted == "H0", "it is the first bot that is tested"
    with pytest.raises(UserError, match="was begun with sprt = 0,100, not none"):
        jb.match(*bots, game="tic_tac_toe", games=100_000, out=tmp_path / "run", seed=5)


@pytest.mark.full
def test_the_command_says_what_was_accepted(capsys):
    words = ["match", "uct:simulations=40,name=a", "random", "--game", "tic_tac_toe", "--sprt", "0,100"]
    assert command(words) == 0
    out = capsys.readouterr().out
    assert "H1 accepted: a is nearer to +100 than to 0 Elo against random (LLR " in out
    assert "pairs from both lost to both won: " in out
    assert command([*words, "--format", "json"]) == 0
    test = json.loads(capsys.readouterr().out)["sprt"]
    assert (test["accepted"], test["pairs"], len(test["counts"])) == ("H1", True, 5)
    assert test["games"] == 2 * sum(test["counts"])


@given(st.lists(st.integers(0, 60), min_size=5, max_size=5), st.sampled_from([(0, 100), (-30, 30), (20, 60), (-5, 0)]))
@settings(max_examples=60, deadline=None)
def test_the_words_agree_with_the_estimate_beside_them(counts, elos):
    """Accepted is what the estimate is nearer to, and nothing more is said."""
    sprt = Sprt(*elos)
    llr = sprt.llr(counts)
    state = SprtState(sprt, llr, sprt.decision(llr), tuple(counts))
    said = state.told("a", "b")[0]
    assert "+0" not in said
    if not state.accepted:
        assert said.startswith("undecided between ")
        return
    near, far = map(float, re.search(r"nearer to (\S+) than to (\S+) Elo", said).groups())
    estimate = expected_score(near), state.strength.score, expected_score(far)
    assert abs(estimate[1] - estimate[0]) < abs(estimate[2] - estimate[1]) + 0.02
    assert {near, far} == set(elos)


@pytest.mark.parametrize(
    ("words", "llr"),
    [
        ("--elo0 0 --elo1 2 --model normalized --wdl 36433,68692,36027", 0.9233),
        ("--elo0 0.5 --elo1 2.5 --wdl 21404,40708,21184", -1.5719),
        ("--elo0 0 --elo1 2 --model bayesian --wdl 68965,128429,68526", -1.2622),
        ("--elo0 0 --elo1 2 --model normalized --pentanomial 365,16618,36229,16974,390", 2.2504),
        ("--elo0 0.5 --elo1 2.5 --pentanomial 223,9863,21279,10037,246", -3.0741),
    ],
)
def test_the_command_says_what_fastchess_says(words, llr, capsys):
    """The values that fastchess's own tests hold."""
    assert command(["sprt", *words.split(), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["llr"] == pytest.approx(llr, abs=5e-5)


def test_the_calculator_and_the_planner(capsys):
    assert (
        command(
            ["sprt", "--elo0", "-5", "--elo1", "0", "--pentanomial", "223,9863,21279,10037,246", "--format", "json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["llr"] == pytest.approx(Sprt(-5, 0).llr([223, 9863, 21279, 10037, 246]))
    assert command(["sprt", "--elo1", "50", "--games", "--elo", "0,25,50", "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "elo,games,accepts_h1"
    assert [round(float(line.split(",")[1]), 2) for line in lines[1:]] == [264.35, 439.23, 265.70]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--elo0 20 --elo1 0", "elo0 = 20 has to be below elo1 = 0"), ("--elo0 0", "--elo1"),
        ("--elo1 5 --pentanomial 1,2", "5 whole numbers"), ("--elo1 5 --pentanomial 1,2,3,4,x", "5 whole numbers"),
        ("--elo1 5 --wdl 1,-2,3", "3 whole numbers, none below 0"), ("--elo1 5 --wdl 1,2", "3 whole numbers"),
        ("--elo1 5 --pentanomial 1,2,3,4,5 --wdl 1,2,3", "exclude each other"),
        ("--elo1 5 --alpha 0.6 --beta 0.5", "below 1"), ("--elo1 5 --model magic", 'model "magic"'),
        ("--elo1 400 --drawn 0.9", "more than a score of"), ("--elo1 5 --elo x", "should be numbers"),
        ("--elo1 nan", "elo1 = nan"), ("--elo1 5 --model bayesian --pentanomial 1,2,3,4,5", "of single games"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(words, message, capsys):
    assert command(["sprt", *words.split()]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert message in errors[0]


def test_a_test_is_of_two():
    with pytest.raises(UserError, match="a test is of one bot against another, not of 3"):
        jb.tournament("tic_tac_toe", ["random", "uct", "minimax"], 2, sprt="0,20")


def test_the_calculator_says_it_to_the_digits(capsys):
    assert command(["sprt", "--elo1", "5", "--wdl", "76,123,89"]) == 0
    out = capsys.readouterr().out
    for said in (
        "score  0.4774",
        "nElo   -20.76 ± 40.13",
        "LOS    15.53 %",
        "losses, draws, wins: 89, 123, 76",
        "-2.944439",
    ):
        assert said in out
    assert command(["sprt", "--elo1", "5", "--pentanomial", "34,54,63,64,75"]) == 0
    out = capsys.readouterr().out
    for said in ("Elo    +55.58 ± 27.65", "nElo   +57.94 ± 28.28", "LOS    100.00 %"):
        assert said in out
    assert command(["sprt", "--elo1", "50", "--games"]) == 0
    assert ["+25", "439.23", "50.18", "%"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_bayesian_plans_are_of_bayesian_strengths():
    """Alpha and beta hold at the two hypotheses, whatever the share of draws, and half are accepted between them."""
    test = Sprt(0, 20, model="bayesian", pairs=False)
    found = [expectation(test, chances(test, elo, 0.6)) for elo in (0, 10, 20)]
    assert [one.accepts_h1 for one in found] == pytest.approx([0.05, 0.5, 0.95], abs=0.01)
    assert found[0].games == pytest.approx(found[2].games, rel=0.01)
    assert sum(chances(test, 10, 0.6)) == pytest.approx(1)
    assert chances(test, 0, 0.6)[1] == pytest.approx(0.6)


@pytest.mark.parametrize("model", ["logistic", "normalized", "bayesian"])
@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_any_number_of_games_has_a_finite_ratio_of_the_right_sign(model, place):
    """Up to the most that are taken: symmetric ones, and all lost, drawn or won."""
    for most in (1, 10_000, MOST_COUNTED):
        counts = [most // 2, 0, most // 2] if place is None else [most * (i == place) for i in range(3)]
        for reach in (5.0, 400.0, 4000.0):
            llr = Sprt(-reach, reach, model=model, pairs=False).llr(counts)
            assert math.isfinite(llr)
            side = 0 if place is None else place - 1
            assert llr * side > 0 if side else abs(llr) <= 1e-6 * max(1, most)
    with pytest.raises(UserError, match="100,000,000 in all at most"):
        Sprt(0, 20, model=model, pairs=False).llr([0, 0, MOST_COUNTED + 1])


def test_few_games_make_nobody_sure():
    """Where all ended alike: with a uniform prior, n wins leave 2^-(n + 1) to the other side."""
    assert strength([0, 0, 1]).los == pytest.approx(0.75)
    assert strength([3, 0, 0]).los == pytest.approx(1 / 16)
    assert strength([0, 10, 0]).los == 0.5
    lost = strength([0, 10, 0, 0, 0])
    assert (lost.nelo, lost.los) == (-math.inf, pytest.approx(2.0**-11))
    assert math.isfinite(strength([144, 3, 1, 0, 0]).elo_error)


def test_colours_that_are_not_swapped_are_no_test():
    """Moving first would be taken for strength."""
    bots = ["random:name=a", "random:name=b", "random:name=c"]
    fixed = [{"bots": ["a", "b"], "black": "a"}]
    with pytest.raises(UserError, match='black = "a": a test is on pairs in which colours are swapped'):
        jb.tournament("tic_tac_toe", bots[:2], 2, sprt="0,20", matchups=fixed)
    with pytest.raises(UserError, match='black = "a": a test is on pairs'):
        jb.tournament("tic_tac_toe", bots, format="best", matchups=fixed)


@pytest.mark.full
def test_a_test_says_that_its_games_are_the_same():
    run = jb.match("minimax:depth=1", "minimax:depth=2", "connect_four:4x4", sprt="0,40")
    assert run.told[-1].endswith('takes each for new evidence: openings (openings = "random") make others')
    assert re.match(r"but only \d+ of \d+ games are distinct", run.told[-1])
    assert run.total == len(run.results)


def test_a_test_that_runs_out_of_games_says_so():
    run = jb.match("random:name=a", "random:name=b", "tic_tac_toe", 4, sprt="0,5")
    assert run.told[0].startswith("undecided")
    assert run.told[2] == "the games of the match are all played: more of them go on"
