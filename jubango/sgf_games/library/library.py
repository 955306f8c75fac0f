"""A run's results on disk: an index in SQLite, the games as SGF files.

A game is finished when its row is committed, with one flush to the disk for all games of a call. Its
SGF is complete before that, but reaches the disk when the system pleases, so:

- when the process dies (kill -9), every row has its file, whole; a game without a row is played again;
- when the machine dies (a power cut), no row is lost, but the files of the last rows may be missing, cut
  short or blank. Opening the library finds them by their checksums and writes them again from their rows.

A game is never counted twice: of two records with one id the first stays. A file that was changed and is
still SGF is left as it is; :mod:`jubango.sgf_games.library.recovery` finds it, and makes the index again from the
files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.database import (
    BLANKS,
    COLUMNS,
    DATABASE,
    ERRORS,
    FILE_COLUMNS,
    Damaged,
    check_files,
    check_rows,
    columns,
    connect,
    damaged,
    read_beside,
)
from jubango.sgf_games.library.folder import Folder, replace_file
from jubango.sgf_games.records.record import GameRecord, score_of
from jubango.sgf_games.sgf.grammar import sgf_grammar
from jubango.sgf_games.sgf.sgf import write_record

TABLES_VERSION = 3  # of the tables; 0: a new file, or one from before they were counted
LARGEST_GAME_FILE = 20_000_000  # bytes of a game's file
# Why a database cannot be written that is not damaged.
NOT_NOW = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
}  # fmt: skip
FILES = f"create table if not exists files ({', '.join(f'{name} {kind}' for name, kind in FILE_COLUMNS.items())})"
CREATE_GAMES = f"create table if not exists games ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})"
ADD_GAME = f"insert or ignore into games ({','.join(COLUMNS)}) values ({','.join('?' * len(COLUMNS))})"
ADD_FILE = "insert or replace into files (game_id, checksum, comments, thoughts) values (?, ?, ?, ?)"
GAMES = "games"  # the folder of the games' files
GAME_FILES = "select game_id, sgf, checksum from games left join files using (game_id)"
NOTE_FILE = "insert into files (game_id, checksum) values (?, ?)"

# Names that Windows has for devices, whatever comes after the dot.
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)


class Library:
    """The results of one run's folder. One process writes; others may read meanwhile.

    ``mended`` names the files that were missing or damaged when it was opened, and are written again. Games without an
    index are refused, unless it is made ``anew``.
    """

    def __init__(self, folder: Path | str, anew: bool = False) -> None:
        self.folder = Path(folder)
        self.mended: list[str] = []
        self._files = Folder(folder)
        path = self.folder / DATABASE
        try:
            _make_folder(self._files.folder(GAMES).path)
            games = self._files.files(GAMES, ".sgf")
            check_files(self._files)
            problem = "is empty" if path.exists() else "is missing"
            if not anew and not _holds_something(path) and games:
                raise UserError(
                    f"{path}: {problem}, though games/ holds games; "
                    f"{shell.command('check', self.folder, '--rebuild')} makes it again"
                )
            self._db = connect(self._files, write=True, check="integrity_check" if anew else "quick_check")
            try:
                self._open()
            except BaseException:
                self.close()
                raise
            self._identity = _identity(path)
        except UserError:
            raise
        except OSError as error:
            raise UserError(f"{error.filename or self.folder}: cannot be written: {error.strerror}") from None
        except ERRORS as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            # SQLite takes a database for read-only, too, whose own first bytes say so.
            if code in NOT_NOW and not (code == sqlite3.SQLITE_READONLY and os.access(path, os.W_OK)):
                raise UserError(f"{path}: cannot be written: {error}") from None
            raise damaged(self._files, error) from None

    def _open(self) -> None:
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=full")
        self._db.execute("pragma fullfsync=on")  # macOS flushes the disk's own cache only when asked
        self._migrate()
        for table, own in (("games", COLUMNS), ("files", FILE_COLUMNS)):
            lacking = own.keys() - set(columns(self._db, table))
            if lacking:
                raise damaged(self._files, f"its {table} have no {min(lacking)}")
        check_rows(self._db)
        self._name_files()
        self._mend()

    def _migrate(self) -> None:
        """Bring the tables of an older version, or none, to this one's."""
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version > TABLES_VERSION:
            raise UserError(f"{self.folder / DATABASE}: was written by a newer version of this program; use that one")
        if version == TABLES_VERSION:
            return
        with self._db:
            self._db.execute("begin immediate")
            self._db.execute(CREATE_GAMES)
            self._db.execute(FILES)
            found = set(columns(self._db, "games"))
            for name in [name for name in COLUMNS if name not in found]:
                if name not in BLANKS:
                    raise damaged(self._files, f"its games have no {name}")
                self._db.execute(f"alter table games add column {name} {COLUMNS[name]} default {BLANKS[name]}")
            if "thoughts" not in columns(self._db, "files"):  # they came with version 3
                self._db.execute(f"alter table files add column thoughts {FILE_COLUMNS['thoughts']}")
            self._let_games_be_void()
            self._db.execute(f"pragma user_version = {TABLES_VERSION}")

    def _name_files(self) -> None:
        """A game's file has the name that this version gives it, whatever the row says: what an older version has
        called otherwise is renamed; what games shared, or the row has no right to, is written again by mending."""
        games = [(*row, sgf_name(row[0])) for row in self._db.execute(GAME_FILES)]
        others = [(game_id, name, checksum, own) for game_id, name, checksum, own in games if name != own]
        if not others:
            return
        named, owned = Counter(name.casefold() for _, name, *_ in games), {own.casefold() for *_, own in games}
        with self._db:
            for game_id, name, checksum, own in others:
                data, place = self._found(name), name.casefold()
                if data and place not in owned:
                    if not self._found(own) and (named[place] == 1 or zlib.crc32(data) == checksum):
                        self._files.rename(name, own)
                    else:
                        self._files.delete(name)
                self._db.execute("update games set sgf = ? where game_id = ?", (own, game_id))

    def _found(self, name: str) -> bytes:
        """What is in a game's file; nothing if there is none, or what is there is no file."""
        try:
            return self._files.read(name, LARGEST_GAME_FILE) or b""
        except UserError:
            return b""

    def add(self, records: list[GameRecord]) -> None:
        """Keep finished games, all or none: their files, then, in one transaction, their rows. Raises CannotGoOn."""
        written: list[str] = []
        notes: list[tuple] = []
        try:
            games = self._files.folder(GAMES)
            with self._db:
                for record in records:
                    name = sgf_name(record.game_id)
                    if self._db.execute(ADD_GAME, _row(record, name)).rowcount:
                        data = record.written or write_record(record)
                        games.create(name.removeprefix(f"{GAMES}/"), data)
                        written.append(name)
                        notes.append(_file_row(record, data))
                self._db.executemany(ADD_FILE, notes)
        except (OSError, UserError, *ERRORS) as error:
            for name in written:  # a full disk has better uses
                with contextlib.suppress(OSError):
                    self._files.delete(name)
            if isinstance(error, UserError):
                raise
            raise CannotGoOn(f"{self.folder}: finished games cannot be kept: {_reason(error)}") from None
        self.check_in_place()

    def adopt(self, record: GameRecord, name: str, data: bytes) -> None:
        """Keep a game whose SGF is there already: ``data``, in the file ``name``, which may get another name. Raises
        CannotGoOn."""
        own = sgf_name(record.game_id)
        try:
            with self._db:
                if self._db.execute(ADD_GAME, _row(record, own)).rowcount:
                    self._note(record, data)
                    if name != own:
                        self._files.rename(name, own)
        except (OSError, *ERRORS) as error:
            raise CannotGoOn(f"{self.folder}: {name} cannot be kept: {_reason(error)}") from None

    def check_in_place(self) -> None:
        """Raises CannotGoOn if somebody has taken the database away: what is written goes nowhere then."""
        path = self.folder / DATABASE
        if _identity(path) != self._identity:
            raise CannotGoOn(
                f"{path}: was deleted or replaced while games were kept in it; their files are in games/, and "
                f"{shell.command('check', self.folder, '--rebuild')} makes it again"
            )

    def _let_games_be_void(self) -> None:
        """Older tables ask for a score of every game; a void one has none."""
        described = self._db.execute("pragma table_info(games)").fetchall()
        if any(name == "score" and needed for _, name, _, needed, *_ in described):
            names = ",".join(COLUMNS)
            self._db.execute("alter table games rename to older")
            self._db.execute(CREATE_GAMES)
            self._db.execute(f"insert into games ({names}) select {names} from older")
            self._db.execute("drop table older")

    def _write(self, record: GameRecord, name: str) -> None:
        data = record.written or write_record(record)
        self._files.write(name, data, flush=False)
        self._note(record, data)

    def _note(self, record: GameRecord, data: bytes) -> None:
        self._db.execute(ADD_FILE, _file_row(record, data))

    def _mend(self) -> None:
        """Write the SGF files again that are missing or damaged, and note checksums that nobody has noted."""
        games = self._db.execute(GAME_FILES).fetchall()
        with self._db:
            for game_id, name, checksum in games:
                data = self._found(name)
                found = zlib.crc32(data)
                if found == checksum:
                    continue
                if is_whole(data):
                    if checksum is None:
                        self._db.execute(NOTE_FILE, (game_id, found))
                    continue
                try:
                    self._write(self._record(game_id), name)
                    self.mended.append(name)
                except UserError as error:
                    raise Damaged(f"{self.folder / name}: is damaged and cannot be written again: {error}") from None

    def _record(self, game_id: str) -> GameRecord:
        """A game as it was added, but for empty comments. Raises UserError."""
        known = [*COLUMNS, *(name for name in FILE_COLUMNS if name not in COLUMNS)]
        query = f"select {', '.join(known)} from games left join files using (game_id) where game_id = ?"
        row = self._db.execute(query, (game_id,)).fetchone()
        if row is None:
            raise UserError("its row is not found by its id")
        return row_record(dict(zip(known, row, strict=True)))

    def finished(self) -> set[str]:
        """The ids of all finished games."""
        return {row[0] for row in self._db.execute("select game_id from games")}

    def forget(self, reasons: Sequence[str]) -> None:
        """Games that ended by one of ``reasons`` are finished no more: their rows go, then their files."""
        marks = ",".join("?" * len(reasons))
        with self._db:
            games = self._db.execute(f"select game_id from games where reason in ({marks})", reasons).fetchall()
            for table in ("files", "games"):
                self._db.executemany(f"delete from {table} where game_id = ?", games)
        for (game_id,) in games:
            self._files.delete(sgf_name(game_id))

    def close(self) -> None:
        """Leave one file, which can be read where nothing may be written (unless others are reading just now)."""
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("pragma wal_checkpoint(truncate)")
            self._db.execute("pragma busy_timeout=1000")
            self._db.execute("pragma journal_mode=delete")
        self._db.close()


