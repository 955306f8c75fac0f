"""Win rates that say whose they are."""

from __future__ import annotations

from dataclasses import dataclass

PLAYER_NAMES = ("Black", "White")


@dataclass(frozen=True)
class WinRate:
    """How likely a player is to win, draws counting half; all in [0, 1]. It prints as ``Black 53.2 %``."""

    mover: float  # of the player to move
    player: int  # who that is: 0 Black, 1 White

    @classmethod
    def of_value(cls, value: float, player: int) -> WinRate:
        """From a search's value in [-1, 1] for ``player``, who is to move."""
        return cls(0.5 + 0.5 * float(value), player)

    @property
    def black(self) -> float:
        return self.mover if self.player == 0 else 1 - self.mover

    @property
    def white(self) -> float:
        return 1 - self.black if self.player == 0 else self.mover

    @property
    def percent(self) -> str:
        """The mover's, where it has been said who that is: ``53.2 %``."""
        return f"{100 * self.mover:.1f} %"

    def __str__(self) -> str:
        return f"{PLAYER_NAMES[self.player]} {self.percent}"
