"""Functions of ONE position as evaluators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import jax
from jax.typing import ArrayLike

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params, check_hashable, said, title_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class OneByOne(Evaluator):
    """A function of ONE position, batched here.

    function: ``(game, state, legal, seed) -> (prior [A], value [])``, or an :class:`Evaluation` in place of the pair;
        a function of five takes the weights before them, ``(params, game, state, legal, seed)``. One that can be called
        with four and with five takes them where its first is called ``params`` or its second ``game``. Raises UserError
        for one that takes another number of arguments, or that cannot be hashed.
    """

    function: Callable[..., Evaluation | tuple[ArrayLike, ArrayLike]]

    def __post_init__(self) -> None:
        check_hashable(self.function, self.title)
        takes_params(self.function, self.title)

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        first = (params,) if takes_params(self.function, self.title) else ()

        def one(state: State, legal: jax.Array, seed: jax.Array) -> Evaluation:
            return said(self.function(*first, game, state, legal, seed), self, game, legal.shape)

        found: Evaluation = jax.vmap(one, in_axes=(-1, 0, 0))(states, legal, seeds)
        return found

    @property
    def title(self) -> str:
        return title_of(self.function)


def takes_params(function: Callable[..., object], title: str) -> bool:
    """Does it take the weights, before the four others? Raises UserError."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables of C do not tell
        return False
    own = [one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = sum(one.default is one.empty for one in own)
    keys = [one.name for one in found if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    four, five = needed <= 4 <= len(own), needed <= 5 <= len(own)
    if keys or not (four or five):
        takes = ", ".join(str(one) for one in found)
        raise UserError(
            f'evaluator "{title}": takes ({takes}); should take (game, state, legal, seed), or '
            "(params, game, state, legal, seed), and give (prior, value) or a jb.Evaluation"
        )
    return five and (not four or own[0].name == "params" or own[1].name == "game")
