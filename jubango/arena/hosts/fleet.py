"""Where hosts come from, and how one speaks to them: a fleet starts them and carries questions and answers."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class HostEvent(NamedTuple):
    """Something has happened to a host: it ``came``, is ``gone`` or ``unable`` to play what it was told to (``value``
    says why), or has answered what it was asked (the method's name, and what it returned)."""

    host: str
    what: str
    value: object = None


CAME, GONE, UNABLE = "came", "gone", "unable"


def has_worked(what: str, value: object) -> bool:
    """Does an answer show that the host can do its work?"""
    return what not in ("hello", "prove", UNABLE) and bool(getattr(value, "records", True))


class Link(Protocol):
    """A line to one host."""

    def ask(self, what: str, arguments: tuple[object, ...]) -> None:
        """Have it do something (``hello``, ``prove``, ``step``); the answer is an event. It never waits."""
        ...

    def kill(self) -> None:
        """The host ends at once, whatever it does."""
        ...


class Fleet(Protocol):
    """Hosts of one kind. No method waits for a host, but for :meth:`poll` as long as it is told to. A name is never
    given to a second host."""

    @property
    def coming(self) -> int:
        """How many hosts are expected that have not come yet."""
        ...

    @property
    def hopeful(self) -> bool:
        """May hosts still come?"""
        ...

    def start(self) -> None:
        """Start the hosts. Raises UserError where none can be, with all closed that it has started."""
        ...

    def poll(self, seconds: float) -> list[HostEvent]:
        """What has happened; it waits so long for something to happen."""
        ...

    def ask(self, host: str, what: str, arguments: tuple[object, ...]) -> None:
        """As :meth:`Link.ask`; nothing if the host is gone."""
        ...

    def kill(self, host: str, again: bool = True) -> None:
        """End a host. ``again``: another one may come in its place."""
        ...

    def close(self) -> None:
        """End all of them, soon."""
        ...
