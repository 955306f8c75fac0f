"""The process that searches: one piece of work after the other, a turn each, by lines of JSON on its pipes."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TextIO, cast

from jubango.arena.serve.search.analysing import AnalysisWork, Engines, EngineWork, Searches
from jubango.arena.serve.search.moves import MoveWork, Players, ReadyWork
from jubango.arena.serve.search.reviewing import ReviewWork
from jubango.arena.serve.search.work import Order, Work
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.compute.machine import claim

_IDLE_SECONDS = 900.0  # without anything to do, after which it ends
NICENESS = 2  # the server comes first

Line = dict[str, object]


class Worker:
    """What is under way, by its number; each gets a turn, one after the other."""

    def __init__(self, orders: queue.Queue[Line | None], write: Callable[[Line], None]) -> None:
        self._orders, self._write = orders, write
        self._under_way: OrderedDict[int, Work] = OrderedDict()
        self._players, self._searches, self._engines = Players(), Searches(), Engines()

    def run(self) -> None:
        """Until nobody is there any more, or nobody has wanted anything for long."""
        while self._listen():
            if not self._under_way:
                continue
            number, work = self._under_way.popitem(last=False)
            self._under_way[number] = work  # the last now
            self._turn(number, work)
        for work in self._under_way.values():
            work.close()
        self._players.close()
        self._engines.close()

    def _listen(self) -> bool:
        """Take what has been ordered, and wait for it if there is nothing to do. False: it is time to end."""
        wait = not self._under_way
        while True:
            try:
                order = self._orders.get(timeout=_IDLE_SECONDS) if wait else self._orders.get_nowait()
            except queue.Empty:
                return not wait
            if order is None:
                return False
            self._take(order)
            wait = False

    def _take(self, order: Line) -> None:
        number = cast(int, order["id"])
        if order["do"] == "begin":
            self._under_way[number] = self._made(number, order)
            return
        work = self._under_way.get(number)
        if work is not None and order["do"] == "stop":
            work.stop()
        elif work is not None:
            del self._under_way[number]
            work.close()

    def _made(self, number: int, order: Order) -> Work:
        def tell(said: Line) -> None:
            self._write({"id": number, **said})

        if order["work"] == "move":
            return MoveWork(order, tell, self._players)
        if order["work"] == "ready":
            return ReadyWork(order, self._players)
        if order["work"] == "review":
            return ReviewWork(order, tell)
        return (
            EngineWork(order, tell, self._engines)
            if order.get("command")
            else AnalysisWork(order, tell, self._searches)
        )

    def _turn(self, number: int, work: Work) -> None:
        try:
            answer = work.advance()
        except (UserError, CannotGoOn) as error:
            answer = {"kind": "error", "error": str(error)}
        except Exception as error:
            answer = {"kind": "error", "error": f"{type(error).__name__}: {error} (an error of this program)"}
        if answer is not None:
            del self._under_way[number]
            work.close()
            self._write({"id": number, **answer})


def serve(load_plugins: Callable[[], None]) -> None:
    """Work for the process at the other end of stdin and stdout, until that is gone."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print is not ours
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    orders: queue.Queue[Line | None] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, orders), daemon=True).start()
    claim()
    load_plugins()

    def write(line: Line) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    try:
        write({"kind": "ready"})
        Worker(orders, write).run()
    except BrokenPipeError:
        pass
    os._exit(0)


def _read(stream: TextIO, orders: queue.Queue[Line | None]) -> None:
    for line in stream:
        orders.put(json.loads(line))
    orders.put(None)
