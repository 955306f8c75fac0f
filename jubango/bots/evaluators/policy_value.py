"""Anybody's network as an evaluator: what it says of observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
from jax.typing import ArrayLike

from jubango.bots.evaluators.evaluator import (
    Evaluation,
    Evaluator,
    Params,
    check_hashable,
    flax_kind,
    kind_of,
    name_of,
    title_of,
)
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class PolicyValue(Evaluator):
    """A network for policy and value, given ``game.observe`` of positions, or an environment's ``observation``.

    apply: a hashable function ``(params, observations [B, ...]) -> (logits [B, A], values [B])``, the values in [-1, 1]
        for the player to move.

    Raises UserError for anything else; a module of flax is an evaluator itself.
    """

    apply: Callable[[Params, jax.Array], tuple[ArrayLike, ArrayLike]]

    def __post_init__(self) -> None:
        if flax_kind(self.apply):
            raise UserError(f"PolicyValue({self.title}): a module of flax is an evaluator itself; give it alone")
        if not callable(self.apply):
            raise UserError(f"PolicyValue({self.apply!r}): should be a function of (params, observations)")
        check_hashable(self.apply, self.title)

    @property
    def title(self) -> str:
        return title_of(self.apply)

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        found = self.apply(params, jax.vmap(game.observe, in_axes=-1)(states))
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise UserError(f"{name_of(self, game)}: gave {kind_of(found)}; should give (logits [B, A], values [B])")
        logits, value = found
        return Evaluation(logits=logits, value=value)
