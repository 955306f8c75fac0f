"""What a search knows of a position it has not searched: a value and a prior over the moves."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp

from jubango.sgf_games.errors import UserError, nearest
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.machine import VECTOR

Params: TypeAlias = Any  # a pytree of arrays: the weights of an evaluator, () where it has none


class Firsts(NamedTuple):
    """Who played what first, in G games from each of B positions (all moves as first, AMAF)."""

    player: jax.Array  # int32 [B, G, A], the first to take the action, or -1
    result: jax.Array  # float32 [B, G], for the player to move in the position


class Evaluation(NamedTuple):
    """Of a batch of B positions."""

    prior: jax.Array  # float32 [B, A], weights of the actions; the search masks and normalises them
    value: jax.Array  # float32 [B] in [-1, 1], from the view of the player to move
    firsts: Firsts | None = None  # for rules that ask for it (Rave), where games have been played


class Evaluator(ABC):
    """A frozen (hashable) object; its call is traced into the search's program.

    Weights are an argument, so that a network that learns, or another of the same shape, needs no other program.
    """

    @property
    def vector(self) -> int:
        """Positions from which on it takes as long again for as many more, on a core."""
        return VECTOR

    @abstractmethod
    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        """params: the weights. states: B last, without history. legal: bool [B, A], none at all where nobody asks: what
        is said there does not matter. seeds: uint32 [B], the only source of randomness, so that a lane's result does
        not depend on its neighbours."""


@dataclass(frozen=True)
class Uniform(Evaluator):
    """Every action alike, every position even: what a search makes of the rules alone."""

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        return Evaluation(legal.astype(jnp.float32), jnp.zeros(legal.shape[:1], jnp.float32))


@dataclass(frozen=True)
class Heuristic(Evaluator):
    """The game's own estimate of a position, ``Game.heuristic``; every action alike."""

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        value = jax.vmap(game.heuristic, in_axes=-1)(states)
        return Evaluation(legal.astype(jnp.float32), value)


@dataclass(frozen=True)
class OneByOne(Evaluator):
    """A function of ONE position, batched here.

    function: ``(game, state, legal, seed) -> (prior [A], value [])``, or with the weights before them,
        ``(params, game, state, legal, seed)``, where its first parameter is called ``params``.
    """

    function: Callable[..., tuple[jax.Array, jax.Array]]

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        first = (params,) if self.takes_params else ()

        def one(state: State, legal: jax.Array, seed: jax.Array) -> tuple[jax.Array, jax.Array]:
            prior, value = self.function(*first, game, state, legal, seed)
            shape = legal.shape
            return jnp.broadcast_to(jnp.asarray(prior, jnp.float32), shape), jnp.asarray(value, jnp.float32)

        return Evaluation(*jax.vmap(one, in_axes=(-1, 0, 0))(states, legal, seeds))

    @property
    def takes_params(self) -> bool:
        return next(iter(inspect.signature(self.function).parameters), "") == "params"


# Evaluators a bot can be configured with by name: `uct:evaluator=NAME`.
EVALUATORS: dict[str, Callable[[], Evaluator]] = {"uniform": Uniform, "heuristic": Heuristic}

_Thing = TypeVar("_Thing", bound=Callable[..., object])


def evaluator(name: str) -> Callable[[_Thing], _Thing]:
    """Let bots say ``evaluator=NAME``. Decorates a function of one position (see :class:`OneByOne`) or a subclass of
    :class:`Evaluator` that is made without arguments; gives back what it decorates.

    Raises UserError for a name that is taken by one of jubango's own.
    """
    if name in ("rollout", "network", "mixed") or not name.isidentifier():
        raise UserError(f'evaluator "{name}": choose another name, a word that is not rollout, network or mixed')

    def register(thing: _Thing) -> _Thing:
        EVALUATORS[name] = lambda: as_evaluator(thing)
        return thing

    return register


def as_evaluator(thing: object) -> Evaluator:
    """The evaluator that an Evaluator, a class of them, a registered name or a function of one position stands for.
    Raises UserError."""
    if isinstance(thing, Evaluator):
        return thing
    if isinstance(thing, str):
        if thing not in EVALUATORS:
            raise UserError(f'no evaluator is called "{thing}"{nearest(thing, EVALUATORS)}')
        return EVALUATORS[thing]()
    if isinstance(thing, type) and issubclass(thing, Evaluator):
        return thing()
    if not isinstance(thing, FunctionType | functools.partial):
        raise UserError(
            f"evaluator {thing!r}: is neither a function of (game, state, legal, seed) nor derived from Evaluator"
        )
    return OneByOne(thing)
