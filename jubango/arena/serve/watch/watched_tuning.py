"""A tuning as its page shows it. Its response takes seconds to fit, and so is fitted anew for each round alone."""

from __future__ import annotations

import threading

from jubango.sgf_games.library.folder import Folder


class WatchedTuning:
    """Of one tuning's folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._said: tuple[object, str] = (None, "")  # of what, and the summary
        self._lock = threading.Lock()

    def look(self) -> str:
        """What it has found so far, as HTML. Raises UserError."""
        from jubango.analysis.tables.tables import last_kept
        from jubango.arena.runs.run_folder import PLAN_FILE, open_run
        from jubango.arena.tuning.page import tuning_part
        from jubango.arena.tuning.plan import read_tune_plan
        from jubango.arena.tuning.tuner import TUNE_FILE
        from jubango.arena.tuning.tuning import Tuning
        from jubango.sgf_games.library.database import DATABASE

        with self._lock:
            files = self._folder
            tuning = Tuning(read_tune_plan(files.file(TUNE_FILE), begun=True), files.path)
            confirming = f"confirm-{tuning.done}"
            tested = last_kept(files.path / confirming)[1] if files.has(f"{confirming}/{DATABASE}") else 0
            what = tuning.round, not tuning.missing, tested
            if what != self._said[0]:
                if files.has(f"{confirming}/{PLAN_FILE}"):
                    tuning.confirmed = open_run(files.path / confirming)
                tuning.fit()
                self._said = what, tuning_part(tuning)
            return self._said[1]
