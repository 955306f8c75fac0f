"""Hex as other programs keep it, GM[11] of SGF: https://www.red-bean.com/sgf/hex.html."""

from __future__ import annotations

import re

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.coordinates import sgf_pair
from jubango.sgf_games.rules.hex import Hex
from jubango.sgf_games.sgf.grammar import sgf_grammar
from jubango.sgf_games.sgf.sgf_tree import Node

KIND = "11"
USUAL_SIZE = "11"
SWAP_SIDES = "swap-sides"
SWAPS = ("swap-pieces", SWAP_SIDES)
NO_MOVES = ("resign", "forfeit")
MOVE_KEYS = ("B", "W")
STONE_KEYS = ("AB", "AW", "AE")
MARKS = ("CR", "DD", "MA", "SL", "SQ", "TR", "VW")
LABELLED = ("AR", "LB", "LN")  # a point, a colon, and a text or another point
JUST_SWAPPED, SWAPPED = "just swapped", "swapped"  # the sides, on the way to a node; or not: ""
OTHER_COLOUR = {"B": "W", "AB": "AW", "BL": "WL", "OB": "OW", "GB": "GW"}
OTHER_COLOUR |= {value: key for key, value in OTHER_COLOUR.items()}


def with_our_points(root: Node) -> None:
    """Have a game that is GM[11] say its points and moves as our own files do. Raises UserError, which names the place.

    A cell has its name in both, but for columns from I on, which are J and so on here. After ``swap-sides`` colours are
    exchanged, that of the result too, and rows with columns, so that it is the swap of pieces that is known here; the
    players keep their names. Marks on no point are left out, and variations from a move on that is none.
    """
    game = _game_of(root)
    main_line = set(map(id, root.main_line))
    swapped = False
    below: list[tuple[Node, Node | None, int, str]] = [(root, None, 0, "")]
    while below:
        node, before, number, state = below.pop()
        number += any(key in MOVE_KEYS for key in node.properties)
        try:
            node.properties, state = _translated(node.properties, game, state)
        except UserError as error:
            if id(node) not in main_line:
                assert before is not None
                before.children.remove(node)
                continue
            raise UserError(f"{f'move {number}' if before else 'root node'}: {error}") from None
        swapped |= id(node) in main_line and bool(state)
        below += [(child, node, number, state) for child in node.children]
    if swapped and "RE" in root.properties:
        root.properties["RE"] = [_other_winner(value) for value in root.properties["RE"]]
    root.properties |= {"GM": [b"4"], "SZ": [str(game.width).encode()], "JG": [game.spec.encode()]}


def _game_of(root: Node) -> Hex:
    size = root.text("SZ").strip() or USUAL_SIZE
    match = re.fullmatch(r"(\d{1,3})(?: ?: ?(\d{1,3}))?", size, re.ASCII)
    if not match:
        raise UserError(f"SZ[{size[:20]}] is no board size")
    return Hex(int(match[1]), int(match[2] or match[1]))


def _translated(raw: dict[str, list[bytes]], game: Hex, state: str) -> tuple[dict[str, list[bytes]], str]:
    """A node's properties, and the state after it."""
    said: dict[str, list[bytes]] = {}
    after = state
    for key, values in raw.items():
        own = OTHER_COLOUR.get(key, key) if state else key
        if key in MOVE_KEYS:
            texts = ["".join(_text(value).split()).lower() for value in values]
            moves = [b"" if text in SWAPS else _point(text, key, game, state) for text in texts if text not in NO_MOVES]
            if moves and key == "B" and state == JUST_SWAPPED:
                raise UserError(f"B[{texts[0][:20]}]: after swap-sides White is to move")
            if SWAP_SIDES in texts:
                after = "" if state else JUST_SWAPPED
            else:
                after = state and SWAPPED
            said |= {own: moves} if moves else {}
        elif key in STONE_KEYS:
            said[own] = [_points(_text(value), key, game, state) for value in values]
        elif key in MARKS or key in LABELLED:
            marks = [mark for value in values if (mark := _mark(value, key, game, state)) is not None]
            said |= {key: marks} if marks else {}
        elif key == "PL" and state:
            said[key] = [b"W" if value.strip().lower().startswith(b"b") else b"B" for value in values]
        else:
            said[own] = values
    return said, after


def _mark(value: bytes, key: str, game: Hex, state: str) -> bytes | None:
    """None where it is on no point."""
    if not value.strip():  # which ends what earlier nodes have marked
        return value
    first, colon, rest = value.partition(b":")
    try:
        if key == "LB":
            return _points(_text(first), key, game, state) + colon + rest
        return _points(_text(value), key, game, state)
    except UserError:
        return None


def _text(value: bytes) -> str:
    text: bytes = sgf_grammar.text_value(value)
    return text.decode("utf-8")


def _points(text: str, key: str, game: Hex, state: str) -> bytes:
    """A point, or two."""
    return b":".join(_point(part.strip().lower(), key, game, state) for part in text.split(":"))


def _point(text: str, key: str, game: Hex, state: str) -> bytes:
    match = re.fullmatch(r"([a-z])(\d{1,2})", text, re.ASCII)
    column, row = (ord(match[1]) - ord("a"), int(match[2]) - 1) if match else (-1, -1)
    if not (0 <= column < game.width and 0 <= row < game.height):
        what = "neither a point" if key in MOVE_KEYS else "no point"
        also = " nor another move of Hex" if key in MOVE_KEYS else ""
        raise UserError(f"{key}[{text[:20]}] is {what} of {game.width}x{game.height}{also}")
    if state:
        row, column = column, row
    return sgf_pair((game.height - 1 - row, column)).encode()


def _other_winner(result: bytes) -> bytes:
    """``W+`` for ``B+``."""
    winner = result[:1].decode("ascii", "replace").upper()
    return OTHER_COLOUR[winner].encode() + result[1:] if winner in MOVE_KEYS else result
