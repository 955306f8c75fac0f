"""Uniformly random legal moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.sgf_games.rules.game import State


class RandomPlayer(BatchPlayer):
    """Any legal move; which one is decided by the request's seed."""

    def __init__(self) -> None:
        self._asked: list[MoveRequest] = []

    @property
    def patient(self) -> bool:
        return False

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        self._asked += requests

    def advance(self) -> list[MoveAnswer]:
        asked, self._asked = self._asked, []
        answers = []
        for request in asked:
            choices = request.legal.nonzero()[0]
            pick = np.random.default_rng(request.seed).integers(len(choices))
            answers.append(MoveAnswer(request.lane, int(choices[pick])))
        return answers
