"""A game for one as a match of two: each plays a game of his own from the same start, and the higher return wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State

WAIT = "wait"


class RaceState(NamedTuple):
    """Both players' games; the second one's begins when the first one's has ended."""

    first: State
    second: State
    player: jax.Array  # int32, to move


@dataclass(frozen=True)
class Race(Game[RaceState]):
    """Two players of a ``game`` for one. The first plays it to its end, and then the second; as players move in turn,
    the other one waits meanwhile, which is the last action. What each returns is half of the difference between both
    games, so that a search for more than the other has is one for as much as possible.

    Raises UserError for a game of more players.
    """

    game: Game

    name: ClassVar[str] = "race"

    def __post_init__(self) -> None:
        if self.game.num_players != 1:
            raise UserError(f"race: {self.game.spec} has {self.game.num_players} players already")

    @property
    def height(self) -> int:  # type: ignore[override]  # which is a field in other games
        return self.game.height

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.game.width

    @property
    def compiled_as(self) -> Game:
        return Race(self.game.compiled_as)

    @property
    def num_actions(self) -> int:
        return self.wait + 1

    @property
    def wait(self) -> int:
        """The action of who has nothing to do."""
        return self.game.num_actions

    @property
    def max_plies(self) -> int:
        return 4 * self.game.max_plies

    def init(self) -> RaceState:
        start = self.game.init()
        return RaceState(start, start, jnp.int32(0))

    def current_player(self, state: RaceState) -> jax.Array:
        return state.player

    def own(self, state: RaceState) -> State:
        """The game of the player to move."""
        return jax.tree.map(lambda one, other: jnp.where(state.player == 1, other, one), state.first, state.second)

    def _plays(self, state: RaceState) -> jax.Array:
        """bool: has the player to move something to do?"""
        return self.game.is_terminal(state.first) == (state.player == 1)

    def step(self, state: RaceState, action: jax.Array) -> RaceState:
        after = self.game.step(self.own(state), jnp.minimum(action, self.wait - 1))
        moves = self._plays(state) & (action < self.wait) & ~self.is_terminal(state)

        def put(player: int, old: State) -> State:
            return jax.tree.map(lambda new, was: jnp.where(moves & (state.player == player), new, was), after, old)

        turn = jnp.where(self.is_terminal(state), state.player, 1 - state.player)
        return RaceState(put(0, state.first), put(1, state.second), turn)

    def legal_action_mask(self, state: RaceState) -> jax.Array:
        plays = self._plays(state)
        own = self.game.legal_action_mask(self.own(state)) & plays
        return jnp.append(own, ~plays) & ~self.is_terminal(state)

    def is_terminal(self, state: RaceState) -> jax.Array:
        return self.game.is_terminal(state.first) & self.game.is_terminal(state.second)

    def returns(self, state: RaceState) -> jax.Array:
        first, second = (self.game.returns(one)[0].astype(jnp.float32) for one in (state.first, state.second))
        ahead = jnp.where(self.is_terminal(state), (first - second) / 2, 0.0)
        return jnp.stack([ahead, -ahead])

    def observe(self, state: RaceState) -> jax.Array:
        """The planes of the own game, and one of what the other has got (0 before the end of his)."""
        planes = self.game.observe(self.own(state)).astype(jnp.float32)
        first, second = (self.game.returns(one)[0] for one in (state.first, state.second))
        got = jnp.where(state.player == 1, first, second).astype(jnp.float32)
        return jnp.concatenate([planes, jnp.broadcast_to(got, (*planes.shape[:2], 1))], axis=-1)

    def heuristic(self, state: RaceState) -> jax.Array:
        def worth(one: State) -> jax.Array:
            return jnp.where(self.game.is_terminal(one), self.game.returns(one)[0], self.game.heuristic(one))

        ahead = (worth(state.first) - worth(state.second)).astype(jnp.float32) / 2
        return jnp.where(state.player == 1, -ahead, ahead)

    def without_history(self, state: RaceState) -> RaceState:
        first, second = map(self.game.without_history, (state.first, state.second))
        return RaceState(first, second, state.player)

    @property
    def family(self) -> str:
        return f"race:{self.game.family}"

    @property
    def actions_are(self) -> Literal["points", "columns", "dense"]:
        return "dense"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        points, actions = self.game.symmetries
        return points, np.pad(actions, ((0, 0), (0, 1)), constant_values=self.wait)

    @property
    def spec(self) -> str:
        return f"race:{self.game.spec}"

    def stones(self, state: RaceState) -> np.ndarray:
        """The game that was moved in last."""
        return self.game.stones(self._shown(state))

    def _shown(self, state: RaceState) -> State:
        begun = jax.tree.map(lambda now, start: not np.array_equal(now, start), state.second, self.game.init())
        return state.second if any(jax.tree.leaves(begun)) else state.first

    def action_point(self, state: RaceState | None, action: int) -> tuple[int, int] | None:
        return None if action == self.wait else self.game.action_point(state and self.own(state), action)

    def last_point(self, state: RaceState, action: int) -> tuple[int, int] | None:
        return None if action == self.wait else self.game.last_point(self._shown(state), action)

    def point_action(self, point: tuple[int, int] | None) -> int:
        return self.wait if point is None else self.game.point_action(point)

    def action_text(self, action: int) -> str:
        return WAIT if action == self.wait else self.game.action_text(action)

    def point_text(self, point: tuple[int, int] | None) -> str:
        return WAIT if point is None else self.game.point_text(point)

    def parse_action(self, text: str) -> int:
        return self.wait if text.strip().lower() == WAIT else self.game.parse_action(text)


def for_two(game: Game) -> Game:
    """The game itself, or a race at a game for one. Raises UserError for more than two players."""
    if game.num_players > 2:
        raise UserError(f"{game.spec} has {game.num_players} players; matches are of two")
    return Race(game) if game.num_players == 1 else game
