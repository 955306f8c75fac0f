"""``jubango games``: what can be played."""

from __future__ import annotations

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, loading, print_frame


def register(app: typer.Typer) -> None:
    @app.command()
    def games(form: FormatOption = Format.table) -> None:
        """What can be played: names for --game, their sizes and keys."""
        with loading():
            import pandas as pd

            from jubango.sgf_games.rules.catalogue import CATALOGUE

        rows = [(name, entry.size, entry.about) for name, entry in CATALOGUE.items()]
        frame = pd.DataFrame(rows, columns=["game", "default size", "about"])
        print_frame(frame, form)
