"""Simulations a second where one position is searched, as in a game by the clock, by any bots.

python benchmarks/one_position.py alphazero:simulations=16000,temperature=0 [BOT ...] [--game go:9,komi=7.5]
"""

from __future__ import annotations

import argparse
import statistics
import time

import jubango as jb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bots", nargs="+", metavar="BOT")
    parser.add_argument("--game", default="go:9,komi=7.5")
    parser.add_argument("--repeats", type=int, default=5, help="the middle one counts (5)")
    args = parser.parse_args()
    place = jb.position(args.game)
    for bot in args.bots:
        jb.analyze(place, bot)  # compiling is not counted
        rates = []
        for _ in range(args.repeats):
            began = time.perf_counter()
            found = jb.analyze(place, bot)
            rates.append(sum(move.visits for move in found.moves) / (time.perf_counter() - began))
        print(f"{bot}: {statistics.median(rates):,.0f} simulations a second")


if __name__ == "__main__":
    main()
