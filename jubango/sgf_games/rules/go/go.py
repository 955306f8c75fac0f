"""Go: any board from 1x1 to 25x25, area scoring, exact ko rules, suicide by choice.

Where rule sets are silent or differ, this is what holds here:
- A move that would take back nothing but itself (the suicide of a lone stone) is never legal:
  it changes nothing on the board. Larger suicides are legal with ``suicide=true``.
- simple ko: after the capture of exactly one stone by a lone stone left with one liberty, that
  liberty is forbidden for one move. positional: no move may recreate an earlier position;
  situational: none with the same player to move. A pass never repeats.
- Two passes in a row end the game; so does move ``max_plies`` (3 times the points, at least
  100), which no real game reaches and which makes endless triple kos finite.
- Area scoring, everything on the board alive: stones plus the empty regions that touch one
  colour only, then komi for White. A margin of zero is a draw.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import ClassVar, Literal, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.lane_loops import settled, where_needed
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.bare_game import EndlessGames
from jubango.sgf_games.rules.compiled import rules
from jubango.sgf_games.rules.coordinates import Point, star_points
from jubango.sgf_games.rules.game import Game, square_symmetries
from jubango.sgf_games.rules.go.area import area_margin, areas
from jubango.sgf_games.rules.go.features import PLANES, planes
from jubango.sgf_games.rules.go.katago_inputs import InputRules, katago_inputs
from jubango.sgf_games.rules.go.moves import allowed_points, chains_with_two_liberties, placing
from jubango.sgf_games.rules.go.patterns import classes, patterns
from jubango.sgf_games.rules.go.playout import endless, playout
from jubango.sgf_games.rules.go.scoring import dead_by_playouts, only, shares_by_playouts
from jubango.sgf_games.rules.go.state import GoState, further, no_trail

KO_RULES = ("simple", "positional", "situational")


class Komi(Enum):
    """In the place of a komi in a game that is compiled for all of them. Reckoning with it is a TypeError."""

    OF_STATE = "the state's"

    def __format__(self, _: str) -> str:
        return "?"


class _End(NamedTuple):
    """The ends of random games."""

    own: bb.Rows  # of the player to move
    opp: bb.Rows
    blacks_turn: jax.Array  # bool [B]
    first: tuple[bb.Rows, bb.Rows] | None  # if asked for: points that the player to move took first, the other


def _returns(black: jax.Array) -> jax.Array:
    """float32 [players, B]: who has won, by Black's margin."""
    return jnp.stack([jnp.sign(black), -jnp.sign(black)])


