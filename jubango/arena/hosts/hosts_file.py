"""``hosts.csv`` in a run's folder: who played how much of it, and whose games came out as others had them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from jubango.arena.hosts.driver import Member
from jubango.arena.runs.machines import HOSTS
from jubango.arena.runs.work_folder import writing
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

HOST_COLUMNS = ("began", "host", "node", "machine", "games", "seconds", "agreed", "differed", "state")
MOST_ROWS = 10_000  # of earlier sittings
LARGEST_FILE = 10_000_000  # bytes


class HostsFile:
    """Of the run in ``folder``; None: nothing is kept. What earlier sittings have left there stays."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else Folder(folder)
        self._began = datetime.now(UTC).isoformat(timespec="seconds")
        self._before = self._read()
        self._text = ""

    def _read(self) -> list[list[str]]:
        if self._folder is None:
            return []
        try:
            text = self._folder.read_text(HOSTS, LARGEST_FILE) or ""
            rows = list(csv.reader(io.StringIO(text)))
        except (UserError, csv.Error):  # somebody's own; it is no reason not to go on
            return []
        return [row for row in rows[1:] if len(row) == len(HOST_COLUMNS)][-MOST_ROWS:]

    def write(self, members: Iterable[Member]) -> None:
        """A row for each host that has played, if anything is new. Raises CannotGoOn."""
        members = [one for one in members if one.signature is not None]
        if self._folder is None or not members:
            return
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerows([HOST_COLUMNS, *self._before])
        for one in members:
            assert one.signature is not None
            said = [one.games, f"{one.seconds:.1f}", one.agreed, one.differed, one.state.value]
            table.writerow([self._began, one.name, one.signature.node, one.signature.machine, *said])
        if out.getvalue() != self._text:
            self._text = out.getvalue()
            with writing(self._folder.path / HOSTS):
                self._folder.write(HOSTS, self._text.encode())
