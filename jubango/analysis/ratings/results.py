"""Results of games as ratings see them, and what there is to say of them beside the ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

ENDINGS = {"T": "time", "F": "forfeit", "R": "resignation"}  # how a game is lost before it is played out

# What is said of games with engines that ended by these reasons, in short and in full (docs/engines.md).
SCORINGS = {
    "agreed": ("without dead stones", "scored without the stones that both sides call dead"),
    "cleanup": ("disputed", "scored after play went on, because it was disputed what is dead"),
    "disputed": ("disputed to the end", "scored while it was disputed what is dead: what not all call dead is alive"),
    "refused": ("void", "void, won and lost by nobody: an engine refused a legal move"),
}


class Result(NamedTuple):
    """One game. Where nothing more is known a plain (black, white, score) stands for it."""

    black: str
    white: str
    score: float  # Black's; nan for a game that was not decided, which counts nowhere
    ending: str = ""  # a letter of ENDINGS, if the game was not played out
    why: str = ""  # what the loser did, in words
    game: Hashable = None  # equal for games of the same moves, however the board is turned; None if they are not known
    reason: str = ""  # what ended it: "score", "crash", ...; see GameRecord
    counted: str = ""  # engines' own scores that are not the result
    pair: Hashable = None  # equal for the two games of a colour-swapped pair; None: this game is by itself

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
    reasons: dict[str, int]  # how many by which reason, if known: {"crash": 3, "illegal": 1}

    @property
    def words(self) -> str:
        """``3 crash, 1 illegal; the first: ended during 'genmove b'``, as far as it is known."""
        counts = "" if set(self.reasons) <= {self.ending, "resign"} else counted(self.reasons)
        why = f"the first: {self.why}" if self.why and self.lost > 1 else self.why
        return "; ".join(filter(None, [counts, why]))

    def __str__(self) -> str:
        return f"{self.name} {self.lost} of {self.games} games" + (f" ({self.words})" if self.words else "")


def counted(counts: Mapping[str, int]) -> str:
    """``3 crash, 1 illegal``."""
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def decided(results: Iterable[tuple]) -> list[Result]:
    """The games that were won, lost or drawn."""
    games = (result if isinstance(result, Result) else Result(*result) for result in results)
    return [game for game in games if game.score == game.score]


def distinct_games(results: Iterable[tuple]) -> int | None:
    """How many games differ in the players, their colours or a move, boards that are turned or mirrored being one; None
    if no moves are known.

    A game whose moves are not known counts as one that differs.
    """
    games = decided(results)
    return len(first_of_equal(games)) if any(game.game is not None for game in games) else None


def first_of_equal(results: Iterable[tuple]) -> list[Result]:
    """The same without the games that repeat an earlier one of the same players with the same colours, of those that
    were decided."""
    seen: set[tuple[str, str, Hashable]] = set()
    kept = []
    for result in results:
        game = result if isinstance(result, Result) else Result(*result)
        key = game.black, game.white, game.game
        if game.score == game.score and game.game is not None:
            if key in seen:
                continue
            seen.add(key)
        kept.append(game)
    return kept


def endings(results: Iterable[tuple]) -> list[Ended]:
    """Who lost how many games by forfeit, on time and by resignation; the most first."""
    games = decided(results)
    played = Counter(name for game in games for name in {game.black, game.white})
    lost: dict[tuple[str, str], list[Result]] = {}
    for game in games:
        if game.ending in ENDINGS and game.score != 0.5:
            lost.setdefault((game.loser, game.ending), []).append(game)
    found = [
        Ended(
            name, ENDINGS[ending], len(own), played[name], next((game.why for game in own if game.why), ""),
            dict(Counter(game.reason for game in own if game.reason).most_common()),
        )
        for (name, ending), own in lost.items()
    ]  # fmt: skip
    order = list(ENDINGS.values())
    return sorted(found, key=lambda e: (order.index(e.ending), -e.lost, e.name))


def scorings(results: Iterable[tuple]) -> dict[str, int]:
    """How many games ended by each reason of SCORINGS, as far as any did."""
    counts = Counter(Result(*result).reason for result in results)
    return {reason: counts[reason] for reason in SCORINGS if counts[reason]}


def miscounted(results: Iterable[tuple]) -> list[Result]:
    """The games of which an engine makes another score."""
    return [game for game in (Result(*result) for result in results) if game.counted]


def doubts(results: Iterable[tuple]) -> list[str]:
    """In short what the games were, if not just played out: ``17 distinct``, ``3 lost on time``, ``2 void``."""
    results = list(results)
    games, distinct = decided(results), distinct_games(results)
    lost = Counter(game.ending for game in games)
    said = [
        f"{distinct} distinct" if distinct not in (None, len(games)) else "",
        f"{lost['F']} lost by forfeit" if lost["F"] else "",
        f"{lost['T']} lost on time" if lost["T"] else "",
    ]
    return [*filter(None, said), *(f"{n} {SCORINGS[reason][0]}" for reason, n in scorings(results).items())]


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