def _row(record: GameRecord, name: str) -> tuple:
    return (
        record.game_id, record.game, record.black, record.white, record.black_spec, record.white_spec,
        record.seed, record.result, score_of(record.result), record.reason, record.detail,
        len(record.moves), " ".join(record.moves), record.seconds, record.date, record.event,
        record.opening, record.opening_plies, record.counted, name,
    )  # fmt: skip


def _file_row(record: GameRecord, data: bytes) -> tuple:
    return record.game_id, zlib.crc32(data), _beside(record), record.thoughts


def sgf_name(game_id: str) -> str:
    """The name of a game's file in the run's folder."""
    return f"{GAMES}/{file_name(game_id)}.sgf"


def row_record(row: Mapping[str, Any]) -> GameRecord:
    """The record of which these are the values of the tables' columns. Raises UserError."""
    fields = {field.name for field in dataclasses.fields(GameRecord)}
    kinds = {key: kind.split()[0] for key, kind in {**COLUMNS, **FILE_COLUMNS}.items() if row.get(key) is not None}
    wrong = next((key for key, kind in kinds.items() if not _is_of(kind, row[key])), None)
    if wrong is not None:
        raise UserError(f"its row's {wrong} is damaged")
    own = {key: row[key] for key in kinds if key in fields}
    return GameRecord(**{**own, **read_beside(row.get("comments")), "moves": tuple(row["moves"].split())})


