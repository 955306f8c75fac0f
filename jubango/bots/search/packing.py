"""What a compiled search is told between two chunks: one packed array, so that handing it over is one transfer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.search.root import Numbers
from jubango.bots.search.rules.gumbel import considered_visits
from jubango.bots.search.rules.rule import Settings
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.ties import tie_dice
from jubango.bots.search.tree.tree import LONGEST_LINE
from jubango.sgf_games.rules.compiled import MOST_TOLD

BEGIN, STOP = 1, 2
WORDS = 9  # before those of the legal actions: flags, seed, simulations, depth, and REAL with the noise
REAL = ("c", "fpu_reduction", "equivalence", "bias")  # numbers of either player that are real
MOST_MOVES = MOST_TOLD - 1  # that a tree makes by itself between two hand-overs
SEEDS = MOST_MOVES + 1  # of the search under way and those after the moves
HEAD = 5 + 2 * len(REAL)  # words of a script before its seeds: moves; of either player simulations, depth and REAL
SCRIPT = HEAD + 2 * SEEDS  # seeds and dice


class DeviceSelfPlay(NamedTuple):
    """What a tree needs to make moves by itself, once both players are its own."""

    numbers: tuple[Numbers, Numbers]  # by the player to move; without noise
    seeds: Callable[[int], int]  # uint32, of this search (0) and those after 1, 2, ... more moves


class SearchRequest(NamedTuple):
    """Search the position of one lane."""

    lane: int
    legal: np.ndarray  # bool [A], exact at the root
    numbers: Numbers  # of each of the lane's trees
    seed: int  # uint32, all the randomness there is
    deadline: float = float("inf")  # time.perf_counter() when it must be content with what it has
    line: Sequence[int] | None = None  # moves since its trees' last root: keep what is below them
    settles: bool = False  # most visits decide, without dice: with a deadline it ends once no move can become another
    onward: DeviceSelfPlay | None = None  # then the tree goes on with the game by itself; of lanes of one tree


def after(earlier: SearchRequest | None, order: SearchRequest) -> SearchRequest:
    """The order that takes the place of one of the same lane which has not begun: its line is from where the trees
    are."""
    if earlier is None or order.line is None:
        return order
    line = [*earlier.line, *order.line] if earlier.line else []
    return order._replace(line=line if 0 < len(line) <= LONGEST_LINE else None)


class Noise(NamedTuple):
    """Of the roots; trees first."""

    dirichlet: jax.Array | np.ndarray  # float32 [B, A]
    gumbel: jax.Array | np.ndarray  # float32 [B, A], or [B, 0] where the rule has no use for it
    considered: jax.Array | np.ndarray  # int32 [B, capacity], or [B, 0]


def trees_of(orders: Sequence[SearchRequest], ensemble: int) -> np.ndarray:
    """int [orders * ensemble]: the trees that work on each, side by side."""
    lanes = np.array([order.lane for order in orders], int)
    return (lanes[:, None] * ensemble + np.arange(ensemble)).reshape(-1)


def tree_seeds(seed: int, ensemble: int) -> np.ndarray:
    """uint32 [ensemble]: the dice of the trees of a lane. The first has the lane's own; those of the others are hashed,
    lest one tree throws at a simulation what another throws at the next."""
    others = np.random.SeedSequence(seed).generate_state(ensemble - 1) if ensemble > 1 else ()
    return np.array([seed, *others], np.uint32)


def pack(
    search: SearchSpec, orders: Sequence[SearchRequest], stop: np.ndarray, trees: int, ensemble: int
) -> np.ndarray:
    """uint32 [trees, WORDS + ceil(A / 32)]; the inverse of :func:`unpack`. stop: int, trees to be content."""
    actions = search.game.num_actions
    out = np.zeros((trees, WORDS + -(-actions // 32)), np.uint32)
    out[stop, 0] = STOP
    if not orders:
        return out
    at = trees_of(orders, ensemble)
    own = [order.numbers for order in orders]

    def column(values: list, kind: type = np.uint32) -> np.ndarray:
        return np.repeat(np.array(values, kind).view(np.uint32), ensemble)

    seeds = np.concatenate([tree_seeds(order.seed, ensemble) for order in orders])
    legal = np.zeros((len(orders), 32 * -(-actions // 32)), bool)
    legal[:, :actions] = [order.legal for order in orders]
    out[at, 0] = BEGIN
    out[at, 1] = seeds
    out[at, 2] = column([n.simulations for n in own])
    out[at, 3] = column([n.depth or 2**30 for n in own])
    for i, values in enumerate([*_real(search, own), [n.noise for n in own]], 4):
        out[at, i] = column(values, np.float32)
    out[at, WORDS:] = np.repeat(np.packbits(legal, axis=1, bitorder="little").view("<u4"), ensemble, axis=0)
    return out


def _real(search: SearchSpec, each: Sequence[Numbers]) -> list[list[float]]:
    """The real numbers that are in settings and scripts alike, each of everybody's."""
    usual = [n if n.c is not None else n._replace(c=search.rule.usual_c) for n in each]
    return [[getattr(n, name) for n in usual] for name in REAL]


