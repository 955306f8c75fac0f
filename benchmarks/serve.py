"""How soon the page of ``jubango serve`` answers: its start, a move's echo, the first analysis, updates, and the echo
while a game is reviewed.

    python benchmarks/serve.py [--moves 250] [--game go:9]

Everything is asked over HTTP, as a browser does. Warm: it is all done once before, so that programs are compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

ECHOES = 30


class Visitor:
    """A browser without a window."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self.host = where.netloc
        answer = self.ask("GET", f"/?{where.query}")
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def ask(self, method: str, path: str, data: object = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=600)
        head = {
            "Cookie": getattr(self, "cookie", ""),
            "Origin": f"http://{self.host}",
            "Content-Type": "application/json",
        }
        connection.request(method, path, json.dumps(data) if data is not None else None, head if method == "POST" else {
            "Cookie": head["Cookie"]})  # fmt: skip
        return connection.getresponse()

    def post(self, path: str, data: object) -> dict:
        answer = json.loads(self.ask("POST", path, data).read())
        assert "error" not in answer, answer
        return answer


class Stream:
    """The events of one board, with the time at which they came."""

    def __init__(self, visitor: Visitor, path: str) -> None:
        self.events: list[tuple[float, str, dict]] = []
        self.news = threading.Condition()
        self.answer = visitor.ask("GET", path)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # it is closed
            self._events()

    def _events(self) -> None:
        kind = ""
        for line in self.answer:
            text = line.decode().rstrip()
            if text.startswith("event: "):
                kind = text[7:]
            elif text.startswith("data: "):
                with self.news:
                    self.events.append((time.perf_counter(), kind, json.loads(text[6:])))
                    self.news.notify_all()

    def wait(self, fits, since: int = 0, seconds: float = 600) -> tuple[float, str, dict]:
        with self.news:
            found = self.news.wait_for(
                lambda: next((one for one in self.events[since:] if fits(one[1], one[2])), None), seconds
            )
        assert found, "nothing came"
        return found


def started(folder: str) -> tuple[subprocess.Popen, str, float]:
    """(the server, its address, seconds until its first page was there)"""
    began = time.perf_counter()
    command = [sys.executable, "-m", "jubango.arena.commands", "serve", folder, "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", process.stderr.readline())[0]
    visitor = Visitor(url)
    assert b"jubango" in visitor.ask("GET", "/play").read()
    seconds = time.perf_counter() - began
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, url, seconds


def echoes(visitor: Visitor, game: str) -> list[float]:
    """Seconds from a move's POST to the event that has it, of a game between people."""
    out: list[float] = []
    while len(out) < ECHOES:
        name = visitor.post("/play/new", {"game": game, "black": "human", "white": "human"})["id"]
        stream = Stream(visitor, f"/play/{name}/events")
        _, _, state = stream.wait(lambda kind, data: kind == "all")
        while state["legal"] and len(out) < ECHOES:
            move, ply = state["legal"][len(state["legal"]) // 2][1], state["ply"]
            began, since = time.perf_counter(), len(stream.events)
            visitor.post(f"/play/{name}/move", {"move": move, "ply": ply})
            came, _, state = stream.wait(lambda kind, data, ply=ply: kind == "all" and data["ply"] > ply, since)
            out.append(came - began)
        stream.answer.close()
    return out


def said(what: str, seconds: list[float]) -> None:
    middle, most = statistics.median(seconds), max(seconds)
    print(f"{what}: {1000 * middle:.0f} ms (the slowest of {len(seconds)}: {1000 * most:.0f})", flush=True)


def played(spec: str, moves: int) -> str:
    """A random game as SGF."""
    import numpy as np

    import jubango as jb
    from jubango.sgf_games.sgf.sgf import write_line

    game, texts, random = jb.make_game(spec), [], np.random.default_rng(1)
    here = jb.position(game)
    while len(texts) < moves and not here.over:
        legal = [int(a) for a in np.flatnonzero(here.legal) if a != game.pass_action]
        text = game.action_text(int(random.choice(legal)) if legal else game.pass_action)
        here = here.after(text)
        texts.append(text)
    return write_line(game, texts, {}).decode()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--game", default="go:9")
    options.add_argument("--moves", type=int, default=250)
    options.add_argument("--bot", default="", help="who analyses, by default the strongest")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process, url, seconds = started(folder)  # which leaves files of Python's and the system's in memory
        process.kill()
        process.wait()
        process, url, seconds = started(folder)
        print(f"from the command to a page: {seconds:.2f} s", flush=True)
        try:
            visitor = Visitor(url)
            echoes(visitor, asked.game)
            said("a move's echo", echoes(visitor, asked.game))
            for _ in range(2):  # the second one is warm
                name = visitor.post("/analyse/new", {"game": asked.game})["id"]
                if asked.bot:
                    visitor.post(f"/analyse/{name}/who", {"name": asked.bot})
                began = time.perf_counter()
                stream = Stream(visitor, f"/analyse/{name}/events")
                came, _, _ = stream.wait(lambda kind, data: kind == "search" and data["visits"])
                time.sleep(5)
                times = [at for at, kind, data in stream.events if kind == "search" and data["visits"]]
                stream.answer.close()
            print(f"the first analysis on the board: {came - began:.2f} s", flush=True)
            print(f"updates: {(len(times) - 1) / (times[-1] - times[0]):.1f} a second", flush=True)
            sgf = played(asked.game, asked.moves)
            name = visitor.post("/analyse/new", {"sgf": sgf})["id"]
            visitor.post(f"/analyse/{name}/run", {"running": False})
            visitor.post(f"/analyse/{name}/review", {"wanted": True})
            watching = Stream(visitor, f"/analyse/{name}/events")
            watching.wait(lambda kind, data: kind == "review" and data["done"] > 0)
            said(f"a move's echo while a game of {sgf.count(';') - 1} moves is reviewed", echoes(visitor, asked.game))
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
