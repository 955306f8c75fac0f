"""The search for the best of several: what it plays, when it stops, and how often it is right."""

from __future__ import annotations

import itertools
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from jubango.analysis.ratings.best_arm import BestOf, _Fit
from jubango.analysis.ratings.ratings import ELO
from jubango.sgf_games.base.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import best as benchmark
from dice import Dice

sys.path.pop(0)


def end(race, duel, points):
    """Both games of a duel have ended, with so many points of the first player in all."""
    first = points if points != points else math.ceil(points) / 2
    race.add(duel.first, duel.second, 2 * duel.number + 1, first)
    race.add(duel.first, duel.second, 2 * duel.number, points - first)


def played(race, points, order=lambda under_way: 0):
    """Everything that has been played, until the race is decided, as it ended."""
    begun, under_way, ended = 0, [], []
    while not race.decided:
        under_way += race.schedule[begun:]
        begun = len(race.schedule)
        duel = under_way.pop(order(under_way))
        end(race, duel, points(duel))
        ended.append(duel)
    return ended


def results(elo, seed, drawn=0.0):
    """The points of a duel, which depend on who plays and how often they have met, and on nothing else."""

    def points(duel):
        rng = np.random.default_rng([seed, int(duel.first), int(duel.second), duel.number])
        chance = 1 / (1 + math.exp((elo[int(duel.second)] - elo[int(duel.first)]) / ELO))
        return float(sum(0.5 if rng.random() < drawn else rng.random() < chance for _ in range(2)))

    return points


@pytest.mark.parametrize("seed", range(6))
def test_the_order_in_which_games_end_means_nothing(seed):
    """The schedule, the answer and all that is said of it are those of duels that end one after the other."""
    rng = random.Random(seed)
    players, size = rng.randrange(2, 6), rng.randrange(1, 10)
    elo = [rng.gauss(0, 150) for _ in range(players)]
    names = [str(i) for i in range(players)]
    one, other, again = (BestOf(names, 60, 0.1, size) for _ in range(3))
    played(one, results(elo, seed))
    mixed = played(other, results(elo, seed), lambda under_way: rng.randrange(len(under_way)))
    assert one.state == other.state
    assert one.schedule == other.schedule
    assert len(mixed) - one.state.pairs <= 2 * size
    for duel in rng.sample(mixed, len(mixed)):  # also those that are not scheduled yet
        end(again, duel, results(elo, seed)(duel))
    assert (again.state, again.schedule) == (one.state, one.schedule)


def test_a_schedule_counts_who_has_met():
    race = BestOf(["a", "b", "c"], 40, 0.05, 4)
    played(race, lambda duel: 2.0 if duel.first == "a" else 1.0)
    for two in itertools.combinations("abc", 2):
        own = [duel.number for duel in race.schedule if duel[:2] == two]
        assert own == list(range(len(own)))
    assert race.state.best == "a"


def test_at_most_two_rounds_are_under_way():
    race = BestOf("abcd", size=5)
    first = list(race.schedule)
    assert len(first) == 10
    for duel in first[1:7]:
        end(race, duel, 1)
    assert race.schedule == first, "the very first is missing"
    end(race, first[0], 1)
    assert len(race.schedule) == 15
    assert race.state.pairs == 5


def _random_fit(players, rng):
    """As after duels of everybody with some."""
    games = np.triu(rng.integers(0, 4, (players, players)), 1)
    games = games + games.T
    theta = rng.normal(0, 0.5, players)
    return _Fit(theta, np.linalg.inv(_information(theta, games)), 0.5)


def _information(theta, duels):
    chance = 1 / (1 + np.exp(theta - theta[:, None]))
    weight = duels * chance * (1 - chance)
    return np.diag(weight.sum(1) + 0.25) - weight


@pytest.mark.parametrize("seed", range(5))
def test_the_most_telling_duel_is_the_one_that_lowers_most(seed):
    """Found one after the other without solving anything anew; here by trying each."""
    rng = np.random.default_rng(seed)
    players, matters = 6, 0.1
    fit = _random_fit(players, rng)
    contenders = np.append(rng.permutation(np.delete(np.arange(players), fit.leader))[:4], fit.leader)
    information = np.linalg.inv(fit.covariance)

    def with_one_more(information, first, second):
        between = np.zeros(players)
        between[[first, second]] = 1, -1
        chance = 1 / (1 + np.exp(fit.theta[second] - fit.theta[first]))
        return information + chance * (1 - chance) * np.outer(between, between)

    def objective(information):
        found = fit._replace(covariance=np.linalg.inv(information))
        return float(np.sum((found.apart / (found.gaps + matters) ** 2)[contenders[:-1]]))

    for pair in fit.most_telling(contenders, matters, 4):
        first, second = contenders[list(pair)]
        tried = {(a, b): objective(with_one_more(information, a, b)) for a, b in itertools.combinations(contenders, 2)}
        assert objective(with_one_more(information, first, second)) == pytest.approx(min(tried.values()))
        information = with_one_more(information, first, second)


