"""Printing: data on stdout, everything else on stderr, each as table, JSON or CSV."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from jubango.arena.preparing import Waiting, shown

if TYPE_CHECKING:
    import pandas as pd

    from jubango.bots.config import BotConfig


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]


def messages() -> Console:
    """For progress and messages."""
    return Console(stderr=True)


def data() -> Console:
    """For results. Off a terminal lines are as long as they need to be."""
    return Console() if sys.stdout.isatty() else Console(width=200)


class Stopped(Exception):
    """Ctrl-C; the text says what has become of the work."""


def check_writable(path: Path, new: bool = False) -> None:
    """Find out before the work whether its result can be written there afterwards; a ``new`` file overwrites nothing.
    Raises UserError."""
    from jubango.sgf_games.errors import UserError

    exists = path.exists()
    if new and exists:
        raise UserError(f"{path}: exists already and is not overwritten; name another file")
    try:
        path.open("ab").close()
        if not exists:
            path.unlink()
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def loading() -> AbstractContextManager[object]:
    """Around the imports of a command, which take seconds because of JAX: something is on the screen at once."""
    return shown(messages(), Waiting("starting"))


def print_frame(frame: pd.DataFrame, form: Format, table: Table | None = None) -> None:
    """Print rows as asked; ``table`` is the picture of them for people."""
    if form is Format.csv:
        buffer = io.StringIO()
        frame.to_csv(buffer, index=False)
        sys.stdout.write(buffer.getvalue())
    elif form is Format.json:
        print_json([{key: _plain(value) for key, value in row.items()} for row in frame.to_dict("records")])
    else:
        data().print(table if table is not None else frame_table(frame))


def frame_table(frame: pd.DataFrame) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in frame.columns:
        table.add_column(str(column), overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(str(value) for value in row))
    return table


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _plain(value: object) -> object:
    """A value that JSON knows: numpy's numbers become Python's, infinities text."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf" if value < 0 else None
    return value


def show_notes(bots: Iterable[BotConfig]) -> None:
    """What people should know of the bots before they begin, on stderr."""
    for note in dict.fromkeys(bot.note for bot in bots):
        if note:
            messages().print(note, style="yellow", highlight=False, markup=False, soft_wrap=True)
