"""The JAX rules of Go against the counts of the literature and a plain-Python referee."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from referee.go import PASS, RefereeGo
from tiers import full_but

from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states, rules
from jubango.sgf_games.rules.go.go import Go


@functools.cache
def compiled(game: Go):
    """(step, legal_action_mask, margin) of a batch of states, batch last."""
    step = jit(jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1))
    legal = jit(jax.vmap(game.legal_action_mask, in_axes=-1))
    margin = jit(jax.vmap(game.margin, in_axes=-1))
    return step, legal, margin


def batch_of(game: Go, lanes: int):
    return jax.tree.map(lambda x: jnp.repeat(x[..., None], lanes, axis=-1), game.init())


def in_parts(function, axis: int, *batches, lanes: int = 1024):
    """What a compiled function says of a batch of any size, so many lanes at a time: one program for all sizes.
    ``axis``: where the batch is in what it returns."""
    size, found = jax.tree.leaves(batches)[0].shape[-1], []
    for first in range(0, size, lanes):
        part = jax.tree.map(lambda x: np.asarray(x)[..., first : first + lanes], batches)  # noqa: B023
        spare = max(0, first + lanes - size)
        padded = jax.tree.map(lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, spare)]), part)  # noqa: B023
        found.append(function(*padded))
    joined = jax.tree.map(lambda *xs: np.concatenate(xs, axis), *found)
    return jax.tree.map(lambda x: x.take(range(size), axis), joined)


def perft(game: Go, depth: int, passes: bool = True) -> list[int]:
    """Numbers of legal move sequences of length 1..depth, breadth first in batches."""
    step, legal, _ = compiled(game)
    states, counts = batch_of(game, 1), []
    for _ in range(depth):
        mask = in_parts(legal, 0, states)
        if not passes:
            mask[:, -1] = False
        lane, action = np.nonzero(mask)
        counts.append(len(lane))
        if len(counts) == depth or not len(lane):
            break
        chosen = jax.tree.map(lambda x: np.asarray(x)[..., lane], states)  # noqa: B023
        states = in_parts(step, -1, chosen, action.astype(np.int32))
    return counts


def referee_perft(referee: RefereeGo, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for move in referee.legal_moves():
        after = referee.copy()
        after.play(move)
        total += referee_perft(after, depth - 1)
    return total


def test_published_counts():
    assert perft(make_game("go:2"), 6) == [5, 21, 68, 156, 316, 604]
    assert perft(make_game("go:3"), 5) == [10, 91, 738, 5281, 33384]
    assert perft(make_game("go:9"), 3, passes=False) == [81, 6480, 511920]


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
@pytest.mark.parametrize("suicide", [False, True])
def test_rule_sets_differ_where_the_referee_says(ko, suicide):
    game = Go(2, 2, 0.0, ko, suicide)
    expected = [referee_perft(RefereeGo(2, 2, 0.0, ko, suicide), d) for d in range(1, 9)]
    assert perft(game, 8) == expected


def test_legal_positions_of_tiny_boards():
    """1 on 1x1, 57 on 2x2, 12,675 on 3x3 (Tromp): no position with a chain in atari to itself."""
    from jubango.sgf_games.compute import bitboard as bb
    from jubango.sgf_games.rules.go.moves import chains_with_two_liberties

    for size, expected in ((1, 1), (2, 57), (3, 12675)):
        n = size * size
        digits = (np.arange(3**n)[:, None] // 3 ** np.arange(n)) % 3
        black, white = (
            [jnp.asarray(((digits == c).reshape(-1, size, size) << np.arange(size)).sum(-1)[:, r], jnp.uint16)
             for r in range(size)]
            for c in (1, 2)
        )  # fmt: skip

        def alive(stones, others, size=size):
            empty = bb.complement(bb.either(stones, others), size)
            return bb.flood(bb.both(stones, bb.near(empty, size)), stones, size)

        good = np.ones(3**n, bool)
        for stones, others in ((black, white), (white, black)):
            for row, reached in zip(stones, alive(stones, others), strict=True):
                good &= np.asarray(row == reached)
        assert good.sum() == expected
        for two, stones in zip(chains_with_two_liberties(size, black, white), (black, white), strict=True):
            assert all(np.all((np.asarray(t) & ~np.asarray(s)) == 0) for t, s in zip(two, stones, strict=True))


@pytest.mark.parametrize(
    "spec",
    full_but(["go:3,ko=situational", "go:5,komi=0.5", "go:4x3,ko=positional"], [
        "go:1", "go:2,ko=positional,suicide=true", "go:3,ko=situational", "go:5,komi=0.5",
        "go:4x3,ko=positional", "go:1x7", "go:7x1,suicide=true", "go:5,ko=situational,suicide=true",
        "go:9,komi=7", "go:16x3,ko=simple",
    ]),
)  # fmt: skip
def test_random_games_agree_with_the_referee(spec):
    """Every legal mask, position and score along random games; captures are made likely by small boards."""
    game = make_game(spec)
    lanes, plies = 6, min(120, game.max_plies)
    step, legal, margin = compiled(game)
    rng = np.random.default_rng(len(spec))
    referees = [RefereeGo(game.width, game.height, game.komi, game.ko, game.suicide) for _ in range(lanes)]
    states = batch_of(game, lanes)
    for ply in range(plies):
        masks = np.asarray(legal(states))
        margins = np.asarray(margin(states))
        actions = np.zeros(lanes, np.int32)
        for lane, referee in enumerate(referees):
            expected = np.zeros(game.num_actions, bool)
            for move in referee.legal_moves():
                expected[game.point_action(move)] = True
            where = f"{spec} lane {lane} ply {ply}\n{referee}"
            assert np.array_equal(masks[lane], expected), where
            one = jax.tree.map(lambda x: x[..., lane], states)  # noqa: B023
            drawn = {"b": 1, "w": 2}
            board = np.zeros((game.height, game.width), np.int8)
            for point, colour in referee.stones.items():
                board[point] = drawn[colour]
            assert np.array_equal(game.stones(one), board), where
            assert margins[lane] == referee.area(), where
            assert bool(game.is_terminal(one)) == (referee.is_over() or ply >= game.max_plies)
            if referee.is_over():
                continue
            choices = np.flatnonzero(expected[:-1])
            wants_pass = len(choices) == 0 or rng.random() < 0.02
            actions[lane] = game.pass_action if wants_pass else rng.choice(choices)
            referee.play(PASS if wants_pass else game.action_point(one, int(actions[lane])))
        states = step(states, jnp.asarray(actions))


def test_snapback_ko_and_capture_by_drawing():
    """Black takes a ko; White may not retake at once, but may after a move elsewhere."""
    game = make_game("go:5,komi=0")
    moves = ["B5", "C5", "A4", "D4", "B3", "C3", "E1", "B4", "C4"]
    compiled, state = rules(game), game.init()
    for move in moves:
        action = game.parse_action(move)
        assert bool(compiled.view(state).legal[action]), move
        state = compiled.step(state, action)
    drawing = "\n".join("".join(".XO"[v] for v in row) for row in game.stones(state))
    assert drawing == ".XO..\nX.XO.\n.XO..\n.....\n....X"
    assert not compiled.view(state).legal[game.parse_action("B4")]
    for move in ("E2", "D1"):
        state = compiled.step(state, game.parse_action(move))
    assert compiled.view(state).legal[game.parse_action("B4")]


@pytest.mark.full
def test_random_playouts_end_in_finished_positions_of_legal_games():
    """A playout's games are legal move by move, and end only when nothing but eyes is left."""
    from jubango.sgf_games.compute import bitboard as bb
    from jubango.sgf_games.rules.go import playout as go_playout

    game = make_game("go:5")
    lanes = 32
    states = game.without_history(batch_of(game, lanes))
    seeds = jnp.arange(lanes, dtype=jnp.uint32) * 7 + 3
    zero = jnp.zeros(lanes, jnp.int32)
    playing = go_playout.start(
        bb.unpack(states.own), bb.unpack(states.opp), states.ko, zero, zero > 0, seeds, game.width
    )
    attempt = jit(go_playout.attempt(game.width, 10_000))
    referees = [RefereeGo(5, 5) for _ in range(lanes)]
    first = np.full((game.num_actions, lanes), -1)  # who took a point first
    for _ in range(game.max_plies * 2):
        before, playing = playing, attempt(playing)
        for lane, referee in enumerate(referees):
            if playing.turn[lane] == before.turn[lane]:
                continue
            mover = 1 if referee.to_move == "b" else 2
            old, new = (
                game.stones(states._replace(
                    own=jnp.stack([r[lane] for r in p.own]), opp=jnp.stack([r[lane] for r in p.opp]),
                    player=p.turn[lane] % 2,
                ))
                for p in (before, playing)
            )  # fmt: skip
            played = np.argwhere((new == mover) & (old == 0))
            assert len(played) <= 1
            for r, c in played:
                if first[r * 5 + c, lane] < 0:
                    first[r * 5 + c, lane] = mover - 1
            referee.play(tuple(int(x) for x in played[0]) if len(played) else PASS)
            colours = {0: None, 1: "b", 2: "w"}
            assert all(referee.stones.get((r, c)) == colours[new[r, c]] for r in range(5) for c in range(5))
    assert bool(jnp.all(playing.passes >= 2))
    result = jit(game.random_playout)(states, seeds)
    margins = [referee.area() for referee in referees]
    assert np.array_equal(np.asarray(result[0]), np.sign(margins))
    told = jit(game.random_playout_with_amaf)(states, seeds)
    assert np.array_equal(told[0], result)
    assert np.array_equal(told[1], first)
    assert (first[:-1] >= 0).mean() > 0.9


