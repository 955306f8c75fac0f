"""A network as an evaluator: its policy is the prior, its value the value."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from jubango.bots.evaluators.evaluator import Evaluation
from jubango.bots.networks.model import Network, Shape, load_network
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game, State


@dataclass(frozen=True)
class NetworkEvaluator:
    """The weights of a file. They become constants of the search's program: other weights, named by the
    digest of their bytes, are another program."""

    path: str
    digest: str

    @classmethod
    def load(cls, path: str, game: Game) -> NetworkEvaluator:
        """Raises UserError for a file that cannot be read or was made for another game."""
        try:
            digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            raise UserError(f"network {path}: cannot be read: {error.strerror}") from None
        evaluator = cls(path, digest)
        _, shape = _loaded(path, digest)
        own = Shape.of(game, shape.channels, shape.blocks)
        if (own.height, own.width, own.planes, own.actions) != (shape.height, shape.width, shape.planes, shape.actions):
            raise UserError(f"network {path}: was made for {shape.game}, not for {game.spec}")
        return evaluator

    def __call__(self, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        network, _ = _loaded(self.path, self.digest)
        planes = jax.vmap(game.observe, in_axes=-1)(states)
        logits, value = network(planes)
        logits = jnp.where(legal, logits, -jnp.inf)
        grown = jnp.exp(logits - jnp.max(jnp.where(legal, logits, -1e9), axis=-1, keepdims=True))
        return Evaluation(jnp.where(legal, grown, 0.0), value)


@functools.cache
def _loaded(path: str, digest: str) -> tuple[Network, Shape]:
    del digest  # part of the key: a file may change
    with jax.ensure_compile_time_eval():
        return load_network(path)
