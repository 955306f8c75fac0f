"""Learning from recorded games before self-play, as AlphaGo began (Silver et al. 2016): a block of games is read,
replayed and learnt from, then the next.

One game in :data:`~jubango.bots.learning.recorded_games.HELD_OUT` is kept apart: what a network knows of those says how
well it learns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.learning.position_files import PositionFiles
from jubango.bots.learning.recorded_games import Place, RecordedGame, RecordedGames
from jubango.bots.learning.recorded_positions import LANES, Replayed
from jubango.bots.learning.replay import Games, Samples
from jubango.bots.networks.model import apply
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.compute.programs import Compiled, jit
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.game import Game

MOST_HELD_OUT = 4096  # positions of a board that are kept apart; what more there is is left out
ASKED = 256  # positions that a network is asked of at once


class Lesson(NamedTuple):
    """What a block of games gives."""

    which: int  # the board's number
    samples: Samples
    games: Games


class HeldOut(NamedTuple):
    """What a network says of positions of games that it has not learnt from; a row of ``records.csv``. Shares and means
    over the positions, with each game's result and move."""

    board: str
    positions: int
    top1: float  # share of the positions in which the move played is the policy's first
    top5: float
    policy: float  # cross entropy
    value: float  # mean square from the result, which is 1 or -1
    outcome: float  # cross entropy
    ownership: float  # mean square, and:
    score: float  # mean absolute error in points, of the positions of games whose count is known; nan if there are none


class RecordLessons:
    """Blocks of recorded games. ``each``: positions of a game. Raises UserError for paths without records."""

    def __init__(self, paths: Sequence[str], games: Sequence[Game], seed: int, each: int, run: Folder) -> None:
        self.games, self.seed, self.each = list(games), seed, each
        self.reading = RecordedGames(paths, games, seed)
        self._files = [
            PositionFiles(run, f"held-out/{i}-{game.spec.split(',')[0].replace(':', '-')}", game)
            for i, game in enumerate(games)
        ]
        self.held_out: list[list[Samples]] = [[] for _ in games]
        self.illegal = 0  # games that the rules break off

    def restore(self, notes: list[str]) -> None:
        """Take what is held out from the run's folder."""
        self.held_out = [files.load(MOST_HELD_OUT, notes) for files in self._files]

    def take(self, place: Place) -> tuple[list[Lesson], Place]:
        """The next block, and the place after it. Raises UserError and OSError."""
        lines, after = self.reading.take(place, LANES)
        found = []
        for which, game in enumerate(self.games):
            own = [line for line in lines if line.board == which]
            if not own:
                continue
            replayed = Replayed(game, own)
            self.illegal += 0 if place.epoch else replayed.illegal
            rng = np.random.default_rng((self.seed, *place, which))
            samples, games = replayed.samples(self.each, rng, [i for i, line in enumerate(own) if not line.held_out])
            if samples is not None:
                found.append(Lesson(which, samples, games))
            if not place.epoch:
                self._hold_out(which, replayed, own, rng)
        return found, after

    def _hold_out(self, which: int, replayed: Replayed, own: Sequence[RecordedGame], rng: np.random.Generator) -> None:
        if sum(one.number for one in self.held_out[which]) >= MOST_HELD_OUT:
            return
        samples, _ = replayed.samples(self.each, rng, [i for i, line in enumerate(own) if line.held_out])
        if samples is not None:
            self.held_out[which].append(samples)
            self._files[which].add(samples, 2 * MOST_HELD_OUT)

    def measured(self, which: int, shape: Shape, weights: dict[str, jax.Array]) -> HeldOut | None:
        """How a network does on what is held out of a board; None if that is nothing."""
        if not self.held_out[which]:
            return None
        game = self.games[which]
        samples: Samples = jax.tree.map(lambda *x: np.concatenate(x)[:MOST_HELD_OUT], *self.held_out[which])
        number, parts = samples.number, []
        ask = _asking(game.compiled_as, shape)
        for begin in range(0, number, ASKED):
            rows = np.minimum(np.arange(begin, begin + ASKED), number - 1)
            one = jax.tree.map(lambda x, rows=rows: x[rows], samples)
            parts.append(np.asarray(ask(weights, one))[:, : number - begin])
        rank, policy, value, outcome, ownership, score = np.concatenate(parts, axis=1)
        known = samples.counted & game.counts_points
        count = (float(np.mean(x[known])) if known.any() else float("nan") for x in (ownership, score))
        return HeldOut(
            game.spec, number, float(np.mean(rank < 1)), float(np.mean(rank < 5)), float(np.mean(policy)),
            float(np.mean(value)), float(np.mean(outcome)), *count,
        )  # fmt: skip

    @property
    def said(self) -> str:
        """What is left out of the records, in a line; empty if it is nothing."""
        parts = [self.reading.said_of_left_out]
        if self.illegal:
            games = "game is" if self.illegal == 1 else "games are"
            parts.append(f"{self.illegal:,} {games} learnt from up to a move that the rules forbid")
        return "; ".join(part for part in parts if part)


@functools.lru_cache(maxsize=8)
def _asking(game: Game, shape: Shape) -> Compiled[..., jax.Array]:
    """float32 [6, N] of samples: how many moves the policy prefers to the one played, the cross entropies and errors
    of :class:`HeldOut`."""

    def ask(weights: dict[str, jax.Array], samples: Samples) -> jax.Array:
        found = apply(shape, weights, jax.vmap(game.observe)(samples.state))
        logs = jax.nn.log_softmax(found.policy)
        played = jnp.argmax(samples.policy, axis=1)
        own = jnp.take_along_axis(logs, played[:, None], axis=1)
        result = samples.result[:, None]
        outcome = jnp.concatenate([jnp.maximum(-result, 0), 1 - jnp.abs(result), jnp.maximum(result, 0)], axis=-1)
        ownership = score = jnp.zeros(len(own))
        if shape.scores:
            owners = samples.owners.astype(jnp.float32)
            ownership = jnp.mean((found.ownership.reshape(owners.shape) - owners) ** 2, axis=1)
            score = jnp.abs(found.score * game.height * game.width - samples.margin)
        errors = (
            jnp.sum(logs > own, axis=1).astype(jnp.float32), -own[:, 0], (found.value - samples.result) ** 2,
            -jnp.sum(outcome * jax.nn.log_softmax(found.outcome), axis=1), ownership, score,
        )  # fmt: skip
        return jnp.stack(errors)

    return jit(ask)
