"""The selection rules by their names: those that come with jubango, and those that users have added."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jubango.bots.search.rules.alphago import AlphaGo
from jubango.bots.search.rules.critical_puct import CriticalPuct
from jubango.bots.search.rules.dynamic_puct import DynamicPuct
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.params import OF_SEARCHES, Param
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.rules.rule import Rule, numbers_of
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.sgf_games.base.errors import UserError, nearest

# In the order of their keys in a bot's spec string, which names bots and must not change.
SHIPPED: Mapping[str, type[Rule]] = MappingProxyType(
    {
        "puct": Puct,
        "ucb1": Ucb1,
        "rave": Rave,
        "alphago": AlphaGo,
        "gumbel": Gumbel,
        "dynamic-puct": DynamicPuct,
        "critical-puct": CriticalPuct,
    },
)
RULES: dict[str, type[Rule]] = dict(SHIPPED)


def shipped_params() -> dict[str, tuple[type[Rule], Param]]:
    """The keys that bots have of jubango's own rules; of a key of several the meaning is that of UCB1, the rule of bots
    that name none."""
    found = {own.name: (rule, own) for rule in SHIPPED.values() for own in rule.params}
    return found | {own.name: (Ucb1, own) for own in Ucb1.params}


def check_numbers(rule: Rule, numbers: Mapping[str, Any]) -> None:
    """Raises UserError for a number out of its range, and for one that no search and no rule has. Those of other rules
    are taken, so that one call does for several, and change nothing."""
    ranges = {own.name: own for own in (*OF_SEARCHES, *numbers_of(type(rule)))}
    known = {own.name for kind in RULES.values() for own in numbers_of(kind)}
    for name, given in numbers.items():
        if name in ranges:
            ranges[name].check(given)
        elif name not in known:
            own = [one.name for one in numbers_of(type(rule))]
            raise UserError(f"{name}: {type(rule).__name__} has no number of this name{nearest(name, own)}")
