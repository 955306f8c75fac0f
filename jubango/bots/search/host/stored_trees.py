"""A search's trees as bytes, with which another process goes on, in the middle of a move too.

Nothing is rounded, so the same simulations follow. The bytes are zlib's, of the number of nodes and one array after the
other; of an array's words all first bytes come first, then all second ones, and so on.
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jubango.bots.search.tree.state import SearchState
from jubango.bots.search.tree.tree import ACTION, CHILD, PARENT
from jubango.sgf_games.compute.machine import gathered, row_of

NODES = struct.Struct("<I")
QUICK = 1  # of zlib's levels


def stored(s: SearchState, trees: Sequence[int]) -> bytes:
    """All there is of these trees but for the paths, which are those of a single step."""
    nodes = 1 + max(int(row_of(s.done, tree)) for tree in trees)  # a simulation makes one at most
    parts = [NODES.pack(nodes)]
    for array, of_nodes in _arrays(s):
        rows = np.stack([row_of(array, tree) for tree in trees])
        rows = rows[:, :nodes] if of_nodes else rows
        parts.append(rows.reshape(-1, 1).view(np.uint8).T.tobytes())
    return zlib.compress(b"".join(parts), QUICK)


def with_stored(s: SearchState, said: Mapping[tuple[int, ...], bytes]) -> tuple[SearchState, list[tuple[int, ...]]]:
    """(the state with these trees as they were :func:`stored`; those that stay as they are, as their bytes are not of
    such trees)."""
    own, structure = jax.tree.flatten(_of_trees(s))
    arrays = [np.array(gathered(array)) for array in own]
    of_nodes, wrong = [inside for _, inside in _arrays(s)], []
    for trees, data in said.items():
        found = _read(data, [(len(trees), *array.shape[1:]) for array in arrays], [x.dtype for x in arrays], of_nodes)
        if found is None or not _sound(jax.tree.unflatten(structure, found), *s.tree.edges.shape[1::2]):
            wrong.append(trees)
            continue
        for array, rows, inside in zip(arrays, found, of_nodes, strict=True):
            if inside:
                array[list(trees), : rows.shape[1]] = rows
            else:
                array[list(trees)] = rows
    placed = [jax.device_put(array, old.sharding) for array, old in zip(arrays, own, strict=True)]
    return s._replace(**jax.tree.unflatten(structure, placed)), wrong


def _of_trees(s: SearchState) -> OrderedDict[str, Any]:
    """All but the paths, the tree first."""
    return OrderedDict((name, array) for name, array in s._asdict().items() if name != "paths")


def _arrays(s: SearchState) -> list[tuple[jax.Array, bool]]:
    """(one, is its second axis that of nodes?)"""
    inside = len(jax.tree.leaves(s.tree))
    return [(array, i < inside) for i, array in enumerate(jax.tree.leaves(_of_trees(s)))]


def _read(
    data: bytes, shapes: Sequence[tuple[int, ...]], types: Sequence[np.dtype], of_nodes: Sequence[bool]
) -> list[np.ndarray] | None:
    """The arrays, of nodes as many as there are; None if that cannot be."""
    most = NODES.size + sum(int(np.prod(shape)) * kind.itemsize for shape, kind in zip(shapes, types, strict=True))
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(data, most + 1)
    except zlib.error:
        return None
    if not unpacking.eof or len(raw) < NODES.size:
        return None
    (nodes,), at, found = NODES.unpack_from(raw), NODES.size, []
    for shape, kind, inside in zip(shapes, types, of_nodes, strict=True):
        own = (shape[0], min(nodes, shape[1]), *shape[2:]) if inside else shape
        size = int(np.prod(own)) * kind.itemsize
        if at + size > len(raw):
            return None
        planes = np.frombuffer(raw, np.uint8, size, at).reshape(kind.itemsize, -1)
        found.append(np.ascontiguousarray(planes.T).view(kind).reshape(own))
        at += size
    return found if at == len(raw) else None


def _sound(found: Mapping[str, Any], nodes: int, actions: int) -> bool:
    """Do all indices lead to where there is something? ``nodes``: room for so many, the spare one included."""

    def within(numbers: np.ndarray, first: int, end: int) -> bool:
        return bool(((numbers >= first) & (numbers < end)).all())

    tree, table, spare = found["tree"], found["table"], nodes - 1
    return (
        within(tree.edges[:, :, CHILD], -1, spare)
        and within(tree.nodes[:, :, PARENT], 0, spare)
        and within(tree.nodes[:, :, ACTION], 0, actions)
        and within(found["done"], 0, spare)
        and within(found["wanted"], 0, spare)
        and (table is None or within(table.node, -1, spare))
    )
