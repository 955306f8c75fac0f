"""Self-play inside one compiled program: hundreds of games at once, lanes refilled as games end.

A move is searched fully, and kept for learning, or quickly, to get on with the game (playout cap randomisation, Wu
2019, section 3.1). Games begin with a few moves drawn from the prior, for variety, and some end by resignation; of
those that may not, it is known how often it would have been wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.search import Search
from jubango.sgf_games.compute.lane_loops import where_needed
from jubango.sgf_games.compute.machine import AXIS, shard, spread
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.game import Game, State

Array: TypeAlias = jax.Array | np.ndarray
NOBODY = -1
BAD_MOVES = 3  # own moves in a row whose value is below the threshold, before somebody resigns


@dataclass(frozen=True)
class SelfPlay:
    """How games are played that a network learns from.

    full, fast: simulations of a move that is kept, and of the others.
    share: that of the moves that are kept.
    c: of the search's rule; by default the rule's own.
    temperature: of the draw from the improved policy in the first ``temperature_plies``. A Gumbel search draws its
        moves itself.
    noise: the share of Dirichlet noise in the root's prior.
    opening: in half of the games up to so many moves at the beginning are drawn from the prior.
    opening_temperature: of that draw; the larger, the nearer to random moves.
    played_out: the share of the games in which nobody resigns.
    """

    search: Search
    full: int
    fast: int
    share: float = 0.25
    c: float | None = None
    temperature: float = 0.0
    temperature_plies: int = 0
    noise: float = 0.0
    opening: int = 0
    opening_temperature: float = 1.0
    played_out: float = 0.1

    @property
    def game(self) -> Game:
        """The game of the search."""
        return self.search.game

    def starts(self, games: Sequence[Game] = ()) -> State:
        """The first positions, stacked along the first axis: what games begin as.

        games: games that are compiled as one; by default the search's own.
        """
        return starts_of(list(games) or [self.game])

    def compiled(self, lanes: int, moves: int, devices: int = 0) -> tuple[Begin, Play]:
        """Two programs: :func:`begin` of (starts, key), and :func:`play` of (params, lanes, starts, key, resign).

        lanes: games side by side.
        moves: how many each call of ``play`` makes in every lane.
        devices: over which the lanes are split evenly; 0 for all.
        """
        return program(self, lanes, devices or len(jax.devices()), moves)


class Lanes(NamedTuple):
    """Games under way; every array has the lanes first."""

    states: State
    ply: jax.Array  # int32
    opening: jax.Array  # int32, plies that are drawn from the prior
    stubborn: jax.Array  # bool, nobody resigns in this game
    losing: jax.Array  # int32 [B, 2], moves in a row that each player has thought lost
    lost: jax.Array  # int32, the player who has resigned, or would have; or nobody


class Moves(NamedTuple):
    """What has been played: T moves in each of B lanes, arrays [T, B, ...]. A game's end is noted at its last move."""

    state: State  # the position moved in, without history
    player: Array  # int32, to move
    policy: Array  # float16 [A], improved by the search
    value: Array  # float32 in [-1, 1], of the search, for the player to move
    kept: Array  # bool, searched fully
    over: Array  # bool, the game has ended
    result: Array  # float32, for the first player
    counted: Array  # bool, the game was played out and not resigned
    margin: Array  # float32, the first player's, of games in which points are counted
    owners: Array  # int8 [H * W], 1 for a point that is the first player's in the end, -1 for the second's
    lost: Array  # int32, who has resigned or, in a game that was played out, would have; or nobody
    surprise: Array  # float32, how far the improved policy is from the prior (Kullback-Leibler divergence, in nats)


Begin: TypeAlias = Callable[[State, jax.Array], Lanes]
Play: TypeAlias = Callable[[Params, Lanes, State, jax.Array, jax.typing.ArrayLike], tuple[Lanes, Moves]]


def begin(plan: SelfPlay, starts: State, lanes: int, key: jax.Array) -> Lanes:
    """New games in all lanes. starts: first positions to choose from, stacked along the first axis."""
    return _new(plan, starts, lanes, key)


def play(
    plan: SelfPlay, params: Params, lanes: Lanes, starts: State, key: jax.Array, resign: jax.Array, moves: int
) -> tuple[Lanes, Moves]:
    """So many moves in every lane. resign: the value below which a player gives up. A pure function."""
    return lax.scan(
        lambda lanes, key: _move(plan, params, lanes, starts, key, resign), lanes, jax.random.split(key, moves)
    )


@functools.cache
def program(plan: SelfPlay, lanes: int, number: int, moves: int) -> tuple[Begin, Play]:
    """(:func:`begin` of (starts, key), :func:`play` of (params, lanes, starts, key, resign)), compiled for ``lanes``
    split over ``number`` devices, each with a key of its own."""
    split, whole = shard(number)
    each = lanes // number

    def own(key: jax.Array) -> jax.Array:
        return jax.random.fold_in(key, lax.axis_index(AXIS))

    def first(starts: State, key: jax.Array) -> Lanes:
        return begin(plan, starts, each, own(key))

    def further(params: Params, games: Lanes, starts: State, key: jax.Array, resign: jax.Array) -> tuple[Lanes, Moves]:
        return play(plan, params, games, starts, own(key), resign, moves)

    by_lane, by_move = split.spec, jax.sharding.PartitionSpec(None, *split.spec)
    mapped = functools.partial(spread, mesh=split.mesh)
    none = whole.spec
    return (
        jit(mapped(first, in_specs=(none, none), out_specs=by_lane), number > 1),
        jit(
            mapped(further, in_specs=(none, by_lane, none, none, none), out_specs=(by_lane, by_move)),
            number > 1,
        ),
    )


