"""What a search knows of a position it has not searched: a value and a prior over the moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from jubango.sgf_games.game import Game, State


class Evaluation(NamedTuple):
    """Of a batch of B positions."""

    prior: jax.Array  # float32 [B, A], weights of the actions; the search masks and normalises them
    value: jax.Array  # float32 [B] in [-1, 1], from the view of the player to move


class Evaluator(Protocol):
    """A frozen (hashable) object; its call is traced into the search's program."""

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        """states: B last, without history. legal: bool [B, A]. seeds: uint32 [B], the only source
        of randomness, so that a lane's result does not depend on its neighbours."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Every action alike, every position even: what a search makes of the rules alone."""

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        return Evaluation(legal.astype(jnp.float32), jnp.zeros(legal.shape[:1], jnp.float32))


@dataclass(frozen=True)
class Heuristic:
    """The game's own estimate of a position, ``Game.heuristic``; every action alike."""

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        value = jax.vmap(game.heuristic, in_axes=-1)(states)
        return Evaluation(legal.astype(jnp.float32), value)


@dataclass(frozen=True)
class Mixed:
    """The prior of ``first`` and the weighted mean of both values: weight of ``second``'s.

    AlphaGo: the value network first, rollouts second, weight 0.5 (Silver et al. 2016, Methods,
    "Searching with policy and value networks": lambda).
    """

    first: Evaluator
    second: Evaluator
    weight: float = 0.5

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        a, b = (e(game, states, legal, seeds) for e in (self.first, self.second))
        return Evaluation(a.prior, (1 - self.weight) * a.value + self.weight * b.value)


# Evaluators a bot can be configured with by name: `uct:evaluator=NAME`.
EVALUATORS: dict[str, Callable[[], Evaluator]] = {"uniform": Uniform, "heuristic": Heuristic}


def register_evaluator(name: str, make: Callable[[], Evaluator]) -> None:
    """Let bots say ``evaluator=NAME``. ``make`` returns the evaluator, e.g. its class."""
    EVALUATORS[name] = make
