"""Hex as other programs keep it, GM[11] of SGF: https://www.red-bean.com/sgf/hex.html."""

from __future__ import annotations

import re

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.coordinates import sgf_pair
from jubango.sgf_games.rules.hex import Hex
from jubango.sgf_games.sgf.sgf_tree import Node

KIND = "11"
USUAL_SIZE = "11"
MOVES = {"B": "W", "W": "B"}
POINTS = {"AB": "AW", "AW": "AB", "AE": "AE"} | {key: key for key in ("CR", "DD", "MA", "SL", "SQ", "TR", "VW")}
LABELLED = ("AR", "LB", "LN")  # a point, a colon, and a text or another point
NO_MOVES = ("resign", "forfeit")


def with_our_points(root: Node) -> None:
    """Have a game that is GM[11] say its points and moves as our own files do. Raises UserError, which names the place.

    A cell has its name in both, but for columns from I on, which are J and so on here. After ``swap-sides`` colours are
    exchanged, and rows with columns, so that it is the swap of pieces that is known here.
    """
    size = root.text("SZ").strip() or USUAL_SIZE
    match = re.fullmatch(r"(\d{1,3})(?::(\d{1,3}))?", size, re.ASCII)
    if not match:
        raise UserError(f"SZ[{size[:20]}] is no board size")
    game = Hex(int(match[1]), int(match[2] or match[1]))
    below = [(root, 0, False)]
    while below:
        node, number, turned = below.pop()
        number += any(key in MOVES for key in node.properties)
        where = f"move {number}" if node is not root else "root node"
        try:
            node.properties, turned = _translated(node.properties, game, turned)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        below += [(child, number, turned) for child in node.children]
    root.properties |= {"GM": [b"4"], "SZ": [str(game.width).encode()], "JG": [game.spec.encode()]}


def _translated(raw: dict[str, list[bytes]], game: Hex, turned: bool) -> tuple[dict[str, list[bytes]], bool]:
    """A node's properties, and whether colours are exchanged after it."""
    said: dict[str, list[bytes]] = {}
    after = turned
    for key, values in raw.items():
        if key in MOVES:
            moves = [_move(value, key, game, turned) for value in values]
            after ^= any(value.strip().lower() == b"swap-sides" for value in values)
            if any(move is not None for move in moves):
                said[MOVES[key] if turned else key] = [move for move in moves if move is not None]
        elif key in POINTS:
            said[POINTS[key] if turned else key] = [_points(value, key, game, turned) for value in values]
        elif key in LABELLED:
            said[key] = [_labelled(value, key, game, turned) for value in values]
        elif key == "PL" and turned:
            said[key] = [b"W" if value.strip().lower().startswith(b"b") else b"B" for value in values]
        else:
            said[key] = values
    return said, after


def _move(value: bytes, key: str, game: Hex, turned: bool) -> bytes | None:
    """None: a game's end, which is no move."""
    text = value.decode("utf-8").strip().lower()
    if text in ("swap-pieces", "swap-sides"):
        return b""  # without a point: the swap
    return None if text in NO_MOVES else _point(text, key, game, turned)


def _points(value: bytes, key: str, game: Hex, turned: bool) -> bytes:
    """A point, or two corners of a rectangle."""
    return b":".join(_point(part, key, game, turned) for part in value.decode("utf-8").split(":"))


def _labelled(value: bytes, key: str, game: Hex, turned: bool) -> bytes:
    first, colon, rest = value.partition(b":")
    rest = rest if key == "LB" else _points(rest, key, game, turned)
    return _points(first, key, game, turned) + colon + rest


def _point(text: str, key: str, game: Hex, turned: bool) -> bytes:
    match = re.fullmatch(r"([a-z])(\d{1,2})", text.strip().lower(), re.ASCII)
    column, row = (ord(match[1]) - ord("a"), int(match[2]) - 1) if match else (-1, -1)
    if not (0 <= column < game.width and 0 <= row < game.height):
        raise UserError(f"{key}[{text[:20]}]: is no point of {game.width}x{game.height}, and no other move of Hex")
    if turned:
        row, column = column, row
    return sgf_pair((game.height - 1 - row, column)).encode()
