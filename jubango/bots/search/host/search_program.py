"""The compiled programs of searches: made once for each search and number of trees, and shared by all drivers."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.judgement import look_at
from jubango.bots.search import lifecycle
from jubango.bots.search.host import device_selfplay
from jubango.bots.search.packing import (
    PreparedRoots,
    nothing_prepared,
    pack,
    read_script,
    script_words,
    unpack,
)
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.node_states import words_of_lanes
from jubango.bots.search.tree.state import SearchState
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import debugging, device_layout, devices, shard, split_last, spread
from jubango.sgf_games.compute.programs import Compiled, P, R, jit
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.game import State

MOST_KEPT = 2**25  # bytes of trees that a program keeps between two drivers
MOST_PROGRAMS = 40  # a compiled search takes up to 1,200 of the 65,530 memory maps that Linux gives a process


class SearchProgram(NamedTuple):
    """Compiled functions of :mod:`jubango.bots.search.lifecycle` for so many trees, split evenly among devices."""

    idle: Compiled[[], SearchState]
    run_chunk: Compiled[..., tuple[SearchState, jax.Array, jax.Array, jax.Array]]
    keep: Compiled[..., tuple[SearchState, jax.Array]]
    trees: int
    sharding: NamedSharding  # of arrays with the trees first
    roots: State  # shardings of states, trees last
    whole: NamedSharding  # of what every device has
    nothing: PreparedRoots  # of trees that nobody has asked for
    none: jax.Array  # bool [trees], all False
    no_script: jax.Array  # uint32 [trees, script_words(search)], of trees that make no moves by themselves
    pace: dict[Hashable, float]  # seconds a step, of each kind of weights it has run with
    spare: list[SearchState]  # the trees of a driver that has been closed, for the next
    shapes: SearchState  # of the trees, with their shardings
    ahead: set[Hashable]  # kinds of weights for which it has been compiled ahead


_programs: OrderedDict[tuple[SearchSpec, int, bool], SearchProgram] = OrderedDict()


def program(search: SearchSpec, trees: int) -> SearchProgram:
    """The program of ``search`` for at least ``trees`` trees; those used longest ago are let go."""
    number = search.devices
    if number > len(devices()):
        raise UserError(f"devices={number}: there are {len(devices())} on this machine")
    if number == 1:
        number, trees = device_layout(trees, search.leaves, search.evaluator.saturating_batch)
    search = replace(search, game=search.game.compiled_as)
    key = search, trees, debugging()
    if key not in _programs:
        while len(_programs) >= MOST_PROGRAMS:
            _, old = _programs.popitem(last=False)
            for compiled in (old.idle, old.run_chunk, old.keep):
                compiled.free()
            old.spare.clear()
        _programs[key] = _compile(search, number, trees)
    _programs.move_to_end(key)
    return _programs[key]


def _compile(search: SearchSpec, number: int, trees: int) -> SearchProgram:
    sharding, whole = shard(number)
    sharding = whole if search.devices > 1 else sharding  # each has all trees
    split, all_of_it = sharding.spec, whole.spec
    last = (lambda rank: all_of_it) if search.devices > 1 else split_last

    def run_chunk(
        s: SearchState, params: Params, states: State, packed: jax.Array, script: jax.Array,
        prepared: PreparedRoots, kept: jax.Array, steps: jax.Array,
    ) -> tuple[SearchState, jax.Array, jax.Array, jax.Array]:  # fmt: skip
        """Do as told, then advance. Returns also (done, remaining, made now, moves made, steps made), int32 [B, 5],
        the moves, and the statistics."""
        unpacked = unpack(search, packed, prepared)
        s = lifecycle.stop(s, unpacked.stop)
        roots = jax.vmap(search.game.without_history, in_axes=-1, out_axes=-1)(states)
        new_roots = lifecycle.NewRoots(
            unpacked.begin,
            kept & unpacked.begin,
            words_of_lanes(roots, search.game),
            unpacked.legal,
            unpacked.params,
            unpacked.seed,
        )
        s, now = device_selfplay.advance(search, params, s, new_roots, read_script(search, script), steps)
        found, taken = now.found, jnp.broadcast_to(now.steps, s.done.shape)
        progress = jnp.stack([found.done, found.remaining, now.made, now.moves.number, taken], axis=-1)
        visits = jax.lax.bitcast_convert_type(found.visits, jnp.float32)
        bounds = found.bounds.reshape(found.bounds.shape[0], -1)
        columns = [visits, found.value, found.prior, bounds, found.final, found.utility]
        columns += [found.mean[:, None], found.raw[:, None]]
        return s, progress, now.moves.rows, jnp.concatenate(columns, axis=-1)

    shapes = jax.eval_shape(lambda: lifecycle.idle(search, trees))
    state = jax.tree.map(lambda _: split, shapes)._replace(paths=last(shapes.paths.ndim))
    places = functools.partial(jax.tree.map, lambda spec: NamedSharding(sharding.mesh, spec))

    def sharded(name: str, function: Callable[P, R], in_specs: tuple[object, ...], out_specs: object) -> Compiled[P, R]:
        mapped = spread(function, sharding.mesh, in_specs, out_specs)
        return jit(
            mapped,
            number > 1,
            (name, search, trees),
            in_shardings=places(in_specs),
            out_shardings=places(out_specs),
            donate_argnums=(0,),
        )

    roots = jax.tree.map(lambda x: last(x.ndim + 1), jax.eval_shape(search.game.init))
    return SearchProgram(
        idle=jit(lambda: lifecycle.idle(search, trees), parts=("idle", search, trees), out_shardings=places(state)),
        run_chunk=sharded(
            "run_chunk", run_chunk,
            (state, all_of_it, roots, split, split, split, split, all_of_it), (state, split, split, split),
        ),
        keep=sharded("keep", lifecycle.keep, (state, split, split), (state, split)),
        trees=trees,
        sharding=sharding,
        roots=places(roots),
        whole=whole,
        nothing=jax.device_put(nothing_prepared(search, trees), sharding),
        none=jax.device_put(np.zeros(trees, bool), sharding),
        no_script=jax.device_put(np.zeros((trees, script_words(search)), np.uint32), sharding),
        pace={},
        spare=[],
        shapes=jax.tree.map(_placed, shapes, places(state)),
        ahead=set(),
    )  # fmt: skip


def _placed(x: jax.ShapeDtypeStruct, sharding: NamedSharding, *more: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((*x.shape, *more), x.dtype, weak_type=x.weak_type, sharding=sharding)


def compile_ahead(
    search: SearchSpec, lanes: int, ensemble: int, params: Params, reuse: bool, aside: Executor
) -> None:  # fmt: skip
    """Trace the program of a :class:`Driver` with such arguments, and compile it in ``aside``. Raises UserError for a
    user's evaluator that is not as it should be."""
    made, kind = program(search, lanes * ensemble), kind_of(params, ensemble, reuse)
    if kind in made.ahead or kind in made.pace:
        return
    check(search, params)
    first = jax.eval_shape(search.game.init)
    states = jax.tree.map(lambda x, place: _placed(x, place, made.trees), first, made.roots)
    weights = jax.tree.map(lambda x: _placed(x, made.whole), _shapes(params))
    packed, steps = pack(search, (), np.zeros(0, int), made.trees, ensemble), np.int32(0)
    made.run_chunk.ahead(
        aside, made.shapes, weights, states, packed, made.no_script, made.nothing, made.none, steps
    )  # fmt: skip
    made.idle.ahead(aside)
    if reuse:
        made.keep.ahead(aside, made.shapes, *no_lines(made.trees))
    made.ahead.add(kind)


