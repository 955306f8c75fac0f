"""Selection rules that users bring along."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from jubango.bots.config import HUMAN, PRESETS, SearchConfig, search_model
from jubango.bots.search.host.run import run_many
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.registry import RULES, SHIPPED, shipped_params
from jubango.bots.search.rules.rule import Edges, Rule, numbers_of
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError

_Made = TypeVar("_Made", bound=type[Rule])


@dataclass_transform(frozen_default=True)
def rule(name: str, about: str = "") -> Callable[[_Made], _Made]:
    """A decorator for a subclass of Rule: ``rule("ucbv")`` lets bots say ``selection=ucbv``, and adds a bot ``ucbv``.

    That bot is UCT with this rule. The class becomes a frozen dataclass of its annotated fields, if it is none yet. The
    parameters that the rule declares are keys of both.

    name: a word.
    about: what ``jubango bots`` says of it, by default the first line of the class's docstring.

    Raises UserError for a name that a bot of jubango's has, and for parameters that no rule may have.
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
        for method in ("__call__", "root", "final", "policy"):
            if method in vars(made):
                setattr(made, method, _named(name, vars(made)[method]))
        RULES[name] = made
        keys: dict[str, object] = {"selection": name}
        if made.move != "visits":
            keys["move"] = made.move
        said = about or (cls.__doc__ or "").strip().split("\n")[0]
        PRESETS[name] = ("search", keys, said)
        return made

    return register


def _named(name: str, method: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """The method of a user's rule; what goes wrong in it is a UserError that names the rule and the line."""

    @functools.wraps(method)
    def named(self: Rule, edges: Edges, params: TracedParams) -> jax.Array:
        try:
            found = method(self, edges, params)
        except UserError:
            raise
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[1:]
            own = next((f for f in reversed(at) if f.filename == method.__code__.co_filename), None)
            place = f" ({Path(own.filename).name}:{own.lineno})" if own else ""
            said = str(error).strip().split("\n")[0]
            raise UserError(f'rule "{name}": raised {type(error).__name__}: {said}{place}') from error
        if jnp.shape(found) != edges.visits.shape:
            shapes = f"an array of shape {jnp.shape(found)}, not {edges.visits.shape} as edges.visits"
            raise UserError(f'rule "{name}": {method.__name__} gives {shapes}; a parameter x is params.x[:, None]')
        return found

    return named


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
