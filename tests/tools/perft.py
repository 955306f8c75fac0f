"""How many games there are of each length: published for many, and so a test of rules."""

from __future__ import annotations

import functools

import jax
import numpy as np

from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules


def width_for(lanes: int) -> int:
    """Of few sizes, so that few programs do."""
    width = 256
    while width < lanes:
        width *= 16
    return width


@functools.cache
def perft(spec: str, depth: int) -> tuple[list[int], list[int]]:
    """(move sequences, distinct positions) of each length, breadth first."""
    game = make_game(spec)
    compiled = rules(game)
    states = jax.tree.map(lambda x: np.asarray(x)[..., None], game.init())
    weights, sequences, positions = np.ones(1, np.int64), [], []
    for _ in range(depth):
        width = width_for(len(weights))
        wide = jax.tree.map(lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - len(weights))]), states)  # noqa: B023
        legal = np.asarray(compiled.view_lanes(wide).legal)[: len(weights)]
        lane, action = np.nonzero(legal)
        sequences.append(int(weights[lane].sum()))
        if not len(lane):
            break
        width = width_for(len(lane))
        chosen = np.pad(lane, (0, width - len(lane)))
        grown = jax.tree.map(lambda x: x[..., chosen], states)  # noqa: B023
        actions = np.pad(action, (0, width - len(lane))).astype(np.int32)
        after = compiled.step_lanes(grown, actions)
        flat = np.concatenate(
            [np.asarray(x)[..., : len(lane)].reshape(-1, len(lane)).astype(np.int64) for x in jax.tree.leaves(after)]
        )
        _, index, inverse = np.unique(flat, axis=1, return_index=True, return_inverse=True)
        merged = np.zeros(len(index), np.int64)
        np.add.at(merged, inverse.reshape(-1), weights[lane])
        states = jax.tree.map(lambda x: np.asarray(x)[..., index], after)  # noqa: B023
        weights = merged
        positions.append(len(index))
    return sequences, positions
