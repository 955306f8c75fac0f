"""Games as environments for reinforcement learning, with the interface of pgx (Koyamada et al. 2023).

    env = env("go:9")
    state = jax.vmap(env.init)(keys)
    state = jax.vmap(auto_reset(env.step, env.init))(state, actions, keys)

What is written for ``pgx.make`` runs with these: names, shapes, dtypes and the rules of ending are pgx's. So are the
observations of the games that pgx has too (Go, connect four, tic-tac-toe), bit by bit. pgx itself is not needed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.lane_loops import where_needed
from jubango.sgf_games.environments.games import (
    ConnectFourOfEnv,
    GoOfEnv,
    GoStateOfEnv,
    MnkOfEnv,
    Observation,
    as_words,
    look_again,
    planes_seen,
    seen_by_the_other,
)
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.rules.go.area import area_margin
from jubango.sgf_games.rules.go.board import GoBoard, empty_board, legal_points, play
from jubango.sgf_games.rules.go.go import Go
from jubango.sgf_games.rules.go.moves import first_point
from jubango.sgf_games.rules.go.state import GoState, no_trail
from jubango.sgf_games.rules.lines.connect_four import ConnectFour
from jubango.sgf_games.rules.lines.mnk import LineGame, LineState, Mnk

ILLEGAL_ACTION_PENALTY = -1.0


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "current_player", "observation", "rewards", "terminated", "truncated", "legal_action_mask", "_step_count",
        "_first", "_x", "_past",
    ],
    meta_fields=[],
)  # fmt: skip
@dataclass(frozen=True)
class EnvState:
    """One game of an environment, as pgx's ``State``; N is the number of players, A that of actions."""

    current_player: jax.Array  # int32: who is to move, by name (not by colour)
    observation: jax.Array  # of the player to move
    rewards: jax.Array  # float32 [N], by name: what the last step gave
    terminated: jax.Array  # bool
    truncated: jax.Array  # bool: never set here; wrappers may
    legal_action_mask: jax.Array  # bool [A]; all true at the end, so that probabilities can be normalised
    _step_count: jax.Array  # int32
    _first: jax.Array  # int32: the name of the player who moved first
    _x: State  # the position
    _past: State  # a record by move that positions are compared with; nothing beyond the present move is read of it

    def replace(self, **changes: State) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)


class GameStatus(NamedTuple):
    """What the rules say of a position."""

    player: jax.Array  # int32, the seat to move; 0 moves first
    legal: jax.Array  # bool [A]
    over: jax.Array  # bool
    returns: jax.Array  # float32 [N], by seat


