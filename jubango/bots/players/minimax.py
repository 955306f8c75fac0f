"""Minimax to a fixed depth with alpha-beta cuts, many games at once: the classical yardstick.

Knuth & Moore 1975, "An analysis of alpha-beta pruning", in its negamax form, depth first with an explicit
stack, since a compiled program has no recursion. One step looks at one child in every lane, so a
lane's work depends on its position alone. Finished games count a little less the later they come,
so that a win is not put off; a leaf at the depth limit is judged by an evaluator.

Shape legend: B lanes, D the depth, A actions.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from jubango.bots.composition import named_evaluator
from jubango.bots.config import MinimaxConfig
from jubango.bots.evaluators.evaluator import Evaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.clock import MoveTime
from jubango.bots.search.tree.node_states import lanes_first, lanes_last
from jubango.bots.search.tree.tree import add, pick, put
from jubango.sgf_games.compute.machine import device_layout, gathered, shard, split_last, spread
from jubango.sgf_games.compute.programs import Compiled, P, R, jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.records.thoughts import Thought
from jubango.sgf_games.rules.compiled import table_program
from jubango.sgf_games.rules.game import Game, State

CHUNK_SECONDS = 0.2
HURRY = 0.001  # seconds for a move that is wanted now
SHORT_GAME, USUAL_DEPTH = 9, 4  # games looked through to their end; plies looked ahead in others
SOONER = 1e-3  # what a finished game loses in worth with every ply
ESTIMATE = 0.9  # the most an estimate is worth; a result within 64 plies is worth more


class Stack(NamedTuple):
    """The line each lane is looking at; a row for each ply of it."""

    state: State  # [B, D, ...]
    legal: jax.Array  # bool [B, D, A], in the order in which actions are tried
    next: jax.Array  # int32 [B, D], the action to be tried next
    best: jax.Array  # float32 [B, D], so far, for the player to move
    alpha: jax.Array  # float32 [B, D]
    beta: jax.Array  # float32 [B, D]
    player: jax.Array  # int32 [B, D]
    ply: jax.Array  # int32 [B], where the lane is in its line
    limit: jax.Array  # int32 [B], plies that the lane looks ahead
    order: jax.Array  # int32 [B, A]
    action: jax.Array  # int32 [B], the root's best so far
    active: jax.Array  # bool [B]
    nodes: jax.Array  # int32 [B], positions looked at
    seed: jax.Array  # uint32 [B]


class LaneStep(NamedTuple):
    """What each lane does in a step."""

    place: jax.Array  # int32 [B], the action's in the order of trying; A if none is left
    action: jax.Array  # int32 [B]
    back: jax.Array  # bool [B], done with this node
    trying: jax.Array  # bool [B]


class Child(NamedTuple):
    """The positions that are tried."""

    states: State  # lanes last
    legal: jax.Array  # bool [B, A]
    player: jax.Array  # int32 [B]
    leaf: jax.Array  # bool [B]
    value: jax.Array  # float32 [B] of leaves, for their players


def _lanes(s: Stack) -> jax.Array:
    return jnp.arange(s.ply.shape[0], dtype=jnp.int32)


class MinimaxResult(NamedTuple):
    """What a :class:`Minimax` knows by now of the roots."""

    active: jax.Array  # bool [B]: still looking
    action: jax.Array  # int32 [B], the best so far
    value: jax.Array  # float32 [B], its value
    nodes: jax.Array  # int32 [B], positions looked at


class Ask(NamedTuple):
    """What is asked of each lane."""

    legal: jax.Array | np.ndarray  # bool [B, A]; nothing is looked at where all are false
    order: jax.Array | np.ndarray  # int32 [B, A], in which actions are tried
    limit: jax.Array | np.ndarray  # int32 [B], plies to look ahead
    seed: jax.Array | np.ndarray  # uint32 [B]


def _first(old: jax.Array, new: jax.typing.ArrayLike, mask: jax.Array) -> jax.Array:
    """``old`` with ``new`` in the first row of the lanes of ``mask``."""
    new = jnp.broadcast_to(jnp.asarray(new, old.dtype), old[:, 0].shape)
    return old.at[:, 0].set(jnp.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old[:, 0]))


@dataclass(frozen=True)
class Minimax:
    game: Game
    evaluator: Evaluator
    depth: int

    def idle(self, lanes: int) -> Stack:
        shape, actions = (lanes, self.depth), self.game.num_actions
        first = jax.eval_shape(lambda: self.game.without_history(self.game.init()))
        zero, row = jnp.zeros(lanes, jnp.int32), jnp.zeros(shape, jnp.float32)
        return Stack(
            state=jax.tree.map(lambda x: jnp.zeros((*shape, *x.shape), x.dtype), first),
            legal=jnp.zeros((*shape, actions), bool),
            next=jnp.zeros(shape, jnp.int32), best=row, alpha=row, beta=row, player=jnp.zeros(shape, jnp.int32),
            ply=zero, limit=zero, order=jnp.zeros((lanes, actions), jnp.int32), action=zero, active=zero > 0,
            nodes=zero, seed=zero.astype(jnp.uint32),
        )  # fmt: skip

    def begin(self, s: Stack, mask: jax.Array, roots: State, ask: Ask) -> Stack:
        """roots: without history, lanes FIRST."""
        player = jax.vmap(self.game.current_player)(roots)
        state = jax.tree.map(lambda old, new: _first(old, new, mask), s.state, roots)
        nodes = jnp.where(mask, 0, s.nodes)
        return self.again(s._replace(state=state, player=_first(s.player, player, mask), nodes=nodes), mask, ask)

    def again(self, s: Stack, mask: jax.Array, ask: Ask) -> Stack:
        """Look at the same roots from anew, to another depth or in another order."""
        legal = jnp.take_along_axis(ask.legal, ask.order, axis=-1)
        return s._replace(
            legal=_first(s.legal, legal, mask),
            next=_first(s.next, 0, mask),
            best=_first(s.best, -2.0, mask),
            alpha=_first(s.alpha, -2.0, mask),
            beta=_first(s.beta, 2.0, mask),
            ply=jnp.where(mask, 0, s.ply),
            limit=jnp.where(mask, ask.limit, s.limit),
            order=jnp.where(mask[:, None], ask.order, s.order),
            action=jnp.where(mask, ask.order[:, 0], s.action),
            active=s.active | mask,
            seed=jnp.where(mask, ask.seed, s.seed),
        )

    def step(self, s: Stack) -> Stack:
        """In every active lane: try the next action of the line's last node, or go back from it."""
        turn = self._choose(s)
        child = self._reach(s, turn)
        return self._descend(self._settle(s, turn, child), s, turn, child)

    def _choose(self, s: Stack) -> LaneStep:
        """The action each lane tries next, or that its node is done with: none is left, or
        the opponent has better."""
        b, d = _lanes(s), s.ply
        actions = jnp.arange(self.game.num_actions, dtype=jnp.int32)
        untried = pick(s.legal, b, d) & (actions >= pick(s.next, b, d)[:, None])
        place = jnp.min(jnp.where(untried, actions, self.game.num_actions), axis=-1)
        back = (place == self.game.num_actions) | (pick(s.best, b, d) >= pick(s.beta, b, d))
        action = pick(s.order, b, jnp.minimum(place, self.game.num_actions - 1))
        return LaneStep(place, action, back, s.active & ~back)

    def _reach(self, s: Stack, turn: LaneStep) -> Child:
        """The positions that the actions lead to, judged where they are leaves."""
        b, d = _lanes(s), s.ply
        parents = lanes_last(jax.tree.map(lambda x: pick(x, b, d), s.state))
        states = jax.vmap(self.game.step, in_axes=(-1, 0), out_axes=-1)(parents, turn.action)
        legal = jax.vmap(self.game.legal_action_mask, in_axes=-1)(states)
        terminal = jax.vmap(self.game.is_terminal, in_axes=-1)(states)
        player = jax.vmap(self.game.current_player, in_axes=-1)(states)
        returns = jax.vmap(self.game.returns, in_axes=-1, out_axes=-1)(states)
        leaf = terminal | (d + 1 >= s.limit)
        exact = jnp.take_along_axis(returns, player[None], axis=0)[0] * (1 - SOONER * (d + 1))
        seeds = mix(s.seed + s.nodes.astype(jnp.uint32))
        estimate = lax.cond(
            jnp.any(turn.trying & leaf & ~terminal),
            lambda: ESTIMATE * self.evaluator((), self.game, states, legal, seeds).value,
            lambda: jnp.zeros(d.shape, jnp.float32),
        )
        return Child(states, legal, player, leaf, jnp.where(terminal, exact, estimate))

    def _settle(self, s: Stack, turn: LaneStep, child: Child) -> Stack:
        """A value arrives: of a leaf at the node itself, of a finished node at the one above it."""
        b, d = _lanes(s), s.ply
        value = jnp.where(turn.back, pick(s.best, b, d), child.value)
        whose = jnp.where(turn.back, pick(s.player, b, d), child.player)
        at = jnp.maximum(jnp.where(turn.back, d - 1, d), 0)
        arrived = s.active & jnp.where(turn.back, d > 0, child.leaf)
        gain = jnp.where(pick(s.player, b, at) == whose, value, -value)
        old = pick(s.best, b, at)
        came_from = jnp.where(turn.back, pick(s.next, b, at) - 1, turn.place)
        tried = pick(s.order, b, jnp.maximum(came_from, 0) % self.game.num_actions)
        better = arrived & (at == 0) & (gain > old)
        return s._replace(
            best=put(s.best, jnp.where(arrived, jnp.maximum(old, gain), old), b, at),
            next=add(s.next, jnp.where(turn.trying, turn.place + 1 - pick(s.next, b, d), 0), b, d),
            action=jnp.where(better, tried, s.action),
            nodes=s.nodes + turn.trying,
        )

    def _descend(self, s: Stack, before: Stack, turn: LaneStep, child: Child) -> Stack:
        """Go down to children that are no leaves, and up from nodes that are done with."""
        b, d = _lanes(s), before.ply
        push = turn.trying & ~child.leaf
        low, high = jnp.maximum(pick(s.alpha, b, d), pick(before.best, b, d)), pick(s.beta, b, d)
        same = child.player == pick(s.player, b, d)
        below = jnp.minimum(d + 1, self.depth - 1)

        def on_top(old: jax.Array, new: jax.Array) -> jax.Array:
            kept = pick(old, b, below)
            return put(old, jnp.where(push.reshape(-1, *[1] * (kept.ndim - 1)), new, kept), b, below)

        back = s.active & turn.back
        return s._replace(
            state=jax.tree.map(on_top, s.state, lanes_first(child.states)),
            legal=on_top(s.legal, jnp.take_along_axis(child.legal, s.order, axis=-1)),
            next=on_top(s.next, jnp.zeros_like(d)),
            best=on_top(s.best, jnp.full(d.shape, -2.0, jnp.float32)),
            alpha=on_top(s.alpha, jnp.where(same, low, -high)),
            beta=on_top(s.beta, jnp.where(same, high, -low)),
            player=on_top(s.player, child.player),
            ply=jnp.where(push, d + 1, jnp.where(back, jnp.maximum(d - 1, 0), d)),
            active=s.active & ~(back & (d == 0)),
        )

    def advance(self, s: Stack, steps: jax.Array) -> tuple[Stack, MinimaxResult]:
        """Up to ``steps`` steps."""

        def going_on(carry: tuple[jax.Array, Stack]) -> jax.Array:
            return (carry[0] < steps) & jnp.any(carry[1].active)

        _, s = lax.while_loop(going_on, lambda c: (c[0] + 1, self.step(c[1])), (jnp.int32(0), s))
        return s, MinimaxResult(s.active, s.action, s.best[:, 0], s.nodes)


