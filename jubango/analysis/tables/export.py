"""Frames as files for other programs: Parquet and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.library.library import write_safely

if TYPE_CHECKING:
    import pandas as pd


def check_export(path: Path) -> None:
    """Raises UserError if no frame can become such a file."""
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise UserError(f"{path}: is neither .parquet nor .csv; end its name with one of them")
    if suffix == ".parquet":
        need("pyarrow", str(path))


def export_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write the rows as Parquet or CSV, as the name ends; an old file is overwritten. Raises UserError."""
    check_export(path)
    if path.suffix.lower() == ".csv":
        write_frame(frame, path)
    else:
        _write(path, frame.to_parquet(None, engine="pyarrow", index=False))


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write the rows as CSV, whatever the name; the file is there whole or as it was. Raises UserError."""
    _write(path, frame.to_csv(index=False).encode())


def _write(path: Path, data: bytes) -> None:
    try:
        write_safely(path, data)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
