"""What a network is told of a position of Go: besides the stones liberties, the last move, komi.

Chains reach farther than a small network's convolutions, so that their liberties are counted for it (Silver et al.
2016, extended data table 2; Wu 2019, table 1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.lane_loops import until_settled
from jubango.sgf_games.rules.go.life import liberty_counts

TOLD_APART = 3  # numbers of liberties; more are many
PLANES = 7 + TOLD_APART
LARGEST_BY_POINTS = 100  # of the boards whose liberties are found point by point

# A kernel takes so many arrays at most that every point cannot have its own.
IN_A_WORD = 4

Points = list[jax.Array]  # uint32: numbers of eight bits for the points of a board, row by row


def planes(
    own: jax.Array, opp: jax.Array, ko: jax.Array, last: jax.Array, passes: jax.Array, player: jax.Array,
    komi: jax.Array, width: int,
) -> jax.Array:  # fmt: skip
    """float32 [H, W, 10]: the planes of one position.

    They are own stones, the opponent's, the ko point, ones when Black moves, stones of chains with one, two and three
    liberties, the last stone, ones after a pass, and a tenth of the komi for the player to move.

    own, opp: rows, uint [H].
    """
    index = jnp.arange(own.size * width)
    ones = jnp.ones(index.shape)
    free = liberties(own, opp, width)
    for_mover = jnp.where(player == 0, -komi, komi)
    values = [
        bb.to_bits(own, width), bb.to_bits(opp, width), index == ko, ones * (player == 0),
        *(free == number for number in range(1, TOLD_APART + 1)), index == last, ones * (passes > 0),
        ones * for_mover / 10,
    ]  # fmt: skip
    return jnp.stack([value.astype(jnp.float32) for value in values], axis=-1).reshape(own.size, width, len(values))


def liberties(own: jax.Array, opp: jax.Array, width: int) -> jax.Array:
    """int32 [H * W]: the liberties of the chain on each point, 4 for all above :data:`TOLD_APART`, 0 without a stone.

    own, opp: rows, uint [H].

    On large boards :func:`jubango.sgf_games.rules.go.life.liberty_counts` counts them. On small ones the program is
    written point by point, which for 19x19 would take ten minutes to compile: for every chain the liberty with the
    largest number is found, then the largest below that one, and so on. A stone's largest is handed on along its
    chain, to and fro over the board, until no stone learns of a larger one.
    """
    if own.size * width > LARGEST_BY_POINTS:
        counts = liberty_counts(bb.to_bits(own, width), bb.to_bits(opp, width), own.size, width)
        return jnp.minimum(counts, TOLD_APART + 1)
    mine, theirs = bb.unpack(own), bb.unpack(opp)
    further, sweep, add = _kernels(own.size, width)
    nothing = [jnp.uint32(0)] * -(-own.size * width // IN_A_WORD)
    bound, total = [~word for word in nothing], nothing
    for _ in range(TOLD_APART + 1):
        bound, _, _ = until_settled(sweep, jnp.bool_(True), further(mine, theirs, bound), mine, theirs)
        total = add(total, bound)
    return jnp.stack(_apart(total))[: own.size * width].astype(jnp.int32)


def _apart(words: Points) -> Points:
    """Four numbers of each word."""
    return [(word >> 8 * i) & 0xFF for word in words for i in range(IN_A_WORD)]


def _together(numbers: Points) -> Points:
    """The inverse; as many numbers as there are, the others 0."""
    parts = [numbers[i : i + IN_A_WORD] for i in range(0, len(numbers), IN_A_WORD)]
    return [functools.reduce(jnp.bitwise_or, (x << 8 * i for i, x in enumerate(part))) for part in parts]


@functools.cache
def _kernels(height: int, width: int) -> tuple[Callable, Callable, Callable]:
    before = {p: [*([p - 1] if p % width else []), *([p - width] if p >= width else [])] for p in range(height * width)}
    after: dict[int, list[int]] = {p: [] for p in before}
    for p, sources in before.items():
        for source in sources:
            after[source].append(p)

    def bits(rows: bb.Rows) -> list[jax.Array]:
        return [(row >> c) & 1 != 0 for row in rows for c in range(width)]

    @fused
    def further(mine: bb.Rows, theirs: bb.Rows, bound: Points) -> Points:
        """The largest number (from 1) of a liberty of each stone that is below its bound."""
        free, below = bits([~(a | b) for a, b in zip(mine, theirs, strict=True)]), _apart(bound)
        nothing, found = jnp.zeros_like(bound[0]), []
        for p in before:
            largest = nothing
            for q in sorted(before[p] + after[p]):
                largest = jnp.where(free[q] & (q + 1 < below[p]), jnp.full_like(nothing, q + 1), largest)
            found.append(jnp.where(free[p], nothing, largest))
        return _together(found)

    @fused
    def once(words: Points, mine: bb.Rows, theirs: bb.Rows) -> tuple[Points, jax.Array]:
        left = bits([a & (a << 1) | b & (b << 1) for a, b in zip(mine, theirs, strict=True)])
        sides = [(rows, bb.lower(rows)) for rows in (mine, theirs)]
        above = bits([a & x | b & y for a, x, b, y in zip(*sides[0], *sides[1], strict=True)])
        new = _apart(words)
        for order, sources in ((before, before), (reversed(before), after)):
            for p in order:
                for q in sources[p]:
                    one_chain = (left if p // width == q // width else above)[max(p, q)]
                    new[p] = jnp.where(one_chain, jnp.maximum(new[p], new[q]), new[p])
        largest = _together(new)
        return largest, functools.reduce(jnp.logical_or, [a != b for a, b in zip(largest, words, strict=True)])

    @fused
    def add(total: Points, largest: Points) -> Points:
        return _together([a + (b > 0) for a, b in zip(_apart(total), _apart(largest), strict=True)])

    def sweep(words: Points, mine: bb.Rows, theirs: bb.Rows) -> tuple[tuple[Points, bb.Rows, bb.Rows], jax.Array]:
        new, changed = once(words, mine, theirs)
        return (new, mine, theirs), changed

    return further, sweep, add
