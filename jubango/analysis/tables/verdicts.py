"""Who is stronger, by how much, how surely, and on what evidence: in words, as JSON, and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pandas as pd

from jubango.analysis.ratings.ratings import RatingList, expected_score
from jubango.analysis.ratings.results import (
    ENDINGS,
    SCORINGS,
    Result,
    counted,
    crosstable_cells,
    decided,
    distinct_games,
    endings,
    miscounted,
    scorings,
)
from jubango.analysis.tables.tables import ratings_frame
from jubango.sgf_games.base.printable import printable

MOST_IN_CROSSTABLE = 20  # players
MOST_SURPRISES = 5


@dataclass(frozen=True, repr=False)
class Verdict:
    """Which of two players is stronger.

    elo: what ``stronger`` is ahead by, by all games of all players; ``error`` is half the width of its 95 % interval.
    probability: that of being stronger at all (the likelihood of superiority).

    The rest is of the games between the two, as ``stronger`` sees them.
    """

    stronger: str
    weaker: str
    elo: float
    error: float
    probability: float
    wins: int
    draws: int
    losses: int
    distinct_games: int | None  # that differ in the colours or a move, however the board is turned; None: not known
    time: int  # games that were lost on time,
    forfeit: int  # by an engine's failure
    resignation: int  # and by resignation, by either of the two

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    def __str__(self) -> str:
        failed = self.time + self.forfeit
        doubts = [
            f"{failed} of the {self.games} games ended by forfeit or on time" if failed else "",
            repetition(self.games, self.distinct_games),
        ]
        but = "; but " * any(doubts) + "; and ".join(filter(None, doubts))
        if math.isinf(self.error) and math.isfinite(self.elo):
            return f"the games do not say which of {self.stronger} and {self.weaker} is stronger{but}"
        if math.isinf(self.elo):
            return f"{self.stronger} is {signed(self.elo)} Elo: nothing in the games says how much better it is{but}"
        return (
            f"{self.stronger} is {signed(self.elo)} ± {self.error:.0f} Elo, "
            f"stronger with a probability of {100 * self.probability:.1f} %{but}"
        )

    __repr__ = __str__


def verdict(ratings: RatingList, results: Iterable[tuple], first: str, second: str) -> Verdict:
    """Who of two players is stronger."""
    order = [rating.name for rating in ratings.ratings]
    stronger, weaker = sorted((first, second), key=order.index)
    games = [game for game in decided(results) if {game.black, game.white} == {first, second}]
    return _verdict(ratings, stronger, weaker, games)


def verdicts(ratings: RatingList, results: Iterable[tuple]) -> list[Verdict]:
    """On every two players who met, in the order of the ratings."""
    rank = {rating.name: i for i, rating in enumerate(ratings.ratings)}
    met: dict[tuple[str, str], list[Result]] = {}
    for game in decided(results):
        if game.black != game.white:
            pair = (game.black, game.white)
            met.setdefault(pair if rank[pair[0]] < rank[pair[1]] else pair[::-1], []).append(game)
    return [
        _verdict(ratings, *pair, met[pair]) for pair in sorted(met, key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    ]


def _verdict(ratings: RatingList, stronger: str, weaker: str, games: list[Result]) -> Verdict:
    own = [game.score if game.black == stronger else 1 - game.score for game in games]
    wins, losses = sum(score > 0.75 for score in own), sum(score < 0.25 for score in own)
    ended = dict.fromkeys(ENDINGS.values(), 0)
    for found in endings(games):
        ended[found.ending] += found.lost
    return Verdict(
        stronger, weaker, *ratings.difference(stronger, weaker), wins, len(own) - wins - losses, losses,
        distinct_games(games), **ended,
    )  # fmt: skip


@dataclass(frozen=True)
class Surprise:
    """A result that the ratings do not explain: one number for each player is too few for these two."""

    first: str
    second: str
    points: float  # of the first
    expected: float  # by the ratings
    games: int
    chance: float  # of a result as far off or farther between players of these ratings

    def __str__(self) -> str:
        return (
            f"{self.first} has {self.points:g} of {self.games} points against {self.second}, where {self.expected:.1f} "
            f"are expected (p = {self.chance:.1g})"
        )


def surprises(ratings: RatingList, results: Iterable[tuple], level: float = 0.05) -> list[Surprise]:
    """The pairs of players whose games the ratings do not explain, the least likely first: those whose chance is below
    ``level`` over the number of pairs (Bonferroni), so that in a table that the model explains one is rarely found.

    Of three players and more; the chance is that of a normal distribution with the model's variance.
    """
    place = {rating.name: ratings.places[i] for i, rating in enumerate(ratings.ratings)}
    met: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for game in decided(results):
        if game.black == game.white:
            continue
        first, second = sorted((game.black, game.white))
        gap = place[game.black] - place[game.white] + ratings.advantage
        if not math.isfinite(gap):  # nothing finite explains them
            continue
        chance = expected_score(gap)
        own = (game.score, chance) if game.black == first else (1 - game.score, 1 - chance)
        met.setdefault((first, second), []).append(own)
    if len(place) < 3:
        return []
    found = []
    for (first, second), games in met.items():
        points, expected = (sum(column) for column in zip(*games, strict=True))
        variance = sum(chance * (1 - chance) for _, chance in games)
        far = abs(points - expected)
        chance = math.erfc(far / math.sqrt(2 * variance)) if variance else float(not far)
        if chance < level / len(met):
            found.append(Surprise(first, second, points, expected, len(games), chance))
    return sorted(found, key=lambda one: one.chance)


# -- in words ------------------------------------------------------------------------------------


def signed(elo: float) -> str:
    """``+12``, ``-3``, ``0``, ``+inf``."""
    return f"{elo:+.0f}" if abs(elo) >= 0.5 else "0"


def repetition(games: int, distinct: int | None) -> str:
    """That games were played again, if they were; else nothing."""
    if distinct is None or distinct == games:
        return ""
    are = "is" if distinct == 1 else "are"
    return (
        f"only {distinct} of the {games} games {are} distinct, however the board is turned or mirrored, and the same "
        "moves again are no new evidence"
    )


def remarks(ratings: RatingList) -> list[str]:
    """What has to be said beside the ratings: groups that never met, what moving first is worth, what is not finite."""
    said = []
    if len(set(ratings.scales)) > 1:
        names: dict[int, list[str]] = {}
        for rating, scale in zip(ratings.ratings, ratings.scales, strict=True):
            names.setdefault(scale, []).append(printable(rating.name))
        said.append("\n  ".join(
            ["These groups never met, so that their ratings cannot be compared:", *map(", ".join, names.values())]
        ))  # fmt: skip
    if any(math.isinf(r.error) for r in ratings.ratings) or math.isinf(ratings.advantage_error):
        said.append("Without a prior some ratings have no finite value (inf) or none that the games tell (?)")
    finite = all(map(math.isfinite, [ratings.advantage, *(r.error for r in ratings.ratings)]))
    perfect = [r for r in ratings.ratings if r.games and r.error and r.score in (0, 1)]
    if finite and perfect:
        each = [f"{printable(r.name)} has {'won' if r.score else 'lost'} all of {r.games}" for r in perfect]
        more = f"; and {len(each) - MOST_SURPRISES} more" if len(each) > MOST_SURPRISES else ""
        said.append(f"{'; '.join(each[:MOST_SURPRISES])}{more}: only the prior bounds such a rating")
    if math.isinf(ratings.advantage):
        said.append(f"moving first is worth {signed(ratings.advantage)} Elo")
    elif math.isinf(ratings.advantage_error):
        said.append("the games do not say what moving first is worth")
    elif ratings.advantage_error:
        worth = f"{signed(ratings.advantage)} ± {ratings.advantage_error:.0f} Elo"
        said.append(f"moving first is worth {worth} (± {ratings.advantage_pair_error:.0f} by pairs)")
    return said


def evidence(ratings: RatingList, results: list) -> list[str]:
    """The verdict on two players, and of any number what the games were: lost otherwise than on the board, played
    again, scored by agreement, without a decision."""
    games = decided(results)
    said = []
    if len(ratings.ratings) == 2 and games:
        said.append(str(verdict(ratings, games, *(r.name for r in ratings.ratings))))
    elif repeated := repetition(len(games), distinct_games(games)):
        said.append(repeated)
    if unexplained := surprises(ratings, games):
        more = f"; and {len(unexplained) - MOST_SURPRISES} more" if len(unexplained) > MOST_SURPRISES else ""
        said.append("not explained by the ratings: " + "; ".join(map(str, unexplained[:MOST_SURPRISES])) + more)
    words = {"time": "lost on time", "forfeit": "lost by forfeit", "resignation": "lost by resignation"}
    for ending, how in words.items():
        found = [ended for ended in endings(games) if ended.ending == ending]
        if found:
            said.append(f"{how}: {', '.join(map(str, found))}")
    said += scored(results)
    if len(games) < len(results):
        said.append(f"{len(results) - len(games)} of the {len(results)} games were not decided and do not count")
    return said


def scored(results: Iterable[tuple]) -> list[str]:
    """How games with engines were scored, and which were void, with an engine's words for the first."""
    games = [Result(*result) for result in results]
    first = next((game.why for game in games if game.reason == "refused" and game.why), "")
    said = [
        f"{_games(n)} {SCORINGS[reason][1]}"
        + (f" ({'' if n == 1 else 'the first: '}{first})" if reason == "refused" and first else "")
        for reason, n in scorings(games).items()
    ]
    others = miscounted(games)
    if others:
        count, first = _games(len(others)), others[0].counted
        said.append(f"{count} in which an engine counts another score than the result (the first: {first})")
    return said


