"""How often what is said of games is right: tournaments and sequential tests of players whose strength is known.

    python benchmarks/known_truth.py [--quick] [--only ratings|tests|order]

Results are drawn with fixed seeds, so that every run prints the same numbers; nothing is timed. What judges them is
what users call: ``rate``, ``Sprt``, ``SequentialTest``.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from dice import Dice, pair_chances, pair_scores, scores

from jubango.analysis.ratings.ratings import Z95, elo_of_score, rate
from jubango.analysis.ratings.results import Result
from jubango.analysis.ratings.sprt import NORMALIZED, OUTCOMES, SequentialTest, Sprt
from jubango.analysis.ratings.sprt_length import expectation

AT_ONCE = 64  # games, where they end out of order


# -- ratings -------------------------------------------------------------------------------------


class Tournament(NamedTuple):
    """A round robin of players whose strength is known."""

    elo: tuple[float, ...]
    pairs: tuple[int, ...]  # of games, of one pairing after the other
    dice: Dice = Dice()

    @property
    def words(self) -> str:
        def several(numbers: tuple[float, ...]) -> str:
            return " ".join(f"{number:g}" for number in numbers)

        return f"{several(self.elo)} | {several(self.pairs)} | " + " | ".join(f"{x:g}" if x else "" for x in self.dice)

    def play(self, rng: np.random.Generator) -> list[Result]:
        games = []
        pairings = itertools.combinations(range(len(self.elo)), 2)
        for (i, j), pairs in zip(pairings, itertools.cycle(self.pairs)):
            for n, (first, second) in enumerate(pair_scores(self.elo[i] - self.elo[j], self.dice, pairs, rng)):
                games += [Result(f"{i}", f"{j}", first, pair=n), Result(f"{j}", f"{i}", 1 - second, pair=n)]
        return games


class Coverage(NamedTuple):
    """How many of the 95 % intervals held the truth, of 1: of differences of two players, of ratings and of what moving
    first is worth; by the model, and by the pairs of games."""

    differences: float
    ratings: float
    first_move: float
    pair_differences: float
    pair_ratings: float
    pair_first_move: float


def coverage(tournament: Tournament, number: int, seed: int = 1) -> Coverage:
    """Of so many tournaments."""
    rng = np.random.default_rng(seed)
    true = np.array(tournament.elo) - np.mean(tournament.elo)
    return Coverage(*np.mean([_held(tournament, true, tournament.play(rng)) for _ in range(number)], axis=0))


def _held(tournament: Tournament, true: np.ndarray, games: list[Result]) -> list[float]:
    found = rate(games)
    truth = {f"{i}": elo for i, elo in enumerate(true)}
    side = abs(found.advantage - tournament.dice.first_move)
    held = []
    for by_pairs in (False, True):
        errors = [r.pair_error if by_pairs else r.error for r in found.ratings]
        off = [abs(r.elo - truth[r.name]) for r in found.ratings]
        apart = []
        for a, b in itertools.combinations(truth, 2):
            gap, error, _ = found.difference(a, b, by_pairs=by_pairs)
            apart.append(abs(gap - truth[a] + truth[b]) <= error)
        held += [np.mean(apart), np.mean(np.less_equal(off, errors))]
        held.append(side <= (found.advantage_pair_error if by_pairs else found.advantage_error))
    return held


TWO, FOUR, EIGHT = (60, 0), (120, 50, 0, -80), (200, 130, 80, 30, 0, -50, -100, -150)
UNEQUAL = (3, 30, 10, 5, 60, 15)
RATINGS = [
    *(Tournament((0, 0), (pairs,)) for pairs in (5, 10, 25, 100)),
    *(Tournament((400, 0), (pairs,)) for pairs in (20, 50, 100)),
    *(Tournament(TWO, (50,), Dice(drawn=drawn)) for drawn in (0.3, 0.6, 0.9)),
    *(Tournament(TWO, (50,), Dice(first_move)) for first_move in (100, 300)),
    *(Tournament(TWO, (50,), Dice(hang=hang)) for hang in (0.6, -0.6)),
    *(Tournament(TWO, (50,), Dice(150, 0.4, hang)) for hang in (0.6, -0.6)),
    Tournament(FOUR, (10,)),
    *(Tournament(FOUR, UNEQUAL, Dice(50, 0.2, hang)) for hang in (0, 0.6, -0.6)),
    *(Tournament(EIGHT, (pairs,)) for pairs in (1, 5)),
    Tournament(EIGHT, (5,), Dice(50, 0.5)),
    *(Tournament(EIGHT, (pairs,), Dice(hang=hang)) for pairs in (2, 5) for hang in (0.6, -0.6)),
]


def show_ratings(number: int) -> None:
    print(f"{number:,} tournaments a line. Of 95 % intervals so many hold the truth, in per cent:\n")
    heads = ["true Elo", "pairs of games a pairing", "first move", "drawn", "hang"]
    heads += [f"{what}{by}" for by in ("", " by pairs") for what in ("differences", "ratings", "first move")]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for tournament in RATINGS:
        found = coverage(tournament, number)
        print(f"| {tournament.words} | {' | '.join(f'{100 * x:.1f}' for x in found)} |", flush=True)


# -- sequential tests ----------------------------------------------------------------------------


class Trial(NamedTuple):
    """A test of a player whose strength is known."""

    test: Sprt
    dice: Dice = Dice()

    def chances(self, elo: float) -> np.ndarray:
        """[3, 3], of pairs of games in which the player has this strength, as the test's model measures it."""
        from scipy.optimize import brentq

        def missing(gap: float) -> float:
            found = np.asarray(outcomes(pair_chances(gap, self.dice), self.test.pairs))
            points = OUTCOMES[len(found)]
            mean = float(found @ points)
            if self.test.model == "logistic":
                return elo_of_score(mean) - elo
            deviation = math.sqrt(found @ (points - mean) ** 2 * (2 if self.test.pairs else 1))
            return (mean - 0.5) / deviation * NORMALIZED - elo

        return pair_chances(float(brentq(missing, -1000, 1000)), self.dice)


