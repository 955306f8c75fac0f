"""Paths that are named by nothing: ``--out ''``, of a variable that is not set, would be the current folder.

typer makes ``Path("")``, which is ``.``, before anybody sees the text. So empty arguments go through it as a sign that
nobody types, and are turned back here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

from jubango.sgf_games.base.errors import UserError

_NOTHING = "\x1f"


def marked(arguments: list[str]) -> list[str]:
    """The arguments of a command, empty ones as the sign."""
    return [f"{text}{_NOTHING}" if re.fullmatch(r"(--[a-z-]+=)?", text) else text for text in arguments]


def unmarked(message: str) -> str:
    """What typer says of such arguments."""
    return message.replace(repr(_NOTHING), "''").replace(_NOTHING, "")


def with_names(command: Callable[..., None]) -> Callable[..., None]:
    """The sub-command, where the sign is nothing again; it raises UserError where that would be a path."""

    @functools.wraps(command)
    def checked(**values: object) -> None:
        command(**{key: _named(key, value) for key, value in values.items()})

    return checked


def _named(key: str, value: object) -> object:
    if isinstance(value, list):
        return [_named(key, one) for one in value]
    if value == Path(_NOTHING):
        raise UserError(f"{key.replace('_', '-')}: is empty, where a file or a folder is named; . is the current one")
    return "" if value == _NOTHING else value
