"""What is wrong with a game, in one line: the method, what came, what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State


def wrong(game: Game, method: str, message: str) -> UserError:
    return UserError(f"{type(game).__name__}.{method}: {message}")


def made(game: Game, method: str, call: Callable[[], Any]) -> Any:
    """What ``call`` returns. Raises UserError for whatever is raised in it."""
    try:
        return call()
    except Exception as error:
        first = (str(error).strip() or "nothing is said").splitlines()[0]
        raise wrong(game, method, f"raises {type(error).__name__}: {first}") from error


def kind_of(value: Any) -> str:
    """``bool[17]``."""
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


def differs(one: State, other: State) -> str:
    """How the arrays of two states differ, or nothing."""
    parts = [str(jax.tree.structure(state)) for state in (one, other)]
    if parts[0] != parts[1]:
        return f"its parts are {parts[0]}, those of init() are {parts[1]}"
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(one)]
    for path, a, b in zip(paths, jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if kind_of(a) != kind_of(b):
            return f"its {path} is {kind_of(a)}, that of init() is {kind_of(b)}"
    return ""
