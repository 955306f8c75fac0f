"""The analyses of a site: who looks is told what searches find, and what happens is kept in files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jubango.arena.serve.kept import Data, KeptThings, keep_files
from jubango.arena.serve.search.thinker import Thinking
from jubango.arena.serve.site import Site
from jubango.arena.serve.web.events import EventStream, Feed
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.arena.serve.analyse.board import AnalysedGame

ANALYSES_FOLDER = "analyses"
_KEEP_SECONDS = 2.0  # between two notes in the file of what searches say
REVIEW_SIMULATIONS, REVIEW_REPEATS = 200, 2
TRY_SIMULATIONS = 400


class Desk:
    """One analysis. In the thread of the event loop, but for what :meth:`change` does."""

    def __init__(self, site: Site, name: str, board: AnalysedGame) -> None:
        self.site, self.name, self.board = site, name, board
        self.feed = Feed(self._snapshot)
        self.shown: dict[str, object] = {}
        self._order: dict[str, object] | None = None  # of the search of what is shown
        self._searching: Thinking | None = None
        self._reviewing: Thinking | None = None
        self._trying: list[Thinking] = []
        self._found: Mapping[str, object] = {}
        self._progress: Mapping[str, object] = {}
        self._number = 0  # of changes
        self._noted = 0.0
        self._trouble = ""

    async def change(self, what: Callable[[AnalysedGame], None]) -> None:
        """Do something with it, and let everybody know. Raises UserError."""
        self._trouble = ""
        await self.site.in_order(self._changed, what)
        self._number += 1
        if self._searching is not None:
            self._searching.drop()
        self._searching, self._found = None, {}
        if self._reviewing is not None and not self.board.reviewing:
            self._reviewing.drop()
            self._reviewing = None
        self.tell()
        self.go_on()

    def _changed(self, what: Callable[[AnalysedGame], None]) -> None:
        what(self.board)
        self.keep()

    def keep(self) -> None:
        """Write the files, and note what is shown: for the thread of the rules."""
        board = self.board
        self.shown = board.shown()
        self._order = None
        if board.running and not board.over:
            try:
                self._order = self._order_of(board)
            except UserError as error:  # who searched is gone
                self._trouble = str(error)
        self._save()

    def _save(self) -> None:
        trouble = keep_files(self.site, ANALYSES_FOLDER, "analysis", self.name, self.board.saved(), self.board.sgf())
        self._trouble = trouble or self._trouble

    def sgf(self) -> str:
        return self.board.sgf()

    def _order_of(self, board: AnalysedGame) -> dict[str, object]:
        from jubango.arena.serve.search.told import told

        return {**told(board.here), "work": "analyse", "key": self.name, "owners": True, **self._searcher(board)}

    def _searcher(self, board: AnalysedGame, simulations: int = 0) -> dict[str, object]:
        """Who is to search, as an order says it."""
        from jubango.arena.serve.opponents import searcher_named
        from jubango.arena.serve.search.work import told_table

        who = searcher_named(board.who, board.main.game, self.site.folder)
        if isinstance(who, str):
            return {"command": who}
        table = told_table(who)
        if simulations:
            table["simulations"] = simulations
            table.pop("seconds", None)
        return {"bot": table}

    # -- telling -----------------------------------------------------------------------------------

    @property
    def wanted(self) -> bool:
        return self.feed.watched or self.board.reviewing

    def _snapshot(self) -> dict[str, object]:
        return {
            **self.shown, "id": self.name, "found": self._found or None, "searching": self._searching is not None,
            "progress": self._progress or None, "trouble": self._trouble,
        }  # fmt: skip

    def tell(self) -> None:
        self.feed.send("all", self._snapshot())

    def answer(self) -> EventStream:
        """For who begins to look."""
        answer = self.feed.answer()
        asyncio.get_running_loop().call_later(0.05, self.go_on)
        return answer

    # -- searching -----------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Search what is shown, if somebody looks; and go on with a review."""
        if self.board.reviewing and self._reviewing is None:
            self.site.soon(self._review())
        if self._order is None or self._searching is not None or self._found or not self.feed.watched:
            return
        number, asked_for = self._number, self._order
        place = {"at": self.board.at, "branch": len(self.board.branch)}

        def heard(said: Mapping[str, object]) -> None:
            if number == self._number:
                self._heard(said, asked_for, place)

        self._searching = self.site.thinker.begin(asked_for, heard)
        self.feed.send("search", {"visits": 0, "moves": []})

    def _heard(self, said: Mapping[str, object], asked_for: Mapping[str, object], place: Mapping[str, object]) -> None:
        if said["kind"] == "error":
            self._searching, self._trouble = None, str(said["error"])
            self._order = None
            self.tell()
            return
        if said.get("visits"):
            self._found = {**said, **place}
            self.site.soon(self.site.in_order(self._saw, said, asked_for))
            self.feed.send("search", self._found)
        if said["kind"] == "done":
            self._searching = None
        elif not self.feed.watched and self._searching is not None:
            self._searching.drop()
            self._searching, self._found = None, {}
        now = asyncio.get_running_loop().time()
        if now - self._noted > _KEEP_SECONDS or said["kind"] == "done":
            self._noted = now
            self.site.soon(self.site.in_order(self._save))

    def _saw(self, said: Mapping[str, object], asked_for: Mapping[str, object]) -> None:
        if self._order is asked_for:  # else it was another position
            self.board.saw(said)

    async def _review(self) -> None:
        """Have the whole game looked through, in the background."""
        order = await self.site.in_order(self._review_order)
        if self._reviewing is not None or not self.board.reviewing:
            return
        self._progress = {"done": 0, "total": 0}
        self._reviewing = self.site.thinker.begin(order, self._heard_of_review)
        self.tell()

    def _review_order(self) -> dict[str, object]:
        board = self.board
        return {
            "work": "review", "sgf": board.sgf(), "folder": str(self.site.folder.path),
            "file": f"{ANALYSES_FOLDER}/{self.name}.searches.json", "page": f"{ANALYSES_FOLDER}/{self.name}.html",
            "repeats": REVIEW_REPEATS, "simulations": REVIEW_SIMULATIONS,
            **self._searcher(board, REVIEW_SIMULATIONS),
        }  # fmt: skip

    def _heard_of_review(self, said: Mapping[str, object]) -> None:
        if said["kind"] == "update":
            self._progress = {key: said[key] for key in ("stage", "done", "total")}
            self.feed.send("review", self._progress)
            return
        self._reviewing, self._progress = None, {}

        def over(board: AnalysedGame) -> None:
            board.reviewing = False
            if said["kind"] == "done":
                board.reviewed(said)

        self.site.soon(self._told_of_review(over, str(said.get("error", ""))))

    async def _told_of_review(self, over: Callable[[AnalysedGame], None], trouble: str) -> None:
        self._trouble = trouble
        await self.site.in_order(self._changed, over)
        self.tell()

    async def attempt(self, number: int, move: str) -> None:
        """A move tried in the place of move ``number``: searched, and the review's choice beside it. Raises
        UserError."""
        for task in self._trying:
            task.drop()
        self._trying = []
        orders, best = await self.site.in_order(self._attempted, number, move)
        rates: dict[int, float] = {}

        def hear(place: int) -> Callable[[Mapping[str, object]], None]:
            def heard(said: Mapping[str, object]) -> None:
                if said["kind"] == "update":
                    return
                if said["kind"] == "error":
                    self.feed.send("verdict", {"number": number, "error": said["error"]})
                    return
                rates[place] = float(said["rate"])  # type: ignore[arg-type]
                if len(rates) == len(orders):
                    verdict = {
                        "number": number,
                        "move": move,
                        "best": best,
                        "rates": [rates[i] for i in range(len(orders))],
                    }
                    self.feed.send("verdict", verdict)

            return heard

        self.feed.send("verdict", {"number": number, "move": move, "waiting": True})
        self._trying = [self.site.thinker.begin(order, hear(i)) for i, order in enumerate(orders)]

    def _attempted(self, number: int, move: str) -> tuple[list[dict[str, object]], str]:
        from jubango.arena.serve.search.told import MOVERS, play, told

        board = self.board
        review = board.review or {}
        problems: list[dict[str, object]] = review.get("problems", [])  # type: ignore[assignment]
        best = next((str(one["best"]) for one in problems if one["number"] == number), "")
        if not best or not 1 <= number <= len(board.main.played):
            raise UserError("there is no such problem")
        orders = []
        for text in dict.fromkeys([move, best]):
            here = board.main.after(number - 1)
            player = here.turn().player
            play(here, MOVERS[player] + text)
            orders.append({
                **told(here), "work": "analyse", "key": f"{self.name} try", "most": TRY_SIMULATIONS,
                **self._searcher(board),
            })  # fmt: skip
        return orders, best

    def close(self) -> None:
        for task in (self._searching, self._reviewing, *self._trying):
            if task is not None:
                task.drop()


class Desks(KeptThings[Desk, "AnalysedGame"]):
    """The analyses of a site."""

    folder, what = ANALYSES_FOLDER, "analysis"

    def _of(self, name: str, content: AnalysedGame) -> Desk:
        return Desk(self._site, name, content)

    def _read(self, data: Data) -> AnalysedGame:
        from jubango.arena.serve.analyse.board import AnalysedGame

        return AnalysedGame.of(data)

    def _row(self, data: Data) -> dict[str, object] | None:
        main = data.get("main")
        if not isinstance(main, dict) or not isinstance(main.get("moves"), list):
            return None
        return {"game": main.get("game"), "names": data.get("names"), "moves": len(main["moves"])}
