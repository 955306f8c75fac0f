"""The folder in which compiled programs are kept between runs, and whether it can be trusted.

What lies there runs: whoever can write to the folder decides what this process does. So it is used only if it belongs
to this user, or to root, and nobody else can write to it; what is made there is for this user alone (mode 0700).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import warnings
from pathlib import Path

import platformdirs

from jubango.sgf_games.base.errors import SetupWarning

OVERFLOW_USER = 65534  # the owner, in a container, of what belongs to somebody outside it: of / for instance
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
ANOTHER = "name a folder of your own (JUBANGO_CACHE=FOLDER)"
TROUBLE = re.compile(
    r"Error (reading|writing) persistent compilation cache entry for '(\w+)': (?:\w+: )?(.*)", re.DOTALL
)
lost: list[str] = []  # programs that could not be kept
_chosen: list[str] = []  # the folder that was named last
_told: set[str] = set()


def choose(folder: Path | str) -> None:
    """Keep programs there from now on, in this process."""
    _chosen.append(str(folder))


def cache_folder(*inside: str) -> Path | None:
    """The folder of the cache, or one ``inside`` of it, made if it is not there, by a path without links: nobody who
    owns one can lead it elsewhere afterwards. None, and once a line of warning, if it cannot be used: a program goes on
    without a cache.

    It is the user's cache folder, unless :func:`choose` or ``JUBANGO_CACHE`` name another.
    """
    chosen = _chosen[-1] if _chosen else os.environ.get("JUBANGO_CACHE")
    folder = Path(chosen) if chosen else platformdirs.user_cache_path("jubango", appauthor=False)
    try:
        folder = folder.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        _tell(f"{folder}: {getattr(error, 'strerror', None) or error}; going on without the cache of compiled programs")
        return None
    for one in (folder, *(folder.joinpath(*inside[: i + 1]) for i in range(len(inside)))):
        wrong = _made(one) or _not_ours_alone(one)
        if wrong:
            _tell(f"{wrong}; going on without the cache of compiled programs")
            return None
    return folder.joinpath(*inside)


def _made(folder: Path) -> str | None:
    """Make it; what is wrong if that cannot be done."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder}: cannot be made ({error.strerror}); {ANOTHER}"
    return None


def _not_ours_alone(folder: Path) -> str | None:
    """Who else could have written there; None if nobody, or where there are no owners and modes."""
    if not hasattr(os, "getuid"):
        return None
    try:
        own = folder.stat()
        parents = [(path, path.stat()) for path in folder.resolve().parents]
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if own.st_uid not in (os.getuid(), 0):
        return f"{folder}: belongs to user {own.st_uid}, and what lies there would run as you; {ANOTHER}"
    if own.st_mode & OTHERS_WRITE:
        mend = f"if there is nothing but this cache in it: rm -r {shlex.quote(str(folder))}"
        mode = f"mode {stat.S_IMODE(own.st_mode):o}"
        return f"{folder}: others can write there ({mode}), and what lies there runs as you; {mend}"
    for path, found in parents:
        if _everybody_s(found):
            return f"{folder}: everybody can write to {path}, and put another folder in its place; {ANOTHER}"
        if found.st_uid not in (os.getuid(), 0, OVERFLOW_USER):
            return (
                f"{folder}: {path} belongs to user {found.st_uid}, who can put another folder in its place; {ANOTHER}"
            )
    return None


def read_own(path: Path) -> bytes:
    """All that is in a regular file that this user, or root, has written and nobody else can. Raises OSError."""
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        others = hasattr(os, "getuid") and (found.st_uid not in (os.getuid(), 0) or found.st_mode & OTHERS_WRITE)
        if others or not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{path}: may be somebody else's")
        return file.read()


def drop_broken(warning: str) -> bool:
    """Is it what JAX says of a compiled program that cannot be read from its cache, and has that been deleted, or of
    one that cannot be written? JAX would leave half a file there, and compile the program in every process. Where
    there is no room that is said once."""
    found = TROUBLE.match(warning)
    folder = cache_folder("xla") if found else None
    if found is None or folder is None:
        return False
    dropped = found[1] == "writing"
    for path in folder.glob(f"{found[2]}-*-cache"):
        with contextlib.suppress(OSError):  # root's, or deleted by somebody else
            if not _is_whole(path):
                path.unlink()
                dropped = True
    if found[1] == "writing":
        lost.append(found[2])
        _tell(f"{folder}: compiled programs cannot be kept ({found[3]}); going on without that")
    return dropped


def _is_whole(path: Path) -> bool:
    """Does it unpack as JAX unpacks it, by zlib or zstd? Raises OSError."""
    from jax._src.compilation_cache import decompress_executable  # which of the two it is has no public name

    data = path.read_bytes()
    try:
        decompress_executable(data)
    except Exception:  # each of the two has errors of its own
        return False
    return True


def _everybody_s(found: os.stat_result) -> bool:
    """Can everybody rename what lies in the folder? Not where it is sticky, as /tmp is."""
    return bool(found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX


def _tell(text: str) -> None:
    if text not in _told:
        _told.add(text)
        warnings.warn(text, SetupWarning, stacklevel=4)