def check(search: SearchSpec, params: Params) -> None:
    """Look at what a user's evaluator says of the first position."""
    if not search.evaluator.trusted:
        first = search.game.without_history(jax.device_get(initial_state(search.game)))
        look_at(search.evaluator, params, search.game, jax.tree.map(lambda x: np.asarray(x)[..., None], first))


def kind_of(params: Params, ensemble: int, reuse: bool) -> Hashable:
    """What else decides how fast a program runs, and what of it."""
    leaves, tree = jax.tree.flatten(_shapes(params))
    return tree, tuple(leaves), ensemble, reuse


def _shapes(params: Params) -> Params:
    """As they are on a device."""
    return jax.eval_shape(lambda own: own, params)


def no_lines(trees: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(trees, bool), np.full((trees, LONGEST_KEPT_LINE), -1, np.int32)


def aligned(states: State, program: SearchProgram, ensemble: int) -> State:
    """The states as the program takes them: one for each tree, last axis, spread over its devices."""
    first, place = jax.tree.leaves(states)[0], jax.tree.leaves(program.roots)[0]
    if ensemble == 1 and first.shape[-1] == program.trees:
        return states if getattr(first, "sharding", None) == place else jax.device_put(states, program.roots)
    if isinstance(first, jax.Array) and first.committed and first.sharding.device_set != place.device_set:
        states = jax.device_get(states)  # a small table lies on fewer devices than its trees
    places, tree = jax.tree.flatten(program.roots)
    return _aligner(tuple(places), tree, ensemble, program.trees)(states)


@functools.lru_cache(maxsize=64)
def _aligner(
    places: tuple[NamedSharding, ...], tree: jax.tree_util.PyTreeDef, ensemble: int, trees: int
) -> Compiled[[State], State]:
    def align(states: State) -> State:
        def one(x: jax.Array) -> jax.Array:
            x = jnp.repeat(x, ensemble, axis=-1)[..., :trees]
            return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, trees - x.shape[-1])])

        return jax.tree.map(one, states)

    return jit(align, out_shardings=jax.tree.unflatten(tree, places))
