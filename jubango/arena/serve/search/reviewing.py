"""A whole game reviewed in the background: its searches take turns with what people wait for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

from jubango.analysis.reviews.review import Review
from jubango.analysis.reviews.review_moves import GRADES
from jubango.analysis.reviews.reviewing import ReviewProgress
from jubango.arena.serve.search.work import PIECE_SECONDS, Order, Tell, Work, bot_of
from jubango.arena.tournament import review
from jubango.bots.config import SearchConfig
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import parse_sgf

MOST_PROBLEMS = 12
LONGEST_TURN = 600.0  # seconds until a review that says nothing is no longer waited for


class _Dropped(Exception):
    """Nobody wants the review any more."""


class ReviewWork(Work):
    """What is found is kept in a file, and taken from there if the review begins anew."""

    def __init__(self, order: Order, tell: Tell) -> None:
        self._order, self._tell = order, tell
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._answer: dict[str, object] | None = None
        self._error: BaseException | None = None
        self._dropped = False
        self._had_turn = False  # the thread has come to the end of its piece, and waits

    def advance(self) -> dict[str, object] | None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        elif self._had_turn:
            self._theirs.release()
        # An engine is a process of its own: others go on while it thinks.
        self._had_turn = self._mine.acquire(timeout=PIECE_SECONDS if self._order.get("command") else LONGEST_TURN)
        if self._error is not None:
            raise self._error
        return self._answer

    def close(self) -> None:
        self._dropped = True
        self._theirs.release()

    def _run(self) -> None:
        try:
            self._answer = self._reviewed()
        except _Dropped:
            pass
        except BaseException as error:
            self._error = error
        self._mine.release()

    def _look(self, progress: ReviewProgress) -> None:
        """Between two pieces of the searches: let others have their turn."""
        self._tell({"kind": "update", "stage": progress.stage, "done": round(progress.done), "total": progress.total})
        self._mine.release()
        self._theirs.acquire()
        if self._dropped:
            raise _Dropped

    def _reviewed(self) -> dict[str, object]:
        order = self._order
        games = parse_sgf(str(order["sgf"]).encode(), "the game")
        record = Record(games[0])
        folder, name = Folder(Path(str(order["folder"]))), str(order["file"])
        file = folder.in_place(name)
        repeats = int(cast(int, order.get("repeats", 1)))
        command = order.get("command")
        if command:
            done = review(
                record, engine=str(command), repeats=repeats, file=file, on_progress=self._look,
                simulations=int(cast(int, order.get("simulations", 100))),
            )  # fmt: skip
        else:
            bot = bot_of(order, record.game)
            if not isinstance(bot, SearchConfig):
                raise UserError(f"{bot.name} does not search, and so cannot review; choose another")
            done = review(record, bot, repeats=repeats, file=file, on_progress=self._look)
        from jubango.analysis.report.review_page import review_page

        page = str(order["page"])
        folder.write(page, review_page(done).encode(), flush=False)
        return {"kind": "done", **summary_of(done), "page": page}


def summary_of(done: Review) -> dict[str, object]:
    """What the page shows of a review: curves, and the turning points as problems."""
    problems = sorted((move for move in done.moves if move.grade in GRADES), key=lambda move: -move.loss)
    return {
        "rates": [round(100 * one.win_rate, 1) for one in done.positions],
        "leads": [one.lead for one in done.positions],
        "by": done.by,
        "note": done.note,
        "problems": sorted(
            (
                {
                    "number": move.number, "player": move.player, "move": move.move, "best": move.best,
                    "line": list(move.variation), "loss": round(100 * move.loss, 1), "grade": move.grade,
                    "rate": round(100 * move.win_rate_best, 1),
                }
                for move in problems[:MOST_PROBLEMS]
            ),
            key=lambda one: cast(int, one["number"]),
        ),
    }  # fmt: skip
