"""Files of weights: safetensors with a header that says what they are, checked whole before anything is used.

The header's ``jubango`` holds, as JSON: ``shape`` (see :class:`jubango.bots.networks.shape.Shape`), ``digest`` (SHA-256
of the weights) and ``trained`` (how they were made, words and numbers for people).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jubango.bots.networks.arrays import packed, read_arrays
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError

LARGEST_WEIGHT = 10_000.0  # in size; no trained one comes near, and no sum of such products leaves float32


class Trained(NamedTuple):
    """What a file of weights holds."""

    weights: dict[str, jax.Array]  # by name
    shape: Shape
    how: dict[str, object]  # it was made


def packed_weights(weights: Mapping[str, jax.Array], shape: Shape, how: Mapping[str, object] | None = None) -> bytes:
    """What a file of weights holds."""
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    return packed(arrays, {"shape": asdict(shape), "trained": dict(how or {})})


def load_weights(path: str | Path) -> Trained:
    """Read a file. Raises UserError, one line, for what is cut off, altered, or no file of weights."""
    weights, header = read_arrays(path, "network", "weights")
    try:
        shape, how = Shape(**header["shape"]), dict(header["trained"])
    except UserError as error:
        raise UserError(f"network {path}: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise UserError(f"network {path}: is no file of this program's weights") from None
    if not _fit(shape, weights):
        raise UserError(f"network {path}: its weights do not fit the shape it states")
    for name, values in weights.items():
        if not np.abs(values).max() <= LARGEST_WEIGHT:
            raise UserError(f"network {path}: {name} holds weights that are no numbers, or beyond {LARGEST_WEIGHT:g}")
    return Trained(jax.device_put(weights), shape, how)


def _fit(shape: Shape, weights: dict[str, np.ndarray]) -> bool:
    """Are these the weights of a network of this shape?"""
    return {name: value.shape for name, value in weights.items()} == shape.sizes and all(
        value.dtype == np.float32 for value in weights.values()
    )
