"""Boards as pictures: in the terminal, on matplotlib axes, as a PNG; as SVG they write themselves."""

from __future__ import annotations

import functools
import io
import itertools
import logging
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from jubango.analysis.positions.heat import FEWEST, Heat, hex_colour
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.rules.coordinates import Point, star_points
from jubango.sgf_games.sgf.diagram import (
    FRAME,
    GRID,
    INK,
    LAST,
    ON_STONE,
    PEARL,
    Cell,
    Diagram,
    board_svg,
    cell_edge,
    column_name,
    folded,
    grid_lines,
    ground,
    readable_on,
    sides,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, WHITE = "●", "○"
# A board's own ground, where there is colour, so that Black is dark and White bright on any terminal.
WOOD = "#dcb35c"
STONE_STYLES = {BLACK: f"bold #000000 on {WOOD}", WHITE: f"bold #ffffff on {WOOD}"}
ON_WOOD = f"#6b4f1d on {WOOD}"  # what is not a stone
# Fonts with Chinese, Japanese and Korean characters, as the usual systems have them.
EAST_ASIAN = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Source Han Sans", "WenQuanYi Zen Hei", "IPAGothic",
    "Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic",
    "Arial Unicode MS",
)  # fmt: skip
# Fonts of boxes for every character there is, and of TeX, which has characters of its own at the places of others.
NO_FONTS = ("Last Resort", "cm")


def stone_text(mark: str) -> Text:
    """BLACK or WHITE as on the board."""
    return Text().append(mark, style=STONE_STYLES[mark])


