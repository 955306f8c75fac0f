"""Terminals and files that know few characters: what is drawn is drawn with letters, and nothing fails by it. And
warnings in one line."""

from __future__ import annotations

import codecs
import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

# One sign for one, so that tables and boards keep their columns.
PLAIN_SIGNS = {
    "●": "X", "○": "O", "·": ".", "±": "~", "–": "-", "—": "-", "…": "~", "×": "x", "→": ">", "─": "-", "━": "=",
    "╸": "-", "╺": "-", "┼": "+", "│": "|", "█": "#", "✓": "v", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def speak_plainly() -> None:
    """For the rest of the process stdout and stderr write a likeness of every character that their encoding lacks, and
    a SetupWarning is a message as others are, without a place in the code. A compiled program that JAX cannot read is
    made again, which is no news."""
    warnings.showwarning = functools.partial(_warn, warnings.showwarning)
    warnings.filterwarnings("always", message="Error (reading|writing) persistent compilation cache")  # each is mended
    codecs.register_error("jubango", _likeness)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="jubango")


def _warn(others: Callable[..., None], message: Warning | str, category: type[Warning], *where: Any) -> None:
    from jubango.arena.commands.terminal.output import print_line
    from jubango.sgf_games.base.errors import SetupWarning
    from jubango.sgf_games.compute.cache import drop_broken

    if issubclass(category, SetupWarning):
        print_line(str(message))
    elif not drop_broken(str(message)):
        others(message, category, *where)


def _likeness(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    piece = error.object[error.start : error.end]
    said = "".join(PLAIN_SIGNS.get(char, "*" if "⠀" <= char <= "⣿" else "?") for char in piece)
    try:
        said.encode(error.encoding)
    except UnicodeError:
        return b"?" * len(piece), error.end
    return said, error.end
