"""``jubango demo``: the small tournament that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.opening import OpenOption, open_page
from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages
from jubango.arena.commands.terminal.playing import play_shown
from jubango.arena.commands.terminal.ratings import print_run
from jubango.sgf_games.base import shell

DEMO_FILE = Path(__file__).with_name("demo.toml")
DEMO_FOLDER = Path("runs") / "demo"


def register(app: typer.Typer) -> None:
    @app.command()
    def demo(
        out: Annotated[Path, typer.Option(help="Folder of the run.")] = DEMO_FOLDER,
        shown: OpenOption = False,
        form: FormatOption = Format.table,
    ) -> None:
        """Play a small tournament, a minute or so, and print its table: what jubango does, at a glance.

        It goes on where it was stopped. One that is complete is only shown; another --out plays it again. --open writes
        its page and opens it.
        """
        with loading():
            from jubango.arena.schedule.plan import read_plan
            from jubango.sgf_games.library.folder import Folder

            plan = read_plan(DEMO_FILE)
        run = play_shown(plan, out, form, None)
        print_run(run, form)
        report = Folder(out).file("report.html")
        if shown:
            run.save_report(report)
            open_page(report)
        else:
            see = shell.command("report", out, "--open")
            messages().print(f"games, ratings and crosstable are in {out}\nsee them as a page: {see}", soft_wrap=True)
