"""A run's results on disk: an index in SQLite, the games as SGF files.

A game is finished when its row is committed, with one flush to the disk for all games of a call. Its
SGF is complete before that, but reaches the disk when the system pleases, so:

- when the process dies (kill -9), every row has its file, whole; a game without a row is played again;
- when the machine dies (a power cut), no row is lost, but the files of the last rows may be missing, cut
  short or blank. Opening the library finds them by their checksums and writes them again from their rows.

A game is never counted twice: of two records with one id the first stays. A file that was changed and is
still SGF is left as it is.
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
from pathlib import Path

from sgfmill import sgf_grammar

from jubango.sgf_games.errors import UserError
from jubango.sgf_games.record import GameRecord, score_of
from jubango.sgf_games.sgf import write_record

# Of a game's SGF, what the row does not say. Games of older libraries have no row here.
SCHEMA = """
create table if not exists files (game_id text primary key, checksum integer not null, comments text not null);
create table if not exists games (
    game_id text primary key, game text not null, black text not null, white text not null,
    black_spec text not null, white_spec text not null, seed integer not null,
    result text not null, score real not null, reason text not null, detail text not null,
    plies integer not null, moves text not null, seconds real not null, date text not null,
    event text not null, sgf text not null
);
"""
COLUMNS = (
    "game_id", "game", "black", "white", "black_spec", "white_spec", "seed", "result", "score",
    "reason", "detail", "plies", "moves", "seconds", "date", "event", "sgf",
)  # fmt: skip
ADD_GAME = f"insert or ignore into games ({','.join(COLUMNS)}) values ({','.join('?' * len(COLUMNS))})"
ADD_FILE = "insert or replace into files (game_id, checksum, comments) values (?, ?, ?)"
NOTE_FILE = "insert into files values (?, ?, '') on conflict (game_id) do update set checksum = excluded.checksum"


class Library:
    """The results of one run's folder. One process writes; others may read meanwhile."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        try:
            _make_folder(self.folder / "games")
            self._db = sqlite3.connect(self.folder / "results.sqlite", timeout=30)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")
            self._db.execute("pragma fullfsync=on")  # macOS flushes the disk's own cache only when asked
            self._db.executescript(SCHEMA)
            self._mend()
        except OSError as error:
            raise UserError(f"{self.folder}: cannot be written: {error.strerror}") from None
        except sqlite3.Error as error:
            raise UserError(f"{self.folder / 'results.sqlite'}: is no results file: {error}") from None

    def add(self, records: list[GameRecord]) -> None:
        """Keep finished games, all or none: their files, then, in one transaction, their rows."""
        with self._db:
            for record in records:
                name = f"games/{file_name(record.game_id)}.sgf"
                if self._db.execute(ADD_GAME, _row(record, name)).rowcount:
                    self._write(record, name)

    def _write(self, record: GameRecord, name: str) -> None:
        data = write_record(record)
        _replace(f"{self.folder}/{name}", data)
        self._db.execute(ADD_FILE, (record.game_id, zlib.crc32(data), _beside(record)))

    def _mend(self) -> None:
        """Write the SGF files again that are missing or damaged, and note the checksums of whole ones."""
        games = self._db.execute("select game_id, sgf, checksum from games left join files using (game_id)").fetchall()
        with self._db:
            for game_id, name, checksum in games:
                try:
                    with open(f"{self.folder}/{name}", "rb", buffering=0) as file:
                        data = file.read()
                except FileNotFoundError:
                    data = b""
                found = zlib.crc32(data)
                if found == checksum:
                    continue
                if _is_whole(data):
                    self._db.execute(NOTE_FILE, (game_id, found))
                    continue
                try:
                    self._write(self._record(game_id), name)
                except UserError as error:
                    raise UserError(f"{self.folder / name}: is damaged and cannot be written again: {error}") from None

    def _record(self, game_id: str) -> GameRecord:
        """A game as it was added, but for empty comments."""
        query = "select * from games left join files using (game_id) where game_id = ?"
        cursor = self._db.execute(query, (game_id,))
        row = dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))
        row["moves"] = tuple(row["moves"].split())
        beside = json.loads(row.pop("comments") or "[]")
        row |= beside if isinstance(beside, dict) else {"comments": beside}
        for key in row.keys() & {"comments", "time_left"}:
            row[key] = tuple(tuple(part) if isinstance(part, list) else part for part in row[key])
        names = {field.name for field in dataclasses.fields(GameRecord)}
        return GameRecord(**{key: value for key, value in row.items() if key in names})

    def finished(self) -> set[str]:
        """The ids of all finished games."""
        return {row[0] for row in self._db.execute("select game_id from games")}

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("pragma wal_checkpoint(truncate)")
        self._db.close()


def _row(record: GameRecord, name: str) -> tuple:
    return (
        record.game_id, record.game, record.black, record.white, record.black_spec, record.white_spec,
        record.seed, record.result, score_of(record.result), record.reason, record.detail,
        len(record.moves), " ".join(record.moves), record.seconds, record.date, record.event, name,
    )  # fmt: skip


def _beside(record: GameRecord) -> str:
    """JSON of what a game's SGF says beside its row: the comments, or with a clock an object."""
    comments = list(record.comments) if any(record.comments) else []
    if record.overtime:
        more = {"main_time": record.main_time, "overtime": record.overtime, "time_left": record.time_left}
        return json.dumps({"comments": comments, **more}, ensure_ascii=False)
    return json.dumps(comments, ensure_ascii=False) if comments else ""


def file_name(game_id: str) -> str:
    """A game id as a file name: letters, digits and a few signs stay, the rest is escaped."""
    name = re.sub(r"[^A-Za-z0-9._~=+-]", lambda m: f"%{ord(m[0]):02X}", game_id)
    if len(name) > 180:  # file systems end at 255 bytes
        name = f"{name[:140]}~{hashlib.sha256(game_id.encode()).hexdigest()[:24]}"
    return name


def write_safely(path: Path, data: bytes) -> None:
    """The file has either all of ``data`` or its old content, even after a power cut."""
    _replace(str(path), data, flush=True)


def _replace(path: str, data: bytes, flush: bool = False) -> None:
    """The file has either all of ``data`` or its old content, for whoever reads it."""
    partial = path + ".part"
    with open(partial, "wb") as file:
        file.write(data)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    os.replace(partial, path)


def _is_whole(data: bytes) -> bool:
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
