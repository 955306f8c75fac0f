"""The tactics of Go's stronger rollouts, point by point (after Gelly, Wang, Munos & Teytaud 2006, and Pachi's)."""

from __future__ import annotations

# From above, the empty point in the middle; X and O of either player, x not X, o not O, ? any point, a space beyond the edge.
SHAPES = """
XOX XO. XO? .O. XO? XO? ?X? OX? X.? OX? ?X? ?XO ?OX
... ... X.. X.. O.o O.X O.O o.O O.? X.O x.O x.x X.O
??? ?.? x.? ... ?o? ??? ooo ???
"""
LARGEST_SWEPT, REACH, FOLLOWED = 169, 3, 4
LARGEST_NAKADE = 5

Point = tuple[int, int]


def shapes() -> list[list[str]]:
    rows = [line.split() for line in SHAPES.strip().splitlines()]
    rows[2] += ["   "] * (len(rows[0]) - len(rows[2]))
    return [list(shape) for shape in zip(*rows, strict=True)]


class Tactics:
    """stones: 1 the mover's, 2 the other's, 0 empty; a row a list."""

    def __init__(self, stones: list[list[int]], last: Point | None) -> None:
        self.stones, self.last = stones, last
        self.points = {(r, c) for r in range(len(stones)) for c in range(len(stones[0]))}

    def beside(self, point: Point) -> list[Point]:
        r, c = point
        return [p for p in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)) if p in self.points]

    def at(self, point: Point) -> int:
        return self.stones[point[0]][point[1]]

    def chain(self, stone: Point) -> tuple[set[Point], Point | None]:
        """(the chain, as far as it is followed, its only liberty if it has one and is no longer than that)."""
        found = self.followed({stone})
        around = {p for q in found for p in self.beside(q)} - found
        liberties = [p for p in around if self.at(p) == 0]
        whole = all(self.at(p) != self.at(stone) for p in around)
        return found, liberties[0] if whole and len(liberties) == 1 else None

    def followed(self, stones: set[Point]) -> set[Point]:
        """The stones, of one colour, and what of their chains is found. On small boards that is on one way from the
        edges to the middle row and back: of a row what touches the one before it, then all to the right, and REACH to
        the left. On large ones it is what is a few steps away."""
        height, width = len(self.stones), len(self.stones[0])
        found, middle = set(stones), height // 2
        if height * width > LARGEST_SWEPT:
            for _ in range(FOLLOWED):
                found |= {p for q in found for p in self.beside(q) if self.at(p) == self.at(q)}
            return found

        def along(r: int) -> None:
            for step, reach in ((1, width), (-1, REACH)):
                for place in [p for p in found if p[0] == r]:
                    for k in range(1, reach + 1):
                        p = r, place[1] + k * step
                        if p not in self.points or self.at(p) != self.at(place):
                            break
                        found.add(p)

        inwards = [(r, [r - 1]) for r in range(middle)] + [(r, [r + 1]) for r in range(height - 1, middle, -1)]
        back = [(r, [r + 1]) for r in range(middle - 1, -1, -1)] + [(r, [r - 1]) for r in range(middle + 1, height)]
        for r, before in [*inwards, (middle, [middle - 1, middle + 1]), *back]:
            colour = {self.at(p) for p in found}
            near = {(r, c) for b in before for c in range(width) if (b, c) in found}
            found |= {p for p in near if self.at(p) in colour}
            along(r)
        return found

    def captures(self) -> set[Point]:
        liberty = self.chain(self.last)[1] if self.last else None
        return {liberty} if liberty else set()

    def escapes(self) -> dict[Point, set[Point]]:
        """Of every own stone beside the last one, where its chain is lengthened."""
        found = {}
        for stone in self.beside(self.last) if self.last else []:
            if self.at(stone) != 1:
                continue
            chain, liberty = self.chain(stone)
            found[stone] = set()
            if liberty:
                around = self.beside(liberty)
                gains = sum(self.at(p) == 0 for p in around) > 1
                if gains or any(self.at(p) == 1 and p not in chain for p in around):
                    found[stone] = {liberty}
        return found

    def self_atari(self, point: Point) -> bool:
        """Does the mover's stone on an empty point, which takes nothing, leave its chain one liberty to no purpose?"""
        after = Tactics([list(row) for row in self.stones], None)
        after.stones[point[0]][point[1]] = 1
        chain, liberty = after.chain(point)
        if not liberty or len(chain) == 1:
            return False
        enclosed = all(p in chain or after.at(p) == 2 for p in after.beside(liberty))
        around = {p for q in chain for p in after.beside(q) if after.at(p) == 2}
        lives = any(after.at(p) == 0 and p != liberty for q in after.followed(around) for p in after.beside(q))
        return not enclosed or lives or len(chain) > LARGEST_NAKADE

    def shapely(self) -> set[Point]:
        if not self.last:
            return set()
        r, c = self.last
        around = {(r + i, c + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} & self.points
        return {p for p in around if self.at(p) == 0 and any(self.fits(p, shape) for shape in shapes())}

    def fits(self, point: Point, shape: list[str]) -> bool:
        for mirrored in (shape, [row[::-1] for row in shape]):
            turned = mirrored
            for _ in range(4):
                turned = ["".join(column) for column in zip(*turned[::-1], strict=True)]
                for x in (1, 2):
                    if all(
                        self.matches((point[0] + i - 1, point[1] + j - 1), turned[i][j], x)
                        for i in range(3)
                        for j in range(3)
                        if (i, j) != (1, 1)
                    ):
                        return True
        return False

    def matches(self, point: Point, sign: str, x: int) -> bool:
        if point not in self.points:
            return sign == " "
        allowed = {"X": {x}, "O": {3 - x}, ".": {0}, "x": {0, 3 - x}, "o": {0, x}, "?": {0, 1, 2}, " ": set()}
        return self.at(point) in allowed[sign]
