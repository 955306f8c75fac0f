"""The compiled forms of a game's rules, made once per game and shared by everybody.

Programs are made for ``game.compiled_as``; first positions, of the game itself, are arguments of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from jubango.sgf_games.compute.kernels import in_pallas
from jubango.sgf_games.compute.lane_loops import where_needed
from jubango.sgf_games.compute.machine import claim, device_layout, shard, split_last, spread
from jubango.sgf_games.compute.programs import Compiled, jit
from jubango.sgf_games.compute.reduction_check import agrees
from jubango.sgf_games.rules.game import Game, State

Array = TypeVar("Array", jax.Array, np.ndarray)


class View(NamedTuple, Generic[Array]):
    """What the host needs to know of positions; arrays have the batch first, if there is one."""

    legal: Array  # bool [A]
    player: Array  # int32
    terminal: Array  # bool
    returns: Array  # float32 [num_players]


class Rules(NamedTuple):
    """Compiled functions of one game."""

    step: Callable[..., State]  # of (state, action), the action an int or an array
    view: Callable[[State], View[jax.Array]]
    step_lanes: Callable[..., State]
    view_lanes: Callable[[State], View[jax.Array]]


def rules(game: Game) -> Rules:
    """``step`` and ``view`` take one state, the others a batch of them, batch axis last."""
    claim()
    return _rules(game.compiled_as)


@functools.lru_cache(maxsize=32)  # what is let go frees its programs
def _rules(game: Game) -> Rules:
    return Rules(
        step=_untied(jit(game.step, parts=("step", game))),
        view=jit(functools.partial(_view, game), parts=("view", game)),
        step_lanes=jit(jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)),
        view_lanes=lambda states: _view_program(game, jax.tree.leaves(states)[0].shape[-1])(states),
    )


def _untied(program: Callable[..., State]) -> Callable[..., State]:
    """Exported programs return arrays that are committed to one device. Copy them through the host, so that the state
    can be used on any device."""

    def free(*args: State | jax.Array | int) -> State:
        state = program(*args)
        tied = any(x.committed for x in jax.tree.leaves(state))
        return jax.device_put(jax.tree.map(np.asarray, state)) if tied else state

    return free


def _view(game: Game, state: State) -> View[jax.Array]:
    return View(
        game.legal_action_mask(state),
        game.current_player(state),
        game.is_terminal(state),
        game.returns(state),
    )


@functools.lru_cache(maxsize=32)  # by the number of lanes, of which a long life sees many
def _view_program(game: Game, lanes: int) -> Callable[[State], View[jax.Array]]:
    return jit(jax.vmap(functools.partial(_view, game), in_axes=-1), parts=("view of lanes", game))


LEAVE, FRESH = -1, -2  # what a lane can be told besides an action
MOVES_A_STEP = 17  # moves of a lane in one step


class TableProgram(NamedTuple):
    """Compiled rules of a table of lanes, split over devices."""

    first: Callable[[], State]
    step: Callable[[State, np.ndarray, np.bool_], tuple[State, jax.Array, jax.Array]]
    ahead: Callable[[Executor], None]  # trace step, and compile it in an executor


def table_program(game: Game, lanes: int, number: int) -> TableProgram:
    """``first() -> states`` and ``step(states, told, restart) -> (states, look, margin)`` of ``lanes`` lanes, batch
    axis last, split over ``number`` devices.

    told: int32 [MOVES_A_STEP, lanes] of actions, one after another, then LEAVE (the lane stays), or FRESH at first (a
        new game begins). It may be written to as soon as the call is back: the devices have a copy.
    restart: whether a new game also begins where one ends.

    ``look`` is uint8 [lanes, A + 2]: the legal actions, the player to move, whether a game has ended. ``margin`` is
    float32 [lanes], of games that have ended.
    """
    places, step = _table_program(game.compiled_as, lanes, number)
    start = jax.device_put(initial_state(game), shard(number)[1])

    def ahead(aside: Executor) -> None:
        shapes = jax.tree.map(
            lambda x, place: jax.ShapeDtypeStruct((*x.shape, lanes), x.dtype, sharding=place), start, places
        )
        step.ahead(aside, shapes, np.full((MOVES_A_STEP, lanes), LEAVE, np.int32), np.bool_(False), start)

    return TableProgram(
        first=lambda: jax.device_put(_repeated(game, lanes), places),
        step=lambda states, told, restart: step(states, told.copy(), restart, start),
        ahead=ahead,
    )


@functools.lru_cache(maxsize=32)
def _table_program(
    game: Game, lanes: int, number: int
) -> tuple[State, Compiled[..., tuple[State, jax.Array, jax.Array]]]:
    """(the shardings of states, the step of :class:`TableProgram`, which takes the game's first position as well)."""
    split, all_of_it = shard(number)
    specs = jax.tree.map(lambda x: split_last(x.ndim + 1), jax.eval_shape(game.init))
    places = jax.tree.map(lambda spec: NamedSharding(split.mesh, spec), specs)
    rows = NamedSharding(split.mesh, split_last(2))

    def step(
        states: State, told: jax.Array | np.ndarray, restart: jax.Array | np.bool_, start: State
    ) -> tuple[State, jax.Array, jax.Array]:
        def chosen(where: jax.Array, first: State, others: State) -> State:
            return jax.tree.map(lambda one, other: jnp.where(where, one[..., None], other), first, others)

        def move(carry: tuple[jax.Array, State]) -> tuple[jax.Array, State]:
            i, states = carry
            action = lax.dynamic_index_in_dim(told, i, keepdims=False)
            stepped = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(states, jnp.maximum(action, 0))
            return i + 1, jax.tree.map(lambda new, old: jnp.where(action >= 0, new, old), stepped, states)

        moves = jnp.sum(jnp.any(told >= 0, axis=1), dtype=jnp.int32)
        _, moved = lax.while_loop(lambda carry: carry[0] < moves, move, (jnp.int32(0), states))
        over = jax.vmap(game.is_terminal, in_axes=-1)(moved) & (told[0] >= 0)
        margin = where_needed(over, jax.vmap(game.margin, in_axes=-1), moved)
        states = chosen((over & restart) | (told[0] == FRESH), start, moved)
        legal, player = (jax.vmap(f, in_axes=-1)(states) for f in (game.legal_action_mask, game.current_player))
        look = jnp.concatenate([legal, player[:, None], over[:, None]], axis=-1).astype(jnp.uint8)
        return states, look, margin

    in_specs = (specs, rows.spec, all_of_it.spec, all_of_it.spec)
    mapped = spread(step, split.mesh, in_specs, (specs, split.spec, split.spec))
    whole = (places, rows, all_of_it, all_of_it)
    return places, jit(
        mapped, number > 1, ("table", game, lanes, number), in_shardings=whole, out_shardings=(places, split, split)
    )


@functools.cache
def initial_state(game: Game) -> State:
    """``game.init()``, compiled unless numbers of this game alone would be part of the program."""
    claim()
    return (jit(game.init) if game.compiled_as == game else game.init)()


def initial_states(game: Game, lanes: int) -> State:
    """A batch of first positions, batch axis last."""
    return jax.device_put(_repeated(game, lanes))


def _repeated(game: Game, lanes: int) -> State:
    """First positions on the host."""
    return jax.tree.map(lambda x: np.repeat(np.asarray(x)[..., None], lanes, axis=-1), initial_state(game))


def stacked(states: Sequence[State]) -> State:
    """A batch of unbatched states, batch axis last, on the host; the first fills it up to as many lanes as a table or
    a search would hold, so that few programs do for all numbers of states."""
    spare = device_layout(len(states))[1] - len(states)
    shape = jax.tree.structure(states[0])
    columns = zip(*[map(np.asarray, jax.tree.leaves(state)) for state in states], strict=True)
    batched = [np.moveaxis(np.array([*own, *own[:1] * spare]), 0, -1) for own in columns]
    return jax.tree.unflatten(shape, [np.ascontiguousarray(x) for x in batched])


def view_of(game: Game, states: Sequence[State]) -> View[np.ndarray]:
    """What the host needs to know of unbatched ``states``, which are looked at all at once; batch axis first."""
    if len(states) == 1:  # by the program that whoever goes from one position to the next has anyway
        return View(*(np.asarray(x)[None] for x in rules(game).view(states[0])))
    view: View[jax.Array] = rules(game).view_lanes(stacked(states))
    return View(*(np.asarray(x)[: len(states)] for x in view))


def prepare(game: Game) -> None:
    """Have the programs with which one goes from a position to the next."""
    start = initial_state(game)
    rules(game).step(start, int(view_of(game, [start]).legal[0].argmax()))


def plays_in_one_kernel(game: Game, play: Callable[..., object]) -> bool:
    """Is ``play(game, states, seeds, whole)`` to play random games as one kernel, ``whole``? On a GPU, where that finds
    what it does move after move on this machine's CPU."""
    return in_pallas() and _one_kernel_agrees(game, play)


@functools.cache
def _one_kernel_agrees(game: Game, play: Callable[..., object]) -> bool:
    def ends(whole: bool, seeds: jax.Array) -> object:
        states = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, seeds.shape[0])), game.init())
        return play(game, states, seeds, whole)

    whole, plain = functools.partial(ends, True), functools.partial(ends, False)
    return agrees(f"playout of {game.spec}", inspect.getfile(play), whole, plain, np.arange(64, dtype=np.uint32))
