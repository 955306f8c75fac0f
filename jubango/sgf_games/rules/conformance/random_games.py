"""Random games side by side, looked at move by move."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.compiled import View, initial_states, rules
from jubango.sgf_games.rules.conformance.errors import kind_of, made, wrong
from jubango.sgf_games.rules.conformance.hooks import check_hooks, check_points, check_stones_set_up
from jubango.sgf_games.rules.game import Game, State

MOST_SHOWN = 30  # moves that an error names
LOOKED_INTO = 2  # games of which every move is looked at by itself; of the others the rules alone


class RandomGames:
    """Games side by side, of random moves, and the moves so far."""

    def __init__(self, game: Game, games: int, seed: int) -> None:
        self.game, self.lanes = game, games
        self.rng = np.random.default_rng(seed)
        self.rules = rules(game)
        self.states = made(game, "init", lambda: initial_states(game, games))
        self.moves: list[list[str]] = [[] for _ in range(games)]
        self.ended: set[int] = set()
        self.keys: dict[tuple[int, int], bytes] = {}
        self._key = jit(game.transposition_key)
        self._seen, self._observe = jit(lambda state: _seen(game, state)), jit(lambda state: game.observe(state))
        self.movers: set[int] = set()

    def error(self, lane: int, method: str, message: str) -> UserError:
        played = self.moves[lane]
        words = " ".join(["...", *played[-MOST_SHOWN:]] if len(played) > MOST_SHOWN else played)
        return wrong(self.game, method, f"{message}; {f'after {words}' if played else 'before the first move'}")

    def check(self, moves: int) -> None:
        view = self._view()
        if view.terminal.any():
            raise self.error(0, "is_terminal", "is true; expected a game that has not ended")
        if view.player.any():
            raise self.error(0, "current_player", f"is {view.player[0]}; expected 0, the player who moves first")
        for ply in range(self.game.max_plies + 1):
            self._check_view(view)
            self.movers.update(view.player[~view.terminal].tolist())
            if view.terminal.all() and self.ended:
                break
            actions = np.array(
                [self.rng.choice(np.flatnonzero(own)) if own.any() else 0 for own in view.legal], np.int32
            )
            self._advance(view, actions, ply, looked_into=LOOKED_INTO if ply < moves else 0)
            view = self._view()
        self._check_ends(view)

    def _check_ends(self, view: View[np.ndarray]) -> None:
        """When all games have been played."""
        if not view.terminal.all():
            lane = int(np.argmin(view.terminal))
            raise self.error(lane, "is_terminal", f"is false; expected an end after max_plies={self.game.max_plies}")
        if len(self.movers) < min(self.game.num_players, self.game.max_plies):
            message = f"is {min(self.movers)} in every position of {self.lanes} random games"
            raise self.error(0, "current_player", f"{message}; expected every player to move in some")
        if self.game.counts_points and self.game.num_players == 2:
            check_points(self.game, self.states, self.error)

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
        for lane in range(min(LOOKED_INTO, self.lanes)):
            if not looked_into and (not view.terminal[lane] or lane in self.ended):
                continue
            one, then = (jax.tree.map(lambda x, lane=lane: jnp.asarray(x[..., lane]), both) for both in (before, after))
            self._check_step(lane, one, int(actions[lane]), then, bool(view.terminal[lane]), ply)
            if not view.terminal[lane]:
                self._check_move(lane, one, int(actions[lane]), then, int(view.player[lane]))
            elif lane not in self.ended:
                self.ended.add(lane)
                if not lane:
                    check_hooks(self.game, one, functools.partial(self.error, lane), over=True)
                self._check_winner(lane, one, view.returns[lane])
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
        stones, after = (made(game, "stones", lambda state=state: game.stones(state)) for state in (one, then))  # type: ignore[misc]
        if stones.shape != (game.height, game.width) or not np.isin(stones, range(max(2, game.num_players) + 1)).all():
            message = f"is {kind_of(stones)} from {stones.min()} to {stones.max()}; expected [H, W] of 0, 1 and 2"
            raise self.error(lane, "stones", message)
        if not lane and len(self.moves[lane]) == 2:
            check_hooks(game, one, functools.partial(self.error, lane))
        self._check_seen(lane, one)
        key = tuple(np.asarray(self._key(one)).tolist())
        if self.keys.setdefault(key, stones.tobytes()) != stones.tobytes():
            raise self.error(lane, "transposition_key", "is that of a position with other stones")
        point = made(game, "action_point", lambda: game.action_point(one, action))
        last = made(game, "last_point", lambda: game.last_point(then, action))
        if last != point:
            message = f"{text} lies on {last}; action_point says on {point}"
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
        check_stones_set_up(game, one, player, functools.partial(self.error, lane))

    def _check_seen(self, lane: int, one: State) -> None:
        """What networks and heuristics see of a position is decided by it alone, without its history."""
        seen, bare = self._seen(one)
        for method, now, node in zip(("observe", "heuristic"), seen, bare, strict=True):
            if not np.all(np.isfinite(now)):
                raise self.error(lane, method, "has numbers that are not finite")
            if not np.array_equal(now, node):
                message = "is another of the state without_history, which is all that a search keeps of a position"
                raise self.error(lane, method, message)
        if not np.array_equal(seen[0], self._observe(one)):
            message = "is another when it is asked again; expected a function of the state alone"
            raise self.error(lane, "observe", message)
        if not abs(float(seen[1])) <= 1:
            raise self.error(lane, "heuristic", f"is {float(seen[1]):g}; expected a number from -1 to 1")

    def _check_winner(self, lane: int, one: State, returns: np.ndarray) -> None:
        if not self.game.counts_points or self.game.num_players != 2:
            return
        margin = made(self.game, "final_margin", lambda: self.game.final_margin(one))
        if np.sign(margin) != np.sign(returns[0]):
            message = f"is {margin:g}, and returns is {returns.tolist()}; expected the same winner"
            raise self.error(lane, "margin", message)


def _seen(game: Game, state: State) -> list[tuple[jax.Array, jax.Array]]:
    """Planes and heuristic of a state, and of the same without its history."""
    return [(game.observe(one), game.heuristic(one)) for one in (state, game.without_history(state))]


def check_turned_games(game: Game, games: int, seed: int) -> None:
    """A game and the same turned and mirrored, side by side: the same moves are legal, the same planes are seen, and
    the same player wins. Raises UserError for one of ``symmetries`` that the rules notice."""
    points, actions = game.symmetries
    if len(points) < 2:
        return
    lanes = max(games, len(points))  # as many as in the other random games, whose programs serve
    which = np.arange(lanes) % len(points)
    turned = np.argsort(actions, axis=1)[which]  # where an action goes
    known, rng = rules(game), np.random.default_rng(seed)
    states = initial_states(game, lanes)
    observe = jit(jax.vmap(game.observe, in_axes=-1))
    moves: list[str] = []
    for ply in range(game.max_plies + 1):
        view = View(*map(np.asarray, known.view_lanes(states)))
        planes = np.asarray(observe(states)).reshape(lanes, points.shape[1], -1) if ply in (0, 5, 9) else None
        for lane, number in enumerate(which[: len(points)]):
            same = (
                np.array_equal(view.legal[lane], view.legal[0][actions[number]])
                and np.array_equal(view.returns[lane], view.returns[0])
                and (planes is None or np.allclose(planes[lane], planes[0][points[number]], atol=1e-6))
            )
            if not same:
                place = f"after {' '.join(moves[-MOST_SHOWN:])}" if moves else "before the first move"
                raise wrong(game, "symmetries", f"number {number} leads to another game; expected the same; {place}")
        if view.terminal[0]:
            return
        action = int(rng.choice(np.flatnonzero(view.legal[0])))
        states = known.step_lanes(states, turned[:, action].astype(np.int32))
        moves.append(game.action_text(action))


def _same(one: State, other: State) -> bool:
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in leaves)
