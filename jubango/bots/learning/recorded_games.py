"""Games that others have played, read from SGF files in an order that a seed decides, so that reading can go on where
it stopped. At most one file is held at a time."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import check_file
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.sgf import LARGEST_SGF, SgfGame, read_games

SHORTEST = 5  # moves of a game that is learnt from
HELD_OUT = 32  # one game in so many is not learnt from
_POINTS = re.compile(r"([BW])\+(\d{1,4}(?:[.,]\d{1,2})?)\Z", re.ASCII)
_WON = re.compile(r"([BW])\+(?:R|Resign|T|Time)?\Z", re.ASCII | re.IGNORECASE)
_DRAWN = re.compile(r"(?:0|Draw|Jigo)\Z", re.ASCII | re.IGNORECASE)


class RecordedGame(NamedTuple):
    """A recorded game as it is learnt from."""

    board: int  # which of the games that are learnt
    komi: float
    stones: np.ndarray | None  # int8 [H, W], set up before the first move
    player: int  # who moves first
    actions: np.ndarray  # int32 [T]; who passes in a game that was counted does so twice, in the record or not
    result: float  # for the first player, in [-1, 1]
    margin: float  # the first player's, as it is stated; nan unless points were counted

    @property
    def held_out(self) -> bool:
        """Is it one of those that are not learnt from? Decided by its moves, so that copies of a game stay together."""
        return zlib.crc32(np.asarray(self.actions[:60], "<i4").tobytes()) % HELD_OUT == 0


class Place(NamedTuple):
    """How far reading has come: so many times through all files, then files, then games of the next file."""

    epoch: int = 0
    file: int = 0
    game: int = 0


class LeftOut(Exception):
    """Why a game is not learnt from, in few words."""


class RecordedGames:
    """The games of files and folders of SGF that fit one of ``games``.

    Raises UserError for a path that is no SGF file and no folder with any.
    """

    def __init__(self, paths: Sequence[str], games: Sequence[Game], seed: int) -> None:
        self.games, self.seed = tuple(games), seed
        self.files = files_of(paths)
        self.left_out: Counter[str] = Counter()  # how many games, by why
        self.notes: list[str] = []
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, int))
        self._lines: tuple[tuple[int, int], list[RecordedGame]] = ((-1, -1), [])

    def take(self, place: Place, number: int) -> tuple[list[RecordedGame], Place]:
        """At most so many of the games from ``place`` on, which end with a time through all files; and the place after
        them."""
        found: list[RecordedGame] = []
        epoch, file, game = place
        while len(found) < number:
            if file >= len(self.files):  # there were more of them
                file, game = 0, 0
            lines = self._of(epoch, file)
            new = lines[game : game + number - len(found)]
            found += new
            game += len(new)
            if game >= len(lines):
                file, game = file + 1, 0
                if file >= len(self.files):
                    return found, Place(epoch + 1, 0, 0)
        return found, Place(epoch, file, game)

    def _of(self, epoch: int, file: int) -> list[RecordedGame]:
        """The games of a file, in this time's order."""
        if self._lines[0] != (epoch, file):
            if self._order[0] != epoch:
                self._order = epoch, np.random.default_rng((self.seed, epoch)).permutation(len(self.files))
            lines = list(self._read(self.files[self._order[1][file]], first=not epoch))
            order = np.random.default_rng((self.seed, epoch, file)).permutation(len(lines))
            self._lines = (epoch, file), [lines[i] for i in order]
        return self._lines[1]

    def _read(self, path: Path, first: bool) -> Iterator[RecordedGame]:
        try:
            check_file(path, LARGEST_SGF)
            games = read_games(path)
        except UserError as error:
            if first:
                self.notes.append(f"{error}; the file is left out")
            return
        for sgf in games:
            try:
                yield line_of(sgf, self.games)
            except (LeftOut, UserError) as why:
                self.left_out[str(why) if isinstance(why, LeftOut) else "what its nodes say cannot be played"] += first

    @property
    def said_of_left_out(self) -> str:
        """``12 games are left out: no result (10), another board (2)``; empty if there are none."""
        total = sum(self.left_out.values())
        if not total:
            return ""
        why = ", ".join(f"{reason} ({number:,})" for reason, number in self.left_out.most_common())
        return f"{total:,} game{'s are' if total > 1 else ' is'} left out: {why}"


