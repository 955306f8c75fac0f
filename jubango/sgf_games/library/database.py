"""``results.sqlite`` as it is opened, whoever made it: its tables, and nothing that is not in them.

A database can hold programs (triggers, views, checks, defaults), and a journal beside it can name a file that SQLite
deletes when it is opened. So the files are looked at before SQLite sees them, the schema before any table is read, and
rows are taken for games only where every value is of its kind.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

DATABASE = "results.sqlite"
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite may keep beside it
ERRORS = (sqlite3.Error, UnicodeError)  # Python's sqlite3 raises the latter for texts and names that are damaged
COLUMNS = {
    "game_id": "text primary key", "game": "text not null", "black": "text not null", "white": "text not null",
    "black_spec": "text not null", "white_spec": "text not null", "seed": "integer not null",
    "result": "text not null", "score": "real", "reason": "text not null", "detail": "text not null",
    "plies": "integer not null", "moves": "text not null", "seconds": "real not null", "date": "text not null",
    "event": "text not null", "opening": "text not null", "opening_plies": "integer not null",
    "counted": "text not null",
    "sgf": "text not null",
}  # fmt: skip
# What a row of an older file may lack, and has instead.
BLANKS = {
    "black_spec": "''", "white_spec": "''", "seed": "0", "reason": "'end'", "detail": "''", "seconds": "0",
    "date": "''", "event": "''", "opening": "''", "opening_plies": "0", "counted": "''",
}  # fmt: skip
# Of a game's SGF, what the row does not say. Games of older libraries have no row here.
FILE_COLUMNS = {
    "game_id": "text primary key", "checksum": "integer not null", "comments": "text not null default ''",
    "thoughts": "blob not null default x''",
}  # fmt: skip
# With which a rollback journal begins, and the name of a super-journal ends.
JOURNAL = bytes.fromhex("d9d505f920a163d7")
# A table as this program, in any version, has made it: plain columns, and defaults that are blank.
_COLUMN = r"[a-z_]+ (text|integer|real|blob)( primary key| not null)?( default ('(end)?'|0|x''))?"
_TABLE = re.compile(
    rf'create table (if not exists )?"?(?P<name>games|files)"?\s*\(\s*{_COLUMN}(,\s*{_COLUMN})*\s*\)', re.IGNORECASE
)
# What SQLite makes by itself: an index has no text, and the columns of its statistics are bare names.
_INDEX = re.compile(r"sqlite_autoindex_(games|files)_\d+")
_STATISTICS = re.compile(r"create table (?P<name>sqlite_stat\d)\([a-z, ]+\)", re.IGNORECASE)
_KINDS = {"text": "'text'", "integer": "'integer'", "real": "'real', 'integer'", "blob": "'blob'"}
MOST_SECONDS = 1e15  # of a game
# What a value of a column is, beside its kind.
_BOUNDS = {
    "game_id": "game_id != ''", "score": "score in (0, 0.5, 1)", "plies": "plies between 0 and 100000000",
    "opening_plies": "opening_plies between 0 and 100000000", "seconds": f"seconds between 0 and {MOST_SECONDS}",
    "sgf": "sgf glob 'games/?*' and not substr(sgf, 7) glob '*[/\\]*'",
}  # fmt: skip


def check_files(folder: Folder) -> None:
    """Raises UserError for a database that is not one file of the folder, or whose journal names another file: SQLite
    would delete that one."""
    for part in ("", *BESIDE):
        folder.file(DATABASE + part)
    path = folder.file(f"{DATABASE}-journal")
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(JOURNAL)))
        if size > len(JOURNAL) and file.read() == JOURNAL:
            raise UserError(f"{path}: names another file, as journals of this program never do; delete it")


class Damaged(UserError):
    """A database that cannot be used as it is, and can be made again from the games' files."""


def damaged(folder: Folder, why: object) -> Damaged:
    """``why``: what is wrong, an exception of ERRORS for instance."""
    said = str(why).splitlines()[0] if str(why) else type(why).__name__
    mend = f"{shell.command('check', folder.path, '--rebuild')} makes one from games/"
    return Damaged(f"{folder.path / DATABASE}: is no results file: {said}; {mend}")


