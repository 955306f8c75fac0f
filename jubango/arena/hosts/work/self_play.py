"""Self-play on hosts, for a training whose learner stays here."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Sequence

import jax
import numpy as np

from jubango.arena.hosts.fleet import Fleet
from jubango.arena.hosts.work.crew import Crew
from jubango.arena.hosts.work.every_host import SelfPlayed, SelfPlayOrder
from jubango.bots.learning.self_player import PlayedTurn
from jubango.bots.learning.trainer import Trainer

MOST_BEHIND = 2  # versions of the network; older positions are left out
MANY_POSITIONS, MANY_SHARE = 1000, 0.05  # left out, from which on it is said; and of those learnt from


class SelfPlayHosts:
    """Plays for a trainer on the hosts of a ``fleet``; to be closed. Raises UserError where none can be started.

    A new version of the network goes out when as many turns have been learnt from as there are hosts. Every host plays
    on with the newest one as soon as it has answered, so that hosts play while the learner learns.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._crew = Crew(fleet)
        self._version, self._turns = 0, 0  # of the network; turns that were learnt from since
        self._weights = b""
        self._steps = -1  # of learning, that the version had
        self._has: dict[str, int] = {}  # the version that a host has
        self._orders = 0
        self._arrived: deque[tuple[str, SelfPlayed]] = deque()
        self.left_out = 0  # positions
        self._crew.start()

    @property
    def notes(self) -> list[str]:
        """What people should know of the hosts, one after the other."""
        return self._crew.notes

    @notes.setter
    def notes(self, notes: list[str]) -> None:
        """Where it is said from now on."""
        notes += self._crew.notes
        self._crew.notes = notes

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that has not gone."""
        return self._crew.hosts

    def begin(self, trainer: Trainer) -> None:
        """Have the hosts begin; returns when one has played. Raises UserError and CannotGoOn."""
        while not self._arrived:
            self._turn(trainer)

    def play(self, trainer: Trainer, which: int) -> PlayedTurn:
        """What a host has played. Turns of all the games are ordered, one after the other, so that ``which`` is told to
        nobody. Raises UserError and CannotGoOn."""
        while True:
            while not self._arrived:
                self._turn(trainer)
            self._turn(trainer, 0.0)
            _, found = self._arrived.popleft()
            behind = self._version - found.version
            if not found.played.rollouts and behind > MOST_BEHIND:
                self._leave_out(found, trainer)
                continue
            self._turns += 1
            self._order(trainer)
            return found.played

    def _leave_out(self, found: SelfPlayed, trainer: Trainer) -> None:
        before = self.left_out
        self.left_out += found.played.samples.number
        many = max(MANY_POSITIONS, MANY_SHARE * trainer.counts["positions"])
        if before <= many < self.left_out:
            self.notes.append(
                f"{self.left_out:,} positions are left out, of networks more than {MOST_BEHIND} versions old: some "
                "hosts are much slower than others"
            )
        self._order(trainer)

    def close(self) -> None:
        """The hosts end."""
        self._crew.close()

    def _turn(self, trainer: Trainer, seconds: float = 0.2) -> None:
        """Hear what has happened, and have everybody play."""
        self._order(trainer)
        for answer in self._crew.turn(seconds):
            if isinstance(answer.value, SelfPlayed):
                self._arrived.append((answer.host, answer.value))
            else:
                self._has.pop(answer.host, None)

    def _order(self, trainer: Trainer) -> None:
        """Ask all those who are free, and whose last turn is learnt from."""
        waiting = {host for host, _ in self._arrived}
        for host in self._crew.free:
            if host in waiting:
                continue
            rollouts = trainer.by_rollouts
            if not rollouts:
                self._renew(trainer)
            weights = b"" if rollouts or self._has.get(host) == self._version else self._weights
            if not rollouts:
                self._has[host] = self._version
            turns = int(trainer.counts["turns"])
            (seed,) = np.random.SeedSequence((trainer.settings.seed, turns, self._orders)).generate_state(1)
            boards = trainer.boards
            order = SelfPlayOrder(
                trainer.settings, boards[self._orders % len(boards)], rollouts, self._version, int(seed),
                trainer.resigning(rollouts),
            )  # fmt: skip
            self._orders += 1
            self._crew.ask(host, "self_play", (order, weights), order, (order.which, rollouts))

    def _renew(self, trainer: Trainer) -> None:
        """A new version, if it is time and anything has been learnt."""
        if self._weights and (self._turns < max(1, self._crew.size) or trainer.steps == self._steps):
            return
        self._version, self._turns, self._steps = self._version + 1, 0, trainer.steps
        self._weights = pickle.dumps(jax.tree.map(np.asarray, trainer.weights), pickle.HIGHEST_PROTOCOL)
