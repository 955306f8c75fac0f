"""What a training says of itself in its folder while it runs, for who looks from outside: ``sitting.json``.

A sitting is one run of ``jubango train`` in the folder. How long it was to be is nowhere else on disk.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

SITTING = "sitting.json"
SITTING_SECONDS = 1.0  # between two times that it is written
LARGEST_SITTING = 100_000  # bytes
HOSTS_TOLD = 100  # that have a line
BOARD_SIGNS = ".XO"  # of a board: empty, Black, White

_Count = Annotated[int, Field(ge=0, le=2**53)]
_Seconds = Annotated[float, Field(ge=0, le=1e12)]


class Sitting(BaseModel):
    """How the last sitting of a training stands, or stood when it was left."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    minutes: Annotated[float, Field(gt=0, le=1e9)] | None = None  # in all, if a limit was given
    games: Annotated[int, Field(gt=0, le=2**53)] | None = None
    every: Annotated[float, Field(gt=0, le=1e9)] | None = None  # minutes between two measurements
    against: Annotated[int, Field(gt=0, le=1_000_000)] | None = None  # games of one, against each opponent
    stage: Annotated[str, Field(max_length=40)] = ""
    doing: Annotated[str, Field(max_length=200)] = ""  # what is compiled, or measured against
    seconds: _Seconds = 0.0  # trained in all sittings
    left: _Seconds | None = None  # seconds, if known
    played: _Count = 0  # games
    positions: _Count = 0
    steps: _Count = 0
    hosts: Annotated[list[str], Field(max_length=HOSTS_TOLD)] = []  # a line for each that plays
    board: Annotated[str, Field(max_length=10_000)] = ""  # of a game of self-play, row by row: ``.``, ``X``, ``O``

    @property
    def options(self) -> list[str]:
        """Those of ``jubango train`` that go on as it was begun."""
        asked = {"minutes": self.minutes, "games": self.games, "measure-minutes": self.every}
        asked["measure-games"] = self.against
        return [word for key, value in asked.items() if value for word in (f"--{key}", f"{value:.12g}")]

    @property
    def done(self) -> bool:
        """Has the sitting come to its end?"""
        return self.stage == "done"


def read_sitting(folder: Folder) -> Sitting | None:
    """The last sitting; None where nothing says anything of it that can be read."""
    try:
        text = folder.read_text(SITTING, LARGEST_SITTING)
        return None if text is None else Sitting.model_validate_json(text)
    except (UserError, ValidationError):
        return None


class SittingFile:
    """Writes it, now and then. minutes, games: of the whole training, infinite without a limit. every, against: how
    strength is measured."""

    def __init__(self, folder: Folder, minutes: float, games: float, every: float, against: int) -> None:
        self._folder = folder
        self._limits: dict[str, float | None] = {
            "minutes": minutes if math.isfinite(minutes) else None,
            "games": int(games) if math.isfinite(games) else None,
            "every": every, "against": against,
        }  # fmt: skip
        self._due, self._stage, self._board = -SITTING_SECONDS, "", ""

    def note(
        self, stage: str, doing: str, left: float | None, counts: dict[str, float], steps: int,
        hosts: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Say how it goes; nothing is lost if it cannot be written. counts: of the trainer."""
        now = time.perf_counter()
        if now < self._due and stage == self._stage:
            return
        self._due, self._stage = now + SITTING_SECONDS, stage
        said = {
            **self._limits, "stage": stage, "doing": doing, "seconds": round(counts["seconds"], 3),
            "left": left if left is None else round(left, 1), "played": int(counts["games"]),
            "positions": int(counts["positions"]), "steps": steps, "board": self._board,
            "hosts": list(hosts[:HOSTS_TOLD]),
        }  # fmt: skip
        with contextlib.suppress(UserError, OSError):
            self._folder.write(SITTING, json.dumps(said).encode(), flush=False)

    def show(self, stones: np.ndarray) -> None:
        """The board of a game: int [H, W]."""
        self._board = "".join(BOARD_SIGNS[stone] for stone in stones.ravel())

    @property
    def is_due(self) -> bool:
        """Is it time to say more?"""
        return time.perf_counter() >= self._due
