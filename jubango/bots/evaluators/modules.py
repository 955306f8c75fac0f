"""Modules of flax as evaluators. What a module is made of decides the program; its weights are the params.

A module is called as a network: ``module(observations [B, ...]) -> (logits [B, A], values [B])``. A bound method is a
function of ONE position: ``module.judge(game, state, legal, seed)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import jax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params, check_hashable, flax_kind
from jubango.bots.evaluators.one_by_one import OneByOne, takes_params
from jubango.bots.evaluators.policy_value import PolicyValue
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class ModuleEvaluator(Evaluator):
    """What ``judge`` says with a module's weights as its params.

    holder: the module that has the weights, whatever they are by then; None for a linen module without variables.
    """

    judge: Evaluator
    holder: Any = field(default=None, compare=False, repr=False)  # another one's weights need no other program

    @property
    def title(self) -> str:
        return self.judge.title

    def weights(self, given: Params = ()) -> Params:
        thing = self.holder if isinstance(given, tuple) and not given else given
        if thing is None:
            raise UserError(
                f'evaluator "{self.title}": is called with its variables; give them, params=variables, or make '
                "module.bind(variables) the evaluator"
            )
        if flax_kind(thing) == "nnx":
            from flax import nnx

            return nnx.state(thing)
        return thing.variables if flax_kind(thing) == "linen" else thing

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        return self.judge(params, game, states, legal, seeds)


@dataclass(frozen=True)
class _Nnx:
    """A function of an nnx module that takes its state, ``nnx.state(module)``, in its place."""

    graph: Any
    function: Callable[..., Any]
    __name__: str

    def __call__(self, params: Params, *asked: Any) -> Any:
        from flax import nnx

        try:
            module = nnx.merge(self.graph, params)
        except ValueError as error:
            raise UserError(
                f'evaluator "{self.__name__}": params should be the module or nnx.state(module), all of it: {error}'
            ) from None
        return self.function(module, *asked)


@dataclass(frozen=True)
class _Linen:
    """A function of a linen module that takes its variables in its place."""

    module: Any
    function: Callable[..., Any]
    __name__: str

    def __call__(self, params: Params, *asked: Any) -> Any:
        return self.module.apply(params, *asked, method=self.function)


@dataclass(frozen=True)
class _OfFive:
    """The same, of arguments that can be counted."""

    call: _Nnx | _Linen
    __name__: str

    def __call__(self, params: Params, game: Game, state: State, legal: jax.Array, seed: jax.Array) -> Any:
        return self.call(params, game, state, legal, seed)


def of_module(thing: Any) -> ModuleEvaluator | None:
    """The evaluator that a module of flax stands for, or a bound method of one; None for anything else. An nnx module
    is asked as ``module.eval()`` leaves it, whatever it does at the time. Raises UserError for what cannot be hashed,
    and for a method that is no function of one position."""
    method = isinstance(thing, MethodType)
    module = thing.__self__ if method else thing
    kind = flax_kind(module)
    if not kind:
        return None
    name = f"{type(module).__name__}.{thing.__name__}" if method else type(module).__name__
    function = thing.__func__ if method else type(module).__call__
    call: _Nnx | _Linen
    if kind == "nnx":
        call = _Nnx(_graph(module), function, name)
    else:
        call = _Linen(module if module.scope is None else module.unbind()[0], function, name)
    check_hashable(call, name)
    holder = None if kind == "linen" and module.scope is None else module
    if not method:
        return ModuleEvaluator(PolicyValue(call), holder)
    if takes_params(thing, name):
        raise UserError(
            f'evaluator "{name}": has its weights in its module; should take (self, game, state, legal, seed)'
        )
    return ModuleEvaluator(OneByOne(_OfFive(call, name)), holder)


def _graph(module: Any) -> Any:
    """What an nnx module is made of besides its weights, when it does not learn."""
    from flax import nnx

    copy = nnx.merge(*nnx.split(module))
    copy.eval()
    return nnx.graphdef(copy)
