"""What ratings are relative to, and what no games can say: anchors, the prior, fits that are not finite."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jubango.analysis.ratings.ratings import rate
from jubango.analysis.tables.verdicts import verdict

# A ladder: everybody beats the next one down nine times of ten, more often with the first move.
LADDER = [("uct-800", "uct-200"), ("uct-200", "uct-50"), ("uct-50", "random"), ("uct-800", "random")]
GAMES = [(a, b, float(k > 0)) for a, b in LADDER for k in range(10)]
GAMES += [(b, a, float(k < 2)) for a, b in LADDER for k in range(10)]


def everything(found):
    names = sorted(r.name for r in found.ratings)
    return [found.difference(a, b) for a in names for b in names] + [(found.advantage, found.advantage_error)]


@pytest.mark.parametrize("prior", [0.5, 3.0, 0.0])
@pytest.mark.parametrize("anchors", [{"random": 0}, {"uct-800": 0}, {"uct-50": 2500}])
def test_one_anchor_moves_all_alike(prior, anchors):
    free, held = rate(GAMES, prior), rate(GAMES, prior, anchors=anchors)
    for a, b in zip(everything(free), everything(held), strict=True):
        assert a == pytest.approx(b, abs=1e-6)
    assert (free.advantage, free.advantage_error) == (held.advantage, held.advantage_error), "to the last digit"
    assert {r.name: r.elo for r in held.ratings}.items() >= anchors.items()


def test_several_anchors_take_the_prior_along():
    """Two scales that differ by a shift give the same ratings but for it, and anchors where the games put them
    change nothing."""
    free = {r.name: r.elo for r in rate(GAMES).ratings}
    near = rate(GAMES, anchors={name: free[name] for name in ("random", "uct-800")})
    far = rate(GAMES, anchors={name: free[name] + 3000 for name in ("random", "uct-800")})
    assert {r.name: r.elo for r in near.ratings} == pytest.approx(free, abs=1e-6)
    assert {r.name: r.elo - 3000 for r in far.ratings} == pytest.approx(free, abs=1e-6)
    assert near.advantage == pytest.approx(far.advantage)
    new = [*GAMES, ("newcomer", "uct-800", 1.0)]
    one, two = rate(new, anchors={"uct-800": 3000}), rate(new, anchors={"uct-800": 3000, "random": 2000})
    for found in (one, two):  # a single win says little, and the prior does not draw it towards 0
        assert 2000 < next(r.elo for r in found.ratings if r.name == "newcomer") < 3500


def test_anchors_are_known_exactly():
    found = rate(GAMES, anchors={"random": 500, "uct-800": 100})
    assert found.difference("uct-800", "random") == (-400, 0, 0)
    assert found.difference("random", "uct-800") == (400, 0, 1)
    assert found.difference("random", "random") == (0, 0, 0.5)


def test_groups_with_anchors_share_a_scale():
    apart = [("a", "b", 1.0), ("b", "a", 1.0), ("c", "d", 0.5)]
    assert rate(apart).difference("a", "c") == (0, math.inf, 0.5)
    gap, error, _ = rate(apart, anchors={"a": 100, "c": 300}).difference("a", "c")
    assert (gap, error) == (-200, 0)
    joined = rate(apart, anchors={"a": 100, "c": 300})
    assert [r.name for r in joined.ratings][2] == "a", "in one order, whoever met whom"
    assert str(verdict(joined, apart, "a", "c")).startswith("c is +200")


def finite(results, prior=0.0, **keys):
    found = rate(results, prior, **keys)
    return {r.name: r.elo if math.isfinite(r.error) else r.elo or None for r in found.ratings}, found


def test_a_first_move_that_always_wins_when_it_can():
    """a wins every game as Black and half of the others: the better the first move, the better a; nothing stops both."""
    results = [("a", "b", 1.0)] * 10 + [("b", "a", 1.0), ("b", "a", 0.0)] * 5
    elo, found = finite(results)
    assert elo["a"] - elo["b"] == math.inf
    assert found.advantage == found.advantage_error == math.inf
    assert found.difference("b", "a") == (-math.inf, math.inf, 0)
    elo, found = finite(results, first_move_advantage=False)
    assert elo["a"] - elo["b"] == pytest.approx(400 * math.log10(3))


def test_black_wins_everything():
    """Moving first is worth more than any number; who is stronger cannot be told."""
    elo, found = finite([("a", "b", 1.0), ("b", "a", 1.0)] * 5)
    assert found.advantage == math.inf
    assert None in elo.values()
    assert found.difference("a", "b") == (0, math.inf, 0.5)


def test_colours_that_never_change():
    """The stronger player or the first move: it cannot be told which."""
    _, found = finite([("a", "b", 1.0), ("a", "b", 1.0), ("a", "b", 0.0)])
    assert (found.advantage, found.advantage_error) == (0, math.inf)
    assert found.difference("a", "b") == (0, math.inf, 0.5)


def test_only_what_is_unbounded_is_infinite():
    results = [("c", "d", 1.0), ("c", "d", 0.0), ("d", "c", 1.0), ("d", "c", 0.0), ("a", "c", 1.0), ("b", "c", 1.0)]
    elo, found = finite([*results, ("d", "e", 1.0)])
    assert elo == {"a": math.inf, "b": math.inf, "c": 0, "d": 0, "e": -math.inf}
    assert found.advantage_error < 1000
    assert found.difference("a", "b") == (0, math.inf, 0.5), "both beat c, and never met"
    assert found.difference("a", "e") == (math.inf, math.inf, 1)


def test_those_who_always_lose_can_be_told_apart():
    """x and y never beat a, b and c, who are evenly matched, but x beats y three times in four."""
    strong = [(p, q, s) for p, q in ("ab", "bc", "ca") for s in (0.0, 1.0)]
    weak = [("x", "y", 1.0), ("y", "x", 0.0)] * 15 + [("x", "y", 0.0), ("y", "x", 1.0)] * 5
    beaten = [(p, q, 1.0) for p in "abc" for q in "xy"] + [("x", "z", 1.0), ("y", "z", 1.0)]
    elo, found = finite([*strong, *weak, *beaten], first_move_advantage=False)
    assert [r.name for r in found.ratings] == list("abcxyz")
    assert elo == {"a": 0, "b": 0, "c": 0, "x": -math.inf, "y": -math.inf, "z": -math.inf}
    assert found.difference("y", "x") == pytest.approx(rate(weak, 0, False).difference("y", "x"))
    assert found.difference("y", "x")[0] == pytest.approx(-400 * math.log10(3))
    assert found.difference("z", "y") == (-math.inf, math.inf, 0), "both are infinite, and one beat the other"


def test_what_may_go_either_way_is_no_better():
    """a drew with b by moving first, and beat c with it; what that is worth nobody knows."""
    _, found = finite([("a", "b", 0.5), ("a", "c", 1.0)])
    assert found.difference("b", "c") == (math.inf, math.inf, 1)
    assert found.difference("a", "c") == (0, math.inf, 0.5)
    assert found.difference("a", "b") == (0, math.inf, 0.5)


def test_an_anchor_that_ties_what_nothing_else_does():
    """Only held together do the two say what the first move is worth."""
    elo, found = finite([("a", "b", 1.0), ("a", "b", 0.0)], anchors={"a": 50, "b": 0})
    assert found.advantage == pytest.approx(-50)
    assert elo == {"a": 50, "b": 0}


names = st.sampled_from("abcd")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(lambda r: r[0] != r[1]), min_size=1, max_size=14),
    st.booleans(),
    st.sets(names, max_size=2),
)  # fmt: skip
def test_linear_programs_agree_on_what_is_finite(results, with_advantage, held):
    """In which directions no game's likelihood falls, and how they change each rating and the advantage."""
    from scipy.optimize import linprog

    present = sorted({name for black, white, _ in results for name in (black, white)})
    held &= set(present)
    wins = []
    for black, white, score in results:
        row = np.array([(name == black) - (name == white) for name in present] + [with_advantage], float)
        wins += [row] * (score > 0) + [-row] * (score < 1)
    box = [(0, 0) if name in held else (-1, 1) for name in present] + [(-1, 1)]

    def way(direction):
        low, high = (
            sign * linprog(sign * direction, -np.array(wins), np.zeros(len(wins)), bounds=box).fun for sign in (1, -1)
        )
        ways = (low < -1e-7, high > 1e-7)
        return {(False, False): 0, (True, True): None, (False, True): math.inf, (True, False): -math.inf}[ways]

    found = rate(results, 0, with_advantage, dict.fromkeys(held, 100.0))
    unit = np.eye(len(present) + 1)
    if with_advantage:
        infinite = math.isinf(found.advantage_error)
        assert way(unit[-1]) == ((found.advantage or None) if infinite else 0)
    for group in range(found.groups):
        members = [r for r in found.ratings if r.group == group]
        origin = np.zeros(len(present) + 1)
        if not held & {r.name for r in members}:
            origin = unit[present.index(next(r.name for r in members if math.isfinite(r.error)))]
        for r in members:
            expected = 0 if math.isfinite(r.error) else r.elo or None
            assert way(unit[present.index(r.name)] - origin) == expected, r.name
    order = [r.name for r in found.ratings]
    for a, b in combinations(order, 2):
        gap, error, _ = found.difference(a, b)
        assert gap >= 0, "in order, as far as there is one"
        assert way(unit[present.index(a)] - unit[present.index(b)]) == (0 if math.isfinite(error) else gap or None)


