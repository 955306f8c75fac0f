"""What has been played and is learnt from: positions whose games have ended, the newest of them."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from jubango.bots.learning.self_play import Moves
from jubango.sgf_games.rules.game import State


class Samples(NamedTuple):
    """Positions and what became of them: arrays [N, ...], results for the player to move."""

    state: State
    policy: np.ndarray  # float16 [A]
    value: np.ndarray  # float32, of the search
    result: np.ndarray  # float32 in [-1, 1]
    counted: np.ndarray  # bool: the points of the end are known
    margin: np.ndarray  # float32
    owners: np.ndarray  # int8 [H * W]
    surprise: np.ndarray  # float32, of the search's policy beside the prior; 1 in the mean of what came together

    @property
    def number(self) -> int:
        """The number of positions, N."""
        return len(self.value)


class Games(NamedTuple):
    """Games that have ended."""

    number: int
    plies: int
    first_won: float  # share
    resigned: int
    checked: int  # played out although somebody would have resigned
    wrong: int  # of these, that one would not have lost


class Collector:
    """Gathers moves until their games end."""

    def __init__(self) -> None:
        self._pending: list[Moves] = []

    def add(self, moves: Moves) -> tuple[Samples, Games]:
        """(positions, games): what is known after these moves, and was not before.

        moves: [T, B], the next T moves of B lanes.
        """
        moves = jax.tree.map(np.asarray, moves)
        self._pending.append(moves)
        whole = jax.tree.map(lambda *x: np.concatenate(x), *self._pending)
        rows, lanes = whole.over.shape
        end, ends = np.full(lanes, -1), np.empty((rows, lanes), int)
        for row in reversed(range(rows)):
            end = np.where(whole.over[row], row, end)
            ends[row] = end
        known = ends >= 0
        new = known & (ends >= rows - moves.over.shape[0])  # ended in what has just come
        at, lane = np.nonzero(new & whole.kept)
        last = ends[at, lane]
        sign = np.where(whole.player[at, lane] == 0, 1, -1).astype(np.float32)
        samples = Samples(
            jax.tree.map(lambda x: x[at, lane], whole.state),
            whole.policy[at, lane],
            whole.value[at, lane],
            sign * whole.result[last, lane],
            whole.counted[last, lane],
            sign * whole.margin[last, lane],
            sign.astype(np.int8)[:, None] * whole.owners[last, lane],
            _beside_the_mean(whole.surprise[at, lane]),
        )
        first = int(np.argmax(~known.all(axis=1))) if not known.all() else rows  # rows before it are done with
        self._pending = [jax.tree.map(lambda x: x[first:], whole)] if first < rows else []
        return samples, _games(moves, int(new.sum()))


def _beside_the_mean(surprise: np.ndarray) -> np.ndarray:
    mean = surprise.mean() if surprise.size else 0.0
    return (surprise / mean if mean > 0 else np.ones_like(surprise)).astype(np.float32)


def _games(moves: Moves, plies: int) -> Games:
    over = np.asarray(moves.over)
    result, lost, counted = moves.result[over], moves.lost[over], moves.counted[over]
    checked = counted & (lost >= 0)
    kept = np.where(lost == 0, result, -result) >= 0  # who would have resigned has not lost
    share = float(np.mean((result + 1) / 2)) if len(result) else 0.5
    return Games(
        int(over.sum()), plies, share, int((~counted & (lost >= 0)).sum()), int(checked.sum()),
        int((checked & kept).sum()),
    )  # fmt: skip


class Replay:
    """The newest ``window`` positions."""

    def __init__(self, window: int) -> None:
        self.window, self.seen = window, 0
        self._kept: Samples | None = None
        self._sums: tuple[tuple[int, int], np.ndarray] | None = None  # of surprise, by (seen, among), the newest first

    def __len__(self) -> int:
        return min(self.seen, self.window)

    def add(self, samples: Samples) -> None:
        """Takes positions in; the oldest make room."""
        if self._kept is None:
            room = self.window
            self._kept = jax.tree.map(lambda x: np.empty((room, *x.shape[1:]), x.dtype), samples)
        places = (self.seen + np.arange(samples.number)) % self.window
        for old, new in zip(jax.tree.leaves(self._kept), jax.tree.leaves(samples), strict=True):
            old[places] = new
        self.seen += samples.number

    def draw(self, number: int, rng: np.random.Generator, newest: int = 2**62, surprise: float = 0.0) -> Samples:
        """So many positions, each of the newest ones equally likely but for a share.

        number: how many are drawn.
        rng: the source of randomness.
        newest: the number of positions that are drawn from; by default all.
        surprise: the share that is drawn by surprise: a position that is twice as surprising is twice as likely.

        Source: KataGo's policy surprise weighting, docs/KataGoMethods.md there.
        """
        among = min(len(self), newest)
        age = rng.integers(0, among, number)
        if surprise:
            sums = self._sums_of(among)
            by_surprise = np.searchsorted(sums, rng.random(number) * sums[-1], side="right")
            chosen = (rng.random(number) < surprise) & (sums[-1] > 0)
            age = np.where(chosen, np.minimum(by_surprise, among - 1), age)
        rows = (self.seen - 1 - age) % self.window
        return jax.tree.map(lambda x: x[rows], self._kept)

    def _sums_of(self, among: int) -> np.ndarray:
        assert self._kept is not None
        key = self.seen, among
        if self._sums is None or self._sums[0] != key:
            newest_first = (self.seen - 1 - np.arange(among)) % self.window
            self._sums = key, np.cumsum(self._kept.surprise[newest_first], dtype=np.float64)
        return self._sums[1]
