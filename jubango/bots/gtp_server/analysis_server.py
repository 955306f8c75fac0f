"""KataGo's JSON analysis protocol: a query a line, answered in the order of their priorities, a line for each position.

Values are in Black's view unless a query's ``reportAnalysisWinratesAs`` says otherwise.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jubango.bots.composition import judging_note, strongest
from jubango.bots.config import SearchConfig, bot_from_spec
from jubango.bots.gtp_server.analyze import restricted
from jubango.bots.gtp_server.query import Query, QueryError, QueryReplay, QueryStopped, read_query
from jubango.bots.gtp_server.session import Session, TurnToMove
from jubango.bots.gtp_server.territory import Territory
from jubango.bots.gtp_server.wire import GtpError, Lines, Output, Spool, complain
from jubango.bots.interactive.interactive_search import (
    LONGEST_ANALYSIS,
    NOTHING,
    AnalysisInfo,
    InteractiveSearch,
    MoveInfo,
    SearchedPosition,
)
from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import prepare
from jubango.sgf_games.rules.game import Game

TICK = 0.1  # seconds of a search between two looks at what is wanted
BURST_SECONDS = 0.01  # seconds between lines that come together
MOST_BOARDS = 3  # whose programs and trees are kept


class Task(NamedTuple):
    """One position of a query; the least comes first."""

    order: tuple[int, int]  # its priority, negative, and when it came
    query: Query
    turn: int


class BoardSearch(NamedTuple):
    thinker: InteractiveSearch
    territory: Territory


class AnalysisServer:
    """bot: by default the strongest there is for every board."""

    def __init__(
        self, bot: SearchConfig | None, lines: Lines, output: Output, seed: int = 1, room: int = LONGEST_ANALYSIS
    ) -> None:
        self._bot, self._lines, self._output, self._seed, self._room = bot, lines, Spool(output), seed, room
        self._number = itertools.count()
        self._minds: OrderedDict[Game, BoardSearch] = OrderedDict()
        self._replay = QueryReplay()
        # What is asked comes in by a thread of its own, which never waits; the rest is the worker's.
        self._changed = threading.Condition()  # guards all below
        self._tasks: list[Task] = []
        self._heard = 0  # lines
        self._ended = False  # there will be no more
        self._current: Task | None = None
        self._enough = False  # of the current one

    def serve(self) -> None:
        """Until the end of the input, and of what has been asked by then. Raises BrokenPipeError where nobody reads the
        answers."""
        threading.Thread(target=self._listen, daemon=True).start()
        while task := self._next():
            self._work_safely(task)
        self._output.end()

    def _next(self) -> Task | None:
        """The most urgent task, as soon as there is one; None if there will be none."""
        with self._changed:
            if not self._tasks:
                self._changed.wait_for(lambda: self._tasks or self._ended)
                until = time.perf_counter() + TICK
                heard = -1
                while heard < self._heard and time.perf_counter() < until:  # what comes with it may be more urgent
                    heard = self._heard
                    self._changed.wait(BURST_SECONDS)
            if not self._tasks:
                return None
            self._current, self._enough = heapq.heappop(self._tasks), False
            return self._current

    # -- what is asked ---------------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                if line.strip():
                    self._take(line)
                with self._changed:
                    self._heard += 1
                    self._changed.notify_all()
        except BrokenPipeError:  # the worker sees it, too
            pass
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, line: str) -> None:
        try:
            said = json.loads(line)
            if not isinstance(said, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            self._say({"error": f"Could not parse input as json query: {error}"})
            return
        own = {"id": said["id"]} if isinstance(said.get("id"), str) else {}
        try:
            if "action" in said:
                self._act(said)
            else:
                self._ask(read_query(said))
        except QueryError as error:
            self._say({"error": str(error), "field": error.field, **own})
        except BrokenPipeError:
            raise
        except Exception as error:  # one line's misfortune is not that of the search under way
            self._say({"error": f"internal error: {type(error).__name__}: {error}", **own})

    def _ask(self, query: Query) -> None:
        for name, text in query.warnings:
            self._say({"warning": text, "field": name, "id": query.id})
        with self._changed:
            for turn in query.priorities:
                heapq.heappush(self._tasks, Task((-query.priorities[turn], next(self._number)), query, turn))

    def _act(self, said: dict[str, Any]) -> None:
        action = said["action"]
        if not isinstance(said.get("id"), str):
            raise QueryError("Must be a string", "id")
        if action == "query_version":
            self._say({**said, "version": f"jubango {VERSION}", "git_hash": "<omitted>"})
        elif action == "query_models":
            self._say({**said, "models": []})
        elif action == "clear_cache":  # nothing is kept from one position to another
            self._say(said)
        elif action in ("terminate", "terminate_all"):
            if action == "terminate" and not isinstance(said.get("terminateId"), str):
                raise QueryError("Must be a string", "terminateId")
            turns = said.get("turnNumbers")
            if turns is not None and not (isinstance(turns, list) and all(type(turn) is int for turn in turns)):
                raise QueryError("Must be an array of integers", "turnNumbers")
            self._terminate(said.get("terminateId") if action == "terminate" else None, turns)
            self._say(said)
        else:
            raise QueryError("Must be query_version, query_models, clear_cache, terminate or terminate_all", "action")

    def _terminate(self, wanted: str | None, turns: list[int] | None) -> None:
        """End all of a query, or of all; what has begun says what it has found."""

        def meant(task: Task) -> bool:
            return wanted in (None, task.query.id) and (turns is None or task.turn in turns)

        for task in self._drop(meant):
            self._say(_nothing(task))
        with self._changed:
            if self._current is not None and meant(self._current):
                self._enough = True

    def _drop(self, meant: Callable[[Task], bool]) -> list[Task]:
        """Forget tasks; which they were, in their order."""
        with self._changed:
            dropped = sorted(task for task in self._tasks if meant(task))
            self._tasks = [task for task in self._tasks if not meant(task)]
            heapq.heapify(self._tasks)
        return dropped

    # -- what is answered ------------------------------------------------------------------------

    def _work_safely(self, task: Task) -> None:
        """One query's misfortune is not the others'."""
        try:
            self._work(task)
            self._output.catch_up()
        except BrokenPipeError:
            raise
        except Exception as error:
            self._minds.clear()  # whatever state they are in
            self._replay = QueryReplay()
            self._say({"error": f"internal error: {type(error).__name__}: {error}", "id": task.query.id})
        finally:
            with self._changed:
                self._current = None

    def _work(self, task: Task) -> None:
        query = task.query
        try:
            if self._enough:
                raise QueryStopped
            mind = self._mind(query.game)
            session, turn = self._replay.at(query, task.turn, lambda: self._enough)
            legal = restricted(session, query.allow, query.avoid, turn)
            if self._enough:
                raise QueryStopped
        except QueryStopped:
            self._say(_nothing(task))
            return
        except QueryError as error:  # of all of its turns
            self._say({"error": str(error), "field": error.field, "id": query.id})
            self._drop(lambda own: own.query is query)
            return
        except (UserError, GtpError) as error:
            self._say({"error": str(error), "id": query.id})
            return
        if turn.over:
            self._say(self._answer(query, session, turn, mind, NOTHING, during=False))
            return
        began = time.perf_counter()
        report = began + query.first_report
        seed = int(np.random.SeedSequence([self._seed, task.turn]).generate_state(1)[0])
        position = SearchedPosition(turn.state, legal, turn.ply, seed)
        mind.thinker.begin(position, simulations=query.visits, seconds=query.seconds)
        mind.thinker.advance(TICK)
        while mind.thinker.busy and not self._enough:
            if time.perf_counter() >= report:
                report = max(report + query.report_every, time.perf_counter())
                if not self._output.behind:
                    self._say(self._answer(query, session, turn, mind, mind.thinker.findings(), during=True))
            if self._lines.ended and self._output.deaf:
                raise BrokenPipeError
            if not self._enough:
                mind.thinker.advance(min(TICK, query.report_every))
        self._say(self._answer(query, session, turn, mind, mind.thinker.findings(), during=False))

    def _mind(self, game: Game) -> BoardSearch:
        """Raises UserError for a bot that cannot play it."""
        key = game.compiled_as
        if key not in self._minds:
            while len(self._minds) >= MOST_BOARDS:
                self._minds.popitem(last=False)[1].thinker.close()
            bot = self._bot or bot_from_spec(strongest(game))
            assert isinstance(bot, SearchConfig)
            if note := judging_note(game, bot):
                complain(note)
            thinker = InteractiveSearch(game, bot, self._room, functools.partial(prepare, game))
            self._minds[key] = BoardSearch(thinker, Territory(game, thinker.judge))
        self._minds.move_to_end(key)
        return self._minds[key]

    def _answer(
        self, query: Query, session: Session, turn: TurnToMove, mind: BoardSearch, found: AnalysisInfo, during: bool
    ) -> dict[str, Any]:
        player, state, territory = turn.player, turn.state, mind.territory
        shown = [move for i, move in enumerate(found.moves) if move.visits or not i]
        judged, has_prior = territory.judge(state, shown), mind.thinker.has_prior
        turned = {"BLACK": player == 1, "WHITE": player == 0, "SIDETOMOVE": False}[query.view]
        blacks = {"BLACK": 1, "WHITE": -1, "SIDETOMOVE": -1 if player else 1}[query.view]

        def rate(x: float) -> float:
            return round(1 - x if turned else x, 6)

        def utility(x: float) -> float:
            return round(2 * rate(x) - 1, 6)

        def score(x: float) -> dict[str, float]:
            lead = round(blacks * x, 4)
            return {
                "scoreLead": lead,
                "scoreMean": lead,
                "scoreSelfplay": lead,
                "scoreStdev": round(judged.deviation, 4),
            }

        wants_owners = query.ownership or query.moves_ownership
        owners = territory.owners(state, shown) if wants_owners else np.zeros(0)
        after = territory.owners_after(state, shown) if query.moves_ownership else {}

        def owned(move: MoveInfo) -> dict[str, Any]:
            whose = _rounded(blacks * after.get(move.action, owners))
            return {"ownership": whose} if query.moves_ownership else {}

        def info(move: MoveInfo, order: int) -> dict[str, Any]:
            pv = session.vertices(move.variation[: query.pv + 1], state)
            return {
                "move": pv[0], "visits": move.visits, "edgeVisits": move.visits, "weight": move.visits, "order": order,
                "winrate": rate(move.win_rate), "utility": utility(move.win_rate), "lcb": rate(move.lcb),
                "utilityLcb": utility(move.lcb), **({"prior": round(move.prior, 6)} if has_prior else {}),
                **score(judged.score_after(move)), "pv": pv,
                **owned(move),
            }  # fmt: skip

        win_rate = found.win_rate
        if turn.over:
            win_rate = 0.5 + 0.5 * float(turn.view.returns[player])
        answer = {
            "id": query.id, "turnNumber": turn.ply, "isDuringSearch": during,
            "moveInfos": [info(move, i) for i, move in enumerate(shown)],
            "rootInfo": {
                "currentPlayer": "BW"[player], "visits": found.visits, "weight": found.visits,
                "winrate": rate(win_rate), "utility": utility(win_rate), **score(judged.score),
            },
        }  # fmt: skip
        if query.ownership:
            answer["ownership"] = _rounded(blacks * owners)
        if query.policy and has_prior:
            policy = np.where(turn.legal, 0.0, -1.0)
            for move in found.moves:
                policy[move.action] = move.prior
            answer["policy"] = _rounded(policy)
        return answer

    def _say(self, answer: dict[str, Any]) -> None:
        self._output.write(json.dumps(answer, separators=(",", ":")) + "\n")


def _nothing(task: Task) -> dict[str, Any]:
    """The answer for a task that was ended before its search."""
    return {"id": task.query.id, "isDuringSearch": False, "noResults": True, "turnNumber": task.turn}


def _rounded(values: np.ndarray) -> list[float]:
    rounded: list[float] = np.round(values.astype(float), 6).tolist()
    return rounded
