"""The page of a run: what it says, that it stays one file, and how it plays in a browser."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from axe import violations
from browser import browser, opened  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st

import jubango as jb
from jubango.analysis.ratings.ratings import rate
from jubango.analysis.report.elo_plot import elo_plot
from jubango.analysis.report.page import board_facts, page
from jubango.analysis.report.run_page import RunPage
from jubango.analysis.tables.tables import records_frame, records_moves
from jubango.arena.commands import run as command
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules
from jubango.sgf_games.rules.lines.mnk import Mnk

pytestmark = pytest.mark.full

HOSTILE = "</script><script>alert(1)</script>"
IMAGE = '<img src="https://example.com/x.png" onerror=alert(2)>'
EAST = "柯潔 이창호 ソ連"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    bots = [
        jb.Bot("uct", name=HOSTILE, simulations=20), jb.Bot("uct", name=IMAGE, simulations=4), jb.Bot("random", name=EAST)
    ]  # fmt: skip
    return jb.tournament("connect_four", bots, 6, tmp_path_factory.mktemp("run"), name="a <b>run", progress=False)


@pytest.fixture(scope="module")
def file(run):
    assert command(["report", str(run.folder)]) == 0
    return run.folder / "report.html"


class Parts(HTMLParser):
    """The elements of a page, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


def test_a_page_is_one_file_that_loads_nothing(file):
    parts = Parts(file.read_text())
    for tag, attributes in parts.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form"), tag
        assert not any(name.startswith("on") or name == "style" for name in attributes), "the policy would stop it"
        assert attributes.get("href", "data:,") == "data:,"
        assert "src" not in attributes
    policy = next(a["content"] for _, a in parts.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy
    data, script = parts.scripts
    assert json.loads(data)["names"] == [HOSTILE, IMAGE, EAST]
    assert "innerHTML" not in script


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=5))
def test_any_name_comes_out_of_a_page_as_it_went_in(names):
    data = {"names": names, "game": board_facts(make_game("tic_tac_toe")), "games": [], "changes": {}, "live": False}
    parts = Parts(page("run", names[0], data, summary=""))
    assert len(parts.scripts) == 2
    assert json.loads(parts.scripts[0])["names"] == [printable(name, keep="\n\t") for name in names]


def test_what_a_run_says_is_on_its_page(run, file):
    text = file.read_text()
    told = re.sub(r"<[^>]*>", "\n", text[: text.index("<script")])
    for rating in run.rating_list.ratings:
        assert f"{rating.elo:+.0f} ± {rating.error:.0f}" in told
    assert "moving first is worth" in told and "Likelihood of superiority" in told
    los = 100 * run.rating_list.superiority
    assert f"{los[0, 1]:.1f}" in told and f"{los[2, 0]:.1f}" in told
    assert "18 games" in told


def test_the_command_says_where_the_page_is(run, tmp_path, capsys):
    assert command(["report", str(run.folder), "-o", str(tmp_path / "x.html")]) == 0
    assert "18 games are in" in capsys.readouterr().err
    assert command(["report", str(tmp_path)]) == 2
    assert "name a run's folder" in capsys.readouterr().err
    assert command(["report", str(run.folder), "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_run_without_games_has_a_page(tmp_path):
    empty = RunPage("empty", make_game("go:9"), {"a": "", "b": ""})
    (tmp_path / "x.html").write_text(empty.page(empty.summary(10)))
    assert "No game has ended yet." in (tmp_path / "x.html").read_text()


def of_many(players: int) -> RunPage:
    """Everybody beats everybody of a lower number, of the next one now and then only half of the games."""
    game, names = make_game("tic_tac_toe"), [f"bot {i:02}" for i in range(players)]
    pairs = [(i, j) for i in range(players) for j in range(i)]
    records = [
        GameRecord(
            f"{names[i]}~{names[j]}~{n}", game.spec, names[(i, j)[n]], names[(j, i)[n]], "", "", 1, ("B2", "A1"),
            ("B+R", "W+R")[n] if (i - j > 1 or n or i % 2) else "0", "resign",
        )
        for i, j in pairs for n in range(2)
    ]  # fmt: skip
    found = RunPage("many", game, {name: f"uct:simulations={10 + i}" for i, name in enumerate(names)}, ["Seed 5."])
    found.add(records_frame(records), records_moves(records))
    return found


def test_the_verdict_on_two_comes_first():
    text = of_many(2).summary(told=["H1 accepted"])
    places = [text.index(said) for said in ("stronger with a probability", "H1 accepted", "Standings", "The bots")]
    assert places == sorted(places)
    assert text.count("stronger with a probability") == 1
    many = of_many(3).summary(told=["round 1"])
    assert many.index("round 1") > many.index("Crosstable")


def test_a_page_says_what_was_played(run, file):
    text = of_many(3).summary()
    assert all(said in text for said in ("uct:simulations=10", "uct:simulations=12", "Seed 5."))
    told = file.read_text()
    assert "uct:simulations=20" in told and "Seed 1." in told
    (line,) = (run.folder / "machines.txt").read_text().splitlines()
    assert re.fullmatch(r"jubango \S+, JAX \S+, Python \S+; .+", line)
    assert line in told


def test_who_is_ahead_is_coloured():
    text = of_many(3).summary()
    row = re.search(r'<td class="name">bot 02</td>(.*?)</tr>', text[text.index("cross matrix") :], re.S)[1]
    assert re.findall(r"<td(?: class=\"(\w+)\")?>([^<]*)</td>", row) == [
        ("", "—"), ("win2", "1-1-0"), ("win4", "2-0-0"),
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from("abcd")] * 2, st.sampled_from([0, 0.5, 1.0])), max_size=12),
    st.sampled_from([0, 0.5]),
)
def test_an_elo_plot_keeps_to_its_scale(games, prior):
    plot = elo_plot(rate(games, prior, players="abcd"))
    ticks = [tick["at"] for tick in plot["ticks"]]
    assert ticks == sorted(ticks) and ticks[0] == 0 and ticks[-1] == 100 and len(ticks) < 12
    for row in plot["rows"]:
        if row["dot"] is not None:
            assert 0 <= row["low"] <= row["dot"] <= row["high"] <= 100


