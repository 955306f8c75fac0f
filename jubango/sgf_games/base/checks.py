"""Checks of what a person gives a part: each raises UserError, one line."""

from __future__ import annotations

import math
import operator
from typing import Any, get_args

from jubango.sgf_games.base.errors import UserError, nearest


def one_of(key: str, value: object, choices: Any) -> None:
    """``choices``: a ``Literal`` of words."""
    words = get_args(choices)
    if value not in words:
        known = nearest(value, words) if isinstance(value, str) else f"; known: {', '.join(words)}"
        raise UserError(f"{key}={value!r}: there is no such choice{known}")


def whole(key: str, value: object, least: int, most: int, what: str) -> int:
    """The number, as Python's own."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # which is what is being asked
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise UserError(f"{key}={value!r}: {what}; should be a whole number from {least} to {most:,}")
    return number


def finite(key: str, value: object) -> float:
    """The number, as Python's own."""
    try:
        number = float(value)  # type: ignore[arg-type]  # which is what is being asked
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{key}={value!r}: should be a number")
    return number


def truth(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UserError(f"{key}={value!r}: should be True or False")
