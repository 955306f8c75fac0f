"""Spec strings: ``NAME[:SIZE][,key=value...]`` names a game."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.own_parts import as_dataclass, check_class, check_complete, check_name, nearest_part
from jubango.sgf_games.base.specs import parse_spec
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.rules.go.go import KO_RULES, Go
from jubango.sgf_games.rules.hex import Hex
from jubango.sgf_games.rules.lines.connect_four import ConnectFour
from jubango.sgf_games.rules.lines.mnk import Mnk
from jubango.sgf_games.rules.othello import Othello
from jubango.sgf_games.rules.pgx_adapter import PGX_GAMES as PGX_GAMES
from jubango.sgf_games.rules.pgx_adapter import PgxGame
from jubango.sgf_games.rules.race import Race


@dataclass(frozen=True)
class Entry:
    """A name in the catalogue: how to make the game, its size when none is given, its own defaults.

    ``head`` names the field that takes the part after the colon, where that is no size.
    """

    make: Callable[..., Game]
    size: str
    options: dict[str, object]
    about: str
    head: str = ""


CATALOGUE: dict[str, Entry] = {
    "go": Entry(Go, "19", {}, f"Go, area scoring; komi=7.5, ko={'|'.join(KO_RULES)}, suicide=false"),
    "connect_four": Entry(ConnectFour, "7x6", {}, "connect four; k=4"),
    "gomoku": Entry(Mnk, "15", {"k": 5}, "five in a row (free style: more than five wins too); k=5"),
    "hex": Entry(Hex, "11", {}, "Hex, with the swap; sizes from 2 to 19"),
    "othello": Entry(Othello, "8", {}, "Othello (Reversi); sides of 4, 6 or 8"),
    "tic_tac_toe": Entry(Mnk, "3", {"k": 3}, "noughts and crosses"),
    "mnk": Entry(Mnk, "3", {"k": 3}, "k in a row on any board, e.g. mnk:7x5,k=4"),
    "pgx": Entry(PgxGame, "othello", {}, f"games of pgx: {', '.join(PGX_GAMES)}", head="env"),
}
OWN_GAMES = frozenset({*CATALOGUE, "race"})


def register_game(name: str, make: Callable[..., Game], size: str = "", about: str = "") -> None:
    """Add a game of one's own: ``make`` is a frozen dataclass of its parameters."""
    CATALOGUE[name] = Entry(make, size, {}, about)


_Made = TypeVar("_Made", bound=type[Game])


@dataclass_transform(frozen_default=True)
def game(name: str, size: str = "", about: str = "") -> Callable[[_Made], _Made]:
    """A decorator for a subclass of Game: ``game("target_sum")`` makes it known as ``target_sum,target=21,...``.

    The class becomes a frozen dataclass of its annotated fields, if it is none yet.

    name: a word.
    size: what stands for the part after the colon where none is given, ``8x8``; the class then has the fields ``width``
        and ``height``.
    about: what ``jubango games`` says of it.

    Raises UserError for a name that is no word, or is one of jubango's own, for a class that is no whole Game, and for
    a size that is none.
    """
    check_name(name, "game")
    where = f'game "{name}"'
    if name in OWN_GAMES:
        raise UserError(f"{where}: choose another name; jubango has a game of this one")
    if size:
        _board_size(size, where)

    def register(cls: _Made) -> _Made:
        check_class(cls, Game, where)
        made: _Made = cls if "__dataclass_params__" in vars(cls) else as_dataclass(cls, where)
        check_complete(made, where)
        if made.__hash__ is None:
            raise UserError(f"{where}: cannot be hashed; make it a dataclass with frozen=True")
        if size and not {"width", "height"} <= {field.name for field in dataclasses.fields(made) if field.init}:  # type: ignore[arg-type]
            raise UserError(f'{where}: size="{size}" is for games with the fields width and height, both int')
        if "name" not in vars(cls):
            made.name = name
        register_game(name, made, size, about or (cls.__doc__ or "").strip().split("\n")[0])
        return made

    return register


def make_game(spec: str) -> Game:
    """The game that a spec string names, e.g. ``go:9,komi=7.0,ko=positional``.

    spec: a name of ``jubango games``, with size and parameters. ``race:SPEC`` lets two players race in a game for one.

    Raises UserError for a name or a parameter that does not exist.
    """
    if spec.startswith("race:"):
        return Race(make_game(spec.removeprefix("race:")))
    name, size, options = parse_spec(spec, "game")
    entry = CATALOGUE.get(name)
    if entry is None:
        known = [*CATALOGUE, *(f"pgx:{game}" for game in PGX_GAMES)]
        raise UserError(f'game "{spec}": no game is called "{name}"{nearest_part(name, known)}')
    fields = {f.name: f for f in dataclasses.fields(entry.make) if f.init}  # type: ignore[arg-type]
    values: dict[str, object] = dict(entry.options)
    sized, size = bool(size), size or entry.size
    if entry.head:
        values[entry.head] = size
        size = ""
    if size:
        if not {"width", "height"} <= fields.keys():
            keys = f"its keys: {', '.join(fields)}" if fields else "nor anything else to choose"
            raise UserError(f'game "{spec}": {name} has no sizes, {keys}')
        values |= _board_size(size, f'game "{spec}"')
    for key, text in options.items():
        if key not in fields or (sized and key in ("width", "height")):
            known = [f for f in fields if not (sized and f in ("width", "height"))]
            raise UserError(f'game "{spec}": {name} has no key "{key}"{nearest(key, known)}')
        values[key] = _value(text, fields[key].type, f'game "{spec}": {key}')
    try:
        return entry.make(**values)
    except UserError:
        raise
    except Exception as error:  # of a user's own
        raise UserError(f'game "{spec}": cannot be made: {type(error).__name__}: {error}') from error


def _board_size(size: str, where: str) -> dict[str, object]:
    """``9x13`` as the fields ``width`` and ``height``. Raises UserError."""
    parts = re.fullmatch(r"(\d{1,4})(?:x(\d{1,4}))?", str(size).lower(), re.ASCII)
    if not parts:
        raise UserError(f'{where}: size "{size}" must be like 9 or 9x13 (width x height)')
    return {"width": int(parts[1]), "height": int(parts[2] or parts[1])}


def as_game(game: Game | str) -> Game:
    """``game`` itself, or the one that a spec string names. Raises UserError."""
    return make_game(game) if isinstance(game, str) else game


def _value(text: str, kind: object, where: str) -> object:
    """Read a value as a field's type, given as its annotation's text or the type itself."""
    kind = str(kind if isinstance(kind, str) else getattr(kind, "__name__", kind))
    if re.match(r"(tuple|list|dict|set|frozenset)\b", kind):
        raise UserError(f"{where}: is a {kind}, which cannot be written here; make the game in Python")
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            number = float(text)
            if number != number or number in (float("inf"), float("-inf")):
                raise ValueError
            return number
    except ValueError:
        raise UserError(f"{where}={text} is not a number") from None
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise UserError(f"{where}={text} must be true or false")
        return text.lower() == "true"
    return text
