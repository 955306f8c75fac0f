"""How long a newcomer's way through the page takes: python tests/tools/newcomer.py [GAME]

A fresh home without anything compiled: `jubango serve`, the page in Chromium, *Play* as the form stands, a game to its
end by clicks on the board, *Review it*, and the finished review. GAME: another one than that of the form. Prints the
seconds of each. Needs playwright and Chromium.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from serving import PATIENCE, Server, my_turn, status

MOST_MOVES = 25  # of the person, who passes then
MOVES = "#moves:not(:text-is({0!r}))"


def points(page) -> list[tuple[float, float, int]]:
    """Places on the screen of empty points that the person may try, the middle of the board first."""
    return page.evaluate("""() => {
      const box = document.querySelector('.goban .ground').getBoundingClientRect();
      const taken = [...document.querySelectorAll('.goban g g circle')].map((one) => one.getBoundingClientRect());
      const size = taken.length ? Math.max(...taken.map((one) => one.width)) : box.width / 9, found = [];
      for (let x = box.left + size / 2; x < box.right; x += size) for (let y = box.top + size / 2; y < box.bottom; y += size)
        if (!taken.some((one) => x > one.left && x < one.right && y > one.top && y < one.bottom)) found.push([x, y]);
      const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const far = ([x, y]) => Math.abs(x - middle[0]) + Math.abs(y - middle[1]);
      return found.sort((a, b) => far(a) - far(b));
    }""")


def moved(page) -> None:
    """The person makes a move that the page takes."""
    before = page.text_content("#moves")
    for x, y in points(page):
        page.mouse.click(x, y)
        for _ in range(25):
            page.wait_for_timeout(20)
            if page.text_content("#moves") != before or status(page) != "Black to move":
                return
    raise SystemExit("no point of the board can be played")


def passed(page) -> None:
    before = page.text_content("#moves")
    page.click("#others button")
    page.wait_for_selector(MOVES.format(before), state="attached")


def ended(page) -> int:
    """Play to the end; the number of the person's moves."""
    moves = 0
    while my_turn(page):
        if moves < MOST_MOVES or not page.locator("#others button").count():
            moved(page)
        else:
            passed(page)
        moves += 1
    if "dead" in status(page):
        page.click("#agree button >> nth=0")
    page.wait_for_selector("#status:text-matches('wins|draw')")
    return moves


def main(game: str = "") -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        os.environ |= {"HOME": home, "JUBANGO_CACHE": f"{home}/cache", "XDG_CACHE_HOME": f"{home}/cache"}
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page, began = browser.new_page(viewport={"width": 1280, "height": 860}), time.perf_counter()
        page.set_default_timeout(10 * PATIENCE)

        def said(what: str) -> None:
            print(f"{time.perf_counter() - began:7.1f} s  {what}", flush=True)

        server = Server(Path(home) / "games")
        try:
            page.goto(server.url)
            page.wait_for_selector("#komibox:not([hidden])")
            said("the form is there")
            if game:
                page.select_option("#game", game)
                page.wait_for_timeout(1000)
            page.click("#start")
            page.wait_for_selector(".goban")
            said(f"the board is there: {page.inner_text('#heading')}")
            moved(page)
            said("the first move is on the board")
            my_turn(page)
            said("it is answered")
            moves = 1 + ended(page)
            said(f"the game has ended after {moves} moves of the person: {status(page)}")
            page.click("#review")
            page.wait_for_url("**/analyse/*")
            page.wait_for_selector("#retry:not([hidden])")
            said(f"it is reviewed: {page.inner_text('#by')} {page.inner_text('#count')}")
        finally:
            server.end()
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
