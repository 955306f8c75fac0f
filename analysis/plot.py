"""Boards as pictures: stones and visit counts, in the terminal and as a PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from jubango.sgf_games.coordinates import COLUMNS, Point

# A sequential scale, light to dark, that keeps its order in grey and for the colour-blind.
_SCALE = ((254, 240, 217), (253, 204, 138), (252, 141, 89), (227, 74, 51), (179, 0, 0))
BLACK, WHITE = "●", "○"


def scale_colour(share: float) -> tuple[int, int, int]:
    """RGB for a share in [0, 1] of the largest count."""
    place = min(max(share, 0.0), 1.0) * (len(_SCALE) - 1)
    i = min(int(place), len(_SCALE) - 2)
    low, high = _SCALE[i], _SCALE[i + 1]
    return tuple(round(a + (b - a) * (place - i)) for a, b in zip(low, high, strict=True))  # type: ignore[return-value]


def short_count(count: int) -> str:
    """At most four characters: 1234, 12k, 1.2M."""
    if count < 10_000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1e6:.1f}M"[:4].rstrip(".")


def board_text(stones: np.ndarray, last: Point | None = None, counts: np.ndarray | None = None) -> Text:
    """The board for a terminal: [H, W] stones (0, 1 Black, 2 White), the last move in brackets,
    and, where ``counts`` [H, W] is positive, the visits, on a colour where there is colour."""
    height, width = stones.shape
    cell = 2 if counts is None else max(3, max((len(short_count(int(c))) for c in counts.flat), default=1) + 1)
    largest = max(1, int(counts.max())) if counts is not None else 1
    text = Text(no_wrap=True)
    header = "   " + "".join(COLUMNS[c].rjust(cell) for c in range(width))
    text.append(header + "\n", style="dim")
    for r in range(height):
        text.append(f"{height - r:>3}", style="dim")
        for c in range(width):
            is_last = last == (r, c)
            closing = last == (r, c - 1)  # the bracket after the last move is the next cell's first sign
            if stones[r, c]:
                mark = BLACK if stones[r, c] == 1 else WHITE
                pad = " " * (cell - 1)
                pad = ")" + pad[1:] if closing else pad
                text.append(pad[:-1] + "(" if is_last else pad)
                text.append(mark, style="bold reverse" if is_last else "bold")
            elif counts is not None and counts[r, c] > 0:
                red, green, blue = scale_colour(counts[r, c] / largest)
                ink = "black" if counts[r, c] / largest < 0.7 else "white"
                text.append(")" if closing else " ")
                label = short_count(int(counts[r, c])).rjust(cell - 1)
                text.append(label, style=f"{ink} on rgb({red},{green},{blue})")
            else:
                text.append(")" if closing else " ")
                text.append("·".rjust(cell - 1), style="dim")
        text.append(f"{')' if last == (r, width - 1) else ' '} {height - r}\n", style="dim")
    text.append(header, style="dim")
    return text


def save_png(
    path: Path | str, stones: np.ndarray, counts: np.ndarray, title: str,
    last: Point | None = None, best: Point | None = None, go_board: bool = True,
) -> None:  # fmt: skip
    """A figure of the board with its visits: numbers on a colour scale, stones, the last move marked.

    go_board: stones lie on the crossings of lines; otherwise in squares.
    """
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Rectangle

    height, width = stones.shape
    cells = max(height, width)
    figure = Figure(figsize=(7.2, 7.2 * (height + 1) / (width + 1) * 0.86 + 0.6), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_xlim(-0.75, width - 0.25)
    axes.set_ylim(height - 0.25, -0.75)
    axes.set_facecolor("#f3e3c3" if go_board else "#f7f7f7")
    line: dict[str, Any] = {"color": "#6b5a3a" if go_board else "#999999", "linewidth": 0.7, "zorder": 1}
    if go_board:
        for r in range(height):
            axes.plot([0, width - 1], [r, r], **line)
        for c in range(width):
            axes.plot([c, c], [0, height - 1], **line)
        for r, c in star_points(height, width):
            axes.add_patch(Circle((c, r), 0.08, color="#6b5a3a", zorder=1))
    else:
        for r in range(height + 1):
            axes.plot([-0.5, width - 0.5], [r - 0.5, r - 0.5], **line)
        for c in range(width + 1):
            axes.plot([c - 0.5, c - 0.5], [-0.5, height - 0.5], **line)
    colours = LinearSegmentedColormap.from_list("visits", [tuple(x / 255 for x in rgb) for rgb in _SCALE])
    largest = max(1, int(counts.max()))
    size = min(11.0, 120 / cells)
    for r in range(height):
        for c in range(width):
            if stones[r, c]:
                face = "#111111" if stones[r, c] == 1 else "white"
                axes.add_patch(Circle((c, r), 0.45, facecolor=face, edgecolor="black", linewidth=0.8, zorder=3))
                if (r, c) == last:
                    ring = "white" if stones[r, c] == 1 else "black"
                    axes.add_patch(Circle((c, r), 0.2, fill=False, edgecolor=ring, linewidth=1.4, zorder=4))
            elif counts[r, c] > 0:
                share = counts[r, c] / largest
                axes.add_patch(Rectangle((c - 0.46, r - 0.46), 0.92, 0.92, color=colours(share), linewidth=0, zorder=2))
                if (r, c) == best:
                    axes.add_patch(
                        Rectangle((c - 0.46, r - 0.46), 0.92, 0.92, fill=False, edgecolor="#08306b",
                                  linewidth=1.8, zorder=5)
                    )  # fmt: skip
                ink = "black" if share < 0.7 else "white"
                axes.text(c, r, short_count(int(counts[r, c])), ha="center", va="center", fontsize=size,
                          color=ink, zorder=6)  # fmt: skip
    axes.set_xticks(range(width), [COLUMNS[c] for c in range(width)])
    axes.set_yticks(range(height), [str(height - r) for r in range(height)])
    axes.tick_params(length=0, labelsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(title, fontsize=11)
    from matplotlib.cm import ScalarMappable

    bar = figure.colorbar(ScalarMappable(norm=Normalize(0, largest), cmap=colours), ax=axes, fraction=0.04, pad=0.02)
    bar.set_label("visits")
    figure.savefig(path)


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
