"""``jubango compare``: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import (
    Format,
    FormatOption,
    data,
    loading,
    messages,
    print_frame,
    print_json,
)


def register(app: typer.Typer) -> None:
    @app.command()
    def compare(
        first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run's folder.")],
        second: Annotated[Path, typer.Argument(metavar="RUN_B", help="A later one's.")],
        form: FormatOption = Format.table,
    ) -> None:
        """What changed from one run to another: of every bot in both its strength, games, seconds and failures.

        The change is in Elo, with its 95 % error and the probability (LOS) that the bot is stronger in RUN_B. It is
        measured against the bots that are in both, by name, with the same settings.
        """
        with loading():
            from rich.table import Table
            from rich.text import Text

            from jubango.analysis.tables.comparison import CHANGE_ALIGN, CHANGE_HEADINGS, heads
            from jubango.arena.runs.comparing import compare_runs
            from jubango.sgf_games.base.printable import printable

        found = compare_runs(first, second)
        if form is Format.json:
            print_json(found.summary)
            return
        if form is not Format.table:
            print_frame(found.frame, form)
            for line in map(printable, found.remarks):
                messages().sentence(line)
            return
        table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
        for heading, letter in zip(CHANGE_HEADINGS, CHANGE_ALIGN, strict=True):
            table.add_column(heading, justify="left" if letter == "l" else "right", overflow="fold")
        for row in found.rows:
            table.add_row(*map(Text, row))
        for line in heads(found):
            data().sentence(line)
        data().print()
        data().print(table)
        data().print()
        for line in map(printable, found.remarks):
            data().sentence(line)
