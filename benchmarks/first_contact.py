"""How long one waits for the first time, with an empty cache and with a full one: for a player, from its configuration
until it is ready, and for a command's first answer, from its start.

python benchmarks/first_contact.py
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def answers() -> dict[str, tuple[list[str], str]]:
    """By the name: (what comes after ``jubango``, what it is told)."""
    told = {"initialStones": [], "moves": [["B", "Q16"], ["W", "D4"]], "rules": "chinese", "maxVisits": 400}
    query = {"id": "1", "boardXSize": 19, "boardYSize": 19, "komi": 7, **told}
    return {
        **{
            f"gtp, a move, {game}": (["gtp", "--game", game, "--bot", BOT], "genmove b\n") for game in ("go:9", "go:19")
        },
        "analyze, a position, go:19": (["analyze", "game.sgf", "--bot", BOT], ""),
        "analysis-server, a query, go:19": (["analysis-server", "--bot", BOT], json.dumps(query) + "\n"),
    }


def answered(words: list[str], told: str, cache: str) -> float:
    """Seconds until a line that is not blank."""
    Path(cache, "game.sgf").write_text("(;GM[1]SZ[19];B[pd];W[dp])")
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "jubango", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=cache, env={**os.environ, "JUBANGO_CACHE": cache + "/programs"},
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(told)
        process.stdin.flush()
        if not any(line.strip() for line in process.stdout):
            raise SystemExit(f"jubango {' '.join(words)}: no answer")
        return time.perf_counter() - began


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
    waits: dict[str, list[tuple[float, float]]] = {name: [] for name in answers()}
    for _ in range(options.rounds):
        for name, command in answers().items():
            with tempfile.TemporaryDirectory() as cache:
                waits[name].append((answered(*command, cache), answered(*command, cache)))
    print(f"\n{'seconds until the first answer':32}{'empty cache':>13}{'full cache':>13}")
    for name, both in waits.items():
        columns = zip(*both, strict=True)
        print(f"{name:32}" + "".join(f"{statistics.median(own):13.2f}" for own in columns))


if __name__ == "__main__":
    main()
