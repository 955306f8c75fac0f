"""Files that users name, read without surprises."""

from __future__ import annotations

import stat
from pathlib import Path

from jubango.sgf_games.errors import UserError


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a regular file of at most ``most`` bytes. Raises UserError."""
    check_file(path, most)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def check_file(path: Path, most: int) -> None:
    """Raises UserError unless this is a regular file (a pipe or a device may never end) of at most ``most`` bytes."""
    try:
        found = path.stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path}: is a folder; name a file")
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{path}: is no regular file; write what it gives into one and name that")
    if found.st_size > most:
        raise UserError(f"{path}: {found.st_size:,} bytes are too many; at most {most:,}")
