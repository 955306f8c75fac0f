"""What a stronger random player of Go looks at first: the fight around the last move.

After MoGo's playouts (Gelly, Wang, Munos & Teytaud 2006, section 3.2): take the last stone's chain if it has one
liberty, or lengthen a chain of one's own beside it that has one; else play where one of MoGo's shapes is beside the
last stone; else anywhere. No move puts its own chain in atari but to throw in a stone or to kill an eye, as in Pachi
(Baudis & Gailly 2011). Everything is elementwise over lanes, for few kernels: chains are followed as far as
that takes no loop, and the shapes are matched in a window around the last stone, whose rows lie side by side in one
word.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb

# How far a chain is followed; of one that is not found whole nothing is known, and nothing done.
LARGEST_SWEPT = 169  # points of a board that is swept, to three lower columns at once
REACH = 3
FOLLOWED = 4  # steps on larger boards
LARGEST_NAKADE = 5  # stones that are given up inside an eye; one of more points lives

# Shapes around an empty point, from above, rows by "/": X and O of either player, "." empty, x not X, o not O, ? any
# point of the board, "-" beyond its edge (Gelly et al. 2006, figures 2 and 3: hane, cut, edge).
SHAPES = (
    "XOX/. ./???", "XO./. ./?.?", "XO?/X ./x.?", ".O./X ./...", "XO?/O o/?o?", "XO?/O X/???", "?X?/O O/ooo",
    "OX?/o O/???", "X.?/O ?/---", "OX?/X O/---", "?X?/x O/---", "?XO/x x/---", "?OX/X O/---",
)  # fmt: skip

Term: TypeAlias = tuple[tuple[int, int], str]  # (down, right) of the empty point, and what is there: X, O, x, o or "."


class Last(NamedTuple):
    """The last stone, of each lane; nowhere after a pass."""

    row: jax.Array  # as wide as the boards' rows
    bit: jax.Array  # 0 after a pass

    @classmethod
    def of(cls, move: bb.Rows) -> Last:
        """Of a board with one stone or none."""
        nothing = jnp.zeros_like(move[0])
        rows = [jnp.where(x != 0, jnp.full_like(x, r), nothing) for r, x in enumerate(move)]
        return cls(functools.reduce(operator.or_, rows), functools.reduce(operator.or_, move))


def preferred(own: bb.Rows, opp: bb.Rows, last: Last, candidates: bb.Rows, bits: jax.Array, width: int) -> bb.Rows:
    """Of the points to choose from those to choose from first; all if there are none.

    own, opp: of the player to move and the other. bits: uint32 random bits, of which the lower half is used: no rule
    holds always.
    """
    window = Window(own, opp, last, width)
    urgent = bb.both(_urgent(own, opp, window, bits >> 4, width), candidates)
    shapely = bb.both(window.on_board(_shapely(window)), candidates)
    first = bb.choose(bb.some(urgent), urgent, shapely)
    return bb.choose(((bits & 15) > 0) & bb.some(first), first, candidates)


class Window:
    """Rows and columns -2 to 2 around the last stone: of every row five bits, column -2 the lowest; beyond the board
    there is nothing."""

    def __init__(self, own: bb.Rows, opp: bb.Rows, last: Last, width: int) -> None:
        self.height, self.width, self.last = len(own), width, last
        two = jnp.full_like(last.bit, 2)
        column = jax.lax.population_count(last.bit - jnp.ones_like(last.bit))  # without a stone of no consequence
        self._left, self._right = two - jnp.minimum(column, two), column - jnp.minimum(column, two)
        self._at = [(last.row == r) & (last.bit != 0) for r in range(self.height)]
        self.own, self.opp = self._of(own), self._of(opp)
        columns = self._cut(jnp.full_like(last.bit, bb.full_row(width)))
        inside = [functools.reduce(operator.or_, self._near(k), jnp.bool_(False)) for k in range(-2, 3)]
        self.board = [jnp.where(here, columns, jnp.zeros_like(columns)) for here in inside]

    def _near(self, k: int) -> list[jax.Array]:
        """Is the last stone in this row, of those that have a row ``k`` below."""
        return [here for r, here in enumerate(self._at) if 0 <= r + k < self.height]

    def _cut(self, row: jax.Array) -> jax.Array:
        return ((row << self._left) >> self._right) & 31

    def _of(self, board: bb.Rows) -> list[jax.Array]:
        nothing, rows = jnp.zeros_like(self.last.bit), []
        for k in range(-2, 3):
            row = nothing
            for r, here in enumerate(self._at):
                if 0 <= r + k < self.height:
                    row = row | jnp.where(here, board[r + k], nothing)
            rows.append(self._cut(row))
        return rows

    def on_board(self, rows: list[jax.Array]) -> bb.Rows:
        """The window's rows -1 to 1 where they are on the board."""
        nothing = jnp.zeros_like(self.last.bit)
        back = [(row << self._right) >> self._left for row in rows]
        out = []
        for r in range(self.height):
            row = nothing
            for k, beside in zip((-1, 0, 1), back, strict=True):
                if 0 <= r - k < self.height:
                    row = row | jnp.where(self._at[r - k], beside, nothing)
            out.append(row)
        return out


