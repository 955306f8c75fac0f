"""Positions and games looked at by other people's engines, in the place of a bot."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import jubango as jb
from jubango.analysis.positions.asked import questions_of
from jubango.analysis.report.review_page import review_page
from jubango.analysis.reviews.review_file import load
from jubango.arena.commands import run as command
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import parse_sgf

ROOT = Path(__file__).parents[3]
SGF = "(;GM[1]FF[4]SZ[5]KM[0.5]PB[Ann]PW[Bob];B[cc];W[bc];B[bb];W[cd];B[dd])"
MAIN = "from jubango.arena.commands import main; main()"
BY = "KataGo 1.99.0, tiny-b1c1, 10 visits"


def fake(mode: str = "fine") -> str:
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'fake_analyst.py'))} {mode}"


def record(text: str = SGF) -> Record:
    return Record(parse_sgf(text.encode(), "game.sgf")[0])


@pytest.fixture(scope="module")
def found():
    return jb.review(record(), engine=fake(), simulations=10)


@pytest.fixture
def game(tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text(SGF)
    return path


# -- what engines are told -------------------------------------------------------------------------


def told(question):
    line = question.line
    return line.stones, line.first, line.moves[: question.number], question.player


def test_a_game_is_told_as_one_line():
    asked = questions_of(record().positions)
    assert len({id(one.line) for one in asked}) == 1
    assert [one.number for one in asked] == [0, 1, 2, 3, 4, 5]
    assert told(asked[2]) == ((), 0, ((0, "C3"), (1, "B3")), 0)


def test_a_handicap_is_set_up():
    text = "(;GM[1]SZ[5]KM[0.5]HA[2]AB[bb][dd];W[cc];B[])"
    asked = questions_of(record(text).positions)
    assert told(asked[0]) == (((0, "B4"), (0, "D2")), 1, (), 1)
    assert told(asked[2]) == (((0, "B4"), (0, "D2")), 1, ((1, "C3"), (0, "pass")), 1)


def test_stones_that_are_set_up_in_the_middle_begin_a_new_line():
    asked = questions_of(record("(;GM[1]SZ[5]KM[0.5];B[cc];AW[aa]AE[cc]PL[W];W[bb];B[dd])").positions)
    assert told(asked[0]) == ((), 0, (), 0)
    assert told(asked[1]) == (((1, "A5"),), 1, (), 1)
    assert told(asked[3]) == (((1, "A5"),), 1, ((1, "B4"), (0, "D2")), 1)


def test_a_player_who_moves_twice_is_set_up():
    asked = questions_of(record("(;GM[1]SZ[5]KM[0.5];B[cc];B[bb];W[dd])").positions)
    assert told(asked[1]) == (((0, "C3"),), 0, (), 0)
    assert told(asked[2]) == ((), 0, ((0, "C3"), (0, "B4")), 1)


def test_positions_of_ones_own_have_their_moves():
    here = jb.position("go:5,komi=0.5", "C3 pass B3")
    alone, on = questions_of([here, here.after("A1")])
    assert told(alone) == ((), 0, ((0, "C3"), (1, "pass"), (0, "B3")), 1)
    assert told(on) == ((), 0, ((0, "C3"), (1, "pass"), (0, "B3"), (1, "A1")), 0)


# -- positions -------------------------------------------------------------------------------------


def test_a_position_has_all_that_the_engine_says():
    here = record().at(3)
    a = jb.analyze(here, engine=fake(), simulations=10)
    assert a.engine == BY
    assert a.simulations == 10
    assert a.win_rate.black == pytest.approx(0.53)
    assert (a.lead, a.lead_text) == (1.5, "Black leads by 1.5 points")
    assert (a.best.move, a.best.visits, a.best.lead) == ("A5", 9, 2.5)
    assert a.best.variation == ("A5", "B5", "pass")
    assert (a.heat("ownership").grid == np.where(here.stones, 1, -0.25)).all()
    assert np.nansum(a.heat("prior").grid) == pytest.approx(1)
    assert BY in a.diagram().title
    assert "Black leads by 1.5 points" in a.diagram().title
    assert BY in repr(a)
    assert list(a.frame["lead_black"]) == [2.5, -1.5]


def test_one_engine_is_asked_again_and_again():
    with jb.AnalysisEngine(fake()) as engine:
        children = psutil.Process().children(recursive=True)
        many = jb.analyze(record().positions, engine=engine, simulations=10)
        one = jb.analyze(record().at(2), engine=engine, simulations=10)
        assert psutil.Process().children(recursive=True) == children
    assert [round(a.win_rate.black, 4) for a in many] == [0.5, 0.51, 0.52, 0.53, 0.54, 0.55]
    assert one.win_rate == many[2].win_rate
    assert not psutil.Process().children(recursive=True)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"simulations": 0}, "simulations=0"),
        ({"simulations": 2.5}, "simulations=2.5"),
        ({"seconds": float("nan")}, "seconds=nan"),
        ({"c": 1.0}, 'has no "c"'),
    ],
)
def test_what_an_engine_cannot_be_told_is_said(keys, said):
    with pytest.raises(jb.UserError, match="engine: ") as caught:
        jb.analyze(record().at(1), engine=fake(), **keys)
    assert said in str(caught.value)


def test_positions_of_unlike_games_are_told_apart_and_refused():
    places = [jb.position("go:9,komi=7.5"), jb.position("go:9,komi=0.5"), jb.position("go:5")]
    assert [one.line.game for one in questions_of(places)] == [place.game for place in places]
    with pytest.raises(UserError, match="positions of 3 different games"):
        jb.analyze(places, engine="true")


def test_bots_and_engines_exclude_each_other():
    with pytest.raises(jb.UserError, match="exclude each other"):
        jb.analyze(record().at(1), "uct", engine=fake())
    with pytest.raises(jb.UserError, match="exclude each other"):
        jb.review(record(), "uct", engine=fake())


def test_an_engine_that_tells_no_ownership_has_no_heatmap_of_it():
    a = jb.analyze(record().at(1), engine=fake("gtp-lz"), simulations=3)
    with pytest.raises(jb.UserError, match="tells no ownership"):
        a.heat("ownership")
    assert a.lead is None
    assert "lead_black" not in a.frame


# -- reviews ---------------------------------------------------------------------------------------


def test_a_review_has_the_engine_for_its_bot(found):
    assert found.bot == BY
    assert found.note == ""
    assert found.by == f"{BY}, 2 searches a position"
    assert [round(one.win_rate, 4) for one in found.positions] == [0.5, 0.51, 0.52, 0.53, 0.54, 0.55]
    assert [one.lead for one in found.positions] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert found.document["bot"] == BY


def test_what_is_said_of_turned_boards_is_turned_back(found):
    """The second search is of a board that is turned: the engine's first free point is another one there."""
    for one, place in zip(found.positions, found.places, strict=True):
        assert one.ownership == tuple(np.where(place.stones.ravel(), 1, -0.25))
    moves = {one.move for one in found.positions[0].candidates}
    assert {"A5", "B5"} < moves
    assert len(moves) == 4


