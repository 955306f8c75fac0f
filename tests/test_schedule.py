"""Who plays when: rounds that mix opponents, queues of any length, and how long the rest will take."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections import Counter

import pytest
from schedules import round_robin

from jubango.arena.pace import Pace
from jubango.arena.pairings import GameTask, pairings
from jubango.arena.plan import make_plan
from jubango.arena.run import Run
from jubango.arena.run_folder import Memory
from jubango.arena.table import Table
from jubango.arena.waiting import FURTHEST, Waiting
from jubango.bots.config import Bot
from jubango.sgf_games.record import GameRecord


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
    table = Table(plan.game, plan.bots, 8)
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


def test_what_is_left_is_weighted_by_what_games_cost():
    """Two quick bots and two slow ones, two lanes: the quick games are over first."""
    names = ["fast", "quick", "slow", "late"]
    cost = {pair: 1.0 + 10 * sum(name in ("slow", "late") for name in pair) for pair in pairings(names)}
    pace = Pace(dict.fromkeys(cost, 10))
    assert pace.left([], 5.0) is None
    for pair, seconds in cost.items():
        for _ in range(10 if seconds == 1 else 2):
            pace.add(*pair, seconds)
    spent = 10 * 1 + 2 * (4 * 11 + 21)
    assert pace.left([], spent / 2) == pytest.approx(8 * (4 * 11 + 21) / 2)
    half = [(("late", "slow"), 10.5), (("late", "slow"), 0.0)]
    assert pace.left(half, (spent + 10.5) / 2) == pytest.approx((8 * (4 * 11 + 21) - 10.5) / 2)
    unseen = Pace({("fast", "quick"): 2, ("fast", "slow"): 2, ("late", "quick"): 1})
    unseen.add("slow", "fast", 11.0)
    unseen.add("quick", "fast", 1.0)
    assert unseen.left([], 12.0) == pytest.approx(11 + 1 + (1 + 6) / 2), "by its bots, else by all"


def test_the_last_game_takes_as_long_as_its_kind():
    pace = Pace({("a", "b"): 9})
    for _ in range(8):
        pace.add("a", "b", 8.0)
    assert pace.left([(("a", "b"), 2.0)], 8.25) == pytest.approx(6.0), "though eight lanes were at work"


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
