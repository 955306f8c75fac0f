"""``jubango report``: a run as one page, with all of its games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.opening import OpenOption, open_page
from jubango.arena.commands.terminal.output import check_writable, loading, messages


def register(app: typer.Typer) -> None:
    @app.command()
    def report(
        folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
        out: Annotated[
            Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page.", show_default="RUN/report.html")
        ] = None,
        shown: OpenOption = False,
    ) -> None:
        """Write a run as one HTML file: the standings and all that is said of them, and every game to be replayed.

        The file needs no network and nothing beside it: it can be sent. An old one is overwritten.
        """
        with loading():
            from jubango.arena.runs.run_folder import open_run
            from jubango.sgf_games.library.folder import Folder

            run = open_run(folder)
        path = out or Folder(folder).file("report.html")
        check_writable(path)
        run.save_report(path)
        size = path.stat().st_size / 1e6
        said = f"{len(run.results):,} games are in {path}, {size:.1f} MB"
        messages().print(said, soft_wrap=True)
        if shown:
            open_page(path)
