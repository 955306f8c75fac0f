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

Points = list[jax.Array]  # a number for each point of a board, row by row


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
        mine, theirs = (bb.to_bits(rows, width) for rows in (own, opp))
        return jnp.minimum(liberty_counts(mine, theirs, own.size, width), TOLD_APART + 1)
    begin, further, sweep = _kernels(own.size, width)
    colour, bound = begin(bb.unpack(own), bb.unpack(opp))
    total = jnp.zeros(own.size * width, jnp.int32)
    for _ in range(TOLD_APART + 1):
        largest = further(colour, bound)
        bound, _ = until_settled(sweep, jnp.bool_(True), largest, colour)
        total = total + (jnp.stack(bound) > 0)
    return total


@functools.cache
def _kernels(height: int, width: int) -> tuple[Callable, Callable, Callable]:
    number = jnp.uint16
    before = {p: [*([p - 1] if p % width else []), *([p - width] if p >= width else [])] for p in range(height * width)}
    after: dict[int, list[int]] = {p: [] for p in before}
    for p, sources in before.items():
        for source in sources:
            after[source].append(p)

    @fused
    def begin(own: bb.Rows, opp: bb.Rows) -> tuple[Points, Points]:
        colour = [
            ((mine >> c) & 1).astype(number) + 2 * ((theirs >> c) & 1).astype(number)
            for mine, theirs in zip(own, opp, strict=True)
            for c in range(width)
        ]
        return colour, [jnp.full_like(colour[0], jnp.iinfo(number).max)] * len(colour)

    @fused
    def further(colour: Points, bound: Points) -> Points:
        """The largest number (from 1) of a liberty of each stone that is below its bound."""
        nothing = jnp.zeros_like(colour[0])
        found = []
        for p, own in enumerate(colour):
            largest = nothing
            for q in sorted(before[p] + after[p]):
                free = (colour[q] == 0) & (own != 0) & (q + 1 < bound[p])
                largest = jnp.where(free, jnp.full_like(nothing, q + 1), largest)
            found.append(largest)
        return found

    @fused
    def once(largest: Points, colour: Points) -> tuple[Points, jax.Array]:
        new = list(largest)
        for order, sources in ((range(len(new)), before), (reversed(range(len(new))), after)):
            for p in order:
                for q in sources[p]:
                    same = colour[q] == colour[p]
                    new[p] = jnp.where(same, jnp.maximum(new[p], new[q]), new[p])
        changed = [a != b for a, b in zip(new, largest, strict=True)]
        return new, functools.reduce(jnp.logical_or, changed)

    def sweep(largest: Points, colour: Points) -> tuple[tuple[Points, Points], jax.Array]:
        new, changed = once(largest, colour)
        return (new, colour), changed

    return begin, further, sweep