def starts_of(games: list[Game]) -> State:
    """The first positions of games that are compiled as one, stacked along the first axis."""
    states = [jax.tree.map(np.asarray, initial_state(game)) for game in games]
    return jax.tree.map(lambda *x: np.stack(x), *states)


def _new(plan: SelfPlay, starts: State, lanes: int, key: jax.Array) -> Lanes:
    which, how_long, whether, stubborn = jax.random.split(key, 4)
    number = jax.tree.leaves(starts)[0].shape[0]
    chosen = jax.random.randint(which, (lanes,), 0, number, jnp.int32)
    opening = jax.random.randint(how_long, (lanes,), 0, plan.opening + 1, jnp.int32)
    return Lanes(
        states=jax.tree.map(lambda x: jnp.asarray(x)[chosen], starts),
        ply=jnp.zeros(lanes, jnp.int32),
        opening=jnp.where(jax.random.bernoulli(whether, 0.5, (lanes,)), opening, 0),
        stubborn=jax.random.bernoulli(stubborn, plan.played_out, (lanes,)),
        losing=jnp.zeros((lanes, 2), jnp.int32),
        lost=jnp.full(lanes, NOBODY, jnp.int32),
    )


def divergence(policy: jax.Array, prior: jax.Array) -> jax.Array:
    """float32 [B]: that of a policy from a prior, [B, A] each."""
    policy, prior = (jnp.maximum(x, 1e-30) for x in (policy, prior))
    return jnp.maximum(jnp.sum(policy * (jnp.log(policy) - jnp.log(prior)), axis=-1), 0.0)


def _move(
    plan: SelfPlay, params: Params, lanes: Lanes, starts: State, key: jax.Array, resign: jax.Array
) -> tuple[Lanes, Moves]:
    game, size = plan.game, lanes.ply.shape[0]
    which, move_key, draw, new = jax.random.split(key, 4)
    temperature = jnp.where(lanes.ply < plan.temperature_plies, plan.temperature, 0.0)
    kept = jax.random.bernoulli(which, plan.share)

    def searched(simulations: int, noise: float) -> Callable:
        considered = max(2, min(16, simulations // 2))
        return lambda: plan.search(
            params,
            lanes.states,
            move_key,
            simulations=simulations,
            c=plan.c,
            temperature=temperature,
            noise=noise,
            alpha=10 / game.num_actions,
            considered=considered,
        )

    found = lax.cond(kept, searched(plan.full, plan.noise), searched(plan.fast, 0.0))
    logits = jnp.log(jnp.maximum(found.priors, 1e-30)) / plan.opening_temperature
    drawn = jax.random.categorical(draw, jnp.where(found.priors > 0, logits, -jnp.inf)).astype(jnp.int32)
    action = jnp.where(lanes.ply < lanes.opening, drawn, found.action)

    player = jax.vmap(game.current_player)(lanes.states)
    mine = player[:, None] == jnp.arange(2)
    thought_lost = (found.value < resign)[:, None] & (lanes.ply >= lanes.opening)[:, None]
    losing = jnp.where(mine, jnp.where(thought_lost, lanes.losing + 1, 0), lanes.losing)
    gives_up = jnp.any(mine & (losing >= BAD_MOVES), axis=-1)
    lost = jnp.where((lanes.lost == NOBODY) & gives_up, player, lanes.lost)
    after = jax.vmap(game.step)(lanes.states, action)
    ended = jax.vmap(game.is_terminal)(after)
    resigned = (lost != NOBODY) & ~lanes.stubborn & ~ended
    over = ended | resigned
    first = jax.vmap(game.returns)(after)[:, 0]
    result = jnp.where(resigned, jnp.where(lost == 0, -1.0, 1.0), first)
    points = game.height * game.width if game.counts_points else 0
    if points:
        margin = where_needed(over, jax.vmap(game.margin), after)
        owners = where_needed(over, jax.vmap(game.owners), after)
    else:
        margin, owners = jnp.zeros(size), jnp.zeros((size, 0), jnp.int8)
    moves = Moves(
        jax.vmap(game.without_history)(lanes.states), player, found.policy.astype(jnp.float16), found.value,
        kept & (lanes.ply >= lanes.opening), over, result, ended, margin, owners, lost,
        divergence(found.policy, found.priors),
    )  # fmt: skip

    def refilled(fresh: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(over.reshape(-1, *[1] * (old.ndim - 1)), fresh, old)

    going = Lanes(after, lanes.ply + 1, lanes.opening, lanes.stubborn, losing, lost)
    return jax.tree.map(refilled, _new(plan, starts, size, new), going), moves
