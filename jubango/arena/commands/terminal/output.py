"""Printing: data on stdout, everything else on stderr, each as table, JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.console
import typer
from rich.console import ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from jubango.arena.text.console import Console
from jubango.arena.text.preparing import Busy, shown
from jubango.sgf_games.base.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from jubango.bots.config import BotConfig
    from jubango.sgf_games.rules.game import Game
    from jubango.sgf_games.sgf.positions import Record

LONGEST_MESSAGE = 1500  # characters of a message


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"  # as GitHub has it
    latex = "latex"  # with the package booktabs


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]


def messages() -> Console:
    """For progress and messages."""
    return Console(stderr=True)


def data() -> Console:
    """For results. Off a terminal lines are as long as they need to be."""
    return Console() if sys.stdout.isatty() else Console(width=200)


class Halted(Exception):
    """Ctrl-C; the text says what has become of the work."""


def beyond_told(games: int) -> str:
    """Of games that a run has kept, though its test or search had decided without them."""
    some = "1 more game was" if games == 1 else f"{games:,} more games were"
    return f"{some} under way when it was decided: kept, and not counted"


def check_writable(path: Path, new: bool = False) -> None:
    """Find out before the work whether its result can be written there afterwards; a ``new`` file overwrites nothing.
    Raises UserError."""
    from jubango.sgf_games.base.errors import UserError
    from jubango.sgf_games.library.folder import try_writing

    exists = path.exists()
    if new and exists:
        raise UserError(f"{path}: exists already and is not overwritten; name another file")
    try:
        if exists:
            path.open("ab").close()
        else:
            try_writing(path.resolve())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def loading(jax: bool = True) -> Iterator[None]:
    """Around the imports of a command, which take seconds because of JAX: something is on the screen at once, and the
    machine is claimed, if the command uses ``jax``."""
    with shown(messages(), Busy("starting")):
        if jax:
            from jubango.sgf_games.compute.machine import claim

            claim()
        yield


def print_frame(frame: pd.DataFrame, form: Format, table: Table | None = None) -> None:
    """Print rows as asked; ``table`` is the picture of them for people."""
    if form is Format.csv:
        buffer = io.StringIO()
        frame.to_csv(buffer, index=False)
        text = buffer.getvalue()  # data, as it is: but for people's eyes
        sys.stdout.write(printable(text, keep="\n") if sys.stdout.isatty() else text)
    elif form is Format.json:
        print_json(frame.to_dict("records"))
    elif form is Format.table:
        data().print(table if table is not None else frame_table(frame))
    else:
        print_text(_marked_up(frame, form))


def _marked_up(frame: pd.DataFrame, form: Format) -> str:
    from pandas.api.types import is_numeric_dtype

    from jubango.analysis.tables.markup import latex_table, markdown_table

    def text(value: object) -> str:
        return "" if value is None or value != value else f"{value:.6g}" if isinstance(value, float) else str(value)

    align = "".join("r" if is_numeric_dtype(kind) else "l" for kind in frame.dtypes)
    cells = frame.astype(object).where(frame.notna(), None)
    rows = [[text(value) for value in row] for row in cells.itertuples(index=False)]
    if form is Format.latex:
        return "% needs \\usepackage{booktabs}\n" + latex_table(list(map(str, frame.columns)), rows, align)
    return markdown_table(list(map(str, frame.columns)), rows, align)


def print_text(text: str) -> None:
    """Data that is text of several lines."""
    sys.stdout.write(text)


def frame_table(frame: pd.DataFrame) -> Table:
    from pandas.api.types import is_numeric_dtype

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, kind in frame.dtypes.items():
        table.add_column(str(column), justify="right" if is_numeric_dtype(kind) else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(_Cell(str(value)) for value in row))
    return table


class _Cell:
    """Text that breaks between words and, as a bot's spec should, after commas."""

    def __init__(self, text: str) -> None:
        self.parts = [Text(part, overflow="fold") for part in re.split(r"(?<=,)(?=[^\s\d])", text)]

    def __rich_measure__(self, console: rich.console.Console, options: ConsoleOptions) -> Measurement:
        least = max(part.__rich_measure__(console, options).minimum for part in self.parts)
        return Measurement(least, sum(part.cell_len for part in self.parts))

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        line = Text(overflow="fold")
        for part in self.parts:
            if line and line.cell_len + part.cell_len > options.max_width:
                yield line
                line = Text(overflow="fold")
            line.append_text(part)
        yield line


def print_json(value: object) -> None:
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    if not text.replace("\n", "").isprintable():  # JSON says what nobody sees in another way
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write(f"{text}\n")


def print_line(text: str) -> None:
    """A message on stderr: one line, whatever has been quoted in it."""
    line = printable(text)
    cut = line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE // 2]} … {line[-LONGEST_MESSAGE // 2 :]}"
    print(f"jubango: {cut}", file=sys.stderr)


def _plain(value: object) -> object:
    """What JSON knows: numpy's numbers become Python's, infinities text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf" if value < 0 else None
    return value


def show_notes(game: Game, bots: Iterable[BotConfig], judging: bool = False) -> None:
    """What people should know of the bots before they begin, on stderr; ``judging``: also how far their judgement of
    positions is to be believed."""
    from jubango.bots.composition import judging_note, note_on

    notes = [note(game, bot) for bot in bots for note in (note_on, *[judging_note] * judging)]
    for note in filter(None, dict.fromkeys(notes)):
        messages().print(note, style="yellow", soft_wrap=True)


def read_record(path: Path, number: int) -> Record:
    """Game ``number`` of an SGF file; what people should know of how it was read goes to stderr. Raises UserError."""
    from jubango.sgf_games.base.errors import UserError
    from jubango.sgf_games.sgf.positions import Record
    from jubango.sgf_games.sgf.sgf import read_games

    games = read_games(path)
    if number > len(games):
        raise UserError(f"{path}: holds {len(games)} game(s); there is no game {number}")
    if len(games) > 1:
        messages().print(f"{path} holds {len(games)} games; this is number {number}")
    record = Record(games[number - 1])
    for guess in record.sgf.guesses:
        messages().print(guess, style="yellow", soft_wrap=True)
    return record
