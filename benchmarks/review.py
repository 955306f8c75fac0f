"""A game reviewed in one batch, against its positions searched one after another on the same cores.

    python benchmarks/review.py                     # 250 moves of 19x19 Go, uct with 200 simulations

Both make the same searches: of every position and of what the bot's own choice would have led to, twice each. Of those
one after another a sample is timed, once as they are in the batch (one leaf at a time) and once as `jubango analyze`
searches a single position (in as many leaves and trees as fill the machine). Programs are made before.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

from jubango.analysis.position import analyze, searching_bot
from jubango.analysis.review_file import subject_of
from jubango.analysis.review_moves import Thresholds
from jubango.analysis.reviewing import STAGES, Case, searched
from jubango.arena.tournament import match
from jubango.bots.roster import run_bot
from jubango.sgf_games.replay import Position, Record, read_sgf
from jubango.sgf_games.sgf import parse_sgf, write_line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="go:19,komi=7.5")
    parser.add_argument("--sgf", type=Path, help="a game to review, by default one of uct against itself")
    parser.add_argument("--moves", type=int, default=250, help="of it")
    parser.add_argument("--bot", default="uct:simulations=200")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sample", type=int, default=40, help="searches one after another")
    asked = parser.parse_args()
    record = read_sgf(asked.sgf) if asked.sgf else played(asked.game, asked.moves)
    bot = searching_bot(asked.bot)

    def reviewed(own: Record) -> tuple[Case, float]:
        began = time.perf_counter()
        case = Case(own, subject_of(own.sgf, bot, 1), asked.repeats, None)
        searched([case], [bot])
        case.review(Thresholds())
        return case, time.perf_counter() - began

    reviewed(shortened(record, 3))
    case, batch = reviewed(shortened(record, asked.moves))
    positions = [place for stage in STAGES for place in case.places(stage).values() if not place.over]
    total = asked.repeats * len(positions)
    print(f"{len(case.record)} moves, {record.game.spec}, {bot.spec}: {total} searches")
    print(f"in one batch: {batch:.1f} s, {total / batch:.1f} searches a second")
    sample = random.Random(1).sample(positions, min(asked.sample, len(positions)))
    alone = bot.model_copy(update={"leaves": bot.leaves})
    ways: dict[str, Callable[[Position], object]] = {
        "the same searches": lambda place: run_bot(place.game, alone, [place.state], [1]),
        "as single positions are searched": lambda place: analyze(place, bot),
    }
    for name, way in ways.items():
        way(sample[0])
        began = time.perf_counter()
        for place in sample:
            way(place)
        each = (time.perf_counter() - began) / len(sample)
        whole = each * total
        print(f"one after another, {name}: {each:.3f} s each, {whole:.0f} s in all, {whole / batch:.1f} times")


def played(game: str, moves: int) -> Record:
    """The first moves of a game of a weak bot against itself."""
    run = match("uct:simulations=30,c=0.5", "uct:simulations=30,c=0.6", game=game, games=2, progress=False)
    played = run.games["moves"].iloc[0].split()[:moves]
    return Record(parse_sgf(write_line(run.plan.game, played, {}), "played.sgf")[0])


def shortened(record: Record, moves: int) -> Record:
    return Record(parse_sgf(write_line(record.game, record.moves[:moves], {}), "shortened.sgf")[0])


if __name__ == "__main__":
    main()
