"""The rooms in a headless Chromium: by mouse and by keyboard, on a desktop and on a phone, light and dark."""

from __future__ import annotations

import re
import signal

import pytest
from axe import violations
from browser import browser  # noqa: F401 -- a fixture
from serving import Server, begun, click, my_turn, serving, status, stones, visited

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

GAME = "(;GM[4]JG[tic_tac_toe]SZ[3]PB[Ada <b>]PW[Ben];B[bb];W[aa];B[ac];W[ab];B[ca])"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.mark.parametrize(("game", "phone"), [("tic_tac_toe", False), ("pgx:tic_tac_toe", True)])
def test_a_whole_game_of_tic_tac_toe_by_mouse(browser, server, game, phone):  # noqa: F811
    with visited(browser, server, phone=phone, dark=phone) as page:
        begun(page, game)
        while my_turn(page):
            taken = stones(page)
            row, column = next((r, c) for r in (1, 0, 2) for c in (1, 0, 2) if [r, c] not in taken)
            click(page, row, column, 3, 3)
            page.wait_for_selector(f".goban g g circle.black[cx='{column}'][cy='{row}']")
        assert re.match("Black wins|White wins|A draw", status(page))
        assert page.is_disabled("#hint") and page.is_disabled("#resign")
        page.click("#undo")  # to the last move of the person
        page.wait_for_selector("#status:text-is('Black to move')")