def test_its_name_is_on_everything(found):
    text = found.sgf().decode()
    assert f"— by {BY}, 2 searches a position —" in text
    assert "LZ[KataGo-1.99.0 " in text
    assert "KataGo 1.99.0 plays " in text
    assert "the bot" not in text
    page = review_page(found)
    assert f"looked through by {BY}" in page
    assert "KataGo 1.99.0's own" in page
    assert BY in found.curves.title
    assert all("KataGo 1.99.0's own" in line for line in found.summary_lines)
    assert json.loads(json.dumps(found.document))["positions"][0]["ownership"] == [-0.25] * 25


def test_searches_are_kept_and_taken(tmp_path, monkeypatch):
    log = tmp_path / "told"
    monkeypatch.setenv("FAKE_ANALYST_LOG", str(log))
    file = tmp_path / "kept.json"
    one = jb.review(record(), engine=fake(), simulations=10, repeats=1, file=file)
    asked = len(log.read_text().splitlines())
    again = jb.review(record(), engine=fake(), simulations=10, repeats=1, file=file)
    assert len(log.read_text().splitlines()) == asked
    assert again.document == one.document
    jb.review(record(), engine=fake(), simulations=12, repeats=1, file=file)  # as long as is not wanted any more
    assert len(log.read_text().splitlines()) > asked
    jb.review(record(), engine=f"{fake()} another", simulations=12, repeats=1, file=file)  # nor by other settings
    assert load(file).subject.engine


def test_an_engine_that_dies_loses_nothing(game):
    kept = game.with_name("game.review.json")
    with pytest.raises(CannotGoOn, match="it said: out of memory"):
        jb.review(game, engine=fake("dies"), simulations=10, repeats=1, file=kept)
    assert sum(map(len, load(kept).findings.values())) == 1


def test_damaged_ownership_is_not_taken(game, tmp_path):
    kept = tmp_path / "kept.json"
    jb.review(game, engine=fake(), simulations=10, repeats=1, file=kept)
    document = json.loads(kept.read_text())
    for wrong in ("AAAA", ""):
        document["searches"][0]["ownership"] = wrong
        kept.write_text(json.dumps(document))
        with pytest.raises(jb.UserError, match="another game"):
            jb.review(game, engine=fake(), simulations=10, repeats=1, file=kept)
    document["searches"][0]["ownership"] = "f39/f39/"
    kept.write_text(json.dumps(document))
    with pytest.raises(jb.UserError, match="damaged"):
        jb.review(game, engine=fake(), simulations=10, repeats=1, file=kept)