@dataclass(frozen=True)
class Go(Game[GoState]):
    """Parameters of the game; see the module for the rules."""

    width: int = 19
    height: int = 19
    komi: float = 7.5
    ko: str = "simple"
    suicide: bool = False

    name: ClassVar[str] = "go"
    counts_points: ClassVar[bool] = True
    on_crossings: ClassVar[bool] = True
    dialect: ClassVar[Literal["", "go"]] = "go"
    strongest_bot: ClassVar[str] = "patterns:simulations=12800"

    def __post_init__(self) -> None:
        if not (1 <= self.width <= 25 and 1 <= self.height <= 25):
            raise UserError(f"go: {self.width}x{self.height} is no board; sizes go from 1 to 25")
        if self.ko not in KO_RULES:
            raise UserError(f'go: ko="{self.ko}" is unknown; known: {", ".join(KO_RULES)}')
        if self.komi is not Komi.OF_STATE and not (abs(self.komi) <= 1000 and float(2 * self.komi).is_integer()):
            raise UserError(f"go: komi={self.komi} must be a whole or half number up to 1000")

    # -- the rules ---------------------------------------------------------------------------

    @property
    def compiled_as(self) -> Go:
        return replace(self, komi=cast(float, Komi.OF_STATE))

    @property
    def num_actions(self) -> int:
        return self.width * self.height + 1

    @property
    def pass_action(self) -> int:
        return self.width * self.height

    @property
    def max_plies(self) -> int:
        return max(3 * self.width * self.height, 100)

    def init(self) -> GoState:
        none = np.zeros((self.height, self.width), np.int8)
        return self.set_up(none, player=0)

    def set_up(self, stones: np.ndarray, player: int) -> GoState:
        """The start of a game from given stones (int8 [H, W]: 1 Black, 2 White)."""
        komi = np.float32(np.nan if self.komi is Komi.OF_STATE else self.komi)
        return _first_state(self.compiled_as, stones == 1 + player, stones == 2 - player, player, komi)

    def step(self, state: GoState, action: jax.Array) -> GoState:
        over = self.is_terminal(state)
        played = (jnp.asarray(action, jnp.int32) < self.pass_action) & ~over
        own, opp, ko = self._place(state.own, state.opp, action, played)
        player, ply = 1 - state.player, state.ply + 1
        past = state.past
        if past.shape[0]:
            # An action beyond the last ply is an action on a finished game, dropped below.
            past = past.at[ply].set(self._key(bb.pack(opp), bb.pack(own), player), mode="drop")

        def unless_over(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(over, old, new)

        return GoState(
            own=unless_over(bb.pack(opp), state.own),
            opp=unless_over(bb.pack(own), state.opp),
            ko=unless_over(ko, state.ko),
            last=unless_over(jnp.where(played, jnp.asarray(action, jnp.int32), -1), state.last),
            passes=unless_over(jnp.where(played, 0, state.passes + 1), state.passes),
            player=unless_over(player, state.player),
            ply=unless_over(ply, state.ply),
            komi=state.komi,
            past=unless_over(past, state.past) if past.shape[0] else past,
            trail=jax.tree.map(unless_over, further(state, action), state.trail),
        )

    def legal_action_mask(self, state: GoState) -> jax.Array:
        rows = self._points_allowed(bb.unpack(state.own), bb.unpack(state.opp))
        points = bb.to_bits(bb.pack(rows), self.width)
        index = jnp.arange(points.shape[0])
        points &= index != state.ko
        if state.past.shape[0]:
            points &= ~jax.vmap(lambda action: self._repeats(state, action))(index)
        return jnp.append(points, True) & ~self.is_terminal(state)

    def current_player(self, state: GoState) -> jax.Array:
        return state.player

    def is_terminal(self, state: GoState) -> jax.Array:
        return (state.passes >= 2) | (state.ply >= self.max_plies)

    def returns(self, state: GoState) -> jax.Array:
        black = jnp.where(self.is_terminal(state), jnp.sign(self.margin(state)), 0.0)
        return jnp.stack([black, -black])

    def margin(self, state: GoState) -> jax.Array:
        """float32: Black's area minus White's minus komi, as the position stands."""
        mover = area_margin(bb.unpack(state.own), bb.unpack(state.opp), self.width)
        return jnp.where(state.player == 0, mover, -mover) - state.komi

    def owners(self, state: GoState) -> jax.Array:
        mine, theirs = areas(bb.unpack(state.own), bb.unpack(state.opp), self.width)
        mover = bb.to_bits(bb.pack(mine), self.width).astype(jnp.int8)
        mover -= bb.to_bits(bb.pack(theirs), self.width).astype(jnp.int8)
        return jnp.where(state.player == 0, mover, -mover)

    def heuristic(self, state: GoState) -> jax.Array:
        """The area as the position stands: tanh of four times the margin over the board's points."""
        black = self.margin(state)
        mover = jnp.where(state.player == 0, black, -black)
        return jnp.tanh(4.0 * mover / (self.width * self.height))

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return self.height, self.width, PLANES  # known without tracing a second's worth of liberties

    def observe(self, state: GoState) -> jax.Array:
        """[H, W, 10]: own stones, opponent's stones, the ko point, all ones when Black moves, then what
        :func:`jubango.sgf_games.rules.go.features.planes` says."""
        return planes(state.own, state.opp, state.ko, state.last, state.passes, state.player, state.komi, self.width)

    def without_history(self, state: GoState) -> GoState:
        def nothing(x: jax.Array) -> jax.Array:
            return jnp.zeros((0, *x.shape[1:]), x.dtype)

        return state._replace(past=nothing(state.past), trail=jax.tree.map(nothing, state.trail))

    @property
    def remembering(self) -> Go:
        own = (getattr(self, field.name) for field in fields(Go))
        return RememberingGo(*own) if type(self) is Go else self

    def katago_inputs(self, states: GoState, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        rules = InputRules(self.width, self.height, self.ko, self.suicide)
        return katago_inputs(rules, states, legal)

    def transposition_key(self, state: GoState) -> jax.Array:
        """Of the position, whatever the last move; the komi is that of the whole tree."""
        return super().transposition_key(self.without_history(state)._replace(last=jnp.zeros(0), komi=jnp.zeros(0)))

    @property
    def family(self) -> str:
        return "go"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        points = square_symmetries(self.height, self.width)
        return points, np.pad(points, ((0, 0), (0, 1)), constant_values=self.pass_action)

    @property
    def pattern_classes(self) -> np.ndarray:
        return classes()

    def patterns(self, state: GoState) -> jax.Array:
        """See :mod:`.patterns`."""
        return patterns(state.own, state.opp, state.last, self.width)

    def random_playout(self, states: GoState, seeds: jax.Array) -> jax.Array:
        """Uniformly random moves that never fill an own eye; see :mod:`.playout`."""
        return _returns(self._margin_of(states, self._random_end(states, seeds)))

    def random_playout_with_amaf(self, states: GoState, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self._told_who_was_first(states, self._random_end(states, seeds, amaf=True))

    def tactical_playout(self, states: GoState, seeds: jax.Array) -> jax.Array:
        """Captures, escapes and MoGo's shapes beside the last stone first, no self-atari; see :mod:`.tactics`."""
        return _returns(self._margin_of(states, self._random_end(states, seeds, tactics=True)))

    def tactical_playout_with_firsts(self, states: GoState, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self._told_who_was_first(states, self._random_end(states, seeds, amaf=True, tactics=True))

    def playout_with_owners(self, states: GoState, seeds: jax.Array, tactical: bool) -> tuple[jax.Array, jax.Array]:
        """Points are had by area: those with stones, and what is empty between stones of one colour."""
        end = self._random_end(states, seeds, tactics=tactical)
        mine, theirs = areas(end.own, end.opp, self.width)
        margin = (bb.count(mine) - bb.count(theirs)).astype(jnp.float32)
        return _returns(self._black_margin(states, end, margin)), self._players(end, (mine, theirs))

    def playout_margin(self, states: GoState, seeds: jax.Array) -> jax.Array:
        """float32 [B]: by how much Black has won, komi included, a random game from each position."""
        return self._margin_of(states, self._random_end(states, seeds))

    def endless_games(self) -> EndlessGames:
        return endless(self.width, self.height)

    def _random_end(self, states: GoState, seeds: jax.Array, amaf: bool = False, tactics: bool = False) -> _End:
        own, opp, turn, first = playout(
            bb.unpack(states.own), bb.unpack(states.opp), states.ko, states.passes,
            self.is_terminal(states), seeds, self.width, limit=4 * self.width * self.height + 40, amaf=amaf,
            last=states.last if tactics else None,
        )  # fmt: skip
        return _End(own, opp, (states.player + turn) % 2 == 0, first)

    def _margin_of(self, states: GoState, end: _End) -> jax.Array:
        return self._black_margin(states, end, area_margin(end.own, end.opp, self.width))

    def _black_margin(self, states: GoState, end: _End, movers: jax.Array) -> jax.Array:
        """float32 [B]: Black's margin, komi included; ``movers`` is that of the player to move at the end, without."""
        return jnp.where(end.blacks_turn, movers, -movers) - states.komi

    def _told_who_was_first(self, states: GoState, end: _End) -> tuple[jax.Array, jax.Array]:
        assert end.first is not None
        return _returns(self._margin_of(states, end)), self._players(end, end.first)

    def _players(self, end: _End, points: tuple[bb.Rows, bb.Rows]) -> jax.Array:
        """int32 [A, B]: the player whose each of the ``points`` is, those of the player to move and the other's, or
        -1."""
        mine, theirs = points
        black, white = bb.choose(end.blacks_turn, mine, theirs), bb.choose(end.blacks_turn, theirs, mine)
        owners = bb.owners(black, white, self.width)
        return jnp.pad(owners, ((0, 1), (0, 0)), constant_values=-1)  # passes are nobody's

    # -- hooks -------------------------------------------------------------------------------

    def with_player(self, state: GoState, player: int) -> GoState:
        """The same position with ``player`` to move (records may hold two moves of one colour)."""
        if int(state.player) == player:
            return state
        return state._replace(
            own=state.opp,
            opp=state.own,
            player=jnp.int32(player),
            ko=jnp.int32(-1),
            last=jnp.int32(-1),
            passes=jnp.int32(0),
            trail=no_trail(self.width, self.height),
        )

    def resumed(self, state: GoState, passes: int = 0) -> GoState:
        return state._replace(passes=jnp.minimum(state.passes, passes))

    def why_illegal(self, state: GoState, point: Point | None) -> str:
        if point is None or self.stones(state)[point]:
            return super().why_illegal(state, point)
        simple = rules(replace(self, ko="simple"))
        free = np.asarray(simple.view(self.without_history(state)._replace(ko=jnp.int32(-1))).legal)
        return "ko" if free[self.point_action(point)] else "suicide"

    def dead_stones(self, state: GoState) -> np.ndarray:
        """Chains that random games show to be lost; see ``go.scoring``."""
        return dead_by_playouts(state.own, state.opp, self.width)

    def without_stones(self, state: GoState, dead: np.ndarray) -> GoState:
        own, opp = (only(rows, ~dead) for rows in (state.own, state.opp))
        return state._replace(own=own, opp=opp)

    def owners_by_playouts(self, state: GoState, rounds: int) -> np.ndarray:
        others, own = shares_by_playouts(state.own, state.opp, self.width, rounds)
        return (own - others) * (1 if int(state.player) == 0 else -1)

    @property
    def star_points(self) -> list[Point]:
        return star_points(self.height, self.width)

    @property
    def placing(self) -> Literal["go"] | None:
        return "go" if type(self) is Go else None  # who derives from it may capture otherwise

    @property
    def rule_set(self) -> str:
        if self.ko == "positional" and self.suicide:
            return "TrompTaylor"
        if self.ko == "situational" and self.suicide:
            return "NZ"
        return "AGA" if self.ko == "situational" else "Chinese"

    # -- inside ------------------------------------------------------------------------------

    def _place(
        self, own: jax.Array, opp: jax.Array, action: jax.Array, played: jax.Array
    ) -> tuple[bb.Rows, bb.Rows, jax.Array]:
        """(own, opp, the point that simple ko forbids then, or -1) after a move."""
        put, flood, settle = placing(self.width, self.height)
        return settled(put, flood, settle, bb.unpack(own), bb.unpack(opp), jnp.asarray(action, jnp.int32), played)

    def _points_allowed(self, own: bb.Rows, opp: bb.Rows) -> bb.Rows:
        """Empty points where a stone may go, ko aside."""
        closed, allowed = allowed_points(self.width, self.suicide)
        # A point beside an empty one is free to take; chains matter only to the others.
        needed, own, opp = closed(own, opp)
        own_safe, opp_safe = where_needed(needed, functools.partial(chains_with_two_liberties, self.width), own, opp)
        return allowed(own, opp, own_safe, opp_safe)

    def _key(self, own: jax.Array, opp: jax.Array, player: jax.Array) -> jax.Array:
        """uint32 [2]: a 64-bit key of the position, and of the player to move if situational."""
        black = jnp.where(player == 0, own, opp).astype(jnp.uint32)
        white = jnp.where(player == 0, opp, own).astype(jnp.uint32)
        row = jnp.arange(1, self.height + 1, dtype=jnp.uint32)
        keys = []
        for salt in (0x9E3779B9, 0x85EBCA77):
            mixed = mix(mix(black + row * jnp.uint32(salt)) ^ (white * jnp.uint32(0xC2B2AE3D) + row))
            keys.append(mix(jnp.sum(mix(mixed + jnp.uint32(salt)), dtype=jnp.uint32)))
        key = jnp.stack(keys)
        return key ^ (player.astype(jnp.uint32) if self.ko == "situational" else jnp.uint32(0))

    def _repeats(self, state: GoState, action: jax.Array) -> jax.Array:
        """bool: would this stone recreate a position of the past?"""
        own, opp, _ = self._place(state.own, state.opp, action, jnp.bool_(True))
        key = self._key(bb.pack(opp), bb.pack(own), 1 - state.player)
        known = jnp.arange(state.past.shape[0]) <= state.ply
        return jnp.any(known & jnp.all(state.past == key, axis=-1))

    # -- words and pictures ------------------------------------------------------------------

    @property
    def spec(self) -> str:
        size = f"{self.width}" if self.width == self.height else f"{self.width}x{self.height}"
        parts = [f"go:{size}", f"komi={self.komi:g}"]
        if self.ko != "simple":
            parts.append(f"ko={self.ko}")
        if self.suicide:
            parts.append("suicide=true")
        return ",".join(parts)

    def stones(self, state: GoState) -> np.ndarray:
        return bb.drawn(state.own, state.opp, int(state.player), self.width)

    def open_actions(self, state: GoState) -> np.ndarray:
        """The points of empty regions that touch both colours or none, and of what has the opponent's colour all around
        and more than half of the board. None after a pass: another one ends the game."""
        from scipy.ndimage import binary_dilation, label

        out = np.zeros(self.num_actions, bool)
        if int(state.passes):
            return out
        stones, opponent = self.stones(state), 2 - int(state.player)
        regions, number = label(stones == 0)
        for region in (regions == i for i in range(1, number + 1)):
            beside = set(stones[binary_dilation(region) & ~region].tolist())
            if len(beside) != 1 or (beside == {opponent} and 2 * region.sum() > region.size):
                out[:-1] |= region.ravel()
        return out


@functools.partial(jax.jit, static_argnums=0)
def _first_state(
    game: Go, own: jax.typing.ArrayLike, opp: jax.typing.ArrayLike, player: jax.typing.ArrayLike,
    komi: jax.typing.ArrayLike,
) -> GoState:  # fmt: skip
    """The beginning of a game with stones on the points ``own`` and ``opp``, bool [H, W], of ``player``, who moves."""
    mine, theirs = (bb.from_bits(jnp.asarray(points).reshape(-1), game.width) for points in (own, opp))
    mover = jnp.asarray(player, jnp.int32)
    size = game.max_plies + 1 if game.ko != "simple" else 0
    past = jnp.zeros((size, 2), jnp.uint32)
    if size:
        past = past.at[0].set(game._key(mine, theirs, mover))
    none, zero = jnp.int32(-1), jnp.int32(0)
    trail = no_trail(game.width, game.height)
    return GoState(mine, theirs, none, none, zero, mover, zero, jnp.asarray(komi, jnp.float32), past, trail)


@dataclass(frozen=True)
class RememberingGo(Go):
    """Go for searches whose evaluator looks at the last moves: tree nodes keep them."""

    def without_history(self, state: GoState) -> GoState:
        return super().without_history(state)._replace(trail=state.trail)
