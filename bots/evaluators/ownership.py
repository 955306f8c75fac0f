"""Whose the points of a position will be, where a game counts points: a network's opinion, or what random games say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Evaluator, Params
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.networks.shape import Outputs, Shape
from jubango.sgf_games.compiled import stacked
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.go_scoring import owners_by_playouts
from jubango.sgf_games.programs import jit

FEW = 3  # positions that make a batch of the machine's
ROUNDS = 4  # of random games, 64 each


def ownership(game: Game, states: Sequence[State], evaluator: Evaluator, params: Params) -> np.ndarray:
    """float32 [n, H * W] in [-1, 1], 1 for a point that will be Black's: as the evaluator's network says, or else what
    random games come to. Zeros where the game counts no points."""
    if not game.counts_points:
        return np.zeros((len(states), game.height * game.width), np.float32)
    found = network_of(evaluator, params)
    if found is not None and found[0].shape.scores:
        outputs = opinions(game, states, *found)
        white = np.array([int(state.player) for state in states])[:, None] == 1
        flat = np.asarray(outputs.ownership).reshape(len(states), -1)
        return np.where(white, -flat, flat)
    assert isinstance(game, Go), "only Go counts points"
    return np.stack([owners_by_playouts(game, state, ROUNDS) for state in states])


def network_of(evaluator: Evaluator, params: Params) -> tuple[NetworkEvaluator, Params] | None:
    """The network in an evaluator, and its weights."""
    if isinstance(evaluator, Mixed):
        return network_of(evaluator.first, params[0])
    return (evaluator, params) if isinstance(evaluator, NetworkEvaluator) else None


def opinions(game: Game, states: Sequence[State], network: NetworkEvaluator, params: Params) -> Outputs:
    """What the network itself says of ``states``, a row each, for the player to move."""
    plain = [game.without_history(state) for state in states]
    plain += plain[:1] * (FEW - len(plain))  # one program for all that few
    outputs = _program(game.compiled_as, network.shape)(params, stacked(plain))
    return Outputs(*(np.asarray(x)[: len(states)] for x in outputs))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=8)
def _program(game: Game, shape: Shape) -> Callable[[Params, State], Outputs]:
    def judge(params: Params, states: State) -> Outputs:
        from jubango.bots.networks.model import apply  # slow to import, and needed for a new program only

        return apply(shape, params, jax.vmap(game.observe, in_axes=-1)(jax.tree.map(jnp.asarray, states)))

    return jit(judge, parts=("opinion", game, shape))
