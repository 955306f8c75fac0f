"""Files that users name, read without surprises."""

from __future__ import annotations

import hashlib
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from jubango.sgf_games.base.errors import UserError

MOST_DOTS = 10  # of a key in TOML: the library takes time by their square
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_KEY = re.compile(rf"""(?<![\w"'.-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_DOTS},}}+""")


def read_file(path: Path | str, most: int, what: str) -> bytes:
    """All that is in a file or comes out of a pipe, up to ``most`` bytes; ``what`` it should be, for whoever named
    something else. Raises UserError, which begins with the path."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)  # what has no end is not read to it
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; name {what}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:  # a zero byte in the name
        raise UserError(f"{path}: cannot be read: no file has such a name") from None
    if len(data) > most:
        raise UserError(f"{path}: holds more than {most:,} bytes, too much for {what}")
    return data


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


def file_digest(path: Path, most: int) -> str:
    """SHA-256 of a regular file of at most ``most`` bytes. Raises UserError, which begins with the path."""
    check_file(path, most)
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_text(path: Path, most: int, what: str) -> str:
    """A regular file's text, of at most ``most`` bytes. Raises UserError, which begins with the path."""
    check_file(path, most)
    try:
        return read_file(path, most, what).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """What TOML says. Raises UserError, which begins with ``source``."""
    found = _KEY.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise UserError(f"{source}: line {line}: a name of more than {MOST_DOTS} parts with dots in between")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{source}: not TOML: brackets in brackets, too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not TOML: {error}") from None
    except ValueError:
        raise UserError(f"{source}: holds a number of more digits than can be read") from None
