"""One server for a folder: a second one says where the first is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from jubango.arena.runs.work_folder import Occupied, locked
from jubango.arena.serve.web.listening import privately
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

SERVER_LOCK = ".serve.lock"
SERVER_ADDRESS = ".serve.address"  # of the server, for its user alone: it has the token
LONGEST_ADDRESS = 1000  # bytes


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[Callable[[str], None]]:
    """The folder is this server's alone; what is given takes its address, for who comes second. A folder that nobody
    may write to is nobody's. Raises UserError."""
    if not os.access(folder, os.W_OK):
        yield lambda url: None
        return
    files = Folder(folder)
    try:
        with locked(folder, "serving", SERVER_LOCK):
            _forget(files)
            try:
                yield lambda url: _note(files, url)
            finally:
                _forget(files)
    except Occupied:
        raise UserError(f"{folder}: is being served already{_where(files)}") from None


def _note(files: Folder, url: str) -> None:
    with contextlib.suppress(OSError, UserError):
        path = files.file(SERVER_ADDRESS)
        with open(path, "x", encoding="ascii", opener=privately) as file:
            file.write(url)


def _forget(files: Folder) -> None:
    with contextlib.suppress(OSError, UserError):
        files.delete(SERVER_ADDRESS)


def _where(files: Folder) -> str:
    try:
        text = files.read_text(SERVER_ADDRESS, LONGEST_ADDRESS) or ""
    except UserError:  # it is another user's
        return ""
    return f", at {text}" if text.startswith("http://") and text.isprintable() and " " not in text else ""
