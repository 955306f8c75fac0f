"""Territory: the ownership of each point, and the lead in points. Everything that shows them asks here.

A network that has the heads for it says so itself; elsewhere random games do. Where a game counts no points, a point is
owned by the player whose stone lies there at the end of random games, and there is no lead.

**The lead without a network.** To random games a stone is worth about seven points wherever it lies. The player who
has just moved has one more of them on the board, so the mean margin swings to and fro with every move. So the lead is
the mean of two positions, the one that is asked about and the one after its best move. That best move has the same
lead: half a move is taken off what random games say for the player who has just moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from jubango.bots.evaluators.evaluator import LoadedEvaluator, Params
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.network import OutputsEvaluator
from jubango.bots.networks.shape import Outputs
from jubango.sgf_games.compute.machine import device_layout, shard, split_last, spread
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.compiled import rules, stacked, view_of
from jubango.sgf_games.rules.game import GAMES_PER_ROUND, Game, State

SMALLEST_BATCH = 3  # positions that make a batch of the machine's
OWNER_ROUNDS = 4  # of random games, GAMES_PER_ROUND each, from which ownership is told
MARGIN_GAMES = 64  # random games from a position, from which the lead is told
CLOSE_GAMES, CLOSE_LANES = 512, 32  # the same where a position is looked at closely, and how many of them at once


# -- whose points ----------------------------------------------------------------------------------


def ownership(game: Game, states: Sequence[State], judge: LoadedEvaluator) -> np.ndarray:
    """float [n, H * W] in [-1, 1], 1 for a point that will be Black's: as the evaluator's network says, or else what
    256 random games come to. Where the game counts no points: whose stones lie there at the ends of such games."""
    if not game.counts_points:
        return np.stack([_stones_at_ends(game, state) for state in states])
    found = scorer_of(judge)
    if found is not None:
        outputs = opinions(game, states, *found)
        white = np.array([int(game.current_player(state)) for state in states])[:, None] == 1
        flat = np.asarray(outputs.ownership).reshape(len(states), -1)
        return np.where(white, -flat, flat)
    return np.stack([game.owners_by_playouts(state, OWNER_ROUNDS) for state in states])


def _stones_at_ends(game: Game, state: State) -> np.ndarray:
    """float [H * W]: the mean of the stones at the ends of random games, Black's 1 and White's -1."""
    program, here, boards = _ends_program(game.compiled_as), game.without_history(state), []
    for number in range(OWNER_ROUNDS):
        first = jnp.uint32(number * GAMES_PER_ROUND)
        ends = jax.device_get(program(here, mix(first + jnp.arange(GAMES_PER_ROUND, dtype=jnp.uint32))))
        each = [jax.tree.map(lambda x, lane=lane: x[..., lane], ends) for lane in range(GAMES_PER_ROUND)]
        boards += [game.stones(end).ravel() for end in each]
    return np.mean([(board == 1) * 1.0 - (board == 2) for board in boards], axis=0)


@functools.lru_cache(maxsize=8)
def _ends_program(game: Game) -> Callable[[State, jax.Array], State]:
    def ends(state: State, seeds: jax.Array) -> State:
        states = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, GAMES_PER_ROUND)), state)
        return game.random_ends(states, seeds)

    return jit(ends, parts=("random ends", game, GAMES_PER_ROUND))


def network_of(judge: LoadedEvaluator) -> tuple[OutputsEvaluator, Params] | None:
    """The network in an evaluator, and its weights."""
    evaluator, params = judge
    if isinstance(evaluator, Mixed):
        evaluator, params = evaluator.first, params[0]
    return (evaluator, params) if isinstance(evaluator, OutputsEvaluator) else None


def scorer_of(judge: LoadedEvaluator) -> tuple[OutputsEvaluator, Params] | None:
    """The same if it has heads for ownership and score."""
    found = network_of(judge)
    return found if found is not None and found[0].scores else None


def opinions(game: Game, states: Sequence[State], network: OutputsEvaluator, params: Params) -> Outputs:
    """What the network itself says of ``states``, a row each, for the player to move."""
    legal = view_of(game, states).legal
    game = network.game_for(game)
    plain = [game.without_history(state) for state in states]
    batch = stacked(plain + plain[:1] * (SMALLEST_BATCH - len(plain)))  # one program for all that few
    lanes = jax.tree.leaves(batch)[0].shape[-1]
    legal = legal[np.minimum(np.arange(lanes), len(plain) - 1)]
    if not network.told_at_once:  # each by itself, so that none is asked for nothing
        batch = jax.tree.map(lambda x: x[..., : max(SMALLEST_BATCH, 1 << (len(plain) - 1).bit_length())], batch)
        legal = legal[: jax.tree.leaves(batch)[0].shape[-1]]
    outputs = _program(game.compiled_as, network)(params, batch, legal)
    return Outputs(*(np.asarray(x)[: len(states)] for x in outputs))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=8)
def _program(game: Game, network: OutputsEvaluator) -> Callable[..., Outputs]:
    def judge(params: Params, states: State, legal: jax.Array) -> Outputs:
        states = jax.tree.map(jnp.asarray, states)
        if network.told_at_once:
            return network.outputs(params, game, network.inputs(game, states, legal))

        def one(here: tuple[State, jax.Array]) -> Outputs:
            batch = jax.tree.map(lambda x: x[..., None], here[0])
            found = network.outputs(params, game, network.inputs(game, batch, here[1][None]))
            return jax.tree.map(lambda x: x[0], found)

        return lax.map(one, (jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), states), legal))

    return jit(judge, parts=("opinion", game, network))


# -- the lead --------------------------------------------------------------------------------------


class Margins(NamedTuple):
    """Of random games from positions, in points and Black's view, komi included."""

    mean: np.ndarray  # float64 [n]
    spread: np.ndarray  # float64 [n], the standard deviation of one game
    games: int  # from each position