# -- in a browser --------------------------------------------------------------------------------


def stones(view, colour):
    return view.locator(f".board circle.{colour}").count()


@pytest.mark.parametrize("phone", [False, True])
def test_a_game_is_replayed(browser, run, file, phone):  # noqa: F811
    games = run.games
    with opened(browser, file, phone) as view:
        assert view.locator("h1").inner_text() == "a <b>run"
        shown = view.locator("table.standings tbody tr td:nth-child(2)").all_inner_texts()
        assert shown == [rating.name for rating in run.rating_list.ratings]
        assert view.locator("#list tbody tr").count() == 18
        view.locator("#list tbody tr").nth(4).click()
        plies = int(games["plies"][4])
        assert stones(view, "black") + stones(view, "white") == plies
        assert view.locator(".board .last").count() == 1
        view.keyboard.press("Home")
        assert stones(view, "black") + stones(view, "white") == 0
        for _ in range(3):
            view.keyboard.press("ArrowRight")
        assert (stones(view, "black"), stones(view, "white")) == (2, 1)
        view.locator("#back").click()
        assert (
            view.locator("#place").inner_text().startswith(f"move 2 of {plies}: White {games['moves'][4].split()[1]}")
        )
        view.locator("#slider").fill(str(plies))
        assert view.locator("#on").is_disabled()
        assert view.url.endswith(f"#game=5&move={plies}")
        box = view.locator("svg.graph").bounding_box()
        view.locator("svg.graph").click(position={"x": 1, "y": box["height"] / 2})
        assert stones(view, "black") == 0


def test_games_are_found(browser, run, file):  # noqa: F811
    games = run.games
    with opened(browser, file, fragment="#game=3&move=2") as view:
        assert view.locator("#place").inner_text().startswith("move 2 of")
        view.locator("#one").select_option(label=EAST)
        assert view.locator("#list tbody tr").count() == int(
            ((games["black"] == EAST) | (games["white"] == EAST)).sum()
        )
        view.locator("#winner").select_option(label="won by White")
        mine = games[((games["black"] == EAST) | (games["white"] == EAST)) & (games["score"] == 0)]
        assert view.locator("#list tbody tr").count() == len(mine)
        view.locator("#other").select_option(label=HOSTILE)
        view.locator("#winner").select_option(label="drawn")
        view.locator("#ending").select_option(label="line")
        assert view.locator("#count").inner_text() == "no such game"


@pytest.mark.parametrize("phone", [False, True])
def test_links_to_games_and_the_way_back(browser, run, file, phone):  # noqa: F811
    def seen(view):
        box = view.locator("#board").bounding_box()
        return 0 <= box["y"] < view.viewport_size["height"] - 100

    with opened(browser, file, phone, fragment="#game=12&move=3") as view:
        assert view.locator("#place").inner_text().startswith("move 3 of")
        assert seen(view)
        view.locator("#list tbody tr").nth(4).click()
        view.keyboard.press("ArrowLeft")
        assert "#game=5&" in view.url
        view.go_back()
        assert view.locator("#place").inner_text().startswith("move 3 of")
        assert "#game=12&move=3" in view.url and seen(view)
        view.keyboard.press("Escape")
        assert view.locator("#replay").is_hidden() and "#" not in view.url
        view.go_back()
        assert view.locator("#replay").is_visible() and "#game=12&move=3" in view.url