def _games(count: int) -> str:
    return f"{count} {'game' if count == 1 else 'games'}"


# -- for programs --------------------------------------------------------------------------------


def summary(ratings: RatingList, results: list) -> dict[str, object]:
    """All that is said of the games, for JSON: numbers, texts, lists, dicts, and infinities."""
    games = decided(results)
    return {
        "games": len(games),
        "distinct_games": distinct_games(games),
        "undecided_games": len(results) - len(games),
        "first_move": _first_move(ratings) if ratings.advantage_error else None,
        "ratings": ratings_frame(ratings).to_dict("records"),
        "verdicts": [{**asdict(found), "games": found.games} for found in verdicts(ratings, games)],
        "superiority": {
            a.name: dict(zip([b.name for b in ratings.ratings], row, strict=True))
            for a, row in zip(ratings.ratings, ratings.superiority.tolist(), strict=True)
        },
        "surprises": [asdict(one) for one in surprises(ratings, games)],
        "endings": [ended._asdict() for ended in endings(games)],
        "scoring": scorings(results),
        "counted_otherwise": len(miscounted(results)),
    }


def _first_move(ratings: RatingList) -> dict[str, float]:
    return {
        "elo": ratings.advantage, "error": ratings.advantage_error, "pair_error": ratings.advantage_pair_error,
    }  # fmt: skip


