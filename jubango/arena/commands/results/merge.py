"""``jubango merge``: the parts of a run put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages
from jubango.arena.commands.terminal.ratings import print_run


def register(app: typer.Typer) -> None:
    @app.command()
    def merge(
        folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of parts, or of runs alike.")],
        out: Annotated[Path, typer.Option(help="Folder of the whole; what it holds already stays.")],
        form: FormatOption = Format.table,
    ) -> None:
        """Put parts of a tournament together, each game once, and print the table.

        A game that did not end alike in two folders is named, and none of them is taken; the exit status is 1 then.
        Merging again, after an interruption or when parts have gone on, adds what is new.
        """
        with loading():
            from jubango.arena.runs.merging import merge_runs
            from jubango.arena.runs.run_folder import PLAN_FILE
            from jubango.sgf_games.base import shell

            run, added, differing = merge_runs(folders, out)
        if run.results:
            print_run(run, form)
        for note in run.notes:
            messages().print(note, style="yellow", soft_wrap=True)
        for game in differing:
            messages().print(str(game), style="yellow", soft_wrap=True)
        if differing:
            trusted = "merge the folder alone that you trust, then the others"
            messages().print(f"{len(differing)} games differ; to choose, {trusted}", soft_wrap=True)
        said = f"{added} games were added: {len(run.results)} of {run.total} are in {out}"
        if run.missing:
            go_on = shell.command("tournament", out / PLAN_FILE, "--out", out)
            said += f"; the others are played by: {go_on}"
        messages().print(said, soft_wrap=True)
        if differing:
            raise typer.Exit(1)
