"""The runs of the folder that is served, looked at again only where a file of theirs has changed."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

from jubango.arena.serve.work.jobs import Jobs
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

RUNS_FOLDER = "runs"
WATCHED_FILES = (
    "tournament.toml", "results.sqlite", "results.sqlite-wal", "tune.toml", "settings.csv", "train.toml",
    "sitting.json", "matches.csv", "best.safetensors", ".lock",
)  # fmt: skip


class Listing:
    """What there is to watch, to go on with, to stop."""

    def __init__(self, folder: Folder, jobs: Jobs) -> None:
        self._folder, self._jobs = folder, jobs
        self._known: dict[Path, tuple[object, object]] = {}
        self._lock = threading.Lock()  # several feeds ask

    @property
    def home(self) -> str:
        """The folder that new runs are made in, from the one that is served; "" if that is it."""
        return "" if self._folder.path.resolve().name == RUNS_FOLDER else RUNS_FOLDER

    def place(self, name: str) -> str:
        """Where a new run of this name is."""
        return f"{self.home}/{name}" if self.home else name

    def rows(self) -> list[dict[str, object]]:
        """Of each run, the newest first."""
        from jubango.arena.found_runs import FoundRun, RunState, found_run, run_folders
        from jubango.arena.runs.work_folder import is_at_play

        found: list[FoundRun] = []
        with self._lock:
            known, self._known = self._known, {}
            for path in run_folders(self._folder.path):
                signature = _signature(path)
                before, run = known.get(path, (None, None))
                if before != signature or not isinstance(run, FoundRun):
                    run = found_run(path, self._folder.path)
                self._known[path] = signature, run
                if isinstance(run, FoundRun):
                    found.append(run)
        names = {run.name for run in found}
        rows = [self._beginning(name) for name in self._jobs.begun if name not in names]
        for run in sorted(found, key=lambda one: one.when, reverse=True):
            state = run.state
            if state is not RunState.damaged:
                at_play = is_at_play(run.path) or self._jobs.is_running(run.name)
                state = RunState.running if at_play else RunState.interrupted if run.go_on else RunState.finished
            rows.append({
                **{key: getattr(run, key) for key in ("name", "kind", "game", "done", "total", "unit", "when", "why")},
                "state": str(state), "progress": dataclasses.replace(run, state=state).progress,
                "ours": state is RunState.running and self._jobs.is_ours(run.name),
                "go_on": run.go_on, "failed": self._jobs.failed(run.name),
            })  # fmt: skip
        return rows

    def _beginning(self, name: str) -> dict[str, object]:
        """Of a run that has been begun and has no files yet that say what it is."""
        running = self._jobs.is_running(name)
        blank: dict[str, object] = dict.fromkeys(("game", "when", "why", "go_on"), "")
        return {
            **blank, "name": name, "kind": self._jobs.kind(name), "done": 0, "total": None, "unit": "games",
            "state": "running" if running else "interrupted", "progress": "starting" if running else "",
            "ours": self._jobs.is_ours(name), "failed": self._jobs.failed(name),
        }  # fmt: skip

    def row(self, name: str) -> dict[str, object]:
        """The run of this name. Raises UserError if there is none."""
        for row in self.rows():
            if row["name"] == name:
                return row
        raise UserError(f'there is no run "{name}" in {self._folder.path}')


def _signature(path: Path) -> object:
    """Another one where something has changed."""
    found = []
    for file in (*(path / name for name in WATCHED_FILES), *sorted(path.glob("confirm-*/results.sqlite*"))):
        try:
            status = file.lstat()
            found.append((file, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return tuple(found)
