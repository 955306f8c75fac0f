"""The runs in a folder: tournaments, matches, tunings and trainings, how far each is, and what would be typed next."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from jubango.arena.runs.run_folder import PLAN_FILE, open_run
from jubango.arena.runs.work_folder import is_at_play
from jubango.arena.training.measuring import BEST, MATCHES
from jubango.arena.training.sitting import read_sitting
from jubango.arena.training.training import PROGRESS, SETTINGS_FILE
from jubango.arena.tuning.plan import read_tune_plan
from jubango.arena.tuning.tuner import TUNE_FILE, confirmation
from jubango.arena.tuning.tuning import Tuning
from jubango.bots.learning.training_config import TrainingConfig
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.library.database import DATABASE
from jubango.sgf_games.library.folder import Folder

DEEPEST_RUN = 3  # folders below the one that is looked through
MOST_FOLDERS = 2000  # folders that are looked at


class RunState(StrEnum):
    finished = "finished"
    interrupted = "interrupted"
    running = "running"
    damaged = "damaged"


@dataclass(frozen=True)
class FoundRun:
    """A run's folder, as it is at this moment. ``go_on``, ``open`` and ``compare`` are commands, empty where there is
    none."""

    path: Path
    name: str  # its path from the folder that was looked through
    kind: str  # tournament, match, tuning, training
    game: str = ""
    done: float = 0.0
    total: float | None = None  # None: without end
    unit: str = "games"
    when: str = ""  # the last time that something was done, ISO 8601
    state: RunState = RunState.finished
    why: str = ""  # it is damaged
    go_on: str = ""
    open: str = ""
    compare: str = ""
    bots: Sequence[str] = field(default=())

    @property
    def progress(self) -> str:
        """How far it is, in words."""
        if self.state is RunState.damaged:
            return ""
        number = f"{self.done:,.0f}" if self.unit == "games" else f"{self.done:,.1f}"
        return f"{number} of {self.total:,.5g} {self.unit}" if self.total else f"{number} {self.unit}"


def found_runs(folder: Path) -> list[FoundRun]:
    """All runs in a folder, itself included, the newest first. Links to folders are not followed.

    Raises UserError if there is no such folder.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; jubango tournament, train and tune make runs/NAME")
    found = [found_run(path, folder) for path in run_folders(folder)]
    runs = sorted((run for run in found if run), key=lambda run: run.when, reverse=True)
    return [replace(run, compare=_comparison(run, runs)) for run in runs]


def run_folders(folder: Path) -> Iterator[Path]:
    """The folders that may be runs."""
    return _folders(folder, DEEPEST_RUN)


def found_run(path: Path, within: Path) -> FoundRun | None:
    """The run that a folder is; None if it is none. within: the folder that it is named from."""
    name = path.relative_to(within).as_posix()
    name = path.resolve().name if name == "." else name
    readers = {SETTINGS_FILE: _training, TUNE_FILE: _tuning, PLAN_FILE: _tournament}
    stated = next((file for file in readers if os.path.isfile(path / file)), None)
    if stated is None:
        return None
    kind = {SETTINGS_FILE: "training", TUNE_FILE: "tuning", PLAN_FILE: "tournament"}[stated]
    try:
        return readers[stated](path, name)
    except (UserError, CannotGoOn) as error:
        return FoundRun(path, name, kind, when=_touched(path, stated), state=RunState.damaged, why=str(error))


