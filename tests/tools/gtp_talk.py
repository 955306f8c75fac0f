"""Talking to a server: in this process, or to the command in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from jubango.bots.config import bot_from_spec
from jubango.bots.gtp_server.host import Host, Options
from jubango.bots.gtp_server.server import Server
from jubango.bots.gtp_server.wire import Lines, Output
from jubango.sgf_games.rules.catalogue import make_game

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
QUICK = "uct:simulations=32,leaves=1,ensemble=1"
ROOM = 64


class Talk:
    """A server of this process at the other end of two pipes."""

    def __init__(self, game="go:5,komi=0", bot=QUICK, server=None, **options):
        inner, self._in = os.pipe()
        self._out, outer = os.pipe()
        self._ends = [inner, outer]
        options = {"room": ROOM, **options}
        config = bot_from_spec(bot) if bot else None
        self._lines = lines = Lines(inner)
        output = Output(outer)
        self.server = (
            server(config, lines, output)
            if server
            else Server(Host(make_game(game), Options(config, **options), lines, output))
        )
        self.heard = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        try:
            self.server.serve()
        except BrokenPipeError:
            pass
        finally:
            os.close(self._ends[1])

    def write(self, text):
        os.write(self._in, text if isinstance(text, bytes) else text.encode())

    def read_until(self, pattern):
        """What is said up to there; it does not end before."""
        while not (found := re.search(pattern, self.heard.decode(), re.S)):
            data = os.read(self._out, 1 << 16)
            assert data, f"it ended with {self.heard!r}"
            self.heard += data
        text = self.heard.decode()
        self.heard = text[found.end() :].encode()
        return text[: found.end()]

    def ask(self, line):
        """The answer, its sign first, without the blank line."""
        self.write(line + "\n")
        return self.read_until(r"\n\n")[:-2].rstrip(" ")

    def end(self):
        """Close its input; all it has still to say."""
        os.close(self._in)
        data = True
        while data:
            data = os.read(self._out, 1 << 16)
            self.heard += data
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()
        while not self._lines.ended:  # else its thread may read what has the descriptor's number next
            time.sleep(0.001)
        os.close(self._out)
        os.close(self._ends[0])
        return self.heard.decode()


def command(*words, **options):
    """``jubango`` with pipes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *words], **{"env": ENVIRONMENT, **pipes, **options})
