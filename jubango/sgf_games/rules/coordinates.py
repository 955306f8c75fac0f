"""Names of points: GTP vertices (``D4``, rows count from below, no I) and SGF pairs (``dd``, from above)."""

from __future__ import annotations

import functools
import re

from jubango.sgf_games.base.errors import UserError

Point = tuple[int, int]  # (row, column), row 0 at the top

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def vertex(point: Point | None, height: int) -> str:
    """``(15, 3)`` on 19 rows is ``D4``; None is ``pass``."""
    if point is None:
        return "pass"
    row, column = point
    return f"{COLUMNS[column]}{height - row}"


@functools.lru_cache(maxsize=4096)
def parse_vertex(text: str, height: int, width: int) -> Point | None:
    """The inverse of :func:`vertex`, in either case. Raises UserError for a point off the board."""
    word = text.strip().upper()
    if word == "PASS":
        return None
    column = COLUMNS.find(word[:1]) if word else -1
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
