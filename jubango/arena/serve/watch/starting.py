"""A tournament as the page's form describes it: the file that says the same, and what such a file may not say.

No command is taken from a page, and no file that is not in the folder that is served.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from jubango.arena.schedule.plan import Plan, make_plan, parse_plan
from jubango.arena.serve.web.posts import Posted, text_of, whole_of
from jubango.bots.config import EngineConfig, LevelConfig, SearchConfig, bot_from_spec
from jubango.bots.networks.named import KATAGO
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.library.folder import Folder

WHERE = "tournament"  # in messages
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
LONGEST_FILE = 100_000  # characters of a file
MOST_BOTS = 64
OWN_OPENINGS = ("", "random", "balanced")
FORM_TEXTS = "format", "clock", "sprt", "openings"


def check_name(name: str) -> str:
    """A name that is that of a file on every system. Raises UserError."""
    if not NAME.fullmatch(name) or name.endswith("."):
        raise UserError(f'name "{name}": letters, digits, ".", "-" and "_", at most 60, a letter or digit first')
    return name


def file_of_form(data: Posted, folder: Folder) -> str:
    """The tournament file that a form describes. Raises UserError."""
    bots = data.get("bots")
    if not isinstance(bots, list) or not all(isinstance(bot, str) and len(bot) <= 500 for bot in bots):
        raise UserError("bots: have to be a list of texts")
    specs = [bot.strip() for bot in bots if bot.strip()]
    if len(specs) > MOST_BOTS:
        raise UserError(f"bots: are {len(specs)}; at most {MOST_BOTS} play here")
    for spec in specs:
        _check_spec(spec, folder)
    keys: dict[str, object] = {"name": check_name(text_of(data, "name"))}
    keys |= {key: text for key in FORM_TEXTS if (text := text_of(data, key, "").strip())}
    if keys.get("format") != "best":
        keys["games"] = whole_of(data, "games", 2, 100_000, 20)
    keys["seed"] = whole_of(data, "seed", 0, 2**53, 1)
    _check_openings(keys.get("openings", ""), folder)
    text = _as_written(make_plan(text_of(data, "game"), specs, keys, WHERE).text)
    check_file(text, folder)
    return text


def _as_written(text: str) -> str:
    """The same file as people write it: a table for every bot."""
    table = tomllib.loads(text)
    bots = table.pop("bots")
    return "\n".join([tomli_w.dumps(table), *(f"[[bots]]\n{tomli_w.dumps(bot)}" for bot in bots)])


def check_file(text: str, folder: Folder) -> Plan:
    """The plan of a tournament file that a page may have run. Raises UserError."""
    if len(text) > LONGEST_FILE:
        raise UserError(f"the file is too long: at most {LONGEST_FILE:,} characters")
    table = parse_toml(text, WHERE)
    name = table.get("name")
    check_name(name if isinstance(name, str) else "")
    bots = table.get("bots")
    for bot in bots if isinstance(bots, list) else []:
        if isinstance(bot, Mapping):
            _check_table(bot, folder)
    _check_openings(table.get("openings", ""), folder)
    plan = parse_plan(text, WHERE)
    for one in plan.bots:
        if isinstance(one, EngineConfig):
            raise _no_commands()
    return plan


def runs_engines(folder: Folder) -> bool:
    """Does a run's or a tuning's own file have commands?"""
    from jubango.arena.runs.run_folder import plan_in
    from jubango.arena.tuning.plan import read_tune_plan
    from jubango.arena.tuning.tuner import TUNE_FILE

    if folder.has(TUNE_FILE):
        plan = read_tune_plan(folder.file(TUNE_FILE), begun=True)
        return any(isinstance(bot, EngineConfig) for bot in (plan.start, *plan.opponents))
    return any(isinstance(bot, EngineConfig) for bot in plan_in(folder.path).bots)


def _no_commands() -> UserError:
    return UserError("engines are not started from the page; put the file into a terminal: jubango tournament FILE")


def _check_spec(spec: str, folder: Folder) -> None:
    if re.match(r"(gtp|process)\b", spec) or "command" in spec:
        raise _no_commands()
    config = bot_from_spec(spec)
    if isinstance(config, EngineConfig):
        raise _no_commands()
    if isinstance(config, SearchConfig | LevelConfig):
        _check_path("network", getattr(config, "network", ""), folder)


def _check_table(bot: Mapping[str, object], folder: Folder) -> None:
    if "command" in bot or bot.get("use") in ("gtp", "process"):
        raise _no_commands()
    for key, value in bot.items():
        for one in value if isinstance(value, list) else [value]:
            if key == "network" or (isinstance(one, str) and ("/" in one or "\\" in one)):
                _check_path(key, one, folder)


def _check_openings(value: object, folder: Folder) -> None:
    if isinstance(value, str) and value not in OWN_OPENINGS:
        _check_path("openings", value, folder)


def _check_path(key: str, value: object, folder: Folder) -> None:
    """Raises UserError for a path that leads out of the folder."""
    text = value.removeprefix(KATAGO) if isinstance(value, str) else ""
    if not text:
        return
    home = folder.path.resolve()
    if not (home / Path(text)).resolve().is_relative_to(home):
        raise UserError(f'{key} "{text}": is not in the folder that is served')
