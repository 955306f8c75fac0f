"""Are a run's rows and files what they were? And its rows again, from the files, when the database is lost."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.database import (
    BESIDE,
    COLUMNS,
    DATABASE,
    ERRORS,
    FILE_COLUMNS,
    MOST_SECONDS,
    Damaged,
    check_rows,
    columns,
    connect,
    damaged,
    salvaged,
)
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import LARGEST_GAME_FILE, Library, is_whole, row_record, sgf_name
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import unpacked
from jubango.sgf_games.sgf.sgf import parse_sgf, write_record

NO_ROW = "has no row"
SAYS = "says"
SIDES = ("black", "white")
SAID = ("game_id", "game", "black", "white", "seed", "result", "reason")  # by a game's row and by its file
# The root's comment.
HEAD = re.compile(
    r"(?:Event: (?P<event>[^\n]*)\n)?Game: (?P<game_id>[^\n]*), (?P<game>\S*)\nSeed: (?P<seed>\d+)\n"
    r"Black: (?P<black>.*?)\nWhite: (?P<white>.*?)\n"
    r"(?:Opening: (?P<opening_plies>\d+) moves, (?P<opening>[^\n]*)\n)?"
    r"(?:Counted: (?P<counted>[^\n]*)\n)?"
    r"Result: (?P<result>\S+) \((?P<reason>\w*)(?:: (?P<detail>.*))?\)",
    re.DOTALL,
)


class Problem(NamedTuple):
    """Of one game or file."""

    game_id: str
    file: str
    problem: str


def problems(folder: Path) -> list[Problem]:
    """Where rows and files do not say the same. Nothing is written. Raises UserError if there is no database."""
    own = Folder(folder)
    files = own.files("games", ".sgf")  # before the rows: games may end
    rows = _rows(own)
    found = []
    for row in rows:
        problem = _problem(own, row)
        if problem:
            found.append(Problem(row["game_id"], row["sgf"], problem))
    known = {row["sgf"] for row in rows}
    return found + [Problem("", name, NO_ROW) for name in files if name not in known]


def _rows(folder: Folder) -> list[dict[str, Any]]:
    """Of every game what its file is held to. Raises UserError, Damaged where the database can be made again."""
    if not folder.has(DATABASE):
        raise Damaged(f"{folder.path / DATABASE}: is missing; --rebuild makes it again from games/")
    try:
        with contextlib.closing(connect(folder, check="integrity_check")) as db:
            if found := columns(db, "games"):
                if not COLUMNS.keys() <= set(found):
                    said = "is of an older version; going on with the run brings it up to date"
                    raise UserError(f"{folder.path / DATABASE}: {said}")
                check_rows(db)
            beside = [name for name in columns(db, "files") if name in FILE_COLUMNS and name != "game_id"]
            names, join = [*COLUMNS, *beside], "left join files using (game_id)" if beside else ""
            query = f"select {', '.join(names)} from games {join} order by game_id"
            return [_said(folder, dict(zip(names, row, strict=True))) for row in db.execute(query)]
    except ERRORS as error:
        raise damaged(folder, error) from None


def _said(folder: Folder, row: Mapping[str, Any]) -> dict[str, Any]:
    """What the game's file is held to. Raises Damaged for a row that is none of a game."""
    try:
        record = row_record(row)
        if len(unpacked(record.thoughts).visits) not in (0, len(record.moves)):
            raise UserError("what was thought is not of its moves")
    except UserError as error:
        raise damaged(folder, f"the row of game {row['game_id']}: {error}") from None
    return {key: row.get(key) for key in (*SAID, "moves", "sgf", "checksum")}


def _problem(folder: Folder, row: Mapping[str, Any]) -> str:
    if row["sgf"] != sgf_name(row["game_id"]):
        return "is not called as the game is: going on with the run mends that"
    try:
        data = folder.read(row["sgf"], LARGEST_GAME_FILE)
    except UserError:
        return "is no file, or one that is too large"
    if data is None:
        return "is missing"
    if not is_whole(data):
        return "is damaged"
    if row["checksum"] is not None and zlib.crc32(data) != row["checksum"]:
        return "is not as it was written"
    try:
        record = read_record(data, row["game_id"])
    except UserError:
        return "is not as it was written"
    for key in SAID:
        if getattr(record, key) != row[key]:
            return f"{SAYS} another {key.replace('_', ' ')} than its row"
    return "" if record.moves == tuple(row["moves"].split()) else f"{SAYS} other moves than its row"


def rebuild(folder: Path, belongs: Callable[[GameRecord], bool]) -> tuple[int, list[Problem]]:
    """How many rows were made for games that have none, and the files and rows that could not be used.

    Rows are made where ``belongs`` says that a game is this run's. A damaged database is set aside before. What can
    still be read in it is taken where the games' files do not say otherwise. Seconds and the time of day are in no
    file. Nobody else may be writing.

    Raises UserError.
    """
    files = Folder(folder)
    rows: dict[str, dict[str, Any]] = {}
    aside = ""
    try:
        Library(folder, anew=True).close()  # mends what it can
        changed = next((found for found in problems(folder) if found.problem.startswith(SAYS)), None)
        if changed is not None:  # though the file is what was written for that row
            raise damaged(files, f"the row of game {changed.game_id} is not that of its file")
    except Damaged:
        rows = salvaged(files)
        aside = _set_aside(files)
    with contextlib.closing(Library(folder, anew=True)) as library:
        return _refilled(library, files, rows, aside, belongs)