def test_a_name_in_a_file_steers_no_terminal(game, capsys):
    kept = game.with_name("game.review.json")
    jb.review(game, engine=fake(), simulations=10, repeats=1, file=kept)
    document = json.loads(kept.read_text())
    kept.write_text(json.dumps({**document, "bot": "\x1b[2J<script>alert(1)</script>" + "x" * 100_000}))
    page = game.with_name("page.html")
    assert command(["analyze", str(game), "--all", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out) < 20_000
    assert "<script>alert" not in page.read_text()


# -- the command -----------------------------------------------------------------------------------


def test_the_command_reviews_and_goes_on(game, capsys):
    args = ["analyze", str(game), "--all", "--repeats", "1"]
    assert command([*args, "--engine", fake(), "--simulations", "10"]) == 0
    out = capsys.readouterr().out
    assert f"by {BY}, 1 search a position" in out
    kept = game.with_name("game.review.json")
    before = kept.read_bytes()
    assert command([*args, "--thresholds", "3,8,15", "--format", "json"]) == 0  # without the engine
    assert json.loads(capsys.readouterr().out)["bot"] == BY
    assert kept.read_bytes() == before
    assert command([*args[:3], "--repeats", "2"]) == 2
    said = capsys.readouterr().err
    assert f"lacks some of what {BY} was to say; go on with its --engine" in " ".join(said.split())


def test_the_command_shows_a_position(game, capsys, tmp_path):
    png, csv = tmp_path / "a.svg", tmp_path / "a.csv"
    args = ["analyze", str(game), "--move", "3", "--engine", fake(), "--simulations", "10"]
    assert command([*args, "--heat", "ownership", "--png", str(png), "--csv", str(csv)]) == 0
    out = capsys.readouterr().out
    assert f"10 simulations by {BY}" in out
    assert "Black leads by 1.5 points, komi included" in out
    assert "prior" in out
    assert BY in png.read_text()
    assert "lead_black" in csv.read_text()
    assert command([*args, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["bot"], said["lead_black"], said["moves"][0]["prior"]) == (BY, 1.5, 0.045455)
    assert np.shape(said["ownership"]) == (5, 5)


@pytest.mark.parametrize("other", [["--bot", "uct"], ["--seed", "3"], ["--cluster", "local:2"]])
def test_the_command_takes_an_engine_or_a_bot(game, capsys, other):
    assert command(["analyze", str(game), "--all", "--engine", fake(), *other]) == 2
    assert f"--engine and {other[0]} exclude each other" in capsys.readouterr().err


def test_the_command_says_what_engines_do_wrong(game, capsys):
    assert command(["analyze", str(game), "--engine", "no-such-engine"]) == 2
    assert 'cannot start "no-such-engine"' in capsys.readouterr().err
    assert command(["analyze", str(game), "--engine", fake("errs"), "--all", "--no-save"]) == 2
    assert "Illegal move 1: C3" in capsys.readouterr().err
    assert command(["analyze", str(game), "--engine", fake("dies"), "--all", "--no-save"]) == 1
    said = capsys.readouterr().err
    assert "out of memory" in said
    assert "goes on" not in said
    assert command(["analyze", str(game), "--engine", fake("dies"), "--all"]) == 1
    assert "what it has said is kept, and the same command goes on" in " ".join(capsys.readouterr().err.split())
    assert game.with_name("game.review.json").exists()


@pytest.mark.full
def test_an_interrupt_ends_the_engine(game):
    args = [sys.executable, "-c", MAIN, "analyze", str(game), "--all", "--engine", fake("slow")]
    process = subprocess.Popen(args, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ})
    family: list[psutil.Process] = []
    for _ in range(600):
        family = psutil.Process(process.pid).children(recursive=True)
        if any("fake_analyst" in " ".join(own.cmdline()[:2]) for own in family):
            break
        time.sleep(0.1)
    assert family
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    _, left = psutil.wait_procs(family, timeout=10)
    assert not left


@pytest.mark.full
def test_our_own_server_says_what_our_own_review_says(game):
    """With a bot that uses no random numbers: the same visits and win rates, to the last digit that is told."""
    bot = "alphazero:evaluator=heuristic,leaves=1,ensemble=1,ties=first"
    own = jb.review(game, bot, simulations=40)
    server = f"{shlex.quote(sys.executable)} -c {shlex.quote(MAIN)} analysis-server --bot {bot}"
    asked = jb.review(game, engine=server, simulations=40)
    assert asked.bot.endswith(", 40 visits")
    for one, other in zip(own.positions, asked.positions, strict=True):
        assert other.win_rate == pytest.approx(one.win_rate, abs=2e-6)
        assert other.simulations == one.simulations
        assert {c.move: c.visits for c in other.candidates} == {c.move: c.visits for c in one.candidates}
    assert [m.best for m in asked.moves] == [m.best for m in own.moves]
    assert [m.loss for m in asked.moves] == pytest.approx([m.loss for m in own.moves], abs=2e-6)
