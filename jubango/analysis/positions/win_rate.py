"""Win rates that say whose they are."""

from __future__ import annotations

from dataclasses import dataclass

PLAYER_NAMES = ("Black", "White")


@dataclass(frozen=True)
class WinRate:
    """A player's chance to win, 0 to 1, where a draw counts half. It prints as ``Black 53.2 %``."""

    mover: float  # of the player to move
    player: int  # who that is: 0 Black, 1 White

    @classmethod
    def of_value(cls, value: float, player: int) -> WinRate:
        """The win rate that a search's value stands for.

        value: -1 to 1, for ``player``.
        player: the player to move, 0 Black, 1 White.
        """
        return cls(0.5 + 0.5 * float(value), player)

    @property
    def black(self) -> float:
        """Black's win rate, 0 to 1."""
        return self.mover if self.player == 0 else 1 - self.mover

    @property
    def white(self) -> float:
        """White's win rate, 0 to 1."""
        return 1 - self.black if self.player == 0 else self.mover

    @property
    def percent(self) -> str:
        """The win rate of the player to move as text: ``53.2 %``."""
        return f"{100 * self.mover:.1f} %"

    def __str__(self) -> str:
        return f"{PLAYER_NAMES[self.player]} {self.percent}"
