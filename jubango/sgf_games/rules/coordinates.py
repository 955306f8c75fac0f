"""Names of points: GTP vertices (``D4``, rows count from below, no I) and SGF pairs (``dd``, from above)."""

from __future__ import annotations

import functools
import re

from jubango.sgf_games.base.errors import UserError

Point = tuple[int, int]  # (row, column), row 0 at the top

COLUMN_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Fixed handicap points by row (top, middle, bottom) and column (left, middle, right); GTP 2, section 4.1.1.
_HANDICAP_ORDER = ("bl", "tr", "tl", "br", "ml", "mr", "bm", "tm", "mm")


def vertex(point: Point | None, height: int) -> str:
    """``(15, 3)`` on 19 rows is ``D4``; None is ``pass``."""
    if point is None:
        return "pass"
    row, column = point
    return f"{COLUMN_LETTERS[column]}{height - row}"


@functools.lru_cache(maxsize=4096)
def parse_vertex(text: str, height: int, width: int) -> Point | None:
    """The inverse of :func:`vertex`, in either case. Raises UserError for a point off the board."""
    word = text.strip().upper()
    if word == "PASS":
        return None
    column = COLUMN_LETTERS.find(word[:1]) if word else -1
    number = re.fullmatch(r"\d{1,4}", word[1:], re.ASCII)
    if column < 0 or not number:
        raise UserError(f'"{text}" is no point; write a column letter and a row number, like D4')
    row = height - int(number[0])
    if not (0 <= row < height and column < width):
        raise UserError(f'"{text}" is not on the {width}x{height} board')
    return row, column


@functools.lru_cache(maxsize=4096)
def sgf_pair(point: Point | None) -> str:
    """``(3, 15)`` is ``pd``; a pass is the empty string."""
    if point is None:
        return ""
    row, column = point
    return LETTERS[column] + LETTERS[row]


def parse_sgf_pair(text: str, height: int, width: int) -> Point | None:
    """The inverse of :func:`sgf_pair`; ``tt`` is a pass on boards up to 19x19. Raises UserError."""
    if text == "" or (text == "tt" and height <= 19 and width <= 19):
        return None
    if len(text) != 2 or text[0] not in LETTERS or text[1] not in LETTERS:
        raise UserError(f'"{text}" is no SGF point')
    column, row = LETTERS.index(text[0]), LETTERS.index(text[1])
    if not (row < height and column < width):
        raise UserError(f'SGF point "{text}" is not on the {width}x{height} board')
    return row, column


def star_points(height: int, width: int) -> list[Point]:
    """The marked points of a Go board."""

    def lines(n: int) -> list[int]:
        edge = 3 if n >= 13 else 2
        return sorted({edge, n - 1 - edge} | ({n // 2} if n % 2 and n >= 9 else set())) if n >= 7 else []

    rows, columns = lines(height), lines(width)
    if height < 13 or width < 13:  # small boards: corners and the centre
        middle = [(height // 2, width // 2)] if height % 2 and width % 2 and rows and columns else []
        corners = [(r, c) for r in (rows[0], rows[-1]) for c in (columns[0], columns[-1])] if rows and columns else []
        return [*corners, *middle]
    return [(r, c) for r in rows for c in columns]


def usual_handicap(height: int, width: int, stones: int) -> list[Point]:
    """The fixed handicap points of GTP, in its order. Raises UserError where there are none."""
    with_middle = min(width, height) >= 9 and width % 2 and height % 2
    if min(width, height) < 7 or not 2 <= stones <= (9 if with_middle else 4):
        raise UserError(f"HA[{stones}]: no usual points for that on {width}x{height}; add the stones as AB")
    edge_r, edge_c = (3 if n >= 13 else 2 for n in (height, width))
    rows = {"t": edge_r, "m": height // 2, "b": height - 1 - edge_r}
    columns = {"l": edge_c, "m": width // 2, "r": width - 1 - edge_c}
    chosen = list(_HANDICAP_ORDER[:stones]) if stones in (2, 3, 4, 6, 8) else [*_HANDICAP_ORDER[: stones - 1], "mm"]
    return [(rows[name[0]], columns[name[1]]) for name in chosen]
