"""What is to be tuned: read from a file, or said in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tomli_w
from pydantic import Field

from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.schedule.openings import check_listed
from jubango.arena.schedule.plan import Plan, make_plan
from jubango.arena.schedule.toml_tables import COLOUR_PAIRS, LARGEST_PLAN, TomlTable, checked_table
from jubango.bots.config import BotConfig, SearchConfig, bot_from_spec, bot_from_table
from jubango.bots.search.rules.registry import RULES
from jubango.bots.search.rules.rule import numbers_of
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.files import parse_toml, read_text
from jubango.sgf_games.base.specs import value_text
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

TUNED = "tuned"  # what the bot is called; with other settings tuned-00001, ...
DIGITS = 4  # of a setting that is tried
MOST_SETTINGS = 8
PASSED_ON = "seed", "games_at_once", "openings", "opening_plies", "networks"  # keys that a tournament file has, too
# The numbers that every game has of its own, so that bots which differ in them play in one program, beside those of
# their selection rules.
TUNABLE = "simulations", "depth", "noise", "alpha", "temperature", "temperature_moves"
ERROR_TEXTS = COLOUR_PAIRS | {
    "too_short": "name one setting or more, in [[settings]] tables with key, low and high",
    "too_long": f"has more than {MOST_SETTINGS} settings",
}


class _TuningFile(TomlTable):
    """The top level of a tuning file; what a tournament file has too is checked as there."""

    name: str = ""
    game: str
    games: Annotated[int, Field(ge=2, le=200_000, multiple_of=2)] = 2000
    games_per_round: Annotated[int, Field(ge=2, le=16_384, multiple_of=2)] = 128
    seed: Any = 1
    games_at_once: Any = 128
    openings: Any = ""
    opening_plies: Any = 0
    confirm: str = "0,20"
    confirm_games: Annotated[int, Field(ge=2, le=1_000_000, multiple_of=2)] = 4000
    opponents: list[str] = Field(default_factory=list)
    networks: dict[str, str] = Field(default_factory=dict)
    bot: dict[str, Any]
    settings: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_SETTINGS)]


class _Range(TomlTable):
    """A [[settings]] table."""

    key: str
    low: float | int
    high: float | int
    log: bool = False


@dataclass(frozen=True)
class Setting:
    """A number of the bot, from ``low`` to ``high``; in the cube of settings it goes from -1 to 1, by its logarithm if
    it says so."""

    key: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def place(self, value: float) -> float:
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return 2 * (at - low) / (high - low) - 1

    def exact(self, place: float) -> float:
        """The number at a place."""
        low, high = (math.log(x) if self.log else x for x in (self.low, self.high))
        at = low + (place + 1) / 2 * (high - low)
        return math.exp(at) if self.log else at

    def value(self, place: float) -> float | int:
        """The number at a place as it is tried: whole, or of few digits."""
        exact = self.exact(place)
        near = round(exact) if self.whole else float(f"{exact:.{DIGITS}g}")
        return min(max(near, type(near)(self.low)), type(near)(self.high))

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def range(self) -> str:
        """``0.1 to 4, log``."""
        return f"{value_text(self.low)} to {value_text(self.high)}{', log' * self.log}"


@dataclass(frozen=True)
class TunePlan:
    """``playing``: the game, the bot as it is without tuning, then its opponents, and how games are played; its text is
    that of the tuning's file."""

    playing: Plan
    settings: tuple[Setting, ...]
    games: int
    games_per_round: int
    confirm: Sprt | None
    confirm_games: int

    @property
    def start(self) -> SearchConfig:
        """The bot as it is without tuning."""
        bot = self.playing.bots[0]
        assert isinstance(bot, SearchConfig)
        return bot

    @property
    def opponents(self) -> tuple[BotConfig, ...]:
        return self.playing.bots[1:]

    def bot(self, values: Sequence[float], name: str = TUNED) -> SearchConfig:
        """With these values of its settings."""
        keys = [setting.key for setting in self.settings]
        return self.start.model_copy(update={"name": name, **dict(zip(keys, values, strict=True))})

    def place(self, values: Sequence[float]) -> np.ndarray:
        """float [d] in [-1, 1]."""
        return np.array([setting.place(value) for setting, value in zip(self.settings, values, strict=True)])

    def values(self, place: np.ndarray) -> tuple[float, ...]:
        """What a place in the cube stands for."""
        return tuple(setting.value(float(x)) for setting, x in zip(self.settings, place, strict=True))

    def known(self) -> list[tuple[np.ndarray, int]]:
        """Places in the cube at which the bot is one of its opponents, and which."""
        found = []
        for number, opponent in enumerate(self.opponents):
            if type(opponent) is type(self.start):  # others, of another rule, may not have these keys
                values = self.values_of(opponent)
                same = self.bot(values, opponent.name) == opponent
                if same and all(map(Setting.holds, self.settings, values)):
                    found.append((self.place(values), number))
        return found

    def values_of(self, bot: BotConfig) -> tuple[float, ...]:
        """Its settings, as they are tuned or not."""
        return tuple(getattr(bot, setting.key) for setting in self.settings)


def read_tune_plan(path: Path, changes: Mapping[str, object] | None = None, begun: bool = False) -> TunePlan:
    """Read a tuning's file; ``changes`` are keys of its top level that are to have other values. ``begun``: it is the
    file of one that has been begun, see :func:`jubango.arena.schedule.plan.parse_plan`. Raises UserError naming the
    file, the table and the key."""
    text = read_text(Path(path), LARGEST_PLAN, "a tuning's TOML file")
    data = parse_toml(text, str(path)) | dict(changes or {})
    if begun:
        check_listed(data, str(path))
    return _tune_plan({"name": Path(path).stem.lstrip(".") or TUNED, **data}, str(path), "" if changes else text)


