"""What is to be played: read from a tournament file, or said in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BaseModel, ConfigDict, Field

from jubango.analysis.sprt import Sprt
from jubango.arena.clock import TimeControl
from jubango.arena.pairings import GameTask, Pairing, pairings, round_robin
from jubango.bots.config import CONTROL, BotConfig, bot_from_spec, checked, expand_table, numbered, told_apart
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.errors import UserError, nearest
from jubango.sgf_games.files import check_file, read_file
from jubango.sgf_games.game import Game

MOST_OF_A_TEST = 100_000  # games, unless somebody says otherwise
LARGEST_FILE = 10_000_000  # bytes
WORDS = {
    "string_pattern_mismatch": "may not begin with a dot, nor hold / or control characters",
    "multiple_of": "should be an even number; games come in colour-swapped pairs",
    "list_type": "must be [[bots]] tables",
    "dict_type": "must be a [[bots]] table",
}


class _File(BaseModel):
    """The top level of a tournament file; what is in its bots is checked one by one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=rf"^[^/.{CONTROL}][^/{CONTROL}]*$")]
    game: str
    games_per_pairing: Annotated[int, Field(ge=2, le=1_000_000, multiple_of=2)] = 20
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    games_at_once: Annotated[int, Field(ge=1, le=16_384)] = 128
    clock: str = ""
    sprt: str = ""
    networks: dict[str, str] = {}
    bots: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Plan:
    """What is to be played: every bot against every other, in colour-swapped pairs."""

    name: str
    game: Game
    bots: tuple[BotConfig, ...]
    games_per_pairing: int
    seed: int
    games_at_once: int
    text: str  # of the file that says the same
    clock: TimeControl | None = None  # of each player in each game
    sprt: Sprt | None = None  # of the first bot against the second: the end of the games is where it decides
    networks: Mapping[str, str] = field(default_factory=dict)  # digests of weights by their files, as far as stated

    @property
    def total(self) -> int:
        """How many games that are."""
        return len(self.bots) * (len(self.bots) - 1) // 2 * self.games_per_pairing

    def pairings(self) -> Iterator[Pairing]:
        return pairings([bot.name for bot in self.bots])

    def tasks(self) -> Iterator[GameTask]:
        """All games, in the order in which they are to begin."""
        return round_robin([bot.name for bot in self.bots], self.games_per_pairing, self.seed)


def read_plan(path: Path, changes: Mapping[str, object] | None = None) -> Plan:
    """Read a tournament file; ``changes`` are keys of its top level that are to have other values, ``games`` being
    games_per_pairing.

    Raises UserError naming the file, the table and the key.
    """
    try:
        check_file(Path(path), LARGEST_FILE)
        text = read_file(path, LARGEST_FILE, "a tournament's TOML file").decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None
    return parse_plan(text, str(path), changes)


def parse_plan(text: str, source: str, changes: Mapping[str, object] | None = None) -> Plan:
    """The plan that a tournament file's ``text`` describes; see :func:`read_plan`."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{source}: not TOML: brackets in brackets, too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not TOML: {error}") from None
    except ValueError:
        raise UserError(f"{source}: holds a number of more digits than can be read") from None
    if changes:
        data |= _as_in_a_file(changes)
    head = _head(data, source)
    try:
        game = make_game(head.game)
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    bots: list[BotConfig] = []
    for i, table in enumerate(head.bots, 1):
        name = table.get("name")
        label = f'bot "{name}"' if name and isinstance(name, str) else f"[[bots]] number {i}"
        bots += expand_table({"name": table.get("use", "uct"), **table}, f"{source}: {label}")
    if changes:
        text = tomli_w.dumps(data)
    return _plan(head, game, bots, text, source)


def make_plan(
    game: str | Game, bots: Sequence[str | BotConfig], keys: Mapping[str, object], source: str = "tournament"
) -> Plan:
    """The plan of ``bots`` (spec strings, or what :func:`jubango.bots.config.Bot` made) at ``game``.

    ``keys`` are those of a tournament file's top level, ``games`` being games_per_pairing. Raises UserError.
    """
    if isinstance(bots, str | BotConfig) or not all(isinstance(bot, str | BotConfig) for bot in bots):
        raise UserError(f"{source}: bots must be a list of spec strings and Bot(...)")
    configs = told_apart(bot_from_spec(bot) if isinstance(bot, str) else bot for bot in bots)
    made = make_game(game) if isinstance(game, str) else game
    data = {"name": source, "game": made.spec, **_as_in_a_file(keys)}
    head = _head(data, source, called={"games_per_pairing": "games"})
    data |= {"games_per_pairing": head.games_per_pairing, "seed": head.seed}
    data["bots"] = [{"name": bot.name, "use": bot.use, **bot.changed} for bot in configs]
    return _plan(head, made, configs, tomli_w.dumps(data), source)


def match_plan(
    first: str | BotConfig, second: str | BotConfig, game: str | Game, games: int | None = None, seed: int = 1,
    clock: str = "", sprt: str = "",
) -> Plan:  # fmt: skip
    """The plan of two bots, of 20 games, or with ``sprt`` of as many as that takes. With a clock they play one game at
    a time, or games would wait for each other's thinking. Raises UserError."""
    if games is None:
        games = MOST_OF_A_TEST if sprt else 20
    bots = told_apart(bot_from_spec(bot) if isinstance(bot, str) else bot for bot in (first, second))
    if bots[0].name == bots[1].name:  # a bot against itself
        bots[1] = numbered(bots[1], 2)
    name = f"{bots[0].name} - {bots[1].name}".replace("/", "|").lstrip(".")[:100]
    more = {"clock": clock, "games_at_once": 1} if clock else {}
    tested = {"sprt": sprt} if sprt else {}
    return make_plan(game, bots, {"name": name, "games": games, "seed": seed, **more, **tested}, "match")


def _as_in_a_file(keys: Mapping[str, object]) -> dict[str, Any]:
    return {"games_per_pairing" if key == "games" else key: value for key, value in keys.items()}


def _head(data: dict[str, Any], source: str, called: dict[str, str] | None = None) -> _File:
    unknown = next((key for key in data if key not in _File.model_fields), None)
    if unknown is not None:
        raise UserError(f'{source}: no key "{unknown}"{nearest(unknown, _File.model_fields)}')
    return checked(_File, data, source, " = ", WORDS, called)


def _plan(head: _File, game: Game, bots: list[BotConfig], text: str, source: str) -> Plan:
    names = [bot.name for bot in bots]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f'{source}: two bots are called "{twice}"; give each a name of its own')
    if len(bots) < 2:
        raise UserError(f"{source}: has {len(bots)} bot(s); a tournament needs two or more [[bots]]")
    if game.num_players != 2:
        raise UserError(f"{source}: {game.spec} has {game.num_players} player(s); tournaments are for two")
    try:
        clock = TimeControl.parse(head.clock) if head.clock else None
        sprt = Sprt.parse(head.sprt) if head.sprt else None
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    if sprt is not None and len(bots) != 2:
        raise UserError(f"{source}: sprt: a test is of one bot against another, here are {len(bots)}")
    numbers = head.games_per_pairing, head.seed, head.games_at_once
    return Plan(head.name, game, tuple(bots), *numbers, text, clock, sprt, head.networks)
