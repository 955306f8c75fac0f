"""Results as pandas frames: for notebooks, for CSV, and for the tables the command prints."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from jubango.analysis.ratings import RatingList, Result, crosstable_cells, rate
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.files import read_file
from jubango.sgf_games.library import COLUMNS
from jubango.sgf_games.record import GameRecord, score_of
from jubango.sgf_games.sgf import read_games

if TYPE_CHECKING:
    import pandas as pd

LARGEST_CSV = 500_000_000  # bytes


def games_frame(folder: Path | str) -> pd.DataFrame:
    """A run's games, one row each, as in ``results.sqlite``."""
    import pandas as pd

    path = Path(folder) / "results.sqlite"
    if not path.is_file():
        raise UserError(f"{folder}: holds no results.sqlite; name a run's folder")
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as db:
            return pd.read_sql_query("select * from games order by game_id", db)
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise UserError(f"{path}: is no results file: {str(error).splitlines()[0]}") from None


def records_frame(records: Iterable[GameRecord]) -> pd.DataFrame:
    """The same of games that are in no folder: one row each, in the order given, ``sgf`` empty."""
    import pandas as pd

    rows = [
        {**vars(r), "score": r.score, "plies": len(r.moves), "moves": " ".join(r.moves), "sgf": ""} for r in records
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def results_of(paths: list[Path], guesses: list[str] | None = None) -> list[Result]:
    """(Black, White, Black's score) from runs' folders, SGF files or folders of them, and CSVs.

    Games without a decision (``?``, ``Void``) are left out. ``guesses`` gains a line for every file whose encoding had
    to be guessed. Raises UserError.
    """
    guesses = [] if guesses is None else guesses
    results: list[Result] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
        if path.is_dir() and (path / "results.sqlite").is_file():
            frame = games_frame(path)
            results += list(zip(frame["black"], frame["white"], frame["score"], strict=True))
        elif path.is_dir():
            files = sorted(path.rglob("*.sgf"))
            if not files:
                raise UserError(f"{path}: holds neither a results.sqlite nor .sgf files")
            for file in files:
                results += _sgf_results(file, guesses)
        elif path.suffix.lower() == ".csv":
            results += _csv_results(path)
        else:
            results += _sgf_results(path, guesses)
    return results


def _sgf_results(path: Path, guesses: list[str]) -> list[Result]:
    out: list[Result] = []
    games = read_games(path)
    guesses += [f"{path}: {games[0].guessed_text}"] if games[0].guessed_text else []
    for game in games:
        text = game.properties.get("RE", "?").strip()
        if text[:1].upper() in ("B", "W", "0", "D"):
            out.append((game.name(0), game.name(1), score_of(text)))
    return out


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
        score = _csv_score(result.strip())
        if score is None:
            raise UserError(f'{path}: line {line}: result "{result}" is none of 1-0, 0-1, 1/2-1/2, B+, W+, 0, 1, 0.5')
        out.append((black.strip(), white.strip(), score))
    return out


def _csv_score(text: str) -> float | None:
    """Black's score. A bare number is a score, ``B+..`` and ``W+..`` are SGF results."""
    known = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "½-½": 0.5, "draw": 0.5, "b": 1.0, "w": 0.0}
    if text.lower() in known:
        return known[text.lower()]
    if text[:2].upper() in ("B+", "W+"):
        return score_of(text)
    try:
        score = float(text)
    except ValueError:
        return None
    return score if score in (0.0, 0.5, 1.0) else None


def ratings_frame(ratings: RatingList) -> pd.DataFrame:
    """Columns rank, name, elo, error (95 %), games, wins, draws, losses, score, group."""
    import pandas as pd

    rows = [
        (i + 1, r.name, r.elo, r.error, r.games, r.wins, r.draws, r.losses, r.score, r.group)
        for i, r in enumerate(ratings.ratings)
    ]
    columns = ["rank", "name", "elo", "error", "games", "wins", "draws", "losses", "score", "group"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"wins": int, "draws": int, "losses": int})


def crosstable(results: list[Result], order: list[str] | None = None) -> pd.DataFrame:
    """Row player's wins-draws-losses against the column player, as text; empty if they never met."""
    import pandas as pd

    if order is None:
        order = [r.name for r in rate(results).ratings]
    cells = crosstable_cells(results, order)
    return pd.DataFrame(cells, index=pd.Index(order, name="name"), columns=order)
