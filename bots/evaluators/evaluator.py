"""What a search knows of a position it has not searched: a value and an order of the moves."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax

from sgf_games.game import Game, State


class Evaluation(NamedTuple):
    """Of a batch of B positions."""

    prior: jax.Array  # float32 [B, A], larger is better, zero where illegal
    value: jax.Array  # float32 [B] in [-1, 1], from the view of the player to move


class Evaluator(Protocol):
    """A frozen (hashable) object; its call is traced into the search's program."""

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        """states: B last, without history. legal: bool [B, A]. seeds: uint32 [B], the only source
        of randomness, so that a lane's result does not depend on its neighbours."""
        ...
