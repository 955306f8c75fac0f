"""How often a bot keeps what perfect play is worth in connect four, by the verdict of an exact solver.

    python benchmarks/connect_four.py [BOT] [--positions 500] [--seed 1]

Positions of 8 to 16 random moves that are not over; bitbully (an exact solver by another author, in the extra
``bench``) values every move of each. A bot keeps a position's value if its move is worth as much as the best one: a win
stays a win, a draw a draw. The verdicts are kept in a file, one a seed.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np

import jubango as jb
from jubango.sgf_games.library.folder import replace_file

PLIES = range(8, 17)
KEPT = "runs/connect-four-verdicts-{}.json"


def solved(number: int, seed: int) -> list[dict]:
    """So many positions: their moves, and of every legal move the value for who makes it (1, 0, -1)."""
    kept = Path(KEPT.format(seed))
    found = json.loads(kept.read_text()) if kept.exists() else []
    if len(found) >= number:
        return found[:number]
    from bitbully import BitBully, Board

    solver, rng = BitBully(), random.Random(seed)
    found = []
    while len(found) < number:
        board, moves = Board(), []
        for _ in range(rng.choice(PLIES)):
            moves.append(rng.choice(board.legal_moves()))
            board.play(moves[-1])
            if board.is_game_over():
                break
        if board.is_game_over():
            continue
        worth = {str(move): int(np.sign(score)) for move, score in solver.score_all_moves(board).items()}
        found.append({"moves": moves, "worth": worth})
        if len(found) % 50 == 0:
            print(f"{len(found)} of {number} positions are solved", flush=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept, json.dumps(found).encode())
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bot", nargs="?", default="alphazero:simulations=200")
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the positions")
    given = parser.parse_args()
    positions = solved(given.positions, given.seed)
    game = [jb.position("connect_four", [chr(ord("A") + move) for move in one["moves"]]) for one in positions]
    found = jb.analyze(game, given.bot)
    worth = [one["worth"] for one in positions]
    kept = [own[str(a.best.action)] == max(own.values()) for own, a in zip(worth, found, strict=True)]
    open_ = [len(set(own.values())) > 1 for own in worth]  # where a move can go wrong
    first = jb.analyze(jb.position("connect_four", []), given.bot).best
    error = 196 * np.sqrt(np.mean(kept) * (1 - np.mean(kept)) / len(kept))
    share = f"{100 * np.mean(kept):.1f} ± {error:.1f} %"
    print(f"{given.bot}: keeps the value of {sum(kept)} of {len(kept)} positions, {share}")
    print(f"where a move can go wrong: {sum(k for k, o in zip(kept, open_, strict=True) if o)} of {sum(open_)}")
    print(f"its first move is {first.move}")


if __name__ == "__main__":
    main()
