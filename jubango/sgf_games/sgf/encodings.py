"""The text of a file whose encoding is declared, or is not, or is declared wrongly."""

from __future__ import annotations

import bisect
import codecs
import functools
import itertools
import re

ASCII = bytes(range(32, 127)) + b"\\n\\u0041+AGE-"  # what an encoding has to leave as it is
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# What programs mean that write these names: the encoding of the system they run on, which holds more.
MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc_kr": "cp949"}
WINDOWS = re.compile(r"^windows-(9\d\d)$")  # names that Python lacks
MOST_WRONG = 0.1  # of the characters beyond ASCII: a comment cut short is no other encoding
ENOUGH = 1 / 2  # of the letters beyond ASCII are everyday ones of the language that is guessed
ENOUGH_HANGUL = 2 / 3  # are in SYLLABLES; of everyday Chinese characters, misread, fewer are
# Encodings of two bytes whose everyday characters begin with these: the commoner half of what they hold, and kana.
LEADS = {
    "gb18030": range(0xB0, 0xD8),
    "cp950": range(0xA4, 0xC7),
    "cp932": [*range(0x82, 0x84), *range(0x88, 0x98)],
}
# Hangul lies where everyday Chinese characters do: what is common in names and in talk of Go tells them apart.
SYLLABLES = (
    "가각간갈감강개거건걸검경계고곡공과관광교구국군권귀규균그극근글금급기길김나난남내노누눈는니다단달담당대더덕데도독돌동두둑드득들등"
    "디라락란람랑래량러력련령로록론료루류륙률르른를름리린림마만말맞매맹면명모목무문물미민바박반방배백번범법변병보복본봉부북불비빈사"
    "산삼상새색생서석선설성세소손송수순숙술스승시식신실심십아안알애야약양어언얼업에여역연열영예오온올와완왕외요용우욱운울원월위유육윤"
    "율은을음의이익인일임입있자작잔장재저적전점정제조종좌주준중지직진집차창채처천철첫청초최추축춘충치친칠카타탁태택토통투트특파판팔패편"
    "평포표프하학한할함합해행향허혁현형호혼홍화환황회효후훈휘흑흥희"
)


def decoded(data: bytes, declared: re.Pattern[bytes], start: re.Pattern[bytes]) -> tuple[str, str]:
    """The text of ``data``, and in words what had to be guessed to read it, if anything had.

    ``declared`` finds where an encoding is named (its first group); the name holds from the last ``start`` before it
    until another part names its own. Before the first it is UTF-8.
    """
    mark = next((mark for mark in BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if mark is not None:
        return data.decode(BYTE_ORDER_MARKS[mark], "replace"), ""
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
    guess = "utf-8" if _fitting(data, "utf-8") is not None else _guessed(data)
    text = _fitting(data, guess)
    assert text is not None
    names = {"latin-1": "Latin-1"}
    return text, "" if text.isascii() else f"the text {why}; read as {names.get(guess, guess.upper())}, a guess"


def _usable(name: str) -> str:
    """An encoding of Python's that reads files of this declared one; empty if there is none that leaves ASCII alone."""
    try:
        known = codecs.lookup(WINDOWS.sub(r"cp\g<1>", name.lower().removeprefix("x-").replace("31j", "932"))).name
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


def _guessed(data: bytes) -> str:
    """The encoding in which most of the letters are everyday ones of its language, else Latin-1."""
    if not re.search(rb"[\x80-\xff]{2}", data):  # letters with accents stand alone, as a rule
        return "latin-1"
    texts = {name: text for name in ("cp949", *LEADS) if (text := _fitting(data, name)) is not None}
    shares = {name: _share(text, _everyday(name)) for name, text in texts.items()}
    if shares.pop("cp949", 0.0) > ENOUGH_HANGUL:
        return "cp949"
    best = max(shares, key=shares.__getitem__, default="latin-1")
    return best if shares.get(best, 0.0) >= ENOUGH else "latin-1"


def _share(text: str, known: frozenset[str]) -> float:
    letters = [char for char in text if not char.isascii() and char.isalpha()]
    return sum(char in known for char in letters) / max(1, len(letters))


@functools.cache
def _everyday(encoding: str) -> frozenset[str]:
    """Characters that texts of this encoding are mostly made of."""
    if encoding == "cp949":
        return frozenset(SYLLABLES)
    first = 0xA1 if encoding == "gb18030" else 0x40
    pairs = (bytes([lead, trail]) for lead in LEADS[encoding] for trail in range(first, 0xFF))
    return frozenset("".join(pair.decode(encoding, "ignore") for pair in pairs))
