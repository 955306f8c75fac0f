"""Who can play: players made from configurations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jubango.bots.composition import (
    composition,
    evaluator_for,
    numbers_for,
    params_for,
    room_for,
    search_for,
    simulations_for,
    weights_key,
)
from jubango.bots.config import BotConfig, GtpConfig, MinimaxConfig, RandomConfig, SearchConfig
from jubango.bots.players.gtp.player import GtpPlayer
from jubango.bots.players.minimax import MinimaxPlayer
from jubango.bots.players.player import Player
from jubango.bots.players.random import RandomPlayer
from jubango.bots.players.search import SearchPlayer
from jubango.bots.search.host.driver import MOST_PROGRAMS
from jubango.bots.search.host.run import run_many
from jubango.bots.search.results.result import SearchResult
from jubango.bots.search.tree.tree import tree_bytes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import VECTOR, devices, full_lanes, memory_bytes
from jubango.sgf_games.rules.compiled import legal_actions
from jubango.sgf_games.rules.game import Game, State

Bot = TypeVar("Bot", bound=BotConfig)


def make_players(game: Game, bots: Sequence[BotConfig], lanes: int) -> dict[str, Player]:
    """A player for every bot, by name. Raises UserError for a bot that cannot play this game."""
    players: dict[str, Player] = {}
    with contextlib.ExitStack() as if_one_cannot:
        for bot in bots:
            if isinstance(bot, RandomConfig):
                players[bot.name] = RandomPlayer()
            elif isinstance(bot, MinimaxConfig):
                players[bot.name] = MinimaxPlayer(game, bot, lanes)
            elif isinstance(bot, GtpConfig):
                players[bot.name] = GtpPlayer(game, bot)
                if_one_cannot.callback(players[bot.name].close)
        for group in _groups(game, [bot for bot in bots if isinstance(bot, SearchConfig)]):
            shared = SearchPlayer(game, group, lanes)
            players.update({bot.name: shared for bot in group})
        if_one_cannot.pop_all()
    return players


def _groups(game: Game, bots: Sequence[SearchConfig]) -> list[list[SearchConfig]]:
    """Bots that differ only in numbers share a player, unless they keep their trees: two bots of one game cannot keep
    different trees in one place. Raises UserError for more programs than a process can hold."""
    groups: dict[Any, list[SearchConfig]] = {}
    for bot in bots:
        groups.setdefault(_kind(game, bot), []).append(bot)
    programs = {(composition(game, group[0]), group[0].ensemble) for group in groups.values()}
    if len(programs) > MOST_PROGRAMS:
        raise UserError(
            f"these bots need {len(programs)} programs of their own, and one process holds {MOST_PROGRAMS} (its memory "
            "maps run out); bots share a program if they differ only in numbers like simulations and c"
        )
    return list(groups.values())


def _kind(game: Game, bot: SearchConfig) -> tuple:
    return composition(game, bot), bot.ensemble, weights_key(game, bot), bot.name if bot.reuse else ""


def affordable_lanes(game: Game, bots: Sequence[BotConfig]) -> int:
    """How many games' trees a quarter of the machine's memory holds. Raises UserError for none."""
    memory = memory_bytes() // 4
    largest: dict[Any, int] = {}  # bytes of a game's trees, for each player
    for bot in bots:
        if isinstance(bot, SearchConfig):
            room, firsts = room_for(simulations_for(game, bot)), bot.selection == "rave"
            need = bot.ensemble * tree_bytes(game, room, bot.solver, firsts)
            if need > memory:
                raise UserError(
                    f'bot "{bot.name}": a tree of {bot.simulations:,} simulations of {game.spec} takes '
                    f"{need / 2**30:.1f} GiB, more than a quarter of this machine's memory; lower simulations"
                )
            kind = _kind(game, bot)
            largest[kind] = max(largest.get(kind, 0), need)
    each = sum(largest.values())
    lanes = memory // each if each else 16_384
    if lanes < VECTOR * len(devices()):  # a search fills up its vectors, unless it has one or two lanes
        lanes = VECTOR if lanes >= VECTOR else min(lanes, 2)
    return max(1, lanes)


LEAVES_OF_NETWORKS = 8
WAVES = 64  # times that a tree is searched in all its leaves at once, at least: what a leaf finds helps the next ones


def with_parallel_leaves(game: Game, bot: Bot, lanes: int) -> Bot:
    """A bot for so few games or positions at once that one leaf each leaves the machine idle: it searches many leaves
    at once, and a single position in a tree for every device, as far as there are leaves to fill the devices. For what
    goes by the clock, plays people or analyses, where a move may depend on the machine; what the configuration itself
    says of leaves and ensembles stays."""
    if not isinstance(bot, SearchConfig) or bot.selection == "gumbel" or {"leaves", "ensemble"} & bot.model_fields_set:
        return bot
    budget, most = bot.simulations // WAVES, _most_leaves(game, bot)
    one_tree = lanes > 1 or bot.solver  # of a proof every tree would have to make all
    ensemble = 1 if one_tree else max(1, min(len(devices()), budget // evaluator_for(game, bot).vector))
    leaves = max(1, min(most, full_lanes(most) // (lanes * ensemble), budget // ensemble))
    return bot.model_copy(update={"leaves": leaves, "ensemble": ensemble})


def _most_leaves(game: Game, bot: SearchConfig) -> int:
    """Leaves that keep a core busy: networks are done with few."""
    return VECTOR if evaluator_for(game, bot).vector >= VECTOR else LEAVES_OF_NETWORKS


def idle_note(game: Game, bots: Sequence[BotConfig], lanes: int) -> str:
    """Which bots leave most of the machine idle with so many games at once, and what would fill it; or nothing."""
    searches = [bot for bot in bots if isinstance(bot, SearchConfig) and bot.simulations > 1]
    filled = {bot.name: full_lanes(_most_leaves(game, bot)) for bot in searches}
    idle = [bot for bot in searches if 2 * lanes * bot.ensemble * bot.leaves <= filled[bot.name]]
    if not idle:
        return ""
    full = min(filled[bot.name] for bot in idle)
    used = max(lanes * bot.ensemble * bot.leaves for bot in idle)
    more = max(2, full // used)
    names = ", ".join(bot.name for bot in idle[:3]) + (f" and {len(idle) - 3} more" if len(idle) > 3 else "")
    return (
        f"{lanes} {'game' if lanes == 1 else 'games'} at once: {names} {'uses' if len(idle) == 1 else 'use'} {used} of "
        f"the {full} lanes that this machine searches side by side; leaves={more * idle[0].leaves}, "
        f"ensemble={more * idle[0].ensemble} or more games at once (games_at_once={lanes * more}) would use all"
    )


def run_bot(
    game: Game,
    bot: BotConfig,
    states: Sequence[State],
    seeds: Sequence[int],
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
    lanes: int = 0,
) -> list[SearchResult]:
    """What a configured bot finds in positions, its ensemble, seconds and choice of the move included. The move is the
    best it finds: what a bot's dice add to its games (temperature, noise at the root) is left out. Of few positions it
    searches as many leaves at once as fill the machine, see :func:`with_parallel_leaves`. ``lanes``: as in
    ``run_many``.

    Positions have no past: no tree is kept from one to another. Raises UserError for a bot that does not search.
    """
    if not isinstance(bot, SearchConfig):
        raise UserError(f'bot "{bot.name}": only a searching bot (uct, alphazero, ...) can show its visits')
    bot = with_parallel_leaves(game, bot, len(states)).model_copy(
        update={"temperature": 0.0, "noise": 0.0, "gumbel_scale": 0.0}
    )
    numbers = [numbers_for(game, bot, row) for row in legal_actions(game, states)]
    return run_many(
        search_for(game, [bot]), states, numbers, params=params_for(game, bot), seconds=bot.seconds, seeds=seeds,
        move=bot.move, ensemble=bot.ensemble, lanes=lanes, on_progress=on_progress,
    )  # fmt: skip
