"""The one way to terminals: what users, files and engines have named reaches them without control characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.segment import Segment

from jubango.sgf_games.base.printable import printable


class Console(rich.console.Console):
    """rich's, with every text made printable as it is rendered, whatever table or line it stands in, and nothing in it
    read as markup."""

    def __init__(self, **settings: Any) -> None:
        self._is_told = settings.get("force_terminal") is not None
        self._asks_for_colors = True
        super().__init__(markup=False, emoji=False, highlight=False, **settings)
        self._asks_for_colors = False

    @property
    def is_terminal(self) -> bool:
        """Can what is written be changed? On a dumb terminal, as in a file, lines follow lines; ``FORCE_COLOR`` gives
        them colours alone."""
        found = super().is_terminal
        if self._is_told or self._asks_for_colors:
            return found
        dumb = self._environ.get("TERM", "").lower() in ("dumb", "unknown")
        try:
            return found and not dumb and self.file.isatty()
        except (AttributeError, ValueError):  # a file that cannot say, or is closed
            return False

    def sentence(self, text: str, style: str | None = None) -> None:
        """Print a line of words. A terminal wraps it between them, elsewhere it stays one line. Commands and paths are
        for ``print(..., soft_wrap=True)``: a line break that a terminal makes is not copied with them."""
        self.print(text, style=style, soft_wrap=not self.is_terminal)

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, keep="\n"), style, control)
