"""Runs and trainings that the page has begun: processes of ``jubango tournament`` and ``jubango train``, each in a
session of its own, so that they outlive a server that is killed.

What began one is kept in its folder, ``job.json``. A server that is started later finds the process by it, as far as
the folder is locked and the process is the same: a process number alone may be anybody's by then.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil

from jubango.arena.runs.work_folder import is_at_play
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

JOB_FILE = "job.json"
LARGEST_JOB = 10_000  # bytes of that file
LOG_FILE = "job.log"  # what the process says
LOG_SHOWN = 4000  # characters of its end
PATIENCE = 15.0  # seconds for what was interrupted to end, when the server stops
RUN_NICENESS = 5  # games at the board go before games that nobody waits for


class Jobs:
    """Those of the folder ``folder``, whose processes run there."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._own: dict[str, subprocess.Popen[bytes]] = {}  # by the names of their runs
        self._lock = threading.Lock()

    def start(self, run: str, words: Sequence[str]) -> None:
        """Run ``jubango WORDS``, which works in the folder ``run``. Raises UserError if somebody works there."""
        with self._lock:
            if self.is_running(run):
                raise UserError(f"{run}: is being worked on already")
            path = self._place(run)
            try:
                path.mkdir(parents=True, exist_ok=True)
                folder = Folder(path)
                folder.write(LOG_FILE, b"")
                with open(folder.in_place(LOG_FILE), "ab") as log:
                    process = subprocess.Popen(
                        [sys.executable, "-P", "-m", shell.MODULE, *words], cwd=self._folder.path,
                        stdin=subprocess.DEVNULL,
                        stdout=log, stderr=log, start_new_session=True, env=_environment(),
                    )  # fmt: skip
                self._own[run] = process
                own = psutil.Process(process.pid)
                folder.write(JOB_FILE, json.dumps({"pid": own.pid, "began": own.create_time()}).encode())
                own.nice(RUN_NICENESS)
            except psutil.Error:  # it has ended already; its log says why
                pass
            except OSError as error:
                raise UserError(f"{run}: cannot be begun: {error.strerror}") from None

    def stop(self, run: str) -> None:
        """Interrupt it, as Ctrl-C does: all is kept. Raises UserError for what somebody else runs."""
        process = self._process(run)
        if process is None:
            if is_at_play(self._place(run)):
                raise UserError(f"{run}: was begun elsewhere; stop it there (Ctrl-C)")
            raise UserError(f"{run}: is not running")
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGINT)

    def is_running(self, run: str) -> bool:
        """Does anybody work in the folder, or has it been begun just now?"""
        own = self._own.get(run)
        with contextlib.suppress(UserError):  # a name that no folder of ours can have
            return (own is not None and own.poll() is None) or is_at_play(self._place(run))
        return False

    def kind(self, run: str) -> str:
        """Of one that this server has begun: tournament or training."""
        words = self._own[run].args
        return "training" if isinstance(words, list) and words[4] == "train" else "tournament"

    def is_begun(self, run: str) -> bool:
        """Has this server begun it, whatever has become of it?"""
        return run in self._own

    @property
    def begun(self) -> list[str]:
        """The runs that this server has begun, but for those that have ended and whose folders are gone."""
        return [run for run, own in self._own.items() if own.poll() is None or self._place(run).is_dir()]

    def is_ours(self, run: str) -> bool:
        """Can it be stopped from here?"""
        return self._process(run) is not None

    def said(self, run: str) -> str:
        """The end of what the process says, without what it has said over and over."""
        with contextlib.suppress(UserError):
            data = Folder(self._place(run)).read(LOG_FILE) or b""
            return data[-4 * LOG_SHOWN :].decode(errors="replace")[-LOG_SHOWN:]
        return ""

    def failed(self, run: str) -> str:
        """Why it has ended otherwise than by its end or by being stopped; empty if it has not."""
        own = self._own.get(run)
        if own is None or own.poll() in (None, 0, 130):
            return ""
        lines = [line for line in self.said(run).splitlines() if line.strip()]
        return lines[-1].removeprefix("jubango: ") if lines else f"it ended with status {own.poll()}"

    def close(self) -> None:
        """Interrupt those that this server has begun, which keep what they have."""
        running = [process for process in self._own.values() if process.poll() is None]
        for process in running:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGINT)
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)

    def _process(self, run: str) -> psutil.Process | None:
        own = self._own.get(run)
        try:
            if own is not None and own.poll() is None:
                return psutil.Process(own.pid)
            path = self._place(run)
            if not is_at_play(path):
                return None
            found = json.loads(Folder(path).read(JOB_FILE, LARGEST_JOB) or b"{}")
            process = psutil.Process(int(found["pid"]))
            same = abs(process.create_time() - float(found["began"])) < 0.02 and shell.MODULE in process.cmdline()
            return process if same else None
        except (psutil.Error, UserError, ValueError, TypeError, KeyError):
            return None

    def _place(self, run: str) -> Path:
        """The folder of a run. Raises UserError for a name that leads out of the folder that is served."""
        return self._folder.folder(run).path if run else self._folder.path


def _environment() -> dict[str, str]:
    """Of the processes: plain lines, and jubango from where this one has it."""
    package = str(Path(__file__).parents[4])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "NO_COLOR": "1", "TERM": "dumb"}
