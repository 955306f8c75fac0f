"""The searches of a review made by other people's engine, in the place of a bot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jubango.analysis.positions.asked import label_of, questions_of
from jubango.analysis.reviews.review_file import ReviewKey, moves_digest
from jubango.analysis.reviews.review_moves import Finding, PositionKey
from jubango.analysis.reviews.review_search import SearchJob, finding
from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine, check_known
from jubango.bots.players.engines.analysts.analyst import EngineLimits
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.sgf.sgf import SgfGame

BATCH_SECONDS = 2.0  # after which what has come is handed on, and kept


@dataclass(frozen=True, eq=False)
class EngineSearcher:
    """An engine, and how long it looks at a position."""

    engine: AnalysisEngine
    limits: EngineLimits

    @property
    def spec(self) -> str:
        """Who it is, and how long it looks: what stands in the place of a bot's spec."""
        return label_of(self.engine, self.limits)

    def subject_of(self, sgf: SgfGame) -> ReviewKey:
        """What its searches are of. Another command may be other settings, so that its searches are others; it has
        random numbers of its own. Raises UserError for a game that it does not know."""
        check_known(sgf.game)
        return ReviewKey(sgf.game.spec, moves_digest(sgf), self.spec, "", 0, self.engine.digest)

    def search(
        self, jobs: Sequence[SearchJob], on_progress: Callable[[float, int], None]
    ) -> Iterator[list[tuple[SearchJob, Finding]]]:
        """As :func:`jubango.analysis.reviews.review_search.search`, and what it finds: the engine is asked about all
        positions at once. Raises UserError, and CannotGoOn where it dies."""

        def look(done: float) -> None:
            on_progress(done, len(jobs))

        ready: list[tuple[SearchJob, Finding]] = []
        handed = time.monotonic()
        try:
            for more in self._found(jobs, look):
                ready += more
                if ready and time.monotonic() - handed > BATCH_SECONDS:
                    yield ready
                    ready, handed = [], time.monotonic()
        except (Exception, KeyboardInterrupt):
            if ready:  # what has come is kept
                yield ready
            raise
        if ready:
            yield ready

    def _found(
        self, jobs: Sequence[SearchJob], look: Callable[[float], None]
    ) -> Iterator[list[tuple[SearchJob, Finding]]]:
        """The searches of a place in their order, whichever comes first."""
        found: dict[tuple[int, PositionKey, int], tuple[SearchJob, Finding]] = {}
        next_repeat = {(job.game, job.place): job.repeat for job in reversed(jobs)}
        for place, result in self.engine.ask(questions_of([job.position for job in jobs]), self.limits, look):
            job = jobs[place]
            own = job.game, job.place
            if result is None:
                raise UserError(f"{self.engine.name} stopped before it had looked at {job.position.place}")
            one = finding(job, result, result.lead, result.has_prior, result.ownership)
            found[*own, job.repeat] = job, one
            ready = []
            while (key := (*own, next_repeat[own])) in found:
                ready.append(found.pop(key))
                next_repeat[own] += 1
            yield ready
