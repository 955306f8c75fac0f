"""What is to be played: read from a tournament file, or said in Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from jubango.analysis.ratings.best_arm import Duel
from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.schedule.adjudication import Adjudication
from jubango.arena.schedule.formats import Kind, Results, TournamentFormat
from jubango.arena.schedule.openings import (
    Openings,
    check_listed,
    handicap_opening,
    listed_openings,
    openings_of,
    texts_of,
)
from jubango.arena.schedule.pairings import NOWHERE, GameTask, Opening, Pairing, colours, game_id, game_seed, pairing
from jubango.arena.schedule.parts import Part, check_parts
from jubango.arena.schedule.toml_tables import COLOUR_PAIRS, LARGEST_PLAN, TomlTable, checked_table, expand_table
from jubango.bots.config import CONTROL, BotConfig, numbered, told_apart
from jubango.bots.players.clock import TimeControl
from jubango.bots.players.levels import at_level
from jubango.bots.players.player import AnyBot, as_bot
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.files import parse_toml, read_text
from jubango.sgf_games.records.record import place_in_pairing
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.rules.race import Race, for_two

MOST_OF_A_PAIRING = 1_000_000  # of a pairing
MOST_OF_A_TEST = 100_000  # games, unless somebody says otherwise
ERROR_TEXTS = COLOUR_PAIRS | {
    "string_pattern_mismatch": "may not begin with a dot, nor hold / or control characters",
    "list_type": "must be a list of tables",
    "dict_type": "must be a table",
    "too_short": "names two bots",
    "too_long": "names two bots",
}


class _Matchup(TomlTable):
    """A [[matchups]] table: what is different in the games of one pairing."""

    bots: Annotated[list[str], Field(min_length=2, max_length=2)]
    komi: float | int | None = None
    handicap: Annotated[int, Field(ge=2, le=9)] | None = None
    black: str = ""
    clock: str = ""


class _TournamentFile(TomlTable):
    """The top level of a tournament file; what is in its bots is checked one by one."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=rf"^[^/.{CONTROL}][^/{CONTROL}]*$")]
    game: str
    format: Kind = "round-robin"
    rounds: Annotated[int, Field(ge=0)] = 0
    indifference: float | int = 20.0
    alpha: float = 0.05
    games_per_pairing: Annotated[int, Field(ge=2, le=MOST_OF_A_PAIRING, multiple_of=2)] = 20
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    games_at_once: Annotated[int, Field(ge=1, le=16_384)] = 0  # if nobody says: by the devices
    clock: str = ""
    sprt: str = ""
    openings: str | list[dict[str, str]] = ""
    opening_plies: Annotated[int, Field(ge=0, le=1000)] = 0
    part: str = ""
    adjudication: dict[str, float] = Field(default_factory=dict)
    networks: dict[str, str] = Field(default_factory=dict)
    matchups: list[dict[str, Any]] = Field(default_factory=list)
    bots: list[dict[str, Any]] = Field(default_factory=list)


@dataclass(frozen=True)
class Terms:
    """What holds in the games of one pairing, where that is not what holds in all."""

    komi: float | None = None
    handicap: Opening = NOWHERE  # Black's stones
    black: str = ""  # who always plays Black; "": colours are swapped
    clock: TimeControl | None = None


NO_TERMS = Terms()


class _Listed(TomlTable):
    """An opening as a file lists it."""

    name: str = ""
    moves: str


