"""Parts of a schedule, to be played on machines that know nothing of each other: ``2/3`` is the second of three."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jubango.arena.schedule.formats import OPEN
from jubango.sgf_games.base.errors import UserError

MOST_PARTS = 10_000  # parts


@dataclass(frozen=True)
class Part:
    """Colour-swapped pairs of games stay together. They are dealt in turn, all of one pairing and then all of the next:
    so the shares of two parts differ by one pair of games at most, in each pairing and in all."""

    number: int  # from 1
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """``2/3``. Raises UserError."""
        found = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text.strip(), re.ASCII)
        number, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of <= MOST_PARTS:
            raise UserError(
                f'part "{text}": write 1/3, 2/3 and 3/3 for three parts, of which there are {MOST_PARTS:,} at most'
            )
        return cls(number, of)

    def has(self, place: int, games: int, number: int) -> bool:
        """Is a game its own? Of a pairing that has the ``place`` in the schedule, and so many ``games``, the one with
        this ``number``; both are counted from 0."""
        return (place * (games // 2) + number // 2) % self.of == self.number - 1

    def share(self, place: int, games: int) -> int:
        """How many of a pairing's games are its own."""
        first = place * (games // 2)
        return 2 * len(range((self.number - 1 - first) % self.of, games // 2, self.of))

    @property
    def spec(self) -> str:
        return f"{self.number}/{self.of}"


def check_parts(kind: str, tested: bool) -> None:
    """Raises UserError where a game may hang by the results of others, which may have been played elsewhere."""
    instead = f"in parts one can play format = {' and '.join(OPEN[:2])}, and all with --cluster"
    if tested:
        raise UserError(
            f"sprt: a test looks at the games in turn; {instead}, without sprt (`jubango sprt` judges counts)"
        )
    if kind not in OPEN:
        raise UserError(f'format = "{kind}": later games depend on the results of all before; {instead}')
