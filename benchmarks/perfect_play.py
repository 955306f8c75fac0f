"""What perfect play is worth in connect four, for a network to learn: by bitbully, an exact solver by another author.

`torch_training.py --exact` calls it.
"""

from __future__ import annotations

import functools
from concurrent.futures import Executor
from typing import Any

import numpy as np

from jubango.bots.learning.replay import Samples

PIECES = 32  # that the positions are split into, for processes that solve them side by side
PLIES = range(7, 12)  # random moves; the book knows what follows, and self-play comes to few of these positions


@functools.cache
def solver() -> Any:
    """Of this process. Its book is of 12 plies; positions before it are searched up to there."""
    from bitbully import BitBully

    return BitBully()


def exact(boards: np.ndarray) -> np.ndarray:
    """int8 [N, 7]: what a stone in each column is worth to the player to move, 1, 0 or -1; -2 where none fits.

    boards: int [N, 7, 6] of columns from below, 0 empty, 1 and 2 the players' stones.
    """
    from bitbully import Board

    found = np.full((len(boards), Board.N_COLUMNS), -2, np.int8)
    for own, stones in zip(found, boards, strict=True):
        board = Board.from_array(stones.tolist())
        for move in board.legal_moves():
            then = board.copy()
            then.play(move)
            own[move] = then.has_win() if then.is_game_over() else -np.sign(solver().negamax(then, -1, 1))
    return found


def early(samples: Samples) -> Samples:
    """As many positions after PLIES random moves, of which self-play comes to few."""
    from bitbully import Board

    number = samples.number
    plies = np.random.default_rng().choice(PLIES, number)
    stones = np.array([Board.random_board(int(n), False)[0].to_array() for n in plies])
    rows, player = stones.transpose(0, 2, 1)[:, ::-1], plies % 2
    own, opp = (
        ((rows == mover[:, None, None] + 1) << np.arange(7)).sum(-1).astype(samples.state.own.dtype)
        for mover in (player, 1 - player)
    )
    state = samples.state._replace(own=own, opp=opp, player=player.astype(np.int32), won=np.zeros(number, bool))
    alike = np.full(samples.policy.shape, 1 / 7, np.float16)
    return samples._replace(state=state, policy=alike, surprise=np.ones_like(samples.surprise))


def solved(samples: Samples, pool: Executor) -> Samples:
    """The positions, with what perfect play is worth and, of the policy, the moves that keep it."""
    own, opp = (np.asarray(rows)[:, ::-1, None] >> np.arange(7) & 1 for rows in (samples.state.own, samples.state.opp))
    first = np.asarray(samples.state.player)[:, None, None] == 0
    boards = np.where(first, own + 2 * opp, opp + 2 * own).transpose(0, 2, 1)
    worth = np.concatenate(list(pool.map(exact, np.array_split(boards, PIECES))))
    best = worth.max(1)
    keeping = worth == best[:, None]
    policy = np.where(keeping, samples.policy.astype(np.float32), 0) + 1e-3 * keeping
    policy /= policy.sum(1, keepdims=True)
    value = best.astype(np.float32)
    return samples._replace(policy=policy.astype(np.float16), value=value, result=value)