@dataclass(frozen=True)
class Plan:
    """What is to be played, in colour-swapped pairs: every bot against every other, or as the format says."""

    name: str
    game: Game
    bots: tuple[BotConfig, ...]
    format: TournamentFormat  # who meets whom
    games_per_pairing: int
    seed: int
    games_at_once: int  # 0: as many as suits the devices
    text: str  # of the file that says the same
    clock: TimeControl | None = None  # of each player in each game
    sprt: Sprt | None = None  # of the first bot against the second: the end of the games is where it decides
    openings: Openings | None = None
    adjudication: Adjudication | None = None
    terms: Mapping[Pairing, Terms] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)  # digests of weights by their files, as far as stated
    part: Part | None = None  # of the games, if others are played elsewhere

    @property
    def total(self) -> int:
        """How many games it has, as far as that is known before any."""
        race = self.format.race()
        return 2 * len(race.schedule) if race else self.total_by({})

    def total_by(self, results: Results) -> int:
        """How many games it has as far as the results tell, those of its part."""
        return sum(self.wanted({}).values()) if self.part else self.format.total(results)

    def wanted(self, results: Results) -> dict[Pairing, int]:
        """How many games of each pairing are its own, as far as the results tell."""
        wanted = {pair: games for one in self.format.known(results) for pair, games in one.items()}
        if self.part:
            places = _places(wanted)
            wanted = {pair: self.part.share(places[pair], games) for pair, games in wanted.items()}
        return wanted

    @property
    def called(self) -> str:
        """Its name, and which part it is."""
        return f"{self.name}, part {self.part.spec}" if self.part else self.name

    @property
    def whole(self) -> Plan:
        """The plan of which it is a part."""
        if not self.part:
            return self
        keys = {key: value for key, value in tomllib.loads(self.text).items() if key != "part"}
        return replace(self, part=None, text=tomli_w.dumps(keys))

    def game_of(self, komi: float | None) -> Game:
        """The plan's game, or it with another komi."""
        return self.game if komi is None else replace(self.game, komi=komi)  # type: ignore[type-var]

    @property
    def timed(self) -> bool:
        """Is there a clock in any game?"""
        return self.clock is not None or any(terms.clock for terms in self.terms.values())

    def tasks(self, rounds: Sequence[Mapping[Pairing, int]] | None = None) -> Iterator[GameTask]:
        """The games of these rounds (of all that are known before any game), in the order in which they are to begin:
        of every pairing the first, then of every pairing the next.

        Ids and seeds depend on the two names, the game's number and ``seed`` alone, so that adding bots or games
        changes nothing of what is already scheduled.
        """
        for one in self.format.known({}) if rounds is None else rounds:
            places = _places(one)
            for number in range(max(one.values(), default=0)):
                for pair, games in one.items():
                    if number < games and (self.part is None or self.part.has(places[pair], games, number)):
                        yield self.task(pair, number)

    def duels(self, schedule: Sequence[Duel]) -> Iterator[GameTask]:
        """The games of these pairs of games, in their order."""
        for duel in schedule:
            for number in (2 * duel.number, 2 * duel.number + 1):
                yield self.task((duel.first, duel.second), number)

    def task_of(self, own: str) -> GameTask | None:
        """The game with this id, as it would be played; None if no two bots have it."""
        bots, number = place_in_pairing(own) or ("", -1)
        names = {bot.name for bot in self.bots}
        for tilde in re.finditer("~", bots):
            pair = (bots[: tilde.start()], bots[tilde.end() :])
            if (
                names >= set(pair)
                and pair[0] < pair[1]
                and 0 <= number < MOST_OF_A_PAIRING
                and own == game_id(pair, number)
            ):
                return self.task(pair, number)
        return None

    def task(self, pair: Pairing, number: int) -> GameTask:
        """A game of a pairing, counted from 0."""
        terms = self.terms.get(pair, NO_TERMS)
        black, white = colours(pair, number)
        if terms.black:
            black, white = terms.black, pair[pair[0] == terms.black]
        opening = self.openings.at(number // 2) if self.openings and not terms.handicap.moves else terms.handicap
        own = game_id(pair, number)
        return GameTask(own, black, white, game_seed(self.seed, own), opening, terms.komi, terms.clock or self.clock)


def _places(one: Mapping[Pairing, int]) -> dict[Pairing, int]:
    """Of pairings, for parts: the same in whatever order the bots are listed."""
    return {pair: place for place, pair in enumerate(sorted(one))}


def read_plan(path: Path, changes: Mapping[str, object] | None = None) -> Plan:
    """Read a tournament file; ``changes`` are keys of its top level that are to have other values, ``games`` being
    games_per_pairing.

    Raises UserError naming the file, the table and the key.
    """
    return parse_plan(read_text(Path(path), LARGEST_PLAN, "a tournament's TOML file"), str(path), changes)


def parse_plan(text: str, source: str, changes: Mapping[str, object] | None = None, begun: bool = False) -> Plan:
    """The plan that a tournament file's ``text`` describes; see :func:`read_plan`. ``begun``: it is a run's own file,
    which lists its openings, and opens none."""
    data = parse_toml(text, source)
    if begun:
        check_listed(data, source)
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
        bots += expand_table(table, f"{source}: {label}")
    if changes:
        text = tomli_w.dumps(data)
    return _plan(head, game, bots, text, source)


def make_plan(game: str | Game, bots: Sequence[AnyBot], keys: Mapping[str, object], source: str = "tournament") -> Plan:
    """The plan of ``bots`` (spec strings, what :func:`jubango.bots.config.Bot` made, players in Python) at ``game``.

    ``keys`` are those of a tournament file's top level, ``games`` being games_per_pairing. Raises UserError.
    """
    if isinstance(bots, str | BotConfig) or not isinstance(bots, Sequence):
        raise UserError(f"{source}: bots must be a list of spec strings, Bot(...) and players in Python")
    configs = told_apart(map(as_bot, bots))
    made = make_game(game) if isinstance(game, str) else game
    data = {"name": source, "game": made.spec, **_as_in_a_file(keys)}
    head = _head(data, source, called={"games_per_pairing": "games"})
    data |= {"seed": head.seed}
    if head.format != "best":
        data |= {"games_per_pairing": head.games_per_pairing}
    data["bots"] = [{"name": bot.name, "use": bot.use, **bot.changed} for bot in configs]
    return _plan(head, made, configs, tomli_w.dumps(data), source)


def match_plan(
    first: AnyBot, second: AnyBot, game: str | Game, games: int | None = None, seed: int = 1,
    clock: str = "", sprt: str = "", keys: Mapping[str, object] | None = None,
) -> Plan:  # fmt: skip
    """The plan of two bots, of 20 games, or with ``sprt`` of as many as that takes. With a clock they play one game at
    a time, or games would wait for each other's thinking. ``keys``: others of a tournament file. Raises UserError."""
    if games is None:
        games = MOST_OF_A_TEST if sprt else 20
    bots = told_apart(map(as_bot, (first, second)))
    if bots[0].name == bots[1].name:  # a bot against itself
        bots[1] = numbered(bots[1], 2)
    name = f"{bots[0].name} - {bots[1].name}".replace("/", "|").lstrip(".")[:100]
    more: dict[str, object] = {"clock": clock, "games_at_once": 1} if clock else {}
    more |= {"sprt": sprt} if sprt else {}
    return make_plan(game, bots, {"name": name, "games": games, "seed": seed, **more, **(keys or {})}, "match")


def _as_in_a_file(keys: Mapping[str, object]) -> dict[str, Any]:
    return {"games_per_pairing" if key == "games" else key: value for key, value in keys.items()}


def _head(data: dict[str, Any], source: str, called: dict[str, str] | None = None) -> _TournamentFile:
    return checked_table(_TournamentFile, data, source, ERROR_TEXTS, called)


def _plan(head: _TournamentFile, game: Game, bots: list[BotConfig], text: str, source: str) -> Plan:
    names = [bot.name for bot in bots]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f'{source}: two bots are called "{twice}"; give each a name of its own')
    if len(bots) < 2:
        raise UserError(f"{source}: has {len(bots)} bot(s); a tournament needs two or more [[bots]]")
    try:
        game = for_two(game)
        bots, text = _without_levels(game, bots, text)
        terms = _terms(head, game, names)
        fixed = next((one.black for one in terms.values() if one.black), "")
        if fixed and (head.sprt or head.format == "best"):
            raise UserError(
                f'[[matchups]]: black = "{fixed}": a test is on pairs in which colours are swapped, or moving first is '
                "taken for strength"
            )
        clock = TimeControl.parse(head.clock) if head.clock else None
        sprt = Sprt.parse(head.sprt) if head.sprt else None
        adjudication = Adjudication.of(head.adjudication) if head.adjudication else None
        openings = _openings(head, game)
        given = head.model_fields_set
        if head.format == "best":
            if "games_per_pairing" in given:
                raise UserError('games_per_pairing: is not for format = "best", which takes as many as it needs')
        elif unused := given & {"indifference", "alpha"}:
            raise UserError(f'{min(unused)}: is for format = "best"')
        kind = TournamentFormat(
            head.format, tuple(names), head.games_per_pairing, head.seed, head.rounds, head.indifference, head.alpha
        )
        part = Part.parse(head.part) if head.part else None
        if part:
            check_parts(head.format, bool(head.sprt))
            if part.of > (pairs := kind.total({}) // 2):
                raise UserError(f"part {part.spec}: there are {pairs} pairs of games, and as many parts at most")
        plan = Plan(
            head.name, game, tuple(bots), kind, head.games_per_pairing, head.seed, head.games_at_once, text, clock,
            sprt, openings, adjudication, terms, head.networks, part,
        )  # fmt: skip
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    if sprt is not None and (len(bots) != 2 or head.format == "best"):
        raise UserError(f"{source}: sprt: a test is of one bot against another, not of {len(bots)} in {head.format}")
    if isinstance(head.openings, str) and openings is not None and openings.listed:
        # What stands in files may change; what is played may not.
        listed = {**tomllib.loads(text), "openings": texts_of(openings.listed)}
        listed.pop("opening_plies", None)
        plan = replace(plan, text=tomli_w.dumps(listed))
    return plan


def _without_levels(game: Game, bots: Sequence[BotConfig], text: str) -> tuple[list[BotConfig], str]:
    """The bots with what their levels stand for, and the file that says the same: levels may be measured again, and a
    run's bots stay what they are. Raises UserError."""
    found = [at_level(game, bot) for bot in bots]
    if found == list(bots):
        return found, text
    tables = [{"name": bot.name, "use": bot.use, **bot.changed} for bot in found]
    return found, tomli_w.dumps({**tomllib.loads(text), "bots": tables})


def _openings(head: _TournamentFile, game: Game) -> Openings | None:
    """Raises UserError."""
    if head.openings and isinstance(game, Race):
        raise UserError(
            f"openings: there are none for {game.game.spec}, which both players play from its first position"
        )
    if isinstance(head.openings, str):
        if not head.openings and head.opening_plies:
            raise UserError(f'opening_plies = {head.opening_plies}: of which openings? Say openings = "random"')
        return openings_of(game, head.openings, head.opening_plies, head.seed) if head.openings else None
    listed = [checked_table(_Listed, table, f"openings: number {i}") for i, table in enumerate(head.openings, 1)]
    named = [Opening(table.name or f"opening {i}", tuple(table.moves.split())) for i, table in enumerate(listed, 1)]
    return listed_openings(game, [Opening(o.name, o.moves[: head.opening_plies or None]) for o in named], head.seed)


def _check_komi(game: Game, komi: float) -> None:
    """Raises UserError for a komi that one pairing cannot have: games side by side share a program."""
    if game.with_komi(komi).compiled_as != game.compiled_as:
        raise UserError(f"komi: states of {game.spec} do not hold it, so that it is one for all games (docs/extend.md)")


def _terms(head: _TournamentFile, game: Game, names: Sequence[str]) -> dict[Pairing, Terms]:
    """By pairings. Raises UserError."""
    terms: dict[Pairing, Terms] = {}
    for i, given in enumerate(head.matchups, 1):
        where = f"[[matchups]] number {i}"
        table = checked_table(_Matchup, given, where, ERROR_TEXTS)
        for name in [*table.bots, *filter(None, [table.black])]:
            if name not in names:
                raise UserError(f'{where}: no bot is called "{name}"{nearest(name, names)}')
        pair = pairing(*table.bots)
        if pair[0] == pair[1] or pair in terms:
            raise UserError(f"{where}: {' and '.join(table.bots)}: name two bots, and each pairing once")
        if table.black and table.black not in pair:
            raise UserError(f'{where}: black = "{table.black}": is none of {pair[0]} and {pair[1]}')
        try:
            if table.komi is not None:
                _check_komi(game, float(table.komi))
            terms[pair] = Terms(
                None if table.komi is None else float(table.komi),
                handicap_opening(game, table.handicap) if table.handicap else NOWHERE,
                table.black,
                TimeControl.parse(table.clock) if table.clock else None,
            )
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
    return terms