def test_a_duel_that_is_played_is_information():
    rng = np.random.default_rng(1)
    fit = _random_fit(5, rng)
    duels = np.zeros((5, 5))
    duels[1, 3] = duels[3, 1] = 1
    chance = 1 / (1 + math.exp(fit.theta[3] - fit.theta[1]))
    more = np.diag(duels.sum(1)) * chance * (1 - chance) - duels * chance * (1 - chance)
    expected = np.linalg.inv(np.linalg.inv(fit.covariance) + more)
    assert fit.played(1, 3).covariance == pytest.approx(expected)


def test_evidence_has_a_closed_form():
    """Two players, 40 pairs, 50 of 80 points: by normal approximation the log-likelihood ratio of log-odds that are
    found to those that would be ``elo`` to the other's favour. The prior moves it a little."""
    race = BestOf(["a", "b"], 30, 1e-12, 40)
    for duel in race.schedule[:40]:
        end(race, duel, 2 if duel.number < 10 else 1)
    share = 50 / 80
    gap = math.log(share / (1 - share))
    state = race.state
    assert (state.best, state.pairs, state.games) == ("a", 40, 80)
    assert state.standings[1].elo == pytest.approx(-ELO * gap, rel=0.06)
    spread = (10 * (1 - share) ** 2 + 30 * (share - 0.5) ** 2) / (40 * share * (1 - share))
    dispersion = (spread * 40 * share * (1 - share) + 5) / (40 * share * (1 - share) + 10)
    variance = dispersion / (40 * share * (1 - share))
    assert state.standings[1].error == pytest.approx(1.96 * ELO * math.sqrt(variance), rel=0.06)
    ratio = (gap + 30 / ELO) ** 2 / (2 * variance)
    assert float(race._fit.evidence(30 / ELO)[1]) == pytest.approx(ratio, rel=0.1)


def test_draws_end_it_sooner():
    """Between equals, none of whom matters: what scatters less needs fewer games."""
    lengths = [BestOf([str(i) for i in range(4)], 40, 0.05, 8) for _ in range(2)]
    for race, drawn in zip(lengths, (0.0, 0.9), strict=True):
        played(race, results([0] * 4, 3, drawn))
    assert lengths[1].state.pairs < lengths[0].state.pairs / 2


@pytest.mark.full
def test_the_best_is_rarely_missed_where_it_is_hardest_to_see():
    """One a little more than it has to be above equals: of so many runs at most so many as 5 % make likely."""
    case, runs = benchmark.Case("", np.array([40.1, 0, 0, 0, 0, 0]), 40), 50
    missed = sum(benchmark.found_by(BestOf, case, seed, 16)[0] for seed in range(100, 100 + runs))
    assert missed <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.full
def test_it_saves_games():
    """Of a parameter's 16 settings; and the round robin, which stops by the same evidence, says the same."""
    case = benchmark.Case("", benchmark.LINEUPS["a parameter: 300 Elo at one end"](16), 30, Dice(drawn=0.4))
    ours, all_pairings = (benchmark.found_by(kind, case, 1) for kind in (BestOf, benchmark.RoundRobin))
    assert not ours[0]
    assert not all_pairings[0]
    assert 3 * ours[1] < all_pairings[1]


def test_duels_that_were_not_decided_count_for_nothing():
    race = BestOf(["a", "b"], 100, 0.2, 3)
    for duel in list(race.schedule):
        end(race, duel, math.nan)
    assert race.state.standings[0].duels == 0
    assert race.state.pairs == 6
    played(race, lambda duel: math.nan if duel.number % 2 else 2.0)
    assert race.state.best == "a"
    assert race.state.standings[0].duels < race.state.pairs


def test_what_is_said():
    race = BestOf([f"p{i}" for i in range(8)], 25, 0.05, 4)
    assert str(race.state).startswith(
        "p0 leads after 0 games; of the other 7, 7 may still be 25 Elo better or more: p1, p2, p3, p4, p5, ..."
    )
    played(race, lambda duel: 2.0 if "p5" in (duel.first,) else 0.0 if duel.second == "p5" else 1.0)
    said = f"p5 is the best of 8, or less than 25 Elo below it, after {race.state.games:,} games (wrong in 5 % of the cases at most)"
    assert str(race.state) == said
    assert [one.beaten for one in race.state.standings] == [False] + [True] * 7
    assert race.state.standings[0][:3] == ("p5", 0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((["a"],), "two or more"), ((["a", "a"],), "two or more"), ((["a", "b"], 0), "indifference"), ((["a", "b"], math.nan), "indifference"),
        ((["a", "b"], 10, 1.0), "alpha"), ((["a", "b"], 10, 0.1, 0), "size"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(arguments, said):
    with pytest.raises(UserError, match=said):
        BestOf(*arguments)


def test_results_that_cannot_be_are_refused():
    race = BestOf(["a", "b"], size=2)
    for first, second, score in (("b", "a", 1), ("a", "c", 1), ("a", "a", 0), ("a", "b", 0.7)):
        with pytest.raises(UserError, match=f"{first}, {second}"):
            race.add(first, second, 0, score)
