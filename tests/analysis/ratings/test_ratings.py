"""Ratings against published values, closed forms and their own invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jubango.analysis.ratings.ratings import ELO, Z95, elo_of_score, expected_score, rate
from jubango.analysis.ratings.results import Result
from jubango.analysis.tables.tables import crosstable, ratings_frame, results_of
from jubango.sgf_games.base.errors import UserError

# American League East 1987, wins of the row over the column (Agresti, table 11.10).
TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
WINS = [
    [0, 7, 9, 7, 7, 9, 11], [6, 0, 7, 5, 11, 9, 9], [4, 6, 0, 7, 7, 8, 12], [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12], [4, 4, 5, 6, 6, 0, 6], [2, 4, 1, 3, 1, 7, 0],
]  # fmt: skip
LOG_ODDS = {
    "Boston": 1.1077, "Cleveland": 0.6839, "Detroit": 1.4364, "Milwaukee": 1.5814, "New York": 1.2476,
    "Toronto": 1.2945, "Baltimore": 0.0,
}  # fmt: skip


def baseball():
    return [(a, b, 1.0) for i, a in enumerate(TEAMS) for j, b in enumerate(TEAMS) for _ in range(WINS[i][j])]


def test_baseball_of_1987():
    found = rate(baseball(), prior=0, first_move_advantage=False, anchors={"Baltimore": 0})
    for rating in found.ratings:
        assert rating.elo == pytest.approx(LOG_ODDS[rating.name] * ELO, abs=0.01)
    boston = next(r for r in found.ratings if r.name == "Boston")
    assert boston.error / Z95 / ELO == pytest.approx(0.3339, abs=1e-4)


def test_differences_do_not_depend_on_the_anchor():
    free = rate(baseball(), prior=0, first_move_advantage=False)
    held = rate(baseball(), prior=0, first_move_advantage=False, anchors={"Detroit": 2000})
    for a, b in (("Boston", "Toronto"), ("Milwaukee", "Baltimore")):
        assert free.difference(a, b) == pytest.approx(held.difference(a, b), abs=1e-6)
    assert next(r.elo for r in held.ratings if r.name == "Detroit") == 2000
    assert sum(r.elo for r in free.ratings) == pytest.approx(0, abs=1e-6)


def test_two_players_have_a_closed_form():
    """30 wins of 40: the difference is 400 log10(3), its error 1 / sqrt(n p q) in log-odds."""
    results = [("a", "b", 1.0)] * 15 + [("b", "a", 0.0)] * 15 + [("a", "b", 0.0)] * 5 + [("b", "a", 1.0)] * 5
    gap, error, los = rate(results, prior=0, first_move_advantage=False).difference("a", "b")
    assert gap == pytest.approx(400 * math.log10(3))
    assert error == pytest.approx(Z95 * ELO / math.sqrt(40 * 0.75 * 0.25))
    assert 0.99 < los < 1


def test_first_move_advantage_has_a_closed_form():
    """Equal players, the first mover wins 3 of 4."""
    results = [("a", "b", 1.0)] * 30 + [("a", "b", 0.0)] * 10 + [("b", "a", 1.0)] * 30 + [("b", "a", 0.0)] * 10
    found = rate(results, prior=0)
    assert found.advantage == pytest.approx(400 * math.log10(3))
    assert found.ratings[0].elo == pytest.approx(0, abs=1e-9)


def test_errors_are_joint_not_conditional():
    """a and b met often, c only few times: c's error against a is that of few games."""
    results = [("a", "b", 1.0), ("a", "b", 0.0)] * 500 + [("b", "c", 1.0), ("b", "c", 0.0)] * 2
    found = rate(results, prior=0, first_move_advantage=False)
    _, error, _ = found.difference("a", "c")
    expected = Z95 * ELO * math.sqrt(1 / (1000 * 0.25) + 1 / (4 * 0.25))
    assert error == pytest.approx(expected, rel=1e-6)


def test_perfect_scores():
    wins = [("a", "b", 1.0), ("b", "a", 0.0)] * 3
    finite = rate(wins)
    assert all(math.isfinite(r.elo) and math.isfinite(r.error) for r in finite.ratings)
    assert finite.ratings[0].name == "a"
    unbounded = rate(wins, prior=0)
    assert sorted(r.elo for r in unbounded.ratings)[-1] in (0, math.inf)
    assert any(math.isinf(r.elo) for r in unbounded.ratings)
    assert not any(math.isnan(r.elo) for r in unbounded.ratings)


