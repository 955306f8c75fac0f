"""What a compiled search is told between two chunks: one packed array, so that handing it over is one transfer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.search.rules.params import SearchParams, TracedParams
from jubango.bots.search.rules.root_noise import SeededNoise
from jubango.bots.search.rules.rule import numbers_of
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.ties import tie_break_bits
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.sgf_games.rules.compiled import MOVES_A_STEP

BEGIN, STOP = 1, 2
WHOLE_WORDS = 4  # words of an order that are whole numbers: flags, seed, simulations, depth
MOVES_UNASKED = MOVES_A_STEP - 1  # that a tree makes by itself between two hand-overs
SEEDS = MOVES_UNASKED + 1  # of the search under way and those after the moves
TAIL = 2 * SEEDS  # the last words of a script: seeds and tie-breaks


WORD_TYPES = {"f": np.float32, "i": np.int32, "u": np.uint32, "b": bool}


class DeviceSelfPlay(NamedTuple):
    """What a tree needs to make moves by itself, once both players are its own."""

    params: tuple[SearchParams, SearchParams]  # by the player to move; without noise
    seeds: Callable[[int], int]  # uint32, of this search (0) and those after 1, 2, ... more moves


class SearchRequest(NamedTuple):
    """Search the position of one lane."""

    lane: int
    legal: np.ndarray  # bool [A], exact at the root
    params: SearchParams  # of each of the lane's trees
    seed: int  # uint32, all the randomness there is
    deadline: float = float("inf")  # time.perf_counter() when it must be content with what it has
    latest: float = 0.0  # when it must be so even if it is open what to play, if that is after the deadline
    line: Sequence[int] | None = None  # moves since its trees' last root: keep what is below them
    # Most visits decide, without chance: with a deadline it ends once no move can become another; else it goes on then,
    # until the latest, if it is open which move it will be.
    settles: bool = False
    onward: DeviceSelfPlay | None = None  # then the tree goes on with the game by itself; of lanes of one tree
    resumed: bool = False  # the lane's trees are at it already: see Driver.restore


def after(earlier: SearchRequest | None, order: SearchRequest) -> SearchRequest:
    """The order that takes the place of one of the same lane which has not begun: its line is from where the trees
    are."""
    if earlier is None or order.line is None:
        return order
    line = [*earlier.line, *order.line] if earlier.line else []
    return order._replace(line=line if 0 < len(line) <= LONGEST_KEPT_LINE else None)


class PreparedRoots(NamedTuple):
    """What is drawn and planned of roots before their first simulation; trees first."""

    dirichlet: Any  # float32 [B, A]
    rule: Any  # what the rule's prepare_root has made


def number_names(search: SearchSpec) -> tuple[str, ...]:
    """The numbers that are handed over beside the simulations, the depth and the noise."""
    return tuple(own.name for own in numbers_of(type(search.rule)))


def words(search: SearchSpec) -> int:
    """Words of an order before those of the legal actions: the whole numbers, those of the rule, and the noise."""
    return WHOLE_WORDS + len(number_names(search)) + 1


def script_head(search: SearchSpec) -> int:
    """Words of a script before its seeds: moves; of either player simulations, depth and the rule's numbers."""
    return 5 + 2 * len(number_names(search))


def script_words(search: SearchSpec) -> int:
    return script_head(search) + TAIL


def trees_of(orders: Sequence[SearchRequest], ensemble: int) -> np.ndarray:
    """int [orders * ensemble]: the trees that work on each, side by side."""
    lanes = np.array([order.lane for order in orders], int)
    return (lanes[:, None] * ensemble + np.arange(ensemble)).reshape(-1)


def seeds_of(orders: Sequence[SearchRequest], ensemble: int) -> np.ndarray:
    """uint32 [orders * ensemble]: the seeds of the trees that work on each, side by side.

    The first tree of a lane has the lane's seed. Those of the others are hashed from it, so that no two trees share
    random numbers.
    """
    first = np.array([order.seed for order in orders], np.uint32)[:, None]
    if ensemble == 1:
        return first.reshape(-1)
    others = [np.random.SeedSequence(order.seed).generate_state(ensemble - 1) for order in orders]
    return np.concatenate([first, np.array(others, np.uint32)], axis=1).reshape(-1)


