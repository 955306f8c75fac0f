"""A tournament: a file that says who plays what, a folder that holds what has been played."""

from __future__ import annotations

import contextlib
import fcntl
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jubango.analysis.ratings import RatingList, Result, rate
from jubango.analysis.tables import crosstable, ratings_frame
from jubango.arena.clock import TimeControl
from jubango.arena.pairings import GameTask, round_robin
from jubango.arena.table import Table
from jubango.bots.config import BotConfig, GtpConfig, bot_from_spec, expand_table
from jubango.bots.roster import affordable_lanes
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.errors import UserError, nearest
from jubango.sgf_games.game import Game
from jubango.sgf_games.library import Library, write_safely
from jubango.sgf_games.record import GameRecord


class _File(BaseModel):
    """The top level of a tournament file; the bots are read one by one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/.\x00-\x1f][^/\x00-\x1f]*$")]
    game: str
    games_per_pairing: Annotated[int, Field(ge=2, le=1_000_000, multiple_of=2)] = 20
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    games_at_once: Annotated[int, Field(ge=1, le=16_384)] = 128
    clock: str = ""


@dataclass(frozen=True)
class TournamentPlan:
    """What is to be played."""

    name: str
    game: Game
    bots: tuple[BotConfig, ...]
    games_per_pairing: int
    seed: int
    games_at_once: int
    text: str  # the file
    clock: TimeControl | None = None  # of each player in each game

    def tasks(self) -> list[GameTask]:
        return round_robin([bot.name for bot in self.bots], self.games_per_pairing, self.seed)


def read_plan(path: Path) -> TournamentPlan:
    """Read a tournament file. Raises UserError naming the file, the table and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None
    return parse_plan(text, str(path))


def parse_plan(text: str, source: str) -> TournamentPlan:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not TOML: {error}") from None
    tables = data.pop("bots", [])
    unknown = [key for key in data if key not in _File.model_fields]
    if unknown:
        raise UserError(f'{source}: no key "{unknown[0]}"{nearest(unknown[0], [*_File.model_fields, "bots"])}')
    try:
        head = _File(**data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise UserError(f'{source}: the key "{key}" is missing') from None
        message = first["msg"].removeprefix("Input ")
        if first["type"] == "string_pattern_mismatch":
            message = "may not begin with a dot, nor hold / or control characters"
        why = "; games come in colour-swapped pairs" if first["type"] == "multiple_of" else ""
        raise UserError(f"{source}: {key} = {first['input']!r}: {message}{why}") from None
    try:
        game = make_game(head.game)
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{source}: bots must be [[bots]] tables")
    bots: list[BotConfig] = []
    for i, table in enumerate(tables, 1):
        label = f'bot "{table["name"]}"' if table.get("name") else f"[[bots]] number {i}"
        if "name" not in table:
            table = {**table, "name": table.get("use", "uct")}
        bots += expand_table(table, f"{source}: {label}")
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
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    return TournamentPlan(
        head.name, game, tuple(bots), head.games_per_pairing, head.seed, head.games_at_once, text, clock
    )


@dataclass
class Progress:
    """What a dashboard shows: the games done, and the table at work."""

    plan: TournamentPlan
    total: int
    results: list[Result]
    before: int  # games that were done when this run began
    table: Table | None = None


def check_same_run(old: TournamentPlan, new: TournamentPlan, folder: Path) -> None:
    """A run may gain bots and games; anything else is another run. Raises UserError."""

    def refuse(what: str) -> None:
        raise UserError(f"{folder}: was begun with {what}; only bots and games may be added: use another --out folder")

    if old.game != new.game:
        refuse(f"game {old.game.spec}, not {new.game.spec}")
    if old.seed != new.seed:
        refuse(f"seed {old.seed}, not {new.seed}")
    if old.name != new.name:
        refuse(f'the name "{old.name}", not "{new.name}"')
    if old.clock != new.clock:
        refuse(f"clock {old.clock or 'none'}, not {new.clock or 'none'}")
    if old.games_per_pairing > new.games_per_pairing:
        refuse(f"{old.games_per_pairing} games per pairing, not {new.games_per_pairing}")
    bots = {bot.name: bot for bot in new.bots}
    for bot in old.bots:
        if bot.name not in bots:
            refuse(f'a bot "{bot.name}" that is missing now')
        if bots[bot.name] != bot:
            refuse(f'bot "{bot.name}" = {bot.spec}, not {bots[bot.name].spec}')


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one process plays into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / ".lock", "w")  # noqa: SIM115
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{folder}: another process is playing into this folder") from None
        yield


