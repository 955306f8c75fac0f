"""Games of self-play, hundreds at once, as a training's settings say."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.learning import self_play
from jubango.bots.learning.replay import Collector, Games, Samples
from jubango.bots.learning.self_play import Lanes, SelfPlay
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.shape import Shape
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import SetupWarning, UserError
from jubango.sgf_games.compute.host_call import remove
from jubango.sgf_games.compute.machine import VECTOR, devices
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.rules.race import for_two

LEAST_RANGE = 0.2  # of a node's values in a Gumbel search: smaller differences are mostly noise, and no lesson
RENEWING = 0.04  # share of the time in which weights are brought into eight bits
MOVES = 8  # in every lane, between two lots of learning
KOMIS = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5, -1.0, -2.0, 1.0, 2.0  # what komi differs by, in so many games each


class PlayedTurn(NamedTuple):
    """Some moves of self-play."""

    which: int  # the game's number
    rollouts: bool  # was it they that judged, or the network?
    samples: Samples  # positions of games that have ended
    games: Games
    state: State  # a position of the first lane, unbatched


class InInt8(NamedTuple):
    """Weights in eight bits, as they were a little while ago."""

    weights: Params
    number: np.ndarray  # what the evaluator takes for them
    made: float  # when, in seconds
    took: float  # seconds; 0 of the first ones, which wait for libraries and for programs to be made


class SelfPlayer:
    """Plays games that are learnt from, hundreds at once."""

    def __init__(self, settings: TrainingConfig) -> None:
        self.settings = settings
        self.games = [for_two(make_game(spec)) for spec in settings.games]
        self.shape = Shape.of(self.games[0], settings.channels, settings.blocks)
        self.devices = len(devices())
        split = VECTOR * self.devices
        self.lanes = -(-settings.lanes // split) * split
        self._playing: dict[tuple[int, bool], tuple[Any, Lanes, State, Collector]] = {}
        self._in_int8: dict[int, InInt8] = {}  # by the game's number

    def compile(self, rollouts: bool, weights: Params, only: list[int] | None = None) -> Iterator[str]:
        """Make the programs, of all games or of those with these numbers, by running each once for nothing; yields what
        it is for before it is made."""
        for which in range(len(self.games)) if only is None else only:
            game = self.games[which]
            yield f"{'rollouts' if rollouts else 'self-play'} of {game.spec}"
            starts, key = self_play.starts_of(variations(game)), jax.random.key(0)
            begin, play = self_play.program(self.plan(game, rollouts), self.lanes, self.devices, MOVES)
            own = () if rollouts else self._params(which, weights)
            jax.block_until_ready(play(own, begin(starts, key), starts, key, jnp.float32(-2)))

    def play(
        self, which: int, rollouts: bool, weights: Params, first: jax.Array, key: jax.Array, resign: float
    ) -> PlayedTurn:
        """Some moves in every lane of the game with this number; ``first``: the key of new games, if none are at play,
        ``key`` that of the moves."""
        play, lanes, starts, collector = self._begun(which, rollouts, first)
        lanes, moves = play(() if rollouts else self._params(which, weights), lanes, starts, key, jnp.float32(resign))
        samples, games = collector.add(moves)
        self._playing[which, rollouts] = play, lanes, starts, collector
        shown = jax.tree.map(lambda x: np.asarray(x[0]), lanes.states)
        return PlayedTurn(which, rollouts, samples, games, shown)

    def _params(self, which: int, weights: Params) -> Params:
        """What its evaluator takes. In int8 the weights are renewed whenever that takes a small part of the time; if
        they cannot be, games go on by those of before, with a warning."""
        if self.settings.precision != "int8":
            return weights
        evaluator, game = NetworkEvaluator(self.shape, "int8"), self.games[which]
        found, now = self._in_int8.get(which), time.monotonic()
        if found is not None and (
            weights is found.weights or (now - found.made) * RENEWING <= found.took * len(self.games)
        ):
            return found.number
        try:
            number = evaluator.in_int8(game, weights, passing=True)
        except UserError as error:
            if found is None:
                raise
            warnings.warn(f"{error}; self-play goes on by the weights of before", SetupWarning, stacklevel=2)
            new = found._replace(made=now)
        else:
            made = time.monotonic()
            new = InInt8(weights, number, made, made - now if found else 0.0)
            if found is not None:
                remove(found.number)
        self._in_int8[which] = new
        return new.number

    def _begun(self, which: int, rollouts: bool, first: jax.Array) -> tuple[Any, Lanes, State, Collector]:
        if (which, rollouts) not in self._playing:
            if not rollouts:
                self._playing.pop((which, True), None)
            game = self.games[which]
            begin, play = self_play.program(self.plan(game, rollouts), self.lanes, self.devices, MOVES)
            starts = self_play.starts_of(variations(game))
            self._playing[which, rollouts] = play, begin(starts, first), starts, Collector()
        return self._playing[which, rollouts]

    def plan(self, game: Game, rollouts: bool) -> SelfPlay:
        """How its games are played."""
        settings, side = self.settings, int((game.height * game.width) ** 0.5)
        if rollouts:
            full = settings.rollout_simulations
            rollout = Rollout(moves="tactical" if game.has("tactical_playout") else "game")
            search = Search(game.compiled_as, Ucb1(), rollout, full, ties="random")
            return SelfPlay(
                search, full, full // 4, 0.5, c=0.5, temperature=1.0, temperature_plies=side, opening=side // 2,
                played_out=0.4,
            )  # fmt: skip
        gumbel = settings.search == "gumbel"
        rule = Gumbel(least_range=LEAST_RANGE) if gumbel else Puct(base=19652.0, fpu="parent")
        noise, temperature = (0.0, 0.0) if gumbel else (0.25, 1.0)
        search = Search(game.compiled_as, rule, NetworkEvaluator(self.shape, settings.precision), settings.simulations)
        return SelfPlay(
            search, settings.simulations, settings.fast, settings.share, noise=noise, temperature=temperature,
            temperature_plies=2 * side, opening=settings.opening or side,
            opening_temperature=settings.opening_temperature,
        )  # fmt: skip


def variations(game: Game) -> list[Game]:
    """What games of self-play begin as: with one komi or another where states have it, anything else as it is."""
    if not game.has_komi or game.compiled_as == game:
        return [game]
    others: list[Game] = []
    for gap in KOMIS:
        with contextlib.suppress(UserError):  # it need not take every number
            others.append(game.with_komi(game.komi_of() + gap))
    return others