def connect(folder: Folder, write: bool = False, check: str = "quick_check") -> sqlite3.Connection:
    """The database of a run's folder, which is made for who is to ``write`` if there is none, and only read by others.
    ``check``: SQLite's command by which it is looked through for damage; "": not at all. Raises UserError, and one of
    ERRORS."""
    check_files(folder)
    path = folder.path / DATABASE
    if write:
        for part in ("", *BESIDE):
            folder.in_place(DATABASE + part)
        db = sqlite3.connect(path, timeout=30)
    else:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
    try:
        db.execute("pragma trusted_schema=off")  # a table's own expressions may call nothing that has effects
        db.execute("pragma cell_size_check=on")
        _check_schema(db)
        if check:
            (state,) = db.execute(f"pragma {check}(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state)
    except BaseException:
        db.close()
        raise
    return db


def _check_schema(db: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for what this program would not have made."""
    for kind, name, sql in db.execute("select type, name, sql from sqlite_master").fetchall():
        if not _is_own(kind, str(name), str(sql or "")):
            raise sqlite3.DatabaseError(f"it holds a {kind} that this program has not made, {str(name)[:100]!r}")


def _is_own(kind: object, name: str, sql: str) -> bool:
    if kind == "index":
        return _INDEX.fullmatch(name) is not None and not sql
    found = (_TABLE.fullmatch(sql) or _STATISTICS.fullmatch(sql)) if kind == "table" else None
    return found is not None and found["name"].lower() == name


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    """The names of a table's columns; none if there is no such table."""
    return [row[1] for row in db.execute(f"pragma table_info({table})")]


def check_rows(db: sqlite3.Connection, where: str = "") -> None:
    """Raises sqlite3.DatabaseError for a row with a value that is none of its column, or with another's id. ``where``:
    of these rows."""
    for table, kinds in (("games", COLUMNS), ("files", FILE_COLUMNS)):
        wrong = _wrong(kinds, columns(db, table))
        if wrong and (table == "games" or not where):
            own = f"{where} and ({wrong})" if where else f"where {wrong}"
            found = db.execute(f"select cast(game_id as text) from {table} {own} limit 1").fetchone()
            if found is not None:
                raise sqlite3.DatabaseError(f"the row of game {found[0]!r} in its table {table} is damaged")
    if not where and "game_id" in columns(db, "games"):  # the index may say otherwise than its table
        twice = "select game_id from games not indexed group by +game_id having count(*) > 1 limit 1"
        if (found := db.execute(twice).fetchone()) is not None:
            raise sqlite3.DatabaseError(f"two rows of its table games say that they are game {found[0]!r}")


def _wrong(kinds: dict[str, str], found: list[str]) -> str:
    """SQL: is a value of a row none of its column?"""
    parts = []
    for name in (name for name in kinds if name in found):
        right = f"typeof({name}) in ({_KINDS[kinds[name].split()[0]]})"
        right += f" and {_BOUNDS[name]}" if name in _BOUNDS else ""
        parts.append(f"not ({f'{name} is null or ' * (kinds[name] == 'real')}{right})")
    return " or ".join(parts)


def salvaged(folder: Folder) -> dict[str, dict[str, Any]]:
    """What can still be read of a damaged database, before the damage and behind it: of every game, by its id, the
    values of its row and of its file's, which may be any."""
    found: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(UserError, OSError):
        check_files(folder)
        uri = (folder.path / DATABASE).resolve().as_uri()
        for how in ("mode=ro", "mode=ro&immutable=1"):  # with what lies beside it, or if need be without
            with (
                contextlib.suppress(*ERRORS),
                contextlib.closing(sqlite3.connect(f"{uri}?{how}", uri=True)) as db,
            ):
                db.text_factory = lambda data: data.decode(errors="surrogateescape")
                db.execute("pragma trusted_schema=off")
                db.execute("pragma writable_schema=on")  # or no table could be read beside a damaged one
                found |= {str(row["game_id"]): row for row in _scanned(db, "games")}
                for row in _scanned(db, "files"):
                    if row["game_id"] in found:
                        found[row["game_id"]] |= row
            if found:
                break
    return found


def _scanned(db: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table from both its ends, up to where it is damaged."""
    kinds = COLUMNS if table == "games" else FILE_COLUMNS
    known, seen = [name for name in kinds if name in columns(db, table)], set[int]()
    (sql,) = db.execute("select sql from sqlite_master where type = 'table' and name = ?", (table,)).fetchone() or ("",)
    if "game_id" not in known or not _is_own("table", table, str(sql)):
        return
    for order in ("rowid", "rowid desc"):
        with contextlib.suppress(*ERRORS):
            for rowid, *values in db.execute(f"select rowid, {', '.join(known)} from {table} order by {order}"):
                if rowid in seen:
                    break
                seen.add(rowid)
                yield dict(zip(known, values, strict=True))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_CLOCK: dict[str, Callable[[Any], object]] = {
    "main_time": float,
    "overtime": _text,
    "time_left": lambda values: tuple((float(seconds), int(periods)) for seconds, periods in values),
}


def read_beside(text: str | None) -> dict[str, Any]:
    """What the column ``comments`` of a game holds, as fields of its record; comments at least. Raises UserError."""
    try:
        beside = json.loads(text or "[]")
        fields = dict(beside) if isinstance(beside, dict) else {"comments": beside}
        known = {
            "comments": tuple(map(_text, fields.pop("comments"))),
            **{key: kind(fields.pop(key)) for key, kind in _CLOCK.items() if key in fields},
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        fields, known = {"": None}, {}
    if fields:
        raise UserError("what is kept beside its moves is damaged")
    return known
