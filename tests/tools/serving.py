"""``jubango serve`` in a process of its own, and a visitor of it in a browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from browser import opened

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
BOT = "uct:simulations=50"
PATIENCE = 240_000  # milliseconds: programs may have to be compiled on a machine that does much else


class Server:
    """It serves ``folder``. What it keeps of its user is kept beside that."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        state = folder.with_name(f"{folder.name}-state")
        self.process = subprocess.Popen(
            [*COMMAND, "serve", str(folder), "--no-open", "--port", str(port)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(state)},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.said = [self.process.stderr.readline()]
        threading.Thread(target=self._read, daemon=True).start()
        self.url = found.group() if (found := re.search(r"http://\S+", self.said[0])) else ""
        self.base = self.url.partition("/?")[0]

    def _read(self) -> None:
        with self.process.stderr:
            self.said.extend(self.process.stderr)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port

    def end(self, how: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(60)
        assert not [line for line in self.said if "Traceback" in line], self.said


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Server]:
    server = Server(folder, port)
    try:
        yield server
    finally:
        server.end(signal.SIGINT)


@contextmanager
def visited(browser, server: Server, phone: bool = False, dark: bool = False, said: str = "(?!)") -> Iterator:
    """A page of the server, as somebody has it who has opened the address that was printed. said: what the browser may
    say on the console."""
    with opened(browser, server.url, phone, dark=dark, patience=PATIENCE, popups=True, said=said) as page:
        page.wait_for_url(f"{server.base}/play")
        yield page


def begun(page, game, white=BOT, black="human", clock="", sgf=""):
    """A new game from the form of the lobby."""
    page.goto(page.url.split("/play")[0] + "/play")
    page.wait_for_selector("#komibox:not([hidden])", state="attached")
    offered = page.locator(f"#game option[value='{game}']").count() > 0
    if not offered:
        page.select_option("#game", "")
        page.fill("#other", game)
    with page.expect_response(re.compile("choices.game=")):
        page.select_option("#game", game) if offered else page.keyboard.press("Tab")
    for i, name in enumerate((black, white)):
        chooser = page.locator(".chooser").nth(i)
        offered = chooser.locator("select option").evaluate_all("own => own.map((one) => one.value)")
        if name in offered:
            chooser.locator("select").select_option(name)
        else:
            chooser.locator("select").select_option("other")
            chooser.locator("input[type=text]").fill(name)
    page.select_option("#clock", clock)
    if sgf:
        page.click("#new summary")
        page.fill("#sgf", sgf)
    page.click("#start")
    page.wait_for_selector(".goban")


def click(page, row, column, rows, columns):
    box = page.locator(".goban .ground").bounding_box()
    x, y = box["x"] + box["width"] * (column + 0.5) / columns, box["y"] + box["height"] * (row + 0.5) / rows
    page.mouse.click(x, y)


def status(page):
    return page.inner_text("#status")


def my_turn(page):
    page.wait_for_selector("#status:text-matches('Black to move$|dead|wins|draw')")
    return status(page) == "Black to move"


def stones(page):
    """(row, column) of every stone, from the page's own board."""
    return page.evaluate("""() => [...document.querySelectorAll('.goban g g circle')]
      .map((c) => [Number(c.getAttribute('cy')), Number(c.getAttribute('cx'))])""")
