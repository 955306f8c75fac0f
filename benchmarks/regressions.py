"""Positions with known answers from GNU Go's regression suites, asked of a bot through its own GTP engine.

python benchmarks/regressions.py gnugo-3.8/regression [9x9 golife ...] [--bot BOT] [--most 200]

The suites come with GNU Go's sources (Debian: `apt-get source gnugo`); of each the questions are taken that ask for a
move, in their order. An answer names the moves that are right, or after a "!" those that are wrong. Many are opinions
of GNU Go's authors, not theorems.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SUITES = "9x9", "golife", "blunder", "nngs"
BOT = "alphazero:seconds=2,simulations=50000,temperature=0"


class Question(NamedTuple):
    suite: str
    number: str
    load: str  # the GTP command that sets up the position
    size: str  # of the board
    color: str
    moves: frozenset[str]
    wrong: bool  # these are the moves not to play

    def right(self, move: str) -> bool:
        return move != "resign" and (move.upper() in self.moves) != self.wrong


def questions(folder: Path, suite: str) -> list[Question]:
    """Those of a suite that ask for any move of the board."""
    found, load, size, asked = [], "", "", None
    for line in (folder / f"{suite}.tst").read_text(encoding="latin-1").splitlines():
        if words := re.match(r"loadsgf (\S+)(.*)", line):
            record = folder / words[1]
            of_board = re.search(r"SZ\[(\d+)\]", record.read_text(encoding="latin-1"))
            load, size, asked = f"loadsgf {record}{words[2].rstrip()}", of_board[1] if of_board else "19", None
        elif words := re.match(r"(\d+) reg_genmove (\w+)", line):
            asked = words[1], words[2]
        elif (words := re.match(r"#\? \[(!?)\(?([A-Za-z0-9|]+)\)?\]", line)) and asked:
            moves = frozenset(words[2].upper().split("|"))
            found.append(Question(suite, asked[0], load, size, asked[1], moves, wrong=bool(words[1])))
            asked = None
        elif line and not line.startswith("#"):
            asked = None
    return found


class Engine:
    """`jubango gtp` as a process."""

    def __init__(self, bot: str) -> None:
        command = [sys.executable, "-m", "jubango", "gtp", "--bot", bot]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command: str) -> str:
        """Its answer, with "=" or "?" in front."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, as the next line says
            print(command, file=self._process.stdin, flush=True)
        said = []
        while (line := self._process.stdout.readline()) != "\n":
            if not line:
                raise SystemExit(f"the engine has ended, status {self._process.wait()}")
            said.append(line.strip())
        return " ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="regression/ of GNU Go's sources")
    parser.add_argument("suites", nargs="*", default=SUITES, help=f"by default {' '.join(SUITES)}")
    parser.add_argument("--bot", default=BOT, help=f"by default {BOT}")
    parser.add_argument("--most", type=int, default=200, help="questions in all, the first ones (200)")
    given = parser.parse_args()
    if absent := [suite for suite in given.suites if not (given.folder / f"{suite}.tst").is_file()]:
        parser.error(f"{given.folder}: there is no {absent[0]}.tst; name the folder regression/ of GNU Go's sources")
    asked = [one for suite in given.suites for one in questions(given.folder.resolve(), suite)][: given.most]
    engine, number, right = Engine(given.bot), Counter[str](), Counter[str]()
    for question in asked:
        loaded = engine.ask(question.load)
        answer = engine.ask(f"reg_genmove {question.color}") if loaded.startswith("=") else loaded
        if not answer.startswith("="):
            print(f"{question.suite} {question.number}: left out: {answer}")
            continue
        move = answer.removeprefix("=").strip()
        for group in (question.suite, f"{question.size} x {question.size}", "all"):
            number[group] += 1
            right[group] += question.right(move)
        wanted = f"{'not ' if question.wrong else ''}{' or '.join(sorted(question.moves))}"
        said = "right" if question.right(move) else wanted
        print(f"{question.suite} {question.number}: {move}, {said}", flush=True)
    for group, total in number.items():
        print(f"{group:12} {right[group]:4} of {total:4} {100 * right[group] / total:6.1f} %")


if __name__ == "__main__":
    main()
