"""Go's stronger rollouts against a plain-Python referee, and what they are worth."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from referee.tactics import Tactics
from tiers import full_but

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states, rules
from jubango.sgf_games.rules.go import playout as go_playout
from jubango.sgf_games.rules.go.tactics import Last, Window, _shapely, _urgent, preferred, self_atari


def positions(height, width, number):
    """(stones [number, height, width]: 1 the mover's, 2 the other's; the last stone of each) of games and of chance."""
    rng = np.random.default_rng(height * width)
    stones = rng.choice(3, p=[0.45, 0.28, 0.27], size=(number, height, width))
    last = np.array([rng.choice(np.flatnonzero(board == 2)) if (board == 2).any() else -1 for board in stones])
    last[::17] = -1
    return stones, last


def rows(boards, width):
    bits = (boards.astype(int) << np.arange(width)).sum(axis=-1)
    return [jnp.asarray(bits[:, r], bb.row_type(width)) for r in range(boards.shape[1])]


def points(board):
    """Of every lane the set of its points."""
    height, lanes = len(board), len(board[0])
    found = [set() for _ in range(lanes)]
    for r, row in enumerate(np.asarray(board).reshape(height, lanes).tolist()):
        for lane, bits in enumerate(row):
            found[lane] |= {(r, c) for c in range(bits.bit_length()) if bits >> c & 1}
    return found


@pytest.mark.parametrize(
    "size", full_but([(5, 5), (3, 7)], [(9, 9), (5, 5), (3, 7), (1, 6), (6, 1), (2, 2), (4, 15), (3, 19)])
)
def test_captures_escapes_and_shapes_are_the_referees(size):
    height, width = size
    stones, last = positions(height, width, 400)
    own, opp = rows(stones == 1, width), rows(stones == 2, width)
    flat = np.arange(height * width).reshape(height, width)
    stone = rows(flat == last[:, None, None], width)

    @jit
    def found(own, opp, stone, bits):
        window = Window(own, opp, Last.of(stone), width)
        return _urgent(own, opp, window, bits, width), window.on_board(_shapely(window))

    each = [tuple(map(points, found(own, opp, stone, jnp.full(400, bits, jnp.uint32)))) for bits in range(4)]
    seen = {"captures": 0, "escapes": 0, "shapes": 0}
    for lane in range(400):
        place = None if last[lane] < 0 else tuple(int(x) for x in divmod(last[lane], width))
        referee = Tactics(stones[lane].tolist(), place)
        assert each[0][1][lane] == referee.shapely()
        captures, escapes = referee.captures(), list(referee.escapes().values()) or [set()]
        for urgent, _ in each:  # whatever the dice, it is one of the chains
            assert any(urgent[lane] == captures | one for one in escapes)
        together = set().union(*(urgent[lane] for urgent, _ in each))
        assert together == captures | set().union(*escapes)  # and every one may be
        seen["captures"] += len(captures)
        seen["escapes"] += len(set().union(*escapes))
        seen["shapes"] += len(referee.shapely())
    if min(size) > 2:
        assert min(seen.values()) > 5


def test_what_is_urgent_comes_before_shapes_and_these_before_chance():
    stones, last = positions(7, 7, 300)
    own, opp = rows(stones == 1, 7), rows(stones == 2, 7)
    stone = rows(np.arange(49).reshape(7, 7) == last[:, None, None], 7)
    empty = rows(stones == 0, 7)
    free = points(empty)
    choose = jit(lambda *args: preferred(*args, 7))
    for bits, looks in ((0, False), (1, True), (16, False), (33, True)):
        chosen = points(choose(own, opp, Last.of(stone), empty, jnp.full(300, bits, jnp.uint32)))
        kinds = set()
        for lane in range(300):
            referee = Tactics(stones[lane].tolist(), None if last[lane] < 0 else tuple(divmod(int(last[lane]), 7)))
            urgent = [referee.captures() | one for one in referee.escapes().values()] or [referee.captures()]
            if not looks:
                assert chosen[lane] == free[lane]
                continue
            assert chosen[lane] in [one or referee.shapely() or free[lane] for one in urgent]
            kinds.add("urgent" if any(urgent) else "shape" if referee.shapely() else "chance")
        assert kinds == ({"urgent", "shape", "chance"} if looks else set())


@pytest.mark.parametrize("size", full_but([(5, 5)], [(9, 9), (5, 5), (3, 7), (2, 5), (3, 19), (12, 15)]))
def test_self_ataris_are_the_referees(size):
    height, width = size
    stones, _ = positions(height, width, 400)
    asked = jit(lambda move, own, opp: self_atari(move, own, opp, width))
    free = [np.flatnonzero(board == 0) for board in stones]
    seen = {True: 0, False: 0}
    for k in range(6):
        chosen = np.array([points[k % len(points)] if len(points) else -1 for points in free])
        move = rows(np.arange(height * width).reshape(height, width) == chosen[:, None, None], width)
        found = np.asarray(asked(move, rows(stones == 1, width), rows(stones == 2, width)))
        for lane, point in enumerate(chosen):
            if point < 0:
                assert not found[lane]
                continue
            place = tuple(int(x) for x in divmod(point, width))
            assert found[lane] == Tactics(stones[lane].tolist(), None).self_atari(place), (lane, place)
            seen[bool(found[lane])] += 1
    assert min(seen.values()) > 20


def test_throwing_in_and_filling_an_eye_to_kill_it_are_no_self_ataris():
    boards = {  # X plays at "!"
        ".O!\nOOO": False,  # a throw-in
        "X!.O\nOOOO": False,  # two stones in an eye of three points
        "XX!.O\nXXOOO\nOOOOO": False,  # five in an eye of six
        "XXX!.O\nXXOOOO\nOOOOOO": True,  # six in one of seven
        "X!.O\nOOO.": True,  # those around it live
        "X!.X\nOO..": True,  # the liberty leads on
        "X!..\nOO..": True,
        "X!..\nO...": False,  # two liberties
    }
    for text, is_one in boards.items():
        lines = text.split("\n")
        board = np.array([[{"X": 1, "O": 2, ".": 0, "!": 3}[sign] for sign in line] for line in lines])[None]
        width = board.shape[2]
        move, own, opp = (rows(board == k, width) for k in (3, 1, 2))
        assert bool(self_atari(move, own, opp, width)[0]) == is_one, text


@pytest.mark.full
@pytest.mark.parametrize("tactical", [False, True])
def test_who_has_the_points_of_a_random_game(tactical):
    """The game is the same that is told nothing of, and the points add up to its result."""
    game = make_game("go:5x6,komi=0.5")
    states = game.without_history(initial_states(game, 64))
    seeds = jnp.arange(64, dtype=jnp.uint32) * 31 + 7
    returns, owners = jit(lambda states, seeds: game.playout_with_owners(states, seeds, tactical))(states, seeds)
    assert np.array_equal(returns, jit(game.tactical_playout if tactical else game.random_playout)(states, seeds))
    owners = np.asarray(owners)
    assert np.array_equal(returns[0], np.sign((owners == 0).sum(0) - (owners == 1).sum(0) - 0.5))
    assert (owners[-1] == -1).all()  # a pass is no point
    assert (owners[:-1] >= 0).mean() > 0.9


@pytest.mark.parametrize("tactical", full_but([False], [False, True]))
def test_of_a_game_that_is_over_points_are_had_as_the_board_stands(tactical):
    """No stones on a point between both colours, and it is nobody's."""
    game = make_game("go:5,komi=0.5")
    stones = np.zeros((5, 5), int)
    stones[:, 1], stones[:, 3], stones[0, 0] = 1, 2, 2
    for mover in (0, 1):
        state = game.set_up(stones, mover)
        for _ in range(2):
            state = rules(game).step(state, game.pass_action)
        _, owners = jit(lambda states: game.playout_with_owners(states, jnp.zeros(1, jnp.uint32), tactical))(
            jax.tree.map(lambda x: jnp.asarray(x)[..., None], game.without_history(state))
        )
        wanted = np.tile([-1, 0, -1, 1, 1], (5, 1))
        wanted[0, 0] = 1
        assert np.array_equal(np.asarray(owners)[:-1, 0].reshape(5, 5), wanted)


