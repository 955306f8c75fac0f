"""The text of a file whose encoding is declared, or is not, or is declared wrongly."""

from __future__ import annotations

import bisect
import codecs
import itertools
import re

ASCII = bytes(range(32, 127)) + b"\\n\\u0041+AGE-"  # what an encoding has to leave as it is
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# What programs mean that write these names: the encoding of the system they run on, which holds more.
MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc_kr": "cp949"}
MOST_WRONG = 0.1  # of the characters beyond ASCII: a comment cut short is no other encoding
ENOUGH = 2 / 3  # of them are everyday Chinese ones where GB18030 is guessed


def decoded(data: bytes, declared: re.Pattern[bytes], start: re.Pattern[bytes]) -> tuple[str, str]:
    """The text of ``data``, and in words what had to be guessed to read it, if anything had.

    ``declared`` finds where an encoding is named (its first group); the name holds from the last ``start`` before it
    until another part names its own. Before the first it is UTF-8.
    """
    mark = next((mark for mark in MARKS if data.startswith(mark)), None)
    if mark is not None:
        return data.decode(MARKS[mark], "replace"), ""
    starts = [place.start() for place in start.finditer(data)]
    names = {0: ""}
    for name in declared.finditer(data):
        number = bisect.bisect(starts, name.start())
        first = starts[number - 1] if number > 1 else 0
        names[first] = names.get(first) or name[1].decode("ascii", "replace").strip()
    ends = [*itertools.islice(names, 1, None), len(data)]
    parts = [_part(data[first:end], name) for (first, name), end in zip(names.items(), ends, strict=True)]
    return "".join(text for text, _ in parts), next((guess for _, guess in parts if guess), "")


def _part(data: bytes, declared: str) -> tuple[str, str]:
    usable = _usable(declared) if declared else "utf-8"
    if usable and (text := _fitting(data, usable)) is not None:
        return text, ""
    unfit = f"is declared to be {declared}, which {'it is not' if usable else 'is no encoding known here'}"
    why = unfit if declared else "declares no encoding and is no UTF-8"
    for guess in ("utf-8", "gb18030"):
        if (text := _fitting(data, guess)) is not None and (guess == "utf-8" or _chinese(text)):
            return text, "" if text.isascii() else f"the text {why}; read as {guess.upper()}, a guess"
    return data.decode("latin-1"), f"the text {why}; read as Latin-1, a guess"


def _usable(name: str) -> str:
    """An encoding of Python's that reads files of this declared one; empty if there is none that leaves ASCII alone."""
    try:
        known = codecs.lookup(name).name
        return MEANT.get(known, known) if ASCII.decode(known, "replace") == ASCII.decode("ascii") else ""
    except (LookupError, ValueError):
        return ""


def _fitting(data: bytes, encoding: str) -> str | None:
    """The text, if nearly all of it can be read."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    beyond = sum(not char.isascii() for char in text)
    return text if text.count("�") <= MOST_WRONG * beyond else None


def _chinese(text: str) -> bool:
    """Is what is beyond ASCII mostly what GB2312 has? Of Latin letters in pairs, misread, little is."""
    plain = sum(char.isascii() for char in text)
    return (len(text.encode("gb2312", "ignore")) - plain) / 2 >= ENOUGH * (len(text) - plain)