def _refilled(
    library: Library,
    files: Folder,
    rows: Mapping[str, dict[str, Any]],
    aside: str,
    belongs: Callable[[GameRecord], bool],
) -> tuple[int, list[Problem]]:
    """Adopt the games of the files, then those of the ``rows`` alone, which come from the file ``aside``."""
    done, made, unused = library.finished(), 0, list[Problem]()
    known = set(map(sgf_name, done))
    for name in files.files("games", ".sgf"):
        if name in known:
            continue
        try:
            record = read_record(data := files.read(name, LARGEST_GAME_FILE) or b"", name)
        except UserError:
            unused.append(Problem("", name, "is no game that this program has written"))
            continue
        own = sgf_name(record.game_id)
        if not belongs(record):
            unused.append(Problem(record.game_id, name, "is no game of this run"))
        elif record.game_id in done or (name != own and is_whole(_data(files, own))):
            unused.append(Problem(record.game_id, name, "is a game that has a row and another file"))
        else:
            row = _as_kept(rows.get(record.game_id, {}))
            library.adopt(row if row and _agree(row, record) else record, name, data)
            done.add(record.game_id)
            made += 1
    for game_id in sorted(rows.keys() - done):
        row = _as_kept(rows[game_id])
        if row is None or not belongs(row):
            unused.append(Problem(printable(game_id), aside, "holds a row that is damaged, of a game without a file"))
        else:
            library.add([row])
            made += 1
    return made, unused


def _data(files: Folder, name: str) -> bytes:
    try:
        return files.read(name, LARGEST_GAME_FILE) or b""
    except UserError:
        return b""


def _as_kept(row: Mapping[str, Any]) -> GameRecord | None:
    """The game of a row that was found in a damaged database, if it is what was written into it.

    Its SGF has the checksum that stands beside it. Where there is none, what the row says twice is the same. Its moves
    are as its SGF has them, as one that was C3 may be c3 now.
    """
    try:
        record = row_record(row)
        if not 0 <= record.seconds <= MOST_SECONDS:  # which are in no file
            record = replace(record, seconds=0.0)
        data = write_record(record)
        record = replace(record, moves=read_record(data, row["game_id"]).moves)
        checksum, score = zlib.crc32(data), record.score
        twice = len(record.moves) == row["plies"] and (
            score == row["score"] or (row["score"] is None and score != score)
        )
        return record if row.get("checksum", checksum if twice else None) == checksum else None
    except (UserError, LookupError, TypeError, ValueError, AttributeError, OverflowError):  # a value may be anything
        return None


def _agree(one: GameRecord, other: GameRecord) -> bool:
    return all(getattr(one, key) == getattr(other, key) for key in (*SAID, "moves"))


def _set_aside(files: Folder) -> str:
    """The database has another name, ``results.sqlite.damaged``, or with a number that nobody has had: which. Raises
    UserError."""
    try:
        number = next(n for n in itertools.count(1) if not os.path.lexists(files.path / _damaged_name(n)))
        for part in ("", *BESIDE):
            with contextlib.suppress(FileNotFoundError):
                files.rename(DATABASE + part, _damaged_name(number) + part)
        return _damaged_name(number)
    except OSError as error:
        raise UserError(f"{files.path / DATABASE}: cannot be set aside: {error.strerror}") from None


def _damaged_name(number: int) -> str:
    return f"{DATABASE}.damaged{f'-{number}' if number > 1 else ''}"


def read_record(data: bytes, source: str) -> GameRecord:
    """The record that :func:`jubango.sgf_games.sgf.sgf.write_record` made ``data`` of, but for its seconds and the
    time of its date. Raises UserError."""
    games = parse_sgf(data, source)
    head = HEAD.fullmatch(games[0].properties.get("C", "")) if len(games) == 1 else None
    if head is None:
        raise UserError(f"{source}: was not written by this program")
    game, said = games[0], head.groupdict(default="")
    (black, black_spec), (white, white_spec) = (_named(said[side], game.name(i)) for i, side in enumerate(SIDES))
    nodes = [node for node in game.nodes if node.move]
    placed = " pass ".join(map(game.game.point_text, game.nodes[0].black)).split()  # handicap stones
    comments = (*[""] * len(placed), *(node.comment for node in nodes))
    return GameRecord(
        game_id=said["game_id"],
        game=said["game"],
        black=black,
        white=white,
        black_spec=black_spec,
        white_spec=white_spec,
        seed=int(said["seed"]),
        moves=(
            *placed,
            *(game.game.action_text(game.game.point_action(node.move[1])) for node in nodes if node.move),
        ),
        result=said["result"],
        reason=said["reason"],
        detail=said["detail"],
        event=said["event"],
        date=game.properties.get("DT", ""),
        comments=comments if any(comments) else (),
        opening=said["opening"],
        opening_plies=int(said["opening_plies"] or 0),
        counted=said["counted"],
    )


def _named(text: str, name: str) -> tuple[str, str]:
    """``NAME = SPEC``, where either may hold an equals sign; in ``name`` blanks are single ones. Raises UserError."""
    for found in re.finditer(" = ", text):
        if " ".join(text[: found.start()].split()) == name:
            return text[: found.start()], text[found.end() :]
    raise UserError(f'"{text}" is not "{name}" and its spec')
