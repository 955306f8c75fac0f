"""Small files in KataGo's format with random weights, and what they compute, by plain numpy and loops."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

X = np.ndarray
Layer = Callable[[X], X]
ACTIVATION: dict[str, Layer] = {
    "RELU": lambda x: np.maximum(x, 0),
    "MISH": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "SILU": lambda x: x / (1 + np.exp(-x)),
    "IDENTITY": lambda x: x,
}


class Said(NamedTuple):
    """Of one position."""

    policy: X  # [P + 1], logits
    outcome: X  # [3], logits of win, loss, no result
    lead: float  # points, before no result is looked at
    ownership: X  # [H, W]


class KataGoWriter:
    """Writes a network word by word, and puts together what it computes. ``text`` writes decimals in place of bytes."""

    def __init__(self, version: int, text: bool = False, seed: int = 0, channels: int = 6) -> None:
        self.version, self.text, self.channels = version, text, channels
        self.rng, self.parts, self.names = np.random.default_rng(seed), [], 0
        self.forward = self._network()

    @property
    def data(self) -> bytes:
        """What the file holds, unpacked."""
        return b"".join(self.parts)

    def save(self, path: Path) -> Path:
        path.write_bytes(gzip.compress(self.data, 1, mtime=0))
        return path

    # -- layers ------------------------------------------------------------------------------

    def words(self, *words: object) -> None:
        self.parts.append((" ".join(map(str, words)) + "\n").encode())

    def name(self) -> None:
        self.names += 1
        self.words(f"layer{self.names}")

    def weights(self, *shape: int, scale: float = 0.5, middle: float = 0.0) -> X:
        found = (middle + scale * self.rng.standard_normal(shape)).astype(np.float32)
        if self.text:
            self.words(*(f"{x:.9g}" for x in found.ravel()))
        else:
            self.parts.append(b"@BIN@" + found.astype("<f4").tobytes() + b"\n")
        return found.astype(np.float64)

    def convolution(self, side: int, inside: int, outside: int) -> Layer:
        self.name()
        self.words(side, side, inside, outside, 1, 1)
        kernel = self.weights(side, side, inside, outside, scale=0.5 / side)

        def layer(x: X) -> X:
            height, width, _ = x.shape
            out, half = np.zeros((height, width, outside)), side // 2
            for y in range(height):
                for z in range(width):
                    for dy in range(side):
                        for dz in range(side):
                            a, b = y + dy - half, z + dz - half
                            if 0 <= a < height and 0 <= b < width:
                                out[y, z] += x[a, b] @ kernel[dy, dz]
            return out

        return layer

    def norm(self, channels: int) -> Layer:
        self.name()
        self.words(channels, 0.001, 1, 1)
        mean, variance = self.weights(channels), np.abs(self.weights(channels, scale=0.01, middle=1.0))
        scale, bias = self.weights(channels, middle=1.0), self.weights(channels)
        return lambda x: (x - mean) / np.sqrt(variance + 0.001) * scale + bias

    def activation(self, kind: str) -> Layer:
        self.name()
        if self.version < 11:
            return ACTIVATION["RELU"]
        self.words(f"ACTIVATION_{kind}")
        return ACTIVATION[kind]

    def matrix(self, inside: int, outside: int) -> X:
        self.name()
        self.words(inside, outside)
        return self.weights(inside, outside, scale=0.5 / inside**0.5)

    def bias(self, channels: int) -> X:
        self.name()
        self.words(channels)
        return self.weights(channels)

    def root_mean_square(self, channels: int) -> Layer:
        self.name()
        self.words(channels, 1e-6)
        scale = self.weights(channels, middle=1.0)
        return lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale

    # -- blocks ------------------------------------------------------------------------------

    def block(self, kind: str, channels: int) -> Layer:
        """What the block makes of the trunk."""
        self.words(kind)
        self.name()
        return getattr(self, f"_{kind}")(channels)

    def _ordinary_block(self, channels: int) -> Layer:
        one = self.norm(channels), self.activation("MISH"), self.convolution(3, channels, 5)
        two = self.norm(5), self.activation("SILU"), self.convolution(3, 5, channels)
        return lambda x: x + chain(x, *one, *two)

    def _gpool_block(self, channels: int) -> Layer:
        norm, act, first = self.norm(channels), self.activation("RELU"), self.convolution(3, channels, 4)
        pool = self.convolution(3, channels, 3), self.norm(3), self.activation("MISH")
        pooled = self.matrix(9, 4)
        rest = self.norm(4), self.activation("MISH"), self.convolution(3, 4, channels)

        def layer(x: X) -> X:
            seen = act(norm(x))
            return x + chain(first(seen) + pooling(chain(seen, *pool)) @ pooled, *rest)

        return layer

    def _nested_bottleneck_block(self, channels: int) -> Layer:
        self.words(3)
        before = self.norm(channels), self.activation("SILU"), self.convolution(1, channels, 4)
        inner = [
            self.block(kind, 4) for kind in ("transformer_attention_block", "transformer_ffn_block", "ordinary_block")
        ]
        after = self.norm(4), self.activation("SILU"), self.convolution(1, 4, channels)
        return lambda x: x + chain(x, *before, *inner, *after)

    def _transformer_attention_block(self, channels: int) -> Layer:
        learnt = self.version < 17  # how it knows of places
        heads, kept, wide, value = 4, 2, 6, 3
        self.words(heads, kept, wide, value, 1, int(learnt))
        norm = self.root_mean_square(channels)
        query, key = self.matrix(channels, heads * wide), self.matrix(channels, kept * wide)
        values, out = self.matrix(channels, kept * value), self.matrix(heads * value, channels)
        self.name()
        if learnt:
            self.words(kept, wide // 2, 2)
            turns = self.weights(kept, wide // 2, 2)
        else:
            self.words(100.0)

        def angle(head: int, pair: int, y: int, z: int) -> float:
            if learnt:
                return z * turns[head, pair, 0] + y * turns[head, pair, 1]
            pairs = wide // 2
            place, number = (y, pair) if pair < pairs // 2 else (z, pair - pairs // 2)
            return place / 100.0 ** (2 * number / pairs)

        def layer(x: X) -> X:
            height, width, _ = x.shape
            seen = norm(x)
            found = np.zeros((height, width, heads * value))
            places = [(y, z) for y in range(height) for z in range(width)]

            def turned(vector: X, head: int, place: tuple[int, int]) -> X:
                pairs = [vector[2 * p] + 1j * vector[2 * p + 1] for p in range(wide // 2)]
                return np.array([c * np.exp(1j * angle(head, p, *place)) for p, c in enumerate(pairs)])

            for head in range(heads):
                own = head * kept // heads
                q = [turned((seen[p] @ query)[head * wide :][:wide], own, p) for p in places]
                k = [turned((seen[p] @ key)[own * wide :][:wide], own, p) for p in places]
                v = np.array([(seen[p] @ values)[own * value :][:value] for p in places])
                for place, mine in zip(places, q, strict=True):
                    scores = np.array([(mine * other.conj()).real.sum() for other in k]) / wide**0.5
                    share = np.exp(scores - scores.max())
                    found[place][head * value :][:value] = share / share.sum() @ v
            return x + found @ out

        return layer

    def _transformer_ffn_block(self, channels: int) -> Layer:
        self.words(channels, 5, 1)
        norm = self.root_mean_square(channels)
        first, gate, second = self.matrix(channels, 5), self.matrix(channels, 5), self.matrix(5, channels)
        return lambda x: x + (ACTIVATION["SILU"](norm(x) @ first) * (norm(x) @ gate)) @ second

    # -- the whole ---------------------------------------------------------------------------

    def _network(self) -> Callable[[X, X], Said]:
        version, channels = self.version, self.channels
        self.words("small", version, 22, 19)
        if version >= 13:
            self.words(20, 20, 20, 10, 40, 0.25, 150)
        if version >= 15:
            self.words(*[0] * 8)
        kinds = ["ordinary_block", "gpool_block"]
        kinds += ["nested_bottleneck_block"] * (version >= 15) + ["transformer_attention_block"] * (version >= 17)
        self.words("trunk", len(kinds), channels, 4, 4, 4, 3)
        if version >= 15:
            self.words(int(version >= 17), 0, 0, 0, 0, 0)
        stem, numbers = self.convolution(3, 22, channels), self.matrix(19, channels)
        blocks = [self.block(kind, channels) for kind in kinds]
        tip = self.norm(channels) if version < 17 else self._tip(channels)
        tip_activation = self.activation("MISH")
        policy, value = self._policy(channels), self._value(channels)

        def forward(planes: X, given: X) -> Said:
            x = tip_activation(tip(chain(stem(planes) + given @ numbers, *blocks)))
            return Said(policy(x), *value(x))

        return forward

    def _tip(self, channels: int) -> Layer:
        """An RMS norm over the board."""
        self.name()
        self.words(channels, 1e-6, 1, 0)
        scale, bias = self.weights(channels, middle=1.0), self.weights(channels)
        return lambda x: x / np.sqrt((x**2).mean() + 1e-6) * scale + bias

    def _policy(self, channels: int) -> Layer:
        self.name()
        outputs = {True: 1}.get(self.version < 12, 2)
        if self.version >= 17:
            self.words(2, 0, 0, 0)
        first, pool = self.convolution(1, channels, 4), self.convolution(1, channels, 3)
        pool_rest = self.norm(3), self.activation("MISH")
        pooled = self.matrix(9, 4)
        rest = self.norm(4), self.activation("SILU"), self.convolution(1, 4, outputs)
        passing = self.matrix(9, 4 if self.version >= 15 else outputs)
        if self.version >= 15:
            bias, act, last = self.bias(4), self.activation("MISH"), self.matrix(4, outputs)

        def layer(x: X) -> X:
            seen = pooling(chain(x, pool, *pool_rest))
            points = chain(first(x) + seen @ pooled, *rest)[..., 0].ravel()
            to_pass = seen @ passing if self.version < 15 else act(seen @ passing + bias) @ last
            return np.append(points, to_pass[0])

        return layer

    def _value(self, channels: int) -> Callable[[X], tuple[X, float, X]]:
        self.name()
        if self.version >= 17:
            self.words(0, 0, 0)
        first = self.convolution(1, channels, 4), self.norm(4), self.activation("MISH")
        hidden, hidden_bias, act = self.matrix(12, 5), self.bias(5), self.activation("SILU")
        outcome, outcome_bias = self.matrix(5, 3), self.bias(3)
        scores = 6 if self.version >= 9 else 4
        score, score_bias = self.matrix(5, scores), self.bias(scores)
        ownership = self.convolution(1, 4, 1)
        lead = 10 if self.version >= 13 else 20

        def layer(x: X) -> tuple[X, float, X]:
            seen = chain(x, *first)
            told = act(pooling(seen, largest=False) @ hidden + hidden_bias)
            points = (told @ score + score_bias)[2] * lead
            return told @ outcome + outcome_bias, points, np.tanh(ownership(seen)[..., 0])

        return layer


def chain(x: X, *layers: Layer) -> X:
    for layer in layers:
        x = layer(x)
    return x


def pooling(x: X, largest: bool = True) -> X:
    height, width, _ = x.shape
    mean, root = x.mean((0, 1)), (height * width) ** 0.5 - 14
    third = x.max((0, 1)) if largest else mean * (root**2 * 0.01 - 0.1)
    return np.concatenate([mean, mean * root * 0.1, third])
