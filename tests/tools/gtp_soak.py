"""Games through ``jubango gtp`` in a process of its own, one after another, for hours: does its memory stay flat?

python tests/tools/gtp_soak.py MINUTES [SEED]

A line a minute: minutes, games, moves, the server's resident memory in kB. Ends with 1 if the memory at the end is more
than MOST_GROWTH of that after WARM minutes, or an answer is not as it should be.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

import psutil
from gtp_talk import command

BOT = "uct:simulations=16"
GAME = "go:9"
STREAMS = ["lz-analyze 1", "kata-analyze 1 rootInfo true ownership true"]
WARM = 5  # minutes until all programs are loaded and all buffers have their size
MOST_GROWTH = 0.05
LONGEST = 60  # moves of a game


class Server:
    """A server that is asked line by line."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._errors = folder, (folder / "errors").open("wb")
        words = ("gtp", "--bot", BOT, "--game", GAME, "--simulations", "256")
        self._process = command(*words, stderr=self._errors, text=True, encoding="utf-8")
        self._in, self._out = self._process.stdin, self._process.stdout

    def say(self, line: str) -> None:
        self._in.write(f"{line}\n")
        self._in.flush()

    def hear(self) -> list[str]:
        """The lines of an answer. Raises RuntimeError for one that is refused."""
        lines: list[str] = []
        while (line := self._out.readline()) != "\n":
            if not line:
                raise RuntimeError(f"it ended: {self.errors()}")
            lines.append(line.rstrip("\n"))
        if not lines[0].startswith("="):
            raise RuntimeError("\n".join(lines))
        return lines

    def ask(self, line: str) -> str:
        """The answer to one line."""
        self.say(line)
        return "\n".join(self.hear())[1:].strip()

    def watch(self, stream: str, lines: int) -> None:
        """An analysis that is broken off by the next command, after so many lines."""
        self.say(stream)
        for _ in range(1 + lines):
            if not self._out.readline():
                raise RuntimeError(f"it ended: {self.errors()}")
        self.say("name")
        self.hear_rest()
        self.hear()

    def hear_rest(self) -> None:
        """Up to the end of an answer that has begun."""
        while self._out.readline() not in ("\n", ""):
            pass

    def errors(self) -> str:
        """What it has said on stderr."""
        self._errors.flush()
        return (self._folder / "errors").read_text(errors="replace")

    @property
    def memory(self) -> int:
        """kB of its process."""
        return psutil.Process(self._process.pid).memory_info().rss // 1024

    def quit(self) -> int:
        """Its exit status."""
        self.ask("quit")
        return self._process.wait(timeout=60)


def game(server: Server, rng: random.Random, folder: Path) -> int:
    """One game of the bot against itself with all that GUIs do in between. Returns how many moves were made."""
    server.ask("clear_board")
    server.ask(f"komi {rng.choice([0.5, 5.5, 7])}")
    if rng.random() < 0.2:
        server.ask(f"fixed_handicap {rng.randrange(2, 5)}")
    made = passes = 0
    colour = "w" if "Handicap" in server.ask("printsgf") else "b"
    while made < LONGEST and passes < 2:
        chance = rng.random()
        if chance < 0.03:
            server.watch(rng.choice(STREAMS), rng.randrange(1, 4))
        elif chance < 0.06:
            server.ask("showboard")
        elif chance < 0.08:
            server.ask("final_score")
        elif chance < 0.10 and made > 4:
            for _ in range(2):
                server.ask("undo")
        elif chance < 0.12:
            server.say(f"kata-genmove_analyze {colour} 10")
            server.hear()
            server.ask("undo")
        move = server.ask(f"genmove {colour}")
        passes = passes + 1 if move.lower() == "pass" else 0
        made, colour = made + 1, "w" if colour == "b" else "b"
    if rng.random() < 0.5:
        path = folder / "game.sgf"
        path.write_text(server.ask("printsgf"))
        server.ask(f"loadsgf {path} {rng.randrange(1, made + 1)}")
        server.ask("genmove b")
        made += 1
    return made


def soak(minutes: float, seed: int = 1) -> list[tuple[float, int, int, int]]:
    """Play so long. Returns, a minute apart, (minutes, games, moves, kB); prints each."""
    rng, found = random.Random(seed), list[tuple[float, int, int, int]]()
    games = moves = 0
    began = time.monotonic()

    def note() -> None:
        found.append((round((time.monotonic() - began) / 60, 1), games, moves, server.memory))
        print(*found[-1], flush=True)

    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place))
        while (passed := time.monotonic() - began) < 60 * minutes:
            moves += game(server, rng, Path(place))
            games += 1
            if passed > 60 * len(found):
                note()
        note()
        if server.quit() or server.errors():
            raise RuntimeError(server.errors())
    return found


if __name__ == "__main__":
    rows = soak(float(sys.argv[1]), int((sys.argv[2:] or ["1"])[0]))
    first = next((row[3] for row in rows if row[0] >= WARM), rows[-1][3])
    print(f"{first:,} kB after {WARM} minutes, {rows[-1][3]:,} kB at the end")
    sys.exit(rows[-1][3] > (1 + MOST_GROWTH) * first)
