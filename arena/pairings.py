"""Who plays whom: a fixed schedule, so that any part of it can be played again in the same way."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class GameTask:
    """One game to play. ``seed`` is all that decides the bots' dice."""

    game_id: str
    black: str
    white: str
    seed: int  # uint64


def round_robin(names: list[str], games_per_pairing: int, seed: int) -> list[GameTask]:
    """Every bot against every other, in colour-swapped pairs, one pair of every pairing a round.

    Ids and seeds depend on the two names, the game's number and ``seed`` alone, so that adding
    bots or games changes nothing of what is already scheduled.
    """
    tasks = []
    for number in range(games_per_pairing):
        for pair in itertools.combinations(names, 2):
            first, second = sorted(pair)
            black, white = (first, second) if number % 2 == 0 else (second, first)
            game_id = f"{first}~{second}~{number + 1:05d}"
            tasks.append(GameTask(game_id, black, white, game_seed(seed, game_id)))
    return tasks


def game_seed(seed: int, game_id: str) -> int:
    """The dice of one game of the tournament that has this ``seed``."""
    digest = hashlib.sha256(f"{seed}\n{game_id}".encode()).digest()
    return int.from_bytes(digest[:7], "big")  # fits SQLite's and everybody's integers


def move_seed(game_seed: int, ply: int) -> int:
    """uint32: the dice of one move."""
    digest = hashlib.sha256(f"{game_seed}\n{ply}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
