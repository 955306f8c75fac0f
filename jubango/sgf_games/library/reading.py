"""The games of a run's folder as they were played, by who does not write there."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.database import (
    BLANKS,
    COLUMNS,
    DATABASE,
    ERRORS,
    FILE_COLUMNS,
    check_rows,
    columns,
    connect,
    damaged,
)
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import row_record
from jubango.sgf_games.records.record import GameRecord


def kept_games(folder: Folder) -> Iterator[GameRecord]:
    """All that have ended so far, in the order of their ids; none where no game has begun. Others may be writing.
    Raises UserError."""
    if not folder.has(DATABASE):
        return
    try:
        with contextlib.closing(connect(folder)) as db:
            check_rows(db)
            own = columns(db, "games")
            lacking = next((name for name in COLUMNS if name not in own and name not in BLANKS), None)
            if own and lacking:
                raise sqlite3.DatabaseError(f"its games have no {lacking}")
            beside = [name for name in columns(db, "files") if name in FILE_COLUMNS and name != "game_id"]
            names = [*COLUMNS, *beside]
            said = [name if name in own or name in beside else f"{BLANKS[name]} as {name}" for name in names]
            join = "left join files using (game_id)" if beside else ""
            for row in db.execute(f"select {', '.join(said)} from games {join} order by game_id") if own else ():
                yield _record(folder, dict(zip(names, row, strict=True)))
    except ERRORS as error:
        raise damaged(folder, error) from None


def _record(folder: Folder, row: dict[str, object]) -> GameRecord:
    """Raises Damaged for a row that is none of a game."""
    try:
        return row_record(row)
    except UserError as error:
        raise damaged(folder, f"the row of game {row['game_id']}: {error}") from None
