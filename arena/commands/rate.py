"""``jubango rate``: ratings of games that are already played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.output import Format, FormatOption, loading


def register(app: typer.Typer) -> None:
    @app.command()
    def rate(
        paths: Annotated[
            list[Path],
            typer.Argument(help="Runs' folders, SGF files or folders, CSVs (black,white,result)."),
        ],
        anchor: Annotated[
            list[str] | None, typer.Option(metavar="NAME=ELO", help="Hold a player's rating; may be repeated.")
        ] = None,
        prior: Annotated[float, typer.Option(min=0, help="Virtual wins and losses of every player; 0 for none.")] = 0.5,
        first_move_advantage: Annotated[bool, typer.Option(help="Fit what moving first is worth.")] = True,
        form: FormatOption = Format.table,
    ) -> None:
        """Elo ratings with 95 % errors (Bradley-Terry), and the crosstable."""
        with loading():
            from jubango.analysis.ratings import rate as fit
            from jubango.analysis.tables import results_of
            from jubango.arena.commands.tournament import print_ratings
            from jubango.sgf_games.errors import UserError

        anchors: dict[str, float] = {}
        for text in anchor or []:
            name, equals, elo = text.rpartition("=")
            try:
                anchors[name] = float(elo)
                if not equals or not name or not abs(anchors[name]) < 1e6:
                    raise ValueError
            except ValueError:
                raise UserError(f'--anchor "{text}" is not NAME=ELO') from None
        results = results_of(paths)
        if not results:
            raise UserError(f"{', '.join(map(str, paths))}: no finished games")
        print_ratings(fit(results, prior, first_move_advantage, anchors), results, form)
