"""States as people hand them over: of this game, and batched as they are wanted."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import jax
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State

Shape: TypeAlias = tuple[int, ...]


def check_stacked(game: Game, states: State, where: str) -> None:
    """Raises UserError, ``where`` first, unless these are states of ``game`` stacked along the FIRST axis. A batch that
    is as large as all axes of a state passes either way."""
    given, own = _shapes(game, states, where)
    if _fit(given, own, first=True):
        return
    if _fit(given, own, first=False):
        raise UserError(
            f"{where}: the states are stacked along the LAST axis; wanted along the FIRST, [B, ...]: "
            "jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), states)"
        )
    if all(map(_is, given, own)):
        raise UserError(
            f"{where}: this is ONE state; wanted are states stacked along the FIRST axis, [B, ...]: "
            "jax.tree.map(lambda x: x[None], state); jb.run takes one"
        )
    raise UserError(f"{where}: {_odd([shape[1:] for shape in given], given, own, 'B, ')}")


def check_one(game: Game, state: State, where: str) -> None:
    """Raises UserError, ``where`` first, unless it is ONE state of ``game``."""
    given, own = _shapes(game, state, where)
    if all(map(_is, given, own)):
        return
    for first in (True, False):
        if _fit(given, own, first):
            raise UserError(
                f"{where}: the states are stacked along the {'FIRST' if first else 'LAST'} axis; wanted is ONE state, "
                "or a list of them for jb.run_many"
            )
    raise UserError(f"{where}: {_odd(given, given, own, '')}")


Own: TypeAlias = tuple[Shape, bool]  # of an array of the first position's; and whether it holds the past


def _shapes(game: Game, state: State, where: str) -> tuple[list[Shape], list[Own]]:
    """Of the arrays that are given, and of the game's."""
    wanted, structure, own = _first(game)
    if structure == jax.tree.structure(state):
        return [np.shape(x) for x in jax.tree.leaves(state)], own
    raise UserError(f"{where}: is {_called(state)}; wanted is {_called(wanted)}, a state of {game.spec}")


@functools.lru_cache(maxsize=64)
def _first(game: Game) -> tuple[State, Any, list[Own]]:
    first = jax.eval_shape(game.init)
    lean = jax.eval_shape(game.without_history, first)
    structure: Any = jax.tree.structure(first)
    past = [0 in x.shape for x in jax.tree.leaves(lean if structure == jax.tree.structure(lean) else first)]
    shapes = [x.shape for x in jax.tree.leaves(first)]
    return first, structure, list(zip(shapes, past, strict=True))


def _is(given: Shape, own: Own) -> bool:
    """Is it an array of one state? States may hold more of the past than the first one does."""
    shape, past = own
    return given == shape or (past and len(given) == len(shape))


def _fit(given: list[Shape], own: list[Own], first: bool) -> bool:
    """Are they those of states that are stacked along the first axis, or the last?"""
    if any(not shape for shape in given) or len({shape[0 if first else -1] for shape in given}) != 1:
        return False
    return all(_is(shape[1:] if first else shape[:-1], one) for shape, one in zip(given, own, strict=True))


def _odd(states: list[Shape], given: list[Shape], own: list[Own], batch: str) -> str:
    """The first array that is no state's, or has another batch than the others."""
    wrong = [i for i, shape in enumerate(states) if not _is(shape, own[i])] or [
        i for i, shape in enumerate(given) if shape[:1] != given[0][:1]
    ]
    wanted = f"[{batch}{', '.join(map(str, own[wrong[0]][0]))}]".replace(", ]", "]")
    return f"an array of the states is {[*given[wrong[0]]]}; wanted is {wanted}"


def _called(state: Any) -> str:
    name = type(state).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
