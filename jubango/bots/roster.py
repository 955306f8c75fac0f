"""Who can play: players made from configurations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from jubango.bots.composition import composition, player_key
from jubango.bots.config import BotConfig, EngineConfig, GtpConfig, MinimaxConfig, RandomConfig, SearchConfig
from jubango.bots.players.batch_player import BatchPlayer
from jubango.bots.players.engines.gtp_player import GtpPlayer
from jubango.bots.players.engines.process import ProcessPlayer
from jubango.bots.players.minimax import MinimaxPlayer
from jubango.bots.players.one_by_one import OneByOnePlayer
from jubango.bots.players.player import PlayerConfig
from jubango.bots.players.random import RandomPlayer
from jubango.bots.players.search import SearchPlayer
from jubango.bots.search.host.search_program import MOST_PROGRAMS
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import compiling_aside
from jubango.sgf_games.rules.game import Game


def make_players(
    game: Game, bots: Sequence[BotConfig], lanes: int, beside: Callable[[Executor], None] = lambda aside: None
) -> dict[str, BatchPlayer]:
    """A player for every bot, by name. While the searches are compiled, ``beside`` is told where else to compile
    something. Raises UserError for a bot that cannot play this game."""
    players: dict[str, BatchPlayer] = {}
    with contextlib.ExitStack() as if_one_cannot:
        for bot in bots:
            if isinstance(bot, RandomConfig):
                players[bot.name] = RandomPlayer()
            elif isinstance(bot, MinimaxConfig):
                players[bot.name] = MinimaxPlayer(game, bot, lanes)
            elif isinstance(bot, PlayerConfig):
                players[bot.name] = OneByOnePlayer(game, bot)
            elif isinstance(bot, EngineConfig):
                players[bot.name] = GtpPlayer(game, bot) if isinstance(bot, GtpConfig) else ProcessPlayer(game, bot)
                if_one_cannot.callback(players[bot.name].close)
        groups = _groups(game, [bot for bot in bots if isinstance(bot, SearchConfig)])
        with compiling_aside() as aside:
            for group in groups:
                SearchPlayer.compile_ahead(game, group, lanes, aside)
            beside(aside)
        for group in groups:
            shared = SearchPlayer(game, group, lanes)
            players.update({bot.name: shared for bot in group})
        if_one_cannot.pop_all()
    return players


def _groups(game: Game, bots: Sequence[SearchConfig]) -> list[list[SearchConfig]]:
    """Bots that differ only in numbers share a player, unless they keep their trees: two bots of one game cannot keep
    different trees in one place. Raises UserError for more programs than a process can hold."""
    groups: dict[Any, list[SearchConfig]] = {}
    for bot in bots:
        groups.setdefault(player_key(game, bot), []).append(bot)
    programs = {(composition(game, group[0]), group[0].ensemble) for group in groups.values()}
    if len(programs) > MOST_PROGRAMS:
        raise UserError(
            f"these bots need {len(programs)} programs of their own, and one process holds {MOST_PROGRAMS} (its memory "
            "maps run out); bots share a program if they differ only in numbers like simulations and c"
        )
    return list(groups.values())
