"""``jubango runs``: the runs in a folder, and what would be typed to go on with one, to open it, to compare it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, data, loading, messages, print_frame

if TYPE_CHECKING:
    from jubango.arena.found_runs import FoundRun

LISTED_COLUMNS = "run", "kind", "game", "progress", "when", "state"


def register(app: typer.Typer) -> None:
    @app.command()
    def runs(
        folder: Annotated[
            Path, typer.Argument(metavar="[DIR]", help="Where to look, three folders deep.", show_default=True)
        ] = Path("runs"),
        form: FormatOption = Format.table,
    ) -> None:
        """List the runs in a folder, the newest first, and what to type to go on with each, open or compare it.

        Runs are tournaments, matches, trainings and tunings; each is finished, interrupted or running.
        """
        with loading():
            import pandas as pd

            from jubango.arena.found_runs import found_runs

            found = found_runs(folder)
        if not found:
            messages().print(f"there are no runs in {folder}", soft_wrap=True)
        if form is Format.table:
            _print(found)
            return
        rows = [
            {
                "run": one.name, "path": str(one.path), "kind": one.kind, "game": one.game, "done": one.done,
                "total": one.total, "unit": one.unit, "when": one.when, "state": str(one.state), "why": one.why,
                "go_on": one.go_on, "open": one.open, "compare": one.compare,
            }
            for one in found
        ]  # fmt: skip
        columns = [
            "run", "path", "kind", "game", "done", "total", "unit", "when", "state", "why", "go_on", "open", "compare",
        ]  # fmt: skip
        print_frame(pd.DataFrame(rows, columns=columns), form)


def _print(found: list[FoundRun]) -> None:
    from rich.table import Table
    from rich.text import Text

    from jubango.sgf_games.base.printable import printable

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in LISTED_COLUMNS:
        table.add_column(column, overflow="fold")
    for one in found:
        when = one.when[:16].replace("T", " ")
        cells = one.name, one.kind, one.game, one.progress, when, str(one.state)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    out = data()
    if found:
        out.print(table)
    for one in found:
        todo = {"go on": one.go_on, "open": one.open, "compare": one.compare}
        lines = [(what, command) for what, command in todo.items() if command]
        if one.why:
            lines.append(("damaged", one.why))
        if lines:
            out.print(Text(f"\n{printable(one.name)}", style="bold"))
        for what, command in lines:
            out.print(Text(f"  {what}: ", style="dim").append(printable(command), style="not dim"), soft_wrap=True)
