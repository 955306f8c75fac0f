"""How large the cache of programs may become: what was used longest ago goes first.

A process looks when it begins to keep programs and when it ends. Only files that jubango and JAX write there are
counted and deleted. Several processes may do so at once: a program that goes while another process wants it is made
again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.cache import cache_folder

DEFAULT = "2G"
FULL = 0.9  # share of the limit that is left, so that not every process has to delete
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
CACHE_FILES = (  # folders in the cache, and what the files in them are called
    ((), re.compile(r"fused-[0-9a-f]{16}\.txt")),
    (("xla",), re.compile(r".+-[0-9a-f]{64}(-cache|-atime)")),
    (("traced", re.compile("[0-9a-f]{16}")), re.compile(r"[0-9a-f]{32}(\.\w+\.new)?")),
    (("int8",), re.compile(r"[0-9a-f]{32}(\.\w+\.new)?")),
)
_chosen: list[int] = []  # the limit that was named last


class CachedFile(NamedTuple):
    """A file of the cache."""

    used: float  # when it was read or written last, as far as the file system says
    size: int
    path: Path


def size_of(text: str, where: str) -> int:
    """Bytes of ``500M``, ``2G``, ``0`` (no limit). Raises UserError."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMGT]?)B?", text.strip().upper())
    if not found:
        raise UserError(f"{where}{text}: should be a size such as 500M or 2G, or 0 for no limit")
    return int(float(found[1]) * UNITS[found[2]])


def limit() -> int:
    """Bytes; 0 is no limit. Raises UserError for a ``JUBANGO_CACHE_SIZE`` that is none."""
    return _chosen[-1] if _chosen else size_of(os.environ.get("JUBANGO_CACHE_SIZE") or DEFAULT, "JUBANGO_CACHE_SIZE=")


def choose_size(size: int | str) -> None:
    """Keep so much from now on, in this process. Raises UserError."""
    if isinstance(size, bool) or not isinstance(size, int | str) or (isinstance(size, int) and size < 0):
        raise UserError(f'configure: cache_size = {size!r}: should be a size such as "2G", bytes, or 0 for no limit')
    _chosen[:] = [size_of(size, "configure: cache_size = ") if isinstance(size, str) else size]


def kept() -> list[CachedFile]:
    """The programs in the cache, those used longest ago first."""
    folder = cache_folder()
    return sorted(_files(folder)) if folder else []


def _files(folder: Path) -> Iterator[CachedFile]:
    for inside, name in CACHE_FILES:
        for place in _folders(folder, inside):
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # it may just have been deleted
                        found = entry.stat(follow_symlinks=False)
                        if name.fullmatch(entry.name) and stat.S_ISREG(found.st_mode):
                            yield CachedFile(max(found.st_atime, found.st_mtime), found.st_size, Path(entry.path))


def _folders(folder: Path, inside: tuple[str | re.Pattern[str], ...]) -> Iterator[Path]:
    """Those below ``folder`` that are so called; links are none."""
    if not inside:
        yield folder
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(inside[0], entry.name) and entry.is_dir(follow_symlinks=False):
                yield from _folders(Path(entry.path), inside[1:])


def trim(most: int) -> int:
    """Delete what was used longest ago, if there are more than ``most`` bytes (0: no limit). Returns how many bytes are
    left."""
    files = kept()
    total = sum(file.size for file in files)
    if not most or total <= most:
        return total
    for file in files:
        if total <= FULL * most:
            break
        try:
            file.path.unlink(missing_ok=True)  # another process may have done so
        except OSError:  # it is root's
            continue
        total -= file.size
    return total


@functools.cache
def keep_small() -> None:
    """Trim now and at the end of this process. Raises UserError for a limit that is none."""
    trim(limit())
    atexit.register(lambda: trim(limit()))
