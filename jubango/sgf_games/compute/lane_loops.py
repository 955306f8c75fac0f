"""Loops and branches over lanes, of elementwise code: on a CPU they end when all lanes have ended; on a GPU they are
part of one kernel, and each block of lanes ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jubango.sgf_games.compute import machine
from jubango.sgf_games.compute.kernels import batch_is_lanes, in_pallas, lane_of
from jubango.sgf_games.compute.loops import alike, times, while_loop
from jubango.sgf_games.compute.pallas_kernels import repeated, repeated_between

R = TypeVar("R")
S = TypeVar("S")
Ts = TypeVarTuple("Ts")


def one_kernel(step: Callable[[S], tuple[S, jax.Array]], start: S, live: jax.Array) -> S:
    """Repeat elementwise ``step(state) -> (state, live)`` while any lane of its block is live, as one kernel; for where
    :func:`in_pallas` says yes. A lane may go on after it has ended; that must not change what matters of it."""
    leaves, tree = jax.tree.flatten(start)

    def flat(*values: jax.Array) -> list[jax.Array]:
        state, live = step(jax.tree.unflatten(tree, values))
        return [*jax.tree.leaves(state), live]

    @custom_vmap
    def run(live: jax.Array, *values: jax.Array) -> list[jax.Array]:
        shape = jnp.broadcast_shapes(*[x.shape for x in (live, *values)])
        first = [jnp.broadcast_to(x, shape) for x in values]
        return repeated(lane_of(flat, first), first, jnp.broadcast_to(live, shape))

    run.def_vmap(batch_is_lanes(run))
    return jax.tree.unflatten(tree, run(live, *leaves))


def while_live(step: Callable[[S], S], live: Callable[[S], jax.Array], start: S, whole: bool) -> S:
    """Repeat elementwise ``step`` while any lane is ``live``; ``whole``: as one kernel, see :func:`one_kernel`."""
    if not whole:
        return while_loop(lambda state: jnp.any(live(state)), turn(step), start)

    def further(state: S) -> tuple[S, jax.Array]:
        after = step(state)
        return after, live(after)

    return one_kernel(further, start, live(start))


# Of two kernels a turn JAX before 0.7.1 vectorises the first alone, which makes random games ten times as slow.
STEPS_A_TURN = 2 if jax.__version_info__ >= (0, 7, 1) else 1


def turn(step: Callable[[S], S]) -> Callable[[S], S]:
    """STEPS_A_TURN steps as one turn of a loop, where a step is a kernel.

    A kernel's results never lie where its arguments do, so a loop of one kernel a turn copies every array back;
    the second step's results take the places of the first one's arguments.
    """
    return times(STEPS_A_TURN, step)


def repeat(number: int, step: Callable[[S], S], start: S) -> S:
    """So many times elementwise ``step``, an even number; on a GPU as one kernel."""
    if not in_pallas():
        return lax.fori_loop(0, number // STEPS_A_TURN, lambda _, state: turn(step)(state), start)

    def further(carry: tuple[S, jax.Array]) -> tuple[tuple[S, jax.Array], jax.Array]:
        state, left = carry
        return (step(state), left - 1), left > 1

    left = jnp.full(jax.tree.leaves(start)[0].shape, number, jnp.int32)
    return one_kernel(further, (start, left), left > 0)[0]


def until_settled(step: Callable[[*Ts], tuple[tuple[*Ts], jax.Array]], unsettled: jax.Array, *start: *Ts) -> tuple[*Ts]:
    """Repeat elementwise ``step(*state) -> (state, unsettled)`` while any lane is ``unsettled``.

    Under ``vmap`` all lanes share one loop, so a lane may go on after it has settled; that must not
    change what matters of it.
    """
    leaves, tree = jax.tree.flatten(start)

    def flat(*values: jax.Array) -> list[jax.Array]:
        state, unsettled = step(*jax.tree.unflatten(tree, values))
        return [*jax.tree.leaves(state), unsettled]

    @custom_vmap
    def run(unsettled: jax.Array, *values: jax.Array) -> list[jax.Array]:
        def body(carry: tuple) -> tuple:
            state, unsettled = step(*jax.tree.unflatten(tree, carry[0]))
            return jax.tree.leaves(state), jnp.any(unsettled)

        shape = jnp.broadcast_shapes(*[x.shape for x in values])
        first = [jnp.broadcast_to(x, shape) for x in values]
        if in_pallas():
            return repeated(lane_of(flat, first), first, jnp.broadcast_to(unsettled, shape))
        return while_loop(lambda c: c[1], body, (first, jnp.any(unsettled)))[0]

    run.def_vmap(batch_is_lanes(run))
    return jax.tree.unflatten(tree, run(unsettled, *leaves))


def settled(
    begin: Callable[..., tuple[tuple[*Ts], jax.Array]], step: Callable[[*Ts], tuple[tuple[*Ts], jax.Array]],
    finish: Callable[[*Ts], R], *args: object,
) -> R:  # fmt: skip
    """``finish(*state)`` of what :func:`until_settled` makes of ``begin(*args) -> (state, unsettled)``, all of it
    elementwise; on a GPU as one kernel."""
    if not in_pallas():
        state, unsettled = begin(*args)
        return finish(*until_settled(step, unsettled, *state))
    leaves, tree = jax.tree.flatten(args)
    trees: list[Any] = []  # of the state, of the result

    def begun(*values: jax.Array) -> list[jax.Array]:
        state, unsettled = begin(*jax.tree.unflatten(tree, values))
        trees[:] = [jax.tree.structure(state)]
        return [*jax.tree.leaves(state), unsettled]

    def further(*values: jax.Array) -> list[jax.Array]:
        state, unsettled = step(*jax.tree.unflatten(trees[0], values))
        return [*jax.tree.leaves(state), unsettled]

    def finished(*values: jax.Array) -> list[jax.Array]:
        out, result = jax.tree.flatten(finish(*jax.tree.unflatten(trees[0], values)))
        trees[1:] = [result]
        return out

    @custom_vmap
    def run(*values: jax.Array) -> list[jax.Array]:
        shape = jnp.broadcast_shapes(*[x.shape for x in values])
        first = [jnp.broadcast_to(x, shape) for x in values]
        lane = lane_of(begun, first)
        state = jax.eval_shape(lane, *[jax.ShapeDtypeStruct((), x.dtype) for x in first])[:-1]
        return repeated_between(lane, lane_of(further, state), lane_of(finished, state), first)

    run.def_vmap(batch_is_lanes(run))
    out = run(*leaves)
    return jax.tree.unflatten(trees[1], out)


def where_needed(needed: jax.Array, function: Callable[[*Ts], R], *args: *Ts) -> R:
    """``function(*args)``, computed only if any lane needs it, else zeros. On accelerators it is always computed.

    ``function`` must treat its lanes alike, whatever their shape, and a lane that does not need it must
    not care which it gets. Under ``vmap`` all lanes share one decision.
    """
    if not machine.suited().skips:
        return function(*args)
    leaves, tree = jax.tree.flatten(args)
    out_tree: Any = None

    @custom_vmap
    def run(needed: jax.Array, *values: jax.Array) -> list[jax.Array]:
        nonlocal out_tree

        def compute(*values: jax.Array) -> list[jax.Array]:
            nonlocal out_tree
            out, out_tree = jax.tree.flatten(function(*jax.tree.unflatten(tree, values)))
            return alike(out, values)

        shapes = jax.eval_shape(compute, *values)

        def nothing(*values: jax.Array) -> list[jax.Array]:
            return alike([jnp.zeros(x.shape, x.dtype) for x in shapes], values)

        return lax.cond(jnp.any(needed), compute, nothing, *values)

    run.def_vmap(batch_is_lanes(run))
    out = run(needed, *leaves)
    return jax.tree.unflatten(out_tree, out)
