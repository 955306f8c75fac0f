"""The one exception that means "you gave me something I cannot use", and one for results that cannot be kept.

A message is one line: what is wrong, where, how to mend it. The command prints it and exits with status 2 (bad input)
or 1; nothing else in the package is allowed to surface as a traceback for either.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Bad input from the user, worded for the user: one line, whatever characters the input has."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in message))


class StorageError(RuntimeError):
    """What is finished cannot be kept: the disk is full, say. What was kept before stays."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)`` for a near miss, else the list of what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else f"; known: {', '.join(names)}"