def outcomes(chances: np.ndarray, pairs: bool) -> list[float]:
    """The chances of a test's outcomes, from the worst to the best: the five of pairs, or the three of their games."""
    if not pairs:
        return list((chances.sum(0) + chances.sum(1)) / 2)
    return [float(np.trace(chances[::-1], offset)) for offset in range(-2, 3)]


class Remembering(Sprt):
    """The same test, which reckons each count once."""

    def llr(self, counts: Sequence[float]) -> float:
        return _llr(self, tuple(counts))


@functools.lru_cache(maxsize=500_000)
def _llr(test: Sprt, counts: tuple[float, ...]) -> float:
    return Sprt.llr(test, counts)


class Tests(NamedTuple):
    """What tests have come to."""

    accepted_h1: float  # share of them
    games: float  # mean number
    error: float  # standard error of that


def remembering(test: Sprt) -> Remembering:
    return Remembering(test.elo0, test.elo1, test.alpha, test.beta, test.model, test.pairs)


def tests(trial: Trial, elo: float, number: int, seed: int = 1) -> Tests:
    """Of so many tests of a player of this strength, whose games end one after the other."""
    rng, chances, test = np.random.default_rng(seed), trial.chances(elo), remembering(trial.test)
    games, accepted = [], 0
    for _ in range(number):
        one = SequentialTest(test)
        for n, score in enumerate(scores(chances, rng)):
            one.add(n, score)
            if one.state.accepted:
                break
        games.append(one.state.games)
        accepted += one.state.accepted == "H1"
    return Tests(accepted / number, float(np.mean(games)), float(np.std(games)) / math.sqrt(number))


NELO = Sprt(0, 150, model="normalized")
TRIALS = [
    *(Trial(Sprt(0, 50, pairs=False), Dice(drawn=drawn)) for drawn in (0, 0.5)),
    Trial(Sprt(0, 50)),
    *(Trial(Sprt(0, 100), dice) for dice in (Dice(drawn=0.5), Dice(100, 0.3), Dice(hang=0.6), Dice(0, 0.3, -0.6))),
    Trial(Sprt(-50, 50, 0.1, 0.02)),
    *(Trial(Sprt(0, elo1)) for elo1 in (200, 400)),
    *(Trial(replace(NELO, pairs=False), Dice(drawn=drawn)) for drawn in (0, 0.5)),
    *(Trial(NELO, dice) for dice in (Dice(drawn=0.5), Dice(hang=0.6), Dice(100, 0.3, -0.6))),
    Trial(Sprt(0, 100, pairs=False), Dice(hang=0.6)),  # what pairs are for
]


