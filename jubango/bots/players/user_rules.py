"""Selection rules that users bring along."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
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
from jubango.sgf_games.base.own_parts import as_dataclass, check_class, check_complete, check_name, raised

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
    check_name(name, "rule", r"[A-Za-z][A-Za-z0-9_-]*", "letters, digits, _ and -")
    where = f'rule "{name}"'
    if name in SHIPPED or name == HUMAN or (name in PRESETS and name not in RULES):
        raise UserError(f"{where}: jubango has a bot or a rule of this name; choose another")

    def register(cls: _Made) -> _Made:
        check_class(cls, Rule, where)
        made: _Made = cls if "__dataclass_params__" in vars(cls) else as_dataclass(cls, where)
        check_complete(made, where)
        _check(made, where)
        for method in ("__call__", "prior", "root", "final", "policy"):
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
            raise UserError(f'rule "{name}": raised {raised(error, method)}') from error
        if jnp.shape(found) != edges.visits.shape:
            shapes = f"an array of shape {jnp.shape(found)}, not {edges.visits.shape} as edges.visits"
            raise UserError(f'rule "{name}": {method.__name__} gives {shapes}; a parameter x is params.x[:, None]')
        return found

    return named


def _check(made: type[Rule], where: str) -> None:
    """Raises UserError."""
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    empty = [field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING]
    if empty:
        raise UserError(f"{where}: give a default to {', '.join(sorted(empty))}")
    numbers_of(made)
    taken = SearchConfig.model_fields.keys() - shipped_params().keys()
    for function in (Search.__call__, run_many):
        taken |= inspect.signature(function).parameters.keys()
    for own in made.params:
        if own.name in taken or hasattr(SearchConfig, own.name):
            raise UserError(f'{where}: parameter "{own.name}": searches have a key of this name; choose another')
    try:
        keys = search_model(made).model_fields
    except (NameError, TypeError) as error:  # an annotation that only type checkers can read
        raise UserError(f"{where}: its fields should be int, float, bool, str or a Literal: {error}") from None
    for own in made.params:
        unknown = [key for key in own.needs if key not in keys]
        if unknown:
            raise UserError(f'{where}: parameter "{own.name}": needs "{unknown[0]}", which is no key of a search')
