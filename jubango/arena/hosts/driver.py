"""The driver's side of the protocol: what it hears of hosts goes in, what they are to be asked comes out.

It knows no clock and no transport: the time is told, and who carries its questions to the hosts is another's matter.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, takewhile
from typing import NamedTuple

from jubango.arena.games.slot import MOST_REMEMBERED, Begun
from jubango.arena.hosts.leases import Leases
from jubango.arena.hosts.protocol import Entered, HostWork, Leased, Playing, Signature, Step
from jubango.arena.schedule.pairings import GameTask
from jubango.sgf_games.records.record import GameRecord

SILENCE_SECONDS = 60.0  # without an answer, after which a host's games go to others, and
SILENCE_GAMES = 5.0  # times the longest game, if that is more
GIVE_UP = 10.0  # times that after which it is given up
JOIN_SECONDS = 600.0  # for a host to come and prove itself: programs are compiled meanwhile
PULL_SECONDS = 0.1  # between an answer and the next question
MOST_PULLS = 400.0  # questions a second, to all hosts; fewer where fewer games end, but not below
LEAST_PULLS = 100.0
GAMES_A_PULL = 8.0  # that an answer is to bring
MOST_PULLS_AT_ONCE = 64  # of a turn, so that no turn takes long
BOARD_SECONDS = 1.0  # between two looks at the boards of a host
BOARDS = 16  # that are asked for
CHECKED_EVERY = 50  # games, one of which is played by a second host, too
COUNT_SECONDS = 1.0  # between two looks at the pace of a host
NEW_SHARE = 0.3  # of the pace of late in a host's pace
GRACE_SECONDS = 10.0  # after the first host, in which games are left to those that are about to come


class HostState(StrEnum):
    greeted = "joins"
    proving = "proves"
    playing = "plays"
    silent = "is silent"
    refused = "refused"
    gone = "gone"


class HostCall(NamedTuple):
    """Something to ask of a host: a method of :class:`jubango.arena.hosts.protocol.GameHost` and its arguments; or to
    end it, with "kill", for good with "refuse"."""

    host: str
    what: str
    arguments: tuple[object, ...] = ()


@dataclass
class Member:
    """A host, as the driver knows it."""

    name: str
    came: float
    state: HostState = HostState.greeted
    signature: Signature | None = None
    why: str = ""  # it is gone
    asked: float = 0.0  # when, the last time
    answered: float = 0.0
    looked: float = 0.0  # when its boards were asked for
    question: tuple[str, tuple[object, ...]] = ("", ())  # the last one, but for steps
    ack: int = 0  # number of the last record that arrived
    given: int = 0  # number of the last lease
    unconfirmed: dict[int, Leased] = field(default_factory=dict)  # leases that it may not have received
    drop: set[str] = field(default_factory=set)  # games that it is to leave out, said with the next question
    games: int = 0  # whose results counted
    seconds: float = 0.0  # of playing
    moves: int = 0
    simulations: int = 0
    rate: float = 0.0  # games a second of late
    counted: float = 0.0  # when that was taken
    fresh: int = 0  # games since then
    began: float = 0.0  # when it began to play
    agreed: int = 0  # games that ended as another host had them end
    differed: int = 0
    busy: int = 0
    lanes: int = 0
    playing: tuple[Playing, ...] = ()
    entered: set[str] = field(default_factory=set)  # bots that it was told of

    @property
    def line(self) -> str:
        """What people are told of it."""
        own = f"{self.name}: {self.state}"
        if self.state in (HostState.gone, HostState.refused):
            return f"{own}, {self.why}; {self.games:,} games"
        if self.state in (HostState.greeted, HostState.proving):
            return own
        parts = [f"{self.busy} of {self.lanes} lanes", f"{self.games:,} games", f"{self.rate:.2f} games/s"]
        audit = [f"{self.agreed} agreed"] * bool(self.agreed) + [f"{self.differed} DIFFERED"] * bool(self.differed)
        return ", ".join([own, *parts, *audit])


@dataclass
class _Compared:
    """How a game ended at the hosts that have played it."""

    first: str  # whose game is stored
    ended: dict[str, bytes]  # digests, by the hosts
    task: GameTask | None  # if others are to play it, too
    decided: bytes = b""  # what two hosts say that do not agree with a third


class HostDriver:
    """``work`` is what is played. ``exact``: every host plays the same moves, so that results can be compared.
    ``unlike`` says why a host does not fit to this process, and to the first host once there is one; or nothing.

    ``calls``, ``records`` and ``notes`` are to be taken out by who runs it.
    """

    def __init__(
        self, work: HostWork, proof: Sequence[Leased], exact: bool = True,
        unlike: Callable[[Signature | None, Signature], str] = lambda first, own: "", leases: Leases | None = None,
    ) -> None:  # fmt: skip
        self.work, self.exact, self._unlike = work, exact, unlike
        self._proof = proof
        self.reference: list[str] | None = None  # how the games of the proof went at the driver; None: not known yet
        self.leases = leases or Leases()
        self.members: dict[str, Member] = {}
        self._joining: dict[str, Member] = {}  # those that have come and do not play yet, in this order
        self._playing: dict[str, Member] = {}
        self._asked: dict[str, Member] = {}  # those that have not answered, whom it was longest ago first
        self._answered: dict[str, Member] = {}  # of those that play the others, likewise
        self.calls: list[HostCall] = []
        self.records: list[GameRecord] = []
        self.notes: list[str] = []
        self.anew: list[str] = []  # ids of games that were to go on, and could not
        self.begun: dict[str, Begun] = {}  # long games, as far as is known
        self.entered: Mapping[str, Entered] = {}  # bots that came later, by their names
        self.leasing = True  # are games given out?
        self.coming = 0  # hosts that are expected and have not come
        self.longest = 0.0  # seconds of a game
        self._first: Signature | None = None  # of the first host that plays
        self._began: float | None = None  # when that began
        self._noted: set[str] = set()  # notes of hosts
        self._compared: dict[str, _Compared] = {}  # games that several hosts have
        self._proofs: dict[str, list[str]] = {}  # of hosts, as long as there is no reference

    # -- what happens ------------------------------------------------------------------------

    def came(self, host: str, now: float) -> None:
        """A host has started."""
        self.members[host] = self._joining[host] = Member(host, now)
        self._ask(host, "hello", (self.work,), now)

    def answered(self, host: str, what: str, value: object, now: float) -> None:
        """A host has answered a question. Answers may come twice, and of hosts that were taken for lost."""
        member = self.members.get(host)
        if member is None or member.state in (HostState.gone, HostState.refused):
            return
        if what == "hello" and isinstance(value, Signature) and member.state is HostState.greeted:
            self._hear_signature(member, value, now)
        elif what == "prove" and isinstance(value, list) and member.state is HostState.proving:
            self._heard(member)
            self._proofs[host] = value
            self._judge(now)
        elif what == "step" and isinstance(value, Step) and member.signature is not None:
            self._hear_step(member, value, now)

    def gone(self, host: str, why: str, now: float) -> None:
        """A host has ended."""
        member = self.members.get(host)
        if member is not None and member.state not in (HostState.gone, HostState.refused):
            self._lose(member, HostState.gone, why)

    def unable(self, host: str, why: str) -> None:
        """A host cannot play what it was told to."""
        member = self.members.get(host)
        if member is not None and member.state not in (HostState.gone, HostState.refused):
            self._refuse(member, why)

    def refer(self, digests: list[str], now: float) -> None:
        """How the games of the proof went at the driver."""
        self.reference = digests
        self._judge(now)

    def tick(self, now: float) -> None:
        """Time has passed: ask those who are due, and give up those who are silent."""
        came, asked = now - JOIN_SECONDS, now - self.patience
        for member in list(takewhile(lambda member: member.came < came, self._joining.values())):
            if member.name in self._asked:
                self._refuse(member, f"has not begun to play in {JOIN_SECONDS:.0f} s")
        for member in list(takewhile(lambda member: member.asked < asked, self._asked.values())):
            self._miss(member, now)
        if self.leasing:
            pulls = min(MOST_PULLS, max(LEAST_PULLS, self.leases.rate / GAMES_A_PULL))
            answered, most = now - max(PULL_SECONDS, len(self._playing) / pulls), MOST_PULLS_AT_ONCE
        else:  # it is the last question
            answered, most = now - PULL_SECONDS, len(self._playing)
        due = takewhile(lambda member: member.answered <= answered, self._answered.values())
        for member in list(islice(due, most)):
            self._pull(member, now)

    def _miss(self, member: Member, now: float) -> None:
        """A host has not answered in time."""
        if member.state is HostState.playing:
            self._fall_silent(member, now)
        elif member.state is HostState.silent:
            if now - member.answered > GIVE_UP * self.patience:
                self._lose(member, HostState.gone, f"no answer in {now - member.answered:.0f} s")
                self.calls.append(HostCall(member.name, "kill"))
            else:
                self._pull(member, now, lease=False)
        else:  # it may not have heard
            self._ask(member.name, *member.question, now)

    @property
    def patience(self) -> float:
        """Seconds that a host may be silent."""
        return max(SILENCE_SECONDS, SILENCE_GAMES * self.longest)

    @property
    def alive(self) -> bool:
        """Is there a host that plays or may come to?"""
        return any(member.state not in (HostState.gone, HostState.refused) for member in self.members.values())

    @property
    def playing(self) -> list[Member]:
        return list(self._playing.values())

    # -- joining -----------------------------------------------------------------------------

    def _hear_signature(self, member: Member, signature: Signature, now: float) -> None:
        self._heard(member)
        member.signature = signature
        if signature.problem:
            return self._refuse(member, signature.problem)
        if why := self._unlike(self._first, signature):
            return self._refuse(member, why)
        member.state = HostState.proving
        return self._ask(member.name, "prove", (self._proof,), now)

    def _judge(self, now: float) -> None:
        """Hosts that have proved what they can begin to play, once it is known how the games went here."""
        if self.reference is None:
            return
        proofs, self._proofs = self._proofs, {}
        for host, found in proofs.items():
            member = self.members[host]
            if member.state is not HostState.proving or member.signature is None:
                continue
            wrong = [
                lease.task.game_id
                for lease, own, other in zip(self._proof, found, self.reference, strict=False)
                if own != other
            ]
            if self.exact and (wrong or len(found) != len(self.reference)):
                self._refuse(member, f"plays {(wrong or ['the proof'])[0]} otherwise than this machine")
                continue
            if why := self._unlike(self._first, member.signature):
                self._refuse(member, why)
                continue
            if self._first is None:
                self._first, self._began = member.signature, now
            member.state, member.began, member.answered, member.counted = HostState.playing, now, now, now
            member.lanes = member.signature.lanes
            del self._joining[host]
            self._playing[host] = member
            self.leases.join(host, member.lanes)
            self._pull(member, now)

    # -- playing -----------------------------------------------------------------------------

    def _hear_step(self, member: Member, step: Step, now: float) -> None:
        if member.state is HostState.silent:
            member.state = HostState.playing
            self._playing[member.name] = member
            self.notes.append(f"host {member.name} answers again")
        if member.state is not HostState.playing:
            return
        self._heard(member)
        member.answered = now
        self._answered.pop(member.name, None)
        self._answered[member.name] = member
        member.busy = step.busy
        member.seconds, member.moves, member.simulations = step.seconds, step.moves, step.simulations
        for number in [number for number in member.unconfirmed if number <= step.taken]:
            del member.unconfirmed[number]
        if step.playing or not step.busy:
            member.playing = step.playing
        self._hear_of_long(step.begun)
        self.anew += step.anew
        if step.note and step.note not in self._noted:
            self._noted.add(step.note)
            self.notes.append(f"host {member.name}: {step.note}")
        fresh = step.records[max(0, member.ack + 1 - step.first) :] if step.first <= member.ack + 1 else ()
        for record in fresh:
            member.ack += 1
            if not self._take(member, record, now):
                return
        paced = bool(member.rate)
        if fresh:
            member.fresh += len(fresh)
            if (elapsed := now - member.counted) >= COUNT_SECONDS or not member.rate:
                late = member.fresh / max(1e-3, elapsed)
                member.rate = member.rate + NEW_SHARE * (late - member.rate) if member.rate else late
                member.fresh, member.counted = 0, now
        elif step.taken == member.given and not (step.waiting or step.busy or step.unsaid or step.first <= member.ack):
            self.leases.revoke(member.name)  # nothing to play, and nothing to say: what it should have it has not
        self.leases.pace(member.name, member.rate, step.waiting if step.taken == member.given else 0)
        if step.unsaid or (member.rate and not paced):  # it is known how many games it needs
            self._pull(member, now)

    def _hear_of_long(self, games: Sequence[tuple[str, Begun]]) -> None:
        """Games under way, as far as there is room for what their players remember; else it is known how they stood
        before."""
        size = sum(begun.size for begun in self.begun.values()) if any(begun.size for _, begun in games) else 0
        for own, begun in games:
            known = self.begun.get(own)
            if known is not None and len(known.moves) > len(begun.moves):
                continue  # of a host that is behind another one
            more = begun.size - (known.size if known else 0)
            if self.leases.task(own) is not None and (size + more <= MOST_REMEMBERED or not begun.size):
                self.begun[own] = begun
                size += more

    def _take(self, member: Member, record: GameRecord, now: float) -> bool:
        """A record has arrived. False: the host is refused for it."""
        own = record.game_id
        task = self.leases.task(own)
        if task is not None and ({record.black, record.white}, record.seed) != ({task.black, task.white}, task.seed):
            self._refuse(member, f"{own} is another game there")
            return False
        self.longest = max(self.longest, record.seconds)
        self.begun.pop(own, None)
        if self.leases.end(member.name, own):
            member.games += 1
            self.records.append(record)
            checked = self.exact and zlib.crc32(own.encode()) % CHECKED_EVERY == 0
            if checked or own in self.leases.given:
                self._compared[own] = _Compared(member.name, {member.name: digest(record)}, task if checked else None)
            if checked and task is not None:
                self.leases.check(task, {member.name})
            for other in self.leases.unwanted(own):
                self.members[other].drop.add(own)
        elif own in self._compared:
            self._compare(member, record)
        return member.state is HostState.playing

    def _compare(self, member: Member, record: GameRecord) -> None:
        """A game has ended at a second host; or at a third, which says who of two computes wrongly."""
        own, mine = record.game_id, digest(record)
        one = self._compared[own]
        if member.name in one.ended:
            return
        self.leases.played(member.name, own)
        one.ended[member.name] = mine
        alike = [host for host, other in one.ended.items() if other == mine]
        if len(alike) == len(one.ended) or not self.exact:
            member.agreed += mine == one.ended[one.first]
        elif len(alike) == 1 and not one.decided:
            member.differed += 1
            self.notes.append(
                f"{own} ended otherwise at host {member.name} than at host {one.first}, whose game stays: one of them "
                "computes wrongly"
            )
            if one.task is not None:
                self.leases.check(one.task, one.ended.keys())
        elif one.decided:
            wrong = mine != one.decided
            member.differed, member.agreed = member.differed + wrong, member.agreed + (not wrong)
            if wrong:
                self._convict(member, own)
        else:
            one.decided = mine
            member.agreed += 1
            second = self.members[next(host for host in alike if host != member.name)]
            for host in (name for name, other in one.ended.items() if other != mine):
                if host == one.first:  # the other one had been taken for wrong
                    self.members[host].differed += 1
                    second.differed, second.agreed = second.differed - 1, second.agreed + 1
                self._convict(self.members[host], own, ", and that game is stored" * (host == one.first))

    def _convict(self, member: Member, own: str, more: str = "") -> None:
        """A host computes wrongly, as two others say."""
        why = f"plays {own} otherwise than two other hosts{more}"
        if member.state in (HostState.gone, HostState.refused):
            self.notes.append(f"host {member.name} {why}")
        else:
            self._refuse(member, why)

    def _pull(self, member: Member, now: float, lease: bool = True) -> None:
        if lease and self.leasing and member.state is HostState.playing:
            for task in self.leases.give(member.name, now, self._joiners(now)):
                member.drop.discard(task.game_id)
                member.given += 1
                member.unconfirmed[member.given] = self._leased(member, task)
            self._take_away()
        look = -1
        if now - member.looked >= BOARD_SECONDS:
            first = next(iter(self._playing.values()), None)
            look, member.looked = (BOARDS if first is member else 0), now
        drop, member.drop = frozenset(member.drop), set()
        self._ask(member.name, "step", (member.ack, tuple(member.unconfirmed.values()), drop, look), now)

    def _take_away(self) -> None:
        """Hosts are not to begin what others have now."""
        for host, own in self.leases.taken_away:
            member = self.members[host]
            member.drop.add(own)
            for number in [number for number, one in member.unconfirmed.items() if one.task.game_id == own]:
                del member.unconfirmed[number]
        self.leases.taken_away = []

    def _joiners(self, now: float) -> int:
        """Hosts that are about to come, which the first ones leave games to."""
        begins = self._began is None or now - self._began <= GRACE_SECONDS
        return self.coming + len(self._joining) if begins else 0

    def _leased(self, member: Member, task: GameTask) -> Leased:
        begun = self.begun.get(task.game_id)
        if not self.entered:
            return Leased(member.given, task, begun)
        new = [name for name in (task.black, task.white) if name in self.entered and name not in member.entered]
        member.entered.update(new)
        return Leased(member.given, task, begun, tuple(self.entered[name] for name in dict.fromkeys(new)))

    def _fall_silent(self, member: Member, now: float) -> None:
        member.state = HostState.silent
        del self._playing[member.name]
        games = self.leases.revoke(member.name)
        self.leases.excuse(member.name)
        member.unconfirmed, member.entered = {}, set()
        member.drop.update(games)
        member.busy, member.playing = 0, ()
        self.notes.append(f"host {member.name} is silent: its {len(games)} games go to others")
        self._pull(member, now, lease=False)

    def _refuse(self, member: Member, why: str) -> None:
        self._lose(member, HostState.refused, why)
        self.calls.append(HostCall(member.name, "refuse"))

    def _lose(self, member: Member, state: HostState, why: str) -> None:
        member.state, member.why = state, why
        games = self.leases.leave(member.name)
        self._heard(member)
        for own in (self._joining, self._playing, self._answered):
            own.pop(member.name, None)
        member.unconfirmed, member.busy, member.playing = {}, 0, ()
        self._proofs.pop(member.name, None)
        lost = f"; {len(games)} games are leased again" if games else ""
        said = "is refused" if state is HostState.refused else "is gone"
        self.notes.append(f"host {member.name} {said}: {why}{lost}")

    def _ask(self, host: str, what: str, arguments: tuple[object, ...], now: float) -> None:
        member = self.members[host]
        self._heard(member)
        member.asked = now
        self._asked[host] = member
        self._answered.pop(host, None)
        if what != "step":
            member.question = what, arguments
        self.calls.append(HostCall(host, what, arguments))

    def _heard(self, member: Member) -> None:
        """Nothing that it was asked is to be answered."""
        self._asked.pop(member.name, None)


def digest(record: GameRecord) -> bytes:
    """How a game went: its moves and its result."""
    said = "\n".join((record.black, record.white, record.result, *record.moves))
    return hashlib.sha256(said.encode()).digest()[:16]


def proof_of(records: Iterable[GameRecord], games: Collection[str], moves: int) -> list[str]:
    """Digests of these games, in their order; of those that were not played out, of their moves alone."""
    found = {record.game_id: record for record in records}
    said = []
    for own in games:
        record = found[own]
        whole = record.reason != "adjudicated"
        text = "\n".join((record.black, record.white, record.result * whole, *record.moves[: moves or None]))
        said.append(hashlib.sha256(text.encode()).hexdigest()[:32])
    return said
