"""Replaying an SGF game's main line under our rules: its positions, or where it breaks them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compiled import initial_state, rules
from jubango.sgf_games.coordinates import Point
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.sgf import SgfGame, SgfNode


@dataclass(frozen=True)
class Position:
    """A place in a game: what a bot is asked about."""

    game: Game
    state: State
    number: int  # moves made
    last: Point | None
    last_player: int | None
    next_move: tuple[int, Point | None] | None  # what was played here


def position_at(sgf: SgfGame, number: int | None = None) -> Position:
    """The position after ``number`` moves of the main line (None: the last). Raises UserError."""
    total = sgf.move_count
    if number is not None and not 0 <= number <= total:
        raise UserError(f"{sgf.source}: has {total} moves; --move {number} is not between 0 and {total}")
    return _walk(sgf, total if number is None else number)[-1]


def positions(sgf: SgfGame) -> list[Position]:
    """The position before the first move, and after every move. Raises UserError at an illegal move."""
    return _walk(sgf, sgf.move_count)


def _walk(sgf: SgfGame, until: int) -> list[Position]:
    game = sgf.game
    state = initial_state(game)
    compiled = rules(game)
    upcoming = [node.move for node in sgf.nodes if node.move]
    out: list[Position] = []
    number, last, last_player = 0, None, None

    def here() -> Position:
        following = upcoming[number] if number < len(upcoming) else None
        return Position(game, _on_move(game, state, following), number, last, last_player, following)

    for node in sgf.nodes:
        if node.black or node.white or node.empty or node.turn is not None:
            if number == until and node.move is None and number:
                break
            state = _set_up(sgf, state, node, upcoming[number][0] if number < len(upcoming) else None)
        if node.move is None:
            continue
        out.append(here())
        if number == until:
            return out
        player, point = node.move
        state = _on_move(game, state, node.move)
        if isinstance(game, Go):  # people pass and then play on
            state = state._replace(passes=jnp.minimum(state.passes, 1))
        where = f"{sgf.source}: move {number + 1} ({'BW'[player]} {game.point_text(point)})"
        try:
            action = game.point_action(point)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        legal = np.asarray(compiled.view(state).legal)
        falls_elsewhere = point is not None and legal[action] and game.action_point(state, action) != point
        if not legal[action] or falls_elsewhere:
            raise UserError(f"{where} is illegal: {_why(game, state, point)}; use --move N to stop before it")
        state = compiled.step(state, action)
        number, last, last_player = number + 1, point, player
    out.append(here())
    return out


def _on_move(game: Game, state: State, move: tuple[int, Point | None] | None) -> State:
    return game.turn_to(state, move[0]) if move is not None and isinstance(game, Go) else state


def _set_up(sgf: SgfGame, state: State, node: SgfNode, next_player: int | None) -> State:
    game = sgf.game
    if not isinstance(game, Go):
        if node.black or node.white or node.empty:
            raise UserError(f"{sgf.source}: set-up stones are understood in Go only, not in {game.spec}")
        return state
    stones = game.stones(state).copy()
    for colour, points in ((1, node.black), (2, node.white), (0, node.empty)):
        for point in points:
            stones[point] = colour
    turn = node.turn
    if turn is None:
        turn = next_player
    if turn is None:
        turn = 1 if node.black and not node.white else int(state.player)
    return game.set_up(stones, turn)


def _why(game: Game, state: Any, point: Point | None) -> str:
    if bool(rules(game).view(state).terminal):
        return "the game is over"
    if point is not None and game.stones(state)[point]:
        return "the point is occupied"
    if isinstance(game, Go) and point is not None:
        simple = _rules_without_ko(game)
        free = np.asarray(simple.view(game.without_history(state)._replace(ko=jnp.int32(-1))).legal)
        return "ko" if free[game.point_action(point)] else "suicide"
    return "the rules forbid it"


@functools.cache
def _rules_without_ko(game: Go) -> Any:
    return rules(Go(game.width, game.height, game.komi, "simple", game.suicide))