def _is_of(kind: str, value: object) -> bool:
    """Is it a value that SQLite could keep in such a column?"""
    if kind == "text" and isinstance(value, str):
        with contextlib.suppress(UnicodeEncodeError):
            return b"\0" not in value.encode()  # which no whole SGF holds
        return False
    return isinstance(value, {"integer": int, "real": int | float, "blob": bytes}.get(kind, ()))


def _beside(record: GameRecord) -> str:
    """JSON of what a game's SGF says beside its row: the comments, or with a clock an object."""
    comments = list(record.comments) if any(record.comments) else []
    if record.overtime:
        more = {"main_time": record.main_time, "overtime": record.overtime, "time_left": record.time_left}
        return json.dumps({"comments": comments, **more}, ensure_ascii=False)
    return json.dumps(comments, ensure_ascii=False) if comments else ""


def file_name(game_id: str) -> str:
    """A game id as a file name, one to one, also where capitals do not count.

    Small letters, digits and a few signs stay, the rest is escaped; capitals stay too, and a sign that stands nowhere
    else, @, is followed by where they are.
    """
    name = quote(game_id, safe="=+")
    if RESERVED.match(name) or name.startswith("."):  # a file that nobody is shown
        name = f"%{ord(name[0]):02X}{name[1:]}"
    capitals = "".join(str(int(letter.isupper())) for letter in re.findall("[A-Za-z]", game_id)).rstrip("0")
    if capitals:
        digits = -(-len(capitals) // 4)
        name += f"@{int(capitals.ljust(4 * digits, '0'), 2):0{digits}x}"
    if len(name) > 180:  # file systems end at 255 bytes
        name = f"{name[:140]}@sha{hashlib.sha256(game_id.encode()).hexdigest()[:24]}"
    return name


def write_safely(path: Path, data: bytes) -> None:
    """The file has either all of ``data`` or its old content, even after a power cut; a link to it stays one. What is
    no file, like a pipe, gets the data, and so does what a process has open, like /dev/stdout."""
    if (path.exists() and not path.is_file()) or path.absolute().is_relative_to("/dev"):
        with path.open("ab") as file:
            file.write(data)
    else:
        replace_file(path.resolve(), data, flush=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another of its name; None for no file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def _holds_something(path: Path) -> bool:
    """Is anything in the file, or in the one beside it where SQLite keeps what was written last?"""
    return any(part.exists() and part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")))


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def is_whole(data: bytes) -> bool:
    """SGF to its last bracket, and none of it blank: what is cut short lacks brackets."""
    try:
        sgf_grammar.parse_sgf_game(data)
    except ValueError:
        return False
    return b"\0" not in data


def _make_folder(path: Path) -> None:
    """The folder and those above it, there after a power cut too where the system lets us see to it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with contextlib.suppress(PermissionError):
            descriptor = os.open(folder.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
