"""Long names on small screens: cut so that they stay apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

GAP = "…"
SHORTEST_NAME = 10  # columns of a name that is cut
PARTS = r"[^:/,]*[:/,]|[^:/,]+", r"[^:/,\s_.-]*[:/,\s_.-]|[^:/,\s_.-]+"  # of a name: its keys, its words


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """The names in at most ``limit`` columns each. What all the long ones share goes first, as in ``uct/…c=0.7`` and
    ``uct/…c=1.4``, and then a piece at the place where the rest stays apart; if there is none, the words that all
    share."""
    if widest(names) <= limit:
        return list(names)
    limit = max(SHORTEST_NAME, limit)
    for parts in PARTS:
        said = _without_what_is_shared(names, limit, parts)
        for tail in [limit // 2, *range(limit // 2 + 1, limit - 1), *range(limit // 2 - 1, -1, -1)]:
            cut = [_cut(name, limit, tail) for name in said]
            if len(set(cut)) == len(set(names)):
                return cut
    return [_cut(name, limit, limit // 2) for name in _without_what_is_shared(names, limit, PARTS[0])]


def stay_apart(names: Sequence[str], limit: int) -> bool:
    """Are names that differ still different when they are this short?"""
    return limit >= SHORTEST_NAME and len(set(short_names(names, limit))) == len(set(names))


def widest(names: Iterable[str]) -> int:
    """Columns that the widest name takes on a screen; a Chinese character takes two."""
    return max(map(cell_len, names), default=0)


def _cut(name: str, limit: int, tail: int) -> str:
    """At most ``limit`` columns: the beginning, and the last ``tail`` ones."""
    if cell_len(name) <= limit:
        return name
    return _first(name, limit - 1 - tail) + GAP + _first(name[::-1], tail)[::-1]


def _first(text: str, columns: int) -> str:
    """As much of a text as fits."""
    for i, character in enumerate(text):
        columns -= cell_len(character)
        if columns < 0:
            return text[:i]
    return text


def _without_what_is_shared(names: Sequence[str], limit: int, pattern: str) -> list[str]:
    """The parts, by their ``pattern``, that are the same in all names that are too long are left out."""
    parts = {name: re.findall(pattern, name) for name in names if cell_len(name) > limit}
    if len(parts) < 2:
        return list(names)
    shared = set.intersection(*({part.rstrip(",") for part in own} for own in parts.values()))
    out = []
    for name in names:
        own = parts.get(name, [name])
        kept = [part if i == 0 or part.rstrip(",") not in shared else GAP for i, part in enumerate(own)]
        out.append(re.sub(f"{GAP}+", GAP, "".join(kept)).replace(f",{GAP}", GAP))
    return out if len(set(out)) == len(set(names)) else list(names)
