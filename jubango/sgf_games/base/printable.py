"""Text from files, engines and people made fit to be shown: the one function that all of it goes through."""

from __future__ import annotations

JOINERS = "\u200c\u200d"  # unseen, but Persian names and joined emoji need them


def printable(text: str, keep: str = "") -> str:
    """Text in which every character is a sign or a space, as many as before; those in ``keep`` stay as they are.

    What would steer a terminal (ESC, the C1 controls), turn the writing round (U+202E) or be no character at all
    becomes ``␛`` or ``�``; no XML document may hold it either.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in JOINERS or char in keep else _sign(char) for char in text)


def _sign(char: str) -> str:
    if char.isspace() and char not in "\x1c\x1d\x1e\x1f":
        return " "
    return chr(0x2400 + ord(char)) if char < " " else "�"
