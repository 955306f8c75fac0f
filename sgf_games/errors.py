"""The one exception that means "you gave me something I cannot use".

Its message is one line: what is wrong, where, how to mend it. The command prints it and exits
with status 2; nothing else in the package is allowed to surface as a traceback for bad input.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from jubango.sgf_games.printable import printable


class UserError(ValueError):
    """Bad input from the user, worded for the user, in one line whatever is quoted in it."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)`` for a near miss, else the list of what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else f"; known: {', '.join(names)}"
