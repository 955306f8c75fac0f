"""What players think of their moves, as numbers: one move's in words, a whole game's packed into a few bytes."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.sgf_games.base.errors import UserError

COUNTS, REALS = 2, 3  # how many of a thought's numbers are of either kind
LONGEST_GAME = 1_000_000  # of a game
UNSAID = -1  # a count that is not there
COARSE = np.uint32(0xFFFFF000)  # what is kept of a float32 of seconds: 12 bits are noise that no compression takes


class Thought(NamedTuple):
    """What a player says of its move, as far as it says it, and how long that took."""

    visits: int = UNSAID  # of the move, in the search
    simulations: int = UNSAID  # all visits
    value: float = math.nan  # of the move, in [-1, 1] for the player itself
    prior: float = math.nan  # of the move, in [0, 1], before the search, its root's noise included
    seconds: float = math.nan

    @property
    def text(self) -> str:
        """``812 of 1600 visits, own win rate 53.2 %``; nothing of a move without a search."""
        return _text(self.visits, self.simulations, self.value)


class Thoughts(NamedTuple):
    """Of the moves of a game; arrays are [n]."""

    visits: np.ndarray  # int32, -1 where nothing is said
    simulations: np.ndarray  # int32, likewise
    value: np.ndarray  # float32, nan where nothing is said
    prior: np.ndarray  # float32, likewise
    seconds: np.ndarray  # float32, likewise, to 1 part in 4,096

    @property
    def texts(self) -> list[str]:
        """Of each move :attr:`Thought.text`."""
        return list(map(_text, *(column.tolist() for column in self[:3])))


def _text(visits: int, simulations: int, value: float) -> str:
    if simulations < 0:
        return ""
    return f"{visits} of {simulations} visits, own win rate {50 + 50 * value:.1f} %"


def packed(thoughts: Sequence[Thought]) -> bytes:
    """Column after column, of the words of a column all first bytes, then all second ones, ..., compressed by zlib.
    Nothing of no moves."""
    if not thoughts:
        return b""
    columns = list(zip(*thoughts, strict=True))
    words = np.empty((COUNTS + REALS, len(thoughts)), "<u4")
    words[:COUNTS] = np.array(columns[:COUNTS], "<i4").view("<u4")
    words[COUNTS:] = np.array(columns[COUNTS:], "<f4").view("<u4")
    words[-1] &= COARSE
    return zlib.compress(words.view(np.uint8).reshape(*words.shape, 4).transpose(0, 2, 1).tobytes())


def unpacked(data: bytes) -> Thoughts:
    """The inverse of :func:`packed`. Raises UserError."""
    size, unpacking = 4 * (COUNTS + REALS), zlib.decompressobj()
    try:
        raw = np.frombuffer(unpacking.decompress(data, size * LONGEST_GAME) if data else b"", np.uint8)
    except zlib.error as error:
        raise UserError(f"what was thought of its moves is damaged: {error}") from None
    if data and (not unpacking.eof or len(raw) % size):
        raise UserError("what was thought of its moves is damaged: it is cut short, or too long")
    words = raw.reshape(COUNTS + REALS, 4, -1).transpose(0, 2, 1).copy().view("<u4")[..., 0]
    return Thoughts(*words[:COUNTS].view("<i4"), *words[COUNTS:].view("<f4"))


_WORDS = re.compile(r"(\d{1,9}) of (\d{1,9}) visits, own win rate (\d{1,3}\.\d) %")


def read_words(text: str) -> Thought:
    """What a comment that begins with :attr:`Thought.text` says, the value to a five-hundredth; nothing of another."""
    found = _WORDS.match(text)
    return Thought(int(found[1]), int(found[2]), float(found[3]) / 50 - 1) if found else Thought()