def make_tune_plan(
    game: str | Game, bot: str | BotConfig, settings: Mapping[str, Sequence[object]], keys: Mapping[str, object]
) -> TunePlan:
    """The plan of a bot, a spec string or what :func:`jubango.bots.config.Bot` made, whose ``settings`` are
    ``{"c": (0.1, 4, "log")}``: lowest and highest value, and the scale. ``keys``: those of a file's top level. Raises
    UserError."""
    config = bot_from_spec(bot) if isinstance(bot, str) else bot
    tables = []
    for key, given in settings.items():
        if (
            not isinstance(given, list | tuple)
            or len(given) not in (2, 3)
            or given[2:] not in ((), [], ("log",), ["log"])
        ):
            raise UserError(f'tune: {key}: should be (lowest, highest) or (lowest, highest, "log"), not {given!r}')
        low, high = (end.item() if isinstance(end, np.generic) else end for end in given[:2])
        tables.append({"key": key, "low": low, "high": high, "log": len(given) == 3})
    spec = game if isinstance(game, str) else game.spec
    data = {"name": "tune", "game": spec, **keys, "bot": {"use": config.use, **config.changed}, "settings": tables}
    return _tune_plan(data, "tune", "", None if isinstance(game, str) else game)


def _tune_plan(data: dict[str, Any], source: str, text: str, made: Game | None = None) -> TunePlan:
    """``text``: of the file that says the same; "": there is none."""
    head = checked_table(_TuningFile, data, source, ERROR_TEXTS)
    try:
        game = make_game(head.game) if made is None else made
        confirm = Sprt.parse(head.confirm) if head.confirm else None
        opponents = [bot_from_spec(spec) for spec in head.opponents]
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    start = _start(head.bot, f"{source}: [bot]")
    settings = _settings(head.settings, start, source)
    opponents = opponents or [start.model_copy(update={"name": start.usual_name})]
    taken = next((bot.name for bot in opponents if bot.name.startswith(TUNED)), None)
    if taken is not None:
        raise UserError(f'{source}: opponents: "{taken}" is what the bot is called that is tuned')
    passed_on = {key: data[key] for key in ("name", *PASSED_ON) if key in data}
    playing = make_plan(game, [start, *opponents], passed_on, source)
    if isinstance(head.openings, str) and playing.openings and playing.openings.listed:
        data = {**data, "openings": parse_toml(playing.text, source)["openings"]}  # files may change
        data.pop("opening_plies", None)
        text = ""
    playing = replace(playing, text=text or tomli_w.dumps(data))
    return TunePlan(playing, settings, head.games, head.games_per_round, confirm, head.confirm_games)


def _start(table: Mapping[str, Any], where: str) -> SearchConfig:
    """Raises UserError."""
    for key, value in table.items():
        if isinstance(value, list | dict):
            raise UserError(f"{where}: {key} is no single value; a range of it goes into a [[settings]] table")
    bot = bot_from_table({"use": "uct", **table, "name": TUNED}, where)
    if not isinstance(bot, SearchConfig):
        raise UserError(f'{where}: use = "{bot.use}": only searching bots can be tuned (uct, alphazero, ...)')
    return bot


def _settings(tables: Sequence[Mapping[str, Any]], start: SearchConfig, source: str) -> tuple[Setting, ...]:
    """Raises UserError."""
    settings: list[Setting] = []
    for i, table in enumerate(tables, 1):
        key = table.get("key")
        setting = _setting(table, start, f"{source}: " + (f'setting "{key}"' if key else f"[[settings]] number {i}"))
        if any(other.key == setting.key for other in settings):
            raise UserError(f'{source}: setting "{setting.key}": is there twice')
        settings.append(setting)
    return tuple(settings)


def _setting(table: Mapping[str, Any], start: SearchConfig, where: str) -> Setting:
    """Raises UserError."""
    given = checked_table(_Range, table, where)
    key, low, high = given.key, given.low, given.high
    rules = [name for name, rule in RULES.items() if any(own.name == key and own.tunable for own in numbers_of(rule))]
    if key not in TUNABLE and not rules:
        what = "cannot be tuned" if key in type(start).model_fields else f"is no key of {start.use}"
        numbers = [own.name for rule in RULES.values() for own in numbers_of(rule) if own.tunable]
        raise UserError(f"{where}: {what}{nearest(key, [*TUNABLE, *numbers])}")
    if rules and (silent := _silent(key, start, rules)):
        raise UserError(f"{where}: changes nothing {silent}")
    whole = type(start).model_fields[key].annotation is int
    if whole and not (isinstance(low, int) and isinstance(high, int)):
        raise UserError(f"{where}: low = {low}, high = {high}: should be whole numbers")
    if not low < high:
        raise UserError(f"{where}: low = {low}: should be below high = {high}")
    if given.log and low <= 0:
        raise UserError(f"{where}: low = {low}: should be above 0, where the scale is logarithmic")
    for end in (low, high):
        bot_from_table({"name": TUNED, "use": start.use, **start.changed, key: end}, where)
    return Setting(key, low, high, given.log, whole)


def _silent(key: str, start: SearchConfig, rules: Sequence[str]) -> str:
    """Why a number of these rules changes nothing in the bot, or nothing."""
    if start.selection not in rules and len(rules) > 1:
        return f"in {start.selection}"
    selection = start.selection if start.selection in rules else rules[0]
    needs: dict[str, object] = {} if selection == start.selection else {"selection": selection}
    own = next(own for own in RULES[selection].params if own.name == key)
    needs |= {name: value for name, value in own.needs.items() if getattr(start, name, None) != value}
    return "without " + ", ".join(f"{name}={value_text(value)}" for name, value in needs.items()) if needs else ""
