"""What is around each move of Go, as numbers: small patterns, from which a linear model tells likely moves.

After Coulom 2007, "Computing Elo ratings of move patterns in the game of Go".

A move has four: the eight points around it, the liberties of the chains beside it, how far it is from the last move,
and from the edge.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.rules.go.features import TOLD_APART, liberties

# From above, clockwise. What is there: empty 0, the mover's 1, the opponent's 2, beyond the edge 3.
RING = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
# What is there: no stone 0, the mover's with one, two, more liberties 1 to 3, the opponent's 4 to 6, beyond the edge 7.
CROSS = RING[1::2]
FARTHEST = 15  # from the last move: dx + dy + max(dx, dy) as in Pachi; 0 where there is none
INNERMOST = 7  # lines from the edge

# Where the numbers of each begin; the last is a pass.
FIRST = [0, *np.cumsum([4 ** len(RING), 8 ** len(CROSS), FARTHEST + 1, INNERMOST + 1]).tolist()]


def patterns(own: jax.Array, opp: jax.Array, last: jax.Array, width: int) -> jax.Array:
    """int32 [H * W + 1, 4]: the patterns of each move, their numbers beginning as FIRST says.

    own, opp: rows, uint [H], of the player to move and the other. last: the point of the last move, or -1.
    """
    height = own.size
    mine, theirs = (bb.to_bits(rows, width).reshape(height, width).astype(jnp.int32) for rows in (own, opp))
    free = jnp.minimum(liberties(own, opp, width), TOLD_APART).reshape(height, width)
    chains = jnp.where(theirs > 0, TOLD_APART + free, free)

    def code(values: jax.Array, places: tuple[tuple[int, int], ...], beyond: int, bits: int) -> jax.Array:
        wide = jnp.pad(values, 1, constant_values=beyond)
        shifted = [wide[1 + r : 1 + r + height, 1 + c : 1 + c + width] for r, c in places]
        return jnp.ravel(sum((x << bits * i for i, x in enumerate(shifted)), jnp.zeros_like(values)))

    row, column = np.divmod(np.arange(height * width), width)
    down, right = jnp.abs(row - last // width), jnp.abs(column - last % width)
    far = jnp.minimum(down + right + jnp.maximum(down, right), FARTHEST)
    lines = np.minimum(np.minimum(row, height - 1 - row), np.minimum(column, width - 1 - column))
    numbers = [
        code(mine + 2 * theirs, RING, 3, 2),
        code(chains, CROSS, 7, 3),
        jnp.where(last < 0, 0, far),
        jnp.asarray(np.minimum(lines, INNERMOST)),
    ]
    points = jnp.stack([first + number for first, number in zip(FIRST, numbers, strict=False)], axis=-1)
    return jnp.concatenate([points, jnp.full((1, len(numbers)), FIRST[-1])]).astype(jnp.int32)


@functools.cache
def classes() -> np.ndarray:
    """int32 [K]: of each number the first of those that are the same pattern turned or mirrored."""
    own = np.arange(FIRST[-1] + 1, dtype=np.int32)
    for first, bits, places in ((FIRST[0], 2, len(RING)), (FIRST[1], 3, len(CROSS))):
        codes = np.arange(1 << bits * places)
        signs = [codes >> bits * i & (1 << bits) - 1 for i in range(places)]
        for step in (1, -1):
            for turned in range(0, places, places // 4):  # by quarters: a corner stays a corner
                alike = sum(signs[(step * i + turned) % places] << bits * i for i in range(places))
                own[first + codes] = np.minimum(own[first + codes], first + alike)
    return own
