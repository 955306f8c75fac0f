"""Time controls and clocks, and games that are played by them."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import play, points

from jubango.bots.config import bot_from_spec
from jubango.bots.players.clock import NO_LIMIT, Clock, MoveTime, SharedClock, TimeControl, moves_left
from jubango.bots.players.minimax import MinimaxPlayer
from jubango.bots.players.search import SearchPlayer
from jubango.bots.run_bot import run_bot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state

TTT, C4 = make_game("tic_tac_toe"), make_game("connect_four")


def test_time_controls_are_read_and_written():
    for text in ("60", "60+1", "300+3x30", "0.5+0.1"):
        assert str(TimeControl.parse(text)) == text
    assert TimeControl.parse("300+3x30") == TimeControl(300, byoyomi=30, periods=3)
    for text in ("", "x", "-1", "0", "60+", "60+3x", "60-1", "0+0"):
        with pytest.raises(UserError, match="clock"):
            TimeControl.parse(text)


def test_clocks_run():
    fischer = Clock(TimeControl.parse("10+2"))
    assert fischer.spend(4)
    assert fischer.main == 8
    assert not fischer.spend(8.1)
    byoyomi = Clock(TimeControl.parse("10+3x5"))
    assert byoyomi.spend(12)  # two seconds into the first period, which is not lost
    assert (byoyomi.main, byoyomi.periods) == (0, 3)
    assert byoyomi.spend(4.9)
    assert byoyomi.spend(5.5)  # one period lost
    assert byoyomi.periods == 2
    assert not byoyomi.spend(10.1)


@pytest.mark.parametrize("patience", [1, 2, 10])
@pytest.mark.parametrize("text", ["60", "60+1", "20+3x5", "1+0.2", "0+1x10", "5"])
def test_a_plan_never_runs_out_of_time(text, patience):
    """Thinking as long as planned, or as long as it may in every move, with the same lag, through a game of any length,
    or without an increment until the board is full."""
    clock = Clock(TimeControl.parse(text))
    endless = clock.control.increment or clock.control.byoyomi
    plies = 500 if endless else 81
    for ply in range(0, plies, 2):
        limit = clock.budget(moves_left(81, ply))
        seconds, longest = limit.bounds(0.0, patience)
        assert 0 < seconds <= longest <= limit.longest < clock.left
        assert longest <= patience * seconds + 1e-9
        assert clock.spend(longest + 0.04)
        assert clock.periods == clock.control.periods, "no period is lost"
    assert clock.main <= 0.5 * clock.control.main, "and it is used"


def test_a_bot_s_own_seconds_bound_its_patience():
    limit = MoveTime(2.0, 7.0)
    assert limit.bounds(0, 1) == (2, 2)
    assert limit.bounds(0, 2) == (2, 4)
    assert limit.bounds(0, 5) == (2, 7)
    assert limit.bounds(3, 2) == (2, 3)
    assert limit.bounds(1, 2) == (1, 1)
    assert NO_LIMIT.bounds(3, 2) == (3, 3)
    assert NO_LIMIT.bounds(0, 2) == (math.inf, math.inf)


@pytest.mark.full
def test_seconds_a_move():
    bot = bot_from_spec("uct:seconds=0.05")
    run_bot(C4, bot, [initial_state(C4)], [1])  # compiled
    began = time.perf_counter()
    (result,) = run_bot(C4, bot, [initial_state(C4)], [1])
    assert 0 < result.simulations < 50_000
    assert time.perf_counter() - began < 30
    records = play(TTT, ["uct:seconds=0.02,simulations=50000", "random"], 2, lanes=2)
    assert len(records) == 2


@pytest.mark.full
def test_compiling_is_on_nobody_s_clock():
    """The first move of a bot whose program was never compiled before has its whole time."""
    (result,) = run_bot(C4, bot_from_spec("uct:seconds=0.5,c=0.77,rollouts=3"), [initial_state(C4)], [1])
    assert result.simulations > 300
    fast = ["uct-solver:simulations=50000,rollouts=3", "minimax:depth=3,evaluator=rollout"]
    records = play(TTT, fast, 2, lanes=1, clock=TimeControl.parse("3+0.2"))
    assert {r.reason for r in records} <= {"line", "full"}


@pytest.mark.full
def test_games_by_the_clock():
    """A bot that thinks by the clock finishes its games, alpha-beta too, which would look ahead for hours; one that has
    no time for a single ply loses on time."""
    records = play(TTT, ["uct:simulations=50000", "random"], 2, lanes=1, clock=TimeControl.parse("8+1"))
    assert {r.reason for r in records} <= {"line", "full"}
    deep = play(C4, ["minimax:depth=20", "random"], 2, lanes=1, clock=TimeControl.parse("6+0.5"))
    assert {r.reason for r in deep} == {"line"}
    assert points(deep, "minimax:depth=20") == 2
    slow = play(C4, ["minimax:depth=20", "random"], 2, lanes=1, clock=TimeControl.parse("0.001"))
    assert {r.reason for r in slow} == {"time"}
    assert all(r.result == "W+T" for r in slow if r.black.startswith("minimax"))


@pytest.mark.full
def test_games_that_share_the_machine_are_charged_their_shares():
    """All clocks together run no faster than the wall's, however many games are thought about at once."""
    clock, began = TimeControl.parse("60"), time.perf_counter()
    records = play(TTT, ["uct:simulations=400", "minimax:depth=6"], 16, lanes=16, clock=clock)
    elapsed = time.perf_counter() - began
    left = [[seconds for seconds, _ in r.time_left[-2:]] for r in records]
    spent = sum(60 - seconds for own in left for seconds in own)
    assert {r.reason for r in records} <= {"line", "full"}
    assert 0 < spent <= elapsed


