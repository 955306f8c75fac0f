"""A tournament by hosts as a command of its own, which things happen to, and what has to be true of its folder then."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gtp_talk import ROOT
from kills import kept_in

from jubango.arena.commands import run as command
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run_folder import open_run

LONGEST = 400.0  # seconds of anything
Waited = TypeVar("Waited")
KEYS = ["game_id", "black", "white", "moves", "result", "reason", "seed"]
PLAN = """name = "faults"
game = "tic_tac_toe"
games_per_pairing = {games}
games_at_once = 4
seed = 3
[[bots]]
use = "random"
[[bots]]
use = "uct"
simulations = [4, 8]
"""
# Loaded by hosts and by the command: games take a while without computing. A host with JUBANGO_ALTERS swaps two moves
# of one game, of those that a second host plays too, once it has proved itself.
PLUGIN = """
import dataclasses, os, time, zlib
from jubango.arena.games import batch, pool

tick, record, ended = pool.GamePool.tick, batch.GameBatch.record, []

def slow(self, *arguments):
    time.sleep({nap})
    return tick(self, *arguments)

def altered(self, *arguments):
    found = record(self, *arguments)
    ended.append(found.game_id)
    if len(ended) > 20 and zlib.crc32(found.game_id.encode()) % 50 == 0 and "done" not in ended:
        ended.append("done")
        first, second, third, *rest = found.moves
        found = dataclasses.replace(found, moves=(third, second, first, *rest))
    return found

pool.GamePool.tick = slow
if os.environ.get("JUBANGO_ALTERS"):
    batch.GameBatch.record = altered
"""


# The command, which says notes of hosts when they are made too: it prints them when it prints how far it is.
PROGRAM = """
import sys, time
from jubango.arena.commands import main
from jubango.arena.hosts import driver, table

def told(self, turn=table.HostTable._turn):
    before = len(self.notes)
    turn(self)
    for note in self.notes[before:]:
        print("NOTE", time.monotonic(), note, file=sys.stderr, flush=True)

table.HostTable._turn = told
driver.SILENCE_SECONDS = {patience} or driver.SILENCE_SECONDS
main()
"""


class Sitting:
    """The command in a process of its own, and what it says. ``patience``: seconds that hosts may be silent."""

    def __init__(self, place: Path, cluster: str, patience: float = 0.0, **variables: str) -> None:
        words = ["tournament", str(place / "plan.toml"), "--out", str(place / "run"), "--cluster", cluster]
        self.run, self.lines = place / "run", list[str]()
        self.notes: list[tuple[float, str]] = []  # and when they were made
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(patience=patience), *words], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, cwd=place, start_new_session=True,
            env={**os.environ, **environment(place), **variables},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("NOTE "):
                _, at, note = line.rstrip().split(maxsplit=2)
                self.notes.append((float(at), note))
            else:
                self.lines.append(line.rstrip())

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def when(self, words: str, number: int = 1) -> float:
        """When it noted this for the first time, or a later one."""
        found = self.until(lambda: [at for at, note in self.notes if words in note][number - 1 :], words)
        return found[0]

    def games(self, number: int) -> int:
        """Wait until so many games are kept. Returns how many are."""
        return self.until(lambda: found if (found := kept_in(self.run)) >= number else 0, f"{number} games")

    def hosts(self, number: int) -> None:
        """Wait until so many hosts have played games."""
        self.until(lambda: sum(int(row["games"]) > 0 for row in rows(self.run)) >= number, f"games of {number} hosts")

    def until(self, look: Callable[[], Waited], what: str) -> Waited:
        until = time.monotonic() + LONGEST
        while not (found := look()):
            assert self.process.poll() is None and time.monotonic() < until, f"{what} did not come: {self.said}"
            time.sleep(0.01)
        return found

    def end(self, status: int = 0) -> str:
        """Wait for its end. Returns what it has said."""
        try:
            assert self.process.wait(LONGEST) == status, self.said
        finally:
            self.kill()
        self._reader.join(10)
        assert "Traceback" not in self.said and "error of this program" not in self.said, self.said
        return self.said

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def environment(place: Path) -> dict[str, str]:
    """Of the command, and of nodes."""
    path = os.pathsep.join([str(place), str(ROOT)])
    return {"PYTHONPATH": path, "JUBANGO_PLUGINS": "faults_plugin", "JAX_PLATFORMS": "cpu"}


def laid_out(place: Path, games: int = 200, nap: float = 0.03) -> Path:
    """The folder of a case: a plan of three pairings, and the plug-in."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "plan.toml").write_text(PLAN.format(games=games))
    (place / "faults_plugin.py").write_text(PLUGIN.format(nap=nap))
    return place


def rows(run: Path) -> list[dict[str, str]]:
    """A row for each host; none before the file is there."""
    try:
        with open(run / "hosts.csv") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def check(place: Path, but: str = "", differed: int = 0) -> None:
    """The run is whole, and its games are those of one process, ``but`` one; so many ``differed`` from another host's.
    Raises AssertionError."""
    run = open_run(place / "run")
    with contextlib.closing(sqlite3.connect(place / "run" / "results.sqlite")) as base:
        number = base.execute("select count(*), count(distinct game_id) from games").fetchone()
    assert number == (run.plan.total, run.plan.total), number
    here, there = (
        one[one["game_id"] != but].reset_index() for one in (run.games[KEYS], play_plan(run.plan).games[KEYS])
    )
    assert here.equals(there), "other games"
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = command(["check", str(place / "run")])
    assert status == 0, said.getvalue()
    assert sum(int(row["differed"]) for row in rows(place / "run")) == differed
