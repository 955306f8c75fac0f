"""The words and numbers of a network's file in KataGo's format, read piece by piece; nothing is believed.

A file is words, whole numbers and decimals between white space, and blocks of weights. In a binary file (``.bin``) a
block is ``@BIN@`` and float32 numbers, the lowest byte first; in a text file (``.txt``) it is decimals. Either may be
packed with gzip (``.gz``). What a file is, its first bytes say, whatever its name.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from pathlib import Path

import numpy as np

from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import check_file

LONGEST_WORD = 200  # bytes
MOST_WEIGHTS = 2**29  # of a network; the largest that are published have half of that
LARGEST_TEXT = 2**28  # bytes of a text file, unpacked
BLOCK = b"@BIN@"
BEGINNING = 4096  # bytes from the beginning, in which a binary file has its first block
GZIP = b"\x1f\x8b"


class Reader:
    """A file that is read from its beginning to its end. Raises UserError, one line, for what cannot be."""

    def __init__(self, path: Path) -> None:
        try:
            check_file(path, LARGEST_WEIGHTS)
        except UserError as error:
            raise UserError(f"network {error}") from None
        self.path, self._left, self._next = path, MOST_WEIGHTS, 0
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - closed below
            packed = self._file.peek(2)[:2] == GZIP
        except OSError as error:
            raise self.fault(f"cannot be read: {error.strerror or error}") from None
        self._stream: io.BufferedReader = self._file
        if packed:
            self._stream = io.BufferedReader(gzip.GzipFile(fileobj=self._file), 2**16)
        self._words: list[bytes] | None = None
        head = self._peeked()
        if BLOCK not in head:
            if b"\0" in head:
                raise self.fault("is no network in KataGo's format")
            self._words = self._taken(LARGEST_TEXT + 1, short=True).split()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fault(self, text: str) -> UserError:
        """What is wrong with the file, to be raised."""
        return UserError(f"network {self.path}: {text}")

    def _peeked(self) -> bytes:
        try:
            return self._stream.peek(BEGINNING)[:BEGINNING]
        except (OSError, EOFError, zlib.error):
            raise self.fault("is cut off or damaged") from None

    def _taken(self, size: int, short: bool = False) -> bytes:
        """The next bytes: so many, or ``short`` of them at the file's end."""
        try:
            found = self._stream.read(size)
        except (OSError, EOFError, zlib.error):
            raise self.fault("is cut off or damaged") from None
        if len(found) < size and not short:
            raise self.fault("is cut off")
        if short and len(found) >= size:
            raise self.fault(f"holds more than {LARGEST_TEXT / 1e6:.0f} MB of text; its .bin.gz is read")
        return found

    def word(self) -> str:
        """The next word."""
        if self._words is not None:
            if self._next >= len(self._words):
                raise self.fault("is cut off")
            self._next += 1
            found = self._words[self._next - 1]
        else:
            byte = self._taken(1)
            while byte.isspace():
                byte = self._taken(1)
            found = b""
            while not byte.isspace():
                found += byte
                if len(found) > LONGEST_WORD:
                    break
                byte = self._taken(1)
        if len(found) > LONGEST_WORD or not found.isascii() or not found.decode().isprintable():
            raise self.fault("is no network in KataGo's format")
        return found.decode()

    def whole(self, what: str, least: int, most: int) -> int:
        """The next number, which is ``what``."""
        text = self.word()
        try:
            number = int(text)
        except ValueError:
            raise self.fault(f'{what} is "{text[:20]}"; should be a whole number') from None
        if not least <= number <= most:
            raise self.fault(f"{what} is {number}; should be from {least} to {most}")
        return number

    def number(self, what: str) -> float:
        """The next number, finite and above 0."""
        text = self.word()
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number < 1e9:
            raise self.fault(f'{what} is "{text[:20]}"; should be a number above 0')
        return number

    def weights(self, *shape: int) -> np.ndarray:
        """The next weights, float32 of this shape."""
        size = math.prod(shape)
        self._left -= size
        if self._left < 0:
            raise self.fault(f"holds more than {MOST_WEIGHTS:,} weights")
        if self._words is not None:
            own = self._words[self._next : self._next + size]
            self._next += size
            try:
                found = np.array(own, "S").astype(np.float32)
            except ValueError:
                raise self.fault("holds weights that are no numbers") from None
            if len(own) < size:
                raise self.fault("is cut off")
        else:
            byte = self._taken(1)
            for _ in range(100):
                if not byte.isspace():
                    break
                byte = self._taken(1)
            if byte + self._taken(len(BLOCK) - 1) != BLOCK:
                raise self.fault("has no weights where they should be")
            found = np.frombuffer(self._taken(4 * size), "<f4").astype(np.float32)
        if not np.isfinite(found).all():
            raise self.fault("holds weights that are no numbers")
        return found.reshape(shape)
