"""How long a player takes from its configuration until it is ready, in a process of its own: empty cache, full cache.

python benchmarks/first_contact.py
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

BOT = "uct:simulations=400"
CASES = ("go:9", 256), ("go:9", 1), ("go:19", 16), ("gomoku:15", 16)
READY = """
import sys, time
import jubango
jubango.configure()
from jubango.arena.games.pool import GamePool
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.rules.catalogue import make_game
game, bot = make_game(sys.argv[1]), bot_from_spec(sys.argv[2])
began, worked = time.perf_counter(), time.process_time()
GamePool(game, [bot], int(sys.argv[3])).close()
print(time.perf_counter() - began, time.process_time() - worked)
"""


def ready(game: str, games: int, cache: str) -> tuple[float, float]:
    """(seconds, seconds of the processor)."""
    found = subprocess.run(
        [sys.executable, "-c", READY, game, BOT, str(games)], check=True, capture_output=True, text=True,
        env={**os.environ, "JUBANGO_CACHE": cache},
    )  # fmt: skip
    seconds, worked = map(float, found.stdout.split())
    return seconds, worked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[tuple[str, int], list[tuple[float, ...]]] = {case: [] for case in CASES}
    for _ in range(options.rounds):
        for game, games in CASES:
            with tempfile.TemporaryDirectory() as cache:
                found[game, games].append((*ready(game, games, cache), *ready(game, games, cache)))
    names = "empty cache", "(processor)", "full cache", "(processor)"
    print(f"{'seconds, the middle of ' + str(options.rounds):32}" + "".join(f"{name:>13}" for name in names))
    for (game, games), rounds in found.items():
        columns = zip(*rounds, strict=True)
        print(
            f"{game + ', ' + str(games) + ' at once':32}"
            + "".join(f"{statistics.median(own):13.2f}" for own in columns)
        )


if __name__ == "__main__":
    main()
