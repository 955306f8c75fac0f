"""How many games it takes to find the best of many: analysis/ratings/best_arm.py against a round robin and a gauntlet.

    python benchmarks/best.py [--quick] [--only 8|32|128]

Players of known strength, results drawn with fixed seeds: every run prints the same numbers, nothing is timed. The
round robin plays all pairings in turn and stops by the same evidence. In the gauntlet everybody meets one opponent of
the mean strength, by KL-LUCB (Kaufmann & Kalyanakrishnan, "Information complexity in bandit subset selection", 2013),
with the same threshold. Missed: runs whose answer is weaker than the best by more than does not matter.
"""

from __future__ import annotations

import argparse
import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from dice import Dice, pair_chances

from jubango.analysis.ratings.best_arm import BestOf
from jubango.analysis.ratings.ratings import ELO
from jubango.arena.schedule.pairings import pairings

ALPHA = 0.05
RUNS = {8: 200, 32: 60, 128: 8}
RUNS_OF_OTHERS = {8: 200, 32: 20, 128: 2}  # which take longer
LINEUPS: dict[str, Callable[[int], np.ndarray]] = {
    "a parameter: 300 Elo at one end": lambda k: -300 * ((np.linspace(0, 1, k) - 0.37) / 0.63) ** 2,
    "normal, of deviation 100": lambda k: np.random.default_rng(1).normal(0, 100, k),
    "one 80 above equals": lambda k: np.append(80.0, np.zeros(k - 1)),
}


class Case(NamedTuple):
    what: str
    elo: np.ndarray
    matters: float  # less does not
    dice: Dice = Dice()


def cases(k: int) -> Iterator[Case]:
    for what, lineup in LINEUPS.items():
        yield Case(what, lineup(k), 30)
    yield Case("the first, half of all drawn", LINEUPS[next(iter(LINEUPS))](k), 30, Dice(drawn=0.5))
    yield Case("one 30 above equals: the hardest", np.append(30.01, np.zeros(k - 1)), 30)


class Opponents:
    """Who play as strongly as they should; ``points`` are of the first of two in both games."""

    def __init__(self, elo: np.ndarray, dice: Dice, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.elo, self.dice = self.rng.permutation(elo), dice

    def points(self, first: float, second: float) -> float:
        return bisect.bisect(_chances(first - second, self.dice), self.rng.random()) / 2


@functools.lru_cache(maxsize=100_000)
def _chances(gap: float, dice: Dice) -> list[float]:
    """[4]: the chances to have no point, half a point at most, ... in a pair."""
    found = pair_chances(gap, dice)
    return np.cumsum([np.trace(found[::-1], offset) for offset in range(-2, 2)]).tolist()


class RoundRobin(BestOf):
    """The same, all pairings being played in turn."""

    @functools.cached_property
    def pairings(self) -> Iterator[tuple[int, int]]:
        index = {name: i for i, name in enumerate(self.names)}
        return itertools.cycle([(index[a], index[b]) for a, b in pairings(self.names)])

    def _round(self) -> list[tuple[int, int]]:
        return list(itertools.islice(self.pairings, self.size))


def found_by(kind: type[BestOf], case: Case, seed: int, size: int = 32) -> tuple[bool, int]:
    """(was the best missed, in how many games, those under way at the end included)."""
    players = Opponents(case.elo, case.dice, seed)
    race = kind([f"{i}" for i in range(len(case.elo))], case.matters, ALPHA, size)
    begun = 0
    while not race.decided:
        for duel in race.schedule[begun:]:
            begun += 1
            points = players.points(players.elo[int(duel.first)], players.elo[int(duel.second)])
            for number in (0, 1):
                race.add(duel.first, duel.second, 2 * duel.number + number, min(1.0, max(0.0, points - number)))
    best = players.elo[int(race.state.best)]
    return bool(best < players.elo.max() - case.matters), 2 * begun


def by_gauntlet(case: Case, seed: int, size: int = 16) -> tuple[bool, int]:
    """The same by KL-LUCB against an opponent of the mean strength, ``size`` pairs of the two at a time."""
    players = Opponents(case.elo, case.dice, seed)
    k, reference = len(case.elo), float(case.elo.mean())
    pairs, points = np.zeros(k), np.zeros(k)
    due = list(range(k))
    while True:
        for player in due:
            pairs[player] += 1
            points[player] += players.points(players.elo[player], reference)
        share = points / (2 * pairs)
        level = math.log((1 + math.log(pairs.sum())) / ALPHA) / (2 * pairs)
        high, low = _confidence(share, level, 1.0), _confidence(share, level, 0.0)
        leader = int(np.argmax(share))
        challenger = int(np.argmax(np.where(np.arange(k) == leader, -1, high)))
        if high[challenger] - low[leader] < share[leader] * (1 - share[leader]) * case.matters / ELO:
            return bool(players.elo[leader] < players.elo.max() - case.matters), int(2 * pairs.sum())
        due = [leader, challenger] * size


def _confidence(share: np.ndarray, level: np.ndarray, end: float) -> np.ndarray:
    """[k]: how far towards ``end`` the relative entropy to a share stays below a level."""
    inside, outside = share.copy(), np.full(len(share), end)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(20):
            middle = (inside + outside) / 2
            parts = share * np.log(share / middle), (1 - share) * np.log((1 - share) / (1 - middle))
            near = sum(np.nan_to_num(part) for part in parts) <= level
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
    return inside


def show(k: int, share: int) -> None:
    for case in cases(k):
        runs, others = (max(1, number[k] // share) for number in (RUNS, RUNS_OF_OTHERS))
        kinds: list[tuple[int, Callable[[int], tuple[bool, int]]]] = [
            (runs, lambda seed, case=case: found_by(BestOf, case, seed)),
            (others, lambda seed, case=case: found_by(RoundRobin, case, seed, 32 if k < 100 else 1024)),
            (others, lambda seed, case=case: by_gauntlet(case, seed)),
        ]
        cells, means = [], []
        for number, play in kinds:
            missed, games = np.array([play(seed) for seed in range(number)]).T
            means.append(float(games.mean()))
            cells.append(f"{games.mean():,.0f} | {missed.sum():.0f} of {number}")
        saved = f"{means[1] / means[0]:.1f}"
        print(f"| {k} | {case.what} | {' | '.join(cells)} | {saved} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--only", type=int, choices=list(RUNS), help="so many players alone")
    arguments = parser.parse_args()
    heads = [
        "players",
        "true strengths",
        *(f"{kind}{what}" for kind in ("games", "round robin", "gauntlet") for what in ("", ", missed")),
    ]
    print(f"| {' | '.join([*heads, 'round robin to games'])} |\n|{'---|' * (len(heads) + 1)}")
    for k in RUNS:
        if arguments.only in (None, k):
            show(k, 10 if arguments.quick else 1)


if __name__ == "__main__":
    main()
