"""The hooks of a game: what programs around the rules ask it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.conformance.errors import differs, kind_of, made
from jubango.sgf_games.rules.game import Game, State

Error: TypeAlias = Callable[[str, str], UserError]  # of a method and what is wrong with it

LEAST_SLOPE, MOST_SLOPE = 0.25, 4.0  # of the margin over what the owners say, in points


def check_hooks(game: Game, state: State, error: Error, over: bool = False) -> None:
    """Every hook answers, and with what is expected of it, in this position. over: the game is, so that dead stones are
    asked for."""
    board, point = (game.height, game.width), (0, 0)

    def on_board(points: Any) -> bool:
        return all(len(p) == 2 and 0 <= p[0] < board[0] and 0 <= p[1] < board[1] for p in points)

    def mask(found: Any, shape: Sequence[int]) -> bool:
        return kind_of(found) == f"bool[{','.join(map(str, shape))}]"

    def text(found: Any) -> bool:
        return isinstance(found, str)

    def line(found: Any) -> bool:
        return isinstance(found, str) and bool(found.strip()) and "\n" not in found

    def like(found: Any) -> bool:
        return not differs(found, state)

    questions: dict[str, tuple[Callable[[], Any], Callable[[Any], bool], str]] = {
        "star_points": (lambda: game.star_points, on_board, "points (row, column) of the board"),
        "placing": (lambda: game.placing, lambda x: x in ("go", "drop", "place", None), "go, drop, place or None"),
        "dialect": (lambda: game.dialect, lambda x: x in ("", "go"), 'go or ""'),
        "common_name": (lambda: game.common_name, line, "a line of text"),
        "rule_set": (lambda: game.rule_set, text, "text"),
        "strongest_bot": (lambda: game.strongest_bot, line, "a bot's spec string"),
        "family": (lambda: game.family, line, "a line of text"),
        "komi_of": (lambda: game.komi_of(state), math.isfinite, "a number"),
        "end_reason": (lambda: game.end_reason(drawn=False), line, "a word"),
        "margin_text": (lambda: game.margin_text(1.0), line, "a line of text"),
        "point_text": (lambda: game.point_text(point), line, "a line of text"),
        "why_illegal": (lambda: game.why_illegal(state, point), line, "a line of text"),
        "open_actions": (lambda: game.open_actions(state), lambda x: mask(x, (game.num_actions,)), "bool[A]"),
        "resumed": (lambda: game.resumed(state), like, "a state as it was given"),
        "move_points": (lambda: game.move_points([]), lambda x: [*x] == [], "no points of no moves"),
        "without_stones": (
            lambda: game.without_stones(state, np.zeros(np.shape(game.stones(state)), bool)), like,
            "a state as it was given",
        ),
        "chains": (
            lambda: game.chains(state), lambda xs: all(mask(x, np.shape(game.stones(state))) for x in xs),
            "a list of bool[H,W]",
        ),
    }  # fmt: skip
    if over:
        shape = np.shape(game.stones(state))
        questions["dead_stones"] = lambda: game.dead_stones(state), lambda x: mask(x, shape), "bool[H,W]"
    if game.has("set_up"):
        questions["handicap_points"] = lambda: _unless_refused(lambda: game.handicap_points(2)), on_board, "points"
    for hook, (ask, fits, expected) in questions.items():
        found = made(game, hook, ask)
        if not made(game, hook, functools.partial(fits, found)):
            said = kind_of(found) if hasattr(found, "shape") else repr(found)
            raise error(hook, f"is {' '.join(said.split())[:80]}; expected {expected}")


def _unless_refused(ask: Callable[[], Any]) -> Any:
    """What is refused in a line is answered, too."""
    try:
        return ask()
    except UserError:
        return []


def check_stones_set_up(game: Game, one: State, player: int, error: Error) -> None:
    """Of a position in which the game goes on."""
    stones = game.stones(one)
    hooks: dict[str, Callable[[int], State]] = {}
    if game.has("set_up"):
        hooks["set_up"] = lambda mover: game.set_up(stones, mover)
    if game.has("with_player"):
        hooks["with_player"] = lambda mover: game.with_player(one, mover)
    for hook, make in hooks.items():
        for mover in (player, 1 - player):
            state = made(game, hook, functools.partial(make, mover))
            if difference := differs(state, one) if hook == "with_player" else "":
                raise error(hook, f"returns another kind of state: {difference}")
            if not np.array_equal(game.stones(state), stones):
                raise error(hook, "leads to other stones; expected those on the board")
            if int(game.current_player(state)) != mover:
                raise error(hook, f"player {1 - mover} is to move; expected player {mover}, as asked")
    if not game.has_komi:
        return
    other = made(game, "with_komi", lambda: game.with_komi(game.komi_of() + 1))
    if other.compiled_as != game.compiled_as:
        return
    if other.komi_of(made(game, "priced", lambda: other.priced(one))) != other.komi_of():
        raise error("priced", "does not give the state this game's komi")


def check_points(game: Game, states: State, error: Callable[[int, str, str], UserError]) -> None:
    """At the ends of random games: margin, komi included, is in points, and on the side of those that owners names."""
    owners = made(game, "owners", lambda: np.asarray(jit(jax.vmap(game.owners, in_axes=-1))(states)))
    margin = made(game, "margin", lambda: np.asarray(jit(jax.vmap(game.margin, in_axes=-1))(states)))
    lane = int(np.argmax(~np.isfinite(margin) | ~np.isin(owners, (-1, 0, 1)).all(axis=-1)))
    if not np.isfinite(margin[lane]):
        raise error(lane, "margin", f"is {margin[lane]:g}; expected points")
    if not np.isin(owners[lane], (-1, 0, 1)).all():
        raise error(lane, "owners", "has other numbers than -1, 0 and 1")
    ahead, komi = owners.sum(axis=-1, dtype=np.float64), game.komi_of()
    if not ahead.any():
        return
    slope = float(ahead @ (margin + komi) / (ahead @ ahead))
    lane = int(np.argmax(np.abs(ahead)))
    said = f"{ahead[lane]:+g} points by owners, {margin[lane] + komi:+g} by margin without komi"
    if slope < 0:
        raise error(lane, "owners", f"names the other player: {said}; expected 1 for the first player's points")
    if not LEAST_SLOPE <= slope <= MOST_SLOPE:
        raise error(lane, "margin", f"is on another scale than points: {said}")