class MinimaxProgram(NamedTuple):
    """Compiled methods of :class:`Minimax`; they take the host's arrays too."""

    idle: Compiled[[], Stack]
    begin: Compiled[..., Stack]
    again: Compiled[..., Stack]
    advance: Compiled[..., tuple[Stack, MinimaxResult]]


@functools.lru_cache(maxsize=16)
def _compiled(minimax: Minimax, lanes: int, number: int) -> MinimaxProgram:
    """The functions of ``minimax`` for ``lanes`` lanes, split over ``number`` devices."""
    split, whole = shard(number)
    roots = jax.tree.map(lambda x: split_last(x.ndim + 1), jax.eval_shape(minimax.game.init))
    places = functools.partial(jax.tree.map, lambda spec: NamedSharding(split.mesh, spec))
    row, everywhere = split.spec, whole.spec

    def begin(s: Stack, mask: jax.Array, states: State, ask: Ask) -> Stack:
        trimmed = jax.vmap(minimax.game.without_history, in_axes=-1, out_axes=0)(states)
        return minimax.begin(s, mask, trimmed, ask)

    def sharded(function: Callable[P, R], in_specs: tuple[object, ...], out_specs: object) -> Compiled[P, R]:
        mapped = spread(function, split.mesh, in_specs, out_specs)
        parts = f"minimax {function.__name__}", minimax, lanes, number
        return jit(
            mapped, parts=parts, in_shardings=places(in_specs), out_shardings=places(out_specs), donate_argnums=(0,)
        )

    return MinimaxProgram(
        jit(lambda: minimax.idle(lanes), parts=("minimax idle", minimax, lanes, number), out_shardings=split),
        sharded(begin, (row, row, roots, row), row),
        sharded(minimax.again, (row, row, row), row),
        sharded(minimax.advance, (row, everywhere), (row, row)),
    )


