"""How much of the machine bots take: the memory of their trees, games side by side, leaves that one tree searches at
once, and a note where most of the machine is idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from jubango.bots.composition import evaluator_for, player_key, room_for, simulations_for
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.evaluators.evaluator import Evaluator
from jubango.bots.evaluators.network import OutputsEvaluator
from jubango.bots.search.tree.tree import tree_bytes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import VECTOR, device_memory_bytes, devices, full_lanes
from jubango.sgf_games.rules.game import Game

Bot = TypeVar("Bot", bound=SearchConfig)


def affordable_lanes(game: Game, bots: Sequence[BotConfig]) -> int:
    """How many games' trees a quarter of the machine's memory holds. Raises UserError for none."""
    largest: dict[Any, int] = {}  # bytes of a game's trees, for each player
    for bot in bots:
        if isinstance(bot, SearchConfig):
            kind = player_key(game, bot)
            largest[kind] = max(largest.get(kind, 0), _tree_bytes(game, bot))
    return _lanes(sum(largest.values()))


def affordable_trees(game: Game, bot: SearchConfig) -> int:
    """How many positions' trees of one bot a quarter of the machine's memory holds. Raises UserError for none."""
    return _lanes(_tree_bytes(game, bot))


def _tree_bytes(game: Game, bot: SearchConfig) -> int:
    """Of all its trees of a position. Raises UserError for too many."""
    room, leads = room_for(simulations_for(game, bot)), bot.score_utility > 0
    need = bot.ensemble * bot.devices * tree_bytes(game, room, bot.rule, bot.solver, leads)
    if need > device_memory_bytes() // 4:
        raise UserError(
            f'bot "{bot.name}": a tree of {bot.simulations:,} simulations of {game.spec} takes '
            f"{need / 2**30:.1f} GiB, more than a quarter of this machine's memory; lower simulations"
        )
    return need


def _lanes(each: int) -> int:
    """Lanes of so many bytes each in a quarter of the memory."""
    lanes = device_memory_bytes() // 4 // each if each else 16_384
    if lanes < VECTOR * len(devices()):  # a search fills up its vectors, unless it has one or two lanes
        lanes = VECTOR if lanes >= VECTOR else min(lanes, 2)
    return max(1, lanes)


LEAVES_OF_NETWORKS = 8
MOST_DEVICES = 4  # that search one tree together: each goes down the tree for all leaves
WAVES = 64  # times that a tree is searched in all its leaves at once, at least: what a leaf finds helps the next ones


def with_parallel_leaves(bot: Bot, evaluator: Evaluator, lanes: int) -> Bot:
    """A bot with this evaluator for so few games or positions at once that one leaf each would leave the machine idle.

    It searches several leaves of a tree at once. A single position is searched by all devices: in one tree together
    where a network judges, which is what takes the time and says the same in every tree, else in a tree each. It is for
    what goes by the clock, plays people or analyses, where a move may depend on the machine. What the configuration
    itself says of leaves, ensembles and devices stays.
    """
    if bot.rule.scheduled or {"leaves", "ensemble", "devices"} & bot.model_fields_set:
        return bot
    budget, batch = bot.simulations // WAVES, evaluator.saturating_batch
    most = _most_leaves(batch)
    if lanes == 1 and isinstance(evaluator, OutputsEvaluator):
        together = max(1, min(len(devices()), MOST_DEVICES, budget // batch))
        each = max(1, min(most, budget // together))
        return bot.model_copy(update={"leaves": each * together, "devices": together})
    one_tree = lanes > 1 or bot.solver  # of a proof every tree would have to make all
    ensemble = 1 if one_tree else max(1, min(len(devices()), budget // batch))
    leaves = max(1, min(most, full_lanes(most) // (lanes * ensemble), budget // ensemble))
    return bot.model_copy(update={"leaves": leaves, "ensemble": ensemble})


def _most_leaves(batch: int) -> int:
    """Leaves that keep a core busy, by an evaluator's ``saturating_batch``: networks are done with few."""
    return VECTOR if batch >= VECTOR else LEAVES_OF_NETWORKS


def idle_note(game: Game, bots: Sequence[BotConfig], lanes: int) -> str:
    """Which bots leave most of the machine idle with so many games at once, and what would fill it; or nothing."""
    searches = [bot for bot in bots if isinstance(bot, SearchConfig) and bot.simulations > 1]
    filled = {
        bot.name: full_lanes(_most_leaves(evaluator_for(game, bot).evaluator.saturating_batch)) for bot in searches
    }
    idle = [bot for bot in searches if 2 * lanes * bot.ensemble * bot.leaves <= filled[bot.name]]
    if not idle:
        return ""
    full = min(filled[bot.name] for bot in idle)
    used = max(lanes * bot.ensemble * bot.leaves for bot in idle)
    more = max(2, full // used)
    names = ", ".join(bot.name for bot in idle[:3]) + (f" and {len(idle) - 3} more" if len(idle) > 3 else "")
    return (
        f"{lanes} {'game' if lanes == 1 else 'games'} at once: {names} {'uses' if len(idle) == 1 else 'use'} {used} of "
        f"the {full} lanes that this machine searches side by side; leaves={more * idle[0].leaves} or "
        f"ensemble={more * idle[0].ensemble}, or more games at once (games_at_once={lanes * more}) would use all"
    )
