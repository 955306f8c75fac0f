"""Moves made on the devices: a tree that has its answer plays it and searches the next position by itself.

A hand-over to the host costs as much as a hundred steps of a quick game. Where both players are one bot's program, the
host gives the tie-breaks and the parameters of the next moves beforehand, and hears of the moves afterwards. The games
are those that it would have led itself: a tree waits for the host where the game ends, or its plan does.

Shape legend: B trees; A actions.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.lifecycle import NewRoots, begin, leading, root_statistics, working
from jubango.bots.search.packing import MOVES_UNASKED, SelfPlayPlan, number_names
from jubango.bots.search.passing import passes_late
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.rule import Rule
from jubango.bots.search.simulate import simulate
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.ties import drawn_on_device
from jubango.bots.search.tree.state import RootStatistics, SearchState
from jubango.bots.search.tree.tree import EXACT, PRIOR, child_of, end_of, pick, player_of, state_of
from jubango.sgf_games.compute.kernels import first_largest
from jubango.sgf_games.compute.loops import in_a_row
from jubango.sgf_games.compute.machine import suited
from jubango.sgf_games.rules.game import Game

# Finished trees wait for each other until the steps they have idled exceed this share of the live trees: starting new
# roots costs about as much.
LONGEST_SILENCE = 0.5


class DeviceMoves(NamedTuple):
    """What trees have played by themselves since the host looked."""

    number: jax.Array  # int32 [B]
    stuck: jax.Array  # bool [B], has an answer that only the host can play
    rows: jax.Array  # int32 [B, MOST_MOVES + 1, 5]: action, its visits, all visits, its value's and its prior's bits;
    # the last one is spare


class Advanced(NamedTuple):
    """What has become of trees."""

    found: RootStatistics[jax.Array]
    moves: DeviceMoves
    made: jax.Array  # int32 [B], simulations
    steps: jax.Array  # int32


def can_go_on(search: SearchSpec) -> bool:
    """Does a node say all that the next root needs, and is the most visited move all there is to choosing?"""
    plain = type(search.rule).final is Rule.final and not search.rule.prepares
    return (
        plain and not (search.width or search.solver or search.transpositions) and _remembers(search.game.compiled_as)
    )


@functools.cache
def _remembers(game: Game) -> bool:
    """Does :meth:`Game.without_history` leave everything that tells which moves are legal?"""
    first = jax.eval_shape(game.init)
    traced = jax.make_jaxpr(game.without_history)(first).jaxpr
    pairs = zip(traced.invars, traced.outvars, strict=True)
    lost = [i for i, (before, after) in enumerate(pairs) if before is not after and math.prod(before.aval.shape)]
    asking = jax.make_jaxpr(lambda state: (game.legal_action_mask(state), game.is_terminal(state)))(first).jaxpr
    asked = {id(x) for equation in asking.eqns for x in equation.invars}
    return not any(id(asking.invars[i]) in asked for i in lost)


def advance(
    search: SearchSpec, params: Params, s: SearchState, first_roots: NewRoots, plan: SelfPlayPlan, steps: jax.Array
) -> tuple[SearchState, Advanced]:
    """Begin what is ``first_roots``, then up to ``steps`` times :func:`simulate` (on accelerators the next multiple of
    ``suited().simulations``), in between the moves of ``plan``."""
    trees = s.done.shape[0]
    zero = jnp.zeros(trees, jnp.int32)
    none = DeviceMoves(zero, jnp.zeros(trees, bool), jnp.zeros((trees, MOVES_UNASKED + 1, 5), jnp.int32))
    by_itself, number = can_go_on(search), suited().simulations

    def waiting(s: SearchState, moves: DeviceMoves) -> jax.Array:
        if not by_itself:
            return jnp.zeros(trees, bool)
        return ~working(s) & (moves.number < plan.moves) & ~moves.stuck

    def turn(c: tuple) -> tuple:
        i, first, s, moves, made = c
        new_roots = first_roots
        if by_itself:
            # A branch of its own: what it reads is then read before anything is written over, and no tree copied.
            moves, new_roots = lax.cond(
                first, lambda: (moves, first_roots), lambda: _played(search, s, plan, moves, waiting(s, moves))
            )
        s = begin(search, s, new_roots)
        before, live = s.done, jnp.sum(working(s) | waiting(s, moves), dtype=jnp.int32)

        def going(c: tuple) -> jax.Array:
            i, s, lost = c
            return (i < steps) & jnp.any(working(s)) & (lost < LONGEST_SILENCE * live)

        def some(c: tuple) -> tuple:
            i, s, lost = c
            s = in_a_row(number, functools.partial(simulate, search, params))(s)
            return i + number, s, lost + number * jnp.sum(waiting(s, moves), dtype=jnp.int32)

        i, s, _ = lax.while_loop(going, some, (i, s, jnp.int32(0)))
        return i, jnp.bool_(False), s, moves, made + s.done - before

    def again(c: tuple) -> jax.Array:
        i, first, s, moves, _ = c
        return first | ((i < steps) & jnp.any(working(s) | waiting(s, moves)))

    i, _, s, moves, made = lax.while_loop(again, turn, (jnp.int32(0), jnp.bool_(True), s, none, zero))
    return s, Advanced(root_statistics(search, s), moves, made, i)


def _played(
    search: SearchSpec, s: SearchState, plan: SelfPlayPlan, moves: DeviceMoves, ready: jax.Array
) -> tuple[DeviceMoves, NewRoots]:
    """Play the moves of the trees that are ``ready``: (what has been played, what they begin with)."""
    b, tree = jnp.arange(ready.shape[0], dtype=jnp.int32), s.tree
    found = root_statistics(search, s)
    best = leading(found)
    now = jnp.minimum(moves.number, MOVES_UNASKED - 1)
    number = jnp.sum(best, axis=-1, dtype=jnp.int32)
    which = drawn_on_device(pick(plan.tie_bits, b, now), number) if search.ties == "random" else jnp.zeros_like(number)
    action = first_largest((jnp.cumsum(best, axis=-1) > which[:, None]).astype(jnp.int32))
    visits, value, prior = (pick(x, b, action) for x in (found.visits, found.value, found.prior))
    child = jnp.maximum(child_of(tree, b, jnp.zeros_like(b), action), 0)
    states = state_of(tree, b, child)
    legal, player = pick(tree.edges, b, child, PRIOR) > 0, player_of(tree, b, child)
    over = (end_of(tree, b, child) == EXACT) | ~jnp.any(legal, axis=-1)
    mask = ready & ~over & (visits > 0)
    if passes_late(search):
        mask &= action != search.game.pass_action  # the host looks whether it is too early
    bits = lax.bitcast_convert_type(jnp.stack([value, prior]), jnp.int32)
    row = jnp.stack([action, visits, jnp.sum(found.visits, axis=-1, dtype=jnp.int32), *bits], axis=-1)
    after = DeviceMoves(
        moves.number + mask,
        moves.stuck | (ready & ~mask),
        moves.rows.at[b, jnp.where(mask, now, MOVES_UNASKED)].set(row),
    )
    params = TracedParams(
        simulations=pick(plan.simulations, b, player),
        depth=pick(plan.depth, b, player),
        noise=jnp.zeros(ready.shape, jnp.float32),
        dirichlet=jnp.zeros(best.shape, jnp.float32),
        own={name: pick(plan.real, b, i, player) for i, name in enumerate(number_names(search))},
        prepared=s.params.prepared,
    )
    return after, NewRoots(mask, jnp.zeros_like(mask), states, legal, params, pick(plan.seeds, b, now + 1))
