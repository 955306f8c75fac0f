"""``jubango check``: are a run's rows and files what they were?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, beyond_told, messages, print_frame


def register(app: typer.Typer) -> None:
    @app.command()
    def check(
        folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
        rebuild: Annotated[
            bool, typer.Option("--rebuild", help="Make rows again of SGF files that have none, all if need be.")
        ] = False,
        form: FormatOption = Format.table,
    ) -> None:
        """Compare every game's row with its SGF file. The exit status is 1 if something is wrong.

        Files that are missing or damaged are written again from their rows when the run is gone on with; a changed one
        stays, unless it is deleted.
        """
        import pandas as pd

        from jubango.arena.runs.run_folder import open_run, plan_in, rebuild_run
        from jubango.sgf_games.library.recovery import NO_ROW, Problem, problems

        plan_in(folder)
        if rebuild:
            made, unused = rebuild_run(folder)
            messages().print(f"{made} rows were made again", soft_wrap=True)
            for _, file, problem in unused:
                messages().print(f"{folder / file}: {problem}: left as it is", soft_wrap=True)
        found = problems(folder)
        if found or form is not Format.table:
            print_frame(pd.DataFrame(found, columns=list(Problem._fields)), form)
        run = open_run(folder)
        count = f"{len(run.results)} of {run.total} games are finished"
        count += f" ({beyond_told(len(run.left_out))})" if run.left_out else ""
        rowless = sum(problem == NO_ROW for _, _, problem in found)
        others = len(found) - rowless
        states = [f"{others} files are not as their rows say"] if others else []
        # Files come before rows, so that a process that dies leaves some.
        states += (
            [f"{rowless} files have no row: going on plays these games again, or --rebuild takes them"]
            if rowless
            else []
        )
        messages().print(f"{count}; {'; '.join(states) or 'rows and files agree'}", soft_wrap=True)
        if found:
            raise typer.Exit(1)
