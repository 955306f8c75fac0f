"""Who plays whom: a fixed schedule, so that any part of it can be played again in the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Pairing = tuple[str, str]  # two bots, in the order of their names


@dataclass(frozen=True)
class GameTask:
    """One game to play. ``seed`` is all that decides the bots' dice."""

    game_id: str
    black: str
    white: str
    seed: int  # uint64


def round_robin(names: Sequence[str], games_per_pairing: int, seed: int) -> Iterator[GameTask]:
    """Every bot against every other, in colour-swapped pairs: first one game of every pairing, then the next of each.

    Ids and seeds depend on the two names, the game's number and ``seed`` alone, so that adding
    bots or games changes nothing of what is already scheduled.
    """
    for number in range(games_per_pairing):
        for first, second in pairings(names):
            black, white = (first, second) if number % 2 == 0 else (second, first)
            game_id = f"{first}~{second}~{number + 1:05d}"
            yield GameTask(game_id, black, white, game_seed(seed, game_id))


def pairings(names: Sequence[str]) -> Iterator[Pairing]:
    """Every pairing once, in rounds in which everybody plays, but one of an odd number: they go round a circle."""
    circle = [*names, *[""] * (len(names) % 2)]
    for _ in circle[1:]:
        half = len(circle) // 2
        yield from (pairing(a, b) for a, b in zip(circle[:half], circle[: half - 1 : -1], strict=True) if a and b)
        circle.insert(1, circle.pop())


def pairing(one: str, other: str) -> Pairing:
    return (one, other) if one < other else (other, one)


def game_seed(seed: int, game_id: str) -> int:
    """The dice of one game of the tournament that has this ``seed``."""
    digest = hashlib.sha256(f"{seed}\n{game_id}".encode()).digest()
    return int.from_bytes(digest[:7], "big")  # fits SQLite's and everybody's integers


def move_seed(game_seed: int, ply: int) -> int:
    """uint32: the dice of one move."""
    digest = hashlib.sha256(f"{game_seed}\n{ply}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