class Env:
    """An environment; its methods are pure functions of one game: ``jax.vmap``, ``jax.jit`` and ``lax.scan`` them."""

    version = "v0"  # changes when observations or rules do

    def __init__(self, game: Game) -> None:
        self.game = game

    def __repr__(self) -> str:
        return f'env("{self.game.spec}")'

    @property
    def id(self) -> str:
        """pgx's name of the environment where pgx has the same one, else the spec of the game."""
        return self.game.spec

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self.game.num_players

    @property
    def num_actions(self) -> int:
        """The number of actions, A."""
        return self.game.num_actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation: (height, width, planes)."""
        return jax.eval_shape(self.init, jax.random.key(0)).observation.shape

    def init(self, key: jax.Array) -> EnvState:
        """The first state of a new game.

        key: a JAX key; it decides which player moves first, as in pgx.
        """
        players = self.num_players
        if players == 2:
            first = jax.random.bernoulli(key).astype(jnp.int32)
        else:
            first = jax.random.randint(key, (), 0, players, jnp.int32)
        x, past, outcome = self._begin()
        return EnvState(
            current_player=self._name(outcome.player, first),
            observation=self._observe(x),
            rewards=jnp.zeros(players, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=outcome.legal,
            _step_count=jnp.int32(0),
            _first=first,
            _x=x,
            _past=past,
        )

    def step(self, state: EnvState, action: jax.typing.ArrayLike, key: jax.Array | None = None) -> EnvState:
        """The state after ``action``.

        An illegal action ends the game and leaves the board: the player gets -1, everybody else N - 1. A finished game
        stays as it is and rewards nobody.

        state: one state; ``jax.vmap`` for more.
        action: an integer from 0 to A - 1.
        key: taken as pgx's step takes one, and not used: these games have no chance.
        """
        del key
        action = jnp.asarray(action, jnp.int32)
        over = state.terminated | state.truncated
        illegal = ~state.legal_action_mask[action] & ~over
        x, past, outcome = self._advance(state._x, state._past, action, ~over & ~illegal)
        names = jnp.arange(self.num_players)
        guilty = names == state.current_player
        penalties = jnp.where(guilty, ILLEGAL_ACTION_PENALTY, -ILLEGAL_ACTION_PENALTY * (self.num_players - 1))
        earned = jnp.where(outcome.over, outcome.returns[(names - state._first) % self.num_players], 0.0)
        terminated = jnp.where(over, state.terminated, illegal | outcome.over)
        rewards = jnp.where(over, 0.0, jnp.where(illegal, penalties, earned)).astype(jnp.float32)
        to_move = jnp.where(illegal, state.current_player + 1, outcome.player + state._first) % self.num_players
        return EnvState(
            current_player=jnp.where(over, state.current_player, to_move).astype(jnp.int32),
            observation=self._observe(x),
            rewards=rewards,
            terminated=terminated,
            truncated=state.truncated,
            legal_action_mask=jnp.where(over, state.legal_action_mask, outcome.legal) | terminated,
            _step_count=state._step_count + jnp.where(over, 0, 1),
            _first=state._first,
            _x=x,
            _past=past,
        )

    def observe(self, state: EnvState, player_id: jax.typing.ArrayLike | None = None) -> jax.Array:
        """float [H, W, planes]: what a player sees.

        player_id: an integer; by default the player to move.

        Raises UserError for games that show a position to the player to move only.
        """
        if player_id is None:
            return self._observe(state._x)
        return jnp.where(
            player_id == state.current_player, self._observe(state._x), self._observe(self._turned(state._x))
        )

    def position(self, state: EnvState) -> State:
        """The game's own state inside of a state, with what the rules need of its past: what a search begins with."""
        return game_state(self.game, state)

    def _name(self, seat: jax.Array, first: jax.Array) -> jax.Array:
        return ((seat + first) % self.num_players).astype(jnp.int32)

    # -- what differs between games: the position ``x`` ----------------------------------------

    def _begin(self) -> tuple[State, State, GameStatus]:
        """(x, past, what the rules say)."""
        x = self.game.init()
        return x, (), self._look(x)

    def _advance(self, x: State, past: State, action: jax.Array, going: jax.Array) -> tuple[State, State, GameStatus]:
        """The same after a legal action, and as it was where not ``going``."""
        x = jax.tree.map(lambda new, old: jnp.where(going, new, old), self.game.step(x, action), x)
        return x, past, self._look(x)

    def _look(self, x: State) -> GameStatus:
        game = self.game
        return GameStatus(game.current_player(x), game.legal_action_mask(x), game.is_terminal(x), game.returns(x))

    def _observe(self, x: State) -> jax.Array:
        """The observation, which is ``game.observe`` of :meth:`position`."""
        return self.game.observe(x)

    def _turned(self, x: State) -> State:
        """The position as the other player would see it."""
        raise UserError(f"{self.game.spec}: a position is shown to the player to move only; leave player_id out")


class LineEnv(Env):
    """Games of stones in a row."""

    @property
    def id(self) -> str:
        return "connect_four" if self.game.spec == ConnectFour().spec else self.game.spec

    def _turned(self, x: LineState) -> LineState:
        return x._replace(own=x.opp, opp=x.own, player=1 - x.player)


class GoPosition(NamedTuple):
    """Without what the rules need of the past, which is the key of the board after each move: uint32 [max_plies] twice,
    or nothing where the rules themselves forbid repetition."""

    board: GoBoard | GoState
    seen: jax.Array  # as in GoStateOfEnv
    last: jax.Array  # int32, the point of the last move, or -1
    passes: jax.Array  # int32, in a row
    ply: jax.Array  # int32


