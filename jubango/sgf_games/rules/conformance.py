"""The suite that a game passes: what everything around the rules relies on, checked in random games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import CATALOGUE, as_game, make_game
from jubango.sgf_games.rules.compiled import View, initial_states, rules
from jubango.sgf_games.rules.game import Game, State

MOST_SHOWN = 30  # moves that an error names
LOOKED_INTO = 2  # games of which every move is looked at by itself; of the others the rules alone


def check_game(game: Game | str, games: int = 16, moves: int = 60, seed: int = 0) -> None:
    """Nothing, if ``game`` keeps what searches, records, pages and GTP rely on; else raises UserError.

    The error is of the first thing that is wrong. It names the method, the moves that led to the position, what came
    there and what was expected. All games of the package pass. What no check can know is whether the rules are those
    you mean.

    game: a game or its spec string.
    games: random games, side by side.
    moves: how many moves of each are looked at; all are played to their end.
    seed: of the random moves.

    Raises UserError for the first thing that is wrong.
    """
    game = as_game(game)
    _check_parameters(game)
    _check_shapes(game)
    _check_texts(game)
    _check_symmetries(game)
    _RandomGames(game, games, seed).check(moves)
    _check_playouts(game, games, seed)


# -- what is wrong ---------------------------------------------------------------------------------


def _error(game: Game, method: str, message: str) -> UserError:
    return UserError(f"{type(game).__name__}.{method}: {message}")


def _made(game: Game, method: str, call: Callable[[], Any]) -> Any:
    """What ``call`` returns. Raises UserError for whatever is raised in it."""
    try:
        return call()
    except Exception as error:
        first = (str(error).strip() or "nothing is said").splitlines()[0]
        raise _error(game, method, f"raises {type(error).__name__}: {first}") from error


def _kind(value: Any) -> str:
    """``bool[17]``."""
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


def _trees(one: State, other: State) -> str:
    """How the arrays of two states differ, or nothing."""
    parts = [str(jax.tree.structure(state)) for state in (one, other)]
    if parts[0] != parts[1]:
        return f"its parts are {parts[0]}, those of init() are {parts[1]}"
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(one)]
    for path, a, b in zip(paths, jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if _kind(a) != _kind(b):
            return f"its {path} is {_kind(a)}, that of init() is {_kind(b)}"
    return ""


# -- without a move --------------------------------------------------------------------------------


def _check_parameters(game: Game) -> None:
    for key in ("height", "width", "num_actions", "max_plies", "num_players"):
        value = _made(game, key, lambda key=key: getattr(game, key))  # type: ignore[misc]
        if not isinstance(value, int) or value < 1:
            raise _error(game, key, f"is {value!r}; expected a whole number, 1 or more")
    _made(game, "__hash__", lambda: hash(game))  # frozen dataclasses have it
    spec = _made(game, "spec", lambda: game.spec)
    if spec.partition(":")[0].partition(",")[0] in CATALOGUE and _made(game, "spec", lambda: make_game(spec)) != game:
        raise _error(game, "spec", f"make_game({spec!r}) is another game; expected one that is equal to this")
    if game.compiled_as.compiled_as != game.compiled_as:
        raise _error(game, "compiled_as", "is compiled as yet another game; expected itself")
    if not -1 <= game.pass_action < game.num_actions:
        raise _error(game, "pass_action", f"is {game.pass_action}; expected an action below {game.num_actions}, or -1")


def _check_shapes(game: Game) -> None:
    """Of all that is computed, found without computing."""
    first = _made(game, "init", lambda: jax.eval_shape(game.init))
    action, points = jax.ShapeDtypeStruct((), jnp.int32), game.height * game.width
    after = _made(game, "step", lambda: jax.eval_shape(game.step, first, action))
    if difference := _trees(after, first):
        raise _error(game, "step", f"returns another kind of state: {difference}")
    expected: dict[str, tuple[str, str]] = {
        "legal_action_mask": (f"bool[{game.num_actions}]", "an entry for each action"),
        "current_player": ("int32[]", "one player"),
        "is_terminal": ("bool[]", "one answer"),
        "returns": (f"float32[{game.num_players}]", "an entry for each player"),
        "heuristic": ("float32[]", "one number"),
        "transposition_key": ("uint32[2]", "64 bits"),
        "margin": ("float32[]", "one number"),
        "owners": (f"int8[{points}]", "an entry for each point"),
    }
    for method, (kind, why) in expected.items():
        found = _kind(_made(game, method, lambda method=method: jax.eval_shape(getattr(game, method), first)))  # type: ignore[misc]
        if found != kind:
            raise _error(game, method, f"returns {found}; expected {kind}, {why}")
    planes = _made(game, "observe", lambda: jax.eval_shape(game.observe, first))
    board = "H,W" if game.actions_are == "dense" else f"{game.height},{game.width}"  # whose board may be one of actions
    sized = board == "H,W" or planes.shape[:2] == (game.height, game.width)
    if planes.dtype != jnp.float32 or len(planes.shape) != 3 or not sized:
        what = f"expected float32[{board},C], planes of the board"
        raise _error(game, "observe", f"returns {_kind(planes)}; {what}")
    if planes.shape != game.observation_shape:
        raise _error(game, "observation_shape", f"is {game.observation_shape}, but observe returns {planes.shape}")
    bare = _made(game, "without_history", lambda: jax.eval_shape(game.without_history, first))
    after = _made(
        game, "step", lambda: jax.eval_shape(lambda s, a: game.without_history(game.step(s, a)), bare, action)
    )
    if difference := _trees(after, bare):
        raise _error(game, "without_history", f"a step from there leads to another kind of state: {difference}")


def _check_texts(game: Game) -> None:
    seen: dict[str, int] = {}
    for action in range(game.num_actions):
        text = _made(game, "action_text", lambda action=action: game.action_text(action))  # type: ignore[misc]
        if not isinstance(text, str) or len(text.split()) != 1 or text.split() != [text]:
            raise _error(
                game, "action_text", f"action {action} is {text!r}; expected one word: records put blanks between"
            )
        if text in seen:
            raise _error(game, "action_text", f'actions {seen[text]} and {action} are both "{text}"')
        seen[text] = action
        found = _made(game, "parse_action", lambda text=text: game.parse_action(text))  # type: ignore[misc]
        if found != action:
            raise _error(game, "parse_action", f'"{text}" is action {found}; action_text says it is {action}')
    if game.pass_action >= 0 and _made(game, "point_action", lambda: game.point_action(None)) != game.pass_action:
        raise _error(game, "point_action", f"None is {game.point_action(None)}; expected pass_action")


def _check_symmetries(game: Game) -> None:
    points, actions = _made(game, "symmetries", lambda: game.symmetries)
    height, width, _ = game.observation_shape
    for rows, number, what in ((points, height * width, "points"), (actions, game.num_actions, "actions")):
        if rows.ndim != 2 or len(rows) != len(points) or rows.shape[1] != number:
            raise _error(game, "symmetries", f"{what} are of shape {rows.shape}; expected (S, {number})")
        for i, row in enumerate(rows):
            if sorted(row.tolist()) != list(range(number)):
                raise _error(game, "symmetries", f"number {i} does not take every one of the {what} once")


# -- in random games -------------------------------------------------------------------------------


class _RandomGames:
    """Games side by side, of random moves, and the moves so far."""

    def __init__(self, game: Game, games: int, seed: int) -> None:
        self.game, self.lanes = game, games
        self.rng = np.random.default_rng(seed)
        self.rules = rules(game)
        self.states = _made(game, "init", lambda: initial_states(game, games))
        self.moves: list[list[str]] = [[] for _ in range(games)]
        self.ended: set[int] = set()
        self.keys: dict[tuple[int, int], bytes] = {}
        self._key = jit(game.transposition_key)

    def error(self, lane: int, method: str, message: str) -> UserError:
        played = self.moves[lane]
        words = " ".join(["...", *played[-MOST_SHOWN:]] if len(played) > MOST_SHOWN else played)
        return _error(self.game, method, f"{message}; {f'after {words}' if played else 'before the first move'}")

    def check(self, moves: int) -> None:
        view = self._view()
        if view.terminal.any():
            raise self.error(0, "is_terminal", "is true; expected a game that has not ended")
        if view.player.any():
            raise self.error(0, "current_player", f"is {view.player[0]}; expected 0, the player who moves first")
        for ply in range(self.game.max_plies + 1):
            self._check_view(view)
            if view.terminal.all() and self.ended:
                return
            actions = np.array(
                [self.rng.choice(np.flatnonzero(own)) if own.any() else 0 for own in view.legal], np.int32
            )
            self._advance(view, actions, ply, looked_into=LOOKED_INTO if ply < moves else 0)
            view = self._view()
        if not view.terminal.all():
            lane = int(np.argmin(view.terminal))
            raise self.error(lane, "is_terminal", f"is false; expected an end after max_plies={self.game.max_plies}")

    def _view(self) -> View[np.ndarray]:
        return View(*map(np.asarray, self.rules.view_lanes(self.states)))

    def _check_view(self, view: View[np.ndarray]) -> None:
        for lane, (legal, player, over, returns) in enumerate(zip(*view, strict=True)):
            if over and legal.any():
                raise self.error(lane, "legal_action_mask", "has legal actions; expected none, as is_terminal is true")
            if not over and not legal.any():
                raise self.error(
                    lane, "legal_action_mask", "has no legal action; expected one, or a pass, before the end"
                )
            if not 0 <= player < self.game.num_players:
                raise self.error(lane, "current_player", f"is {player}; expected 0 to {self.game.num_players - 1}")
            if not over and returns.any():
                raise self.error(lane, "returns", f"is {returns.tolist()}; expected zeros before the end")
            if not np.all(np.abs(returns) <= 1):
                raise self.error(lane, "returns", f"is {returns.tolist()}; expected numbers from -1 to 1")
            if self.game.num_players == 2 and returns.sum() != 0:
                raise self.error(lane, "returns", f"is {returns.tolist()}; expected two numbers whose sum is 0")

    def _advance(self, view: View[np.ndarray], actions: np.ndarray, ply: int, looked_into: int) -> None:
        """Make the moves, and compare the first games with the same played alone."""
        before = jax.tree.map(np.array, self.states)
        self.states = self.rules.step_lanes(self.states, actions)
        after = jax.tree.map(np.asarray, self.states)
        for lane in range(min(looked_into, self.lanes)):
            one, then = (jax.tree.map(lambda x, lane=lane: jnp.asarray(x[..., lane]), both) for both in (before, after))
            self._check_step(lane, one, int(actions[lane]), then, bool(view.terminal[lane]), ply)
            if not view.terminal[lane]:
                self._check_move(lane, one, int(actions[lane]), then, int(view.player[lane]))
            elif lane not in self.ended:
                self.ended.add(lane)
                self._check_hooks_at_the_end(lane, one, view.returns[lane])
        for lane in np.flatnonzero(~view.terminal).tolist():
            self.moves[lane].append(self.game.action_text(int(actions[lane])))

    def _check_step(self, lane: int, one: State, action: int, then: State, over: bool, ply: int) -> None:
        text = self.game.action_text(action)
        if over:
            if not _same(one, then):
                raise self.error(lane, "step", f"{text} changes a state that is terminal; expected the state as it is")
            return
        alone = self.rules.step(one, action)
        if not ply and not _same(jit(lambda state, move: self.game.step(state, move))(one, action), alone):
            message = f"{text} leads elsewhere when it is made again; expected the same state, whenever it is asked for"
            raise self.error(lane, "step", message)
        if not _same(alone, then):
            message = f"{text} leads elsewhere in a batch of games than alone; expected a function of state and action"
            raise self.error(lane, "step", message)

    def _check_move(self, lane: int, one: State, action: int, then: State, player: int) -> None:
        game, text = self.game, self.game.action_text(action)
        stones, after = (_made(game, "stones", lambda state=state: game.stones(state)) for state in (one, then))  # type: ignore[misc]
        if stones.shape != (game.height, game.width) or not np.isin(stones, range(max(2, game.num_players) + 1)).all():
            message = f"is {_kind(stones)} from {stones.min()} to {stones.max()}; expected [H, W] of 0, 1 and 2"
            raise self.error(lane, "stones", message)
        key = tuple(np.asarray(self._key(one)).tolist())
        if self.keys.setdefault(key, stones.tobytes()) != stones.tobytes():
            raise self.error(lane, "transposition_key", "is that of a position with other stones")
        point = game.action_point(one, action)
        if game.last_point(then, action) != point:
            message = f"{text} lies on {game.last_point(then, action)}; action_point says on {point}"
            raise self.error(lane, "last_point", message)
        if point is None or game.actions_are == "dense":
            return
        if stones[point]:
            raise self.error(lane, "legal_action_mask", f"{text} is legal; expected no move onto a stone")
        if game.point_action(point) != action:
            message = f"{point} is action {game.point_action(point)}; action_point says it is {action}"
            raise self.error(lane, "point_action", message)
        if after[point] not in (0, player + 1):
            message = f"{text} of player {player} puts a stone of player {after[point] - 1}; expected one of their own"
            raise self.error(lane, "step", message)
        self._check_hooks(lane, one, player)

    def _check_hooks(self, lane: int, one: State, player: int) -> None:
        """Of a position in which the game goes on."""
        game, stones = self.game, self.game.stones(one)
        made: dict[str, Callable[[int], State]] = {}
        if game.has("set_up"):
            made["set_up"] = lambda mover: game.set_up(stones, mover)
        if game.has("with_player"):
            made["with_player"] = lambda mover: game.with_player(one, mover)
        for hook, make in made.items():
            for mover in (player, 1 - player):
                state = _made(game, hook, lambda make=make, mover=mover: make(mover))  # type: ignore[misc]
                if hook == "with_player" and (difference := _trees(state, one)):
                    raise self.error(lane, hook, f"returns another kind of state: {difference}")
                if not np.array_equal(game.stones(state), stones):
                    raise self.error(lane, hook, "leads to other stones; expected those on the board")
                if int(game.current_player(state)) != mover:
                    raise self.error(lane, hook, f"player {1 - mover} is to move; expected player {mover}, as asked")
        if game.has_komi and game.with_komi(game.komi_of() + 1).compiled_as == game.compiled_as:
            other = game.with_komi(game.komi_of() + 1)
            if other.komi_of(other.priced(one)) != other.komi_of():
                raise self.error(lane, "priced", "does not give the state this game's komi")

    def _check_hooks_at_the_end(self, lane: int, one: State, returns: np.ndarray) -> None:
        game = self.game
        if not game.counts_points or game.num_players != 2:
            return
        margin = game.final_margin(one)
        if np.sign(margin) != np.sign(returns[0]):
            raise self.error(
                lane, "margin", f"is {margin:g}, and returns is {returns.tolist()}; expected the same winner"
            )
        if not np.isin(np.asarray(game.owners(one)), (-1, 0, 1)).all():
            raise self.error(lane, "owners", "has other numbers than -1, 0 and 1")


def _same(one: State, other: State) -> bool:
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in leaves)


def _check_playouts(game: Game, games: int, seed: int) -> None:
    """What a random game comes to depends on the state and the seed alone."""
    states = game.without_history(initial_states(game, games))
    seeds = jnp.arange(games, dtype=jnp.uint32) * 977 + np.uint32(seed)
    playout = jit(game.random_playout)
    returns = np.asarray(_made(game, "random_playout", lambda: playout(states, seeds)))
    if returns.shape != (game.num_players, games):
        raise _error(game, "random_playout", f"returns {_kind(returns)}; expected float32[{game.num_players},{games}]")
    if not np.array_equal(returns[:, ::-1], playout(states, seeds[::-1])):
        raise _error(game, "random_playout", "depends on the place in the batch; expected the state and the seed alone")
