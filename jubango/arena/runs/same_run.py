"""May a run go on by another plan? It may gain bots and games; anything else is another run."""

from __future__ import annotations

from collections.abc import Mapping

from jubango.arena.runs.weights import SHIPPED_WEIGHTS, network_name
from jubango.arena.runs.work_folder import ChangedField, WorkFolder, changes
from jubango.arena.schedule.formats import OPEN
from jubango.arena.schedule.pairings import pairings
from jubango.arena.schedule.plan import Plan
from jubango.bots.config import BotConfig

# Fields of Plan that may be others when a run goes on. ``text`` says what the others say, and of ``networks`` only
# those count that bots play with: the bots are looked at one by one.
MAY_CHANGE = frozenset({"text", "games_at_once", "networks"})
MAY_GROW = frozenset({"bots", "games_per_pairing", "format", "terms"})


def check_same_run(old: Plan, new: Plan, networks: Mapping[str, str], folder: WorkFolder) -> None:
    """``networks`` are the digests of the new plan's weights: their files may have moved, but not changed. Raises
    UserError."""
    if was := difference(old, new, networks):
        folder.refuse(was, "bots and games may be added")


def difference(old: Plan, new: Plan, networks: Mapping[str, str]) -> str:
    """What was otherwise in the old plan, so that the new one cannot go on with its games; nothing if it can."""
    for change in changes(old, new, MAY_CHANGE | MAY_GROW):
        return _said(old, change)
    for change in changes(old.format, new.format, {"names", "games"}):
        return str(change._replace(key="format") if change.key == "kind" else change)
    for pair in pairings([bot.name for bot in old.bots]):
        if old.terms.get(pair) != new.terms.get(pair):
            return f"{'another' if pair in old.terms else 'no'} [[matchups]] table of {pair[0]} and {pair[1]}"
    closed = old.format.kind not in OPEN or old.part is not None
    first = [plan.format.names[0] for plan in (old, new)]
    if old.format.kind == "gauntlet" and first[0] != first[1]:
        return f'the gauntlet of "{first[0]}", not of "{first[1]}"'
    sizes = [({bot.name for bot in plan.bots}, plan.games_per_pairing) for plan in (old, new)]
    if closed and sizes[0] != sizes[1]:
        hangs = "its share depends on" if old.part else "rounds depend on"
        return f"{len(old.bots)} bots, {old.games_per_pairing} games per pairing, which {hangs}"
    if old.games_per_pairing > new.games_per_pairing:
        return f"{old.games_per_pairing} games per pairing, not {new.games_per_pairing}"
    bots = {bot.name: bot for bot in new.bots}
    for bot in old.bots:
        if bot.name not in bots:
            return f'a bot "{bot.name}" that is missing now'
        if other := other_bot(old, bot, new, bots[bot.name], networks):
            return other
    return ""


def _said(old: Plan, change: ChangedField) -> str:
    if change.key == "openings":
        return f"{old.openings.told if old.openings else 'no openings'}, and these are others"
    return "another [adjudication]" if change.key == "adjudication" else str(change)


def other_bot(old: Plan, before: BotConfig, new: Plan, now: BotConfig, networks: Mapping[str, str]) -> str:
    """What a bot of the new plan was in the old one, if it is not the same, or nothing."""
    name, old_name = network_name(new, now), network_name(old, before)
    digest, old_digest = networks.get(name), old.networks.get(old_name)
    if digest and not old_digest and name == SHIPPED_WEIGHTS:
        return f'bot "{before.name}" before the network that comes with jubango now for {new.game.spec}'
    if digest and old_digest:
        if digest != old_digest:
            return f'other weights of bot "{before.name}" than {name} holds now'
        now = now.model_copy(update={"network": before.model_dump()["network"]})
    return "" if now == before else f'bot "{before.name}" = {before.spec}, not {now.spec}'
