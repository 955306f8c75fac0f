"""``hosts.csv`` in a run's folder: who played how much of it, and whose games came out as others had them."""

from __future__ import annotations

import contextlib
import csv
import io
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from jubango.arena.hosts.driver import HostState, Member
from jubango.arena.runs.machines import HOSTS
from jubango.arena.runs.work_folder import writing
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

HOST_COLUMNS = ("began", "host", "node", "machine", "games", "seconds", "agreed", "differed", "state")
MOST_ROWS = 10_000  # of earlier sittings
FRESH_SECONDS = 30.0  # that the file is at most old while hosts play
LARGEST_FILE, SHOWN_FILE = 10_000_000, 1_000_000  # bytes
HOST_ENDED = "ended"  # the state of a host that was there to the end
OVER = HOST_ENDED, HostState.gone.value


def hosts_in(folder: Folder) -> list[str]:
    """A line for each host that plays into a folder now, as far as can be read."""
    try:
        if abs(time.time() - folder.file(HOSTS).stat().st_mtime) > FRESH_SECONDS:
            return []
    except (UserError, OSError):
        return []
    rows = _rows(folder, SHOWN_FILE)
    now = [dict(zip(HOST_COLUMNS, row, strict=True)) for row in rows if row[0] == rows[-1][0] and row[-1] not in OVER]
    with contextlib.suppress(ValueError):  # somebody's own
        return [
            f"{row['host']}: {row['state']}, {int(row['games']):,} games"
            + f", {row['differed']} DIFFERED" * (row["differed"] != "0")
            for row in now
        ]
    return []


def _rows(folder: Folder, most: int = LARGEST_FILE) -> list[list[str]]:
    """All of them, of a file of so many bytes at most."""
    try:
        text = folder.read_text(HOSTS, most) or ""
        rows = list(csv.reader(io.StringIO(text)))
    except (UserError, csv.Error):  # somebody's own; it is no reason not to go on
        return []
    return [row for row in rows[1:] if len(row) == len(HOST_COLUMNS)][-MOST_ROWS:]


class HostsFile:
    """Of the run in ``folder``; None: nothing is kept. What earlier sittings have left there stays."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else Folder(folder)
        self._began = datetime.now(UTC).isoformat(timespec="seconds")
        self._before = [] if self._folder is None else _rows(self._folder)
        self._text, self._written = "", 0.0

    def write(self, members: Iterable[Member], over: bool = False) -> None:
        """A row for each host that has played, if anything is new or the file is old; ``over``: they end now. Raises
        CannotGoOn."""
        members = [one for one in members if one.signature is not None]
        if self._folder is None or not members:
            return
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerows([HOST_COLUMNS, *self._before])
        for one in members:
            assert one.signature is not None
            there = one.state not in (HostState.gone, HostState.refused)
            state = HOST_ENDED if over and there else one.state.value
            said = [one.games, f"{one.seconds:.1f}", one.agreed, one.differed, state]
            table.writerow([self._began, one.name, one.signature.node, one.signature.machine, *said])
        if out.getvalue() != self._text or time.monotonic() - self._written > FRESH_SECONDS / 2:
            self._text, self._written = out.getvalue(), time.monotonic()
            with writing(self._folder.path / HOSTS):
                self._folder.write(HOSTS, self._text.encode())
