"""The folder of a run, which somebody may have sent: nothing outside it is read, written or deleted through it.

Every file of a run is named, opened, written and deleted here, those of tunings and trainings too. What is found in
such a folder is a stranger's word: a link may lead anywhere, a pipe or a device never ends, and a name in a table may
be that of any file of the machine.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from jubango.sgf_games.base.errors import UserError

MOST_BYTES = 1_000_000_000  # bytes of a file, unless somebody says otherwise
# Where a system has them: a link is not followed, a pipe that nobody writes to is not waited for.
_WARILY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Folder:
    """A folder by its path, which may itself be a link, as whoever names it knows where that leads.

    Names are relative to it, with ``/`` between their parts: plain ones, that leave it nowhere. A file is a regular
    file, and neither it nor a folder on the way to it a link. What is not so raises UserError, one line which begins
    with the path; so does what cannot be read, and a folder without a name. What cannot be written is an OSError.
    """

    def __init__(self, path: Path | str) -> None:
        if path == "":
            raise UserError('"" names no folder; "." is this one')
        self.path = Path(path)

    def file(self, name: str) -> Path:
        """The path of a file that is there, or may be made. Raises UserError."""
        return own_file(self._place(name))

    def in_place(self, name: str) -> Path:
        """The path of a file that is changed where it lies, or may be made. Raises UserError, also for one that has
        another name: a hard link may be to a file outside the folder."""
        path = self.file(name)
        found = _status(path)
        if found is not None:
            _check_single(path, found)
        return path

    def has(self, name: str) -> bool:
        """Is the file there? Raises UserError for what is no file."""
        return _status(self.file(name)) is not None

    def read(self, name: str, most: int = MOST_BYTES) -> bytes | None:
        """All that is in a file of at most ``most`` bytes; None if there is none. Raises UserError."""
        path = self._place(name)
        try:
            if (found := _status(path)) is None:
                return None
            _check_regular(path, found)
            descriptor = os.open(path, os.O_RDONLY | _WARILY)
            with open(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                _check_regular(path, found)
                if found.st_size > most:
                    raise UserError(f"{path}: {found.st_size:,} bytes are too many; at most {most:,}")
                return file.read(found.st_size)  # what is written at its end meanwhile is not read
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None

    def read_text(self, name: str, most: int = MOST_BYTES) -> str | None:
        """The same as text."""
        data = self.read(name, most)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            raise UserError(f"{self.path / name}: is not UTF-8 text") from None

    def write(self, name: str, data: bytes, flush: bool = True) -> None:
        """The file has either all of ``data`` or its old content, for whoever reads it; with ``flush`` after a power
        cut too. A link in its place is replaced, and leads where it led. Raises UserError and OSError."""
        replace_file(self._place(name), data, flush)

    def create(self, name: str, data: bytes) -> None:
        """A file that nobody expects yet: whoever reads it before this returns may see none of it. What has the name
        already is replaced. Raises UserError and OSError."""
        path = self._place(name)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _WARILY, 0o666)
        except FileExistsError:  # of a process that died, or of somebody else
            return replace_file(path, data)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def append(self, name: str, data: bytes) -> None:
        """Write at the end of a file, which is made if need be, and flush it. Raises UserError and OSError."""
        path = self.file(name)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _WARILY
        with open(os.open(path, flags, 0o666), "ab") as file:
            found = os.fstat(file.fileno())
            _check_regular(path, found)
            _check_single(path, found)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def delete(self, name: str) -> None:
        """The file is there no more: it, or the link in its place, not what that leads to. Raises UserError and
        OSError."""
        self._place(name).unlink(missing_ok=True)

    def rename(self, name: str, new: str) -> None:
        """A file, or a link in its place, has another name in this folder; what had that before is gone. Raises
        UserError and OSError."""
        self._place(name).replace(self._place(new))

    def folder(self, name: str) -> Folder:
        """A folder in this one, that is there or may be made. Raises UserError if it is a link or no folder."""
        path = self._place(name)
        _check_folder(path)
        return Folder(path)

    def files(self, name: str, suffix: str) -> list[str]:
        """The names, ``name/FILE``, of what is in a folder in this one and ends so, in the order of the alphabet;
        nothing if there is no such folder. They may be names of what is no file. Raises UserError."""
        try:
            found = sorted(entry.name for entry in os.scandir(self.folder(name).path) if entry.name.endswith(suffix))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{self.path / name}: cannot be read: {error.strerror}") from None
        return [f"{name}/{one}" for one in found]

    def _place(self, name: str) -> Path:
        """Where a name leads, links on the way ruled out. Raises UserError."""
        if not is_plain(name):
            raise UserError(f'{self.path}: "{name}" is no name of a file in this folder')
        path = self.path
        for part in name.split("/")[:-1]:
            path = path / part
            _check_folder(path)
        return self.path / name


def is_plain(name: object) -> bool:
    """Is it text that names something inside the folder it is said of, on any system?"""
    if not isinstance(name, str) or any(sign in name for sign in "\\:\0"):
        return False
    with contextlib.suppress(UnicodeEncodeError):
        os.fsencode(name)
        return all(part not in ("", ".", "..") for part in name.split("/"))
    return False


def replace_file(path: Path | str, data: bytes, flush: bool = False) -> None:
    """The file has either all of ``data`` or its old content, for whoever reads it. Raises OSError."""
    partial = f"{path}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(partial)  # of a process that died, or of somebody else
    try:
        with open(partial, "xb") as file:  # a new one, which is nobody's link
            file.write(data)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def own_file(path: Path) -> Path:
    """``path``, whose name is made of another's that the user has given: a regular file, or nothing is there. Raises
    UserError."""
    found = _status(path)
    if found is not None:
        _check_regular(path, found)
    return path


def try_writing(path: Path | str) -> None:
    """Find out whether ``replace_file`` can make a file of that name, without anybody seeing one. Raises OSError."""
    partial = f"{path}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(partial)
    open(partial, "xb").close()
    os.unlink(partial)


def _status(path: Path) -> os.stat_result | None:
    """Of what is there by that name, a link itself; None if there is nothing. Raises UserError."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None


def _check_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise UserError(f"{path}: is a link, which is not followed; put there what it leads to")
    if stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path}: is a folder, where a file should be")
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{path}: is no regular file; move it away")


def _check_single(path: Path, found: os.stat_result) -> None:
    if found.st_nlink > 1:
        raise UserError(
            f"{path}: has another name as well (a hard link), and would be changed there too; put a copy in its place"
        )


def _check_folder(path: Path) -> None:
    found = _status(path)
    if found is not None and stat.S_ISLNK(found.st_mode):
        raise UserError(f"{path}: is a link, which is not followed; put there what it leads to")
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path}: is no folder, where one should be")
