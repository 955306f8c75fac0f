"""A finished search, to be looked at: root statistics, the principal variation, the whole tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jubango.bots.search.tree.state import SearchState
from jubango.bots.search.tree.tree import (
    ACTION,
    CHILD,
    END,
    LOWER,
    OPEN,
    PARENT,
    PLAYER,
    UPPER,
    VALUE,
    VALUE_SUM,
    VISITS,
)
from jubango.sgf_games.compute.machine import row_of

ARRAYS = ("edges", "nodes", "kind", "bounds")  # of a tree


@dataclass(frozen=True)
class SearchTree:
    """Every node in the order in which it was made; the root is node 0. Arrays are [nodes]."""

    parent: np.ndarray  # int, -1 at the root
    action: np.ndarray  # int, the parent's action that leads here; -1 at the root
    visits: np.ndarray  # int, 1 + the children's visits; of an ended node the times it was met
    value: np.ndarray  # float, mean of all values backed up here, for the player to move at the node
    prior: np.ndarray  # float, the parent's prior of the action; 1 at the root
    raw_value: np.ndarray  # float, the evaluator's value, or the exact one, for the player to move
    player: np.ndarray  # int, to move
    depth: np.ndarray  # int, edges from the root
    ended: np.ndarray  # bool: the game is over, proved, or the depth limit reached
    lower: np.ndarray  # float, the least that a solver has proved for the player to move at the node; -1: nothing
    upper: np.ndarray  # float, the most; 1: nothing

    def __len__(self) -> int:
        return len(self.parent)

    def children(self, node: int) -> np.ndarray:
        """The nodes below ``node``, in the order in which they were made."""
        return np.flatnonzero(self.parent == node)


@dataclass(frozen=True)
class SearchResult:
    """What a search found. Values are in [-1, 1], for the player to move at the root."""

    visits: np.ndarray  # int [A]
    values: np.ndarray  # float [A], mean of each action, within what is proved of it; 0 where nothing is known
    priors: np.ndarray  # float [A], root noise included; 0 where illegal
    action: int  # the move to play
    value: float  # mean of all values at the root
    simulations: int
    seconds: float
    _fetch: Callable[[tuple[str, ...]], dict[str, np.ndarray]]  # these arrays of the tree

    @functools.cached_property
    def _edges(self) -> np.ndarray:
        return self._fetch(("edges",))["edges"]

    @functools.cached_property
    def tree(self) -> SearchTree:
        """Every node. Of an ensemble, the first tree."""
        return search_tree(self._fetch(ARRAYS))

    @property
    def variation(self) -> tuple[int, ...]:
        """The principal variation, ``action`` first."""
        return self.variation_of(self.action)

    def variation_of(self, action: int) -> tuple[int, ...]:
        """The principal variation that begins with ``action``: then the most visited action of every node."""
        return variation(self._edges, action)


def lane_of(s: SearchState, index: int, names: tuple[str, ...] = ARRAYS) -> dict[str, np.ndarray]:
    """Arrays of one tree on the host."""
    return {name: row_of(getattr(s.tree, name), index) for name in names}


def search_tree(lane: dict[str, np.ndarray]) -> SearchTree:
    """The nodes that can be reached from the root."""
    own_visits, value_sum, priors, child = np.moveaxis(lane["edges"][:, : CHILD + 1], 1, 0)
    own_visits, child = own_visits.astype(int), child.astype(int)
    words, kind = lane["nodes"], lane["kind"].astype(int)
    parent, action, player = words[:, PARENT].astype(int), words[:, ACTION].astype(int), kind >> PLAYER
    raw = words[:, VALUE].copy().view(np.float32)
    nodes = len(parent) - 1  # the last slot is a spare
    index = np.arange(nodes)
    linked = (child[parent[:nodes], action[:nodes]] == index) & (index > 0)
    depth = np.where(index == 0, 0, -1)
    level = 0
    while True:
        below = linked & (depth < 0) & (depth[np.minimum(parent[:nodes], nodes - 1)] == level)
        if not below.any():
            break
        level += 1
        depth[below] = level
    kept = np.flatnonzero(depth >= 0)
    place = np.full(nodes + 1, -1)
    place[kept] = np.arange(len(kept))
    up, act = parent[kept], action[kept]
    visits = own_visits[up, act]
    value = value_sum[up, act] / np.maximum(visits, 1)
    value = np.where(player[up] == player[kept], value, -value)
    prior = priors[up, act]
    visits[0] = 1 + own_visits[0].sum()
    value[0] = (raw[0] + value_sum[0].sum()) / visits[0]
    prior[0] = 1.0
    up, act = np.where(kept == 0, -1, place[up]), np.where(kept == 0, -1, act)
    ended = (kind[kept] & END) != OPEN
    lower, upper = np.full(len(kept), -1.0), np.full(len(kept), 1.0)
    if lane["bounds"].shape[-1]:
        lower, upper = (lane["bounds"][kept, row].max(axis=-1) for row in (LOWER, UPPER))
    return SearchTree(up, act, visits, value, prior, raw[kept], player[kept], depth[kept], ended, lower, upper)


def variation(edges: np.ndarray, first: int, longest: int = 60) -> tuple[int, ...]:
    """``first`` and then the most visited action of every node, while there are visits. edges: of one tree."""
    line, node = [first], int(edges[0, CHILD, first])
    while node >= 0 and len(line) < longest:
        visits = edges[node, VISITS]
        if not visits.any():
            break
        mean = edges[node, VALUE_SUM] / np.maximum(visits, 1)
        line.append(int(np.lexsort((-mean, -visits))[0]))
        node = int(edges[node, CHILD, line[-1]])
    return tuple(line)
