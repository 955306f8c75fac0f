"""Who has which games: a schedule that is read as hosts ask for games, and what becomes of games whose host is lost.

It knows no clock: the time is told.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from jubango.arena.schedule.pairings import GameTask
from jubango.sgf_games.records.record import place_in_pairing

AHEAD_SECONDS = 20.0  # of play that a lease is worth; twice that is in flight
OF_A_LEASE = 0.25  # of it at most is handed out at a time, so that no question grows long,
AT_A_TIME = 32  # or so many games
LATE_SHARE = 0.05  # of the games, the last of which are leased again where hosts stand idle
FIRST_CHECKS = 64  # of these that are looked through for one
MOST_CHECKS = 4096  # games that wait to be played by a second host, too
CHECKS_SHARE = 0.04  # of a lease at most is played only to be compared
READ_AHEAD = 4096  # games of the schedule in which the other one of a pair is looked for


@dataclass
class _Holder:
    """A host."""

    lanes: int
    rate: float = 0.0  # games a second
    waiting: int = 0  # games that it has not begun, by what it said last: those that it was given last
    games: dict[str, float] = field(default_factory=dict)  # ids, and when they were given
    checks: set[str] = field(default_factory=set)  # ids of games that have ended elsewhere


@dataclass
class _Dispute:
    """A game that two hosts had end otherwise. One of those that have not played it is to judge, whatever else there
    is to play, and the end waits for that."""

    task: GameTask
    hosts: set[str]  # who cannot judge
    judge: str = ""


class Leases:
    """Games go out in the schedule's order, those that have come back first; of a colour-swapped pair both go to one
    host. ``given`` counts how many hosts a game was given to."""

    def __init__(self, ahead: float = AHEAD_SECONDS) -> None:
        self._ahead = ahead
        self._schedule: Iterator[GameTask] = iter(())
        self._read: dict[str, GameTask] = {}  # of the schedule, not given yet, in its order
        self._back: deque[GameTask] = deque()  # come back from hosts
        self._open: dict[str, GameTask] = {}  # given, and not ended
        self._with: dict[str, set[str]] = {}  # which hosts have them
        self._single: dict[str, float] = {}  # those that one host has, and since when, the oldest first
        self._hosts: dict[str, _Holder] = {}
        self._rates = 0.0  # of all hosts together
        self._unpaced = 0  # hosts of which none is known
        self._excused: set[str] = set()  # hosts that judge nothing, until they ask for games again
        self._checks: dict[str, tuple[GameTask, set[str]]] = {}  # to be played by others than these hosts
        self._disputes: dict[str, _Dispute] = {}
        self._over = True  # the schedule has been read
        self.total = 0  # games that were scheduled so far
        self.given: dict[str, int] = {}  # of games that several hosts were given
        self.taken_away: list[tuple[str, str]] = []  # hosts, and games of theirs that others have now

    def feed(self, tasks: Iterable[GameTask]) -> None:
        """A schedule, once the one before has been played."""
        self._schedule, self._over = iter(tasks), False
        self._look_ahead(1)

    @property
    def hosts(self) -> Iterable[str]:
        return self._hosts.keys()

    @property
    def done(self) -> bool:
        """Has everything ended?"""
        return not (self._open or self._back or self._read or self._disputes) and self._over

    @property
    def open(self) -> int:
        """How many games are given and have not ended."""
        return len(self._open)

    def join(self, host: str, lanes: int) -> None:
        self._hosts[host] = _Holder(max(1, lanes))
        self._unpaced += 1

    def leave(self, host: str) -> list[str]:
        """The host is lost: what it alone has goes back to the head of the queue. Returns all that it had."""
        holder = self._hosts.pop(host, None)
        if holder is None:
            return []
        self._rates, self._unpaced = self._rates - holder.rate, self._unpaced - (not holder.rate)
        self._give_back(host, holder, list(holder.games))
        self.excuse(host)
        self._excused.discard(host)
        return list(holder.games)

    def revoke(self, host: str) -> list[str]:
        """The host stays, and has no games any more. Returns what it had."""
        holder = self._hosts[host]
        games = list(holder.games)
        self._give_back(host, holder, games)
        for one in self._disputes.values():
            if one.judge == host:
                one.judge = ""
        holder.games, holder.checks = {}, set()
        return games

    def _give_back(self, host: str, holder: _Holder, games: list[str]) -> None:
        back = []
        for own in games:
            others = self._with[own]
            others.discard(host)
            if not others:
                del self._with[own], self._single[own]
                back.append(self._open.pop(own))
                self.given.setdefault(own, 1)
            elif len(others) == 1:
                self._single[own] = self._hosts[next(iter(others))].games[own]
        self._back.extendleft(reversed(back))

    def pace(self, host: str, rate: float, waiting: int = 0) -> None:
        """How many games a second it plays, and how many of those that it has it has not begun."""
        holder = self._hosts[host]
        self._rates += rate - holder.rate
        self._unpaced += (not rate) - (not holder.rate)
        holder.rate, holder.waiting = rate, waiting

    @property
    def rate(self) -> float:
        """Games a second of all hosts; infinite as long as one has not told its own."""
        return math.inf if self._unpaced else self._rates

    def held(self, host: str) -> int:
        """How many games a host has."""
        return len(self._hosts[host].games)

    def give(self, host: str, now: float, others: int = 0) -> list[GameTask]:
        """The next games for a host, as many as it needs; ``others``: hosts that are about to come."""
        holder = self._hosts[host]
        self._excused.discard(host)
        spare = min(max(2, holder.lanes // 8), int(self._ahead * holder.rate))
        wanted = max(holder.lanes + spare, int(2 * self._ahead * holder.rate)) - len(holder.games)
        judged = self._judged_by(host, holder) if self._disputes else []
        if wanted <= 0:
            return judged
        wanted = min(wanted, max(holder.lanes, AT_A_TIME, int(OF_A_LEASE * self._ahead * holder.rate)))
        self._look_ahead(min(READ_AHEAD, wanted * (len(self._hosts) + others)))
        if self._over:
            # No host takes what keeps the others at work.
            left = len(self._read) + len(self._back) + len(self._open)
            wanted = min(wanted, max(2, math.ceil(left * self._share(holder, others))) - len(holder.games))
        found: list[GameTask] = []
        while len(found) < wanted and (task := self._next()) is not None:
            found += [task, *self._partner(task)]
        if not found and not holder.games and self._over:
            found = self._not_begun(wanted) or self._late(holder)
        for task in found:
            own = task.game_id
            self._open[own] = task
            self._with.setdefault(own, set()).add(host)
            if len(self._with[own]) == 1:
                self._single[own] = now
            else:
                self._single.pop(own, None)
            holder.games[own] = now
            if own in self.given:
                self.given[own] += 1
        return [*judged, *self._checks_for(host, holder, math.ceil(CHECKS_SHARE * len(found))), *found]

    def check(self, task: GameTask, hosts: Collection[str]) -> None:
        """A game has ended at these hosts. Another one is to play it, too, as long as there are games to come. Where
        there are several they differ, and that is to be settled."""
        unable = self._excused.union(hosts)
        if len(hosts) > 1 and not self._hosts.keys() <= unable:
            self._disputes[task.game_id] = _Dispute(task, unable)
            return
        self._checks[task.game_id] = task, set(hosts)
        if len(self._checks) > MOST_CHECKS:
            del self._checks[next(iter(self._checks))]

    def played(self, host: str, game_id: str) -> None:
        """It has ended at this host as well."""
        if game_id in self._disputes and host not in self._disputes[game_id].hosts:
            del self._disputes[game_id]
        if game_id in self._checks:
            self._checks[game_id][1].add(host)

    def _checks_for(self, host: str, holder: _Holder, number: int) -> list[GameTask]:
        """Games that it has not played."""
        if not number:
            return []
        first = islice(self._checks.items(), FIRST_CHECKS)
        found = list(islice((own for own, (_, hosts) in first if host not in hosts), number))
        tasks = [self._checks.pop(own)[0] for own in found]
        holder.checks.update(task.game_id for task in tasks)
        return tasks

    def _judged_by(self, host: str, holder: _Holder) -> list[GameTask]:
        """Disputed games that it is to judge from now on."""
        found = [one for one in self._disputes.values() if not one.judge and host not in one.hosts]
        for one in found:
            one.judge = host
            holder.checks.add(one.task.game_id)
        return [one.task for one in found]

    def excuse(self, host: str) -> None:
        """The host judges nothing until it asks for games again. Where nobody else can there is no verdict."""
        if host in self._hosts:
            self._excused.add(host)
        for own, one in list(self._disputes.items()):
            one.hosts.add(host)
            one.judge = "" if one.judge == host else one.judge
            if not one.judge and self._hosts.keys() <= one.hosts:
                del self._disputes[own]

    def end(self, host: str, game_id: str) -> bool:
        """A game has ended at a host. Is that the first time? The other hosts that have it need it no more: see
        :meth:`unwanted`."""
        holder = self._hosts.get(host)
        if holder is not None:
            holder.games.pop(game_id, None)
            holder.checks.discard(game_id)
        if game_id in self._disputes and self._disputes[game_id].judge == host:
            del self._disputes[game_id]
        first = game_id in self._open
        if first:
            del self._open[game_id]
        elif any(task.game_id == game_id for task in self._back):  # it came back, and ended there all the same
            self._back = deque(task for task in self._back if task.game_id != game_id)
            first = True
        return first

    def unwanted(self, game_id: str) -> list[str]:
        """The hosts that have a game which has ended elsewhere; they have it no more."""
        self._single.pop(game_id, None)
        hosts = [own for own in self._with.pop(game_id, ()) if own in self._hosts]
        return [own for own in hosts if self._hosts[own].games.pop(game_id, None) is not None]

    def task(self, game_id: str) -> GameTask | None:
        """A game that is given and has not ended."""
        return self._open.get(game_id) or next((task for task in self._back if task.game_id == game_id), None)

    # -- in the schedule ---------------------------------------------------------------------

    def _look_ahead(self, number: int) -> None:
        while not self._over and len(self._read) < number:
            task = next(self._schedule, None)
            if task is None:
                self._over = True
            elif task.game_id not in self._open and task.game_id not in self._read:
                self._read[task.game_id] = task
                self.total += 1

    def _next(self) -> GameTask | None:
        if self._back:
            return self._back.popleft()
        self._look_ahead(1)
        return self._read.pop(next(iter(self._read))) if self._read else None

    def _partner(self, task: GameTask) -> list[GameTask]:
        """The other game of a colour-swapped pair, if it is to be played soon."""
        place = place_in_pairing(task.game_id)
        if place is None:
            return []
        bots, number = place
        other = f"{bots}~{(number ^ 1) + 1:05d}"
        if other not in self._read:
            if number & 1:  # its partner came before it
                return []
            self._look_ahead(READ_AHEAD)
        return [self._read.pop(other)] if other in self._read else []

    def _share(self, holder: _Holder, others: int) -> float:
        """Of what is left."""
        if others or self._unpaced:
            return 1 / (len(self._hosts) + others)
        return holder.rate / self._rates

    def _not_begun(self, wanted: int) -> list[GameTask]:
        """Half of what the host that is busiest has not begun, for one that has nothing."""
        seconds = {own: one.waiting / one.rate for own, one in self._hosts.items() if one.waiting and one.rate}
        if not seconds:
            return []
        host = max(seconds, key=seconds.__getitem__)
        holder = self._hosts[host]
        number = min(holder.waiting - len(holder.checks), len(holder.games))
        last = list(holder.games)[-number:] if number > 0 else []
        found = [own for own in last[len(last) // 2 :] if own in self._single][:wanted]
        holder.waiting -= len(found)
        self._give_back(host, holder, found)
        for own in found:
            del holder.games[own]
            self.taken_away.append((host, own))
        return [self._back.popleft() for _ in found]

    def _late(self, holder: _Holder) -> list[GameTask]:
        """The last games, those first that others have had for the longest time, for a host that has none."""
        if len(self._open) > max(2, LATE_SHARE * self.total):
            return []
        found = list(islice(self._single, holder.lanes))
        for own in found:
            self.given.setdefault(own, 1)
        return [self._open[own] for own in found]
