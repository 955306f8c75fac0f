"""A host for all kinds of work: it plays games, searches positions for reviews, and plays games to learn from."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from typing import NamedTuple

import jax

from jubango.analysis.reviews.review_moves import Finding, PositionKey
from jubango.analysis.reviews.review_search import SearchJob, search
from jubango.arena.hosts.host import PlayingHost
from jubango.bots.config import SearchConfig
from jubango.bots.learning.self_player import PlayedTurn, SelfPlayer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.sgf_games.compute.machine import claim, shard
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import State
from jubango.sgf_games.sgf.positions import Position


class SearchTask(NamedTuple):
    """A search of a review, as it is told to a host."""

    game: str  # spec string
    state: State  # of numpy arrays
    number: int  # moves made
    last: Point | None
    last_player: int | None
    place: PositionKey
    repeat: int
    symmetry: int


class Searched(NamedTuple):
    """What such searches have found, in their order."""

    findings: tuple[Finding, ...]
    seconds: float


class SelfPlayOrder(NamedTuple):
    """Some moves of self-play that are wanted. ``version`` counts the networks that play; weights are told once."""

    settings: TrainingConfig
    which: int  # of its games
    rollouts: bool
    version: int
    seed: int  # uint32, of these moves
    resign: float


class SelfPlayed(NamedTuple):
    """What has been played, and with which network."""

    version: int
    played: PlayedTurn
    seconds: float


class EveryHost(PlayingHost):
    """Does what it is told, whoever asks."""

    def __init__(self) -> None:
        super().__init__()
        claim()  # all its cores are used, whatever it is asked first
        self._player: SelfPlayer | None = None
        self._weights: dict[str, jax.Array] = {}

    def search(self, seed: int, tasks: Sequence[SearchTask]) -> Searched:
        """Searches of a review by the first bot of its work."""
        began = time.perf_counter()
        bot = self._bots[0]
        assert isinstance(bot, SearchConfig)
        jobs = [
            SearchJob(
                i,
                task.place,
                task.repeat,
                Position(make_game(task.game), task.state, task.number, task.last, task.last_player, None),
                task.symmetry,
            )
            for i, task in enumerate(tasks)
        ]
        found = {job.game: one for batch in search(jobs, bot, seed) for job, one in batch}
        return Searched(tuple(found[i] for i in range(len(tasks))), time.perf_counter() - began)

    def self_play(self, order: SelfPlayOrder, weights: bytes) -> SelfPlayed:
        """Some moves in every lane. ``weights``: pickled arrays by name, of another version than before; else empty."""
        began = time.perf_counter()
        if self._player is None or self._player.settings != order.settings:
            self._player = SelfPlayer(order.settings)
        if weights:
            self._weights = jax.device_put(pickle.loads(weights), shard(self._player.devices)[1])
        first, key = jax.random.split(jax.random.key(order.seed))
        played = self._player.play(order.which, order.rollouts, self._weights, first, key, order.resign)
        return SelfPlayed(order.version, played, time.perf_counter() - began)