def test_groups_that_never_met_are_said_to_be_so():
    found = rate([("a", "b", 1.0), ("b", "a", 1.0), ("c", "d", 0.5), ("c", "e", 1.0)])
    assert found.groups == 2
    assert {r.name: r.group for r in found.ratings} == {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0])), max_size=30
    ),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.booleans(),
)
def test_never_nan_and_order_does_not_matter(results, prior, advantage):
    one = rate(results, prior, advantage)
    two = rate(results[::-1], prior, advantage)
    for a, b in zip(one.ratings, two.ratings, strict=True):
        assert not math.isnan(a.elo)
        assert not math.isnan(a.error)
        assert a.name == b.name
        assert a.elo == pytest.approx(b.elo, abs=1e-6)
    renamed = rate([(y, x, 1 - s) for x, y, s in results], prior, False)
    same = rate(results, prior, False)
    for a, b in zip(same.ratings, renamed.ratings, strict=True):
        assert a.elo == pytest.approx(b.elo, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1, max_size=60,
    ),
    st.sampled_from([0.01, 0.5, 3.0]),
    st.booleans(),
    st.dictionaries(st.sampled_from("abc"), st.floats(-2000, 2000), max_size=2),
)  # fmt: skip
def test_the_fit_is_the_maximum(results, prior, advantage, anchors):
    """The likelihood's slope is zero: everybody's points are those expected, the prior's virtual games included, and
    those of the virtual player itself."""
    present = {name for b, w, _ in results if b != w for name in (b, w)}
    anchors = {name: elo for name, elo in anchors.items() if name in present}
    found = rate(results, prior, advantage, anchors)
    elo = {r.name: r.elo for r in found.ratings}
    assert all(elo[name] == pytest.approx(value, abs=1e-9) for name, value in anchors.items())
    surplus = dict.fromkeys(elo, 0.0)
    side = prior * (1 - 2 * expected_score(found.advantage))
    for black, white, score in results:
        if black != white:
            extra = score - expected_score(elo[black] - elo[white] + found.advantage)
            surplus[black] += extra
            surplus[white] -= extra
            side += extra
    for group in range(found.groups):
        members = [r.name for r in found.ratings if r.group == group]
        if not anchors.keys() & set(members):
            assert sum(elo[name] for name in members) == pytest.approx(0, abs=1e-6)
            assert sum(surplus[name] for name in members) == pytest.approx(0, abs=1e-8)
        place = _zero(lambda x, m=members: sum(1 - 2 * expected_score(elo[name] - x) for name in m))
        for name in set(members) - set(anchors):
            assert surplus[name] + prior * (1 - 2 * expected_score(elo[name] - place)) == pytest.approx(0, abs=1e-7)
    if advantage:
        assert side == pytest.approx(0, abs=1e-7)


def _zero(rising) -> float:
    low, high = -10_000.0, 10_000.0
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return low


@given(st.floats(0.001, 0.999))
def test_scores_and_elo_are_inverse(score):
    assert expected_score(elo_of_score(score)) == pytest.approx(score)


def test_reference_values():
    assert [expected_score(x) for x in (100, 200, 400)] == pytest.approx([0.640065, 0.759747, 0.909091], abs=1e-6)


def test_unknown_anchor_is_the_users_error():
    with pytest.raises(UserError, match="did you mean"):
        rate([("gnugo", "uct", 1.0)], anchors={"gnu-go": 1500})