@pytest.mark.full
def test_a_bot_thinks_longer_where_others_share_the_machine():
    """Its time for a move is so many of the wall's as there are games: four games take about as long as four times one,
    and nobody loses on time."""
    bots = ["uct:simulations=60000,leaves=1,ensemble=1,name=a", "uct:simulations=60000,leaves=1,ensemble=1,name=b"]
    records = play(make_game("connect_four:5x4"), bots, 4, lanes=4, clock=TimeControl.parse("3"))
    assert not {r.reason for r in records} & {"time"}
    used = [3 - seconds for r in records for seconds, _ in r.time_left[-2:]]
    assert min(used) > 0.3
    assert max(r.seconds for r in records) > 1.5 * max(sum(used[i : i + 2]) for i in range(0, 8, 2))


@given(st.lists(st.tuples(st.floats(0.001, 5), st.integers(0, 40)), min_size=1, max_size=30))
def test_a_shared_watch_gives_everybody_the_same(steps):
    """Against its definition: the sum over the intervals of their length by the games that thought in them."""
    now = [100.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jubango.bots.players.clock.time.perf_counter", lambda: now[0])
        share, expected, thinking = SharedClock(), 0.0, 1
        for seconds, number in steps:
            now[0] += seconds
            share.look(number)
            expected += seconds / thinking
            thinking = max(1, number)
    assert share.seconds == pytest.approx(expected)


@pytest.mark.full
@pytest.mark.parametrize("kind", [SearchPlayer, MinimaxPlayer])
def test_players_hear_of_it_when_fewer_games_share_the_machine(kind, monkeypatch):
    """Four games begin at once, and end one after the other: at first the machine is shared by all of them."""
    heard, rescale = [], kind.rescale
    monkeypatch.setattr(kind, "rescale", lambda self, factor: (heard.append(factor), rescale(self, factor)))
    specs = {SearchPlayer: ["uct:simulations=40", "uct:simulations=50"], MinimaxPlayer: ["minimax", "minimax:depth=3"]}
    records = play(TTT, specs[kind], 4, 4, TimeControl.parse("60"))
    assert {r.reason for r in records} <= {"line", "full"}
    shared = np.cumprod(heard)  # of two players, or of one that has both bots: each is told
    assert heard[0] == 4
    assert min(heard) < 1
    assert shared.min() >= 1


@pytest.mark.full
@pytest.mark.parametrize("clock", [None, TimeControl.parse("60")])
def test_searches_by_the_clock_do_not_wait_for_each_other(clock, monkeypatch):
    """Two programs: by the clock neither is set to work before it is waited for, as the other's time would count as
    its own, and both work as long."""
    started, start = [], SearchPlayer.start
    monkeypatch.setattr(SearchPlayer, "start", lambda self, *how: (started.append(how), start(self, *how)))
    records = play(TTT, ["uct:simulations=40", "rave:simulations=40"], 4, 4, clock)
    assert len(records) == 4
    both = list(zip(started[::2], started[1::2], strict=True))
    assert all(one == other for one, other in both)
    assert any(not at_once and most <= 60 * 4 for (most, at_once), _ in both) == bool(clock)