class SelfPlayPlan(NamedTuple):
    """The moves that trees may make by themselves; trees first, then the player to move."""

    moves: jax.Array  # int32 [B]
    simulations: jax.Array  # int32 [B, 2]
    depth: jax.Array  # int32 [B, 2]
    real: jax.Array  # float32 [B, REAL, 2]
    seeds: jax.Array  # uint32 [B, SEEDS]
    dice: jax.Array  # uint32 [B, SEEDS], between equal moves of each search


def scripts_of(search: SearchSpec, each: Sequence[DeviceSelfPlay]) -> np.ndarray:
    """uint32 [n, SCRIPT]: what :func:`read_script` reads."""
    rows = np.zeros((len(each), SCRIPT), np.uint32)
    for row, onward in zip(rows, each, strict=True):
        both = onward.numbers
        row[:5] = [MOST_MOVES, *(n.simulations for n in both), *(n.depth or 2**30 for n in both)]
        row[5:HEAD] = np.array(_real(search, both), np.float32).view(np.uint32).reshape(-1)
        row[HEAD:-SEEDS] = [onward.seeds(k) for k in range(SEEDS)]
    rows[:, -SEEDS:] = tie_dice(rows[:, HEAD:-SEEDS].reshape(-1)).reshape(-1, SEEDS)
    return rows


def read_script(packed: jax.Array) -> SelfPlayPlan:
    whole = packed[:, :5].astype(jnp.int32)
    real = lax.bitcast_convert_type(packed[:, 5:HEAD], jnp.float32).reshape(-1, len(REAL), 2)
    seeds, dice = packed[:, HEAD:-SEEDS], packed[:, -SEEDS:]
    return SelfPlayPlan(whole[:, 0], whole[:, 1:3], whole[:, 3:5], real, seeds, dice)


def roll_on(script: np.ndarray, moves: Sequence[tuple[int, int, Sequence[int]]]) -> None:
    """Rows of a script after so many moves: (row, moves, the seeds that come after those it holds)."""
    dice = tie_dice(np.array([seed for _, _, seeds in moves for seed in seeds], np.uint32))
    for row, n, seeds in moves:
        new, dice = dice[:n], dice[n:]
        for own, after in ((script[row, HEAD:-SEEDS], seeds), (script[row, -SEEDS:], new)):
            own[:-n] = own[n:].copy()
            own[-n:] = after


class Unpacked(NamedTuple):
    """What a program reads out of the packed array."""

    begin: jax.Array  # bool [B]
    stop: jax.Array  # bool [B]
    seed: jax.Array  # uint32 [B]
    legal: jax.Array  # bool [B, A]
    settings: Settings


def unpack(search: SearchSpec, packed: jax.Array, noise: Noise) -> Unpacked:
    actions = search.game.num_actions
    bits = (packed[:, WORDS:, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1
    number = lax.bitcast_convert_type(packed[:, 4:WORDS], jnp.float32)
    settings = Settings(
        simulations=packed[:, 2].astype(jnp.int32),
        **{name: number[:, i] for i, name in enumerate(REAL)},
        depth=packed[:, 3].astype(jnp.int32),
        noise=number[:, len(REAL)],
        dirichlet=jnp.asarray(noise.dirichlet),
        gumbel=jnp.asarray(noise.gumbel),
        considered=jnp.asarray(noise.considered),
    )
    legal = bits.reshape(packed.shape[0], -1)[:, :actions].astype(bool)
    return Unpacked(packed[:, 0] == BEGIN, packed[:, 0] == STOP, packed[:, 1], legal, settings)


def no_noise(search: SearchSpec, trees: int) -> Noise:
    actions, scheduled = search.game.num_actions, search.rule.scheduled
    return Noise(
        np.zeros((trees, actions), np.float32),
        np.zeros((trees, actions if scheduled else 0), np.float32),
        np.zeros((trees, search.capacity if scheduled else 0), np.int32),
    )


def noise_of(search: SearchSpec, orders: Sequence[SearchRequest], trees: int, ensemble: int) -> Noise | None:
    """Noise and schedules of the roots that have any; None if none has. A tree's are decided by its seed."""
    scheduled = search.rule.scheduled
    if not orders or not (scheduled or any(order.numbers.noise for order in orders)):
        return None
    noise = no_noise(search, trees)
    for order in orders:
        own, count = order.numbers, int(order.legal.sum())
        for k, seed in enumerate(tree_seeds(order.seed, ensemble)):
            tree = order.lane * ensemble + k
            if own.noise and count:
                alpha = own.alpha or 10.0 / count
                dice = np.random.default_rng([seed, 1])
                noise.dirichlet[tree, order.legal] = dice.dirichlet(np.full(count, alpha))
            if scheduled:
                dice = np.random.default_rng([seed, 2])
                noise.gumbel[tree] = own.gumbel_scale * dice.gumbel(size=search.game.num_actions)
                visits = considered_visits(min(own.considered, count), own.simulations)[: search.capacity]
                noise.considered[tree, : len(visits)] = visits
    return noise
