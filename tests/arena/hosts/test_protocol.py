"""The protocol of hosts alone, without any: questions and answers are lost, repeated and reordered, hosts die and fall silent."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from jubango.arena.games.slot import Begun
from jubango.arena.hosts.driver import (
    GAMES_A_PULL,
    LEAST_PULLS,
    MOST_PULLS,
    SILENCE_SECONDS,
    HostDriver,
    HostState,
)
from jubango.arena.hosts.leases import Leases
from jubango.arena.hosts.ledger import Ledger
from jubango.arena.hosts.protocol import HostWork, Leased, Signature, Step
from jubango.arena.schedule.pairings import GameTask
from jubango.sgf_games.records.record import GameRecord

WORK = HostWork("tic_tac_toe", (), 4)
SIGNATURE = Signature("1", "code", "cpu", "cpu", 1, 1, 4, "machine", "node", 1, 1)


def task(number, pair="a~b", swap=True):
    black, white = ("a", "b") if not swap or number % 2 else ("b", "a")
    return GameTask(f"{pair}~{number:05d}", black, white, number)


def record(own, moves=("x",)):
    return GameRecord(own.game_id, "g", own.black, own.white, "", "", own.seed, moves, "B+", "line")


def tasks(number):
    return [task(i) for i in range(1, number + 1)]


@dataclass
class Hosted:
    """A host without a process."""

    lanes: int
    ledger: Ledger = field(default_factory=Ledger)
    under_way: dict = field(default_factory=dict)
    awake: bool = True
    wrong: frozenset = frozenset()  # games that it alters

    def call(self, what, arguments):
        if what == "hello":
            return replace(SIGNATURE, lanes=self.lanes)
        if what == "prove":
            return ["proof"]
        ack, leases, drop, _ = arguments
        self.ledger.acknowledge(ack)
        self.ledger.drop(drop)
        self.ledger.take(leases)
        return self.ledger.step(self.lanes - len(self.under_way), 1.0, 1, 1)

    def play(self, draw):
        while len(self.under_way) < self.lanes and (lease := self.ledger.begin()):
            self.under_way[lease.task.game_id] = lease.task
        for own in [own for own in self.under_way if draw.random() < 0.4]:
            altered = ("y",) if own in self.wrong else ("x",)
            self.ledger.end(record(self.under_way.pop(own), altered))


class World:
    """A driver, hosts, and a bad line between them."""

    def __init__(self, seed, games, hosts, wrong=frozenset()):
        self.draw = draw = random.Random(seed)
        self.now, self.stored, self.born = 0.0, [], 0
        self.driver = HostDriver(WORK, [Leased(1, task(1))], leases=Leases(ahead=draw.choice([0.01, 1.0, 20.0])))
        self.driver.leases.feed(iter(tasks(games)))
        self.driver.refer(["proof"], 0.0)
        self.hosts, self.questions, self.answers, self.wrong = {}, [], [], wrong
        self.bad = draw.choice([0.0, 0.1, 0.3])  # of messages that are lost, and as many twice
        self.deaths = draw.choice([0.0, 0.01, 0.05])
        for _ in range(hosts):
            self.birth()

    def birth(self):
        self.born += 1
        name = f"h{self.born}"
        self.hosts[name] = Hosted(self.draw.choice([1, 2, 8]), wrong=self.wrong if self.born == 1 else frozenset())
        self.driver.came(name, self.now)

    def turn(self, hostile=True):
        draw, driver = self.draw, self.driver
        self.now += draw.choice([0.01, 0.2, 1.0, SILENCE_SECONDS * 1.5 if hostile and draw.random() < 0.2 else 1.0])
        driver.tick(self.now)
        for call in driver.calls:
            if call.what in ("kill", "refuse"):
                self.hosts.pop(call.host, None)
                continue
            lossy = hostile and draw.random() < self.bad
            if not lossy:
                self.questions.append(call)
                if hostile and draw.random() < self.bad:
                    self.questions.append(call)
        driver.calls = []
        if hostile:
            draw.shuffle(self.questions)
        later = []
        for call in self.questions:
            host = self.hosts.get(call.host)
            if host is None:
                continue
            if not host.awake or (hostile and draw.random() < 0.2):
                later.append(call)
                continue
            value = host.call(call.what, call.arguments)
            lost = hostile and draw.random() < self.bad
            self.answers += [(call.host, call.what, value)] * (0 if lost else draw.choice([1, 1, 2]))
        self.questions = later
        for name, host in list(self.hosts.items()):
            if host.awake:
                host.play(draw)
            if hostile and draw.random() < self.deaths:
                del self.hosts[name]
                driver.gone(name, "killed", self.now)
            elif draw.random() < (0.1 if hostile else 0.5):
                host.awake = not hostile or not host.awake
        if not self.hosts:
            self.birth()
        if hostile:
            draw.shuffle(self.answers)
        waiting, self.answers = self.answers, []
        for answer in waiting:
            if hostile and draw.random() < 0.2:
                self.answers.append(answer)
            else:
                driver.answered(*answer, self.now)
        self.stored += driver.records
        driver.records = []

    def play(self):
        for turn in range(3000):
            if self.driver.leases.done:
                return turn
            self.turn(hostile=turn < 60)
        raise AssertionError(f"{self.driver.leases.open} games are open, and nothing happens any more")


@pytest.mark.parametrize("first", range(0, 10_000, 1000))
def test_nothing_is_lost_and_nothing_doubled(first):
    for seed in range(first, first + 1000):
        games = seed % 23 + 1
        world = World(seed, games, hosts=seed % 4 + 1)
        world.play()
        assert sorted(one.game_id for one in world.stored) == [one.game_id for one in tasks(games)], seed
        assert not any(member.differed for member in world.driver.members.values()), seed


def test_these_schedules_are_bad_ones():
    seen = Counter()
    for seed in range(200):
        world = World(seed, seed % 23 + 1, hosts=seed % 4 + 1)
        turns = world.play()
        members = world.driver.members.values()
        seen["twice"] += sum(member.agreed for member in members)
        seen["dead"] += sum(member.state is HostState.gone for member in members)
        seen["silent"] += sum("silent" in note for note in world.driver.notes)
        seen["again"] += sum("answers again" in note for note in world.driver.notes)
        seen["long"] += turns > 20
    assert min(seen[key] for key in ("twice", "dead", "silent", "again", "long")) > 20, seen


def test_a_game_that_comes_out_otherwise_is_named():
    differed = 0
    for seed in range(300):
        world = World(seed, 12, hosts=3, wrong=frozenset({"a~b~00003"}))
        world.play()
        assert len(world.stored) == 12
        wrong = sum(member.differed for member in world.driver.members.values())
        named = [note for note in world.driver.notes if "ended otherwise" in note]
        assert len(named) == wrong and all("a~b~00003" in note for note in named)
        differed += wrong
    assert differed > 5


@pytest.mark.parametrize("ahead", [0.01, 5.0])
def test_a_host_that_alters_games_in_the_middle_of_a_run_is_found(ahead):
    """Though no host is lost or late: some games are played by a second one, and by a third if they differ."""
    driver = driving(tasks(5000), leases=Leases(ahead))
    for name in ("good", "bad", "third"):
        joined(driver, name, lanes=8)
    ledgers = {name: Ledger() for name in driver.members}
    for now in range(1, 5000):
        if driver.leases.done:
            break
        driver.tick(float(now))
        calls, driver.calls = driver.calls, []
        for call in calls:
            if call.what != "step":
                continue
            ack, leases, drop, _ = call.arguments
            ledger = ledgers[call.host]
            ledger.acknowledge(ack)
            ledger.drop(drop)
            ledger.take(leases)
            for lease in filter(None, (ledger.begin() for _ in range(16))):
                ledger.end(record(lease.task, ("y",) if call.host == "bad" else ("x",)))
            driver.answered(call.host, "step", ledger.step(8, 1.0, 1, 1), float(now))
    good, bad, third = (driver.members[name] for name in ("good", "bad", "third"))
    assert len(driver.records) == 5000 == len({one.game_id for one in driver.records})
    assert (good.differed, third.differed) == (0, 0)
    assert bad.differed >= 1 and bad.agreed == 0 and bad.state is HostState.refused
    assert re.search("plays a~b~[0-9]+ otherwise than two other hosts", bad.why)
    assert good.agreed + third.agreed >= 5000 / 100


def joined(driver, name, now=0.0, lanes=4, proof=("proof",), **changes):
    driver.came(name, now)
    driver.answered(name, "hello", replace(SIGNATURE, lanes=lanes, **changes), now)
    driver.answered(name, "prove", list(proof), now)
    return driver.members[name]


def driving(games, proof=1, **options):
    driver = HostDriver(WORK, [Leased(i, task(i)) for i in range(1, proof + 1)], **options)
    driver.leases.feed(iter(games))
    driver.refer(["proof"] * proof, 0.0)
    return driver


def leased(driver, host):
    """The games of the last question to a host."""
    calls = [call for call in driver.calls if call.host == host and call.what == "step"]
    return [lease.task.game_id for lease in calls[-1].arguments[1]] if calls else []


def test_a_host_that_differs_is_refused_in_one_line():
    driver = driving(tasks(8), proof=2, unlike=lambda first, own: "other code" * bool(first and first.code != own.code))
    assert joined(driver, "good", proof=("proof", "proof")).state is HostState.playing
    assert joined(driver, "bad", proof=("proof", "else")).state is HostState.refused
    assert joined(driver, "old", code="older").state is HostState.refused
    assert joined(driver, "ill", problem="no engine there").state is HostState.refused
    assert driver.notes == [
        "host bad is refused: plays a~b~00002 otherwise than this machine",
        "host old is refused: other code",
        "host ill is refused: no engine there",
    ]
    assert [call.host for call in driver.calls if call.what == "refuse"] == ["bad", "old", "ill"]
    assert driver.alive


def test_one_that_never_joins_is_given_up():
    driver = driving(tasks(8))
    driver.came("slow", 0.0)
    driver.tick(599.0)
    assert driver.alive
    driver.tick(601.0)
    assert not driver.alive and driver.calls[-1][:2] == ("slow", "refuse")


@pytest.mark.parametrize("what", ["hello", "prove"])
def test_one_that_does_not_hear_is_asked_again(what):
    driver = driving(tasks(8))
    driver.came("one", 0.0)
    if what == "prove":
        driver.answered("one", "hello", SIGNATURE, 0.0)
    first, driver.calls = driver.calls[-1], []
    assert first.what == what
    driver.tick(SILENCE_SECONDS - 1)
    assert not driver.calls
    driver.tick(SILENCE_SECONDS + 1)
    assert driver.calls == [first]


def test_pairs_go_to_one_host_and_a_lone_game_in_its_turn():
    # Of the first pair one game has ended; game 5 is the second of a pair, too, and 6 is missing.
    games = [task(i) for i in (2, 3, 4, 6, 7)]
    leases = Leases()
    leases.feed(iter(games))
    leases.join("one", 1)
    leases.join("two", 2)
    assert [own.seed for own in leases.give("one", 0.0)] == [2]
    assert [own.seed for own in leases.give("two", 0.0)] == [3, 4]
    assert leases.end("one", "a~b~00002")
    assert [own.seed for own in leases.give("one", 1.0)] == [6]


def test_pairs_are_found_in_the_schedule_of_many_bots():
    both = [task(1, "a~b"), task(1, "a~c"), task(1, "b~c"), task(2, "a~b"), task(2, "a~c"), task(2, "b~c")]
    leases = Leases()
    leases.feed(iter(both))
    leases.join("one", 2)
    leases.join("two", 2)
    leases.join("three", 2)
    for host, pair in (("one", "a~b"), ("two", "a~c"), ("three", "b~c")):
        assert [own.game_id for own in leases.give(host, 0.0)] == [f"{pair}~00001", f"{pair}~00002"]


def test_few_long_games_leave_spare_ones():
    leases = Leases()
    leases.feed(iter(tasks(1000)))
    leases.join("one", 16)
    assert len(leases.give("one", 0.0)) == 16, "nothing is known of its pace"
    leases.pace("one", 0.2)
    assert len(leases.give("one", 0.0)) == 2, "of 20 s ahead"
    leases.pace("one", 10.0)
    assert [len(leases.give("one", 0.0)) for _ in range(9)] == [50] * 7 + [400 - 18 - 350, 0], (
        "40 s of play, 5 at a time"
    )


def test_what_is_left_is_shared():
    leases = Leases()
    leases.feed(iter(tasks(20)))
    for host in ("one", "two"):
        leases.join(host, 128)
    assert [len(leases.give(host, 0.0)) for host in ("one", "one", "two", "two")] == [10, 0, 10, 0]


def test_a_host_that_has_nothing_gets_what_another_has_not_begun():
    leases = Leases()
    leases.feed(iter(tasks(100)))
    leases.join("one", 4)
    leases.pace("one", 10.0)
    assert [len(leases.give("one", 0.0)) for _ in range(2)] == [50, 50]
    leases.pace("one", 10.0, waiting=96)
    leases.join("two", 32)
    assert [own.seed for own in leases.give("two", 1.0)] == list(range(53, 85))
    assert leases.taken_away == [("one", f"a~b~{i:05d}") for i in range(53, 85)] and leases.held("one") == 68
    assert all(leases.end("one", f"a~b~{i:05d}") for i in range(1, 53))
    assert not leases.end("one", "a~b~00001"), "a second time"


def test_a_host_that_is_behind_takes_no_game_back():
    """Two hosts have a game: what the slower one tells of it is older than what is known."""
    driver = HostDriver(WORK, [])
    driver.refer([], 0.0)
    driver.leases.feed(iter(tasks(1)))
    driver.came("one", 0.0)
    driver.answered("one", "hello", SIGNATURE, 0.0)
    driver.answered("one", "prove", [], 0.0)
    told = Step(1, (), 1, 0, 1, 0, 3, 20.0, 5, 0)
    for moves, known in ((5, 5), (3, 5), (8, 8)):
        begun = Begun(tuple(range(moves)), (), 20.0)
        driver.answered("one", "step", told._replace(begun=(("a~b~00001", begun),)), 1.0)
        assert len(driver.begun["a~b~00001"].moves) == known


@pytest.mark.parametrize("end", ["judged", "lost", "silent"])
def test_a_third_host_judges_though_all_games_are_given(end):
    leases = Leases()
    leases.feed(iter(tasks(12)))
    given = {}
    for host in ("one", "two", "three"):
        leases.join(host, 4)
        given[host] = leases.give(host, 0.0)
    assert sum(map(len, given.values())) == 12 and not leases.give("three", 0.0)
    own = given["one"][0]
    assert leases.end("one", own.game_id)
    leases.unwanted(own.game_id)
    leases.check(own, {"one"})
    leases.check(own, {"one", "two"})  # who do not agree
    assert not leases.give("two", 1.0) and leases.give("three", 1.0) == [own] and not leases.give("three", 2.0)
    for host, games in given.items():
        for game in games[host == "one" :]:
            if end == "judged" or host != "three":
                leases.end(host, game.game_id)
                leases.unwanted(game.game_id)
    assert not leases.done, "who is right is not known yet"
    if end == "judged":
        assert not leases.end("three", own.game_id)
    else:
        (leases.leave if end == "lost" else leases.revoke)("three")
        leases.excuse("three")  # it is gone, or silent
        assert not leases.done
        while games := leases.give("one", 3.0):
            for game in games:
                leases.end("one", game.game_id)
                leases.unwanted(game.game_id)
    assert leases.done


def test_a_judge_that_has_forgotten_judges_all_the_same():
    leases = Leases()
    leases.feed(iter(tasks(2)))
    for host in ("one", "two", "three"):
        leases.join(host, 4)
    first, other = leases.give("one", 0.0)
    for game in (first, other):
        leases.end("one", game.game_id)
        leases.unwanted(game.game_id)
    leases.check(first, {"one", "two"})
    assert leases.give("three", 0.0) == [first]
    leases.revoke("three")
    assert leases.give("three", 1.0) == [first] and not leases.done
    leases.played("three", first.game_id)
    assert leases.done


@pytest.mark.parametrize("now", [0.0, 10_000.0])
def test_the_first_host_leaves_games_to_those_that_are_about_to_come(now):
    """Whatever the clock says when it comes."""
    driver = driving(tasks(8))
    driver.came("two", now)
    driver.answered("two", "hello", replace(SIGNATURE, lanes=16), now)
    joined(driver, "one", now, lanes=16)
    driver.answered("two", "prove", ["proof"], now)
    assert [len(leased(driver, host)) for host in ("one", "two")] == [4, 4]


def test_a_lost_host_s_games_come_first():
    driver = driving(tasks(40))
    joined(driver, "one", lanes=2)
    joined(driver, "two", lanes=2)
    own = leased(driver, "one")
    driver.gone("one", "killed", 1.0)
    assert f"host one is gone: killed; {len(own)} games are leased again" in driver.notes
    joined(driver, "three", 1.0, lanes=2)
    assert leased(driver, "three") == own


def test_a_host_that_has_forgotten_its_games_gets_them_again():
    driver = driving(tasks(2))
    member = joined(driver, "one", lanes=2)
    assert leased(driver, "one") == ["a~b~00001", "a~b~00002"]
    ledger = Ledger()
    ledger.take(driver.calls[-1].arguments[1])
    ledger.waiting.clear()
    driver.answered("one", "step", ledger.step(2, 0.0, 0, 0), 1.0)
    driver.tick(2.0)
    assert leased(driver, "one") == ["a~b~00001", "a~b~00002"] and member.given == 4


def test_bots_that_came_later_are_told_with_their_first_game():
    driver = driving(tasks(6))
    driver.entered = {"b": "a table"}
    joined(driver, "one", lanes=4)
    first = driver.calls[-1].arguments[1]
    assert [lease.entered for lease in first] == [("a table",), (), (), ()]


def test_a_thousand_leases_are_handed_out_once_each():
    leases = Leases()
    leases.feed(iter(tasks(5000)))
    given = []
    for host in map(str, range(20)):
        leases.join(host, 50)
    for host in list(leases.hosts):
        given += [own.game_id for own in leases.give(host, 0.0)]
    assert len(given) == len(set(given)) == 1000


def test_a_host_that_is_silent_is_no_judge():
    """Nobody waits for its verdict; once it asks for games again it may judge."""
    for back in (False, True):
        leases = Leases()
        leases.feed(iter(tasks(3)))
        for host in "abc":
            leases.join(host, 4)
        leases.excuse("c")
        if back:
            leases.give("c", 0.0)
        leases.check(task(9), {"a", "b"})
        given = [one.game_id for host in "abc" for one in leases.give(host, 1.0)]
        assert (task(9).game_id in given) is back


@pytest.mark.parametrize("rate", [0.1, 0.8, 1.3, 5.0, 20.0])
def test_a_host_of_few_lanes_gets_what_it_plays_until_it_is_asked_again(rate):
    leases = Leases()
    leases.feed(tasks(100_000))
    leases.join("one", 2)
    leases.pace("one", rate)
    while leases.give("one", 0.0):
        pass
    for hosts in (1, 100, 1000):
        seconds = hosts / min(MOST_PULLS, max(LEAST_PULLS, hosts * rate / GAMES_A_PULL))
        played = min(leases.held("one"), round(seconds * rate))
        for own in [*leases._hosts["one"].games][:played]:
            leases.end("one", own)
        assert len(leases.give("one", 0.0)) >= played


def test_all_hosts_are_asked_once_more_when_the_run_is_interrupted():
    driver = HostDriver(WORK, [])
    driver.leases.feed(tasks(4000))
    driver.refer([], 0.0)
    names = [f"host-{i}" for i in range(300)]
    for name in names:
        driver.came(name, 0.0)
        driver.answered(name, "hello", SIGNATURE, 0.0)
        driver.answered(name, "prove", [], 0.0)
    driver.tick(0.5)
    for name in names:
        driver.answered(name, "step", Ledger().step(4, 1.0, 1, 1), 0.5)
    driver.calls = []
    driver.tick(0.7)
    assert not driver.calls, "a few hundred hosts are not asked ten times a second"
    driver.leasing = False
    driver.tick(0.7)
    assert {call.host for call in driver.calls if call.what == "step"} == {*names}
