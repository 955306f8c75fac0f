"""``jubango bots``: what can play."""

from __future__ import annotations

import typer

from arena.commands.output import Format, FormatOption, print_frame


def register(app: typer.Typer) -> None:
    @app.command()
    def bots(form: FormatOption = Format.table) -> None:
        """What can play: presets, the keys they take, their values and where they come from."""
        import pandas as pd

        from bots.config import KINDS, PRESETS

        rows = []
        for name, (kind, values, about) in PRESETS.items():
            keys = []
            for key, field in KINDS[kind].model_fields.items():
                if key in ("name", "use"):
                    continue
                value = values.get(key, None if field.is_required() else field.default)
                keys.append(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value or '...'}")
            rows.append((name, ", ".join(keys), about))
        print_frame(pd.DataFrame(rows, columns=["bot", "keys", "about"]), form)