def leads(
    game: Game, states: Sequence[State], actions: Sequence[int], seeds: Sequence[int],
    judge: LoadedEvaluator, by_games: bool = True,
) -> np.ndarray | None:  # fmt: skip
    """float64 [n]: Black's lead in points, komi included, in positions whose best moves are ``actions``. It is the mean
    of what is said of the position and of the one after its best move, as what says it leans to one side of the move.
    The evaluator's network says it, or else, ``by_games``, 64 random games from either. None where the game counts no
    points, and where nobody knows."""
    if not game.counts_points:
        return None
    network = scorer_of(judge)
    if not network and not by_games:
        return None
    after = [rules(game).step(state, action) for state, action in zip(states, actions, strict=True)]
    if network:
        scores = _scores(game, [*states, *after], *network).reshape(2, len(states))
    else:
        scores = np.stack([margins(game, own, seeds).mean for own in (states, after)])
    lead: np.ndarray = scores.mean(axis=0)
    return lead


def _scores(game: Game, states: Sequence[State], network: OutputsEvaluator, params: Params) -> np.ndarray:
    """float64 [n]: Black's lead as the network says it."""
    signs = np.array([1 - 2 * int(game.current_player(state)) for state in states])
    return np.asarray(opinions(game, states, network, params).score, float) * game.height * game.width * signs


def margins(game: Game, states: Sequence[State], seeds: Sequence[int], closely: bool = False) -> Margins:
    """Of MARGIN_GAMES random games from each of ``states``, or ``closely`` of CLOSE_GAMES. seeds: uint32, one a state;
    what is said of a state depends on nothing else."""
    lanes_each = CLOSE_LANES if closely else 1
    rounds = (CLOSE_GAMES if closely else MARGIN_GAMES) // lanes_each
    batch = stacked([game.without_history(state) for state in states for _ in range(lanes_each)])
    lanes = jax.tree.leaves(batch)[0].shape[-1]
    lane_seeds = np.resize(np.array([seed + 40503 * k for seed in seeds for k in range(lanes_each)], np.uint64), lanes)
    sums = _played(game.compiled_as, lanes)(batch, (lane_seeds & 0xFFFFFFFF).astype(np.uint32), np.int32(rounds))
    own = np.asarray(sums, float)[:, : len(states) * lanes_each].reshape(2, len(states), lanes_each)
    mean, square = own.sum(axis=-1) / (rounds * lanes_each)
    return Margins(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), rounds * lanes_each)


@functools.lru_cache(maxsize=8)
def _played(game: Game, lanes: int) -> Callable[..., jax.Array]:
    """float32 [2, B]: the sums of Black's margins, and of their squares, of so many games; on all devices."""

    def sums(states: State, seeds: jax.Array, rounds: jax.Array) -> jax.Array:
        def one(k: jax.Array, so_far: jax.Array) -> jax.Array:
            margin = game.playout_margin(states, mix(seeds + k.astype(jnp.uint32) * jnp.uint32(0x632BE5AB)))
            return so_far + jnp.stack([margin, margin**2])

        return lax.fori_loop(0, rounds, one, jnp.zeros((2, *seeds.shape), jnp.float32))

    number, _ = device_layout(lanes)
    sharding, whole = shard(number)
    split = jax.tree.map(lambda x: split_last(x.ndim + 1), jax.eval_shape(game.init))
    states, lane_seeds, out = jax.tree.map(
        lambda spec: NamedSharding(sharding.mesh, spec), (split, split_last(1), split_last(2))
    )
    return jit(
        spread(sums, sharding.mesh, (split, split_last(1), whole.spec), split_last(2)),
        number > 1,
        ("margins", game, lanes, number),
        in_shardings=(states, lane_seeds, whole),
        out_shardings=out,
    )


def told_apart(values: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
    """Means of equally many games, drawn towards their common mean as far as noise of this ``variance`` explains how
    they differ (empirical Bayes: Efron & Morris 1975, "Data analysis using Stein's estimator")."""
    middle = float(np.average(values, weights=weights))
    real = float(np.average((values - middle) ** 2, weights=weights)) - variance
    return middle + (values - middle) * max(0.0, real) / (max(0.0, real) + variance + 1e-12)


def deviation_of(owners: np.ndarray) -> float:
    """Of a score that is a sum of ownership, as if points were independent."""
    return math.sqrt(float((1 - owners**2).clip(0).sum()))
