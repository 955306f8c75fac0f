"""What decides the sizes of a network's weights, and what comes out of it; what it computes is in
:mod:`jubango.bots.networks.model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game

# What a shape's numbers may be at most.
LARGEST_SHAPE = {
    "planes": 10_000,
    "passes": 1,
    "channels": 4096,
    "blocks": 128,
    "height": 1000,
    "width": 1000,
    "actions": 10**6,
}
HEAD_CHANNELS = 16  # channels of the heads
HIDDEN = 64  # units behind the value


class Outputs(NamedTuple):
    """Of a batch of B positions, all for the player to move."""

    policy: jax.Array  # float32 [B, A], logits of the actions
    outcome: jax.Array  # float32 [B, 3], logits of loss, draw and win
    ownership: jax.Array  # float32 [B, H, W] in [-1, 1]: the ownership of each point; zeros without those heads
    score: jax.Array  # float32 [B], the margin in points over the board's points; zeros without

    @property
    def value(self) -> jax.Array:
        """float32 [B] in [-1, 1]."""
        chances = jax.nn.softmax(self.outcome)
        return chances[:, 2] - chances[:, 0]


@dataclass(frozen=True)
class Shape:
    """What decides the sizes of the weights. Raises UserError for an odd one.

    game: the family of games (:attr:`jubango.sgf_games.rules.game.Game.family`) it plays.
    head: an action is a point (then pass, with ``passes`` = 1), a column, or anything, which takes dense layers and the
        one board of ``height``, ``width`` and ``actions`` (0 in the others).
    scores: heads for ownership and score.
    """

    game: str
    planes: int
    head: Literal["points", "columns", "dense"] = "points"
    passes: int = 0
    scores: bool = False
    channels: int = 32
    blocks: int = 3
    height: int = 0
    width: int = 0
    actions: int = 0

    def __post_init__(self) -> None:
        for key, most in LARGEST_SHAPE.items():
            number, least = getattr(self, key), int(key != "passes")
            if key in ("height", "width", "actions") and self.head != "dense":
                least = most = 0
            if type(number) is not int or not least <= number <= most:
                raise UserError(f"a network's {key} = {number!r}: should be a whole number from {least} to {most}")
        if not isinstance(self.game, str) or self.head not in ("points", "columns", "dense"):
            raise UserError(f'a network\'s head = {self.head!r}: should be "points", "columns" or "dense"')

    @classmethod
    def of(cls, game: Game, channels: int = 32, blocks: int = 3) -> Shape:
        height, width, planes = game.observation_shape
        points, actions, head = height * width, game.num_actions, game.actions_are
        if head == "dense":
            return cls(game.family, planes, head, 0, False, channels, blocks, height, width, actions)
        passes = actions - points if head == "points" else 0
        return cls(game.family, planes, head, passes, game.counts_points, channels, blocks)

    @property
    def layers(self) -> dict[str, tuple[int, ...]]:
        """The size of each layer's kernel, by its name, in the order in which their weights are drawn."""
        channels, narrow = self.channels, HEAD_CHANNELS
        layers: dict[str, tuple[int, ...]] = {"stem": (3, 3, self.planes, channels)}
        for i in range(self.blocks):
            layers[f"blocks.{i}.first"] = (3, 3, channels, channels)
            layers[f"blocks.{i}.pooled"] = (3 * channels, channels)
            layers[f"blocks.{i}.second"] = (3, 3, channels, channels)
        layers |= {
            "policy_planes": (1, 1, channels, narrow),
            "value_planes": (1, 1, channels, narrow),
            "value_hidden": (3 * narrow, HIDDEN),
            "outcome": (HIDDEN, 3),
        }
        if self.head == "points":
            layers |= {"policy_pooled": (3 * narrow, narrow), "policy": (1, 1, narrow, 1)}
            layers |= {"policy_pass": (3 * narrow, 1)} if self.passes else {}
        elif self.head == "columns":
            layers["policy"] = (2 * narrow, 1)
        else:
            layers["policy"] = (self.height * self.width * narrow, self.actions)
        if self.scores:
            layers |= {"ownership": (1, 1, narrow, 1), "score": (HIDDEN, 1)}
        return layers

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The size of each array of float32 weights, by its name."""
        kernels = {f"{name}.kernel": size for name, size in self.layers.items()}
        return kernels | {f"{name}.bias": size[-1:] for name, size in self.layers.items()}
