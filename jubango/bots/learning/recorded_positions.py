"""Positions of recorded games to learn from: the move that was played, the game's result, and where a count is sure,
whose the points were in the end.

Records are of many rules. A result is taken as it is stated. Where points were counted, our own rules count the last
position without its dead stones. If that agrees with what is stated, but for the few points by which counting stones
and counting prisoners may differ, ownership and margin are known; then the komi can be varied too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.learning.recorded_games import RecordedGame
from jubango.bots.learning.replay import Games, Samples
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.game import Game, State

LANES = 128  # games that are replayed at once
PLIES_AT_ONCE = 64  # moves of a call
AGREES = 2.0  # points by which our count and the record's may differ: dame, and who moved last
OTHER_KOMI = 0.5  # the share of the positions of counted games that are learnt from with another komi
KOMI_SCALE = 6.0  # points, of the Laplace distribution of the difference


class Replayed:
    """Games of one board, replayed by the rules."""

    def __init__(self, game: Game, lines: Sequence[RecordedGame]) -> None:
        claim()
        self.game, self.lines = game, lines
        parts = [_replay(game, lines[i : i + LANES]) for i in range(0, len(lines), LANES)]
        self.states = [state for states, _, lengths in parts for state in _by_lane(states, len(lengths))]
        self.ends = [end for _, ends, lengths in parts for end in _by_lane(ends, len(lengths))]
        self.lengths = [length for _, _, lengths in parts for length in lengths]  # legal moves

    @property
    def illegal(self) -> int:
        """Games in which the rules forbid a move; they are learnt from up to it."""
        return sum(length < len(line.actions) for line, length in zip(self.lines, self.lengths, strict=True))

    def samples(self, each: int, rng: np.random.Generator, chosen: Sequence[int]) -> tuple[Samples | None, Games]:
        """At most ``each`` positions, drawn at random, of the games with these numbers, None if there are none; and
        what is to be said of the games."""
        game, found = self.game, []
        for i in chosen:
            line, states, end, length = self.lines[i], self.states[i], self.ends[i], self.lengths[i]
            if not length:
                continue
            rows = np.sort(rng.choice(length, min(each, length), replace=False))
            margin, owners = self.count(line, end, length)
            chosen_states = jax.tree.map(lambda x, rows=rows: x[rows], states)
            found.append(_labelled(game, line, chosen_states, rows, margin, owners, rng))
        won = [self.lines[i].result for i in chosen]
        share = float((np.mean(won) + 1) / 2) if won else 0.5
        games = Games(len(chosen), sum(self.lengths[i] for i in chosen), share, 0, 0, 0)
        return (jax.tree.map(lambda *x: np.concatenate(x), *found) if found else None), games

    def count(self, line: RecordedGame, end: State, length: int) -> tuple[float, np.ndarray]:
        """(the first player's margin or nan, int8 [H * W] owners) of a game that was counted as we count it."""
        game = self.game
        none = float("nan"), np.zeros(game.height * game.width if game.counts_points else 0, np.int8)
        if not game.counts_points or np.isnan(line.margin) or length < len(line.actions):
            return none
        alive = game.without_stones(end, game.dead_stones(end))
        margin, owners = jax.device_get(_counting(game.compiled_as)(alive))
        agrees = abs(margin - line.margin) <= AGREES and np.sign(margin) == np.sign(line.result)
        return (float(margin), owners) if agrees else none


def _labelled(
    game: Game, line: RecordedGame, states: State, rows: np.ndarray, margin: float, owners: np.ndarray,
    rng: np.random.Generator,
) -> Samples:  # fmt: skip
    """Samples of the positions before the moves ``rows``."""
    number, known = len(rows), not np.isnan(margin)
    mover = (line.player + rows) % 2
    sign = np.where(mover == 0, 1, -1).astype(np.float32)
    policy = np.zeros((number, game.num_actions), np.float16)
    policy[np.arange(number), line.actions[rows]] = 1
    margins = np.full(number, margin if known else 0.0, np.float32)
    result = np.full(number, line.result, np.float32)
    if known:
        if game.has_komi:
            gaps = np.round(2 * rng.laplace(0.0, KOMI_SCALE, number)) / 2
            gaps = np.where(rng.random(number) < OTHER_KOMI, gaps, 0.0).astype(np.float32)
            margins -= gaps
            states = _dearer(states, gaps)
        result = np.sign(margins)
    result *= sign
    return Samples(
        state=states, policy=policy, value=result, result=result, counted=np.full(number, known),
        margin=sign * margins, owners=sign.astype(np.int8)[:, None] * owners[None],
        surprise=np.ones(number, np.float32),
    )  # fmt: skip


def _dearer(states: State, gaps: np.ndarray) -> State:
    """The same positions with a komi that is larger by so much, where states have one."""
    held: Any = states
    return held._replace(komi=held.komi + gaps) if hasattr(held, "komi") else states


def _replay(game: Game, lines: Sequence[RecordedGame]) -> tuple[State, State, list[int]]:
    """(positions before each move [B, T, ...], the last ones [B, ...], how many moves of each game are legal)."""
    first = [_first(game, line) for line in lines]
    first += first[:1] * (LANES - len(first))
    states = jax.tree.map(lambda *x: np.stack(x, axis=-1), *first)
    longest = max(len(line.actions) for line in lines)
    told = np.full((-(-longest // PLIES_AT_ONCE) * PLIES_AT_ONCE, LANES), -1, np.int32)
    for lane, line in enumerate(lines):
        told[: len(line.actions), lane] = line.actions
    program, parts, legal = _program(game.compiled_as), [], []
    for begin in range(0, len(told), PLIES_AT_ONCE):
        states, (before, fine) = program(states, told[begin : begin + PLIES_AT_ONCE])
        parts.append(jax.device_get(before))
        legal.append(np.asarray(fine))
    allowed = np.concatenate(legal)
    kept = [int(np.argmin(np.append(allowed[: len(line.actions), i], False))) for i, line in enumerate(lines)]
    whole = jax.tree.map(lambda *x: np.moveaxis(np.concatenate(x), -1, 0), *parts)
    ends = jax.tree.map(lambda x: np.moveaxis(np.asarray(x), -1, 0), jax.device_get(states))
    return whole, ends, kept


def _by_lane(states: State, number: int) -> list[State]:
    return [jax.tree.map(lambda x, lane=lane: x[lane], states) for lane in range(number)]


def _first(game: Game, line: RecordedGame) -> State:
    """The first position, with the game's own komi."""
    state = initial_state(game) if line.stones is None else game.set_up(line.stones, line.player)
    if line.stones is None and line.player:
        state = game.with_player(state, line.player)
    host = jax.tree.map(np.asarray, state)
    return host._replace(komi=np.float32(line.komi)) if hasattr(host, "komi") else host


@functools.lru_cache(maxsize=8)
def _program(game: Game) -> Callable[..., tuple[State, tuple[State, jax.Array]]]:
    """``(states, told) -> (states after, (states before each move, whether it is legal))``: batch last, moves first,
    -1 where a game is over."""

    def move(states: State, action: jax.Array) -> tuple[State, tuple[State, jax.Array]]:
        goes_on = jax.vmap(lambda state: game.resumed(state, 1), in_axes=-1, out_axes=-1)(states)
        legal = jax.vmap(game.legal_action_mask, in_axes=-1)(goes_on)
        taken = jnp.maximum(action, 0)
        fine = jnp.take_along_axis(legal, taken[:, None], axis=1)[:, 0] & (action >= 0)
        stepped = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(goes_on, taken)
        after = jax.tree.map(lambda new, old: jnp.where(fine, new, old), stepped, states)
        kept = jax.vmap(game.without_history, in_axes=-1, out_axes=-1)(goes_on)
        return after, (kept, fine)

    return jit(lambda states, told: lax.scan(move, states, told))


@functools.lru_cache(maxsize=8)
def _counting(game: Game) -> Callable[[State], tuple[jax.Array, jax.Array]]:
    """(margin, owners) of a position as it stands."""
    return jit(lambda state: (game.margin(state), game.owners(state)))
