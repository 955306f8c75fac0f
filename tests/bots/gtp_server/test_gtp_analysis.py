"""Analysis that streams: its lines, what stops it, what may be asked of it."""

from __future__ import annotations

import re
import threading
import time

import numpy as np
import pytest
from gtp_talk import Talk

from jubango.bots.gtp_server.territory import Territory
from jubango.bots.interactive.interactive_search import InteractiveSearch, lower
from jubango.sgf_games.rules.coordinates import parse_vertex

VERTEX = r"(?:[A-HJ-Z]\d+|pass)"
REAL = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
LZ = rf"info move {VERTEX} visits \d+ winrate \d{{1,5}} lcb \d{{1,5}} order \d+ pv(?: {VERTEX})+"
KATA = (
    rf"info move {VERTEX} visits \d+ edgeVisits \d+ utility {REAL} winrate {REAL} scoreMean {REAL} scoreStdev {REAL} "
    rf"scoreLead {REAL} scoreSelfplay {REAL} lcb {REAL} utilityLcb {REAL} weight \d+ order \d+ pv(?: {VERTEX})+"
)
ROOT = rf"rootInfo visits \d+ utility {REAL} winrate {REAL} scoreMean {REAL} scoreStdev {REAL} scoreLead {REAL} scoreSelfplay {REAL} weight \d+"


@pytest.fixture(scope="module")
def go():
    talk = Talk("go:5,komi=0")
    yield talk
    talk.end()


@pytest.fixture
def fresh(go):
    assert go.ask("clear_board") == "="
    return go


def one_line(talk, command):
    """The first line of an analysis, which is then stopped by an empty line."""
    talk.write(f"{command}\n")
    assert talk.read_until("=[0-9]*\n")[:1] == "="
    line = talk.read_until("[^\n]*\n")[:-1]
    talk.write("\nprotocol_version\n")
    talk.read_until("\n= 2\n\n")
    return line


def moves(line):
    return [dict(zip(part.split()[:-1:2], part.split()[1::2], strict=False)) for part in line.split("info ")[1:]]


def test_a_move_waits_for_nothing_that_counts_points(monkeypatch):
    owners, may_go_on = Territory.owners, threading.Event()

    def held_up(self, *position):
        assert may_go_on.wait(20), "nobody was to wait for it"
        return owners(self, *position)

    monkeypatch.setattr(Territory, "owners", held_up)
    talk = Talk("go:5,komi=0")
    assert re.match(rf"= {VERTEX}", talk.ask("genmove b"))
    may_go_on.set()
    assert len(talk.ask("jubango-ownership").split()) == 26
    talk.end()


@pytest.mark.parametrize("line", ["play w pass\ngenmove b", "kata-genmove_analyze b 1000"])
def test_the_count_is_ready_before_the_clock_starts(line, monkeypatch):
    """Where a pass would be the end, and where points are told meanwhile."""
    owners, begin, ready = Territory.owners, InteractiveSearch.begin, []
    monkeypatch.setattr(Territory, "owners", lambda self, *position: time.sleep(0.5) or owners(self, *position))
    talk = Talk("go:5,komi=0")
    talk.ask("clear_board")

    def noted(self, *position, **limits):
        ready.append(talk.server.host._points.done())
        begin(self, *position, **limits)

    monkeypatch.setattr(InteractiveSearch, "begin", noted)
    talk.write(f"{line}\n")
    talk.read_until(f"(= |play )({VERTEX})\n")
    assert ready == [True]
    talk.end()


def test_leela_zeros_lines(fresh):
    line = one_line(fresh, "lz-analyze 1")
    assert re.fullmatch(f"{LZ}( {LZ})*", line), line
    found = moves(line)
    assert [int(move["order"]) for move in found] == list(range(len(found)))
    visits = [int(move["visits"]) for move in found]
    assert visits[1:] == sorted(visits[1:], reverse=True)
    assert all(int(move["lcb"]) <= int(move["winrate"]) <= 10_000 for move in found)
    assert all(f"pv {move['move']}" in line for move in found)


