"""Reviews of games: what is missing is searched, what is saved is taken, and both become a :class:`Review`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from jubango.analysis.positions.position import searching_bot
from jubango.analysis.reviews.engine_search import EngineSearcher
from jubango.analysis.reviews.review import Review
from jubango.analysis.reviews.review_file import ReviewKey, Saved, load, save, subject_of
from jubango.analysis.reviews.review_moves import Evidence, Finding, PositionKey, Thresholds, choice_of
from jubango.analysis.reviews.review_search import SearchJob, agreed_result, result_of, search
from jubango.bots.composition import strongest
from jubango.bots.config import BotConfig, SearchConfig
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import Position, Record, look_at, positions, read_sgf
from jubango.sgf_games.sgf.symmetries import turned, turned_actions, turns_of

REPEATS = 2
AT_ONCE = 32  # games side by side: they fill the machine's batches, and others wait without their positions

Searches: TypeAlias = Callable[
    [Sequence[SearchJob], SearchConfig, int, Callable[[float, int], None]], Iterator[list[tuple[SearchJob, Finding]]]
]  # as `search`
Stage = Literal["positions", "choices"]  # of the game; and what the bot's own choices would have led to
STAGES: tuple[Stage, ...] = ("positions", "choices")


class ReviewProgress(NamedTuple):
    """How far a review is."""

    stage: Stage
    done: float  # searches
    total: int


class GameUnderReview:
    """One game under review: its positions and what was found there.

    saved: what is in ``file``, where what is found is kept; searches of another subject are replaced.
    """

    def __init__(
        self, record: Record, subject: ReviewKey, repeats: int, file: Path | None = None, saved: Saved | None = None
    ) -> None:
        if record.game.num_players != 2:
            raise UserError(f"{record.sgf.source}: {record.game.spec} has {record.game.num_players} player(s)")
        self.record, self.subject, self.repeats, self.file = record, subject, repeats, file
        self.positions = record.positions
        self._boards, self._onward = {0: self.positions}, dict[PositionKey, Position]()
        self.findings = saved.findings if saved and saved.subject == subject else {}  # all searches that there are

    @functools.cached_property
    def ends(self) -> list[PositionKey]:
        """Of each move the place where its own worth is searched: the game's next position, if the move led there.
        Files may go on with other stones, or with the same player."""
        out: list[PositionKey] = []
        last, as_led = None, True
        for node in self.record.sgf.nodes:
            if node.black or node.white or node.empty or node.turn is not None:
                as_led = False
            if node.move is None:
                continue
            if out and (not as_led or node.move[0] == last):
                out[-1] = self._own(len(out))
            out.append(PositionKey(len(out) + 1))
            last, as_led = node.move[0], True
        if out and not as_led:
            out[-1] = self._own(len(out))
        return out

    def _own(self, number: int) -> PositionKey:
        """Where move ``number`` led to, whatever came then."""
        return (
            PositionKey(number - 1, self.record.moves[number - 1]) if self.judged[number - 1] else PositionKey(number)
        )

    @functools.cached_property
    def passes(self) -> int:
        """How many passes end a game of points, of two or more. People agree there on what is dead, while a search
        counts every stone: so these passes are not judged, and the positions after them are worth the game's result."""
        last = itertools.takewhile(lambda move: move == "pass", reversed(self.record.moves))
        passes = len(list(last)) if self.record.game.counts_points else 0
        return passes if passes > 1 else 0

    @functools.cached_property
    def judged(self) -> list[bool]:
        """Of each move whether it has a loss."""
        last = len(self.record) - self.passes
        return [here.number < last and not here.over for here in self.positions[:-1]]

    @functools.cached_property
    def _agreed(self) -> Finding:
        return agreed_result(self.positions[-1], self.record.result)

    def _settled(self, place: PositionKey, position: Position) -> bool:
        """Nothing is to be searched there."""
        return position.over or self._is_agreed(place)

    def _is_agreed(self, place: PositionKey) -> bool:
        return not place.after and place.number > len(self.record) - self.passes

    def found(self, place: PositionKey, position: Position) -> list[Finding]:
        """What counts of a place: the result where nothing is to be searched, else as many searches as are wanted,
        though more may be kept."""
        if self._is_agreed(place):
            return [self._agreed]
        return [result_of(position)] if position.over else self.findings.get(place, [])[: self.repeats]

    def places(self, stage: Stage) -> dict[PositionKey, Position]:
        """What is to be searched: the positions of the game; or what the bot's choices would have led to."""
        if stage == "positions":
            return {PositionKey(position.number): position for position in self.positions}
        places = {}
        for here, move, end, judged in zip(self.positions, self.record.moves, self.ends, self.judged, strict=False):
            best = choice_of(self.found(PositionKey(here.number), here)) if judged else move
            for place in (end, PositionKey(here.number, best)):
                if place.after and (place == end or best != move):
                    self._onward[place] = self._onward.get(place) or here.after(place.after)
                    places[place] = self._onward[place]
        look_at([*places.values()])
        return places

    def jobs(self, stage: Stage, number: int) -> list[SearchJob]:
        """The searches that are missing. Each of a place has another seed, and the board turned another way: a network
        that uses no random numbers does not say quite the same then."""
        jobs = [
            SearchJob(number, place, repeat, self.on_board(place, symmetry), symmetry)
            for place, position in self.places(stage).items()
            if not self._settled(place, position)
            for repeat in range(len(self.found(place, position)), self.repeats)
            for symmetry in [repeat % turns_of(position.game)]
        ]
        look_at([job.position for job in jobs])
        return jobs

    def on_board(self, place: PositionKey, symmetry: int) -> Position:
        """The position of a place on a board that is turned."""
        if place.after and not symmetry:
            return self._onward[place]
        if symmetry not in self._boards:
            self._boards[symmetry] = positions(turned(self.record.sgf, symmetry))
        here = self._boards[symmetry][place.number]
        if not place.after:
            return here
        game = self.record.game
        (action,) = np.flatnonzero(turned_actions(game)[symmetry] == game.parse_action(place.after))
        return here.after(game.action_text(int(action)))

    def keep(self) -> None:
        """Write down what was found."""
        if self.file:
            save(self.file, Saved(self.subject, self.repeats, self.findings))

    def review(self, thresholds: Thresholds) -> Review:
        places = self.places("positions") | self.places("choices")
        evidence = Evidence({place: self.found(place, position) for place, position in places.items()})
        return Review.of(
            self.record, self.positions, self.ends, self.judged, evidence, thresholds, self.subject.bot,
            bool(self.subject.engine),
        )  # fmt: skip

    @property
    def missing(self) -> int:
        """How many searches are missing, as far as can be known before they are made."""
        of_the_game = len(self.jobs("positions", 0))
        return of_the_game or len(self.jobs("choices", 0))


