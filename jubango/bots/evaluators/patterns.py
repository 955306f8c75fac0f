"""A prior without a network: small patterns around each action, weighed by how often strong players choose them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.bots.networks.arrays import read_arrays
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State

_FOLDER = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Patterns(Evaluator):
    """The softmax of the summed weights of each action's :meth:`Game.patterns`, and the value 0.

    Params: float32 [K], the weight of each kind.

    Source: Coulom 2007, "Computing Elo ratings of move patterns in the game of Go", with a move's competitors taken
    together as a softmax takes them.
    """

    knows_when_to_pass = False

    @property
    def trusted(self) -> bool:
        return True

    @classmethod
    def load(cls, game: Game) -> tuple[Patterns, Params]:
        """The evaluator and the weights that come with the package. Raises UserError if there are none for the game."""
        path = _FOLDER / f"{game.family}-patterns.safetensors"
        if not game.pattern_classes.size or not path.exists():
            raise UserError(f"prior=patterns: there are none for {game.spec}")
        return cls(), _weights(str(path))

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        weights = jnp.asarray(params)[jax.vmap(game.patterns, in_axes=-1)(states)]
        return Evaluation(logits=jnp.sum(weights, axis=-1), value=jnp.zeros(legal.shape[:1], jnp.float32))


@functools.cache
def _weights(path: str) -> np.ndarray:
    arrays, _ = read_arrays(path, "patterns", "weights")
    return arrays["weights"].astype(np.float32)