def files_of(paths: Sequence[str]) -> list[Path]:
    """The SGF files that are named, and those in folders that are, in one order. Raises UserError."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = path.resolve()
            files = [file for file in sorted(path.rglob("*.sgf")) if file.resolve().is_relative_to(inside)]
            if not files:
                raise UserError(f"records: {path}: holds no .sgf files")
        else:
            try:
                check_file(path, LARGEST_SGF)
            except UserError as error:
                raise UserError(f"records: {error}") from None
            files = [path]
        found.update(dict.fromkeys(files))
    return list(found)


def line_of(sgf: SgfGame, games: Sequence[Game]) -> RecordedGame:
    """What is learnt from of a main line. Raises LeftOut, and UserError for what cannot be on its board."""
    board = next((i for i, game in enumerate(games) if _is_on(sgf.game, game)), None)
    if board is None:
        raise LeftOut("another game or board")
    game = games[board]
    result, margin = result_of(sgf.properties.get("RE", ""))
    moves = [node.move for node in sgf.nodes if node.move is not None]
    if len(moves) < SHORTEST:
        raise LeftOut(f"fewer than {SHORTEST} moves")
    first = next(i for i, node in enumerate(sgf.nodes) if node.move is not None)
    if any(node.black or node.white or node.empty for node in sgf.nodes[first:]):
        raise LeftOut("stones set up on the way")
    player = moves[0][0]
    alternate = next((i for i, move in enumerate(moves) if move[0] != (player + i) % 2), len(moves))
    if alternate < SHORTEST:
        raise LeftOut("moves out of turn")
    whole = alternate == len(moves)
    actions = [game.point_action(point) for _, point in moves[:alternate]]
    if not np.isnan(margin) and whole and game.counts_points:
        passed = next((i for i, action in enumerate(reversed(actions)) if action != game.pass_action), len(actions))
        actions += [game.pass_action] * max(0, 2 - passed)
    stones = _set_up(sgf, first, game)
    komi = sgf.game.komi_of() if game.has_komi else 0.0
    return RecordedGame(
        board, komi, stones, player, np.asarray(actions, np.int32), result, margin if whole else float("nan")
    )


def result_of(text: str) -> tuple[float, float]:
    """(the first player's result, the points it was won by, or nan) of SGF's RE. Raises LeftOut where nobody has won
    and it is no draw."""
    text = text.strip()
    if found := _POINTS.match(text):
        points = float(found[2].replace(",", "."))
        sign = 1.0 if found[1] == "B" else -1.0
        return (sign, sign * points) if points else (0.0, 0.0)
    if found := _WON.match(text):
        return (1.0 if found[1].upper() == "B" else -1.0), float("nan")
    if _DRAWN.match(text):
        return 0.0, 0.0
    raise LeftOut("no result")


def _is_on(found: Game, wanted: Game) -> bool:
    """Is it a game of this family, on this board?"""
    return found.family == wanted.family and (found.height, found.width) == (wanted.height, wanted.width)


def _set_up(sgf: SgfGame, first: int, game: Game) -> np.ndarray | None:
    """int8 [H, W]: the stones before the first move, if there are any. Raises LeftOut where there can be none."""
    nodes = [node for node in sgf.nodes[: first + 1] if node.black or node.white or node.empty]
    if not nodes:
        return None
    if not game.has("set_up"):
        raise LeftOut("stones set up")
    stones = np.zeros((game.height, game.width), np.int8)
    for node in nodes:
        for colour, points in ((1, node.black), (2, node.white), (0, node.empty)):
            for point in points:
                stones[point] = colour
    return stones
