"""Networks that have learnt nothing, but say something of every position."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jubango.bots.networks.checkpoint import packed_weights
from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape


def random_weights(shape, seed=0, scale=0.3):
    """New ones begin with outputs that are all 0; here nothing is."""
    rng = np.random.default_rng(seed)
    found = {name: np.asarray(value) for name, value in new_weights(shape, seed).items()}
    return {
        name: (value + scale * rng.standard_normal(value.shape) / np.sqrt(max(1, value.shape[0]))).astype(np.float32)
        for name, value in found.items()
    }


def random_network(path, game, channels=8, blocks=1, seed=0):
    """Write a file of weights for ``game``; returns its shape."""
    shape = Shape.of(game, channels, blocks)
    Path(path).write_bytes(packed_weights(random_weights(shape, seed), shape, {"hours": 0}))
    return shape
