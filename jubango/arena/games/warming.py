"""Programs made before anybody waits for them, as they are kept on disk: for container images and CI."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from jubango.arena.games.pool import GamePool
from jubango.bots import run_bot
from jubango.bots.composition import strongest
from jubango.bots.config import BotConfig, EngineConfig, LevelConfig, SearchConfig, bot_from_spec
from jubango.bots.gtp_server import host
from jubango.bots.players.levels import at_level
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game

WARMED_GAMES = "tic_tac_toe", "connect_four", "gomoku:9", "go:9", "go:13", "go:19"  # when none is named
WARMED_BOTS = ("uct",)  # when none is named, with the strongest of each game
WARMED_AT_ONCE = 20  # games: as many as a match has when nobody says how many


class WarmingStep(NamedTuple):
    """Some of the programs."""

    game: Game
    bot: BotConfig
    used_by: str  # for people
    make: Callable[[], None]


def warming(games: Sequence[Game], bots: Sequence[str], at_once: Sequence[int]) -> list[WarmingStep]:
    """What makes the programs of ``bots`` (specs; by default each game's strongest, and WARMED_BOTS) at ``games``, with
    so many games ``at_once``, and for one position at a time. Raises UserError for a bot that is somebody else's."""
    return [
        step
        for game in games
        for spec in dict.fromkeys(bots or (strongest(game), *WARMED_BOTS))
        for step in _steps(game, at_level(game, bot_from_spec(spec)), at_once)
    ]


def _steps(game: Game, bot: BotConfig, at_once: Sequence[int]) -> Iterator[WarmingStep]:
    if isinstance(bot, EngineConfig):
        raise UserError(f'bot "{bot.name}": is a program of its own, of which nothing is compiled here')
    assert not isinstance(bot, LevelConfig)
    for number in dict.fromkeys(min(each, affordable_lanes(game, [bot])) for each in at_once):
        yield WarmingStep(game, bot, f"{number} games at once", functools.partial(_play, game, bot, number))
    if isinstance(bot, SearchConfig) and game.num_players == 2:
        yield WarmingStep(game, bot, "gtp, play", lambda: host.make_programs(game, bot))
    if isinstance(bot, SearchConfig):
        yield WarmingStep(game, bot, "analyze", lambda: run_bot.make_programs(game, bot))


def _play(game: Game, bot: BotConfig, lanes: int) -> None:
    pool = GamePool(game, [bot], lanes)
    pool.make_smaller()
    pool.close()
