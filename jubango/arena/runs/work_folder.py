"""The folder of a tournament, a tuning or a training.

One process works in it, and any can read it. What was begun there goes on as it was begun.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from filelock import FileLock, Timeout
from pydantic import BaseModel

from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.folder import Folder

LOCK = ".lock"
LOOKING = 0.25  # seconds that a lock may be held by who only looks whether it is


class Occupied(UserError):
    """Another process works in the folder."""


class WorkFolder:
    """``stated`` is the name of the file that says what is done there, and ``tables`` are those of files that are
    written on the way. ``doing`` is said to a second process: "another process is playing into this folder"."""

    def __init__(
        self, path: Path | str, stated: str, tables: Collection[str] = (), doing: str = "playing into"
    ) -> None:
        self.files = Folder(path)
        self.path = self.files.path
        self.stated, self._tables, self._doing = stated, tables, doing

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """The folder is this process's alone, and its files can be written. Raises UserError."""
        with locked(self.path, self._doing):
            self.check_files()
            yield

    def check_files(self) -> None:
        """Find out before the work whether its files can be written afterwards. Raises UserError."""
        for name in (self.stated, *self._tables):
            self.files.file(name)

    @property
    def begun(self) -> bool:
        """Has anything been done there? Raises UserError."""
        return self.files.has(self.stated)

    def refuse(self, was: str, may_change: str = "") -> NoReturn:
        """Raises UserError: the work was begun with something else than it is to go on with."""
        only = f"; only {may_change}" if may_change else ""
        raise UserError(f"{self.path}: was begun with {was}{only}{':' if only else ';'} use another --out folder")

    def refuse_games(self) -> NoReturn:
        """Raises UserError: there are games, and nothing says of what."""
        raise UserError(f"{self.path}: holds games but no {self.stated}; use another --out folder")

    def write(self, name: str, data: str | bytes) -> None:
        """Raises UserError and CannotGoOn."""
        with writing(self.path / name):
            self.files.write(name, data.encode() if isinstance(data, str) else data)

    def delete(self, name: str) -> None:
        """Raises UserError and CannotGoOn."""
        with writing(self.path / name):
            self.files.delete(name)


class ChangedField(NamedTuple):
    """A field that had another value when the work was begun."""

    key: str
    before: object
    now: object

    def __str__(self) -> str:
        return f"{self.key} = {_said(self.before)}, not {_said(self.now)}"


def changes(before: object, now: object, may_change: Collection[str]) -> Iterator[ChangedField]:
    """Every field of two plans (dataclasses or pydantic models of one type) that differs, but for those that may. A
    field that nobody has thought of may not."""
    names = type(before).model_fields if isinstance(before, BaseModel) else _fields(before)
    for name in names:
        was, is_now = getattr(before, name), getattr(now, name)
        if name not in may_change and was != is_now:
            yield ChangedField(name, was, is_now)


def _fields(plan: object) -> list[str]:
    assert dataclasses.is_dataclass(plan)
    return [field.name for field in dataclasses.fields(plan)]


def _said(value: object) -> str:
    return "none" if value in (None, "") else str(getattr(value, "spec", value))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """While ``path`` is written: what the system says of it is raised as CannotGoOn."""
    try:
        yield
    except OSError as error:
        raise CannotGoOn(f"{path}: cannot be written: {error.strerror}") from None


def is_at_play(folder: Path) -> bool:
    """Is a process working in the folder? Raises UserError."""
    if not Folder(folder).has(LOCK):
        return False
    lock = FileLock(Folder(folder).in_place(LOCK), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError as error:
        return error.errno != errno.EROFS  # nobody works where nothing can be written
    lock.release()
    return False


@contextlib.contextmanager
def locked(folder: Path, doing: str = "playing into", name: str = LOCK) -> Iterator[None]:
    """Only one process works in a folder. The lock is the system's: it goes with the process, however that ends.

    name: the file that is locked; one work in a folder does not keep another one out. Raises UserError, Occupied.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(Folder(folder).in_place(name), timeout=LOOKING)
        lock.acquire(poll_interval=LOOKING / 5)
    except Timeout:
        raise Occupied(f"{folder}: another process is {doing} this folder") from None
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()