def test_stones_are_turned_over_and_swapped(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        begun(page, "othello:4", white="human")
        click(page, 0, 2, 4, 4)
        page.wait_for_selector(".goban g g circle.black[cx='2'][cy='1']")
        assert page.locator(".goban g g circle.black").count() == 4
        begun(page, "hex:3", white="human", black="random")
        page.locator("#others button:enabled", has_text="swap").click()
        page.wait_for_selector(".goban g g circle.white")
        assert page.locator(".goban g g circle.black").count() <= 1  # Black may have moved since
        assert page.locator(".goban g g circle.white").count() == 1
        assert page.locator(".goban .side.white").count() == 1


def test_a_whole_game_of_connect_four_by_keyboard(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        begun(page, "connect_four")
        page.focus(".goban")
        moves = 0
        while my_turn(page) and moves < 30:
            page.keyboard.press("ArrowRight" if moves % 4 < 2 else "ArrowLeft")
            assert re.match("[A-G][1-6], (empty|black|white)", page.inner_text("#said"))
            before = len(stones(page))
            page.keyboard.press("Enter")
            for _ in range(3000):
                page.wait_for_timeout(20)
                if len(stones(page)) != before or "cannot be played" in page.inner_text("#said"):
                    break
            moves += 1
        assert moves > 3
        assert len(stones(page)) > 6


def test_a_level_a_hint_a_new_opponent_and_a_clock(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        begun(page, "tic_tac_toe", "level", clock="300+5")
        page.wait_for_selector("#heading:text-matches('a person – level=[0-9]+')")
        page.wait_for_selector("#clock0:text-matches('^4:[0-5][0-9]$')")
        inks = [page.locator(f"#clock{i}").evaluate("own => getComputedStyle(own).color") for i in (0, 1)]
        assert inks[0] == inks[1], "the clock that runs is as clear as the other one"
        page.click("#hint")
        page.wait_for_selector("#hints tr")
        click(page, 1, 1, 3, 3)
        my_turn(page)
        seat = page.locator("#seat1")
        seat.locator("select").select_option("minimax")
        page.wait_for_selector("#heading:text-is('a person – minimax')")
        page.reload()
        page.wait_for_selector("#heading:text-is('a person – minimax')")
        page.click("#resign")
        page.wait_for_selector("#status:text-matches('White wins: W.R')")


def test_the_strongest_is_that_of_the_game(browser, server):  # noqa: F811
    """Whoever chose it and then another game."""
    with visited(browser, server) as page:
        page.wait_for_selector("#komibox:not([hidden])", state="attached")
        level = page.locator(".chooser").nth(1).locator("input[type=number]")
        least, most, offered = (float(level.evaluate(f"own => own.{key}")) for key in ("min", "max", "value"))
        assert least + 400 < offered < most - 400, "for a newcomer one from the middle"
        who = page.locator(".chooser").nth(1).locator("select")
        for game, best in (("go:9", "score_utility=0.1"), ("connect_four", "simulations=1600"), ("go:9", "=0.1")):
            with page.expect_response(re.compile("choices.game=")):
                page.select_option("#game", game)
            if game == "go:9" and "score" in best:
                who.select_option(who.locator("option", has_text="the strongest").get_attribute("value"))
            page.wait_for_function(
                "end => document.querySelectorAll('.chooser select')[1].value.endsWith(end)", arg=best
            )


def test_a_bot_s_thoughts_are_seen_and_stopped(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        begun(page, "connect_four", "uct:simulations=1000000", sgf="(;GM[4]JG[connect_four]SZ[7:6];B[df];W[de])")
        click(page, 5, 0, 6, 7)
        page.wait_for_selector("#thinking:text-matches('thinks: [A-G].* % for itself after [0-9,]+ visits')")
        assert status(page).startswith("White to move")
        page.click("#hurry")
        assert my_turn(page)
        assert len(stones(page)) >= 4
        file = page.request.get(page.locator("#sgflink").evaluate("own => own.href"))
        assert file.text().startswith("(;") and re.search(r";B\[df\];W\[de\];B\[af\];\s*W\[", file.text())


def test_a_game_survives_kill_9_and_a_second_tab(browser, tmp_path):  # noqa: F811
    server = Server(tmp_path)
    with visited(browser, server) as page:
        begun(page, "tic_tac_toe")
        click(page, 1, 1, 3, 3)
        page.wait_for_selector("#moves:text-matches('2 [A-C]')", state="attached")
        address, before = page.url, sorted(stones(page))
        other = page.context.new_page()
        other.goto(address)
        other.wait_for_selector(".goban g g circle.white")
        assert sorted(stones(other)) == before
        other.close()
        page.click("nav >> text=Analyse")
        page.fill("#sgf", GAME)
        page.click("#start")
        page.wait_for_selector("#candidates tbody tr")
        page.locator("#who select").select_option("uct")
        page.click("#review")
        page.wait_for_selector("#by:text-matches('Reviewed by uct')")
        analysis, turning, port = page.url, page.inner_text("#count"), server.port
        page.goto("about:blank")
        server.end(signal.SIGKILL)
        server = Server(tmp_path, port)
        page.goto(address)  # the cookie still does
        page.wait_for_selector(".goban g g circle.white")
        assert sorted(stones(page)) == before
        page.goto(analysis)
        page.wait_for_selector("#by:text-matches('Reviewed by uct')")
        assert page.inner_text("#count") == turning
        other = page.context.new_page()
        other.goto(analysis)
        other.wait_for_selector("#by:text-matches('Reviewed by uct')")
        assert list((tmp_path / "games").glob("*.sgf"))
    server.end()


def test_an_sgf_is_pasted_analysed_reviewed_and_its_mistakes_asked_again(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        page.click("nav >> text=Analyse")
        page.fill("#sgf", GAME)
        page.click("#start")
        page.wait_for_selector("#candidates tbody tr")
        assert page.inner_text("#heading") == "Ada <b> – Ben"
        page.wait_for_selector("#facts:text-matches('Black wins [0-9.]+ %, after [0-9,]+ visits')")
        page.hover("#candidates tbody tr:nth-child(1)")
        page.wait_for_selector(".goban .ghost")
        page.focus("#candidates tbody tr:nth-child(2)")
        page.wait_for_timeout(500)  # in which reports come
        assert page.evaluate("document.activeElement.dataset.line") == "1", "the keyboard stays where it was"
        page.evaluate("document.activeElement.blur()")
        page.mouse.move(5, 5)
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#place:text-matches('^Move 1 of 5: Black B2; White to move')")
        page.locator("#who select").select_option("uct")
        page.click("#review")
        page.wait_for_selector("#retry:not([hidden])")
        page.wait_for_selector("#by:text-matches('Reviewed by uct')")
        assert re.match("[0-9]+ turning point", page.inner_text("#count"))
        page.click("#problem")
        page.wait_for_selector("#task:text-matches('Find a better move')")
        assert page.locator("#candidates tbody tr").count() == 0  # nothing is given away
        page.click("#solution")
        page.wait_for_selector("#task:text-matches('with [0-9]+ %')")
        page.click("#enough")
        page.click("#last")
        page.wait_for_selector("#facts:text-matches('The game is over here')")
        with page.context.expect_page() as opening:
            page.click("#page")
        shown = opening.value
        shown.wait_for_selector("#board svg", state="attached")
        assert shown.evaluate("document.domain") == "", "apart from the server's pages"
        shown.close()


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_an_sgf_comes_from_anywhere_on_the_page(browser, server, how):  # noqa: F811
    with visited(browser, server) as page:
        page.click("nav >> text=Analyse")
        page.wait_for_selector("#game option[value='go:9']", state="attached")
        page.evaluate(
            """([how, text]) => {
              const carried = new DataTransfer();
              if (how === "drop") carried.items.add(new File([text], "game.sgf"));
              else carried.setData("text/plain", text);
              const event = how === "drop"
                ? new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true })
                : new ClipboardEvent("paste", { clipboardData: carried, bubbles: true });
              document.querySelector("h1, main").dispatchEvent(event);
            }""",
            [how, GAME],
        )
        page.wait_for_selector("#candidates tbody tr")
        assert page.inner_text("#heading") == "Ada <b> – Ben"
        assert page.inner_text("#place") == "Before the first of 5 moves; Black to move"


def test_stones_are_set_up(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        page.click("nav >> text=Analyse")
        page.wait_for_selector("#game option[value='go:9']", state="attached")
        page.select_option("#game", "")
        page.fill("#other", "go:5,komi=0.5")
        page.click("#empty button")
        page.wait_for_selector(".goban")
        page.click("#run")  # no search is wanted
        page.click("#setup summary")
        page.check("input[name=tool][value='2']")
        click(page, 2, 2, 5, 5)
        page.select_option("#tomove", "0")
        page.click("#setstones")
        page.wait_for_selector("#place:text-matches('Black to move')")
        page.reload()
        page.wait_for_selector(".goban g g circle.white")
        assert stones(page) == [[2, 2]]


def test_dead_stones_are_marked_and_both_agree(browser, server):  # noqa: F811
    with visited(browser, server) as page:
        begun(page, "go:4,komi=0.5", "human")
        for i, (row, column) in enumerate([(0, 1), (3, 3), (1, 1), (0, 0), (2, 1), (3, 2), (3, 1), (2, 2)]):
            click(page, row, column, 4, 4)
            page.wait_for_selector(f"#status:text-is('{('White', 'Black')[i % 2]} to move')")
        for i in (0, 1):
            page.click("#others button")
            page.wait_for_selector(f"#status:text-matches('{('White to move', 'which stones are dead')[i]}')")
        first = page.inner_text("#score")
        click(page, 2, 2, 4, 4)
        page.wait_for_selector(f"#score:not(:text-is('{first}'))")
        page.click("#agree button >> nth=0")
        page.wait_for_selector("#agree button[aria-pressed=true]")
        page.click("#agree button >> nth=1")
        page.wait_for_selector("#status:text-matches('wins: [BW]')")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_axe_finds_nothing(browser, server, phone, dark):  # noqa: F811
    """In both rooms, before anything is done and in the middle of it."""
    with visited(browser, server, phone, dark) as page:
        page.wait_for_selector("#komibox:not([hidden])")
        assert violations(page) == []
        begun(page, "tic_tac_toe")
        click(page, 1, 1, 3, 3)
        my_turn(page)
        assert violations(page) == []
        page.click("nav >> text=Analyse")
        page.wait_for_selector("#sgf")
        assert violations(page) == []
        page.fill("#sgf", GAME)
        page.click("#start")
        page.wait_for_selector("#candidates tbody tr")
        assert violations(page) == []
