"""Selection rules that users bring along."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

from jubango.bots.config import HUMAN, PRESETS, SearchConfig, search_model
from jubango.bots.search.host.run import run_many
from jubango.bots.search.rules.registry import RULES, SHIPPED, shipped_params
from jubango.bots.search.rules.rule import Rule, numbers_of
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError

_Made = TypeVar("_Made", bound=type[Rule])


@dataclass_transform(frozen_default=True)
def rule(name: str, about: str = "") -> Callable[[_Made], _Made]:
    """Add a selection rule of one's own: decorates a subclass of Rule, which becomes a frozen dataclass of its
    annotated fields, if it is none yet. ``rule("ucbv")`` lets bots say ``selection=ucbv``, and adds a bot ``ucbv``: UCT
    with this rule. The parameters that the rule declares are keys of both.

    about: what ``jubango bots`` says of it, by default the first line of the class's docstring. Raises UserError for a
    name that a bot of jubango's has, and for parameters that no rule may have.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise UserError(f'rule "{name}": choose a name of letters, digits, _ and -')
    if name in SHIPPED or name == HUMAN or (name in PRESETS and name not in RULES):
        raise UserError(f'rule "{name}": jubango has a bot or a rule of this name; choose another')

    def register(cls: _Made) -> _Made:
        if not (isinstance(cls, type) and issubclass(cls, Rule)):
            raise UserError(f'rule "{name}": should be a class derived from jb.Rule')
        made: _Made = cls if "__dataclass_params__" in vars(cls) else dataclass(frozen=True)(cls)  # type: ignore[assignment]
        _check(made, name)
        RULES[name] = made
        keys: dict[str, object] = {"selection": name}
        if made.move != "visits":
            keys["move"] = made.move
        said = about or (cls.__doc__ or "").strip().split("\n")[0]
        PRESETS[name] = ("search", keys, said)
        return made

    return register


def _check(made: type[Rule], name: str) -> None:
    """Raises UserError."""
    missing = made.__abstractmethods__ or {
        field.name
        for field in dataclasses.fields(made)  # type: ignore[arg-type]
        if field.default is field.default_factory is dataclasses.MISSING
    }
    if missing:
        what = "define" if made.__abstractmethods__ else "give a default to"
        raise UserError(f'rule "{name}": {what} {", ".join(sorted(missing))}')
    numbers_of(made)
    taken = SearchConfig.model_fields.keys() - shipped_params().keys()
    for function in (Search.__call__, run_many):
        taken |= inspect.signature(function).parameters.keys()
    for own in made.params:
        if own.name in taken:
            raise UserError(f'rule "{name}": parameter "{own.name}": searches have a key of this name; choose another')
    try:
        search_model(made)
    except (NameError, TypeError) as error:  # an annotation that only type checkers can read
        raise UserError(f'rule "{name}": its fields should be int, float, bool, str or a Literal: {error}') from None
