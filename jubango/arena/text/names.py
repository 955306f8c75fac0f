"""Long names on small screens: cut so that they stay apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

GAP = "…"
SHORTEST_NAME = 10  # characters of a name that is cut


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """The names with at most ``limit`` characters each. What all the long ones share goes first, as in
    ``uct/…c=0.7`` and ``uct/…c=1.4``, and then a piece at the place where the rest stays apart."""
    if all(len(name) <= limit for name in names):
        return list(names)
    limit = max(SHORTEST_NAME, limit)
    said = _without_what_is_shared(names, limit)
    for tail in [limit // 2, *range(limit // 2 + 1, limit - 1), *range(limit // 2 - 1, -1, -1)]:
        cut = [_cut(name, limit, tail) for name in said]
        if len(set(cut)) == len(set(names)):
            return cut
    return [_cut(name, limit, limit // 2) for name in said]


def stay_apart(names: Sequence[str], limit: int) -> bool:
    """Are names that differ still different when they are this short?"""
    return limit >= SHORTEST_NAME and len(set(short_names(names, limit))) == len(set(names))


def _cut(name: str, limit: int, tail: int) -> str:
    """At most ``limit`` characters: the beginning, and the last ``tail`` ones."""
    return name if len(name) <= limit else name[: limit - 1 - tail] + GAP + name[len(name) - tail :]


def _without_what_is_shared(names: Sequence[str], limit: int) -> list[str]:
    """The keys with the same values in all names that are too long are left out."""
    parts = {name: re.findall(r"[^:/,]*[:/,]|[^:/,]+", name) for name in names if len(name) > limit}
    if len(parts) < 2:
        return list(names)
    shared = set.intersection(*({part.rstrip(",") for part in own} for own in parts.values()))
    out = []
    for name in names:
        own = parts.get(name, [name])
        kept = [part if i == 0 or part.rstrip(",") not in shared else GAP for i, part in enumerate(own)]
        out.append(re.sub(f"{GAP}+", GAP, "".join(kept)).replace(f",{GAP}", GAP))
    return out if len(set(out)) == len(set(names)) else list(names)
