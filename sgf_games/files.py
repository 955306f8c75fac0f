"""Files that users name, read without surprises."""

from __future__ import annotations

import stat
from pathlib import Path

from jubango.sgf_games.errors import UserError


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a regular file: a pipe or a device may never end. Raises UserError for what is none, cannot be read,
    or holds more than ``most`` bytes."""
    try:
        found = path.stat()
        data = path.read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= most else None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if stat.S_ISREG(found.st_mode) and found.st_size > most:
        raise UserError(f"{path}: {found.st_size:,} bytes are too many; at most {most:,}")
    if stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path}: is a folder; name a file")
    if data is None:
        raise UserError(f"{path}: is no regular file; write what it gives into one and name that")
    return data
