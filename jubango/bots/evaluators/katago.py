"""A network of KataGo's as an evaluator in searches of jubango's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.network import Inputs, OutputsEvaluator, Symmetry
from jubango.bots.networks.katago.architecture import Architecture
from jubango.bots.networks.katago.file import load_katago
from jubango.bots.networks.katago.model import apply
from jubango.bots.networks.shape import Outputs
from jubango.sgf_games.base.checks import one_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import on_cpu
from jubango.sgf_games.rules.game import Game, State

POINTS_TOGETHER = 400  # of the boards that a CPU's core evaluates together: more of them do not stay in its caches
LARGEST_SIDE = 19  # of a board: no published network has seen larger ones


@dataclass(frozen=True)
class KataGoEvaluator(OutputsEvaluator):
    """Any network of KataGo's of one architecture. Params: its weights by name.

    A search with it keeps the last moves in its nodes, which the network looks at. That a game has no result, as
    KataGo has it under simple ko, counts as a draw. symmetry: as a :class:`NetworkEvaluator` has it.

    Source: Wu 2019, "Accelerating Self-Play Learning in Go".
    """

    told_at_once = False

    architecture: Architecture
    symmetry: Symmetry = "none"

    def __post_init__(self) -> None:
        one_of("symmetry", self.symmetry, Symmetry)

    @classmethod
    def load(cls, path: str | Path, game: Game) -> tuple[KataGoEvaluator, Params]:
        """(evaluator, weights) of a file.

        path: a file as KataGo publishes them, ``.bin.gz`` or ``.txt.gz``.
        game: the game that it is for.

        Raises UserError for a file that cannot be read, and for a game that KataGo does not play.
        """
        if not game.has("katago_inputs") or max(game.height, game.width) > LARGEST_SIDE:
            raise UserError(
                f"network {path}: KataGo's networks play Go, up to {LARGEST_SIDE}x{LARGEST_SIDE}, not {game.spec}"
            )
        weights, architecture, _ = load_katago(path)
        return cls(architecture), weights

    @property
    def scores(self) -> bool:
        return True

    def together(self, game: Game) -> int:
        own = POINTS_TOGETHER // (game.height * game.width)
        return max(1, own) if on_cpu() else super().together(game)

    def game_for(self, game: Game) -> Game:
        return game.remembering

    def inputs(self, game: Game, states: State, legal: jax.Array) -> Inputs:
        return game.katago_inputs(states, legal)

    def outputs(self, params: Params, game: Game, inputs: Inputs, asked: jax.Array | None = None) -> Outputs:
        return apply(self.architecture, params, *inputs)
