"""One pairing's games: who takes which colour, from which opening, with which seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jubango.bots.players.clock import TimeControl

Pairing = tuple[str, str]  # two bots, in the order of their names


class Opening(NamedTuple):
    """Moves that are made before the players begin to think, the first player's first."""

    name: str = ""
    moves: tuple[str, ...] = ()  # action texts


NOWHERE = Opening()  # the first position


@dataclass(frozen=True)
class GameTask:
    """One game to play. ``seed`` decides all random numbers of the bots."""

    game_id: str
    black: str
    white: str
    seed: int  # uint64
    opening: Opening = NOWHERE
    komi: float | None = None  # of this game; None: the tournament's
    clock: TimeControl | None = None  # of each player


def pairings(names: Sequence[str]) -> Iterator[Pairing]:
    """Every pairing once, in rounds in which everybody plays, but one of an odd number: they go round a circle."""
    circle = [*names, *[""] * (len(names) % 2)]
    for _ in circle[1:]:
        half = len(circle) // 2
        yield from (pairing(a, b) for a, b in zip(circle[:half], circle[: half - 1 : -1], strict=True) if a and b)
        circle.insert(1, circle.pop())


def pairing(one: str, other: str) -> Pairing:
    return (one, other) if one < other else (other, one)


def game_id(pair: Pairing, number: int) -> str:
    """``a~b~00001``, ``number`` being 0: the same whatever else is played."""
    return f"{pair[0]}~{pair[1]}~{number + 1:05d}"


def colours(pair: Pairing, number: int) -> Pairing:
    """Black and White of a pairing's game, counted from 0: they change with every game."""
    return pair if number % 2 == 0 else (pair[1], pair[0])


def game_seed(seed: int, game_id: str) -> int:
    """The seed of one game of the tournament that has this ``seed``."""
    return drawn(seed, game_id)


def move_seed(game_seed: int, ply: int) -> int:
    """uint32: the seed of one move."""
    digest = hashlib.sha256(f"{game_seed}\n{ply}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def drawn(seed: int, what: str) -> int:
    """A number that ``seed`` alone decides, of 56 bits: SQLite's and everybody's integers hold it."""
    digest = hashlib.sha256(f"{seed}\n{what}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
