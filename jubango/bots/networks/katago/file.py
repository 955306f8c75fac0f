"""A file of KataGo's into a program's shape and its weights.

Batch norms come as what they amount to once learnt: a scale and a bias of each channel.

Source: KataGo's ``cpp/neuralnet/desc.cpp`` and ``modelversion.cpp``.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import numpy as np

from jubango.bots.networks.katago.architecture import Activation, Architecture, Block, BlockKind
from jubango.bots.networks.katago.model import apply
from jubango.bots.networks.katago.reader import Reader

PLANES, NUMBERS = 22, 19  # of the inputs
FIRST_VERSION, LAST_VERSION = 8, 17
MOST_CHANNELS = 8192
MOST_BLOCKS = 400  # in a stack
WIDEST = 9  # points of a convolution's side
ACTIVATIONS: dict[str, Activation] = {
    "ACTIVATION_IDENTITY": "identity",
    "ACTIVATION_RELU": "relu",
    "ACTIVATION_MISH": "mish",
    "ACTIVATION_SILU": "silu",
}
BLOCK_KINDS: dict[str, BlockKind] = {
    "ordinary_block": "ordinary",
    "gpool_block": "pooled",
    "nested_bottleneck_block": "nested",
    "transformer_attention_block": "attention",
    "transformer_ffn_block": "feed_forward",
}


class KataGoFile(NamedTuple):
    """What a file holds."""

    weights: dict[str, jax.Array]  # by name
    architecture: Architecture
    name: str  # as the file has it


def load_katago(path: str | Path) -> KataGoFile:
    """Read a file (``.bin.gz``, ``.txt.gz``, ``.bin``, ``.txt``). Raises UserError, one line, for what is cut off,
    damaged, no network of KataGo's, or one that needs more than a position."""
    with Reader(Path(path)) as reader:
        return _Parser(reader).network()


