"""The hosts that play or search, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

HOST_LINES = 8  # hosts that have a line of their own


def host_lines(hosts: Sequence[str], most: int = HOST_LINES) -> Sequence[str]:
    """The lines of the last hosts that came, and how many there are beside."""
    every = list(hosts)
    if len(every) <= most:
        return every
    return [*every[len(every) - most + 1 :], f"and {len(every) - most + 1} other hosts"]


def hosts_said(hosts: Sequence[str]) -> str:
    """How many there are."""
    return "1 host" if len(hosts) == 1 else f"{len(hosts):,} hosts"


def host_texts(hosts: Sequence[str]) -> list[Text]:
    """The lines as a screen shows them."""
    return [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in host_lines(hosts)]
