"""Models of pydantic made of what a person has written; what is wrong is said in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from jubango.sgf_games.base.errors import UserError, nearest

M = TypeVar("M", bound=BaseModel)


def checked(
    model: type[M], values: Mapping[str, object], where: str, equals: str = "=",
    words: Mapping[str, str] | None = None, called: Mapping[str, str] | None = None,
) -> M:  # fmt: skip
    """``model(**values)``; raises UserError, one line that begins with ``where``, for the first thing that is wrong.

    ``equals`` stands between a key and its value; ``words`` says better what some kinds of pydantic's errors mean, and
    ``called`` what the user calls a key.
    """
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
    loc = [str(part) for part in first["loc"]]
    inner = [part for part in loc[1:] if part not in _TYPES and not part.startswith(("list[", "dict[", "constrained"))]
    inner = [f"number {int(part) + 1}" if part.isdigit() else part for part in inner]
    key = ".".join([(called or {}).get(part, part) for part in loc[:1]] + inner)
    message = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    message = (words or {}).get(first["type"], message[:1].lower() + message[1:])
    if not key:  # keys that do not go together
        raise UserError(f"{where}: {message}")
    if first["type"] == "extra_forbidden":
        raise UserError(f'{where}: no key "{key}"{nearest(key, model.model_fields)}')
    if first["type"] == "missing":
        raise UserError(f'{where}: the key "{key}" is missing')
    bare = isinstance(first["input"], str) and not model.model_config.get("strict")  # "3" may stand for a number
    raise UserError(f"{where}: {key}{equals}{said(first['input'], bare)}: {message}")


_TYPES = ("float", "int", "str", "bool")  # what pydantic says of which kind of several a value is none of


def said(value: object, bare: bool = True, most: int = 60) -> str:
    """A value as it was given, for a message, as far as that fits into a message."""
    try:
        text = str(value).lower() if isinstance(value, bool) else str(value) if bare else repr(value)
    except ValueError:  # more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."
