"""The compiled search: its trees are split evenly among the machine's devices."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jubango.bots.search.search import Search
from jubango.sgf_games.machine import jit

VECTOR = 32  # lanes that one vector instruction of the rules handles


class Program(NamedTuple):
    """Compiled functions of :class:`Search`, and the trees they hold."""

    idle: Any
    begin: Any
    keep: Any
    stop: Any
    advance: Any
    trees: int
    sharding: NamedSharding  # of arrays with the trees first


def trees_for(leaves: int, trees: int) -> tuple[int, int]:
    """(devices to use, trees to hold) for at least ``trees`` trees of ``leaves`` lanes each.

    Every device gets whole vectors of lanes, since one that is not full is done lane by lane, and a
    small search stays on one device.
    """
    devices = len(jax.devices())
    lanes = trees * leaves
    if lanes <= VECTOR or trees == 1:
        devices = 1
    if lanes <= 2:
        return 1, trees
    per_device = -(-trees // devices)
    vector = -(-VECTOR // leaves)
    return devices, -(-per_device // vector) * vector * devices if trees > 1 else 1


@functools.cache
def program(search: Search, trees: int) -> Program:
    """Compile ``search`` for at least ``trees`` trees."""
    number, trees = trees_for(search.leaves, trees)
    mesh = Mesh(np.array(jax.devices()[:number]), ("trees",))
    split, whole = PartitionSpec("trees"), PartitionSpec()
    paths = PartitionSpec(None, "trees")

    shapes = jax.eval_shape(lambda: search.idle(trees))
    state = jax.tree.map(lambda _: split, shapes)._replace(paths=jax.tree.map(lambda _: paths, shapes.paths))
    places = functools.partial(jax.tree.map, lambda spec: NamedSharding(mesh, spec))

    def sharded(function: Any, in_specs: tuple, out_specs: Any) -> Any:
        mapped = jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
        return jit(mapped, in_shardings=places(in_specs), out_shardings=places(out_specs), donate_argnums=(0,))

    advance = sharded(search.advance, (state, whole), (state, split))

    @functools.lru_cache(maxsize=1024)
    def placed(steps: int) -> jax.Array:  # putting a number on all devices takes longer than a short chunk
        return jax.device_put(np.int32(steps), places(whole))

    return Program(
        idle=jit(lambda: search.idle(trees), out_shardings=places(state)),
        begin=sharded(search.begin, (state, *(split,) * 6), state),
        keep=sharded(search.keep, (state, split, split), (state, split)),
        stop=sharded(search.stop, (state, split), state),
        advance=lambda s, steps: advance(s, placed(int(steps))),
        trees=trees,
        sharding=places(split),
    )
