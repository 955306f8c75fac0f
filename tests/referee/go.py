"""Go by the book: sets of points, recursion nowhere, speed no concern.

A position is a dict from (row, column) to "b" or "w"; row 0 is the top. Nothing here is shared
with the package, so that an error has to be made twice to go unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Point = tuple[int, int]
PASS = None


@dataclass
class RefereeGo:
    """One game in progress. ``ko`` is simple, positional or situational."""

    width: int
    height: int
    komi: float = 7.5
    ko: str = "simple"
    suicide: bool = False
    stones: dict[Point, str] = field(default_factory=dict)
    to_move: str = "b"
    passes: int = 0
    ko_point: Point | None = None
    past: list[tuple[frozenset, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.past:
            self.past = [self._situation()]

    def _situation(self) -> tuple[frozenset, str]:
        return frozenset(self.stones.items()), self.to_move

    def copy(self) -> RefereeGo:
        return RefereeGo(
            self.width, self.height, self.komi, self.ko, self.suicide, dict(self.stones),
            self.to_move, self.passes, self.ko_point, list(self.past),
        )  # fmt: skip

    def neighbours(self, point: Point) -> list[Point]:
        row, column = point
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [(r, c) for r, c in around if 0 <= r < self.height and 0 <= c < self.width]

    def chain_and_liberties(self, stones: dict[Point, str], start: Point):
        chain, liberties, todo = {start}, set(), [start]
        while todo:
            for near in self.neighbours(todo.pop()):
                if near not in stones:
                    liberties.add(near)
                elif stones[near] == stones[start] and near not in chain:
                    chain.add(near)
                    todo.append(near)
        return chain, liberties

    def _after(self, point: Point):
        """(stones after, captured, own stones removed) of playing at an empty point."""
        mine, theirs = self.to_move, "w" if self.to_move == "b" else "b"
        stones = {**self.stones, point: mine}
        captured = set()
        for near in self.neighbours(point):
            if stones.get(near) == theirs:
                chain, liberties = self.chain_and_liberties(stones, near)
                if not liberties:
                    captured |= chain
        for gone in captured:
            del stones[gone]
        chain, liberties = self.chain_and_liberties(stones, point)
        removed = set() if liberties else chain
        for gone in removed:
            del stones[gone]
        return stones, captured, removed

    def is_legal(self, point: Point | None) -> bool:
        if self.is_over():
            return False
        if point is PASS:
            return True
        if point in self.stones or point == self.ko_point:
            return False
        stones, _, removed = self._after(point)
        if removed and (not self.suicide or len(removed) == 1):
            return False  # a lone stone's suicide changes nothing: it is no move under any rule
        board = frozenset(stones.items())
        if self.ko == "positional":
            return all(board != earlier for earlier, _ in self.past)
        if self.ko == "situational":
            return (board, "w" if self.to_move == "b" else "b") not in self.past
        return True

    def legal_moves(self) -> list[Point | None]:
        points = [(r, c) for r in range(self.height) for c in range(self.width)]
        return [p for p in [*points, PASS] if self.is_legal(p)]

    def play(self, point: Point | None) -> None:
        assert self.is_legal(point), f"illegal {point}\n{self}"
        other = "w" if self.to_move == "b" else "b"
        self.ko_point = None
        if point is PASS:
            self.passes += 1
        else:
            self.passes = 0
            stones, captured, removed = self._after(point)
            if len(captured) == 1 and not removed:
                chain, liberties = self.chain_and_liberties(stones, point)
                if len(chain) == 1 and liberties == captured:
                    (self.ko_point,) = captured
            self.stones = stones
        self.to_move = other
        self.past.append(self._situation())

    def is_over(self) -> bool:
        return self.passes >= 2

    def area(self) -> float:
        """Black's area minus White's minus komi (stones, and empty regions touching one colour)."""
        margin = -self.komi
        margin += sum(1 if colour == "b" else -1 for colour in self.stones.values())
        seen: set[Point] = set()
        for r in range(self.height):
            for c in range(self.width):
                if (r, c) in self.stones or (r, c) in seen:
                    continue
                region, touches, todo = {(r, c)}, set(), [(r, c)]
                while todo:
                    for near in self.neighbours(todo.pop()):
                        if near in self.stones:
                            touches.add(self.stones[near])
                        elif near not in region:
                            region.add(near)
                            todo.append(near)
                seen |= region
                if touches == {"b"}:
                    margin += len(region)
                elif touches == {"w"}:
                    margin -= len(region)
        return margin

    def __str__(self) -> str:
        marks = {"b": "X", "w": "O", None: "."}
        return "\n".join(
            " ".join(marks[self.stones.get((r, c))] for c in range(self.width)) for r in range(self.height)
        )
