"""Who plays when: rounds that mix opponents, queues of any length, and how long the rest will take."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import round_robin

from jubango.arena.games.pool import GamePool
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import Memory
from jubango.arena.schedule.pace import GameUnderWay, Pace
from jubango.arena.schedule.pairings import GameTask, Pairing, pairings
from jubango.arena.schedule.plan import make_plan
from jubango.arena.schedule.waiting import FURTHEST, Waiting
from jubango.bots.config import Bot
from jubango.sgf_games.records.record import GameRecord


@pytest.mark.parametrize("count", [2, 3, 4, 7, 12])
def test_everybody_has_played_as_often_as_the_others_at_any_time(count):
    names = [f"bot {i}" for i in random.Random(count).sample(range(100), count)]
    assert sorted(pairings(names)) == sorted(tuple(sorted(pair)) for pair in itertools.combinations(names, 2))
    played = Counter(dict.fromkeys(names, 0))
    for task in round_robin(names, 4, 1):
        played.update((task.black, task.white))
        assert max(played.values()) - min(played.values()) <= 2
    assert set(played.values()) == {4 * (count - 1)}


def test_the_dice_of_a_game_stay_what_they_are():
    """Fixed numbers: other ones would make every run that was begun another run."""
    tasks = {task.game_id: task for task in round_robin(["uct", "random", "B"], 2, 3)}
    assert {game_id: task.seed for game_id, task in tasks.items()} == {
        "random~uct~00001": 69082919378772479, "B~uct~00001": 33950053099635275, "B~random~00001": 29236696663337638,
        "random~uct~00002": 38006781510077633, "B~uct~00002": 39051040127129069, "B~random~00002": 16913479981809392,
    }  # fmt: skip
    assert {(task.black, task.white) for task in tasks.values() if task.game_id[-1] == "2"} == {
        ("uct", "random"), ("uct", "B"), ("random", "B")
    }  # fmt: skip


def test_a_schedule_of_any_length_begins_at_once():
    """Twenty million games are never all in memory."""
    plan = make_plan("tic_tac_toe", [Bot("random", name=f"r{i}") for i in range(200)], {"games": 1000})
    table = GamePool(plan.game, plan.bots, 8)
    tracemalloc.start()
    began = list(itertools.islice(table.play(plan.tasks()), 3))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    table.close()
    assert plan.total == 19_900_000
    assert any(began)
    assert most < 20_000_000


def task(number: int, black: str, white: str) -> GameTask:
    return GameTask(f"{black}~{white}~{number}", black, white, number)


def test_games_whose_engines_are_busy_let_others_pass():
    pairs = [("e", "a"), ("e", "f"), ("e", "b"), ("a", "b"), ("f", "a"), ("e", "b"), ("a", "b")]
    waiting = Waiting(task(i, *pair) for i, pair in enumerate(pairs))
    assert waiting

    def taken(**free: int) -> int | None:
        found = waiting.take(free)
        return None if found is None else found.seed

    assert [taken(e=1, f=1), taken(e=0, f=1), taken(e=0, f=1), taken(e=0, f=0)] == [0, 3, 4, 6]
    assert taken(e=0, f=1) is None
    assert waiting, "games are left"
    assert [taken(e=1, f=0), taken(e=1, f=1), taken(e=1, f=0)] == [2, 1, 5]
    assert not waiting
    assert taken(e=1, f=1) is None


def test_a_long_queue_for_a_busy_engine_is_read_as_far_as_need_be():
    read = []
    waiting = Waiting(read.append(i) or task(i, "e", "a") for i in range(50_000))
    for _ in range(1000):
        assert waiting.take({"e": 0}) is None
    assert len(read) < 2 * FURTHEST
    assert [waiting.take({"e": 1}).seed for _ in range(20_000)] == list(range(20_000))


def played(pace: Pace, pair: Pairing, number: int, moves: int, seconds: float) -> None:
    for i in range(number):
        pace.add(GameUnderWay(f"{pair} {i}", pair, moves, seconds))


def test_what_is_left_is_weighted_by_what_games_cost():
    """Two quick bots and two slow ones on two lanes: the quick games are over first."""
    names = ["fast", "quick", "slow", "late"]
    cost = {pair: 1.0 + 10 * sum(name in ("slow", "late") for name in pair) for pair in pairings(names)}
    pace = Pace(dict.fromkeys(cost, 10))
    assert pace.left([], 5.0) is None
    for pair, seconds in cost.items():
        played(pace, pair, 10 if seconds == 1 else 2, 50, seconds)
    assert pace.left([], 0.0, lanes=2) == pytest.approx(8 * (4 * 11 + 21) / 2)
    later = pace.left([], 0.0, 2, rounds=[4, 1])
    assert later == pytest.approx(8 * (4 * 11 + 21) / 2 + (2 + 1) * sum(cost.values()) / 6)


def test_a_pairing_that_has_not_begun_is_judged_by_its_bots():
    known = {"uct-100": 100.0, "uct-800": 800.0}
    for pair, seconds in {("uct-100", "uct-800"): 9.0, ("gnugo", "uct-100"): 2.0, ("gnugo", "gtp"): 2.0}.items():
        pace = Pace({("uct-100", "uct-99"): 1, pair: 1}, known | {"uct-99": 100.0})
        played(pace, ("uct-100", "uct-99"), 1, 50, 2.0)
        assert pace.left([], 0.0, lanes=1) == pytest.approx(seconds), "by their simulations, else by other games"
    engines = Pace({("a", "gnugo"): 10, ("a", "b"): 1}, processes={"gnugo": 2})
    played(engines, ("a", "gnugo"), 2, 50, 5.0)
    played(engines, ("a", "b"), 1, 50, 5.0)
    assert engines.left([], 0.0, lanes=8) == pytest.approx(8 * 5 / 2), "two games at a time, whatever the lanes"


def test_long_games_under_way_are_not_taken_for_finished_ones():
    """Those that ended first are the short ones. As long as a game is left there is time left."""
    pace = Pace({("a", "b"): 20})
    played(pace, ("a", "b"), 4, 60, 30.0)
    alike = [GameUnderWay(f"long {i}", ("a", "b"), 90, 45.0) for i in range(16)]
    left = pace.left(alike, 45.0)
    assert left is not None
    assert 5 < left < 45
    played(pace, ("a", "b"), 15, 90, 45.0)
    longest = pace.left([GameUnderWay("long", ("a", "b"), 400, 200.0)], 200.0)
    assert longest is not None
    assert 1 <= longest < 60


@given(
    seed=st.integers(0, 2**32), bots=st.integers(2, 6), games=st.integers(5, 20), lanes=st.integers(2, 60),
    shared=st.floats(0, 1),
)  # fmt: skip
@settings(max_examples=20, deadline=None)
def test_the_time_left_is_about_what_is_left(seed, bots, games, lanes, shared):
    """Any schedule of bots of different strengths, on lanes that share none or all of the machine: from a third on it
    is right within a factor of two, but for one game, and never nothing."""
    schedule = Simulated(random.Random(seed), bots, games, lanes, shared)
    pace = Pace(dict.fromkeys(schedule.pairs, games), schedule.work)
    said = []
    while schedule.under_way:
        for game in schedule.go_on():
            pace.add(game)
        if schedule.rounds % 5 == 0 and schedule.under_way:
            said.append((schedule.seconds, pace.left(schedule.under_way, schedule.seconds, lanes)))
    end = schedule.seconds
    of_game = max(schedule.cost)
    late = [(when, left) for when, left in said if when > end / 3 and left is not None]
    for when, left in late:
        assert left >= 1
        assert (end - when) / 2 - of_game < left < 2 * (end - when) + of_game


class Simulated:
    """A tournament's games in lanes, a round at a time: a move costs what its bots cost, and takes the longer the more
    games there are, as far as lanes share the machine."""

    def __init__(self, rng: random.Random, bots: int, games: int, lanes: int, shared: float) -> None:
        self.rng, self.shared, self.lanes = rng, shared, lanes
        self.work = {f"b{i}": float(10 * 3**i) for i in range(bots)}
        self.pairs = list(pairings(list(self.work)))
        tasks = [(pair, f"{pair} {i}") for i in range(games) for pair in self.pairs]
        usual = {pair: rng.uniform(40, 120) for pair in self.pairs}
        self._waiting = [(pair, name, max(5, round(rng.gauss(1, 0.2) * usual[pair]))) for pair, name in tasks]
        self._games: list[tuple[Pairing, str, int, float]] = []
        self.seconds, self.rounds, self.cost = 0.0, 0, [0.0]
        self._done: dict[str, float] = {}
        self._seat()

    def _seat(self) -> None:
        while self._waiting and len(self._games) < self.lanes:
            self._games.append((*self._waiting.pop(0), self.seconds))

    def _of_move(self, pair: Pairing) -> float:
        return 0.001 * sum(self.work[name] for name in pair)

    @property
    def under_way(self) -> list[GameUnderWay]:
        return [
            GameUnderWay(name, pair, int(self._done.get(name, 0)), self.seconds - began)
            for pair, name, _, began in self._games
        ]

    def go_on(self) -> list[GameUnderWay]:
        """A second."""
        self.seconds, self.rounds = self.seconds + 1, self.rounds + 1
        slower = (len(self._games) / self.lanes) ** self.shared
        for pair, name, _, _ in self._games:
            self._done[name] = self._done.get(name, 0) + 1 / self._of_move(pair) / slower
        over = [game for game in self._games if self._done[game[1]] >= game[2]]
        self._games = [game for game in self._games if game not in over]
        self.cost += [self.seconds - began for *_, began in over]
        self._seat()
        return [GameUnderWay(name, pair, moves, self.seconds - began) for pair, name, moves, began in over]


class Slow(Memory):
    """As a disk whose flushes take a while."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.stopped = False

    def add(self, records: list[GameRecord]) -> None:
        time.sleep(0.02)
        self.calls += 1
        if self.stopped:
            self.stopped = False
            raise KeyboardInterrupt
        super().add(records)


def test_games_that_end_soon_after_each_other_are_kept_together():
    plan = make_plan("tic_tac_toe", [Bot("random", name="a"), Bot("random", name="b")], {"games": 60})
    kept = Slow()
    run = Run(plan, kept)
    for i, task in enumerate(plan.tasks()):
        run.add(
            [
                GameRecord(
                    task.game_id, "tic_tac_toe", task.black, task.white, "random", "random", i, ("A1",), "0", "line"
                )
            ]
        )
        run.settle()
        assert len(run.results) == len(kept.records), "a game counts when it is kept"
    kept.stopped = True
    with pytest.raises(KeyboardInterrupt):
        run.settle(now=True)
    run.settle(now=True)
    assert [record.seed for record in kept.records] == list(range(60))
    assert run.missing == 0
    assert kept.calls < 30