class GoEnv(Env):
    """Go, by rules that know which chains are safe."""

    version = "v1"
    game: GoOfEnv

    def __init__(self, game: GoOfEnv) -> None:
        super().__init__(game)
        self.max_plies = game.max_plies
        self._repetition_loses = game.ko == "simple" and not game.suicide
        self._rules = Go(game.width, game.height, game.komi, game.ko, game.suicide)

    @property
    def id(self) -> str:
        width, height = self.game.width, self.game.height
        return f"go_{width}x{height}" if self.game.spec == Go(width, height).spec else self.game.spec

    def _begin(self) -> tuple[GoPosition, State, GameStatus]:
        game = self.game
        if self._repetition_loses:
            board: GoBoard | GoState = empty_board(game.width, game.height)
        else:
            board = self._rules.init()._replace(trail=no_trail(game.width, game.height, 0, 0))
        past = (jnp.zeros(self.max_plies, jnp.uint32),) * 2 if self._repetition_loses else ()
        seen = jnp.zeros(game.height * game.width if game.pgx_planes else 0, jnp.uint32)
        x = GoPosition(board, seen, jnp.int32(-1), jnp.int32(0), jnp.int32(0))
        return x, past, GameStatus(jnp.int32(0), self._legal(x), jnp.bool_(False), jnp.zeros(2, jnp.float32))

    def _advance(
        self, x: GoPosition, past: State, action: jax.Array, going: jax.Array
    ) -> tuple[GoPosition, State, GameStatus]:
        game = self.game
        passed = action == game.pass_action
        repeats = jnp.bool_(False)
        board: GoBoard | GoState
        if isinstance(x.board, GoBoard):
            board, key = play(x.board, action, x.ply % 2 == 0, going, game.width)
            own, opp = board.own, board.opp
            at = jnp.where(going, x.ply, self.max_plies)
            past = tuple(words.at[at].set(word, mode="drop") for words, word in zip(past, key, strict=True))
            known = (past[0] == key[0]) & (past[1] == key[1]) & (jnp.arange(self.max_plies) < x.ply)
            repeats = going & ~passed & jnp.any(known)
        else:
            after = self._rules.step(x.board, action)
            new: GoState = jax.tree.map(lambda a, b: jnp.where(going, a, b), after, x.board)
            own, opp = bb.unpack(new.own), bb.unpack(new.opp)
            board = new
        ply = x.ply + going
        passes = jnp.where(going, jnp.where(passed, x.passes + 1, 0), x.passes)
        last = jnp.where(going, jnp.where(passed, -1, action), x.last)
        player = ply % 2
        seen = x.seen
        if game.pgx_planes:
            seen = look_again(seen, as_words(own, game.width), as_words(opp, game.width), player, going)
        x = GoPosition(board, seen, last, passes, ply)
        over = (passes >= 2) | (ply >= self.max_plies) | repeats
        # An unfinished game is an empty board here, which settles at once.
        finished = bb.only_if(over, own), bb.only_if(over, opp)
        margin = where_needed(over, functools.partial(area_margin, width=game.width), *finished)
        for_mover = jnp.where(repeats, 1.0, jnp.sign(margin - jnp.where(player == 0, game.komi, -game.komi)))
        black = jnp.where(player == 0, for_mover, -for_mover).astype(jnp.float32)
        return x, past, GameStatus(player, self._legal(x), over, jnp.stack([black, -black]))

    def _legal(self, x: GoPosition) -> jax.Array:
        if isinstance(x.board, GoState):
            return self._rules.legal_action_mask(x.board)
        return jnp.append(legal_points(x.board, self.game.width), True)

    def _observe(self, x: GoPosition) -> jax.Array:
        game = self.game
        return planes_seen(x.seen, game.height, game.width) if game.pgx_planes else game.observe(_go_state(game, x, ()))

    def _turned(self, x: GoPosition) -> GoPosition:
        return x._replace(seen=seen_by_the_other(x.seen)) if self.game.pgx_planes else super()._turned(x)


