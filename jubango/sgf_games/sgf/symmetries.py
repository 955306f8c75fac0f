"""Games that are the same but for how the board is turned or mirrored: each is told as on one of these boards."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.specs import parse_spec
from jubango.sgf_games.rules.catalogue import CATALOGUE, make_game
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.rules.pgx_adapter import SYMMETRIES
from jubango.sgf_games.sgf.sgf import SgfGame, SgfNode

T = TypeVar("T")


def turned_moves(spec: str, moves: str) -> str:
    """The moves of a game on a board turned or mirrored so that their texts come first in the alphabet.

    Games that differ only by a symmetry get the same text. Moves of a game that is not known, or of whose symmetries
    nothing is known, stay as they are.
    """
    images = _images(spec)
    texts = moves.split(" ")
    if images is None or not images.keys() >= set(texts):
        return moves
    return " ".join(_first(texts, lambda text, turn: images[text][turn], len(images[texts[0]])))


def turned_nodes(sgf: SgfGame) -> tuple[str, ...]:
    """The same of the nodes of an SGF file's main line: what is put on the board, who is to move, and the move."""
    points = _points(sgf.game)

    def image(node: SgfNode, turn: int) -> str:
        def at(point: Point) -> int:
            return int(points[turn, point[0] * sgf.game.width + point[1]])

        stones = [sorted(map(at, own)) for own in (node.black, node.white, node.empty)]
        move = node.move and (node.move[0], node.move[1] and at(node.move[1]))
        return f"{stones}{node.turn}{move}"

    return tuple(_first(sgf.nodes, image, len(points)))


def turns_of(game: Game) -> int:
    """On how many boards, turned and mirrored, a game is the same game; the first is as it is."""
    return len(_points(game))


@functools.lru_cache(maxsize=64)
def turned_actions(game: Game) -> np.ndarray:
    """int [S, A]: which action of the game's own board an action on each of these boards is."""
    return game.symmetries[1] if turns_of(game) > 1 else np.arange(game.num_actions)[None]


def turned(sgf: SgfGame, turn: int) -> SgfGame:
    """The game on one of these boards: what is there at a point lay at ``game.symmetries[0][turn]`` before."""
    if not turn:
        return sgf
    width, places = sgf.game.width, np.argsort(_points(sgf.game)[turn])

    def at(point: Point) -> Point:
        row, column = divmod(int(places[point[0] * width + point[1]]), width)
        return row, column

    def image(node: SgfNode) -> SgfNode:
        black, white, empty = (tuple(map(at, own)) for own in (node.black, node.white, node.empty))
        move = node.move and (node.move[0], node.move[1] and at(node.move[1]))
        return replace(node, black=black, white=white, empty=empty, move=move)

    return replace(sgf, nodes=tuple(map(image, sgf.nodes)))


def _first(parts: Sequence[T], image: Callable[[T, int], str], turns: int) -> list[str]:
    """The images of the parts in the turn in which they come first."""
    left = list(range(turns))
    for part in parts:
        if len(left) == 1:
            break
        seen = [image(part, turn) for turn in left]
        least = min(seen)
        left = [turn for turn, text in zip(left, seen, strict=True) if text == least]
    return [image(part, left[0]) for part in parts]


@functools.lru_cache(maxsize=64)
def _images(spec: str) -> dict[str, tuple[str, ...]] | None:
    """Of every action's text those of the actions that it is on the boards; None if there is one board alone."""
    try:
        name, size, _ = parse_spec(spec, "game")
        entry = CATALOGUE.get(name)
        own = entry is not None and getattr(entry.make, "symmetries", None) is not Game.symmetries
        if not own or (name == "pgx" and size not in SYMMETRIES):  # none is made, which takes time
            return None
        game = make_game(spec)
    except UserError:
        return None
    actions = game.symmetries[1]
    if len(actions) == 1:
        return None
    texts = [game.action_text(action) for action in range(game.num_actions)]
    return {text: tuple(texts[to] for to in actions[:, action]) for action, text in enumerate(texts)}


@functools.lru_cache(maxsize=64)
def _points(game: Game) -> np.ndarray:
    """int [S, H * W]: where each point is on the boards."""
    same = np.arange(game.height * game.width)[None]
    if not game.has("symmetries"):
        return same
    points = game.symmetries[0]
    return points if points.shape[1] == same.shape[1] else same
