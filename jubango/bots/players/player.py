"""A player in plain Python: one position in, one move out."""

from __future__ import annotations

import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, dataclass_transform

from pydantic import Field, PrivateAttr, create_model
from pydantic.fields import FieldInfo

from jubango.bots.config import HUMAN, KINDS, PRESETS, BotConfig, bot_from_spec, bot_from_table
from jubango.bots.players.position import PositionToPlay
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.own_parts import as_dataclass, check_class, check_complete, check_name
from jubango.sgf_games.rules.game import Game


class Player(ABC):
    """A player of any game, asked for one move at a time: derive from it and write :meth:`play`.

    Many games are under way at once. Each has a shallow copy of the object (``copy.copy``), made when the game begins.
    So what :meth:`start_game` and :meth:`play` set on ``self`` belongs to that game. What ``__init__`` has made is
    shared by all games. One call is made at a time, all in one thread.
    """

    def start_game(self, game: Game, player: int) -> None:
        """Called when a game begins.

        game: what is played.
        player: 0 for the player that moves first, 1 for the other.
        """
        return

    @abstractmethod
    def play(self, position: PositionToPlay) -> str | int:
        """The move: a text of ``position.legal_moves``, a number of ``position.legal_actions``, or "resign".

        Whatever it raises, and what is no legal move, costs the game.
        """

    def end_game(self, result: str, moves: tuple[str, ...]) -> None:
        """Called when the game is over.

        result: ``B+3.5``, ``W+R``, ``0`` (drawn); B is player 0.
        moves: all moves of the game, as texts.
        """
        return


class PlayerConfig(BotConfig):
    """A player in Python: ``use`` is the name that it is registered by, the other keys are its arguments."""

    made_by: ClassVar[type[Player]]
    _player: Player | None = PrivateAttr(None)  # the object itself, where one was given

    def player(self) -> Player:
        """The object whose copies play. Raises UserError if it cannot be made."""
        if self._player is not None:
            return self._player
        keys = {key: getattr(self, key) for key in type(self).model_fields if key not in ("name", "use")}
        try:
            return self.made_by(**keys)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f'bot "{self.name}": {self.made_by.__name__} cannot be made: {error!r}') from None

    # Two are the same if they are called and made alike, whether or not the object was given.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash((self.use, self.name))


AnyBot: TypeAlias = str | BotConfig | Player | type[Player]
_Made = TypeVar("_Made", bound=type[Player])
_PLAIN = (int, float, bool, str)
_ALSO: dict[type, tuple[type, ...]] = {float: (int,)}  # what else stands for a number with a point


@dataclass_transform()
def player(name: str, about: str = "") -> Callable[[_Made], _Made]:
    """A decorator for a :class:`Player` that lets bots say ``use = "NAME"``.

    The class becomes a dataclass of its annotated fields, unless it has an ``__init__``. Its arguments that are
    numbers, texts, true or false are keys of the bot: ``NAME:depth=3``.

    name: a word.
    about: what ``jubango bots`` says of it.

    Raises UserError for a name that is no word or is one of jubango's own, and for a key that is taken.
    """

    check_name(name, "player", r"[^\W\d][\w-]*", "letters, digits, _ and -")

    def register(cls: _Made) -> _Made:
        where = f'player "{name}"'
        check_class(cls, Player, where)
        check_complete(cls, where)
        if "__init__" not in vars(cls) and inspect.get_annotations(cls):
            cls = as_dataclass(cls, where, frozen=False, eq=False)
        _register(name, cls, about)
        return cls

    return register


def as_bot(bot: AnyBot) -> BotConfig:
    """The bot that a spec string, ``Bot(...)``, a player's class or an object of it stands for. A player is called as
    its attribute ``name`` says, or by its class and keys. Raises UserError."""
    if isinstance(bot, str):
        return bot_from_spec(bot)
    if isinstance(bot, BotConfig):
        return bot
    if isinstance(bot, type) and issubclass(bot, Player):
        bot = _made(bot)
    if not isinstance(bot, Player):
        raise UserError(f"bots are spec strings, jb.Bot(...) and objects of jb.Player, not {bot!r}"[:200])
    kind = type(bot)
    use = next((use for use, model in KINDS.items() if getattr(model, "made_by", None) is kind), "")
    use = use or _register(kind.__name__, kind, "")
    keys = {key: getattr(bot, key) for key in _keys(kind) if isinstance(getattr(bot, key, None), _PLAIN)}
    name = getattr(bot, "name", None)
    config = bot_from_table({"name": name or use, "use": use, **keys}, f'bot "{name or use}"')
    assert isinstance(config, PlayerConfig)
    config = config.model_copy(update={} if name else {"name": config.usual_name})
    config._player = bot
    return config


def _made(kind: type[Player]) -> Player:
    try:
        return kind()
    except TypeError as error:
        raise UserError(f"player {kind.__name__}: give an object of it: {error}") from None


def _register(name: str, kind: type[Player], about: str) -> str:
    if name == HUMAN or (name in PRESETS and not hasattr(KINDS.get(name), "made_by")):
        raise UserError(f'player "{name}": choose another name; there is a bot of this one')
    keys: dict[str, Any] = {}
    for key, (annotation, default) in _keys(kind).items():
        if hasattr(PlayerConfig, key) or key in BotConfig.model_fields:
            raise UserError(f'player "{name}": choose another name for its argument "{key}"')
        if annotation in _PLAIN and not isinstance(default, (FieldInfo, annotation, *_ALSO.get(annotation, ()))):
            raise UserError(f'player "{name}": {key}: {annotation.__name__} = {default!r}: another type than it says')
        keys[key] = (annotation, default)
    model = create_model(f"{kind.__name__}Config", __base__=PlayerConfig, use=(str, name), **keys)
    model.made_by = kind
    KINDS[name] = model
    PRESETS[name] = (name, {}, about or (kind.__doc__ or "").strip().split("\n")[0] or "a player in Python")
    return name


def _keys(kind: type[Player]) -> dict[str, tuple[Any, Any]]:
    """(type, default) of the arguments that can stand in a file."""
    try:
        kinds = typing.get_type_hints(kind.__init__)
    except Exception:  # names that only type checkers know
        kinds = {}
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError as error:
        raise UserError(f"player {kind.__name__}: its __init__ cannot be called: {error}") from None
    found = {}
    for one in parameters:
        default = Field(...) if one.default is one.empty else one.default
        annotation = kinds.get(one.name, type(one.default) if isinstance(one.default, _PLAIN) else None)
        plain = annotation in _PLAIN or typing.get_origin(annotation) is Literal
        if plain and one.name != "name" and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            found[one.name] = (annotation, default)
    return found
