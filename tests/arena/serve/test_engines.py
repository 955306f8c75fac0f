"""Other people's engines at the page: analysis by both protocols, a review, a game, and what they do wrong."""

from __future__ import annotations

import shlex
import sys

import pytest
from axe import violations
from browser import browser  # noqa: F401 -- a fixture
from serving import COMMAND, begun, click, my_turn, serving, status, visited

from jubango.bots.players.engines.engine import program

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

JUBANGO = shlex.join(COMMAND)
GAME = "(;GM[1]SZ[5]KM[0.5]RU[Chinese]PB[Ada]PW[Ben];B[cc];W[aa];B[cb];W[ea];B[bd];W[ee])"
FILE = f'''
[[bots]]
name = "GNU Go"
use = "gtp"
command = "{program("gnugo")} --mode gtp --chinese-rules --level 1"

[[analysts]]
name = "by JSON"
command = "{JUBANGO} analysis-server --bot uct:simulations=200"

[[analysts]]
name = "by GTP"
command = "{JUBANGO} gtp --bot uct:simulations=200 --game go:5"

[[analysts]]
name = "gone"
command = "{sys.executable} -c pass"
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    (folder / "serve.toml").write_text(FILE)
    with serving(folder) as found:
        yield found


def analysed(page, who: str) -> None:
    """The game on the page's board, and who looks at it."""
    page.click("nav >> text=Analyse")
    page.fill("#sgf", GAME)
    page.click("#start")
    page.locator("#who select").select_option(who)


@pytest.mark.parametrize("who", ["by JSON", "by GTP"])
def test_an_engine_analyses_and_reviews(browser, server, who):  # noqa: F811
    with visited(browser, server) as page:
        analysed(page, who)
        page.wait_for_selector("#facts:text-matches('Black wins [0-9.]+ %.* after [0-9,]+ visits')")
        first = page.inner_text("#facts")
        page.wait_for_selector(f"#facts:not(:text-is({first!r}))")  # deeper while it runs
        page.hover("#candidates tbody tr:nth-child(1)")
        page.wait_for_selector(".goban .ghost")
        page.mouse.move(5, 5)
        page.select_option("#heat", "owners")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#place:text-matches('^Move 1 of 6')")
        page.wait_for_selector("#facts:text-matches('after [0-9,]+ visits')")
        assert violations(page) == []
        page.click("#review")
        page.wait_for_selector("#by:text-matches('Reviewed by jubango')")


def test_an_engine_that_cannot_be_asked_says_so_in_a_line(browser, server):  # noqa: F811
    with visited(browser, server, phone=True) as page:
        analysed(page, "gone")
        page.wait_for_selector("#trouble:text-matches('engine .* ended')")
        page.wait_for_selector("#facts:text-is('Nothing is searched.')")
        page.locator("#who select").select_option("uct")
        page.wait_for_selector("#candidates tbody tr")


@pytest.mark.skipif(program("gnugo") is None, reason="needs GNU Go: apt install gnugo")
def test_a_game_against_gnu_go(browser, server):  # noqa: F811
    """With a move taken back, to its end, where the dead are marked."""
    with visited(browser, server) as page:
        begun(page, "go:5", "GNU Go")
        click(page, 2, 2, 5, 5)
        page.wait_for_selector("#moves:text-matches('^1 C3  2 ')", state="attached")
        assert my_turn(page)
        page.click("#undo")
        page.wait_for_selector("#moves:text-is('')", state="attached")
        click(page, 2, 2, 5, 5)
        page.wait_for_selector("#moves:text-matches('^1 C3  2 ')", state="attached")
        while my_turn(page):
            played = page.text_content("#moves")
            page.click("#others button")
            page.wait_for_selector(f"#moves:not(:text-is({played!r}))", state="attached")
            page.wait_for_selector("#status:text-matches('Black to move$|dead|wins|draw')")
        if "dead" in status(page):
            page.click("#agree button >> nth=0")
        page.wait_for_selector("#status:text-matches('wins|draw')")