def test_csv_and_tables(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("Black,White,Result\na,b,1-0\nb,a,W+3.5\na,b,1/2-1/2\na,b,0\n")
    results = results_of([path])
    assert [result[:3] for result in results] == [("a", "b", 1.0), ("b", "a", 0.0), ("a", "b", 0.5), ("a", "b", 0.0)]
    frame = ratings_frame(rate(results))
    assert list(frame["name"]) == ["a", "b"]
    assert frame.loc[0, "games"] == 4
    assert np.isclose(frame["score"].sum(), 1)
    assert crosstable(results).loc["a", "b"] == "2-1-1"
    path.write_text("black,white,result\na,b,perhaps\n")
    with pytest.raises(UserError, match="line 2"):
        results_of([path])
    path.write_text("black,white\na,b\n")
    with pytest.raises(UserError, match='no column "result"'):
        results_of([path])


def _pairs(counts, seed=0):
    """Colour-swapped pairs of a and b: (both lost by a, one each, both won by a)."""
    games = []
    for number, points in enumerate(np.repeat([0, 1, 2], counts)):
        first, second = {0: (0.0, 1.0), 1: (1.0, 1.0), 2: (1.0, 0.0)}[int(points)]  # Black's scores: a - b, then b - a
        games += [Result("a", "b", first, pair=number), Result("b", "a", second, pair=number)]
    return games


@pytest.mark.parametrize("counts", [(30, 10, 60), (5, 90, 5), (40, 0, 60)])
def test_errors_by_pairs_are_those_of_the_pairs_mean(counts):
    """Of two players without a prior the Elo is that of the score, whose error is the pairs' own (delta method), each
    pair's distance being that from the mean of the others, n / (n - 1) of that from the mean of all."""
    found = rate(_pairs(counts), prior=0, first_move_advantage=False)
    shares, scores = np.array(counts) / sum(counts), np.array([0, 0.5, 1])
    mean = shares @ scores
    variance = shares @ (scores - mean) ** 2 * sum(counts) / (sum(counts) - 1) ** 2
    slope = 400 / math.log(10) / (mean * (1 - mean))
    gap, error, _ = found.difference("a", "b", by_pairs=True)
    assert gap == pytest.approx(400 * math.log10(mean / (1 - mean)))
    assert error == pytest.approx(1.959964 * slope * math.sqrt(variance), rel=1e-4)
    assert found.ratings[0].pair_error == pytest.approx(error / 2, rel=1e-6)
    models = found.difference("a", "b")[1]
    assert (error > models) == (counts[1] < sum(counts) / 2), "pairs that hang together tell less than their games"


def test_games_by_themselves_are_their_own_clusters():
    games = [Result(game.black, game.white, game.score) for game in _pairs((30, 10, 60))]
    found = rate(games, prior=0, first_move_advantage=False)
    assert found.difference("a", "b", by_pairs=True)[1] == pytest.approx(found.difference("a", "b")[1], rel=0.01)


def test_the_likelihood_of_superiority_of_all_pairs():
    found = rate(
        [*[("a", "b", 1.0)] * 6, ("a", "b", 0.0), *[("b", "c", 1.0)] * 4, ("c", "b", 1.0)], first_move_advantage=False
    )
    los = found.superiority
    names = [rating.name for rating in found.ratings]
    assert los + los.T == pytest.approx(np.ones((3, 3)))
    assert los[names.index("a"), names.index("c")] == pytest.approx(found.difference("a", "c")[2])
    assert los[0, 2] > 0.9


@pytest.mark.parametrize(("wins", "draws", "losses"), [(30, 40, 10), (5, 90, 5), (0, 40, 3)])
def test_draws_scatter_less(wins, draws, losses):
    """Of two players without a prior: the error of a mean of wins, draws and losses (delta method), as if two more
    games had been decided."""
    games = [("a", "b", 1.0)] * wins + [("a", "b", 0.5)] * draws + [("a", "b", 0.0)] * losses
    number = len(games)
    mean = (wins + draws / 2) / number
    variance = mean * (1 - mean) - draws / 4 / (number + 2)
    gap, error, _ = rate(games, prior=0, first_move_advantage=False).difference("a", "b")
    assert gap == pytest.approx(400 * math.log10(mean / (1 - mean)))
    assert error == pytest.approx(Z95 * ELO * math.sqrt(variance / number) / (mean * (1 - mean)), rel=1e-6)


def test_errors_by_pairs_are_those_of_a_jackknife():
    """Leaving out one pair after the other, of players who met unequally often, says the same."""
    rng, games = np.random.default_rng(4), []
    for (a, b), pairs in zip(("ab", "ac", "bc", "bd", "cd"), (12, 5, 20, 9, 7), strict=True):
        for n in range(pairs):
            games += [Result(x, y, rng.integers(3) / 2, pair=n) for x, y in ((a, b), (b, a))]
    found = rate(games)
    keys = {(game.pair, *sorted(game[:2])) for game in games}
    others = [rate([game for game in games if (game.pair, *sorted(game[:2])) != key]) for key in sorted(keys)]
    for first, second in ("ab", "ad", "cd"):
        off = [other.difference(first, second)[0] - found.difference(first, second)[0] for other in others]
        jackknife = Z95 * math.sqrt(np.sum(np.square(off)))
        assert found.difference(first, second, by_pairs=True)[1] == pytest.approx(jackknife, rel=0.03)
    jackknife = Z95 * math.sqrt(np.sum(np.square([other.advantage - found.advantage for other in others])))
    assert found.advantage_pair_error == pytest.approx(jackknife, rel=0.03)


def test_games_without_a_finite_fit_say_nothing_of_errors_by_pairs():
    """Who loses to all has no finite rating, and neither raises nor lowers what the others' games say of them."""
    games = _pairs((8, 10, 13))
    lost = [Result(*pair, score, pair=n) for n in range(9) for pair, score in (("ac", 1.0), ("cb", 0.0))]
    alone, among = (rate(played, prior=0) for played in (games, games + lost))
    assert alone.difference("a", "b") == pytest.approx(among.difference("a", "b"))
    assert alone.difference("a", "b", by_pairs=True) == pytest.approx(among.difference("a", "b", by_pairs=True))
