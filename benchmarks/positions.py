"""Ten Go positions with one right move each (ladder, net, snapbacks, throw-in, races, life and death): is it found?

The main line of each file begins with the right move; the comment says why.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import jubango as jb
from jubango.bots.composition import strongest

FOLDER = Path(__file__).with_name("positions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a search (2)")
    parser.add_argument("--bot", default="", help="who searches; by default the strongest there is for the game")
    given = parser.parse_args()
    records = {path.stem: jb.read_sgf(path) for path in sorted(FOLDER.glob("*.sgf"))}
    bot = given.bot or strongest(next(iter(records.values())).game)
    right = 0
    jb.analyze(next(iter(records.values())).at(0), bot, seconds=1)  # compiled
    for name, record in records.items():
        found = jb.analyze(record.at(0), bot, seconds=given.seconds)
        best = found.best
        assert best is not None
        right += best.move == record.moves[0]
        said = f"{'right' if best.move == record.moves[0] else 'wrong'}, {100 * best.share:.0f} %"
        print(f"{name:14} {record.moves[0]:3} found {best.move:4} {said} of {found.simulations:,}")
    print(f"{right} of {len(records)} in {given.seconds:g} s each")


if __name__ == "__main__":
    main()
