"""A game reviewed in one batch, against its positions searched one after another on the same cores.

    python benchmarks/review.py                     # 250 moves of 19x19 Go, uct with 200 simulations

Both make the same searches: of every position and of what the bot's own choice would have led to, twice each. Of those
one after another a sample is timed, once as they are in the batch (one leaf at a time) and once as `jubango analyze`
searches a single position (in as many leaves as its simulations allow). Programs are made before. Seconds are
the wall's and, on a machine that others use too, the more honest ones of its cores together.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from jubango.analysis.positions.position import analyze, searching_bot
from jubango.analysis.reviews.review_file import subject_of
from jubango.analysis.reviews.review_moves import Thresholds
from jubango.analysis.reviews.reviewing import STAGES, GameUnderReview, searched
from jubango.arena.tournament import match
from jubango.bots.run_bot import run_bot
from jubango.sgf_games.sgf.positions import Position, Record, read_sgf
from jubango.sgf_games.sgf.sgf import parse_sgf, write_line

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="go:19,komi=7.5")
    parser.add_argument("--sgf", type=Path, help="a game to review, by default one of uct against itself")
    parser.add_argument("--moves", type=int, default=250, help="of it")
    parser.add_argument("--bot", default="uct:simulations=200")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sample", type=int, default=20, help="searches one after another")
    asked = parser.parse_args()
    record = read_sgf(asked.sgf) if asked.sgf else played(asked.game, asked.moves)
    bot = searching_bot(asked.bot)

    def reviewed(moves: int) -> GameUnderReview:
        own = shortened(record, moves)
        case = GameUnderReview(own, subject_of(own.sgf, bot, 1), asked.repeats, None)
        searched([case], [bot])
        case.review(Thresholds())
        return case

    reviewed(asked.moves)
    case, *batch = timed(lambda: reviewed(asked.moves))
    positions = [place for stage in STAGES for place in case.places(stage).values() if not place.over]
    total = asked.repeats * len(positions)
    print(f"{len(case.record)} moves, {record.game.spec}, {bot.spec}: {total} searches", flush=True)
    print(f"side by side: {batch[0]:.1f} s by the wall, {batch[1]:.1f} of the cores", flush=True)
    sample = random.Random(1).sample(positions, min(asked.sample, len(positions)))
    alone = bot.model_copy(update={"leaves": bot.leaves})
    ways: dict[str, Callable[[Position], object]] = {
        "the same searches": lambda place: run_bot(place.game, alone, [place.state], [1]),
        "as single positions are searched": lambda place: analyze(place, bot),
    }
    for name, way in ways.items():
        way(sample[0])
        _, *spent = timed(lambda way=way: [way(place) for place in sample])
        wall, cores = (seconds / len(sample) * total for seconds in spent)
        print(
            f"one after another, {name}: {wall:.0f} s by the wall ({wall / batch[0]:.1f} times as many), "
            f"{cores:.0f} of the cores ({cores / batch[1]:.1f} times)", flush=True,
        )  # fmt: skip


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """(what comes of it, seconds by the wall, seconds of the cores)."""
    wall, cores = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - wall, time.process_time() - cores


def played(game: str, moves: int) -> Record:
    """The first moves of a game of a weak bot against itself."""
    run = match("uct:simulations=30,c=0.5", "uct:simulations=30,c=0.6", game=game, games=2, progress=False)
    played = run.games["moves"].iloc[0].split()[:moves]
    return Record(parse_sgf(write_line(run.plan.game, played, {}), "played.sgf")[0])


def shortened(record: Record, moves: int) -> Record:
    return Record(parse_sgf(write_line(record.game, record.moves[:moves], {}), "shortened.sgf")[0])


if __name__ == "__main__":
    main()