def _urgent(own: bb.Rows, opp: bb.Rows, window: Window, bits: jax.Array, width: int) -> bb.Rows:
    """Where the last stone's chain is taken, or a chain beside it lengthened, one by chance of several."""
    empty = bb.complement(bb.either(own, opp), width)
    nothing = jnp.zeros_like(own[0])
    stone = window.on_board([nothing, nothing + 4, nothing])
    captures, _ = _only_liberty(stone, opp, empty, width)
    above, beside, below = window.own[1:4]
    first, second = (above & 4) | (beside & 2), (below & 4) | (beside & 8)  # two of the four sides, and the others
    turned = (bits & 1) > 0
    mine = jnp.where(jnp.where(turned, second, first) != 0, turned, ~turned)  # those where there is a stone
    sides = jnp.where(mine, (below & 4) != 0, (above & 4) != 0)  # up or down, else along
    upright = sides & (((bits & 2) > 0) | ~(jnp.where(mine, beside & 8, beside & 2) != 0))
    along = jnp.where(mine, beside & 8, beside & 2)
    mate = window.on_board([
        jnp.where(upright & ~mine, above & 4, nothing),
        jnp.where(upright, nothing, along),
        jnp.where(upright & mine, below & 4, nothing),
    ])  # fmt: skip
    liberty, chain = _only_liberty(mate, own, empty, width)
    around = _beside(liberty)
    gains = bb.count(bb.both(around, empty)) > 1  # liberties for one
    joins = bb.some(bb.both(around, bb.without(own, chain)))
    return bb.either(captures, bb.only_if(gains | joins, liberty))


def self_atari(move: bb.Rows, own: bb.Rows, opp: bb.Rows, width: int) -> jax.Array:
    """bool [B]: would the move, which takes nothing, leave its chain a single liberty?

    A single stone may be a throw-in. Of up to five stones the liberty may be the last point of an eye that they fill,
    which is how an eye is killed (nakade). Then nothing but the chain and its opponents is beside it, and these have no
    other liberty. In a seki those around the chain have others. Neither counts.
    """
    own = bb.either(own, move)
    empty = bb.complement(bb.either(own, opp), width)
    liberty, chain = _only_liberty(move, own, empty, width)
    stones = bb.count(chain)
    leads_on = bb.some(bb.without(bb.both(_beside(liberty), bb.either(empty, own)), chain))
    around = _followed(bb.both(_beside(chain), opp), opp, width)
    lives = bb.some(bb.without(bb.both(_beside(around), empty), liberty))
    return bb.some(liberty) & (stones > 1) & (leads_on | lives | (stones > LARGEST_NAKADE))