class _Parser:
    """Follows the order of the file."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.version = reader, 0
        self.weights: dict[str, np.ndarray] = {}

    def network(self) -> KataGoFile:
        read = self.reader
        title = read.word()
        self.version = read.whole("its version", 0, 999)
        if not FIRST_VERSION <= self.version <= LAST_VERSION:
            raise read.fault(
                f"is of KataGo's version {self.version}; {FIRST_VERSION} to {LAST_VERSION} are read (since 2020)"
            )
        read.whole("its number of planes", PLANES, PLANES)
        read.whole("its number of global inputs", NUMBERS, NUMBERS)
        lead = 20.0
        if self.version >= 13:
            factors = [read.number("a factor of its outputs") for _ in range(7)]
            lead = factors[3]
        by_suicide = False
        if self.version >= 15:
            if read.whole("its metadata encoder", 0, 99):
                raise read.fault("imitates people of a rank, and asks who they are; such networks are not read")
            by_suicide = bool(read.whole("how it counts pass-alive areas", 0, 1))
            self._reserved(6)
        blocks, tip, epsilon, activation = self._trunk()
        policy = self._policy_head()
        value = self._value_head()
        sizes = tuple((name, array.shape) for name, array in sorted(self.weights.items()))
        architecture = Architecture(
            self.version, blocks, tip, epsilon, activation, policy, value, lead, by_suicide, sizes
        )  # fmt: skip
        self._check_sizes(architecture)
        return KataGoFile(jax.device_put(self.weights), architecture, title)

    # -- parts -------------------------------------------------------------------------------

    def _trunk(self) -> tuple[tuple[Block, ...], Literal["", "points", "board"], float, Activation]:
        read = self.reader
        read.word()
        count = read.whole("its number of blocks", 1, MOST_BLOCKS)
        channels = read.whole("its number of channels", 1, MOST_CHANNELS)
        for _ in range(4):
            read.whole("a number of channels", 0, MOST_CHANNELS)
        normed = 0
        if self.version >= 15:
            normed = read.whole("its trunk's norm", 0, 1)
            self._reserved(5)
        self._convolution("stem")
        self._matrix("stem_numbers")
        self._has("stem", 2, PLANES, channels)
        self._has("stem_numbers", 0, NUMBERS, channels)
        blocks = self._stack("blocks", count, channels, 0)
        if not normed:
            self._norm("tip")
            return blocks, "", 0.0, self._activation()
        read.word()
        own = read.whole("channels of a norm", 1, MOST_CHANNELS)
        epsilon = read.number("a norm's epsilon")
        over_board = read.whole("what a norm is over", 0, 1)
        self._reserved(1)
        self.weights["tip.scale"], self.weights["tip.bias"] = read.weights(own), read.weights(own)
        return blocks, "board" if over_board else "points", epsilon, self._activation()

    def _stack(self, name: str, count: int, channels: int, depth: int) -> tuple[Block, ...]:
        """Blocks that add to so many channels."""
        if depth > 2:
            raise self.reader.fault("has blocks inside of blocks inside of blocks")
        return tuple(self._block(f"{name}.{i}", channels, depth) for i in range(count))

    def _block(self, name: str, channels: int, depth: int) -> Block:
        read = self.reader
        word = read.word()
        kind = BLOCK_KINDS.get(word)
        if kind is None:
            raise read.fault(f'has a block of the kind "{word[:40]}", which is not known')
        read.word()
        if kind == "attention":
            return self._attention(name, channels)
        if kind == "feed_forward":
            return self._feed_forward(name, channels)
        if kind == "nested":
            count = read.whole("blocks of a nested one", 1, MOST_BLOCKS)
            self._norm(f"{name}.pre")
            first = self._activation()
            self._convolution(f"{name}.first")
            inner = self.weights[f"{name}.first"].shape[-1]
            blocks = self._stack(f"{name}.blocks", count, inner, depth + 1)
            self._norm(f"{name}.post")
            second = self._activation()
            self._convolution(f"{name}.second")
            found = Block(kind, (first, second), blocks)
        else:
            self._norm(f"{name}.pre")
            first = self._activation()
            self._convolution(f"{name}.first")
            pooling: tuple[Activation, ...] = ()
            if kind == "pooled":
                self._convolution(f"{name}.pool")
                self._norm(f"{name}.pool")
                pooling = (self._activation(),)
                self._matrix(f"{name}.pooled")
            self._norm(f"{name}.post")
            second = self._activation()
            self._convolution(f"{name}.second")
            found = Block(kind, (first, *pooling, second))
        self._has(f"{name}.first", 2, channels)
        self._has(f"{name}.second", 3, channels)
        return found

    def _attention(self, name: str, channels: int) -> Block:
        read = self.reader
        heads, kept = (read.whole("heads of attention", 1, MOST_CHANNELS) for _ in range(2))
        wide, value_wide = (read.whole("channels of a head", 1, MOST_CHANNELS) for _ in range(2))
        turned, learnt = (read.whole("how attention knows of places", 0, 1) for _ in range(2))
        if heads % kept or (turned and wide % 2):
            raise read.fault("has heads of attention that do not fit each other")
        epsilon = self._root_mean_square(name)
        for part, shape in {
            "query": (channels, heads * wide),
            "key": (channels, kept * wide),
            "value": (channels, kept * value_wide),
            "out": (heads * value_wide, channels),
        }.items():
            self._matrix(f"{name}.{part}")
            self._has(f"{name}.{part}", 0, *shape)
        rotated: Literal["", "learnt", "powers"] = ""
        base = 0.0
        if turned:
            read.word()
            rotated = "learnt" if learnt else "powers"
            if learnt:
                for what, wanted in (("heads", kept), ("pairs", wide // 2), ("directions", 2)):
                    read.whole(f"{what} of rotations", wanted, wanted)
                self.weights[f"{name}.turns"] = read.weights(kept, wide // 2, 2)
            else:
                base = read.number("the base of rotations")
        return Block("attention", (), (), (heads, kept), rotated, base, epsilon)

    def _feed_forward(self, name: str, channels: int) -> Block:
        read = self.reader
        read.whole("channels of a feed-forward layer", channels, channels)
        wide = read.whole("channels inside of a feed-forward layer", 1, MOST_CHANNELS)
        gated = bool(read.whole("the gate of a feed-forward layer", 0, 1))
        epsilon = self._root_mean_square(name)
        parts = {"first": (channels, wide), "gate": (channels, wide), "second": (wide, channels)}
        for part, shape in parts.items():
            if part != "gate" or gated:
                self._matrix(f"{name}.{part}")
                self._has(f"{name}.{part}", 0, *shape)
        return Block("feed_forward", epsilon=epsilon, gated=gated)

    def _policy_head(self) -> tuple[Activation, ...]:
        read = self.reader
        read.word()
        outputs = 1 if self.version < 12 else 4 if self.version == 16 else 2
        if self.version >= 17:
            outputs = read.whole("policies", 2, 4)
            self._reserved(3)
        self._convolution("policy_first")
        self._convolution("policy_pool")
        self._norm("policy_pool")
        activations = [self._activation()]
        self._matrix("policy_pooled")
        self._norm("policy")
        activations.append(self._activation())
        self._convolution("policy")
        self._has("policy", 3, outputs)
        self._matrix("pass")
        if self.version >= 15:
            self._bias("pass")
            activations.append(self._activation())
            self._matrix("pass_out")
        self._has("pass_out" if self.version >= 15 else "pass", 1, outputs)
        return tuple(activations)

    def _value_head(self) -> tuple[Activation, ...]:
        self.reader.word()
        if self.version >= 17:
            self._reserved(3)
        self._convolution("value_first")
        self._norm("value_first")
        first = self._activation()
        self._matrix("value_hidden")
        self._bias("value_hidden")
        second = self._activation()
        for part, outputs in (("outcome", 3), ("score", 6 if self.version >= 9 else 4)):
            self._matrix(part)
            self._has(part, 1, outputs)
            self._bias(part)
        self._convolution("ownership")
        self._has("ownership", 3, 1)
        return first, second

    # -- layers ------------------------------------------------------------------------------

    def _reserved(self, count: int) -> None:
        """Numbers that are 0 until KataGo gives them a meaning."""
        for _ in range(count):
            if self.reader.whole("an option", -(2**31), 2**31):
                raise self.reader.fault("has an option that is newer than what is read here")

    def _activation(self) -> Activation:
        self.reader.word()
        if self.version < 11:
            return "relu"
        word = self.reader.word()
        if word not in ACTIVATIONS:
            raise self.reader.fault(f'has an activation "{word[:40]}", which is not known')
        return ACTIVATIONS[word]

    def _convolution(self, name: str) -> None:
        read = self.reader
        read.word()
        sides = [read.whole("the side of a convolution", 1, WIDEST) for _ in range(2)]
        channels = [read.whole("channels of a convolution", 1, MOST_CHANNELS) for _ in range(2)]
        for _ in range(2):
            read.whole("the dilation of a convolution", 1, 1)
        if not all(side % 2 for side in sides):
            raise read.fault("has a convolution of an even side")
        self.weights[name] = read.weights(*sides, *channels)

    def _norm(self, name: str) -> None:
        """A batch norm, as a scale and a bias."""
        read = self.reader
        read.word()
        channels = read.whole("channels of a norm", 1, MOST_CHANNELS)
        epsilon = read.number("a norm's epsilon")
        scaled, biased = (read.whole("a norm's parts", 0, 1) for _ in range(2))
        mean, variance = read.weights(channels), read.weights(channels)
        scale = read.weights(channels) if scaled else np.ones(channels, np.float32)
        bias = read.weights(channels) if biased else np.zeros(channels, np.float32)
        if (variance + epsilon <= 0).any():
            raise read.fault("has a norm of no variance")
        scale = scale / np.sqrt(variance + np.float32(epsilon))
        self.weights[f"{name}.scale"], self.weights[f"{name}.bias"] = scale, bias - scale * mean

    def _root_mean_square(self, name: str) -> float:
        read = self.reader
        read.word()
        channels = read.whole("channels of a norm", 1, MOST_CHANNELS)
        epsilon = read.number("a norm's epsilon")
        self.weights[f"{name}.scale"] = read.weights(channels)
        return epsilon

    def _matrix(self, name: str) -> None:
        self.reader.word()
        sides = [self.reader.whole("channels of a matrix", 1, 3 * MOST_CHANNELS) for _ in range(2)]
        self.weights[name] = self.reader.weights(*sides)

    def _bias(self, name: str) -> None:
        self.reader.word()
        channels = self.reader.whole("channels of a bias", 1, MOST_CHANNELS)
        self.weights[f"{name}.bias"] = self.reader.weights(channels)

    def _has(self, name: str, first: int, *sizes: int) -> None:
        """Raises UserError unless the axes of these weights from ``first`` on are of these sizes."""
        if self.weights[name].shape[first : first + len(sizes)] != sizes:
            raise self.reader.fault(f"its layers do not fit each other ({name})")

    def _check_sizes(self, architecture: Architecture) -> None:
        """Does the whole fit? The program is traced, nothing is computed."""
        shapes = {name: jax.ShapeDtypeStruct(size, np.float32) for name, size in architecture.sizes}
        side = 3
        planes = jax.ShapeDtypeStruct((1, side, side, PLANES), np.float32)
        numbers = jax.ShapeDtypeStruct((1, NUMBERS), np.float32)
        try:
            found = jax.eval_shape(functools.partial(apply, architecture), shapes, planes, numbers)
        except (TypeError, ValueError):
            found = None
        if found is None or found.policy.shape != (1, side * side + 1):
            raise self.reader.fault("its layers do not fit each other")
