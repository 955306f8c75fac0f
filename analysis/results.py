"""Results of games as ratings see them, and what there is to say of them beside the ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple

ENDINGS = {"T": "time", "F": "forfeit", "R": "resignation"}  # how a game is lost before it is played out


class Result(NamedTuple):
    """One game. Where nothing more is known a plain (black, white, score) stands for it."""

    black: str
    white: str
    score: float  # Black's; nan for a game that was not decided, which counts nowhere
    ending: str = ""  # a letter of ENDINGS, if the game was not played out
    why: str = ""  # what the loser did, in words
    game: Hashable = None  # equal for games of the same moves; None if they are not known

    @property
    def loser(self) -> str:
        return self.white if self.score > 0.5 else self.black


class Ended(NamedTuple):
    """Games that one player lost in one way before they were played out."""

    name: str
    ending: str  # a word of ENDINGS
    lost: int
    games: int  # all that it played
    why: str  # of the first of them, if known


def decided(results: Iterable[tuple]) -> list[Result]:
    """The games that were won, lost or drawn."""
    return [game for game in (Result(*result) for result in results) if game.score == game.score]


def distinct_games(results: Iterable[tuple]) -> int | None:
    """How many games differ in the players, their colours or a move; None if no moves are known.

    A game whose moves are not known counts as one that differs.
    """
    games = decided(results)
    known = [(game.black, game.white, game.game) for game in games if game.game is not None]
    return len(games) - len(known) + len(set(known)) if known else None


def endings(results: Iterable[tuple]) -> list[Ended]:
    """Who lost how many games by forfeit, on time and by resignation; the most first."""
    games = decided(results)
    played = Counter(name for game in games for name in {game.black, game.white})
    lost: dict[tuple[str, str], list[Result]] = {}
    for game in games:
        if game.ending in ENDINGS and game.score != 0.5:
            lost.setdefault((game.loser, game.ending), []).append(game)
    found = [
        Ended(name, ENDINGS[ending], len(own), played[name], next((game.why for game in own if game.why), ""))
        for (name, ending), own in lost.items()
    ]
    order = list(ENDINGS.values())
    return sorted(found, key=lambda e: (order.index(e.ending), -e.lost, e.name))


def tallies(results: Iterable[tuple]) -> dict[tuple[str, str], list[int]]:
    """For (player, opponent), both ways, the player's [wins, draws, losses]."""
    tally: dict[tuple[str, str], list[int]] = {}
    for game in decided(results):
        if game.black != game.white:
            for a, b, own in ((game.black, game.white, game.score), (game.white, game.black, 1 - game.score)):
                tally.setdefault((a, b), [0, 0, 0])[0 if own > 0.75 else 2 if own < 0.25 else 1] += 1
    return tally


def crosstable_cells(results: Iterable[tuple], order: list[str]) -> list[list[str]]:
    """For every pair of ``order`` the row player's wins-draws-losses, empty where they never met."""
    cells = {pair: "-".join(map(str, tally)) for pair, tally in tallies(results).items()}
    return [[cells.get((a, b), "") for b in order] for a in order]