def board_text(
    stones: np.ndarray, last: Point | None = None, cells: Mapping[Point, Cell] | None = None, tight: bool = False,
    big: bool = False, slanted: bool = False,
) -> Text:  # fmt: skip
    """The board for a terminal: [H, W] stones (0, 1 Black, 2 White), the last move in brackets, and the texts of
    ``cells`` on their colours where there is colour; stones lie on theirs. ``tight``: a bracket may touch a
    number. ``big``: twice as wide and high. ``slanted``: each row half a cell further to the right than the one below,
    as in Hex."""
    height, width = stones.shape
    cells = cells or {}
    beside = (last[0], last[1] + 1) if last is not None and not tight else None
    lengths = [len(cell.text) + 1 + (point == beside) for point, cell in cells.items() if not stones[point]]
    cell = max(3, *lengths) if lengths else 3 if cells else 4 if big else 2
    cell += slanted and cell % 2  # it is halved
    indents = [" " * (slanted * (height - 1 - r) * cell // 2) for r in range(height)]
    text = Text(no_wrap=True)
    header = "   " + "".join(column_name(c).rjust(cell) for c in range(width))
    text.append(f"{indents[0]}{header}\n", style="dim")
    for r in range(height):
        text.append(f"{indents[r]}{height - r:>3}", style="dim")
        for c in range(width):
            is_last = last == (r, c)
            closing = last == (r, c - 1)  # the bracket after the last move is the next cell's first sign
            under = cells.get((r, c))
            if stones[r, c]:
                mark = BLACK if stones[r, c] == 1 else WHITE
                pad = " " * (cell - 1)
                pad = ")" + pad[1:] if closing else pad
                text.append(pad[:-1] + "(" if is_last else pad, style=STONE_STYLES[BLACK])
                text.append(
                    mark, style=f"bold {readable_on(under.fill)} on {under.fill}" if under else STONE_STYLES[mark]
                )
            elif under is not None:
                text.append(")" if closing else " ", style=STONE_STYLES[BLACK])
                text.append(under.text.rjust(cell - 1), style=f"{under.ink} on {under.fill}")
            else:
                text.append(")" if closing else " ", style=STONE_STYLES[BLACK])
                text.append("·".rjust(cell - 1), style=ON_WOOD)
        text.append(")" if last == (r, width - 1) else " ", style=STONE_STYLES[BLACK])
        text.append(f" {height - r}\n", style="dim")
        if big and r < height - 1:
            text.append(f"{indents[r + 1]}   ").append(" " * (cell * width + 1), style=ON_WOOD).append("\n")
    text.append(header, style="dim")
    return text


def heat_text(stones: np.ndarray, last: Point | None, heat: Heat, width: int, slanted: bool = False) -> Text:
    """The board with a heatmap in ``width`` characters; where the numbers are too wide, with shorter ones, and
    ``slanted`` where there is room. Visits that say nothing beside the others, fewer than ``FEWEST`` and than a
    hundredth of the most visited, are left out."""
    few = min(FEWEST, heat.limits[1] / 100) if heat.kind == "count" else -np.inf
    cells = {point: cell for point, cell in heat.cells().items() if not heat.grid[point] < few}
    head, short = _shorter(heat)
    shorter = {point: cell._replace(text=short(float(heat.grid[point]))) for point, cell in cells.items()}
    for slant, own, tight in itertools.product((True, False) if slanted else (False,), (cells, shorter), (False, True)):
        board = board_text(stones, last, own, tight, slanted=slant)
        if _fits(board, width):
            break
    return board if own is cells else Text(f"{head}\n", style="dim", no_wrap=True) + board


def _shorter(heat: Heat) -> tuple[str, Callable[[float], str]]:
    """What to say, and numbers of two characters."""
    if heat.scale != "amount":
        return "in tenths; a wider terminal shows percents", lambda value: f"{max(-9, min(9, round(10 * value))):+d}"
    total = 1.0 if heat.percent else max(1.0, float(np.nansum(heat.grid)))
    what = "whole percents" if heat.percent else f"% of the {heat.name}"
    return f"{what}; a wider terminal shows their numbers", lambda value: str(min(99, round(100 * value / total)))


def _fits(board: Text, width: int) -> bool:
    return max(map(len, board.plain.splitlines())) <= width


def draw(diagram: Diagram, axes: Axes | None = None) -> Axes:
    """Draw a diagram on matplotlib axes, new ones if none are given, and return them.

    Point (row, column) is at x = column, y = row. All that is on the board grows and shrinks with the axes. Raises
    UserError where matplotlib is not installed.
    """
    need("matplotlib")
    from matplotlib.patches import Circle, Rectangle

    height, width = diagram.stones.shape
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.figure(figsize=figure_size(diagram), layout="constrained").add_subplot()
    axes.set_aspect("equal", anchor="N")  # at the top, or a layout leaves too little room for the title
    axes.set_xlim(-1.25, width - 0.3)
    axes.set_ylim(height + 0.25, -0.7)
    axes.set_axis_off()
    axes.add_patch(Rectangle((-0.5, -0.5), width, height, facecolor=ground(diagram), linewidth=0, zorder=0))
    for x1, y1, x2, y2 in grid_lines(diagram):
        axes.plot([x1, x2], [y1, y2], color=GRID, linewidth=0.7, zorder=1)
    for (x1, y1, x2, y2), colour in sides(diagram):
        axes.plot([x1, x2], [y1, y2], color=GRID, linewidth=4.5, zorder=1)
        axes.plot([x1, x2], [y1, y2], color=colour, linewidth=3, zorder=1)
    if diagram.crossings and not diagram.hexagonal:
        for r, c in star_points(height, width):
            axes.add_patch(Circle((c, r), 0.09, color=GRID, linewidth=0, zorder=1))

    def square(point: Point, grown: float, fill: str, edge: str, zorder: float) -> None:
        corner, side = (point[1] - 0.5 - grown, point[0] - 0.5 - grown), 1 + 2 * grown
        axes.add_patch(Rectangle(corner, side, side, facecolor=fill, edgecolor=edge, linewidth=0.6, zorder=zorder))

    if diagram.best is not None:
        for grown, fill in FRAME:
            square(diagram.best, grown, fill, fill, 3)
    for (r, c), cell in diagram.cells.items():
        if not diagram.stones[r, c]:
            square((r, c), 0, cell.fill, cell_edge(diagram), 4 if (r, c) == diagram.best else 2)
            _write(axes, c, r, cell.text, cell.ink, 0.4, 0.86)
    for r, c in zip(*np.nonzero(diagram.stones), strict=True):
        face, ring = (INK, PEARL) if diagram.stones[r, c] == 1 else (PEARL, INK)
        axes.add_patch(Circle((c, r), 0.46, facecolor=face, edgecolor=INK, linewidth=0.8, zorder=5))
        if (r, c) in diagram.cells:
            side = ON_STONE
            at, fill = (c - side / 2, r - side / 2), diagram.cells[r, c].fill
            axes.add_patch(Rectangle(at, side, side, facecolor=fill, edgecolor=GRID, linewidth=0.6, zorder=6))
        if (r, c) == diagram.last:
            axes.add_patch(Circle((c, r), LAST, fill=False, edgecolor=ring, linewidth=1.5, zorder=6))
    size = 0.16 + 0.24 * min(max(height, width), 19) / 19
    for c in range(width):
        _write(axes, c, height - 0.35 + 0.7 * size, column_name(c), INK, size, 0.6)
    for r in range(height):
        _write(axes, -0.6 - 0.7 * size, r, str(height - r), INK, size, 0.6)
    if diagram.title:
        _title(axes, diagram.title)
    return axes


def _write(axes: Axes, x: float, y: float, text: str, ink: str, size: float, widest: float) -> None:
    """A short text in the axes' own units, so that it fits its cell on whatever scale."""
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    if not text:
        return
    path = TextPath((0, 0), text, size=1)
    box = path.get_extents()
    scale = min(size, widest / box.width)
    place = Affine2D().translate(-(box.x0 + box.x1) / 2, -0.365).scale(scale, -scale).translate(x, y)
    axes.add_patch(PathPatch(path.transformed(place), facecolor=ink, linewidth=0, snap=False, zorder=7))


def _title(axes: Axes, title: str) -> None:
    """Lines as long as the axes are wide, in fonts that have the names' characters if this machine has any."""
    wide = axes.get_window_extent().width / axes.figure.dpi * 72  # points
    size = min(11.0, max(6.0, wide / 34))
    text, families = drawable(printable(title, keep="\n"), font_names())
    axes.set_title("\n".join(folded(text, wide / size)), fontsize=size, fontfamily=families, parse_math=False)


def drawable(text: str, fonts: Sequence[str]) -> tuple[str, list[str]]:
    """The text, and those of ``fonts`` to draw it in, the first always. A character that none of them has becomes its
    plainer form if there is one, like A for a wide Ａ, or else its number: ``\\u5f20``."""
    used, missing = list(fonts[:1]), set(text) - {"\n"} - _characters(fonts[0])
    for font in fonts[1:]:
        if not missing:
            break
        if missing & _characters(font):
            used.append(font)
            missing -= _characters(font)
    known = frozenset().union(*map(_characters, used))

    def plainer(char: str) -> str:
        plain = unicodedata.normalize("NFKC", char)
        return plain if known.issuperset(plain) else char.encode("unicode_escape").decode()

    return "".join(plainer(char) if char in missing else char for char in text), used


@functools.cache
def font_names() -> tuple[str, ...]:
    """matplotlib's own, then those for Chinese, Japanese and Korean, then whatever else this machine has."""
    from matplotlib.font_manager import fontManager

    # A font that comes in one weight, which is not called normal, is as good as any.
    logging.getLogger("matplotlib.font_manager").addFilter(lambda record: "find font weight" not in record.msg)
    here = {font.name for font in fontManager.ttflist if not font.name.startswith(NO_FONTS)}
    known = ("DejaVu Sans", *(name for name in EAST_ASIAN if name in here))
    return (*known, *sorted(here.difference(known)))


@functools.cache
def _characters(font: str) -> frozenset[str]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(map(chr, get_font(findfont(font)).get_charmap()))


def figure_size(diagram: Diagram) -> tuple[float, float]:
    """Inches: wide enough for the title, as high as the board asks."""
    height, width = diagram.stones.shape
    return 7.2, 6.6 * (height + 0.95) / (width + 0.95) + 0.6


def check_format(path: Path) -> None:
    """Raises UserError if pictures cannot be written in the format that the file's name asks for."""
    need("matplotlib", str(path))
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix and path.suffix[1:].lower() not in known:
        raise UserError(f'{path}: pictures have no format "{path.suffix[1:]}"{nearest(path.suffix[1:], known)}')


def save_png(path: Path | str, diagram: Diagram, heat: Heat | None = None) -> None:
    """Write a diagram as a picture, beside it the colour scale of ``heat``; as SVG by :func:`board_svg`, with texts
    in the fonts of who looks at it. Raises OSError, ValueError, UserError where matplotlib is not installed."""
    if Path(path).suffix.lower() == ".svg":
        write_safely(Path(path), board_svg(diagram).encode())
        return
    need("matplotlib", str(path))
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=figure_size(diagram), dpi=200, layout="constrained")
    axes = draw(diagram, figure.add_subplot())
    if heat is not None:
        scale = 100 if heat.percent else 1
        colours = LinearSegmentedColormap.from_list("heat", [hex_colour(i / 16, heat.scale) for i in range(17)])
        low, high = heat.limits
        norm = Normalize(scale * low, scale * high)
        bar = figure.colorbar(ScalarMappable(norm, colours), ax=axes, fraction=0.04, pad=0.02)
        name, families = drawable(printable(heat.name), font_names())
        bar.set_label(name, fontfamily=families, parse_math=False)
    save_figure(path, figure)


def save_figure(path: Path | str, figure: Figure) -> None:
    """Write a picture of the kind that the file's name says, PNG where it says none; the file is there whole or as it
    was. Raises OSError, ValueError."""
    path = Path(path)
    data = picture(figure, path.suffix[1:].lower() or "png")
    write_safely(path if path.suffix else path.with_suffix(".png"), data)


def picture(figure: Figure, kind: str = "png") -> bytes:
    """What a file of a picture of this kind holds. Raises ValueError for an unknown one."""
    data = io.BytesIO()
    figure.savefig(data, format=kind)
    return data.getvalue()