def _go_state(game: GoOfEnv, x: GoPosition, past: State) -> GoStateOfEnv:
    """The position as ``game`` has it."""
    met, player, komi = jnp.zeros((0, 2), jnp.uint32), x.ply % 2, jnp.float32(game.komi)
    if isinstance(x.board, GoState):
        return GoStateOfEnv(*x.board._replace(passes=x.passes, komi=komi), x.seen, met)
    board = x.board
    ko = jnp.where(bb.some(board.ko), first_point(board.ko, game.width), -1)
    if past:
        met = jnp.stack(past, axis=-1)
    nothing = jnp.zeros((0, 2), jnp.uint32)
    own, opp = bb.pack(board.own), bb.pack(board.opp)
    trail = no_trail(game.width, game.height, 0, 0)
    return GoStateOfEnv(own, opp, ko, x.last, x.passes, player, x.ply, komi, nothing, trail, x.seen, met)


def game_state(game: Game, state: EnvState) -> State:
    """The position of one ``state`` of an environment as ``game``, the environment's, has it, with what the rules need
    of its past. Raises UserError for a game that shows positions otherwise than the environment."""
    x = state._x
    if isinstance(x, GoPosition):
        x = _go_state(game, x, state._past) if isinstance(game, GoOfEnv) else ()
    seen = jax.eval_shape(game.observe, x) if jax.tree.leaves(x) else None
    if seen is None or (seen.shape, seen.dtype) != (state.observation.shape, state.observation.dtype):
        raise UserError(f"{game.spec}: these are states of its environment; make the search of that, Search(env, ...)")
    return x


def env(spec: str | Game, observation: Observation = "pgx") -> Env:
    """The environment of a game.

    spec: a spec string (``go:9``, ``connect_four``), or a game.
    observation: what its states show. ``"pgx"``: what pgx shows of Go, connect four and tic-tac-toe, and of other games
        what their own ``observe`` says. ``"game"``: the ``observe`` of every game, which is what jubango's networks
        see.

    Raises UserError for a spec that names no game, and for another ``observation``.
    """
    if observation not in ("pgx", "game"):
        raise UserError(f'env: observation="{observation}" must be "pgx" or "game"')
    game = make_game(spec) if isinstance(spec, str) else spec
    if type(game) is Go:
        return GoEnv(GoOfEnv(game.width, game.height, game.komi, game.ko, game.suicide, observation))
    if isinstance(game, GoOfEnv):
        return GoEnv(game)
    if observation == "pgx" and type(game) is ConnectFour:
        game = ConnectFourOfEnv(game.width, game.height, game.k)
    elif observation == "pgx" and game == Mnk(3, 3, 3):
        game = MnkOfEnv(3, 3, 3)
    return LineEnv(game) if isinstance(game, LineGame) else Env(game)


class Resettable(Protocol):
    """What :func:`auto_reset` needs of a state, ours or of pgx."""

    @property
    def rewards(self) -> jax.Array: ...

    @property
    def terminated(self) -> jax.Array: ...

    @property
    def truncated(self) -> jax.Array: ...

    def replace(self, **changes: jax.Array) -> Self: ...


S = TypeVar("S", bound=Resettable)


def auto_reset(step: Callable[..., S], init: Callable[[jax.Array], S]) -> Callable[[S, jax.Array, jax.Array], S]:
    """``step(state, action, key)`` that begins a new game where one ends, as ``pgx.experimental.wrappers.auto_reset``.

    The state is then that of the new game, while ``rewards``, ``terminated`` and ``truncated`` are those of the game
    that ended.

    step, init: an environment's, or those of an environment of pgx.
    """

    def stepped(state: S, action: jax.Array, key: jax.Array) -> S:
        step_key, init_key = jax.random.split(key)
        no = jnp.zeros_like(state.terminated)
        after = step(state.replace(terminated=no, truncated=no), action, step_key)
        over = after.terminated | after.truncated
        ended = {"rewards": after.rewards, "terminated": after.terminated, "truncated": after.truncated}
        if isinstance(after, EnvState):
            ended["_past"] = after._past  # large, and never read ahead: not worth clearing
        fresh = init(init_key).replace(**ended)
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, after)

    return stepped
