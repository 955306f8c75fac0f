"""The exceptions whose messages are for people: each is one line, what is wrong, where, how to mend it.

"You gave me something I cannot use" ends the command with status 2; nothing else in the package is allowed to surface
as a traceback for bad input. "What went well so far cannot go on" ends it with status 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from jubango.sgf_games.base.printable import printable


class UserError(ValueError):
    """Bad input, said in one line: what, where, how to mend it."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class SetupWarning(UserWarning):
    """One line about a machine that is not set up in full: jubango works, but on fewer cores, or without a cache."""


class CannotGoOn(RuntimeError):
    """Something that play needs is there no more, an engine's program or room on the disk; what was kept stays."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)`` for a near miss, else the list of what there is."""
    names = {name.lower(): name for name in sorted(known)}
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f'; did you mean "{names[close[0]]}"?' if close else f"; known: {', '.join(names.values())}"