def run_tournament(
    plan: TournamentPlan,
    folder: Path,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> RatingList:
    """Play what is missing in ``folder``; every finished game is kept, whatever happens next.

    ``on_progress`` is called after every tick; it must be quick. Raises UserError.
    """
    with _locked(folder):
        kept = folder / "tournament.toml"
        if kept.exists():
            check_same_run(read_plan(kept), plan, folder)
        library = Library(folder)
        try:
            if not kept.exists() and library.finished():
                raise UserError(f"{folder}: holds games but no tournament.toml; use another --out folder")
            done = library.finished()
            tasks = plan.tasks()
            waiting = [task for task in tasks if task.game_id not in done]
            progress = Progress(plan, len(tasks), library.results(), len(done))
            if waiting:
                needed = {name for task in waiting for name in (task.black, task.white)}
                bots = [bot for bot in plan.bots if bot.name in needed]
                lanes = _lanes_for(plan, bots, waiting)
                table = Table(
                    plan.game, bots, lanes, plan.name, on_tick=lambda table: on_progress(progress), clock=plan.clock
                )
                progress.table = table
                write_safely(kept, plan.text.encode())
                games = table.play(waiting)
                with contextlib.closing(games):  # type: ignore[type-var]
                    for records in games:
                        library.add(records)
                        progress.results += [(r.black, r.white, r.score) for r in records]
            on_progress(progress)
            return write_tables(folder, plan, library.results())
        except KeyboardInterrupt:
            write_tables(folder, plan, library.results())
            raise
        finally:
            library.close()


def _lanes_for(plan: TournamentPlan, bots: list[BotConfig], waiting: list[GameTask]) -> int:
    """How many games to have under way: as asked, as there are, as engines and memory allow."""
    external = {bot.name: bot.processes for bot in plan.bots if isinstance(bot, GtpConfig)}
    inside = sum(task.black not in external and task.white not in external for task in waiting)
    possible = max(1, inside + sum(external.values()))
    return min(len(waiting), plan.games_at_once, possible, affordable_lanes(plan.game, bots))


def write_tables(folder: Path, plan: TournamentPlan, results: list[Result]) -> RatingList:
    """``ratings.csv`` and ``crosstable.csv``."""
    ratings = rate(results, players=[bot.name for bot in plan.bots])
    ratings_frame(ratings).to_csv(folder / "ratings.csv", index=False, float_format="%.2f")
    crosstable(results, [r.name for r in ratings.ratings]).to_csv(folder / "crosstable.csv")
    return ratings


def match_plan(first: str, second: str, game: str, games: int, seed: int, clock: str = "") -> TournamentPlan:
    """A tournament of two bots given as spec strings. Raises UserError."""
    if games % 2:
        raise UserError(f"--games {games}: games come in colour-swapped pairs; give an even number")
    made = make_game(game)
    bots = (bot_from_spec(first), bot_from_spec(second))
    if bots[0].name == bots[1].name:  # a bot against itself
        bots = (bots[0], bots[1].model_copy(update={"name": f"{bots[1].name} (2)"}))
    text = [f"name = {_toml(f'{bots[0].name} - {bots[1].name}'.replace('/', '|')[:100])}"]
    text += [f"game = {_toml(made.spec)}", f"games_per_pairing = {games}", f"seed = {seed}"]
    if clock:  # one game at a time, or games would wait for each other's thinking
        text += [f"clock = {_toml(clock)}", "games_at_once = 1"]
    for bot in bots:
        text.append("[[bots]]")
        values = bot.changed | {"name": bot.name, "use": bot.use}
        text += [f"{key} = {_toml(value)}" for key, value in values.items()]
    return parse_plan("\n".join(text) + "\n", "match")


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # JSON's strings and numbers are TOML's too


def play_match(
    plan: TournamentPlan, on_progress: Callable[[Progress], None] = lambda progress: None
) -> list[GameRecord]:
    """Play all of ``plan`` without keeping anything on disk."""
    tasks = plan.tasks()
    progress = Progress(plan, len(tasks), [], 0)
    lanes = _lanes_for(plan, list(plan.bots), tasks)
    table = Table(plan.game, plan.bots, lanes, plan.name, on_tick=lambda table: on_progress(progress), clock=plan.clock)
    progress.table = table
    records: list[GameRecord] = []
    games = table.play(tasks)
    with contextlib.closing(games):  # type: ignore[type-var]
        for finished in games:
            records += finished
            progress.results += [(r.black, r.white, r.score) for r in finished]
    on_progress(progress)
    return records
