"""How near to the best settings tuning comes, against random search with three times the games.

    python benchmarks/tune.py [--quick] [--only planted|real]

Planted: responses in one, two and three settings, of which the best place is known; results drawn with fixed seeds.
Real: ``c`` of uct on connect four. What each ``c`` is worth is first measured by matches against the bot as it is, on
a grid, and smoothed; then `jb.tune` and random search look for the best one, and lose what that says.

Random search draws settings uniformly over the range, gives each as many games, and takes the one with the highest
score; how many it draws is the number that turned out best for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import jubango as jb
from jubango.analysis.ratings.ratings import ELO
from jubango.analysis.tuning.response import Response, Trials, spread

RUNS = 60  # of each planted response
GAMES = {1: 512, 2: 1024, 3: 2048}
DRAWN = (4, 8, 16, 32, 64, 128, 256)  # settings that random search looks at
ROUND = 64  # pairs
START = 0.5  # everywhere: the settings that the games are against

GAME = "connect_four"
BOT = "uct:simulations=64"
LOW, HIGH = 0.05, 8.0
REAL_GAMES, REAL_RUNS, GRID, GRID_GAMES = 1000, 6, 17, 3000

Elo = Callable[[np.ndarray], np.ndarray]


def planted(dimensions: int, rng: np.random.Generator) -> tuple[Elo, np.ndarray]:
    """(Elo over the settings at START, the best place): 100 to 300 Elo from there to an end, steeper on one side, with
    a ripple that no quadratic form follows."""
    best, height, steeper = rng.uniform(-0.7, 0.7, dimensions), rng.uniform(100, 300), rng.uniform(0.5, 2, dimensions)

    def raw(places: np.ndarray) -> np.ndarray:
        off = np.asarray(places) - best
        bowl = np.where(off < 0, steeper, 1.0) * off**2 + 0.05 * (1 - np.cos(4 * off))
        return -height * bowl.mean(axis=-1)

    start = raw(np.full(dimensions, START))
    return (lambda places: raw(places) - start), best


def play(elo: np.ndarray, games: int | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of so many pairs of games each: the first move is worth 60 Elo, a fifth is drawn."""
    points = np.zeros(len(elo))
    for advantage in (60.0, -60.0):
        chance = 1 / (1 + 10 ** (-(elo + advantage) / 400))
        drawn = rng.binomial(games, 0.2, len(elo))
        points += rng.binomial(games - drawn, chance) + drawn / 2
    return points