def summary_frame(ratings: RatingList, results: list) -> pd.DataFrame:
    """The standings as one table with a row for each player.

    It has the rating, the distinct games, what moving first is worth, losses otherwise than on the board, and how games
    with engines were scored. With two players it has the verdict, with up to 20 the crosstable.
    """
    games = decided(results)
    names = [rating.name for rating in ratings.ratings]
    frame = ratings_frame(ratings)
    for key, value in _first_move(ratings).items():
        frame["first_move" if key == "elo" else f"first_move_{key}"] = value
    own: dict[str, list[Result]] = {name: [] for name in names}
    for game in results:
        for name in {game[0], game[1]}:
            own[name].append(game)
    why: dict[str, list[str]] = {name: [] for name in names}
    for ended in endings(games):
        why[ended.name] += [f"{ended.ending}: {ended.words}"] if ended.words else []
    frame["why"] = ["; ".join(why[name]) for name in names]
    frame["scoring"] = [counted(scorings(own[name])) for name in names]
    if len(names) == 2:
        found = [ratings.difference(*pair) for pair in (names, names[::-1])]
        frame[["difference", "difference_error", "probability"]] = found
    if len(names) <= MOST_IN_CROSSTABLE:
        cells = pd.DataFrame(crosstable_cells(games, names), columns=[f"against {name}" for name in names])
        frame = pd.concat([frame, cells], axis=1)
    return frame
