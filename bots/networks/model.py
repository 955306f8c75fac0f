"""A small residual network: from a game's observation to a policy and a value.

The tower of AlphaGo Zero (Silver et al. 2017, Methods, "Neural network architecture"), with group
normalisation, so that a position's evaluation does not depend on the batch.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jubango.sgf_games.errors import UserError
from jubango.sgf_games.files import check_file
from jubango.sgf_games.game import Game

LARGEST_FILE = 2**32  # bytes
LARGEST_WEIGHT = 10_000.0  # in size; no trained one comes near, and no sum of such products leaves float32
# What a shape's numbers may be at most.
MOST = {"height": 1000, "width": 1000, "planes": 10_000, "actions": 1_000_000, "channels": 4096, "blocks": 128}
GROUPS = 4  # of channels that are normalised together


@dataclass(frozen=True)
class Shape:
    """What decides the sizes of the weights. ``game`` is the spec it is meant for, in which equal ones may differ.
    Raises UserError for an odd size."""

    game: str = field(compare=False)
    height: int
    width: int
    planes: int
    actions: int
    channels: int = 32
    blocks: int = 3

    def __post_init__(self) -> None:
        for key, most in MOST.items():
            number = getattr(self, key)
            if type(number) is not int or not 1 <= number <= most:
                raise UserError(f"a network's {key} = {number!r}: should be a whole number from 1 to {most}")
        if self.channels % GROUPS:
            raise UserError(f"a network's channels = {self.channels}: should be a multiple of {GROUPS}")

    @classmethod
    def of(cls, game: Game, channels: int = 32, blocks: int = 3) -> Shape:
        height, width, planes = jax.eval_shape(lambda: game.observe(game.init())).shape
        return cls(game.spec, height, width, planes, game.num_actions, channels, blocks)


class Block(nnx.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels: int, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.norm_first = nnx.GroupNorm(channels, num_groups=GROUPS, rngs=rngs)
        self.second = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.norm_second = nnx.GroupNorm(channels, num_groups=GROUPS, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        inner = nnx.relu(self.norm_first(self.first(x)))
        return nnx.relu(x + self.norm_second(self.second(inner)))


class Network(nnx.Module):
    """[B, H, W, C] -> (policy logits [B, A], value [B] in [-1, 1] for the player to move)."""

    def __init__(self, shape: Shape, rngs: nnx.Rngs) -> None:
        self.stem = nnx.Conv(shape.planes, shape.channels, (3, 3), rngs=rngs)
        blocks = [Block(shape.channels, rngs) for _ in range(shape.blocks)]
        self.blocks = nnx.List(blocks) if hasattr(nnx, "List") else blocks  # before flax 0.12 any list would do
        points = shape.height * shape.width
        self.policy_planes = nnx.Conv(shape.channels, 2, (1, 1), rngs=rngs)
        self.policy = nnx.Linear(2 * points, shape.actions, rngs=rngs)
        self.value_planes = nnx.Conv(shape.channels, 1, (1, 1), rngs=rngs)
        self.value_hidden = nnx.Linear(points, 64, rngs=rngs)
        self.value = nnx.Linear(64, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = nnx.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        flat = (x.shape[0], -1)
        logits = self.policy(nnx.relu(self.policy_planes(x)).reshape(flat))
        hidden = nnx.relu(self.value_hidden(nnx.relu(self.value_planes(x)).reshape(flat)))
        return logits, jnp.tanh(self.value(hidden))[:, 0]


def new_network(shape: Shape, seed: int = 0) -> Network:
    """Untrained weights."""
    return Network(shape, nnx.Rngs(seed))


def save_network(path: str | Path, network: Network, shape: Shape) -> None:
    """Write weights as safetensors, with their shape in the file's metadata."""
    from safetensors.numpy import save_file

    weights = {name: np.asarray(value) for name, value in weights_of(network).items()}
    save_file(weights, str(path), metadata={"jubango": json.dumps(asdict(shape))})


def load_weights(path: str | Path) -> tuple[dict[str, jax.Array], Shape]:
    """(the weights by name, what they are for). Raises UserError."""
    from safetensors import SafetensorError, safe_open

    try:
        check_file(Path(path), LARGEST_FILE)
    except UserError as error:
        raise UserError(f"network {error}") from None
    try:
        with safe_open(str(path), framework="numpy") as file:
            shape = Shape(**json.loads((file.metadata() or {})["jubango"]))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except UserError as error:
        raise UserError(f"network {path}: {error}") from None
    except OSError as error:
        raise UserError(f"network {path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError):
        raise UserError(f"network {path}: is no file of this program's weights") from None
    if not _fit(shape, weights):
        raise UserError(f"network {path}: its weights do not fit the shape it states")
    for name, values in weights.items():
        if not np.abs(values).max() <= LARGEST_WEIGHT:
            raise UserError(f"network {path}: {name} holds weights that are no numbers, or beyond {LARGEST_WEIGHT:g}")
    return {name: jnp.asarray(value) for name, value in weights.items()}, shape


def _fit(shape: Shape, weights: dict[str, np.ndarray]) -> bool:
    """Are these the weights of a network of this shape? It is made only if the file is as large as it would be."""
    found = {name: value.shape for name, value in weights.items()}
    points = shape.height * shape.width
    ends = {"stem.kernel": (3, 3, shape.planes, shape.channels), "policy.kernel": (2 * points, shape.actions)}
    if any(found.get(name) != wanted for name, wanted in ends.items()) or len(found) <= 2 * shape.blocks:
        return False
    wanted = {name: (value.shape, value.dtype) for name, value in _flat(_parts(shape)[1]).items()}
    return wanted == {name: (value.shape, value.dtype) for name, value in weights.items()}


def weights_of(network: Network) -> dict[str, jax.Array]:
    """The weights by name: what :func:`apply` takes."""
    return {name: variable.get_value() for name, variable in _flat(nnx.state(network, nnx.Param)).items()}


def apply(shape: Shape, weights: dict[str, jax.Array], planes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The network of ``shape`` with these weights: [B, H, W, C] -> (policy logits [B, A], value [B])."""
    definition, state = _parts(shape)
    flat = [(key, variable.replace(weights[".".join(map(str, key))])) for key, variable in nnx.to_flat_state(state)]
    return nnx.merge(definition, nnx.from_flat_state(flat))(planes)


@functools.cache
def _parts(shape: Shape) -> tuple[Any, Any]:
    """(what the network is, the shapes of its weights), without making any."""
    return nnx.split(nnx.eval_shape(lambda: new_network(shape)), nnx.Param)


def _flat(state: Any) -> dict[str, Any]:
    return {".".join(map(str, key)): variable for key, variable in nnx.to_flat_state(state)}
