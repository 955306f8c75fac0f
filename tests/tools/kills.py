"""Runs that are killed by SIGKILL at random moments and gone on with until they end, beside one that nobody has killed.

python tests/tools/kills.py {best,robin,swiss,sprt,tune,train} KILLS [SEED]

What is kept, the tables and the last printed page are the same; of a training, in which no end is the same, nothing is
lost, doubled or damaged, and it goes on.
"""

from __future__ import annotations

import contextlib
import csv
import io
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gtp_talk import COMMAND, ENVIRONMENT

from jubango.analysis.tables.tables import games_frame
from jubango.arena.commands import run
from jubango.arena.runs.run_folder import open_run
from jubango.bots.networks.arrays import read_arrays
from jubango.bots.networks.checkpoint import load_weights
from jubango.sgf_games.library.recovery import problems

LONGEST = 600  # seconds of a command on a busy machine
BOTS = """
[[bots]]
name = "u"
use = "uct"
simulations = [2, 4, 8, 16]
[[bots]]
use = "random"
"""
FILES = {
    "best": 'format = "best"\nindifference = 150\nalpha = 0.1\nopenings = "random"\nopening_plies = 1' + BOTS,
    "swiss": 'format = "swiss"\nrounds = 2\ngames_per_pairing = 40' + BOTS,
    "robin": "games_per_pairing = 20" + BOTS,
    "sprt": 'sprt = "0,60"\ngames_per_pairing = 4000\nopenings = "random"\nopening_plies = 2' + BOTS.replace("2, 4, 8, 16", "8"),
    "tune": 'games = 64\ngames_per_round = 16\nconfirm = "0,200"\nconfirm_games = 20\nopponents = ["uct:simulations=2"]\n'
    '[bot]\nuse = "uct"\nsimulations = 8\n[[settings]]\nkey = "c"\nlow = 0.05\nhigh = 8.0\nlog = true\n',
}  # fmt: skip
TRAIN = "train --game tic_tac_toe --channels 4 --blocks 1 --lanes 32 --batch 32 --simulations 2 --fast 2 --seed 1"
TRAIN += " --measure-minutes 0.1 --measure-games 2"
KEPT = ["game_id", "black", "white", "result", "moves", "seed", "opening", "opening_plies", "reason", "black_spec"]


class Ended(NamedTuple):
    """A command that was let end."""

    page: str  # on stdout
    said: str  # on stderr
    begun: float  # seconds until work began
    seconds: float


@dataclass
class Case:
    """What is played, and where."""

    kind: str
    folder: Path
    here: bool = (
        False  # in this process, but for those that are killed, which saves the time that processes take to begin
    )

    def __post_init__(self) -> None:
        if self.kind != "train":
            text = f'name = "killed"\ngame = "tic_tac_toe"\ngames_at_once = 8\n{FILES[self.kind]}'
            (self.folder / "plan.toml").write_text(text)

    def words(self, out: str, games: int) -> list[str]:
        """The command; a training is for so many games."""
        if self.kind == "train":
            return [*TRAIN.split(), "--out", out, "--games", str(games)]
        return ["tune" if self.kind == "tune" else "tournament", "plan.toml", "--out", out]

    def start(self, out: str, games: int = 0) -> subprocess.Popen[str]:
        """The command in a process of its own, which writes to files: nobody need read it."""
        with open(self.folder / "said", "w") as said, open(self.folder / "page", "w") as page:
            command = [*COMMAND, *self.words(out, games)]
            return subprocess.Popen(command, cwd=self.folder, env=ENVIRONMENT, stdout=page, stderr=said, text=True)

    def has_begun(self, out: str) -> bool:
        """Is the folder claimed? A training compiles after that."""
        return (self.folder / out / ".lock").exists()

    def to_its_end(self, out: str, games: int = 0) -> Ended:
        """Raises AssertionError if it fails."""
        began, begun = time.monotonic(), 0.0
        if self.here:
            page, said = io.StringIO(), io.StringIO()
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(page), contextlib.redirect_stderr(said):
                status = run(self.words(out, games))
            assert status == 0, said.getvalue()
            return Ended(page.getvalue(), said.getvalue(), 0.0, time.monotonic() - began)
        process = self.start(out, games)
        while process.poll() is None:
            if not begun and self.has_begun(out):
                begun = time.monotonic() - began
            assert time.monotonic() - began < LONGEST, self.said
            time.sleep(0.01)
        assert process.returncode == 0, self.said
        return Ended((self.folder / "page").read_text(), self.said, begun, time.monotonic() - began)

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()

    def killed(self, out: str, rng: random.Random, usual: Ended, games: int = 0) -> bool:
        """Start it and kill it at a moment, one time in eight while it loads; was it still at work?"""
        process, before = self.start(out, games), self.has_begun(out)
        early = not self.here and rng.random() < 0.125
        while not (early or before or self.has_begun(out)) and process.poll() is None:
            time.sleep(0.01)
        least = usual.begun if before and not early else 0.0  # it goes on, and has to load first
        most = least + usual.seconds - usual.begun
        try:
            process.wait(rng.uniform(least, usual.begun if early else most))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True
        assert process.returncode == 0, self.said
        return False

    def killed_in_the_middle(self, out: str) -> bool:
        """Start it and kill it once more games are kept than before; was it still at work?"""
        process, before = self.start(out), kept_in(self.folder / out)
        while kept_in(self.folder / out) <= before and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL), self.said
        return process.returncode != 0


