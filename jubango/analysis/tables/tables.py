"""Results as pandas frames: for notebooks, for CSV, and for the tables the command prints."""

from __future__ import annotations

import contextlib
import io
import math
import sqlite3
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.analysis.ratings.results import ENDINGS, Result, crosstable_cells
from jubango.analysis.tables.moves import PlayedGame, moves_table, played_game
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.files import check_file, read_file
from jubango.sgf_games.library.database import (
    BLANKS,
    COLUMNS,
    DATABASE,
    ERRORS,
    check_rows,
    columns,
    connect,
    damaged,
    read_beside,
)
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.records.record import Failure, GameRecord, place_in_pairing, score_of
from jubango.sgf_games.sgf.sgf import LARGEST_SGF, SgfGame, read_games
from jubango.sgf_games.sgf.symmetries import turned_moves, turned_nodes

if TYPE_CHECKING:
    import pandas as pd

LARGEST_CSV = 500_000_000  # bytes


def games_frame(folder: Path | str) -> pd.DataFrame:
    """A run's games, one row each, as in ``results.sqlite``; what an older version has not kept is blank."""
    with _results(folder) as db:
        return _games(db)


def kept_after(folder: Path | str, row: int) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """The games, and their moves, that were kept after row number ``row`` of the table (0: all), and the number of the
    last one: for who follows a run that is being played."""
    with _results(folder, check="") as db:
        db.execute("begin")  # what is kept meanwhile waits for the next time
        games = _games(db, f"where games.rowid > {row}")
        moves = _moves_in(db, f"where games.rowid > {row}")
        (last,) = db.execute("select ifnull(max(rowid), 0) from games").fetchone()
        return games, moves, last


def last_kept(folder: Path | str) -> tuple[Hashable, int]:
    """Which table it is, and the number of its last row, 0 if there is none. A run that is played anew has another
    table, even where the file system gives the new file the old one's number. Raises UserError and OSError."""
    with _results(folder, check="") as db:
        db.execute("begin")
        first = db.execute("select * from games order by rowid limit 1").fetchone()
        (last,) = db.execute("select ifnull(max(rowid), 0) from games").fetchone()
        return (Folder(folder).file(DATABASE).stat().st_ino, first), int(last)


def _games(db: sqlite3.Connection, where: str = "") -> pd.DataFrame:
    import pandas as pd

    found = columns(db, "games")
    missing = [column for column in COLUMNS if column not in found and column not in BLANKS]
    if found and missing:
        raise sqlite3.DatabaseError(f'its table "games" has no column "{missing[0]}"')
    check_rows(db, where)
    chosen = [name if name in found else f"{BLANKS.get(name)} as {name}" for name in COLUMNS]
    return pd.read_sql_query(f"select {', '.join(chosen)} from games {where} order by game_id", db)


@contextlib.contextmanager
def _results(folder: Path | str, check: str = "quick_check") -> Iterator[sqlite3.Connection]:
    """A run's database, to be read. Raises UserError, also for what goes wrong while it is."""
    import pandas as pd

    own = Folder(folder)
    if not own.has(DATABASE):
        raise UserError(f"{folder}: holds no {DATABASE}; name a run's folder")
    try:
        with contextlib.closing(connect(own, check=check)) as db:
            yield db
    except (*ERRORS, pd.errors.DatabaseError) as error:
        raise damaged(own, error.__cause__ or error) from None  # without the statement


def moves_frame(folder: Path | str) -> pd.DataFrame:
    """The moves of a run's games, a row each; see :func:`jubango.analysis.tables.moves.moves_table`.

    Of games that an older version has kept, and of rows made again from SGF files, it is known what the comments say:
    visits, simulations, and the win rate to a tenth of a percent.
    """
    with _results(folder) as db:
        return _moves_in(db)


def _moves_in(db: sqlite3.Connection, where: str = "") -> pd.DataFrame:
    check_rows(db, where)
    beside = {*columns(db, "games"), *columns(db, "files")}
    kept = ((name, name if name in beside else "null") for name in ("opening_plies", "thoughts", "comments"))
    files = "left join files using (game_id)" if "checksum" in beside else ""
    more = ", ".join(f"{column} as {name}" for name, column in kept)
    query = f"select game_id, black, white, moves, {more} from games {files} {where} order by game_id"
    return moves_table(_played(*row) for row in db.execute(query))


def _played(
    game_id: str, black: str, white: str, moves: str, opening: int | None, thoughts: bytes | None, comments: str | None
) -> PlayedGame:  # fmt: skip
    try:
        beside = read_beside(comments)
    except UserError as error:
        raise UserError(f"{game_id}: {error}") from None
    left = beside.get("time_left", ())[: len(moves.split())]
    return PlayedGame(game_id, (black, white), moves.split(), opening or 0, thoughts or b"", beside["comments"], left)


