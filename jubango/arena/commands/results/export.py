"""``jubango export``: a run's games and moves as files for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.output import check_writable, loading, messages

if TYPE_CHECKING:
    import pandas as pd


def register(app: typer.Typer) -> None:
    @app.command()
    def export(
        folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
        games: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Write a row for each game: .parquet or .csv.")
        ] = None,
        moves: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Write a row for each move: .parquet or .csv.")
        ] = None,
    ) -> None:
        """Write a run's games, or every move with its visits, win rate, prior and seconds, for other programs.

        docs/tables.md says what is in the columns. Existing files are overwritten. Parquet needs pyarrow.
        """
        with loading():
            from jubango.analysis.tables.export import check_export, export_frame
            from jubango.analysis.tables.tables import games_frame, moves_frame
            from jubango.sgf_games.base.errors import UserError

        wanted: list[tuple[str, Path, Callable[[Path], pd.DataFrame]]] = []
        wanted += [("games", games, games_frame)] if games else []
        wanted += [("moves", moves, moves_frame)] if moves else []
        if not wanted:
            raise UserError("export: says nothing to write; give --games FILE, --moves FILE, or both")
        for _, path, _ in wanted:
            check_export(path)
            check_writable(path)
        for what, path, read in wanted:
            frame = read(folder)
            export_frame(frame, path)
            messages().print(f"{len(frame):,} {what} are in {path}", soft_wrap=True)
