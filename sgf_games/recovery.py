"""Are a run's rows and files what they were? And its rows again, from the files, when the database is lost."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from jubango.sgf_games.errors import UserError
from jubango.sgf_games.library import COLUMNS, DATABASE, Library, is_whole
from jubango.sgf_games.record import GameRecord
from jubango.sgf_games.sgf import parse_sgf

NO_ROW = "has no row"
SIDES = ("black", "white")
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
    files = sorted(f"games/{path.name}" for path in (folder / "games").glob("*.sgf"))  # before the rows: games may end
    rows = _rows(folder)
    if rows and not COLUMNS.keys() <= set(rows[0].keys()):
        raise UserError(f"{folder / DATABASE}: is of an older version; going on with the run brings it up to date")
    found = []
    for row in rows:
        try:
            data = (folder / row["sgf"]).read_bytes()
        except OSError:
            found.append(Problem(row["game_id"], row["sgf"], "is missing"))
            continue
        problem = _problem(row, data)
        if problem:
            found.append(Problem(row["game_id"], row["sgf"], problem))
    known = {row["sgf"] for row in rows}
    return found + [Problem("", name, NO_ROW) for name in files if name not in known]


def _rows(folder: Path) -> list[sqlite3.Row]:
    path = folder / DATABASE
    if not path.is_file():
        raise UserError(f"{path}: is missing; --rebuild makes it again from games/")
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)) as db:
            db.row_factory = sqlite3.Row
            (state,) = db.execute("pragma integrity_check").fetchone()
            if state != "ok":
                raise UserError(f"{path}: is damaged: {state.splitlines()[0]}; --rebuild makes it again from games/")
            tables = {name for (name,) in db.execute("select name from sqlite_master")}
            checksums = "left join files using (game_id)" if "files" in tables else ", (select null as checksum)"
            return db.execute(f"select * from games {checksums} order by game_id").fetchall()
    except sqlite3.Error as error:
        raise UserError(f"{path}: is no results file: {error}; --rebuild makes it again from games/") from None


def _problem(row: sqlite3.Row, data: bytes) -> str:
    if not is_whole(data):
        return "is damaged"
    if row["checksum"] is not None and zlib.crc32(data) != row["checksum"]:
        return "is not as it was written"
    try:
        record = read_record(data, row["sgf"])
    except UserError:
        return "is not as it was written"
    for key in ("game_id", "game", "black", "white", "seed", "result", "reason"):
        if getattr(record, key) != row[key]:
            return f"says another {key.replace('_', ' ')} than its row"
    return "" if record.moves == tuple(row["moves"].split()) else "says other moves than its row"


def rebuild(folder: Path, belongs: Callable[[GameRecord], bool]) -> tuple[int, list[Problem]]:
    """Make rows of the games that have none, where ``belongs`` says that they are this run's; a database that cannot
    be read is set aside before. Returns how many they were, and the files that could not be used.

    Seconds and the time of day are in no file. Nobody else may be writing.
    """
    try:
        _rows(folder)
    except UserError:
        for part in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                (folder / f"{DATABASE}{part}").replace(folder / f"{DATABASE}.damaged{part}")
    adopted, unused = 0, []
    with contextlib.closing(Library(folder, anew=True)) as library:
        done, known = library.finished(), library.files()
        for path in sorted((folder / "games").glob("*.sgf")):
            name = f"games/{path.name}"
            if name in known:
                continue
            try:
                record = read_record(data := path.read_bytes(), name)
            except (OSError, UserError):
                unused.append(Problem("", name, "is no game that this program has written"))
                continue
            if not belongs(record):
                unused.append(Problem(record.game_id, name, "is no game of this run"))
            elif record.game_id in done:
                unused.append(Problem(record.game_id, name, "is a game that has a row and another file"))
            else:
                library.adopt(record, name, data)
                done.add(record.game_id)
                adopted += 1
    return adopted, unused


def read_record(data: bytes, source: str) -> GameRecord:
    """The record that :func:`jubango.sgf_games.sgf.write_record` made ``data`` of, but for its seconds and the time of
    its date. Raises UserError."""
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
