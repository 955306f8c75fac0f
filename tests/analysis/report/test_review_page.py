"""The page of a reviewed game: what it says, and how it plays in a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from axe import violations
from browser import browser, opened  # noqa: F401

from jubango.analysis.positions.ownership import ownership
from jubango.analysis.report.review_page import OWNER_LEVELS, review_page, save_review, turning_points
from jubango.arena.commands import run as command
from jubango.arena.tournament import review
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import parse_sgf

pytestmark = pytest.mark.full

HOSTILE = "</script><script>alert(1)</script><img src=https://example.com/x onerror=alert(2)>"
# Black gives a fork away with move 5, as in the tests of reviews.
TTT = (
    f"(;GM[4]SZ[3]JG[tic_tac_toe]PB[{HOSTILE}]PW[柯潔 이창호]RE[0];B[bb]C[{HOSTILE}\n'\"` javascript:alert(3)];W[ab];B[aa]"
    ";W[cc];B[bc];W[ba];B[ca])"
)
GO = "(;SZ[5]KM[0]PB[a]PW[b]RE[B+R];B[cc];W[cb];B[bb];W[bc];B[ac];W[bd];B[db];W[ca];B[da])"


def record(text: str) -> Record:
    return Record(parse_sgf(text.encode(), "game.sgf")[0])


@pytest.fixture(scope="module")
def ttt(tmp_path_factory):
    found = review(record(TTT), "uct", simulations=100)
    path = tmp_path_factory.mktemp("page") / "ttt.html"
    save_review(found, path)
    return found, path


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    found = review(record(GO), "uct", simulations=40, repeats=1)
    path = tmp_path_factory.mktemp("page") / "go.html"
    save_review(found, path)
    return found, path


def data_of(text: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_the_page_has_what_the_review_has(go):
    found, path = go
    data = data_of(path.read_text())
    assert data["players"] == ["a", "b"]
    owners = ownership(found.places)
    for one, position, heat in zip(data["positions"], found.positions, owners, strict=True):
        assert one["stones"] == "".join(position.stones)
        assert one["rate"] == pytest.approx(100 * position.win_rate, abs=0.051)
        assert [move[0] for move in one["moves"]] == [candidate.move for candidate in position.candidates]
        owned = np.array([OWNER_LEVELS.index(letter) for letter in one["owned"]]) / (len(OWNER_LEVELS) - 1) * 2 - 1
        assert owned == pytest.approx(heat.grid.ravel(), abs=0.051)
    assert [one["sign"] for one in data["moves"]] == [move.sign for move in found.moves]


def test_turning_points_are_the_worst_moves_first(ttt):
    turns = turning_points(ttt[0])
    assert turns[0]["number"] == 5 and turns[0]["best"] == "C3"
    losses = [ttt[0].moves[turn["number"] - 1].loss for turn in turns]
    assert losses == sorted(losses, reverse=True) and losses[-1] >= 0.05
    assert "No move has surely lost" in review_page(
        review(record("(;GM[4]SZ[3]JG[tic_tac_toe];B[bb])"), "uct", simulations=100)
    )


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sgf").write_text("(;GM[4]SZ[3]JG[tic_tac_toe];B[bb];W[ab])")
    words = ["analyze", "a.sgf", "--bot", "uct", "--simulations", "20"]
    assert command([*words, "--html", "a.html"]) == 0
    assert len(data_of((tmp_path / "a.html").read_text())["positions"]) == 3
    capsys.readouterr()
    assert command([*words, "--html", "a.html", "--move", "1"]) == 2
    assert command([*words, "--html", "no/a.html"]) == 2
    assert command([*words, "--against", "uct", "--heat", "ownership"]) == 2
    assert capsys.readouterr().err.count("\n") == 3
    assert command([*words, "--against", "uct:c=0.1", "--png", "a.png"]) == 0
    assert "visits: uct:simulations=20 less uct:simulations=20,c=0.1, in %" in capsys.readouterr().out
    assert command([*words, "--heat", "ownership", "--png", "a.svg"]) == 0
    assert "ownership in %" in capsys.readouterr().out and "<svg" in (tmp_path / "a.svg").read_text()


# -- in a browser --------------------------------------------------------------------------------


def seen(view):
    """The board as rows of signs, by what is drawn on it."""
    return view.evaluate(
        "() => { const b = Array(game.width * game.height).fill('.'); for (const c of board.layer.querySelectorAll("
        "'circle.black, circle.white')) b[Number(c.getAttribute('cy')) * game.width + Number(c.getAttribute('cx'))] = "
        "c.classList.contains('black') ? 'X' : 'O'; return b.join('') }"
    )


@pytest.mark.parametrize("phone", [False, True])
def test_a_review_is_gone_through(browser, go, phone):  # noqa: F811
    found, path = go
    boards = ["".join(position.stones) for position in found.positions]
    with opened(browser, path, phone) as view:
        begun = int(view.url.rpartition("=")[2])
        assert seen(view) == boards[begun]
        assert found.moves[begun - 1].loss == max(
            move.loss for move in found.moves if not found.positions[move.number].over
        )
        assert view.locator("#candidates tbody tr").count() > 1 and view.locator("#judged").inner_text()
        view.keyboard.press("End")
        assert seen(view) == boards[-1] and view.locator("#on").is_disabled()
        view.keyboard.press("Home")
        assert seen(view) == boards[0]
        for board in boards[1:4]:
            view.keyboard.press("ArrowRight")
            assert seen(view) == board
        assert view.locator("#place b").inner_text().startswith(f"Move 3 of {len(found.moves)}: Black B4")
        view.locator("#slider").fill("6")
        assert seen(view) == boards[6] and view.url.endswith("#move=6")
        for graph in ("#rates svg.graph", "#leads svg.graph"):
            box = view.locator(graph).bounding_box()
            view.locator(graph).click(position={"x": box["width"] * 2 / len(found.moves), "y": 5})
            assert seen(view) == boards[2]
            view.locator("#back").click()
        view.locator("#board svg").click(position={"x": 1, "y": 1})  # beside the board
        view.locator("#heat").select_option("owned")
        assert view.locator("#board .label").count() <= 25


def test_heatmaps_and_variations(browser, ttt):  # noqa: F811
    found, path = ttt
    with opened(browser, path, fragment="#move=4") as view:
        cells = "#board g rect:not(.best)"
        visited = {move.move for move in found.positions[4].candidates if move.visits}
        assert view.locator(cells).count() == len(visited)
        view.keyboard.press("h")
        assert view.locator(cells).count() == 0
        view.keyboard.press("h")
        assert view.locator('#heat option[value="prior"]').count() == 0, "to rollouts every move is alike"
        view.locator("#heat").select_option("value")
        assert view.locator(cells).count() >= len(visited)
        view.locator("#candidates tbody tr").first.click()
        line = list(found.positions[4].candidates[0].variation)
        assert view.locator("#board .ghost").count() == len(line)
        assert view.locator("#board .label").all_text_contents() == [str(i + 1) for i in range(len(line))]
        view.locator("#candidates tbody tr").first.click()
        assert view.locator("#board .ghost").count() == 0
        box = view.locator("#board svg").bounding_box()
        best = found.positions[4].candidates[0].move
        column, row = "ABC".index(best[0]), 3 - int(best[1])
        view.locator("#board svg").click(
            position={"x": box["width"] * (column + 1.5) / 4.1, "y": box["height"] * (row + 1.1) / 4.5}
        )
        assert view.locator("#board .ghost").count() == len(line), "a click on a point shows what begins there"
        note = view.locator("#unheated")
        assert note.is_hidden()
        view.locator("#heat").select_option("visits")
        assert view.locator("#board .ghost").count() == len(line) and "No heatmap" in note.inner_text()
        view.locator("h1").click()
        view.keyboard.press("Escape")
        assert view.locator("#board .ghost").count() == 0 and view.locator(cells).count() > 0 and note.is_hidden()


def test_curves_have_axes_and_say_their_values(browser, go):  # noqa: F811
    found, path = go
    moves = len(found.moves)
    with opened(browser, path) as view:
        assert view.locator("#rates .axis.left text").all_text_contents() == ["100 %", "50 %", "0 %"]
        assert view.locator("#rates .axis.below text").all_text_contents()[:2] == ["move 0", "2"]
        most = max(abs(position.lead) for position in found.positions)
        assert view.locator("#leads .axis.left text").all_text_contents() == [f"{most:.1f}", "0.0", f"−{most:.1f}"]
        for graph, text in (
            ("#rates", f"{100 * found.positions[3].win_rate:.1f} %"),
            ("#leads", f"{found.positions[3].lead:.1f}"),
        ):
            line = view.locator(f"{graph} svg.graph")
            line.hover(position={"x": line.bounding_box()["width"] * 3 / moves, "y": 9})
            said = view.locator(f"{graph} .readout")
            assert said.inner_text() == f"move 3: {text.replace('-', '−')}"
            view.locator("h1").hover()
            assert said.inner_text().startswith("Black's")


def test_the_way_back_inside_a_review(browser, go):  # noqa: F811
    with opened(browser, go[1], fragment="#move=4") as view:
        graph = view.locator("#rates svg.graph")
        graph.click(position={"x": 1, "y": 9})
        view.keyboard.press("ArrowRight")
        assert view.url.endswith("#move=1")
        view.go_back()
        assert view.locator("#place b").inner_text().startswith("Move 4 of")
        view.emulate_media(media="print")
        assert view.locator(".wide").first.evaluate("(own) => getComputedStyle(own).overflowX") == "visible"


def test_turning_points_are_gone_to(browser, ttt):  # noqa: F811
    found, path = ttt
    turns = [turn["number"] for turn in turning_points(found)]
    with opened(browser, path) as view:
        assert view.url.endswith(f"#move={min(turns)}"), "the first of them is where it begins"
        buttons = view.locator("button.turn")
        assert buttons.count() == len(turns)
        buttons.first.click()
        assert view.url.endswith(f"#move={turns[0]}")
        assert "better" not in view.locator("#judged").inner_text()
        view.locator("#better").click()
        assert view.url.endswith(f"#move={turns[0] - 1}") and view.locator("#board .ghost").count() > 0
        view.keyboard.press("Home")
        for number in sorted(turns):
            view.keyboard.press("n")
            assert view.url.endswith(f"#move={number}")
        view.keyboard.press("p")
        assert view.url.endswith(f"#move={sorted(turns)[-2] if len(turns) > 1 else turns[0]}")


def test_what_a_file_says_stays_text(browser, ttt):  # noqa: F811
    with opened(browser, ttt[1], fragment="#move=1") as view:
        assert HOSTILE in view.locator("#comment").inner_text()
        assert "javascript:alert(3)" in view.locator("#comment").inner_text()
        assert view.locator("h1").inner_text() == f"{HOSTILE} – 柯潔 이창호"
        assert view.locator("img, script[src], a").count() == 0
        assert view.evaluate("document.scripts.length") == 2


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_axe_finds_nothing(browser, go, phone, dark):  # noqa: F811
    with opened(browser, go[1], phone, dark=dark) as page:
        assert violations(page) == []
        page.keyboard.press("End")
        assert violations(page) == []
