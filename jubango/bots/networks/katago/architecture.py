"""What a network of KataGo's is made of: the part of its file that decides the program; the weights do not.

Source: KataGo's ``cpp/neuralnet/desc.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Activation: TypeAlias = Literal["identity", "relu", "mish", "silu"]
BlockKind: TypeAlias = Literal["ordinary", "pooled", "nested", "attention", "feed_forward"]


@dataclass(frozen=True)
class Block:
    """One block of a trunk: what it adds to the trunk's channels.

    kind: two convolutions; the same with global pooling between; blocks between two convolutions; attention; a gated
        feed-forward layer.
    activations: in the order of the file.
    blocks: those inside of a nested one.
    heads: of attention, for queries, and for keys and values.
    rotated: how attention knows of places: not at all, by learnt frequencies, or by powers of ``base``.
    epsilon: of the block's RMS norm.
    gated: of a feed-forward layer, SwiGLU in place of SiLU.
    """

    kind: BlockKind
    activations: tuple[Activation, ...] = ()
    blocks: tuple[Block, ...] = ()
    heads: tuple[int, int] = (0, 0)
    rotated: Literal["", "learnt", "powers"] = ""
    base: float = 0.0
    epsilon: float = 0.0
    gated: bool = True


@dataclass(frozen=True)
class Architecture:
    """A network's program.

    version: of KataGo's format, from 8 to 17.
    tip: the RMS norm at the trunk's end, over channels or over the board as well, or none: a scale and a bias.
    lead: points that its number for the lead counts.
    alive_by_suicide: pass-alive areas are told as if suicide were legal.
    sizes: of the weights, by name.
    """

    version: int
    blocks: tuple[Block, ...]
    tip: Literal["", "points", "board"]
    tip_epsilon: float
    tip_activation: Activation
    policy_activations: tuple[Activation, ...]
    value_activations: tuple[Activation, ...]
    lead: float
    alive_by_suicide: bool
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = field(repr=False)

    @property
    def scores(self) -> bool:
        """It has heads for ownership and score."""
        return True
