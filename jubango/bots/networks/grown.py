"""A larger network that begins as a smaller one (Net2Net: Chen, Goodfellow & Shlens 2016, arXiv 1511.05641).

Each channel of the smaller tower is there several times, and what reads it divides its weights among the copies, at
random so that they learn unlike things. More blocks follow the tower and begin as the identity.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError

HEADS = "policy_planes", "value_planes"  # the layers that read the tower and are as wide as before


def grown(weights: Mapping[str, jax.Array], shape: Shape, larger: Shape, seed: int = 0) -> dict[str, jax.Array]:
    """Weights by name, float32, of a network that says what this one says, but for the last bits.

    weights: of ``shape``, by name.
    larger: the shape to come, with as many channels and blocks or more, else the same.

    Raises UserError for another shape.
    """
    alike = dataclasses.replace(larger, channels=shape.channels, blocks=shape.blocks)
    if alike != shape or larger.channels < shape.channels or larger.blocks < shape.blocks:
        raise UserError(f"a network of another shape: {shape}")
    source = np.arange(larger.channels) % shape.channels  # which channel each one copies
    rng = np.random.default_rng(seed)
    found = new_weights(larger, seed)
    for name in shape.layers:
        kernel, bias = (np.asarray(weights[f"{name}.{part}"]) for part in ("kernel", "bias"))
        if name.startswith("blocks.") or name in HEADS:
            parts = kernel.shape[-2] // shape.channels  # of what is pooled there are three
            places = np.concatenate([source + part * shape.channels for part in range(parts)])
            kernel = kernel[..., places, :] * _shares(places, kernel.shape[-1], rng)
        if name.startswith("blocks.") or name == "stem":
            kernel, bias = kernel[..., source], bias[source]
        found[f"{name}.kernel"] = jnp.asarray(kernel, jnp.float32)
        found[f"{name}.bias"] = jnp.asarray(bias, jnp.float32)
    return found


def _shares(places: np.ndarray, outputs: int, rng: np.random.Generator) -> np.ndarray:
    """[len(places), outputs]: how much of a weight each copy has; those of one place add up to 1."""
    drawn = rng.uniform(0.5, 1.5, (len(places), outputs))
    totals = np.zeros_like(drawn)
    np.add.at(totals, places, drawn)
    return drawn / totals[places]
