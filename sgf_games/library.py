"""A run's results on disk: an index in SQLite, the games as SGF files.

A game is finished when its row is committed, and its row is written after its SGF is safely on
disk; whatever dies in between, a row always has its file, and a game is never counted twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
from pathlib import Path

from jubango.sgf_games.errors import UserError
from jubango.sgf_games.record import GameRecord, score_of
from jubango.sgf_games.sgf import write_record

SCHEMA = """
create table if not exists games (
    game_id text primary key, game text not null, black text not null, white text not null,
    black_spec text not null, white_spec text not null, seed integer not null,
    result text not null, score real not null, reason text not null, detail text not null,
    plies integer not null, moves text not null, seconds real not null, date text not null,
    event text not null, sgf text not null
)
"""
COLUMNS = (
    "game_id", "game", "black", "white", "black_spec", "white_spec", "seed", "result", "score",
    "reason", "detail", "plies", "moves", "seconds", "date", "event", "sgf",
)  # fmt: skip


class Library:
    """The results of one run's folder. One process writes; others may read meanwhile."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        try:
            (self.folder / "games").mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.folder / "results.sqlite", timeout=30)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")
            self._db.execute(SCHEMA)
            self._db.commit()
        except OSError as error:
            raise UserError(f"{self.folder}: cannot be written: {error.strerror}") from None
        except sqlite3.Error as error:
            raise UserError(f"{self.folder / 'results.sqlite'}: is no results file: {error}") from None

    def add(self, records: list[GameRecord]) -> None:
        """Keep finished games: first their files, then, in one transaction, their rows."""
        names = []
        for record in records:
            name = f"games/{file_name(record.game_id)}.sgf"
            write_safely(self.folder / name, write_record(record))
            names.append(name)
        _sync_folder(self.folder / "games")
        marks = ",".join("?" * len(COLUMNS))
        with self._db:
            self._db.executemany(
                f"insert or ignore into games ({','.join(COLUMNS)}) values ({marks})",
                [_row(record, name) for record, name in zip(records, names, strict=True)],
            )

    def finished(self) -> set[str]:
        """The ids of all finished games."""
        return {row[0] for row in self._db.execute("select game_id from games")}

    def results(self) -> list[tuple[str, str, float]]:
        """(black, white, Black's score) of every finished game."""
        return list(self._db.execute("select black, white, score from games order by game_id"))

    def failures(self) -> list[tuple[str, int]]:
        """(reason, games) for games that an engine's failure ended."""
        query = "select reason, count(*) from games where reason not in ('score', 'line', 'resign')"
        return list(self._db.execute(query + " group by reason order by reason"))

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


def file_name(game_id: str) -> str:
    """A game id as a file name: letters, digits and a few signs stay, the rest is escaped."""
    name = re.sub(r"[^A-Za-z0-9._~=+-]", lambda m: f"%{ord(m[0]):02X}", game_id)
    if len(name) > 180:  # file systems end at 255 bytes
        name = f"{name[:140]}~{hashlib.sha256(game_id.encode()).hexdigest()[:24]}"
    return name


def write_safely(path: Path, data: bytes) -> None:
    """The file has either all of ``data`` or its old content, even after a power cut."""
    partial = path.with_name(path.name + ".part")
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _sync_folder(path: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows, which cannot open a folder and keeps a journal of its names
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
