"""Files of weights: safetensors with a header that says what they are, checked whole before anything is used.

The header's ``jubango`` holds, as JSON: ``shape`` (see :class:`jubango.bots.networks.shape.Shape`), ``digest`` (SHA-256
of the weights) and ``trained`` (how they were made, words and numbers for people).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jubango.bots.networks.shape import Shape
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.files import check_file
from jubango.sgf_games.library import write_safely

LARGEST_FILE = 2**32  # bytes
LARGEST_WEIGHT = 10_000.0  # in size; no trained one comes near, and no sum of such products leaves float32


class Trained(NamedTuple):
    """What a file of weights holds."""

    weights: dict[str, jax.Array]  # by name
    shape: Shape
    how: dict[str, object]  # it was made


def save_weights(
    path: str | Path, weights: Mapping[str, jax.Array], shape: Shape, how: Mapping[str, object] | None = None
) -> None:
    """Write a file; it is there whole or not at all."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(value) for name, value in sorted(weights.items())}
    header = {"shape": asdict(shape), "digest": digest(arrays), "trained": dict(how or {})}
    write_safely(Path(path), save(arrays, metadata={"jubango": json.dumps(header)}))


def load_weights(path: str | Path) -> Trained:
    """Read a file. Raises UserError, one line, for what is cut off, altered, or no file of weights."""
    from safetensors import SafetensorError, safe_open

    try:
        check_file(Path(path), LARGEST_FILE)
    except UserError as error:
        raise UserError(f"network {error}") from None
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})["jubango"])
            shape, how, stated = Shape(**header["shape"]), dict(header["trained"]), header["digest"]
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except UserError as error:
        raise UserError(f"network {path}: {error}") from None
    except OSError as error:
        raise UserError(f"network {path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError):
        raise UserError(f"network {path}: is no file of this program's weights, or is cut off") from None
    if not _fit(shape, weights):
        raise UserError(f"network {path}: its weights do not fit the shape it states")
    for name, values in weights.items():
        if not np.abs(values).max() <= LARGEST_WEIGHT:
            raise UserError(f"network {path}: {name} holds weights that are no numbers, or beyond {LARGEST_WEIGHT:g}")
    if stated != digest(weights):
        raise UserError(f"network {path}: its weights are not those it was written with; the file has been altered")
    return Trained(jax.device_put(weights), shape, how)


def digest(weights: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of weights, with their names and sizes."""
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        found.update(f"{name} {value.dtype} {value.shape}\n".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def _fit(shape: Shape, weights: dict[str, np.ndarray]) -> bool:
    """Are these the weights of a network of this shape?"""
    return {name: value.shape for name, value in weights.items()} == shape.sizes and all(
        value.dtype == np.float32 for value in weights.values()
    )
