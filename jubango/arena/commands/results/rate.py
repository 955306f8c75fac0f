"""``jubango rate``: ratings of games that are already played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, beyond_told, loading, messages
from jubango.arena.commands.terminal.ratings import print_ratings


def register(app: typer.Typer) -> None:
    @app.command()
    def rate(
        paths: Annotated[
            list[Path],
            typer.Argument(help="Runs' folders, SGF files or folders, CSVs (black,white,result), rated all together."),
        ],
        anchor: Annotated[
            list[str] | None, typer.Option(metavar="NAME=ELO", help="Hold a player's rating; may be repeated.")
        ] = None,
        apart: Annotated[
            list[str] | None,
            typer.Option(metavar="NAME", help="Another player in each path, NAME (PATH); may be repeated."),
        ] = None,
        prior: Annotated[
            float,
            typer.Option(
                min=0, max=1e6, help="Virtual wins and losses of every player, and of the first move; 0 for none."
            ),
        ] = 0.5,
        first_move_advantage: Annotated[bool, typer.Option(help="Fit what moving first is worth.")] = True,
        distinct: Annotated[
            bool,
            typer.Option(
                "--distinct",
                help="Of games of the same moves, however the board is turned or mirrored, by the same two with "
                "the same colours, only the first counts.",
            ),
        ] = False,
        strict: Annotated[
            bool,
            typer.Option("--strict", help="Stop at a file of a folder that cannot be read, instead of leaving it out."),
        ] = False,
        form: FormatOption = Format.table,
    ) -> None:
        """Elo ratings with 95 % errors (Bradley-Terry), the crosstable, and what the games were.

        Of several paths all games are rated together: who has the same name is the same player, but for --apart. Names
        that have other settings in another run are pointed out.
        """
        with loading():
            from jubango.analysis.ratings.ratings import rate as fit
            from jubango.analysis.ratings.results import first_of_equal
            from jubango.analysis.tables.tables import results_of
            from jubango.arena.runs.comparing import left_out_of, other_settings
            from jubango.sgf_games.base.errors import UserError

        anchors: dict[str, float] = {}
        for text in anchor or []:
            name, equals, elo = text.rpartition("=")
            try:
                anchors[name] = float(elo)
                if not equals or not name or not abs(anchors[name]) < 1e6:
                    raise ValueError
            except ValueError:
                raise UserError(f'--anchor "{text}" is not NAME=ELO') from None
        left_out: list[UserError] = []
        guesses: list[str] = []
        beyond = left_out_of(paths)
        results = results_of(paths, None if strict else left_out, guesses, apart or (), beyond)
        for folder, games in beyond.items():
            messages().print(f"{folder}: {beyond_told(len(games))}", soft_wrap=True)
        for line in other_settings(paths, apart or ()):
            messages().sentence(line, style="yellow")
        if guesses:
            more = f" (and {len(guesses) - 1} more like it)" if len(guesses) > 1 else ""
            messages().sentence(guesses[0] + more, style="yellow")
        for error in left_out:
            messages().print(f"left out: {error}", style="yellow", soft_wrap=True)
        if left_out:
            messages().sentence(
                f"{len(left_out)} file(s) could not be read; --strict stops at the first", style="yellow"
            )
        if not any(result.score == result.score and result.black != result.white for result in results):
            raise UserError(f"{', '.join(map(str, paths))}: no finished games of two players")
        said: dict[str, object] = {"left_out": [str(error) for error in left_out]}
        if distinct:
            if not any(result.game is not None for result in results):
                raise UserError(f"{', '.join(map(str, paths))}: --distinct: without moves no games can be compared")
            played, results = len(results), first_of_equal(results)
            again = played - len(results)
            messages().print(f"{again} of {played} games had been played before and do not count")
            said["repeated_games"] = again
        ratings = fit(results, prior, first_move_advantage, anchors)
        print_ratings(ratings, results, form, [], **said)