def test_katagos_lines(fresh):
    """In the view of the player to move: Black owns what White does not."""
    line = one_line(fresh, "kata-analyze b interval 1 rootInfo true ownership true")
    assert re.fullmatch(rf"{KATA}( {KATA})* {ROOT} ownership( {REAL}){{25}}", line), line
    assert fresh.ask("set_position b a3 b b3 b c3 b d3 b e3") == "="
    mine, theirs = (one_line(fresh, f"kata-analyze {c} interval 1 rootInfo true ownership true") for c in "bw")
    owned = [np.array(own.split("ownership ")[1].split(), float) for own in (mine, theirs)]
    assert owned[0] == pytest.approx(-owned[1], abs=0.2)  # of other random games
    assert owned[0].mean() > 0.5
    lead = [float(re.search(rf"rootInfo.* scoreLead ({REAL})", own)[1]) for own in (mine, theirs)]
    assert lead[0] == pytest.approx(-lead[1], abs=6) and lead[0] > 5
    assert lead[0] == pytest.approx(float(moves(mine)[0]["scoreLead"]), abs=1e-3), "the best move leads to no other"
    assert "ownership" not in one_line(fresh, "kata-analyze 1 ownership false")


def test_moves_may_be_asked_for_and_left_out(fresh):
    assert {m["move"] for m in moves(one_line(fresh, "lz-analyze b 30 allow b A1,B2,pass 1"))} == {"A1", "B2", "pass"}
    seen = {m["move"] for m in moves(one_line(fresh, "lz-analyze b 30 avoid b C3,D4 10 avoid w A1 5"))}
    assert "A1" in seen and not {"C3", "D4"} & seen
    assert len(moves(one_line(fresh, "kata-analyze interval 30 maxmoves 3"))) == 3
    assert len(moves(one_line(fresh, "kata-analyze interval 30 minmoves 26"))) == 26
    every = ",".join(f"{c}{r}" for c in "ABCDE" for r in range(1, 6))
    assert len(moves(one_line(fresh, f"lz-analyze b 30 avoid b {every},pass 1"))) > 1  # else nothing would be left


@pytest.mark.parametrize("line", ["", "name", "# a comment", "known_command x"])
def test_any_line_stops_it(fresh, line):
    """One empty line ends its answer, then comes the other one."""
    fresh.write("7 lz-analyze b 1\n")
    fresh.read_until("=7\ninfo [^\n]*\n")
    fresh.write(f"{line}\n9 protocol_version\n")
    rest = fresh.read_until("=9 2\n\n")
    own = {"name": "= jubango\n\n", "known_command x": "= false\n\n"}.get(line, "")
    assert re.fullmatch(rf"(info [^\n]*\n)*\n{re.escape(own)}=9 2\n\n", rest), rest


def test_it_goes_on_when_the_tree_is_full(fresh):
    fresh.write("lz-analyze b 1\n")
    fresh.read_until("[^\n]*\n")
    visits, room = [0, 0], fresh.server.host.require_search().room
    while visits[-2] < room and len(visits) < 1000:
        visits.append(sum(int(move["visits"]) for move in moves(fresh.read_until("[^\n]*\n"))))
    assert visits == sorted(visits)
    assert visits[-1] == visits[-2] == room
    fresh.write("\n")
    fresh.read_until("\n\n|^\n")


def test_input_waits_for_a_move_that_is_shown(fresh):
    fresh.write("1 kata-genmove_analyze b 1\n2 lz-genmove_analyze w 1\n3 undo\n4 undo\n5 undo\n")
    said = fresh.read_until(r"=4 \n\n\?5 cannot undo\n\n")
    assert re.match(rf"=1\n({KATA}[ \n])+play {VERTEX}\n\n=2\n({LZ}[ \n])+play {VERTEX}\n\n=3 \n\n=4", said), said


