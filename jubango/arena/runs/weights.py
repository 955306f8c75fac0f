"""Which weights a run is played with: digests of their files are kept with its plan."""

from __future__ import annotations

import tomllib
from pathlib import Path

import tomli_w

from jubango.arena.schedule.plan import Plan
from jubango.bots.composition import network_file
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import file_digest

SHIPPED_WEIGHTS = "shipped"  # what a run calls the weights that come with the package


def network_name(plan: Plan, bot: BotConfig) -> str:
    """What a run calls a bot's weights: their file as the bot names it, or that they are the package's own."""
    if not isinstance(bot, SearchConfig) or not network_file(plan.game, bot):
        return ""
    return bot.network or SHIPPED_WEIGHTS


def check_stated(plan: Plan) -> dict[str, str]:
    """SHA-256 of the files of weights that the plan's bots name. One that cannot be read is left out: who is about to
    play with it will say so. Raises UserError for a file that is not what the plan states."""
    digests = {}
    searching = [bot for bot in plan.bots if isinstance(bot, SearchConfig)]
    for name, path in {network_name(plan, bot): network_file(plan.game, bot) for bot in searching}.items():
        if not name:
            continue
        try:
            digests[name] = file_digest(Path(path), LARGEST_WEIGHTS)
        except UserError:
            continue
        if plan.networks.get(name, digests[name]) != digests[name]:
            raise UserError(f"network {name}: holds other weights than the tournament file's [networks] states")
    return digests


def with_digests(plan: Plan, digests: dict[str, str]) -> str:
    """The text of the plan's file, with the digests of its networks stated at the end."""
    used = {name: digests[name] for name in sorted({network_name(plan, bot) for bot in plan.bots}) if name in digests}
    if used == plan.networks:
        return plan.text
    data = tomllib.loads(plan.text)
    if "networks" in data:
        return tomli_w.dumps({**data, "networks": used})
    return f"{plan.text.rstrip()}\n\n{tomli_w.dumps({'networks': used})}"
