"""Who can play and who can analyse: jubango's bots, levels, and what the folder's ``serve.toml`` names.

A page names bots by their spec strings, but no command and no file outside the folder: commands stand in that file
alone, as ``[[bots]]`` of a tournament file (``use = "gtp"``) and ``[[analysts]]`` with a ``name`` and a ``command``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from jubango.bots.composition import strongest
from jubango.bots.config import (
    HUMAN,
    KINDS,
    NO_NETWORK,
    PRESETS,
    BotConfig,
    EngineConfig,
    LevelConfig,
    SearchConfig,
    bot_from_spec,
    bot_from_table,
)
from jubango.bots.networks.named import KATAGO
from jubango.bots.players.levels import at_level, ladder_of
from jubango.bots.players.player import PlayerConfig
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.catalogue import CATALOGUE, OWN_GAMES, PGX_GAMES
from jubango.sgf_games.rules.game import Game

NAMED_FILE = "serve.toml"
LARGEST_NAMED = 1_000_000  # bytes of that file
# What the page offers first: specs and what people call them.
OFFERED = {
    "go:9": "Go 9×9", "go:13": "Go 13×13", "go:19": "Go 19×19", "connect_four": "Connect four",
    "gomoku:9": "Five in a row 9×9", "gomoku:15": "Five in a row 15×15",
    "othello": "Othello", "hex:11": "Hex 11×11", "tic_tac_toe": "Tic-tac-toe",
}  # fmt: skip


class Named(NamedTuple):
    """What ``serve.toml`` names."""

    bots: Mapping[str, BotConfig]
    analysts: Mapping[str, str]  # commands by names


def named_in(folder: Folder) -> Named:
    """Raises UserError for a file that cannot be read."""
    text = folder.read_text(NAMED_FILE, LARGEST_NAMED)
    where = str(folder.path / NAMED_FILE)
    table = parse_toml(text, where) if text is not None else {}
    for key in table:
        if key not in ("bots", "analysts"):
            raise UserError(f'{where}: there is no "{key}"{nearest(key, ("bots", "analysts"))}')
    bots, analysts = {}, {}
    for one in _tables(table, "bots", where):
        bot = bot_from_table({"name": "bot", **one}, f"{where}: [[bots]]")
        bot = bot if "name" in one else bot.model_copy(update={"name": bot.usual_name})
        bots[bot.name] = bot
    for one in _tables(table, "analysts", where):
        name, command = one.get("name"), one.get("command")
        if set(one) != {"name", "command"} or not isinstance(name, str) or not isinstance(command, str):
            raise UserError(f"{where}: [[analysts]] have a name and a command, and nothing else")
        analysts[name] = command
    return Named(bots, analysts)


def _tables(table: Mapping[str, object], key: str, where: str) -> list[dict[str, object]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{where}: {key} must be written as [[{key}]]")
    return found


def player_named(text: str, game: Game, folder: Folder) -> BotConfig | None:
    """The bot that a page has named, of a level the bot that it stands for; None for a person. Raises UserError."""
    if text == HUMAN:
        return None
    own = named_in(folder).bots.get(text)
    if own is not None:
        return at_level(game, own)
    bot = bot_from_spec(text or strongest(game))
    if isinstance(bot, EngineConfig):
        raise UserError(f"a page names no commands; write the engine into {folder.path / NAMED_FILE} as [[bots]]")
    if isinstance(bot, SearchConfig) and bot.network not in ("", NO_NETWORK):
        kind = KATAGO if bot.network.startswith(KATAGO) else ""
        file = folder.file(bot.network.removeprefix(KATAGO))
        bot = bot.model_copy(update={"network": f"{kind}{file}"})
    return at_level(game, bot)


def searcher_named(text: str, game: Game, folder: Folder) -> BotConfig | str:
    """Who is to analyse: a bot that searches, or the command of an analyst. Raises UserError."""
    command = named_in(folder).analysts.get(text)
    if command is not None:
        return command
    bot = player_named(text, game, folder)
    if not isinstance(bot, SearchConfig):
        raise UserError(f'"{text}" does not search, and so shows no thoughts; choose another')
    return bot


def games() -> list[dict[str, str]]:
    """What can be played on a board here: specs, names and what is to be known."""
    found = [{"spec": spec, "name": name} for spec, name in OFFERED.items()]
    others = [(name, entry.about) for name, entry in CATALOGUE.items() if name not in OWN_GAMES]
    found += [{"spec": name, "name": f"{name}: {about}"} for name, about in others]
    if _has_pgx():
        names = [name for name, (kind, _) in PGX_GAMES.items() if kind != "number"]  # which has no board
        found += [{"spec": f"pgx:{name}", "name": f"{name.replace('_', ' ')} (pgx)"} for name in names]
    return found


def _has_pgx() -> bool:
    import importlib.util

    return importlib.util.find_spec("pgx") is not None


def players(game: Game, folder: Folder) -> dict[str, object]:
    """Who can play it: ``bots`` (spec, name, about), and from and to which Elo there are levels. Raises UserError."""
    best = strongest(game)
    bots = [{"spec": best, "name": f"the strongest: {best}", "about": ""}]
    for name, (kind, _, about) in PRESETS.items():
        model = KINDS[kind]
        if not issubclass(model, EngineConfig | LevelConfig):
            bots.append({"spec": name, "name": name, "about": about, "searches": _searches(model)})
    named = named_in(folder)
    for name, bot in named.bots.items():
        kind = "engine" if isinstance(bot, EngineConfig) else "player" if isinstance(bot, PlayerConfig) else "bot"
        bots.append({"spec": name, "name": name, "about": f"{kind} of {NAMED_FILE}", "searches": _searches(type(bot))})
    ladder = ladder_of(game)
    levels = None if ladder is None else [math.ceil(ladder.least), math.floor(ladder.most)]
    return {"bots": bots, "levels": levels, "analysts": list(named.analysts), "best": best}


def _searches(model: type[BotConfig]) -> str:
    return "yes" if issubclass(model, SearchConfig) else ""