def test_a_search_alone_plays_nothing(fresh):
    assert re.search(rf"\nplay {VERTEX}$", fresh.ask("kata-search_analyze b 1"))
    assert fresh.ask("undo") == "? cannot undo"


def test_gogui_ends_a_move_by_a_comment():
    """Whatever it would still do by its configuration."""
    talk = Talk("go:5,komi=0", room=50_000, bot="uct:simulations=50000,leaves=1,ensemble=1")
    assert talk.ask("boardsize 5") == "="
    talk.write("lz-genmove_analyze b 1\n")
    talk.read_until("info [^\n]*\n")
    talk.write("# interrupt\n")
    talk.read_until(rf"play {VERTEX}\n\n")
    visits = int(re.match(r"= \d+ of (\d+) visits", talk.ask("gomill-explain_last_move"))[1])
    assert 0 < visits < 50_000
    for command in ("genmove w", "reg_genmove b", "jubango-pv"):  # the comment is read before the search begins
        talk.write(f"{command}\n# interrupt\n")
        said = talk.read_until("\n\n")
        assert said[0] == "=" and talk.server.host.require_search().busy
    talk.end()


def test_gogui_ends_a_move_of_alpha_beta():
    """Which would not come to its depth before the sun goes out."""
    talk = Talk("connect_four", bot="minimax:depth=30")
    assert talk.ask("clear_board") == "="
    for color in "bw":
        talk.write(f"genmove {color}\n# interrupt\n")
        assert re.fullmatch(r"= [A-G]\d\n\n", talk.read_until("\n\n"))
    talk.end()


def test_an_answer_that_has_begun_ends(fresh, monkeypatch, capfd):
    """What fails then is said on stderr, and the next command has an answer of its own."""
    for command in ("kata-analyze b 1", "lz-genmove_analyze b 1"):
        assert fresh.ask("clear_board") == "="
        with monkeypatch.context() as patch:
            patch.setattr("jubango.bots.interactive.interactive_search.InteractiveSearch.findings", lambda self: 1 / 0)
            fresh.write(f"7 {command}\n")
            assert fresh.read_until("\n\n") == "=7\n\n"
        said = capfd.readouterr().err
        assert f"{command.split()[0]}: internal error: ZeroDivisionError" in said and said.count("\n") == 1
    assert fresh.ask("8 protocol_version") == "=8 2"
    assert fresh.ask("genmove b").startswith("= ")


@pytest.mark.full
def test_the_end_of_the_input_stops_an_analysis():
    talk = Talk("tic_tac_toe", bot="uct:simulations=32,leaves=1,ensemble=1")
    talk.write("lz-analyze 1\n")
    talk.read_until("info [^\n]*\n")
    assert re.fullmatch("(info [^\n]*\n)*\n", talk.end())


@pytest.mark.full
def test_the_best_move_is_found_and_its_variation_is_a_game(fresh):
    talk = Talk("tic_tac_toe", bot="uct:simulations=400,c=0.7,leaves=1,ensemble=1", room=400)
    for line in ("play b a1", "play w a2", "play b b1", "play w b2"):
        assert talk.ask(line) == "="
    line = one_line(talk, "lz-analyze 20")
    best = moves(line)[0]
    assert best["move"] == "C1"
    assert int(best["winrate"]) == 10_000
    for own in line.split("info ")[1:]:
        actions = [parse_vertex(text, 3, 3) for text in own.split(" pv ")[1].split()]
        assert len(set(actions)) == len(actions) <= 5
    talk.end()


def test_the_lower_end_of_an_interval():
    """Of 95 % of so many games: never above the rate, and close to it after many."""
    assert lower(0.5, 0) == pytest.approx(0.01, abs=0.011)
    assert lower(1.0, 1) == pytest.approx(0.17, abs=0.01)
    assert 0.49 < lower(0.5, 40_000) < 0.5
    assert all(lower(rate, n) <= rate for rate in np.linspace(0, 1, 11) for n in (1, 10, 1000))
