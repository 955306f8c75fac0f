"""The tables of a training run, CSV files that grow by rows: how learning goes, and what each network has done."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.bots.learning.learner import Losses
from jubango.bots.learning.position_files import set_aside
from jubango.bots.learning.record_lessons import HeldOut
from jubango.sgf_games.library.folder import Folder

NETWORK_NAME = re.compile(r"net-\d{4,9}")  # of a network that was measured
MOST_GAMES = 1_000_000  # of a match

Row = TypeVar("Row")


class Match(NamedTuple):
    """What a network has done against an opponent; a row of ``matches.csv``."""

    seconds: float  # of training when it was made
    trained_games: int
    network: str
    opponent: str
    wins: int
    draws: int
    losses: int

    @property
    def score(self) -> float:
        return (self.wins + self.draws / 2) / max(1, self.wins + self.draws + self.losses)


class HeldOutRow(NamedTuple):
    """What a network knew of recorded games that it had not learnt from, when it had trained so long."""

    seconds: float
    games: int
    learnt: int  # positions from records
    steps: int
    found: HeldOut

    @property
    def cells(self) -> list[object]:
        """Of a row."""
        board, positions, *numbers = self.found
        return [
            round(self.seconds, 1),
            self.games,
            self.learnt,
            self.steps,
            board,
            positions,
            *(round(x, 5) for x in numbers),
        ]


class GrowingTable(Generic[Row]):
    """A file with a row for each of ``rows``. ``parse`` makes one of a line's cells, or raises ValueError.

    A last line that was cut off goes, so that the next one stands by itself. What else cannot be read is left out, with
    the file as it was put aside and a line in ``notes``. Raises UserError for what is no file.
    """

    def __init__(
        self, run: Folder, name: str, columns: Sequence[str], parse: Callable[[list[str]], Row], notes: list[str]
    ) -> None:
        self.run, self.name, self.header = run, name, _line(columns)
        data = run.read(name) or b""
        *whole, cut = data.split(b"\n")
        kept, self.rows, wrong = [], [], 0
        for number, line in enumerate(whole):
            if number == 0 and line + b"\n" == self.header.encode():
                continue
            try:
                (cells,) = csv.reader([line.decode()], strict=True)
                if len(cells) != len(columns):
                    raise ValueError
                self.rows.append(parse(cells))
                kept.append(line)
            except (ValueError, csv.Error):
                wrong += 1
        if wrong:
            rows = "a row" if wrong == 1 else f"{wrong} rows"
            notes.append(f"{run.path / name}: {rows} cannot be read and left out; as it was: {set_aside(run, name)}")
        self._begun = bool(whole or cut)
        if wrong or cut:
            run.write(name, b"".join([self.header.encode(), *(line + b"\n" for line in kept)]))

    def append(self, row: Row, cells: Sequence[object]) -> None:
        """Raises UserError and OSError."""
        self.rows.append(row)
        self.run.append(self.name, ("" if self._begun else self.header).encode() + _line(cells).encode())
        self._begun = True


def matches_of(run: Folder, name: str, notes: list[str]) -> GrowingTable[Match]:
    """``matches.csv``."""
    return GrowingTable(run, name, Match._fields, _match, notes)


PROGRESS_COLUMNS = ("seconds", "games", "positions", "steps", *Losses._fields, "plies", "first_won", "resign")


def progress_of(run: Folder, name: str, notes: list[str]) -> GrowingTable[dict[str, float]]:
    """``progress.csv``."""
    return GrowingTable(run, name, PROGRESS_COLUMNS, _progress, notes)


Read = TypeVar("Read")


def read_matches(run: Folder, name: str) -> list[Match]:
    """``matches.csv`` as far as it can be read; nothing is written. Raises UserError for what is no file."""
    return _read(run, name, len(Match._fields), _match)


def read_progress(run: Folder, name: str) -> list[dict[str, float]]:
    """``progress.csv``, likewise."""
    return _read(run, name, len(PROGRESS_COLUMNS), _progress)


def _read(run: Folder, name: str, columns: int, parse: Callable[[list[str]], Read]) -> list[Read]:
    rows = []
    for line in (run.read(name) or b"").split(b"\n")[1:-1]:  # without its heading, and a row that is being written
        with contextlib.suppress(ValueError, csv.Error):
            (cells,) = csv.reader([line.decode()], strict=True)
            if len(cells) == columns:
                rows.append(parse(cells))
    return rows


def rated(matches: Sequence[Match]) -> RatingList | None:
    """All networks that have been measured, and the ladder, ``random`` being 0; None before the first game."""
    games = [
        (m.network, m.opponent, score)
        for m in matches
        for score, number in ((1.0, m.wins), (0.5, m.draws), (0.0, m.losses))
        for _ in range(number)
    ]
    if not games:
        return None
    return rate(games, first_move_advantage=False, anchors={"random": 0.0}, players=["random"])


def elo_of(matches: Sequence[Match]) -> list[tuple[float, float, float]]:
    """(seconds, Elo, half of its 95 % interval) of the networks that have been measured."""
    ratings = rated(matches)
    known = {r.name: r for r in ratings.ratings} if ratings else {}
    when = {match.network: match.seconds for match in matches if match.network in known}
    return [(seconds, known[name].elo, known[name].error) for name, seconds in when.items()]


RECORDS_COLUMNS = ("seconds", "games", "learnt", "steps", *HeldOut._fields)


def records_of(run: Folder, name: str, notes: list[str]) -> GrowingTable[HeldOutRow]:
    """``records.csv``."""
    return GrowingTable(run, name, RECORDS_COLUMNS, _held_out, notes)


def _line(cells: Sequence[object]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(cells)
    return file.getvalue()


def _match(cells: list[str]) -> Match:
    seconds, games, network, opponent, *results = cells
    if not NETWORK_NAME.fullmatch(network) or not opponent:
        raise ValueError
    wins, draws, losses = (_whole(text, MOST_GAMES) for text in results)
    return Match(_number(seconds), _whole(games, 2**53), network, opponent, wins, draws, losses)


def _held_out(cells: list[str]) -> HeldOutRow:
    seconds, games, learnt, steps, board, positions, *numbers = cells
    values = [float(text) for text in numbers]
    if any(math.isinf(value) for value in values):
        raise ValueError
    found = HeldOut(board, _whole(positions, 2**53), *values)
    return HeldOutRow(_number(seconds), _whole(games, 2**53), _whole(learnt, 2**53), _whole(steps, 2**53), found)


def _progress(cells: list[str]) -> dict[str, float]:
    return dict(zip(PROGRESS_COLUMNS, map(_number, cells), strict=True))


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _whole(text: str, most: int) -> int:
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError
    return number
