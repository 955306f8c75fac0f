"""A board as a picture: what is on it, said once, and written as SVG for notebooks and pages."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.coordinates import COLUMN_LETTERS, Point, star_points

WOOD, PAPER, GRID = "#f3e3c3", "#f7f7f7", "#6b5a3a"
INK, PEARL = "#111111", "#ffffff"  # stones and texts
# What lies under the cell of the best move: how far it stands out, in cells, and its colour.
FRAME = ((0.11, PEARL), (0.07, "#08306b"))


LAST, ON_STONE = 0.2, 0.36  # the ring that marks the last move, its radius; the square of a cell on a stone: its side


class Cell(NamedTuple):
    """What a point shows: a short text on a colour; under a stone the colour alone, in a small square on it."""

    text: str
    fill: str  # #rrggbb

    @property
    def ink(self) -> str:
        """Black or white, whichever is easier to read on ``fill``."""
        return readable_on(self.fill)


@dataclass(frozen=True)
class Diagram:
    """A board to be drawn, whatever draws it."""

    stones: np.ndarray  # int [H, W]: 0 empty, 1 Black, 2 White
    crossings: bool = True  # stones lie where lines cross, as in Go; otherwise in squares
    last: Point | None = None  # the last move, marked
    best: Point | None = None  # the point a search would play: its cell is framed
    cells: Mapping[Point, Cell] = field(default_factory=dict)
    title: str = ""  # one line or several
    hexagonal: bool = False  # lines slant, too, and Black's sides are above and below, White's left and right


def luminance(colour: str) -> float:
    """The relative luminance of ``#rrggbb``, 0 (black) to 1 (white), as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, 1 to 21; text wants 4.5 (WCAG 2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable_on(colour: str) -> str:
    """Black or white."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


Line: TypeAlias = tuple[float, float, float, float]  # (x1, y1, x2, y2); point (row, column) is at x = column, y = row


def grid_lines(diagram: Diagram) -> list[Line]:
    """The lines of a board."""
    height, width = diagram.stones.shape
    out, more = (0.0, 0) if diagram.crossings else (0.5, 1)
    right, bottom = width - 1 + out, height - 1 + out
    lines = [(-out, r - out, right, r - out) for r in range(height + more)]
    lines += [(c - out, -out, c - out, bottom) for c in range(width + more)]
    if diagram.hexagonal:
        for c in range(2 - height, width - 1):  # where a slanting line meets the upper row, on the board or left of it
            first, last = max(0, -c), min(height, width - c) - 1
            lines.append((c + first, first, c + last, last))
    return lines


def sides(diagram: Diagram) -> list[tuple[Line, str]]:
    """The sides that the players of Hex connect, with their colours; of other boards none."""
    height, width = diagram.stones.shape
    if not diagram.hexagonal:
        return []
    left, right, top, bottom = -0.57, width - 0.43, -0.57, height - 0.43
    black = [(left, top, right, top), (left, bottom, right, bottom)]
    white = [(left, top, left, bottom), (right, top, right, bottom)]
    return [(line, INK) for line in black] + [(line, PEARL) for line in white]


def ground(diagram: Diagram) -> str:
    """The colour of the empty board."""
    return WOOD if diagram.crossings else PAPER


def cell_edge(diagram: Diagram) -> str:
    """What separates two cells: the grid, where it goes between them."""
    return WOOD if diagram.crossings else GRID


BOARD_PIXELS = 480  # pixels of a board's side, about
LARGEST_TITLE = 470  # pixels of a line of the title
MARGIN = 24  # the coordinates beside and below the board
LINE = 18  # a line of the title


def board_svg(diagram: Diagram) -> str:
    """The diagram as an SVG document: self-contained, texts escaped, any board from 1x1 to 25x25."""
    height, width = diagram.stones.shape
    size = min(max(BOARD_PIXELS // max(height, width), 22), 60)
    board = MARGIN + width * size + 10
    lines = folded(diagram.title, max(board - 16, LARGEST_TITLE) / 13)
    full = max([board, *(round(13 * breadth(line)) + 16 for line in lines)])
    left, top = (full - board) / 2 + MARGIN, 10 + LINE * len(lines)
    tall = top + height * size + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full}" height="{tall}" viewBox="0 0 {full} {tall}" '
        'role="img" font-family="DejaVu Sans, Verdana, Noto Sans CJK JP, sans-serif" text-anchor="middle">',
        f"<title>{html.escape(' '.join(lines))}</title>" if lines else "",
        f'<rect width="{full}" height="{tall}" fill="{PEARL}"/>',
        *(
            f'<text x="{_n(full / 2)}" y="{17 + LINE * i}" font-size="13" fill="{INK}">{html.escape(line)}</text>'
            for i, line in enumerate(lines)
        ),
        f'<rect x="{_n(left)}" y="{top}" width="{width * size}" height="{height * size}" fill="{ground(diagram)}"/>',
    ]

    def x(column: float) -> str:
        return _n(left + (column + 0.5) * size)

    def y(row: float) -> str:
        return _n(top + (row + 0.5) * size)

    def text(column: float, row: float, what: str, ink: str, points: float) -> str:
        return f'<text x="{x(column)}" y="{y(row)}" dy=".36em" font-size="{_n(points)}" fill="{ink}">{what}</text>'

    def square(point: Point, grown: float, more: str) -> str:
        at, side = f'x="{x(point[1] - 0.5 - grown)}" y="{y(point[0] - 0.5 - grown)}"', _n(size * (1 + 2 * grown))
        return f'<rect {at} width="{side}" height="{side}" {more}/>'

    path = "".join(f"M{x(a)} {y(b)}L{x(c)} {y(d)}" for a, b, c, d in grid_lines(diagram))
    out.append(f'<path d="{path}" stroke="{GRID}" stroke-width="1" fill="none"/>')
    for (a, b, c, d), colour in sides(diagram):
        out.append(f'<path d="M{x(a)} {y(b)}L{x(c)} {y(d)}" stroke="{GRID}" stroke-width="6"/>')
        out.append(f'<path d="M{x(a)} {y(b)}L{x(c)} {y(d)}" stroke="{colour}" stroke-width="4"/>')
    if diagram.crossings and not diagram.hexagonal:
        stars = star_points(height, width)
        out += [f'<circle cx="{x(c)}" cy="{y(r)}" r="{_n(0.09 * size)}" fill="{GRID}"/>' for r, c in stars]
    for point, cell in sorted(diagram.cells.items(), key=lambda item: item[0] == diagram.best):
        if not diagram.stones[point]:
            if point == diagram.best:
                out += [square(point, grown, f'fill="{fill}"') for grown, fill in FRAME]
            points = min(0.4 * size, 0.9 * size / max(1.0, breadth(cell.text)))
            out.append(square(point, 0, f'fill="{cell.fill}" stroke="{cell_edge(diagram)}"'))
            out.append(text(point[1], point[0], html.escape(cell.text), cell.ink, points))
    for r, c in zip(*np.nonzero(diagram.stones), strict=True):
        face, ring = (INK, PEARL) if diagram.stones[r, c] == 1 else (PEARL, INK)
        centre = f'<circle cx="{x(c)}" cy="{y(r)}"'
        out.append(f'{centre} r="{_n(0.46 * size)}" fill="{face}" stroke="{INK}" stroke-width="1"/>')
        if (r, c) in diagram.cells:
            fill = diagram.cells[r, c].fill
            out.append(square((r, c), (ON_STONE - 1) / 2, f'fill="{fill}" stroke="{GRID}" class="on-stone"'))
        if (r, c) == diagram.last:
            out.append(f'{centre} r="{_n(LAST * size)}" fill="none" stroke="{ring}" stroke-width="{_n(0.08 * size)}"/>')
    points = min(12.0, max(9.0, 0.5 * size))
    out += [text(c, height - 0.5 + 11 / size, column_name(c), INK, points) for c in range(width)]
    out += [text(-0.5 - 11 / size, r, str(height - r), INK, points) for r in range(height)]
    return "\n".join([part for part in out if part] + ["</svg>"])


def column_name(column: int) -> str:
    """``A``; beyond the alphabet, on boards of games that are not ours, nothing."""
    return COLUMN_LETTERS[column] if column < len(COLUMN_LETTERS) else ""


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def breadth(text: str) -> float:
    """About how wide a text is, in units of its font's size."""
    return sum(1.0 if unicodedata.east_asian_width(char) in "WF" else 0.6 for char in text)


def folded(text: str, limit: float) -> list[str]:
    """Lines of at most about that breadth, broken after commas, else at spaces; a longer word is shortened."""
    out: list[str] = []
    for line in text.splitlines():
        out.append("")
        for clause in re.findall(r".*?(?:, |$)", printable(line)):
            if breadth((out[-1] + clause).rstrip()) > limit and out[-1]:
                out.append("")
            for word in re.findall(r"\S*\s*", clause) if breadth(clause.rstrip()) > limit else [clause]:
                if breadth((out[-1] + word).rstrip()) > limit and out[-1]:
                    out.append("")
                out[-1] += shortened(word, limit)
    return [line.strip() for line in out if line.strip()]


def shortened(text: str, limit: float) -> str:
    """Text of at most that breadth, its middle left out."""
    if breadth(text.rstrip()) <= limit:
        return text
    keep = len(text) - 1
    while keep > 2 and breadth(text[: keep - keep // 2] + "…" + text[-(keep // 2) :]) > limit:
        keep -= 1
    return text[: keep - keep // 2] + "…" + text[-(keep // 2) :]