@pytest.mark.full
def test_tactical_games_are_legal_and_lanes_do_not_depend_on_each_other():
    """Every move is one of the light player's candidates, and a lane's game that of its seed alone."""
    game = make_game("go:6,komi=0.5")
    seeds = jnp.arange(96, dtype=jnp.uint32) * 31 + 7
    states = game.without_history(initial_states(game, 96))
    result, first = jit(game.tactical_playout_with_firsts)(states, seeds)
    assert np.array_equal(result, jit(game.tactical_playout)(states, seeds))
    few = game.without_history(initial_states(game, 32))
    assert np.array_equal(result[:, 40:72], jit(game.tactical_playout)(few, seeds[40:72]))
    assert not np.array_equal(result, jit(game.random_playout)(states, seeds))
    assert (np.asarray(first)[:-1] >= 0).mean() > 0.9
    zero, none = jnp.zeros(96, jnp.int32), [jnp.zeros(96, jnp.uint16)] * 6
    light, heavy = (go_playout.start(none, none, zero - 1, zero, zero > 0, seeds, 6, last=x) for x in (None, zero - 1))
    step = jit(go_playout.attempt(6, 999))
    for _ in range(60):
        after = step(heavy)
        played = heavy._replace(last=None, amaf=None)
        assert jax.tree.structure(played) == jax.tree.structure(light)
        moved = np.asarray(after.turn > heavy.turn)
        own, opp, new = (np.asarray(bb.pack(x))[:, moved] for x in (heavy.own, heavy.opp, after.opp))
        new &= ~own
        assert not (new & opp).any()
        assert max(map(len, points(new))) == 1
        assert (np.asarray(after.last.bit)[moved] == np.bitwise_or.reduce(new, axis=0)).all()
        left = np.asarray(bb.pack(after.own))[:, moved]
        for mine, theirs, kept, move in zip(*map(points, (own, opp, left, new)), strict=True):
            if move and kept == theirs:  # which takes nothing
                board = [
                    [(place in mine) + 2 * (place in theirs) for place in ((r, c) for c in range(6))] for r in range(6)
                ]
                assert not Tactics(board, None).self_atari(*move)
        heavy = after