def show_tests(number: int) -> None:
    print(f"{number:,} tests of each strength. So many accept H1, in per cent, and so many games they take on average,")
    print("with half the 95 % interval of that mean; in brackets what analysis/ratings/sprt_length.py expects:\n")
    heads = ["test", "first move", "drawn", "hang", "at elo0", "at the middle", "at elo1"]
    heads += [f"games {where}" for where in heads[-3:]]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for trial in TRIALS:
        test, shares, lengths = trial.test, [], []
        for elo in (test.elo0, (test.elo0 + test.elo1) / 2, test.elo1):
            found = tests(trial, elo, number)
            expected = expectation(test, outcomes(trial.chances(elo), test.pairs))
            shares.append(f"{100 * found.accepted_h1:.1f} ({100 * expected.accepts_h1:.1f})")
            lengths.append(f"{found.games:.1f} ± {Z95 * found.error:.1f} ({expected.games:.1f})")
        dice = " | ".join(f"{x:g}" if x else "" for x in trial.dice)
        print(f"| {test} | {dice} | {' | '.join(shares + lengths)} |", flush=True)


# -- the order in which games end ----------------------------------------------------------------


def ending(games: Iterator[float], quick: float, rng: np.random.Generator) -> Iterator[tuple[int, float]]:
    """(number, score) of games in the order in which they end, AT_ONCE of them being played at a time, each begun when
    one before it ends. One that the first player wins takes ``quick`` of the time of another."""
    under_way: list[tuple[float, int, float]] = []
    now = 0.0
    for n, score in enumerate(games):
        if len(under_way) == AT_ONCE:
            now, *ended = heapq.heappop(under_way)
            yield ended[0], ended[1]
        heapq.heappush(under_way, (now + (quick if score == 1 else 1.0) * rng.uniform(0.8, 1.2), n, score))


class Hasty:
    """The same test, but of whatever pair, or game, has ended, in the order in which they end."""

    def __init__(self, test: Sprt) -> None:
        self.test, self.accepted = test, ""
        self._counts = [0] * (5 if test.pairs else 3)
        self._ended: dict[int, list[float]] = {}

    def add(self, number: int, score: float) -> None:
        size = 2 if self.test.pairs else 1
        own = self._ended.setdefault(number // size, [])
        own.append(score)
        if len(own) == size:
            self._counts[round(2 * sum(own))] += 1
            self.accepted = self.accepted or self.test.decision(self.test.llr(self._counts))


def in_any_order(test: Sprt, elo: float, quick: float, number: int, seed: int = 1) -> tuple[float, float]:
    """(share of the tests that accept H1 in the order of the schedule, share of those that look at what has ended)."""
    rng, chances, test = np.random.default_rng(seed), Trial(test).chances(elo), remembering(test)
    patient_h1 = hasty_h1 = 0
    for _ in range(number):
        patient, hasty = SequentialTest(test), Hasty(test)
        for n, score in ending(scores(chances, rng), quick, rng):
            patient.add(n, score)
            if not hasty.accepted:
                hasty.add(n, score)
            if hasty.accepted and patient.state.accepted:
                break
        patient_h1 += patient.state.accepted == "H1"
        hasty_h1 += hasty.accepted == "H1"
    return patient_h1 / number, hasty_h1 / number


def show_order(number: int) -> None:
    print(f"{number:,} tests of each strength, {AT_ONCE} games at once. So many accept H1, in per cent:\n")
    print("| test | a win takes | true Elo | in the schedule's order | by what has ended |\n|---|---|---|---|---|")
    for test in (Sprt(0, 50), Sprt(0, 50, pairs=False)):
        for quick, said in ((1.0, "as long as a loss"), (0.5, "half as long"), (2.0, "twice as long")):
            for elo in (test.elo0, test.elo1):
                found = in_any_order(test, elo, quick, number)
                print(f"| {test} | {said} | {elo:g} | {' | '.join(f'{100 * x:.1f}' for x in found)} |", flush=True)


def main() -> None:
    parts = {"ratings": (show_ratings, 2000), "tests": (show_tests, 1000), "order": (show_order, 1000)}
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of all")
    parser.add_argument("--only", choices=list(parts), help="one table alone")
    arguments = parser.parse_args()
    for part, (show, number) in parts.items():
        if arguments.only in (None, part):
            show(number // (10 if arguments.quick else 1))
            print()


if __name__ == "__main__":
    main()
