"""What can be given as an evaluator, and the names that bots know evaluators by."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeAlias, TypeVar

from jubango.bots.evaluators.evaluator import Evaluator, Heuristic, Uniform, check_hashable
from jubango.bots.evaluators.modules import of_module
from jubango.bots.evaluators.one_by_one import OneByOne
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.own_parts import check_complete, check_name, nearest_part
from jubango.sgf_games.compute.programs import Compiled

# Evaluators a bot can be configured with by name: `uct:evaluator=NAME`.
EVALUATORS: dict[str, Callable[[], Evaluator]] = {"uniform": Uniform, "heuristic": Heuristic}
OWN_EVALUATORS = frozenset({"rollout", "network", "mixed", *EVALUATORS})

_Thing = TypeVar("_Thing", bound=Callable[..., object])


def evaluator(name: str) -> Callable[[_Thing], _Thing]:
    """A decorator that lets bots say ``evaluator=NAME``; it gives back what it decorates.

    It decorates a function of one position (see :class:`OneByOne`), a subclass of :class:`Evaluator` that is made
    without arguments, or a module of flax with its weights.

    name: a word.

    Raises UserError for a name that is taken by one of jubango's own, and for what can be no evaluator.
    """
    check_name(name, "evaluator")
    if name in OWN_EVALUATORS:
        raise UserError(f'evaluator "{name}": choose another name; jubango has an evaluator of this one')

    def register(thing: _Thing) -> _Thing:
        as_evaluator(thing)
        EVALUATORS[name] = lambda: as_evaluator(thing)
        return thing

    return register


def _made(kind: type[Evaluator]) -> Evaluator:
    where = f"evaluator {kind.__name__}"
    check_complete(kind, where)
    try:
        return kind()
    except TypeError as error:
        raise UserError(f"{where}: should be made without arguments: {error}") from None


# What an evaluator may be given as.
AnyEvaluator: TypeAlias = Evaluator | type[Evaluator] | str | Callable[..., Any]


def as_evaluator(thing: object) -> Evaluator:
    """The evaluator that an Evaluator, a class of them, a registered name or a function of one position stands for:
    plain or compiled, a bound method, a ``functools.partial``, an object that can be called and hashed.
    Raises UserError."""
    if isinstance(thing, Evaluator):
        check_hashable(thing, thing.title)
        return thing
    if isinstance(thing, str):
        if thing not in EVALUATORS:
            raise UserError(f'no evaluator is called "{thing}"{nearest_part(thing, EVALUATORS)}')
        return EVALUATORS[thing]()
    if isinstance(thing, type) and issubclass(thing, Evaluator):
        return as_evaluator(_made(thing))
    function = _plain(thing)
    if (found := of_module(function)) is not None:
        return found
    if isinstance(thing, type) or not callable(thing):
        what = f"the class {thing.__name__}" if isinstance(thing, type) else f"{type(thing).__name__} {thing!r}"
        raise UserError(
            f"evaluator: {what} is neither a function of (game, state, legal, seed) nor derived from Evaluator"
        )
    return OneByOne(function)


def _plain(function: Any) -> Callable[..., Any]:
    """What is compiled, as it was before: it becomes a part of our own program."""
    if isinstance(function, MethodType):
        return MethodType(_plain(function.__func__), function.__self__)
    compiled = isinstance(function, Compiled) or hasattr(function, "lower")
    return function.__wrapped__ if compiled and hasattr(function, "__wrapped__") else function
