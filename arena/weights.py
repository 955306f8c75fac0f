"""Which weights a run is played with: digests of their files are kept with its plan."""

from __future__ import annotations

import hashlib
import tomllib

import tomli_w

from jubango.arena.plan import Plan
from jubango.bots.config import BotConfig, SearchConfig
from jubango.sgf_games.errors import UserError


def network_of(bot: BotConfig) -> str:
    """The file of a bot's weights, if it has one."""
    return bot.network if isinstance(bot, SearchConfig) else ""


def check_stated(plan: Plan) -> dict[str, str]:
    """SHA-256 of the files of weights that the plan's bots name. One that cannot be read is left out: who is about to
    play with it will say so. Raises UserError for a file that is not what the plan states."""
    digests = {}
    for name in {network_of(bot) for bot in plan.bots} - {""}:
        try:
            with open(name, "rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            continue
        if plan.networks.get(name, digests[name]) != digests[name]:
            raise UserError(f"network {name}: holds other weights than the tournament file's [networks] states")
    return digests


def with_digests(plan: Plan, digests: dict[str, str]) -> str:
    """The text of the plan's file, with the digests of its networks stated at the end."""
    used = {name: digests[name] for name in sorted({network_of(bot) for bot in plan.bots}) if name in digests}
    if used == plan.networks:
        return plan.text
    data = tomllib.loads(plan.text)
    if "networks" in data:
        return tomli_w.dumps({**data, "networks": used})
    return f"{plan.text.rstrip()}\n\n{tomli_w.dumps({'networks': used})}"