def _followed(stones: bb.Rows, colour: bb.Rows, width: int) -> bb.Rows:
    """The stones, and what of their chains is found on one way over the board and back. On large boards, where that
    takes too long, what is a few steps away."""
    if len(stones) * width <= LARGEST_SWEPT:
        return bb.sweep(stones, colour, width, REACH)
    for _ in range(FOLLOWED):
        stones = bb.either(stones, bb.both(_beside(stones), colour))
    return stones


def _beside(board: bb.Rows) -> bb.Rows:
    """Every point beside a set point, and bits beyond the board."""
    return [
        (row << 1) | (row >> 1) | above | below
        for row, above, below in zip(board, bb.lower(board), bb.higher(board), strict=True)
    ]


def _only_liberty(stone: bb.Rows, colour: bb.Rows, empty: bb.Rows, width: int) -> tuple[bb.Rows, bb.Rows]:
    """(the only liberty of the chain of ``stone``, or nothing; the chain as far as it has been followed)."""
    chain = _followed(stone, colour, width)
    around = _beside(chain)
    liberties = bb.both(around, empty)
    whole = ~bb.some(bb.without(bb.both(around, colour), chain))
    return bb.only_if(whole & (bb.count(liberties) == 1), liberties), chain


def _shapely(window: Window) -> list[jax.Array]:
    """The window's rows -1 to 1: the empty points among the eight around the last stone at which a shape is."""

    @functools.cache
    def joined(plane: str, down: int) -> jax.Array:
        rows = {"X": window.own, "O": window.opp, "B": window.board}[plane][1 + down : 4 + down]
        return rows[0] | rows[1] << 5 | rows[2] << 10

    @functools.cache
    def seen(plane: str, down: int, right: int) -> jax.Array:
        """What each of the nine points in the middle has that far away, five bits a row in one word."""
        return joined(plane, down) >> right if right > 0 else joined(plane, down) << -right

    @functools.cache
    def term(place: tuple[int, int], sign: str) -> jax.Array:
        if sign == ".":
            return ~(seen("X", *place) | seen("O", *place))
        return seen(sign, *place) if sign in "XO" else ~seen(sign.upper(), *place)

    @functools.cache
    def matched(shapes: frozenset[frozenset[Term]]) -> jax.Array:
        """Any of the shapes: what most have in common is asked once."""
        numbers = Counter(t for shape in shapes for t in shape)
        common = max(sorted(numbers), key=numbers.__getitem__)
        having = frozenset(shape - {common} for shape in shapes if common in shape)
        others = frozenset(shape for shape in shapes if common not in shape)
        found = term(*common) if frozenset() in having else term(*common) & matched(having)
        return found | matched(others) if others else found

    found = jnp.zeros_like(window.last.bit)
    for beyond, shapes in turned_shapes().items():
        inside = [seen("B", r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) not in beyond]
        outside = [~seen("B", *place) for place in sorted(beyond)[1:2]]  # the middle one: a side is out as a whole
        found = found | (functools.reduce(operator.and_, inside + outside) & matched(shapes))
    found = found & term((0, 0), ".")
    return [(found >> (5 * k)) & 0b01110 for k in range(3)]


@functools.cache
def turned_shapes() -> dict[frozenset[tuple[int, int]], frozenset[frozenset[Term]]]:
    """The shapes in both colours, turned and mirrored, by what lies beyond the edge around them."""
    places = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1)]
    swap = str.maketrans("XOxo", "OXox")
    found: dict[frozenset[tuple[int, int]], set[frozenset[Term]]] = {}
    for shape in SHAPES:
        for text in (shape, shape.translate(swap)):
            signs = dict(zip(places, text.replace("/", ""), strict=True))
            del signs[0, 0]
            for _ in range(4):
                signs = {(c, -r): sign for (r, c), sign in signs.items()}
                for turned in (signs, {(r, -c): sign for (r, c), sign in signs.items()}):
                    beyond = frozenset(place for place, sign in turned.items() if sign == "-")
                    terms = frozenset(item for item in turned.items() if item[1] not in "-?")
                    found.setdefault(beyond, set()).add(terms)
    return {beyond: frozenset(shapes) for beyond, shapes in sorted(found.items(), key=lambda item: sorted(item[0]))}