def pack(
    search: SearchSpec, orders: Sequence[SearchRequest], stop: np.ndarray, trees: int, ensemble: int
) -> np.ndarray:
    """uint32 [trees, words(search) + ceil(A / 32)]; the inverse of :func:`unpack`. stop: int, trees to be content."""
    actions, head = search.game.num_actions, words(search)
    out = np.zeros((trees, head + -(-actions // 32)), np.uint32)
    out[stop, 0] = STOP
    if not orders:
        return out
    at = trees_of(orders, ensemble)
    legal = np.zeros((len(orders), 32 * -(-actions // 32)), bool)
    legal[:, :actions] = np.concatenate([order.legal for order in orders]).reshape(-1, actions)
    kinds = {id(order.params): order.params for order in orders}  # fewer than orders, where these share them
    rows = dict(zip(kinds, range(len(kinds)), strict=True))
    numbers = np.zeros((len(kinds), head - 2), np.uint32)
    numbers[:, 0] = [n.simulations for n in kinds.values()]
    numbers[:, 1] = [n.depth or 2**30 for n in kinds.values()]
    real = [*_real(search, list(kinds.values())), [n.noise for n in kinds.values()]]
    numbers[:, 2:] = np.array(real, np.float32).T.view(np.uint32)
    kind = np.repeat([rows[id(order.params)] for order in orders], ensemble)
    out[at, 0] = BEGIN
    out[at, 1] = seeds_of(orders, ensemble)
    out[at, 2:head] = numbers[kind]
    out[at, head:] = np.repeat(np.packbits(legal, axis=1, bitorder="little").view("<u4"), ensemble, axis=0)
    return out


def _real(search: SearchSpec, each: Sequence[SearchParams]) -> list[list[float]]:
    """The rule's numbers, each of everybody's."""
    return [[one.own.get(own.name, own.default) for one in each] for own in numbers_of(type(search.rule))]


class SelfPlayPlan(NamedTuple):
    """The moves that trees may make by themselves; trees first, then the player to move."""

    moves: jax.Array  # int32 [B]
    simulations: jax.Array  # int32 [B, 2]
    depth: jax.Array  # int32 [B, 2]
    real: jax.Array  # float32 [B, numbers of the rule, 2]
    seeds: jax.Array  # uint32 [B, SEEDS]
    tie_bits: jax.Array  # uint32 [B, SEEDS], between equal moves of each search


def scripts_of(search: SearchSpec, each: Sequence[DeviceSelfPlay]) -> np.ndarray:
    """uint32 [n, script_words(search)]: what :func:`read_script` reads."""
    head = script_head(search)
    rows = np.zeros((len(each), script_words(search)), np.uint32)
    for row, onward in zip(rows, each, strict=True):
        both = onward.params
        row[:5] = [MOVES_UNASKED, *(n.simulations for n in both), *(n.depth or 2**30 for n in both)]
        row[5:head] = np.array(_real(search, both), np.float32).view(np.uint32).reshape(-1)
        row[head:-SEEDS] = [onward.seeds(k) for k in range(SEEDS)]
    rows[:, -SEEDS:] = tie_break_bits(rows[:, head:-SEEDS].reshape(-1)).reshape(-1, SEEDS)
    return rows


def read_script(search: SearchSpec, packed: jax.Array) -> SelfPlayPlan:
    names, head = number_names(search), script_head(search)
    whole = packed[:, :5].astype(jnp.int32)
    real = lax.bitcast_convert_type(packed[:, 5:head], jnp.float32).reshape(-1, len(names), 2)
    seeds, tie_bits = packed[:, head:-SEEDS], packed[:, -SEEDS:]
    return SelfPlayPlan(whole[:, 0], whole[:, 1:3], whole[:, 3:5], real, seeds, tie_bits)


def roll_on(script: np.ndarray, moves: Sequence[tuple[int, int, Sequence[int]]]) -> None:
    """Rows of a script after so many moves: (row, moves, the seeds that come after those it holds)."""
    bits = tie_break_bits(np.array([seed for _, _, seeds in moves for seed in seeds], np.uint32))
    for row, n, seeds in moves:
        new, bits = bits[:n], bits[n:]
        for own, after in ((script[row, -TAIL:-SEEDS], seeds), (script[row, -SEEDS:], new)):
            own[:-n] = own[n:].copy()
            own[-n:] = after


class Unpacked(NamedTuple):
    """What a program reads out of the packed array."""

    begin: jax.Array  # bool [B]
    stop: jax.Array  # bool [B]
    seed: jax.Array  # uint32 [B]
    legal: jax.Array  # bool [B, A]
    params: TracedParams


def unpack(search: SearchSpec, packed: jax.Array, roots: PreparedRoots) -> Unpacked:
    actions, head, names = search.game.num_actions, words(search), number_names(search)
    bits = (packed[:, head:, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1
    number = lax.bitcast_convert_type(packed[:, WHOLE_WORDS:head], jnp.float32)
    params = TracedParams(
        simulations=packed[:, 2].astype(jnp.int32),
        depth=packed[:, 3].astype(jnp.int32),
        noise=number[:, len(names)],
        dirichlet=jnp.asarray(roots.dirichlet),
        own={name: number[:, i] for i, name in enumerate(names)},
        prepared=jax.tree.map(jnp.asarray, roots.rule),
    )
    legal = bits.reshape(packed.shape[0], -1)[:, :actions].astype(bool)
    return Unpacked(packed[:, 0] == BEGIN, packed[:, 0] == STOP, packed[:, 1], legal, params)


def nothing_prepared(search: SearchSpec, trees: int) -> PreparedRoots:
    """Of trees that nobody has asked for."""
    one = SeededNoise(np.zeros(1, np.uint32), np.ones((1, search.game.num_actions), bool))
    with jax.ensure_compile_time_eval():  # shapes are known while a program is traced, too
        rule = prepare(search, one, SearchParams(min(1, search.capacity)))
    blank = jax.tree.map(lambda x: np.zeros((trees, *x.shape[1:]), x.dtype), rule)
    return PreparedRoots(np.zeros((trees, search.game.num_actions), np.float32), blank)


def prepared_roots(
    search: SearchSpec, orders: Sequence[SearchRequest], trees: int, ensemble: int
) -> PreparedRoots | None:
    """The roots of the orders; None if there is nothing to prepare. A tree's are decided by its seed."""
    if not orders or not (search.rule.prepares or any(order.params.noise for order in orders)):
        return None
    out = nothing_prepared(search, trees)
    alike: dict[SearchParams, list[SearchRequest]] = {}
    for order in orders:
        alike.setdefault(order.params, []).append(order)
    for params, own in alike.items():
        at = trees_of(own, ensemble)
        legal = np.repeat(np.stack([order.legal for order in own]), ensemble, axis=0)
        noise = SeededNoise(seeds_of(own, ensemble), legal)
        if params.noise:
            out.dirichlet[at] = noise.dirichlet(params.alpha)
        made = prepare(search, noise, params)
        for whole, rows in zip(jax.tree.leaves(out.rule), jax.tree.leaves(made), strict=True):
            whole[at] = rows
    return out


def prepare(search: SearchSpec, noise: SeededNoise, params: SearchParams) -> Any:
    """What the rule makes of roots on the host, in the types of a program."""
    rule = search.rule
    own = {one.name: np.asarray(params.own.get(one.name, one.default))[()] for one in numbers_of(type(rule))}
    made = rule.prepare_root(noise, params.replace(**own), search.capacity)
    return jax.tree.map(lambda x: np.asarray(x, WORD_TYPES[np.asarray(x).dtype.kind]), made)