def _folders(folder: Path, deep: int, left: list[int] | None = None) -> Iterator[Path]:
    """It and those below it; below a run none, but for the first folder."""
    left = [MOST_FOLDERS] if left is None else left
    left[0] -= 1
    if left[0] < 0:
        return
    yield folder
    if deep == 0 or (is_run_folder(folder) and deep < DEEPEST_RUN):
        return
    try:
        names = sorted(one.name for one in os.scandir(folder) if one.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        if not name.startswith("."):
            yield from _folders(folder / name, deep - 1, left)


def is_run_folder(folder: Path) -> bool:
    """Is there a run, a tuning or a training in it?"""
    return any(os.path.isfile(folder / name) for name in (SETTINGS_FILE, TUNE_FILE, PLAN_FILE))


def _tournament(path: Path, name: str) -> FoundRun:
    run = open_run(path)
    games = run.games
    two = len(run.plan.bots) == 2
    return FoundRun(
        path, name, "match" if two else "tournament", run.plan.game.spec, len(run.results), run.total,
        when=str(games["date"].max()) if len(games) else _touched(path, PLAN_FILE), state=_state(path, not run.missing),
        go_on=shell.command("tournament", path / PLAN_FILE, "--out", path) if run.missing else "",
        open=shell.command("report", path, "--open") if run.results else "",
        bots=tuple(bot.name for bot in run.plan.bots),
    )  # fmt: skip


def _tuning(path: Path, name: str) -> FoundRun:
    plan = read_tune_plan(Folder(path).file(TUNE_FILE), begun=True)
    tuning = Tuning(plan, path)
    confirming = path / f"confirm-{tuning.done}"
    tested = open_run(confirming) if (confirming / PLAN_FILE).is_file() else None
    over = not tuning.missing and not (tested.missing if tested else _to_be_tested(tuning))
    again = shell.command("tune", path / TUNE_FILE, "--out", path)
    return FoundRun(
        path, name, "tuning", plan.playing.game.spec, tuning.done, tuning.total,
        when=_touched(path, DATABASE, TUNE_FILE), state=_state(path, over),
        go_on="" if over else again,
        open=shell.command("report", confirming, "--open") if tested else again,
    )  # fmt: skip


def _to_be_tested(tuning: Tuning) -> bool:
    """Is its best to be tested against what it began with? A run that was killed may not have come to that."""
    if tuning.plan.confirm is not None:
        tuning.fit()
    return confirmation(tuning) is not None


def _training(path: Path, name: str) -> FoundRun:
    files = Folder(path)
    games = games_of_training(files)
    sitting = read_sitting(files)
    minutes = sitting.minutes if sitting else None
    words: list[object] = ["train", *(word for game in games for word in ("--game", game)), "--out", path]
    if sitting:
        words += sitting.options
    over = sitting is not None and sitting.done
    best = f"gumbel:network={path / BEST}"
    return FoundRun(
        path, name, "training", games[0], (sitting.seconds if sitting else 0.0) / 60, minutes, "minutes",
        when=_touched(path, MATCHES, PROGRESS, SETTINGS_FILE), state=_state(path, over),
        go_on="" if over else shell.command(*words),
        open=shell.command("play", "--game", games[0], "--black", "human", "--white", best) if files.has(BEST) else "",
    )  # fmt: skip


def games_of_training(folder: Folder) -> tuple[str, ...]:
    """The games that a training in the folder learns, the one that counts first. Raises UserError."""
    text = folder.read_text(SETTINGS_FILE)
    where = folder.path / SETTINGS_FILE
    games = parse_toml(text or "", str(where)).get("games")
    if not isinstance(games, list) or not games or not all(isinstance(game, str) for game in games):
        raise UserError(f"{where}: says no games")
    return TrainingConfig(games=tuple(games)).games


def _state(path: Path, over: bool) -> RunState:
    if is_at_play(path):
        return RunState.running
    return RunState.finished if over else RunState.interrupted


def _touched(path: Path, *names: str) -> str:
    """When the newest of these files was written."""
    times = [(path / name).stat().st_mtime for name in names if os.path.isfile(path / name)]
    return datetime.fromtimestamp(max(times), UTC).isoformat(timespec="seconds") if times else ""


def _comparison(run: FoundRun, runs: Sequence[FoundRun]) -> str:
    """With the newest run before it of the same game that shares a bot with it."""
    earlier = [
        one
        for one in runs
        if one.when < run.when and one.game == run.game and one.done and set(one.bots) & set(run.bots)
    ]
    return shell.command("compare", earlier[0].path, run.path) if earlier and run.done else ""