def tuned(elo: Elo, dimensions: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """The best place, as `jubango tune` finds it."""
    places, points = np.zeros((0, dimensions)), np.zeros(0)
    known = [(np.full(dimensions, START), 0)]
    response = None
    while 2 * len(points) < games:
        more = spread(ROUND, dimensions, rng.random(dimensions)) if response is None else response.tries(ROUND, rng)
        places, points = np.concatenate([places, more]), np.append(points, play(elo(more), 1, rng))
        response = Response(Trials(places, np.zeros(len(points), int), points), dimensions, known=known)
    assert response is not None
    return response.optimum.place


def searched(elo: Elo, dimensions: int, games: int, drawn: int, rng: np.random.Generator) -> np.ndarray:
    """The best place of random search."""
    places = rng.uniform(-1, 1, (drawn, dimensions))
    return places[play(elo(places), max(1, games // (2 * drawn)), rng).argmax()]


def show_planted(runs: int) -> None:
    print("| settings | games | Elo lost by tuning | random search, same games | random search, 3 times the games |")
    print("|---|---|---|---|---|")
    for dimensions, games in GAMES.items():
        ours, theirs = np.zeros(runs), {times: np.zeros((len(DRAWN), runs)) for times in (1, 3)}
        for run in range(runs):
            elo, best = planted(dimensions, np.random.default_rng([run, dimensions]))
            rng = np.random.default_rng([run, dimensions, 1])
            ours[run] = elo(best) - elo(tuned(elo, dimensions, games, rng))
            for times, lost in theirs.items():
                for i, drawn in enumerate(DRAWN):
                    lost[i, run] = elo(best) - elo(searched(elo, dimensions, times * games, drawn, rng))
        cells = [_mean(ours)]
        for lost in theirs.values():
            i = int(lost.mean(axis=1).argmin())
            cells.append(f"{_mean(lost[i])} ({DRAWN[i]} drawn)")
        print(f"| {dimensions} | {games:,} | {' | '.join(cells)} |", flush=True)


def show_real(share: int) -> None:
    places = np.linspace(-1, 1, GRID)
    scores = _scores([_setting(place) for place in places], GRID_GAMES // share // 2 * 2, 1)
    measured = ELO * np.log(scores / (1 - scores))
    curve = np.polynomial.Polynomial.fit(places, measured, 6)
    fine = np.linspace(-1, 1, 1001)
    top = float(curve(fine).max())
    print(f"{BOT} on {GAME}, Elo over c as it is, {GRID_GAMES // share} games each:")
    for place, elo in zip(places, measured, strict=True):
        print(f"    c = {_setting(place):<8.3g} {elo:+6.1f} (smoothed {curve(place):+6.1f})")
    print(f"best c = {_setting(fine[int(curve(fine).argmax())]):.3g}, {top:+.1f}", flush=True)
    ours, theirs = [], {drawn: [] for drawn in (8, 16, 32)}
    for seed in range(REAL_RUNS):
        tuning = jb.tune(
            GAME, BOT, {"c": (LOW, HIGH, "log")}, REAL_GAMES, seed=seed, confirm="", openings="random", progress=False
        )
        ours.append(top - curve(_place(tuning.best[0].value)))
        rng = np.random.default_rng(seed)
        for drawn, lost in theirs.items():
            tried = rng.uniform(-1, 1, drawn)
            found = _scores([_setting(place) for place in tried], 3 * REAL_GAMES // drawn // 2 * 2, 100 + seed)
            lost.append(top - curve(tried[found.argmax()]))
        print(
            f"seed {seed}: tuning loses {ours[-1]:.1f}",
            *(f"{d} drawn {v[-1]:.1f}" for d, v in theirs.items()),
            flush=True,
        )
    print("| | games | Elo lost |\n|---|---|---|")
    print(f"| jb.tune | {REAL_GAMES:,} | {_mean(np.array(ours))} |")
    for drawn, lost in theirs.items():
        print(f"| random search, {drawn} drawn | {3 * REAL_GAMES:,} | {_mean(np.array(lost))} |")


def _scores(cs: list[float], games: int, seed: int) -> np.ndarray:
    """What bots with these ``c`` score against the bot as it is."""
    bots = [f"{BOT},c={c:.6g},name=c{i}" for i, c in enumerate(cs)]
    run = jb.tournament(
        GAME, [f"{BOT},name=start", *bots], games, seed=seed, format="gauntlet", openings="random", progress=False
    )
    own = run.games.assign(bot=run.games["black"].where(run.games["black"] != "start", run.games["white"]))
    points = own["score"].where(own["black"] == own["bot"], 1 - own["score"])
    return points.groupby(own["bot"]).mean()[[f"c{i}" for i in range(len(cs))]].to_numpy()


def _setting(place: float) -> float:
    return float(LOW * (HIGH / LOW) ** ((place + 1) / 2))


def _place(setting: float) -> float:
    return float(2 * np.log(setting / LOW) / np.log(HIGH / LOW) - 1)


def _mean(lost: np.ndarray) -> str:
    return f"{lost.mean():.1f} ± {1.96 * lost.std(ddof=1) / np.sqrt(len(lost)):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs and games")
    parser.add_argument("--only", choices=["planted", "real"])
    arguments = parser.parse_args()
    if arguments.only != "real":
        show_planted(RUNS // 10 if arguments.quick else RUNS)
    if arguments.only != "planted":
        show_real(10 if arguments.quick else 1)


if __name__ == "__main__":
    main()