@pytest.mark.parametrize("size", [(2, 2), (5, 5), (4, 7), (9, 9)])
def test_eyes_are_those_of_light_playouts(size):
    """Own stones or edge on all sides, and fewer than two of the diagonals enemies; at the edge none. Empty ones do no harm."""
    from jubango.sgf_games.compute import bitboard as bb
    from jubango.sgf_games.rules.go.playout import _eyes

    height, width = size
    boards = np.random.default_rng(3).choice(
        3, p=[0.3, 0.5, 0.2], size=(400, height, width)
    )  # empty, own, the opponent's

    def rows(colour):
        bits = ((boards == colour) << np.arange(width)).sum(axis=-1)
        return [jnp.asarray(bits[:, r], bb.row_type(width)) for r in range(height)]

    found = np.stack([np.asarray(row) for row in _eyes(rows(1), rows(2), rows(0), width)])
    seen = 0
    for lane, board in enumerate(boards):
        padded = np.pad(board, 1, constant_values=-1)
        for r, c in np.ndindex(height, width):
            area = padded[r : r + 3, c : c + 3]
            sides, corners = area[[0, 1, 1, 2], [1, 0, 2, 1]], area[[0, 0, 2, 2], [0, 2, 0, 2]]
            eye = board[r, c] == 0 and np.isin(sides, (1, -1)).all()
            eye = eye and (corners == 2).sum() + (-1 in corners) < 2
            assert bool(found[r, lane] >> c & 1) == eye
            seen += eye
    assert seen > 20


def test_the_last_of_many_random_games_end_as_they_would_among_few():
    """Of 100 lanes the last are played on by themselves; of 20 none are."""
    game = make_game("go:5")
    seeds = jnp.arange(100, dtype=jnp.uint32) * 7 + 1
    states = game.without_history(initial_states(game, 100))
    play = jit(lambda states, seeds: game.random_playout(states, seeds))
    together = np.asarray(play(states, seeds))
    alone = [np.asarray(play(jax.tree.map(lambda x, i=i: x[..., i : i + 20], states), seeds[i : i + 20]))
             for i in range(0, 100, 20)]  # fmt: skip
    assert np.array_equal(together, np.concatenate(alone, axis=1))
    assert 0 < (together[0] > 0).sum() < 100
