"""What this program writes into the comments of games, told apart from what people have written there."""

from __future__ import annotations

import re

BEGIN = "— jubango —"
_NOTE = re.compile(rf"\n*^{BEGIN}$(?:(?!^{BEGIN}$).)*?^— by [^\n]* —$", re.DOTALL | re.MULTILINE)


def with_note(text: str, lines: list[str], by: str) -> str:
    """A comment with a note of ours at its end, in place of the one that was there."""
    own = [f" {line}" if line.startswith("—") else line for line in lines]  # none looks like a note's first or last
    return "\n\n".join(filter(None, [without_note(text), "\n".join([BEGIN, *own, f"— by {' '.join(by.split())} —"])]))


def without_note(text: str) -> str:
    """The comment as people have written it."""
    return _NOTE.sub("", text).strip("\n")