def kill_runs(
    kind: str, kills: int, seed: int, folder: Path, most: int = 4, here: bool = False, middle: bool = False
) -> Counter[str]:
    """Kill runs of a kind so many times in all, in the ``middle`` if that is wanted, once some games have been kept,
    each run at ``most`` so often before it is let end. Returns how many of them there were, and how many kills;
    ``here``: see :class:`Case`. Raises AssertionError for one that does not end as it should."""
    case, counts, rng = Case(kind, folder, here), Counter[str](), random.Random(seed)
    whole = case.to_its_end("whole")
    usual = whole if here else case.to_its_end("again")  # compiled by now
    assert usual.page == whole.page
    while counts["kills"] < kills:
        shutil.rmtree(folder / "part", ignore_errors=True)
        for _ in range(min(rng.randint(1, most), kills - counts["kills"])):
            if not (case.killed_in_the_middle("part") if middle else case.killed("part", rng, usual)):
                break
            counts["kills"] += 1
            counts["in the middle"] += kept_in(folder / "part") > 0
        ended = case.to_its_end("part")
        counts["runs"] += 1
        why = f"{kind}, seed {seed}, {dict(counts)}: {ended.said}"
        assert ended.page == whole.page, why + whole.page + ended.page
        assert problems(folder / "part") == [], why
        (same_tuning if kind == "tune" else same_run)(folder / "whole", folder / "part", why)
        print(kind, dict(counts), flush=True)
    return counts


def kept_in(run: Path) -> int:
    """How many games there are."""
    return len(list(run.glob("games/*.sgf")))


def same_run(whole: Path, part: Path, why: str) -> None:
    """The games that count are the same, and those that were only played before it was decided are as they were."""
    runs = [open_run(path) for path in (whole, part)]
    counting = [run.counting[KEPT] for run in runs]
    assert counting[0].equals(counting[1]), why
    both = runs[0].games.merge(runs[1].games, on="game_id")
    assert (both["moves_x"] == both["moves_y"]).all() and (both["seed_x"] == both["seed_y"]).all(), why
    for name in ("ratings.csv", "crosstable.csv", "tournament.toml"):
        assert (whole / name).read_text() == (part / name).read_text(), why + name


def same_tuning(whole: Path, part: Path, why: str) -> None:
    """The same was tried and played."""
    assert games_frame(whole)[KEPT].equals(games_frame(part)[KEPT]), why
    for name in ("settings.csv", "tune.toml"):
        assert (whole / name).read_text() == (part / name).read_text(), why + name
    matches = [sorted(path.name for path in folder.glob("confirm-*")) for folder in (whole, part)]
    assert matches[0] == matches[1], why
    for name in matches[0]:
        same_run(whole / name, part / name, why)


def kill_training(kills: int, seed: int, folder: Path, step: int = 1000, here: bool = False) -> Counter[str]:
    """Kill a training so many times, and let it come to ``step`` more games now and then. Returns how many kills and
    ends there were. Raises AssertionError for what is lost, doubled or damaged."""
    case, counts, rng = Case("train", folder, here), Counter[str](), random.Random(seed)
    ended, aim = case.to_its_end("part", step), step
    before = looked_at(folder / "part", ended.said)
    while counts["kills"] < kills:
        aim += step
        for _ in range(min(rng.randint(1, 4), kills - counts["kills"])):
            if not case.killed("part", rng, ended, aim):
                break
            counts["kills"] += 1
            now = looked_at(folder / "part", case.said)
            counts["kept more than before"] += now["games"] > before["games"]
            assert all(now[key] >= before[key] for key in before), (before, now, counts)
            before = now
        ended = case.to_its_end("part", aim)
        counts["ends"] += 1
        before = looked_at(folder / "part", ended.said)
        assert before["games"] >= aim, (before, aim)
        print("train", dict(counts), before, flush=True)
    return counts


def looked_at(folder: Path, said: str) -> dict[str, float]:
    """How far a training is, by its files; asserts that all of them are whole, and that nothing is there twice."""
    assert not re.search("Traceback|error of this program|left out|cannot be read|damaged", said), said
    assert not (folder / "damaged").exists(), list((folder / "damaged").iterdir())
    checkpoints = sorted(folder.glob("checkpoints/*.safetensors"), key=lambda path: int(path.stem))
    found = read_arrays(checkpoints[-1], "checkpoint", "checkpoints")[0]
    assert found["counts/turns"] == int(checkpoints[-1].stem)
    for path in (folder / "best.safetensors", folder / "newest.safetensors", *folder.glob("networks/*.safetensors")):
        load_weights(path)
    numbers = [path.name.partition("-")[0] for path in folder.glob("samples/*/*.npz")]
    assert len(set(numbers)) == len(numbers), numbers
    with open(folder / "matches.csv", newline="") as file:
        matches = [tuple(row.values()) for row in csv.DictReader(file)]
    assert len({(row[2], row[3]) for row in matches}) == len(matches), matches
    with open(folder / "progress.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(None not in row.values() for row in rows), rows[-1]
    return {"games": float(found["counts/games"]), "steps": float(found["steps"]), "matches": len(matches)}


if __name__ == "__main__":
    kind, kills, seed = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])
    with tempfile.TemporaryDirectory() as place:
        act = kill_training(kills, seed, Path(place)) if kind == "train" else kill_runs(kind, kills, seed, Path(place))
        print(kind, dict(act))
