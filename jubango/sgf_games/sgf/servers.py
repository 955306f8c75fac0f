"""Games as the servers Tygem and wBaduk (Cyberoro) keep them, GIB and NGF, told as SGF.

Neither format has a published description; read is what their files are seen to hold. Both count points from the upper
left, as SGF does, GIB from 0 in numbers and NGF from B in letters.
"""

from __future__ import annotations

import re

from jubango.sgf_games.base.errors import UserError

SUFFIXES = (".gib", ".ngf")
ENCODINGS = ("utf-8", "euc_kr", "gb18030")
SERVER_LETTERS = "abcdefghijklmnopqrs"
GIB_RESULTS = {"0": "B+", "1": "W+", "3": "B+R", "4": "W+R", "7": "B+T", "8": "W+T"}
KOMI = 6.5  # of both, where none is said
MOST_KOMI = 20.0  # what is more is no komi
SIZES = range(2, 20)


def as_sgf(data: bytes, name: str) -> bytes:
    """A file of these formats, by its ``name``'s suffix, as SGF; anything else as it is. Raises UserError, which begins
    with the name."""
    suffix = name[-4:].lower()
    if suffix not in SUFFIXES:
        return data
    text = _decoded(data)
    try:
        size, root, moves = _gib(text) if suffix == ".gib" else _ngf(text)
    except (ValueError, IndexError):
        raise UserError(f"{name}: is no {suffix[1:].upper()} file, or a damaged one") from None
    if not moves:
        raise UserError(f"{name}: is no {suffix[1:].upper()} file: it holds no move")
    said = "".join(f"{key}[{_escaped(value)}]" for key, value in root.items() if value)
    nodes = "".join(f";{colour}[{point}]" for colour, point in moves)
    return f"(;GM[1]FF[4]CA[UTF-8]SZ[{size}]{said}{nodes})".encode()


def _gib(text: str) -> tuple[int, dict[str, str], list[tuple[str, str]]]:
    """(size, root properties, moves)."""
    tags = dict(re.findall(r"\\\[(\w+)=(.*?)\\\]", text, re.S))
    main = dict(re.findall(r"(\w+):([^,]*)", tags.get("GAMEINFOMAIN", "")))
    result = GIB_RESULTS.get(main.get("GRLT", ""), "")
    if result.endswith("+"):
        result += f"{int(main['ZIPSU']) / 10:g}"
    begin = re.search(r"^INI \d+ \d+ (\d+)", text, re.M)
    if begin is None:
        raise ValueError("no beginning")
    handicap = int(begin[1])
    komi = main.get("GONGJE", "") or (re.findall(r"(?:^|,)W(\d+)", tags.get("GAMETAG", "")) or [""])[0]
    moves, colour = [], "W" if handicap > 1 else "B"
    for line in re.findall(r"^(?:STO \d+ \d+ [12] \d+ \d+|SKI .*)", text, re.M):
        words = line.split()
        if words[0] == "STO":
            colour = "BW"[int(words[3]) - 1]
            moves.append((colour, SERVER_LETTERS[int(words[4])] + SERVER_LETTERS[int(words[5])]))
        else:  # a pass
            moves.append((colour, ""))
        colour = "W" if colour == "B" else "B"
    root = {
        "PB": tags.get("GAMEBLACKNAME", "").strip(), "PW": tags.get("GAMEWHITENAME", "").strip(),
        "DT": tags.get("GAMEDATE", "").strip(), "RE": result, **_terms(handicap, int(komi) / 10 if komi else None),
    }  # fmt: skip
    return 19, root, moves


def _ngf(text: str) -> tuple[int, dict[str, str], list[tuple[str, str]]]:
    """(size, root properties, moves)."""
    lines = [line.strip() for line in text.strip().splitlines()]
    size, handicap, komi = int(lines[1]), int(lines[5]), float(lines[7])
    if size not in SIZES:
        raise ValueError("no such board")
    letters, moves = "B" + "CDEFGHIJKLMNOPQRSTUVWXYZ"[: size - 1], []
    for line in lines[11:]:
        if move := re.match(r"PM..([BW])(.)(.)", line):
            column, row = letters.find(move[2]), letters.find(move[3])
            moves.append((move[1], "" if min(column, row) < 0 else SERVER_LETTERS[column] + SERVER_LETTERS[row]))
    date = re.match(r"(\d{4})(\d\d)(\d\d)", lines[8])
    root = {
        "PB": lines[3].split()[0], "PW": lines[2].split()[0], "DT": "-".join(date.groups()) if date else "",
        "RE": _ngf_result(lines[10]),
        **_terms(handicap, komi + 0.5 if komi.is_integer() and not handicap else komi),
    }  # fmt: skip
    return size, root, moves


def _ngf_result(said: str) -> str:
    """``White wins by resignation``, ``흑 3집반 승``."""
    words = said.lower()
    winner = "B" if "black" in words or "흑" in words else "W" if "white" in words or "백" in words else ""
    if not winner:
        return ""
    if "resign" in words or "불계" in words:
        return f"{winner}+R"
    if "time" in words or "시간" in words:
        return f"{winner}+T"
    points = re.search(r"(\d+(?:\.\d+)?)\s*(집\s*반)?", words)
    return f"{winner}+{float(points[1]) + 0.5 * bool(points[2]):g}" if points else f"{winner}+"


def _terms(handicap: int, komi: float | None) -> dict[str, str]:
    usual = 0.5 if handicap else KOMI
    known = komi if komi is not None and abs(komi) <= MOST_KOMI else usual
    return {"HA": str(handicap) if handicap > 1 else "", "KM": f"{known:g}"}


def _decoded(data: bytes) -> str:
    for encoding in ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