def searched(
    cases: Sequence[GameUnderReview],
    searchers: Sequence[SearchConfig | EngineSearcher],
    on_progress: Callable[[ReviewProgress], None] = lambda progress: None,
    hosts: Searches | None = None,
) -> None:
    """Make all the searches that are missing, those of games that can share a program side by side, and write down what
    was found after every batch. ``searchers``: a bot or an engine for each game. ``hosts`` make a bot's searches in the
    place of this process."""
    groups: dict[tuple[Game, str, int], list[int]] = {}
    for i, (case, searcher) in enumerate(zip(cases, searchers, strict=True)):
        groups.setdefault((case.record.game.compiled_as, searcher.spec, case.subject.seed), []).append(i)
    for stage in STAGES:
        jobs = {key: [job for i in own for job in cases[i].jobs(stage, i)] for key, own in groups.items()}
        done, total = 0, sum(map(len, jobs.values()))
        for (_, _, seed), own in jobs.items():
            before = done

            def report(now: float, _: int, before: int = before, stage: Stage = stage, total: int = total) -> None:
                on_progress(ReviewProgress(stage, before + now, total))

            for batch in _made(own, searchers[own[0].game], seed, report, hosts) if own else ():
                for job, found in batch:
                    cases[job.game].findings.setdefault(job.place, []).append(found)
                for i in {job.game for job, _ in batch}:
                    cases[i].keep()
                done += len(batch)


def _made(
    jobs: Sequence[SearchJob], searcher: SearchConfig | EngineSearcher, seed: int,
    report: Callable[[float, int], None], hosts: Searches | None,
) -> Iterator[list[tuple[SearchJob, Finding]]]:  # fmt: skip
    if isinstance(searcher, EngineSearcher):
        return searcher.search(jobs, report)
    return (hosts or search)(jobs, searcher, seed, report)


def reviews_of(
    games: Sequence[Record | Path | str], bot: str | BotConfig | EngineSearcher | None, repeats: int, seed: int,
    thresholds: Thresholds, file: Path | str | None, on_progress: Callable[[ReviewProgress], None],
    keys: dict[str, object], hosts: Searches | None = None,
) -> list[Review]:  # fmt: skip
    """A review of each of ``games``, whose searches ``hosts`` make if there are any; the rest is that of
    :func:`jubango.review`. Raises UserError."""
    records = [game if isinstance(game, Record) else read_sgf(game) for game in games]
    searchers = [
        bot if isinstance(bot, EngineSearcher) else searching_bot(bot or strongest(record.game, keys), **keys)
        for record in records
    ]
    saved = load(Path(file)) if file else None
    if saved and not saved.is_of(records[0].sgf):
        raise UserError(f"{file}: holds the review of another game; name another file, or move it away")
    reviews: list[Review] = []
    for first in range(0, len(records), AT_ONCE):
        own = slice(first, first + AT_ONCE)
        cases = [
            GameUnderReview(record, subject_by(record, who, seed), repeats, Path(file) if file else None, saved)
            for record, who in zip(records[own], searchers[own], strict=True)
        ]
        searched(cases, searchers[own], on_progress, hosts)
        reviews += [case.review(thresholds) for case in cases]
    return reviews


def subject_by(record: Record, searcher: SearchConfig | EngineSearcher, seed: int) -> ReviewKey:
    """What the searches of a game are of, a bot's or an engine's. Raises UserError."""
    if isinstance(searcher, EngineSearcher):
        return searcher.subject_of(record.sgf)
    return subject_of(record.sgf, searcher, seed)