def test_tables_of_many_players(browser, tmp_path):  # noqa: F811
    found = of_many(40)
    (tmp_path / "x.html").write_text(found.page(found.summary()))
    with opened(browser, tmp_path / "x.html") as view:
        wide = view.locator(".wide:has(table.cross)")
        assert "beyond" in wide.get_attribute("class")
        name = wide.locator("tbody td.name").first
        before = name.bounding_box()["x"]
        wide.evaluate("(own) => { own.scrollLeft = own.scrollWidth; }")
        assert name.bounding_box()["x"] == pytest.approx(before, abs=60), "the names stay"
        view.wait_for_function("() => !document.querySelector('.wide:has(table.cross)').classList.contains('beyond')")
        names, elo = view.locator("table.standings tbody td:nth-child(2)"), view.locator("table.standings button.sort")
        ranked = names.all_inner_texts()
        elo.nth(1).click()
        assert names.all_inner_texts() == sorted(ranked)
        elo.nth(1).click()
        assert names.all_inner_texts() == sorted(ranked, reverse=True)
        wide = view.locator("table.standings th").nth(2)
        wide.click(position={"x": wide.bounding_box()["width"] - 2, "y": 4})  # all of a heading, not its words alone
        assert names.all_inner_texts() == ranked
        view.emulate_media(media="print")
        assert view.evaluate(
            "[...document.querySelectorAll('.wide')].every((one) => getComputedStyle(one).overflowX === 'visible')"
        )
        view.set_viewport_size({"width": 1000, "height": 700})  # a landscape page
        edge = view.locator("table.cross").evaluate("(own) => own.getBoundingClientRect().right")
        assert edge <= 1000
        view.emulate_media(media="screen")
        view.set_viewport_size({"width": 1280, "height": 900})


def random_games(spec: str, count: int, plies: int) -> tuple[list[str], list[list[int]]]:
    """(moves of games as records have them, the stones after each move, as our rules have it)."""
    game, dice = make_game(spec), np.random.default_rng(4)
    compiled, texts, boards = rules(game), [], []
    for _ in range(count):
        state, moves, seen = initial_state(game), [], []
        while len(moves) < plies and not bool(compiled.view(state).terminal):
            legal = np.flatnonzero(compiled.view(state).legal)
            if len(legal) > 1 and game.action_text(int(legal[-1])) == "pass":
                legal = legal[:-1]  # so that much is captured
            action = int(dice.choice(legal))
            state = compiled.step(state, action)
            moves.append(game.action_text(action))
            seen.append(game.stones(state).ravel().tolist())
        texts.append(" ".join(moves))
        boards.append(seen)
    return texts, boards


@pytest.mark.parametrize("spec", ["go:4x3,suicide=true", "connect_four:5x4", "mnk:4x3,k=4"])
def test_the_page_s_boards_are_those_of_the_rules(browser, tmp_path, spec):  # noqa: F811
    game = make_game(spec)
    texts, expected = random_games(spec, 4, 60)
    assert game.placing
    rows = [[0, 1, "0", "end", "", text, "", 0, str(i)] for i, text in enumerate(texts)]
    data = {"game": board_facts(game), "names": ["a", "b"], "games": rows, "changes": {}, "live": False}
    (tmp_path / "x.html").write_text(page("run", "boards", data, summary=""))
    with opened(browser, tmp_path / "x.html") as view:
        found = view.evaluate(
            "data.games.map((row) => boards(data.game, row[5].split(' ')).slice(1).map((b) => Array.from(b.stones)))"
        )
    assert found == expected
    if spec.startswith("go"):
        assert any(sum(map(bool, b)) <= sum(map(bool, a)) for game in expected for a, b in itertools.pairwise(game))


@dataclass(frozen=True)
class Turning(Mnk):
    """All stones change sides with every move."""

    width: int = 3
    height: int = 3
    k: int = 3

    def stones(self, state):
        stones = super().stones(state)
        return np.where(stones > 0, 3 - stones, 0) if np.count_nonzero(stones) % 2 else stones


def test_boards_of_other_games_are_told_to_the_page(browser, run, tmp_path):  # noqa: F811
    game, moves = Turning(), "B2 A1 C3"
    record = GameRecord("a~b~00001", game.spec, "a", "b", "", "", 1, tuple(moves.split()), "?", "end")
    made = RunPage("turning", game, {"a": "", "b": ""})
    made.add(records_frame([record]), records_moves([record]))
    (tmp_path / "x.html").write_text(made.page(made.summary()))
    with opened(browser, tmp_path / "x.html", fragment="#game=1") as view:
        assert (stones(view, "black"), stones(view, "white")) == (1, 2)
        view.keyboard.press("ArrowLeft")
        assert (stones(view, "black"), stones(view, "white")) == (1, 1)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_axe_finds_nothing(browser, file, phone, dark):  # noqa: F811
    with opened(browser, file, phone, dark=dark) as page:
        assert violations(page) == []
        page.locator("#list tbody tr").first.click()
        assert violations(page) == []
