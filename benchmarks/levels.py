"""Measures the levels that come with the package: which Elo the bots of each game's ladder have.

    python benchmarks/levels.py GAME [--out runs/levels] [--policy-games 1500] [--search-games 200] [--most 1024] \
        [--write TABLE.toml]

A ladder is a list of curves, and on a curve one number of a bot changes: the temperature of the policy network, that of
a small search, then the simulations. First every cheap bot meets the next two of the list. By these games they are put
in order, and then each bot meets those next to it in strength, in colour-swapped pairs from random openings. One
Bradley-Terry fit of all games gives the ratings; the uniformly random bot is the anchor.

The games are in folders below --out, so that a run that was stopped goes on, and one with more games has the old ones.
The pairings depend on results and a network's moves on the processor, so that another machine gets other games, and
ratings within the errors. --write puts the game's ratings into the table, in place of those it had.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path

import jubango as jb
from jubango.bots.config import bot_from_spec
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.bots.networks.shipped import shipped
from jubango.bots.players.levels import RANDOM_ELO
from jubango.sgf_games.base.files import file_digest
from jubango.sgf_games.library.folder import replace_file

SMALL = 16  # simulations of the search that temperature weakens
POLICY = "policy:base=19652"  # it makes no simulations: the number lets it share the program of the others
CURVES = {  # bot: the key that changes, and its values from the weakest to the strongest
    POLICY: ("temperature", [20, 10, 5, 3.5, 2.5, 2, 1.5, 1, 0.6, 0.3]),
    f"alphazero:simulations={SMALL},c=1.25,fpu=zero,reuse=false,temperature_moves=0": ("temperature", [1.5, 0.7, 0.3]),
    "alphazero:c=1.25,fpu=zero,reuse=false": ("simulations", [SMALL, 64, 256, 1024]),
}
SCOUTING = 40  # games of a pairing that put the cheap bots in order
NEAR = (1, 2)  # places in that order between two that meet
OPENING = 2  # random moves


def ladder(most: int) -> list[tuple[str, str, float]]:
    """(curve, key, value) of every bot but the random one."""
    points = [(curve, key, value) for curve, (key, values) in CURVES.items() for value in values]
    return [point for point in points if point[1] != "simulations" or point[2] <= most]


def spec(point: tuple[str, str, float]) -> str:
    curve, key, value = point
    return f"{curve}{',' if ':' in curve else ':'}{key}={value:g}"


def games_of(simulations: float, policy: int, search: int) -> int:
    """Of a pairing: fewer where more is searched."""
    return policy if simulations <= 1 else max(16, 2 * round(search * (SMALL / simulations) ** 0.4 / 2))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("game")
    parser.add_argument("--out", type=Path, default=Path("runs/levels"))
    parser.add_argument("--policy-games", type=int, default=1500, help="of two bots that do not search")
    parser.add_argument("--search-games", type=int, default=200, help="of two with 16 simulations; fewer with more")
    parser.add_argument("--most", type=int, default=1024, help="simulations of the strongest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="the table that takes the ratings")
    given = parser.parse_args()
    game = jb.make_game(given.game)
    points = {spec(point): point for point in ladder(given.most)}
    searched = {"random": 0.0} | {name: _simulations(point) for name, point in points.items()}
    specs = {bot_from_spec(name).name: name for name in searched}  # runs shorten long names
    began = time.perf_counter()
    results: list[tuple[str, str, float]] = []

    def play(part: str, first: str, second: str, games: int) -> None:
        """Of a pairing: games that are there already count."""
        names = sorted([first, second])
        folder = given.out / game.spec.replace(":", " ") / part / f"{names[0]}~{names[1]}".replace(":", " ")
        run = jb.match(
            *names, game, games, folder, given.seed, openings="random", opening_plies=OPENING, progress=False
        )
        found = [(specs[one.black], specs[one.white], one.score) for one in run.results]
        results.extend(found)
        wins = sum(score if black == first else 1 - score for black, _, score in found)
        print(f"{time.perf_counter() - began:6.0f} s  {first} {wins:g} of {games} against {second}", flush=True)

    def in_order() -> list[str]:
        return [one.name for one in jb.rate(results, anchors={"random": RANDOM_ELO}).ratings][::-1]

    names = [name for name, cost in searched.items() if cost <= SMALL]
    for near in NEAR:
        for first, second in zip(names, names[near:], strict=False):
            play("scouting", first, second, SCOUTING)
    names = in_order() + [name for name in searched if name not in names]
    results = []
    for near in NEAR:
        for first, second in zip(names, names[near:], strict=False):
            cost = max(searched[first], searched[second])
            play("games", first, second, games_of(cost, given.policy_games, given.search_games))
    ratings = jb.rate(results, anchors={"random": RANDOM_ELO})
    found = {one.name: one for one in ratings.ratings}
    for name in in_order():
        one = found[name]
        print(f"{name:60} {one.elo:6.0f} +- {one.error:3.0f}  {one.games} games")
    if given.write:
        write(given.write, game, points, found)


def _simulations(point: tuple[str, str, float]) -> float:
    curve, key, value = point
    return 1.0 if curve == POLICY else value if key == "simulations" else SMALL


def write(file: Path, game: jb.Game, points: dict, found: dict) -> None:
    """Put a game's ratings into the table."""
    weights = shipped(game)
    assert weights is not None, f"no network comes with the package for {game.spec}"
    table = tomllib.loads(file.read_text()) if file.exists() else {"games": []}
    curves = []
    for curve, (key, _) in CURVES.items():
        own = [(value, found[name]) for name, (of, _, value) in points.items() if of == curve]
        rows = [[value, round(one.elo), round(one.error), one.games] for value, one in own]
        curves.append({"bot": curve, "key": key, "points": rows})
    mine = {
        "game": game.spec, "network": file_digest(weights, LARGEST_WEIGHTS), "curves": curves,
    }  # fmt: skip
    others = [one for one in table["games"] if one["game"] != game.spec]
    lines = ["# Made by benchmarks/levels.py; points are [value, Elo, 95 % error, games]."]
    for own in sorted([*others, mine], key=lambda one: one["game"]):
        lines += ["", "[[games]]", f'game = "{own["game"]}"', f'network = "{own["network"]}"']
        for curve in own["curves"]:
            points = [f"    [{', '.join(f'{number:g}' for number in point)}]," for point in curve["points"]]
            lines += ["", "[[games.curves]]", f'bot = "{curve["bot"]}"', f'key = "{curve["key"]}"']
            lines += ["points = [", *points, "]"]
    replace_file(file, ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