@dataclass
class Looking:
    """A lane at work. By the clock it looks one ply ahead, then two, and so on, the best move so far first."""

    request: MoveRequest
    order: np.ndarray  # int32 [A]
    limit: int
    began: float
    best: tuple[int, float] | None = None  # action and value, to a depth that was finished

    @property
    def seconds(self) -> float:
        """That it has been at work."""
        return time.perf_counter() - self.began


class MinimaxPlayer(BatchPlayer):
    """Alpha-beta in up to ``lanes`` games. Moves are tried from the middle of the board outwards, equal
    ones in random order.

    By the clock it deepens (Slate & Atkin 1977) as long as the next ply may still be done, up to its depth, and when
    the time is up it plays what the last finished depth found.
    """

    def __init__(self, game: Game, bot: MinimaxConfig, lanes: int) -> None:
        evaluator = Rollout(bot.rollouts) if bot.evaluator == "rollout" else named_evaluator(bot.evaluator, bot.name)
        depth = bot.depth or (game.max_plies if game.max_plies <= SHORT_GAME else USUAL_DEPTH)
        self._depth = min(depth, game.max_plies)
        self.minimax = Minimax(game.compiled_as, evaluator, self._depth)
        number, self._lanes = device_layout(lanes)
        self._actions = game.num_actions
        self._program = _compiled(self.minimax, self._lanes, number)
        self._asked: dict[int, Looking] = {}
        self._steps = 8
        self._distance = _distances(game)
        self._stack: Stack | None = self._warmed_up(game, number)

    def _warmed_up(self, game: Game, number: int) -> Stack:
        """An idle stack whose programs have run once: compiling is on nobody's clock."""
        none, states = np.zeros(self._lanes, bool), table_program(game, self._lanes, number).first()
        stack = self._program.begin(self._program.idle(), none, states, self._ask({}))
        return self._program.advance(self._program.again(stack, none, self._ask({})), np.int32(0))[0]

    def _ask(self, lanes: dict[int, Looking | None]) -> Ask:
        """Of these lanes; None is to stop."""
        shape = (self._lanes, self._actions)
        ask = Ask(
            np.zeros(shape, bool), np.zeros(shape, np.int32), np.zeros(self._lanes, np.int32),
            np.zeros(self._lanes, np.uint32),
        )  # fmt: skip
        for i, own in lanes.items():
            if own is not None:
                ask.legal[i], ask.order[i], ask.limit[i] = own.request.legal, own.order, own.limit
                ask.seed[i] = own.request.seed
        return ask

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        now = time.perf_counter()
        asked: dict[int, Looking | None] = {}
        for request in requests:
            tie_bits = np.random.default_rng([request.seed, 4]).random(self._actions)
            order = np.lexsort((tie_bits, self._distance)).astype(np.int32)
            own = Looking(request, order, 1 if request.limit.seconds else self._depth, now)
            asked[request.lane] = self._asked[request.lane] = own
        self._stack = self._program.begin(self._stack, self._mask(asked), states, self._ask(asked))

    def _mask(self, lanes: Iterable[int]) -> np.ndarray:
        mask = np.zeros(self._lanes, bool)
        mask[list(lanes)] = True
        return mask

    def advance(self) -> list[MoveAnswer]:
        if not self._asked:
            return []
        began = time.perf_counter()
        self._stack, found = self._program.advance(self._stack, np.int32(self._steps))
        active, action, value, nodes = (gathered(x).tolist() for x in found)
        spent = time.perf_counter() - began
        if any(active):
            self._steps = max(1, min(4 * self._steps, int(self._steps * self._patience() / spent)))
        answers: list[MoveAnswer] = []
        again: dict[int, Looking | None] = {}
        for lane, own in list(self._asked.items()):
            if not active[lane]:
                own.best = action[lane], min(max(value[lane], -1.0), 1.0)
                if self._deepens(own):
                    again[lane] = own
                    continue
            elif own.best and own.seconds > own.request.limit.seconds:
                again[lane] = None
            else:
                continue
            del self._asked[lane]
            answers.append(MoveAnswer(lane, own.best[0], Thought(nodes[lane], nodes[lane], own.best[1])))
        if again:
            self._stack = self._program.again(self._stack, self._mask(again), self._ask(again))
        return answers

    def rescale(self, factor: float) -> None:
        for own in self._asked.values():
            spent, (seconds, longest) = own.seconds, own.request.limit
            if seconds:
                limit = MoveTime(max(HURRY, spent + factor * (seconds - spent)), longest)
                own.request = own.request._replace(limit=limit)

    def hurry(self) -> None:
        """What has no finished depth yet begins anew, one ply ahead."""
        again: dict[int, Looking | None] = {}
        for lane, own in self._asked.items():
            own.request = own.request._replace(limit=MoveTime(HURRY, HURRY))
            if own.best is None and own.limit > 1:
                own.limit = 1
                again[lane] = own
        if again:
            self._stack = self._program.again(self._stack, self._mask(again), self._ask(again))

    def _patience(self) -> float:
        """Seconds that a call may take: no longer than the shortest time that is left to anybody."""
        left = [own.request.limit.seconds - own.seconds for own in self._asked.values() if own.request.limit.seconds]
        return max(0.002, min([CHUNK_SECONDS, *left]))

    def _deepens(self, own: Looking) -> bool:
        """Does a lane that has come to its depth look further? Then it is asked so."""
        assert own.best is not None
        action, value = own.best
        known = abs(value) > ESTIMATE  # who wins
        if own.limit >= self._depth or known or own.seconds > own.request.limit.seconds / 4:
            return False
        own.limit += 1
        own.order = np.concatenate([[action], own.order[own.order != action]]).astype(np.int32)
        return True

    def close(self) -> None:
        self._stack = None


def _distances(game: Game) -> np.ndarray:
    """int [A]: how far from the middle an action lies, where actions are points or columns."""
    index = np.arange(game.num_actions)
    row, column = np.divmod(index, game.width)
    if game.num_actions == game.width:
        row = np.zeros_like(index)
        return np.abs(2 * column - game.width + 1)
    far = np.maximum(np.abs(2 * row - game.height + 1), np.abs(2 * column - game.width + 1))
    return np.where(index < game.height * game.width, far, far.max() + 1)