def test_players_who_met_only_themselves():
    found = rate([("a", "a", 1.0), ("b", "c", 1.0), ("c", "b", 0.5)])
    assert {r.name: r.games for r in found.ratings} == {"a": 0, "b": 2, "c": 2}


def test_undecided_games_count_nowhere():
    void = ("a", "b", math.nan)
    assert rate([*GAMES, void]).ratings == rate(GAMES).ratings


def test_zero_is_zero():
    found = rate([("a", "b", 1.0), ("b", "a", 1.0), ("b", "c", 0.5), ("c", "b", 0.5), ("c", "a", 0.5)] * 3)
    assert not any(0 < abs(r.elo) < 1e-9 or (math.copysign(1, r.elo) < 0 and not r.elo) for r in found.ratings)


def test_hundreds_of_players_are_solved_for_as_few_are(monkeypatch):
    """Step by step or all at once: the same ratings, and points that are those expected."""
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 300, (4000, 2))
    results = [(f"p{a}", f"p{b}", float(rng.integers(0, 3)) / 2) for a, b in pairs.tolist()]
    results += [(f"q{i}", f"q{i + 1}", float(i % 3 > 0)) for i in range(300)]  # a long chain
    found = rate(results)
    monkeypatch.setattr("jubango.analysis.ratings.bradley_terry.MANY", 10_000)
    dense = rate(results)
    assert [r.name for r in found.ratings] == [r.name for r in dense.ratings]
    assert np.allclose([r.elo for r in found.ratings], [r.elo for r in dense.ratings], atol=1e-7)
    assert np.allclose(found.covariance, dense.covariance, rtol=1e-6)
    elo = {r.name: r.elo for r in found.ratings}
    expected = sum(1 / (1 + 10 ** (-(elo[a] - elo[b] + found.advantage) / 400)) for a, b, _ in results if a != b)
    side = 0.5 * (1 - 2 / (1 + 10 ** (-found.advantage / 400)))
    assert sum(s for a, b, s in results if a != b) - expected + side == pytest.approx(0, abs=1e-6)
