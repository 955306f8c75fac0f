"""Parts of a user's own: what their decorators are given, and where a part that nobody knows may be."""

from __future__ import annotations

import dataclasses
import inspect
import re
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from jubango.sgf_games.base.errors import UserError, nearest

LOADED: list[str] = []  # modules of parts that JUBANGO_PLUGINS has named, as far as they are imported
LONGEST_REASON = 300  # characters of what was raised
_Class = TypeVar("_Class", bound=type)


def check_name(name: object, what: str, pattern: str = r"[^\W\d]\w*", rule: str = "letters, digits and _") -> None:
    """Raises UserError for what is no name of a part, and where a decorator was used without one."""
    if not isinstance(name, str):
        raise UserError(f'jb.{what} takes a name first: write @jb.{what}("my_{what}")')
    if not re.fullmatch(pattern, name):
        raise UserError(f'{what} "{name}": choose another name, a word of {rule}')


def check_class(thing: object, base: type, what: str) -> None:
    """Raises UserError for what is no class derived from ``base``. what: ``rule "ucbv"``."""
    if not (isinstance(thing, type) and issubclass(thing, base)):
        raise UserError(f"{what}: should be a class derived from jb.{base.__name__}")


def check_complete(cls: type, what: str) -> None:
    """Raises UserError for a class without some of the methods that it has to have."""
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise UserError(f"{what}: define {', '.join(missing)}")


def as_dataclass(cls: _Class, what: str, frozen: bool = True, eq: bool = True) -> _Class:
    """The class as a dataclass of its annotated fields. Raises UserError for fields that cannot be."""
    try:
        return dataclasses.dataclass(frozen=frozen, eq=eq)(cls)  # type: ignore[return-value]
    except (TypeError, ValueError) as error:
        raise UserError(f"{what}: {error}") from None


def nearest_part(word: str, known: Iterable[str]) -> str:
    """:func:`jubango.sgf_games.base.errors.nearest`, and where no name is near, how parts of a user's own are found."""
    said = nearest(word, known)
    if "did you mean" in said:
        return said
    loaded = f"; plug-ins loaded: {', '.join(LOADED)}" if LOADED else ""
    return f"{said}{loaded}; one of your own is found by JUBANGO_PLUGINS=MODULE, or once its module is imported"


def raised(error: BaseException, code: object) -> str:
    """``ValueError: no such key (my_bot.py:12)``: what was raised, and the line of the file that ``code``, a function
    of the user's, stands in."""
    frames = traceback.extract_tb(error.__traceback__)
    own = inspect.getfile(code)  # type: ignore[arg-type]
    frame = next((frame for frame in reversed(frames) if frame.filename == own), None)
    place = f" ({Path(frame.filename).name}:{frame.lineno})" if frame else ""
    said = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    return f"{said[:LONGEST_REASON]}{place}"