def records_moves(records: Iterable[GameRecord]) -> pd.DataFrame:
    """The same of games that are in no folder."""
    return moves_table(map(played_game, records))


def records_frame(records: Iterable[GameRecord]) -> pd.DataFrame:
    """The same of games that are in no folder: one row each, in the order given, ``sgf`` empty."""
    import pandas as pd

    rows = [
        {**vars(r), "score": r.score, "plies": len(r.moves), "moves": " ".join(r.moves), "sgf": ""} for r in records
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def frame_results(frame: pd.DataFrame) -> list[Result]:
    """The games of a frame with the columns of ``results.sqlite``."""
    columns = ("black", "white", "result", "reason", "detail", "game", "moves", "game_id", "counted")
    return [
        result_of(black, white, result, detail, _same(game, moves), reason, _pair(game_id), counted)
        for black, white, result, reason, detail, game, moves, game_id, counted in zip(
            *(frame[c] for c in columns), strict=True
        )
    ]


def record_result(record: GameRecord) -> Result:
    """The same of one game."""
    same = _same(record.game, " ".join(record.moves))
    return result_of(
        record.black, record.white, record.result, record.detail, same, record.reason, _pair(record.game_id),
        record.counted,
    )  # fmt: skip


def failures_in(games: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Of every player that has failed: how many games of a frame it has lost by time, crash, error or illegal moves."""
    failed = games[games["reason"].isin(list(Failure)) & games["score"].notna()]
    counts: dict[str, dict[str, int]] = {}
    for black, white, score, reason in failed[["black", "white", "score", "reason"]].itertuples(index=False):
        own = counts.setdefault(white if score else black, {})
        own[reason] = own.get(reason, 0) + 1
    return counts


def _same(game: str, moves: str) -> Hashable:
    """Equal for games of the same moves, however the board is turned; None if there are no moves."""
    return (game, turned_moves(game, moves)) if moves else None


def _pair(game_id: str) -> Hashable:
    """The pair of games that a run's game belongs to: ``a~b~00001`` and ``a~b~00002``."""
    place = place_in_pairing(game_id)
    return place and (place[0], place[1] // 2)


def result_of(
    black: str, white: str, text: str, why: str = "", game: Hashable = None, reason: str = "", pair: Hashable = None,
    counted: str = "",
) -> Result:  # fmt: skip
    """A game with an SGF result; one without a decision (``?``, ``Void``) has the score nan."""
    text = text.strip()
    if text[:1].upper() not in ("B", "W", "0", "D"):
        return Result(black, white, math.nan, "", why, game, reason, counted, pair)
    ending = text[2:3].upper() if text[2:3].upper() in ENDINGS else ""
    return Result(black, white, score_of(text), ending, why if ending else "", game, reason, counted, pair)


def results_of(
    paths: list[Path],
    left_out: list[UserError] | None = None,
    guesses: list[str] | None = None,
    apart: Collection[str] = (),
    without: Mapping[Path, Collection[str]] | None = None,
) -> list[Result]:
    """The games of runs' folders, SGF files or folders of them, and CSVs. Who has the same name is the same player, but
    those of ``apart`` are others in every path, ``NAME (PATH)``. ``without``: ids of games of a run that do not count.

    Files of folders that cannot be read are left out, if there is a list for what is wrong with them.
    ``guesses`` gains a line for every file whose encoding had to be guessed. Raises UserError.
    """
    guesses = [] if guesses is None else guesses
    results: list[Result] = []
    names: set[str] = set()
    for i, path in enumerate(paths):
        if any(path.resolve() == other.resolve() for other in paths[:i]):
            raise UserError(f"{path}: is named twice; its games would count twice")
        own = _results_in(path, left_out, guesses, (without or {}).get(path, ()))
        if len(paths) > 1:  # runs may call their pairs of games alike
            own = [result._replace(pair=result.pair and (i, result.pair)) for result in own]
        if apart:
            names.update(name for result in own for name in result[:2])
            called = {name: f"{name} ({path})" for name in apart}
            own = [
                result._replace(
                    black=called.get(result.black, result.black), white=called.get(result.white, result.white)
                )
                for result in own
            ]
        results += own
    unknown = next((name for name in apart if name not in names), None)
    if unknown is not None:
        raise UserError(f'--apart "{unknown}": no player of that name{nearest(unknown, names)}')
    return results


def _results_in(
    path: Path, left_out: list[UserError] | None, guesses: list[str], without: Collection[str]
) -> list[Result]:
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.suffix.lower() == ".csv" and path.is_file():
        return _csv_results(path)
    if not path.is_dir():
        return _sgf_results(path, guesses)
    if Folder(path).has(DATABASE):
        games = games_frame(path)
        return frame_results(games[~games["game_id"].isin(without)])
    files = sorted(path.rglob("*.sgf"))
    if not files:
        raise UserError(f"{path}: holds neither a {DATABASE} nor .sgf files")
    results, inside = [], path.resolve()
    for file in files:
        try:
            if not file.resolve().is_relative_to(inside):
                raise UserError(f"{file}: is a link out of the folder, which may be anybody's; name what it leads to")
            check_file(file, LARGEST_SGF)
            results += _sgf_results(file, guesses)
        except UserError as error:
            if left_out is None:
                raise
            left_out.append(error)
    return results


def _sgf_results(path: Path, guesses: list[str]) -> list[Result]:
    games = read_games(path)
    guesses += [f"{path}: {games[0].guessed_text}"] if games[0].guessed_text else []
    return [
        result_of(
            game.name(0), game.name(1), game.properties.get("RE", ""), game=_moves(game),
            pair=_pair(game.properties.get("GN", "")),
        )
        for game in games
    ]  # fmt: skip


def _moves(game: SgfGame) -> Hashable:
    """What is on the board, move by move, however it is turned; None if there are no moves."""
    return (game.game.spec, turned_nodes(game)) if game.move_count else None


def _csv_results(path: Path) -> list[Result]:
    import pandas as pd

    data = read_file(path, LARGEST_CSV, "a CSV")
    try:
        frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' parser errors are such
        raise UserError(f"{path}: is no CSV: {str(error).splitlines()[0]}") from None
    columns = {c.strip().lower(): c for c in frame.columns}
    missing = [c for c in ("black", "white", "result") if c not in columns]
    if missing:
        raise UserError(f'{path}: has no column "{missing[0]}"; it needs black,white,result')
    out: list[Result] = []
    chosen = frame[[columns[c] for c in ("black", "white", "result")]]
    for line, (black, white, result) in enumerate(chosen.itertuples(index=False), 2):
        if not black.strip() or not white.strip():
            raise UserError(f"{path}: line {line}: names no {'white' if black.strip() else 'black'} player")
        found = _csv_result(black.strip(), white.strip(), result.strip())
        if found is None:
            raise UserError(f'{path}: line {line}: result "{result}" is none of 1-0, 0-1, 1/2-1/2, B+, W+, 0, 1, 0.5')
        out.append(found)
    return out


def _csv_result(black: str, white: str, text: str) -> Result | None:
    """A bare number is Black's score; ``B+..``, ``W+..``, ``Void`` and ``?`` are SGF results."""
    known = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "½-½": 0.5, "draw": 0.5, "b": 1.0, "w": 0.0}
    if text.lower() in known:
        return Result(black, white, known[text.lower()])
    if text[:2].upper() in ("B+", "W+") or text.lower() in ("void", "?"):
        return result_of(black, white, text)
    try:
        score = float(text)
    except ValueError:
        return None
    return Result(black, white, score) if score in (0.0, 0.5, 1.0) else None


def ratings_frame(ratings: RatingList) -> pd.DataFrame:
    """A pandas frame with a row for each player, the strongest first.

    Its columns are rank, name, elo, error (95 %), pair_error (the same by the spread between pairs of games), games,
    wins, draws, losses, score, group. Of the losses it has time, forfeit and resignation. ``distinct_games`` leaves out
    those that were played again.
    """
    import pandas as pd

    rows = [
        (
            i + 1, r.name, r.elo, r.error, r.pair_error, r.games, r.wins, r.draws, r.losses, r.score, r.group,
            r.time, r.forfeit, r.resignation, r.distinct_games,
        )
        for i, r in enumerate(ratings.ratings)
    ]  # fmt: skip
    columns = [
        "rank", "name", "elo", "error", "pair_error", "games", "wins", "draws", "losses", "score", "group",
        "time", "forfeit", "resignation", "distinct_games",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).astype({"distinct_games": "Int64"})


def crosstable(results: list[Result], order: list[str] | None = None) -> pd.DataFrame:
    """Row player's wins-draws-losses against the column player, as text; empty if they never met."""
    import pandas as pd

    if order is None:
        order = [r.name for r in rate(results).ratings]
    cells = crosstable_cells(results, order)
    return pd.DataFrame(cells, index=pd.Index(order, name="name"), columns=order)
