"""What a network is told of a position of Go: both ways to count liberties say the same."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.rules.go import features


def scattered(height, width, number):
    """Random stones, whether rules could lead there or not: rows [N, H] of both players."""
    rng = np.random.default_rng(height * width)
    for_each = [rng.choice(3, size=(height, width), p=[share, *[(1 - share) / 2] * 2]) for share in (0.1, 0.4, 0.8)]
    boards = np.array([*for_each, *rng.choice(3, size=(number - 3, height, width), p=[0.3, 0.35, 0.35])])
    return boards, [((boards == who) << np.arange(width)).sum(axis=-1).astype(bb.row_type(width)) for who in (1, 2)]


@pytest.mark.parametrize(("height", "width"), [(9, 9), (10, 10), (3, 8), (7, 1), (13, 13), (19, 19)])
def test_liberties_are_those_of_a_plain_count(height, width):
    boards, (own, opp) = scattered(height, width, 12)

    def plain(board):
        found = np.zeros((height, width), int)
        for start in np.argwhere(board > 0):
            chain, free, waiting = {tuple(start)}, set(), [tuple(start)]
            while waiting:
                r, c = waiting.pop()
                for q in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                    if 0 <= q[0] < height and 0 <= q[1] < width:
                        if board[q] == 0:
                            free.add(q)
                        elif board[q] == board[tuple(start)] and q not in chain:
                            chain.add(q)
                            waiting.append(q)
            found[tuple(start)] = min(len(free), 4)
        return found.reshape(-1)

    found = jax.vmap(lambda a, b: features.liberties(a, b, width))(jnp.asarray(own), jnp.asarray(opp))
    np.testing.assert_array_equal(np.asarray(found), [plain(board) for board in boards])
