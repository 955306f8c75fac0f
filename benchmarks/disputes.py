"""How often it is disputed what is dead at the end of games with GNU Go.

    python benchmarks/disputes.py                   # 12 games of 9x9 Go, uct with 400 simulations, GNU Go at level 5

"score" and "agreed" are games of which both sides say the same; "cleanup" took moves after the two passes, and of
"disputed" ones more may be dead than was taken off. The moves after the first two passes are counted, too.
"""

from __future__ import annotations

import argparse

import pandas as pd

from jubango.arena.tournament import match


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="go:9,komi=7")
    parser.add_argument("--bot", default="uct:simulations=400")
    parser.add_argument("--engine", default="gnugo --mode gtp --level 5 --chinese-rules")
    parser.add_argument("--games", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    run = match(asked.bot, f"gtp:command={asked.engine}", asked.game, games=asked.games, seed=asked.seed)
    games = run.games
    table = pd.DataFrame({"games": games["reason"].value_counts()})
    table["share"] = [f"{100 * count / len(games):.0f} %" for count in table["games"]]
    print(table.to_string())
    on = sum(map(played_on, games["moves"]))
    print(f"moves after the first two passes: {on} in {len(games)} games")
    for row in games[games["reason"].isin(("cleanup", "disputed"))].itertuples():
        print(f"{row.game_id}: {row.result}, {row.reason}: {row.detail}")


def played_on(moves: str) -> int:
    """How many of a game's moves came after two passes in a row."""
    played = moves.split()
    ends = (i for i in range(2, len(played) + 1) if played[i - 2] == played[i - 1] == "pass")
    return len(played) - next(ends, len(played))


if __name__ == "__main__":
    main()
