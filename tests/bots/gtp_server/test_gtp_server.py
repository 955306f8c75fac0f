"""The GTP server's answers, command by command; games by its rules; lines of any kind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time

import numpy as np
import pytest
from gtp_talk import QUICK, ROOM, Talk
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import random_network

from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.territory import opinions
from jubango.bots.gtp_server.timing import Timing
from jubango.bots.gtp_server.wire import GtpError, parse
from jubango.bots.interactive.interactive_search import InteractiveSearch
from jubango.bots.players.clock import NO_LIMIT
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import position, read_sgf


@pytest.fixture(scope="module", autouse=True)
def _elsewhere(tmp_path_factory):
    """Any line may write a file: printsgf has the word after it for a name."""
    with contextlib.chdir(tmp_path_factory.mktemp("files")):
        yield


GOES = r"[A-E][1-5]|pass"
BOARD = r"(-?[01]\.\d{3} ?){5}"
INFO = r"info move \S+ visits \d+ winrate \d+ lcb \d+ order \d+ pv( \S+)+"

# For every command of a game of Go with a network: lines that come before, the line, the answer.
ANSWERS = {
    "protocol_version": ("", "protocol_version", "= 2"),
    "name": ("", "name", "= jubango"),
    "version": ("", "version", r"= \d+\.(1[5-9]|[2-9]\d|\d{3,})\S* \(jubango .*\)"),
    "known_command": ("", "known_command genmove", "= true"),
    "list_commands": ("", "list_commands", "= boardsize\n.*\nversion"),
    "boardsize": ("play b c3", "boardsize 5", "="),
    "rectangular_boardsize": ("play b c3", "rectangular_boardsize 5 5", "="),
    "clear_board": ("play b c3", "clear_board", "="),
    "komi": ("", "komi 0.5", "="),
    "play": ("play b c3", "play w c3", r"\? illegal move"),
    "undo": ("", "undo", r"\? cannot undo"),
    "gg-undo": ("play b c3\nplay w c2\nplay b d3", "gg-undo 3", "="),
    "genmove": ("", "genmove b", f"= ({GOES})"),
    "kgs-genmove_cleanup": ("", "kgs-genmove_cleanup w", f"= ({GOES})"),
    "reg_genmove": ("play b c3", "reg_genmove w", f"= ({GOES})"),
    "showboard": (
        "play b c3\nplay w a1", "showboard",
        r"= \n   A B C D E\n 5 \. \. \. \. \. 5\n 4 \. \. \. \. \. 4\n 3 \. \. X \. \. 3\n 2 \. \. \. \. \. 2\n 1\(O\)\. \. \. \. 1\n   A B C D E",
    ),
    "fixed_handicap": ("", "fixed_handicap 2", r"\? invalid number of stones"),  # and below
    "place_free_handicap": ("", "place_free_handicap 2", r"\? invalid number of stones"),
    "set_free_handicap": ("set_free_handicap A1 B2", "set_free_handicap A1", r"\? board not empty"),
    "set_position": ("", "set_position b a1 w b1", "="),
    "loadsgf": ("", "loadsgf {sgf} 3", "= black"),
    "printsgf": ("play b c3\nplay w pass", "printsgf", r"= \(;FF\[4\].*SZ\[5\].*;B\[cc\];W\[\]\)"),
    "time_settings": ("", "time_settings 300 30 5", "="),
    "kgs-time_settings": ("", "kgs-time_settings byoyomi 300 30 5", "="),
    "kata-time_settings": ("", "kata-time_settings fischer 60 2", "="),
    "kata-list_time_settings": ("", "kata-list_time_settings", "= none absolute byoyomi canadian fischer fischer-capped"),
    "time_left": ("time_settings 300 30 5", "time_left b 3.5 2", "="),
    "final_score": ("set_position b a3 b b3 b c3 b d3 b e3 w a2 w b2 w c2 w d2 w e2\nkomi 0.5", "final_score", r"= B\+4\.5"),
    "final_status_list": ("set_position b a3 b b3 b c3 b d3 b e3 w a2 w b2 w c2 w d2 w e2", "final_status_list seki", "="),
    "gomill-explain_last_move": ("genmove b", "gomill-explain_last_move", r"= \d+ of 32 visits, win rate .* %; .*"),
    "gomill-describe_engine": ("", "gomill-describe_engine", r"= jubango .*\nuct.*\ngo:5,komi=0"),
    "gomill-cpu_time": ("", "gomill-cpu_time", r"= \d+\.\d+"),
    "cputime": ("", "cputime", r"= \d+\.\d+"),
    "stop": ("", "stop", "="),
    "gogui-interrupt": ("", "gogui-interrupt", "="),
    "kata-get-rules": ("", "kata-get-rules", "= .*"),
    "kata-set-rules": ("", 'kata-set-rules {"ko":"SIMPLE","scoring":"AREA","tax":"NONE","suicide":false}', "="),
    "gogui-analyze_commands": ("", "gogui-analyze_commands", r"= (\w+/[\w ]+/[\w-]+\n?)+"),
    "jubango-visits": ("", "jubango-visits", f"= {BOARD}(\n{BOARD}){{4}}"),
    "jubango-prior": ("", "jubango-prior", r"\? this bot has no prior: .*"),
    "jubango-value": ("", "jubango-value", f"= {BOARD}(\n{BOARD}){{4}}"),
    "jubango-ownership": ("", "jubango-ownership", f"= {BOARD}(\n{BOARD}){{4}}"),
    "jubango-moves": ("", "jubango-moves", rf"= (({GOES}) \d+% ?)+"),
    "jubango-pv": ("play b c3", "jubango-pv", rf"= VAR w ({GOES})( [bw] ({GOES}))*\nTEXT White wins .*"),
    "lz-genmove_analyze": ("", "lz-genmove_analyze b 1", f"=\n({INFO}( |\n))+play ({GOES})"),
    "kata-genmove_analyze": ("", "kata-genmove_analyze 1", f"=\n(info [^\n]*\n)+play ({GOES})"),
    "kata-search_analyze": ("", "kata-search_analyze w interval 1", f"=\n(info [^\n]*\n)+play ({GOES})"),
    "quit": ("", "", ""),  # below
    "lz-analyze": ("", "", ""),  # in test_gtp_analysis.py
    "kata-analyze": ("", "", ""),
    "kata-raw-nn": ("", "", ""),  # below
}  # fmt: skip


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    talk = Talk("go:5,komi=0")
    yield talk
    talk.end()


@pytest.fixture
def fresh(go):
    for line in ("boardsize 5", "kata-set-rules chinese", "komi 0", "kgs-time_settings none"):
        assert go.ask(line) == "="
    return go


def test_every_command_that_is_listed_is_here(fresh):
    listed = fresh.ask("list_commands")[2:].split("\n")
    assert sorted(listed) == sorted(set(ANSWERS) - {"kata-raw-nn"})
    assert "analyze" not in listed  # Sabaki would take it for another protocol


@pytest.mark.parametrize("name", [name for name, own in ANSWERS.items() if own[2]])
def test_a_command_is_answered(fresh, name, tmp_path):
    (tmp_path / "game.sgf").write_text("(;SZ[5]KM[2.5];B[cc];W[cd];B[bd])")
    before, line, answer = ANSWERS[name]
    for earlier in filter(None, before.split("\n")):
        assert fresh.ask(earlier).startswith("=")
    said = fresh.ask(line.format(sgf=tmp_path / "game.sgf") if "{sgf}" in line else line)
    assert re.fullmatch(answer, said, re.S), said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("boardsize 26", "unacceptable size"), ("boardsize x", "syntax error: the size is no whole number"),
        ("boardsize", "syntax error: the size is missing"), ("komi nan", "syntax error: the komi is no number"),
        ("komi 3.25", "unacceptable komi; it is a whole or half number"), ("play b", "syntax error: the vertex is missing"),
        ("play x c3", "invalid color"), ("play b j9", "invalid vertex"), ("genmove", "syntax error: the color is missing"),
        ("fixed_handicap 4", "invalid number of stones"), ("fixed_handicap 1", "invalid number of stones"),
        ("set_free_handicap A1 A1", "bad vertex list"), ("set_free_handicap pass", "bad vertex list"), ("set_free_handicap", "bad vertex list"),
        ("set_position b a1 w a2 w b1", "illegal move"), ("set_position b a1 b", "syntax error: colors and vertices come in pairs"),
        ("loadsgf /nowhere.sgf", "cannot load file: /nowhere.sgf: cannot be read: No such file or directory"),
        ("kata-set-rules japanese", "unknown rules; known: .*"), ('kata-set-rules {"scoring":"TERRITORY"}', "these rules are not played here: .*"),
        ("final_status_list asleep", "invalid status"), ("time_settings 1 2", "syntax error: a time is missing"),
        ("time_settings -1 0 0", "invalid time"), ("kgs-time_settings sundial", "syntax error: unknown time system"),
        ("gg-undo 1", "cannot undo"), ("lz-analyze b interval", "syntax error after interval"),
        ("lz-analyze avoid b Z9 1", "invalid vertex"), ("kata-analyze frobnicate 3", "syntax error: frobnicate is not understood"),
        ("boardsize 5000000000", "syntax error: the size is no whole number"), ("gg-undo \u00b2", "syntax error: .*"),
        ("place_free_handicap 100000000", "invalid number of stones"), ("lz-analyze \u00b2", "syntax error: \u00b2 is not understood"),
        (f"time_settings 10 10 {10**400}", "syntax error: a time is no number"), ("time_settings 10 10 1e300", "invalid time"),
        (f"kgs-time_settings byoyomi 1 1 {10**400}", "syntax error: the periods is no whole number"),
        ("time_left b 10 -1", "invalid time"), ("loadsgf nothing \u00b2", "cannot load file: .*"),
        (f"loadsgf nothing {10**400}", "syntax error: the move is no whole number"),
        ("analyze", "unknown command"), ("kata-raw-nn 0", "unknown command"), ("printsgf /nowhere/at/all", "cannot write file: .*"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(fresh, line, message):
    assert re.fullmatch(rf"\?17 {message}", fresh.ask(f"17 {line}")), fresh.heard


def test_a_game_is_played_by_the_rules(fresh):
    """A ko, a suicide, passes and play after them; anybody may move twice."""
    for line in ("play b b3", "play b a2", "play b b1", "play b c2", "play w d2", "play w c3", "play w c1"):
        assert fresh.ask(line) == "="
    assert fresh.ask("play w b2") == "="  # takes C2
    assert fresh.ask("play b c2") == "? illegal move"
    assert fresh.ask("play b e5") == "="
    for line in ("play w pass", "play b PASS", "play w E1", "genmove b"):
        assert fresh.ask(line).startswith("=")
    assert fresh.ask("gg-undo 13") == "="
    assert fresh.ask("undo") == "? cannot undo"
    assert fresh.ask("set_position b a2 b b1 w e5") == "="
    assert fresh.ask("play w a1") == "? illegal move"


def test_a_game_that_has_lasted_too_long_is_passed_out():
    """The rules end it after so many moves; whoever is asked passes, and passes are taken."""
    talk = Talk("go:2,komi=0", bot="random")
    for i in range(100):
        assert talk.ask(f"play {'bw'[i % 2]} pass") == "="
    assert talk.ask("play b a1") == "? illegal move"
    assert talk.ask("reg_genmove b") == "= pass"
    assert talk.ask("genmove b") == "= pass"
    assert talk.ask("play w pass") == "="
    assert talk.ask("printsgf").count("B[]") == 51
    for line in ("gg-undo 3", "play w a1"):
        assert talk.ask(line) == "="
    talk.end()


@pytest.mark.full
def test_handicap_stones_have_their_places():
    """GTP 2, section 4.1.1, as far as the board has room for them."""
    talk = Talk("go:19", bot="random")
    places = ["D4", "Q16", "D16", "Q4", "D10", "Q10", "K4", "K16", "K10"]
    assert talk.ask("fixed_handicap 9") == f"= {' '.join(places)}"
    assert talk.ask("fixed_handicap 2") == "? board not empty"
    assert talk.ask("undo") == "? cannot undo"
    assert talk.ask("play w C3") == "="
    assert talk.ask("clear_board") == "="
    assert talk.ask("place_free_handicap 12") == f"= {' '.join(places)}"
    assert talk.ask("boardsize 7") == "="
    assert talk.ask("place_free_handicap 9") == "= C3 E5 C5 E3"
    assert "HA[4]" in talk.ask("printsgf")
    talk.end()


def test_superko_comes_with_the_rules():
    """A stone that is taken in the corner may be put back after a pass, unless no position comes twice."""
    talk = Talk("go:9,komi=0", bot="random")
    for line in ("boardsize 2 1", "play b a1", "play w b1"):
        assert talk.ask(line) == "="
    assert talk.ask("play b a1") == "? illegal move"
    for line in ("play b pass", "play b a1"):
        assert talk.ask(line) == "="
    assert talk.ask("kata-set-rules tromp-taylor") == "? the moves so far are illegal by these rules"
    assert json.loads(talk.ask("kata-get-rules")[2:])["ko"] == "SIMPLE"
    for line in ("undo", "kata-set-rules tromp-taylor"):
        assert talk.ask(line) == "="
    assert talk.ask("play b a1") == "? illegal move"
    said = json.loads(talk.ask("kata-get-rules")[2:])
    assert (said["ko"], said["suicide"], said["scoring"]) == ("POSITIONAL", True, "AREA")
    assert "RU[TrompTaylor]" in talk.ask("printsgf")
    talk.end()


def test_komi_counts_in_the_game_as_it_stands(fresh):
    for column in "abcde":
        assert fresh.ask(f"play b {column}3") == "="
        assert fresh.ask(f"play w {column}2") == "="
    assert fresh.ask("final_score") == "= B+5"
    fresh.ask("komi 7.5")
    assert fresh.ask("final_score") == "= W+2.5"
    fresh.ask("komi 5")
    assert fresh.ask("final_score") == "= 0"
    assert fresh.ask("final_status_list alive").count("\n") == 1
    assert fresh.ask("final_status_list dead") == "="


def test_what_is_printed_is_loaded_again(fresh, tmp_path):
    """Set-up, moves of one colour in a row and passes too."""
    for line in (
        "set_position b a1 w b2",
        "play b c3",
        "play b c4",
        "play w pass",
        "play w d4",
        f"printsgf {tmp_path}/a b.sgf",
    ):
        assert fresh.ask(line) == "="
    board = fresh.ask("showboard")
    assert read_sgf(tmp_path / "a b.sgf").at().stones.sum() == 1 + 2 + 1 + 1 + 2
    fresh.ask("clear_board")
    assert fresh.ask(f"loadsgf {tmp_path}/a b.sgf") == "= black"
    assert fresh.ask("showboard") == board
    assert fresh.ask("undo") == "="
    assert fresh.ask(f"loadsgf {tmp_path}/a b.sgf 2") == "= black"
    assert "(X)" in fresh.ask("showboard")
    (tmp_path / "row.sgf").write_text("(;GM[4]SZ[5];B[cc])")
    assert "it holds gomoku:5, this plays go" in fresh.ask(f"loadsgf {tmp_path}/row.sgf")


@pytest.mark.full
def test_a_loaded_game_keeps_what_was_set_up_on_the_way(fresh, tmp_path):
    """Between moves as before them; rules play it all again, and it is printed as it was."""
    (tmp_path / "set.sgf").write_text("(;SZ[5]KM[0]AB[aa][bb];AE[aa]AW[ab];B[cc];AW[dd][ee]AE[bb];W[ea];B[ae])")
    lines = [f"loadsgf {tmp_path}/set.sgf", "kata-set-rules tromp-taylor", f"printsgf {tmp_path}/again.sgf"]
    boards = []
    for line in lines:
        assert fresh.ask(line).startswith("=")
        boards.append(fresh.ask("showboard"))
    assert fresh.ask(f"loadsgf {tmp_path}/again.sgf") == "= white"
    assert {*boards, fresh.ask("showboard")} == {boards[0]}
    original, again = (read_sgf(tmp_path / name).positions for name in ("set.sgf", "again.sgf"))
    assert len(original) == len(again) == 4
    for before, after in zip(original, again, strict=True):
        assert (before.stones == after.stones).all() and before.player == after.player
    assert boards[0].count("O") == 4 and boards[0].count("X") == 2
    assert fresh.ask("gg-undo 3") == "="
    assert fresh.ask("printsgf").count("AW[ab]") == 1


def test_only_files_are_read_and_written(fresh, tmp_path):
    """Pipes and devices may never end, or be where commands come from and answers go."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/stdin", "/dev/zero"):
        for line in ("loadsgf", "printsgf"):
            said = fresh.ask(f"{line} {name}")
            assert re.fullmatch(r"\? cannot (load|write) file: .*is no regular file.*", said), said
    with (tmp_path / "huge.sgf").open("wb") as file:
        file.truncate(1 << 40)
    assert "bytes are too many" in fresh.ask(f"loadsgf {tmp_path}/huge.sgf")
    assert "is a folder" in fresh.ask(f"loadsgf {tmp_path}")
    assert fresh.ask("play b c3") == "="


@pytest.mark.full
def test_a_board_that_cannot_be_had_changes_nothing(fresh, tmp_path, monkeypatch):
    """Its trees may be too large for the memory."""

    def refused(*rest):
        raise UserError("there is no room for it")

    (tmp_path / "large.sgf").write_text("(;SZ[7];B[cc])")
    for line in ("time_settings 300 0 0", "time_left b 30 0", "play b c3"):
        assert fresh.ask(line) == "="
    board, left = fresh.ask("showboard"), fresh.server.host.session.timing.remaining(0)
    with monkeypatch.context() as patch:
        patch.setattr("jubango.bots.gtp_server.host.InteractiveSearch", refused)
        for line in ("boardsize 7", f"loadsgf {tmp_path}/large.sgf", "kata-set-rules tromp-taylor"):
            assert re.fullmatch(r"\? .*there is no room for it", fresh.ask(line)), line
            assert fresh.ask("showboard") == board
            assert fresh.server.host.session.timing.remaining(0) == left
    assert fresh.ask("kgs-time_settings none") == "="
    assert re.fullmatch(f"= ({GOES})", fresh.ask("genmove w"))


def test_dead_stones_are_listed(fresh):
    """Two eyes for Black, and a white stone beside them."""
    stones = "b b5 b b4 b a4 b c5 b c4 b d5 b d4 b e4 b a3 b b3 b c3 b d3 b e3 w c1"
    assert fresh.ask(f"set_position {stones}") == "="
    assert fresh.ask("final_status_list dead") == "= C1"
    assert fresh.ask("final_status_list alive")[2:].count("A4") == 1
    assert fresh.ask("final_score") == "= B+25"


# -- lines ---------------------------------------------------------------------------------------


def test_lines_are_read_as_the_protocol_has_it(fresh):
    fresh.write(b"1 name\r\n\r\n# a comment\n2\tprotocol_version # and another\n \x00\x01\n3 na\x07me\nname")
    fresh.write(b"\n")
    said = [fresh.read_until("\n\n") for _ in range(4)]
    assert said == ["=1 jubango\n\n", "=2 2\n\n", "=3 jubango\n\n", "= jubango\n\n"]


def test_pipelined_lines_are_answered_in_turn(fresh):
    fresh.write(
        "".join(f"{i} play {'bw'[i % 2]} pass\n" for i in range(50)) + "".join(f"{i} undo\n" for i in range(50, 100))
    )
    assert [fresh.read_until("\n\n") for _ in range(100)] == [f"={i} \n\n" for i in range(100)]
    assert fresh.ask("undo") == "? cannot undo"


def test_a_line_without_an_end_is_cut(fresh):
    for _ in range(40):
        fresh.write("x" * 50_000)
    fresh.write("\n5 name\n")
    assert fresh.read_until("\n\n") == "? unknown command\n\n"
    assert fresh.read_until("\n\n") == "=5 jubango\n\n"


@given(st.text(max_size=60))
def test_any_line_is_a_command_or_nothing(line):
    command = parse(line.replace("\n", ""))
    if command is not None:
        assert not command.id or command.id.isdigit()
        assert not any(c.isspace() for c in command.name)


@pytest.fixture(scope="module")
def xo():
    talk = Talk("tic_tac_toe", bot="random")
    yield talk
    talk.end()


WORDS = st.sampled_from(["play", "genmove", "undo", "b", "w", "B2", "a1", "C3", "pass", "boardsize", "3", "-1", "1e9", "komi", "time_left",
                         "time_settings", "0", "clear_board", "final_score", "gg-undo", "\x00", "é", "#", "=", "printsgf", "gogui-rules_board"])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=12))
def test_every_line_has_one_answer(xo, lines):
    """Whatever is asked, the answers have their numbers and no empty line inside."""
    text = "".join(f"{i} {' '.join(words)}\n" for i, words in enumerate(lines) if words[0] != "#")
    xo.write(text + "99999 protocol_version\n")
    said = xo.read_until("=99999 2\n\n")
    answers = said[: -len("=99999 2\n\n")].split("\n\n")[:-1]
    asked = [line.split()[0] for line in text.splitlines() if line.partition("#")[0].strip()]
    assert [re.match(r"[=?](\d+)", answer).group(1) for answer in answers] == asked
    assert not any("internal error" in answer for answer in answers)


def test_quit_is_answered_and_what_comes_after_is_not():
    talk = Talk("tic_tac_toe", bot="random")
    talk.write("1 quit\n2 name\n")
    assert talk.end() == "=1 \n\n"


def test_the_end_of_the_input_ends_it():
    talk = Talk("tic_tac_toe", bot="random")
    talk.write("1 name")
    assert talk.end() == "=1 jubango\n\n"


# -- time ----------------------------------------------------------------------------------------


def test_time_is_shared_out():
    timing = Timing()
    assert timing.budget(0, 81, 0).seconds == 0
    timing.set(300)
    first = timing.budget(0, 81, 0).seconds
    assert 5 < first < 12
    timing.spend(0, 100)
    assert timing.budget(0, 81, 0).seconds < 0.7 * first
    assert timing.budget(1, 81, 1).seconds > 5
    timing.left(0, 10, 0)
    assert timing.budget(0, 81, 40).seconds < 1
    timing.left(0, -0.5, 0)
    assert 0 < timing.budget(0, 81, 40).seconds <= 0.01
    timing.set(0, 5, stones=1)  # five seconds a move
    assert 3.5 < timing.budget(0, 81, 0).seconds < 5
    timing.spend(0, 5)
    assert 3.5 < timing.budget(0, 81, 2).seconds < 5
    timing.set(60, 30, stones=10)
    timing.left(1, 12, 3)
    assert 3.5 < timing.budget(1, 81, 60).seconds < 4
    timing.set(0, 10, periods=3)
    timing.left(0, 10, 3)
    assert 8 < timing.budget(0, 81, 0).seconds < 10
    timing.set(60, increment=10)
    assert 9 < timing.budget(0, 81, 0).seconds < 12
    timing.set(300, 30, stones=5)
    timing.left(0, 1e300, 10_000_000)
    timing.spend(0, 1)
    assert timing.budget(0, 81, 0).seconds < 1e7
    timing.none()
    timing.left(0, 1e300, 0)
    assert timing.budget(0, 81, 0).seconds < 1e7
    timing.set(0, 0)
    assert timing.budget(0, 81, 0).seconds == 0
    with pytest.raises(GtpError):
        timing.set(-3)


def test_a_bot_keeps_to_its_time(monkeypatch):
    """Without --bot as many simulations as there is room for, in the time that there is."""
    asked = []
    begin = InteractiveSearch.begin

    def listen(self, position, **limits):
        asked.append(limits)
        begin(self, position, **limits)

    talk = Talk("mnk:4,k=4", bot=None)
    assert talk.ask("clear_board") == "="
    monkeypatch.setattr(InteractiveSearch, "begin", listen)
    for line in ("genmove b", "time_settings 0 1 1", "time_left w 1 1", "genmove w"):
        assert talk.ask(line).startswith("=")
    (free, timed) = asked
    assert free == {"simulations": None, "limit": NO_LIMIT}
    assert timed["simulations"] == talk.server.host.require_search().room >= ROOM
    assert 0.5 < timed["limit"].seconds <= timed["limit"].longest < 1
    talk.end()


# -- other games, other bots ---------------------------------------------------------------------


def test_the_ruler_shows_connect_four():
    talk = Talk("connect_four", bot="uct:simulations=64,c=0.3,leaves=1,ensemble=1")
    assert talk.ask("gogui-rules_game_id") == "= Connect Four"
    assert talk.ask("gogui-rules_board_size") == "= 7 6"
    assert talk.ask("gogui-rules_legal_moves") == "= A1 B1 C1 D1 E1 F1 G1"
    for line in ("play b d1", "play w D2", "play b c"):
        assert talk.ask(line) == "="
    assert talk.ask("play w d5") == "? illegal move"  # it would fall further
    assert talk.ask("play b e1") == "? it is White's turn"
    assert talk.ask("gogui-rules_side_to_move") == "= white"
    assert talk.ask("gogui-rules_board").split("\n")[-2:] == [". . . O . . .", ". . X X . . ."]
    assert talk.ask("gogui-rules_legal_moves") == "= A1 B1 C2 D3 E1 F1 G1"
    assert talk.ask("final_score") == "? cannot score"
    for line in ("play w d3", "play b e1", "play w a1"):
        assert talk.ask(line) == "="
    assert re.match("= VAR b [BF]1", talk.ask("jubango-pv"))
    assert re.fullmatch("= [BF]1", talk.ask("genmove b"))  # four in a row
    assert talk.ask("gogui-rules_final_result") == "= Black wins"
    assert talk.ask("gogui-rules_legal_moves") == "="
    assert talk.ask("genmove w") == "? the game is over"
    assert talk.ask("lz-analyze 1") == "? the game is over"
    assert talk.ask("jubango-pv") == "= TEXT the game is over"
    assert talk.ask("jubango-ownership").startswith("? nobody owns points")
    assert talk.ask("fixed_handicap 2") == "? unknown command"
    assert talk.ask("komi 6.5") == "="  # GUIs say it whatever the game
    assert talk.ask("final_score") == "= B+"
    talk.end()


@pytest.mark.parametrize(("game", "name", "size"), [("gomoku:7", "Gomoku", 7), ("tic_tac_toe", "Tic-Tac-Toe", 3)])
def test_the_ruler_shows_other_games(game, name, size):
    talk = Talk(game, bot="random")
    assert talk.ask("gogui-rules_game_id") == f"= {name}"
    assert talk.ask("gogui-rules_board_size") == f"= {size}"
    assert len(talk.ask("gogui-rules_legal_moves")[2:].split()) == size * size
    assert talk.ask("gogui-rules_final_result") == "= unknown"
    for i in range(size * size):
        if talk.ask("gogui-rules_final_result") != "= unknown":
            break
        assert re.fullmatch(r"= [A-H]\d", talk.ask(f"genmove {'bw'[i % 2]}"))
    assert re.fullmatch("= (Black wins|White wins|Draw)", talk.ask("gogui-rules_final_result"))
    assert "lz-analyze" not in talk.ask("list_commands")  # chance has nothing to show
    assert talk.ask("lz-analyze") == "? unknown command"
    assert talk.ask(f"boardsize {size}") == "="
    assert talk.ask("gogui-rules_board") == "= " + "\n".join([" ".join("." * size)] * size)
    talk.end()


@pytest.mark.full
def test_a_network_speaks_in_whites_view(tmp_path):
    game = make_game("go:5,komi=0")
    shape = random_network(tmp_path / "w.safetensors", game)
    talk = Talk("go:5,komi=0", bot=f"policy:network={tmp_path}/w.safetensors,temperature=0")
    assert talk.ask("play b c3") == "="
    said = talk.ask("kata-raw-nn 0").split("\n")
    network, weights = NetworkEvaluator.load(tmp_path / "w.safetensors", game)
    assert network.shape == shape
    direct = opinions(game, [position(game, "C3").state], network, weights)
    chances = np.exp(direct.outcome[0]) / np.exp(direct.outcome[0]).sum()
    values = dict(line.split() for line in said[1:5])
    assert said[0] == "= symmetry 0"
    assert float(values["whiteWin"]) == pytest.approx(chances[2], abs=1e-4)
    assert float(values["whiteLoss"]) == pytest.approx(chances[0], abs=1e-4)
    assert float(values["whiteLead"]) == pytest.approx(25 * direct.score[0], abs=1e-2)
    policy = np.array([line.split() for line in said[6:11]], float)
    assert np.isnan(policy[2, 2])
    total = np.nansum(policy) + float(said[11].removeprefix("policyPass "))
    assert total == pytest.approx(1, abs=1e-3)
    assert said[12] == "whiteOwnership"
    owners = np.array([line.split() for line in said[13:]], float)
    assert owners == pytest.approx(direct.ownership[0], abs=1e-3)
    best = np.unravel_index(np.nanargmax(policy), (5, 5))
    if np.nanmax(policy) > float(said[11].removeprefix("policyPass ")):
        assert talk.ask("genmove w") == f"= {game.point_text(tuple(map(int, best)))}"
    talk.end()


def test_it_resigns_where_it_is_told_to():
    talk = Talk("go:5,komi=30", resign_below=0.2)
    assert talk.ask("genmove b") == "= resign"
    assert talk.ask("undo") == "? cannot undo"
    assert re.fullmatch(f"= ({GOES})", talk.ask("genmove w"))
    assert re.fullmatch(f"= ({GOES})", talk.ask("reg_genmove b"))
    talk.end()


def test_it_ponders_only_if_it_is_told_to():
    """Nothing is sent between two looks at what it has searched."""
    bot = f"{QUICK},reuse=true"
    for ponder in (True, False):
        talk = Talk("go:5,komi=0", bot=bot, ponder=ponder, room=4096)
        assert re.fullmatch(f"= ({GOES})", talk.ask("genmove b"))
        assert talk.ask("play w pass") == "="
        driver = talk.server.host._thinker.driver
        assert talk.ask("genmove b").startswith("=")
        before, until = driver.made, time.monotonic() + (60 if ponder else 0.5)
        while driver.made == before and time.monotonic() < until:
            time.sleep(0.01)
        assert (driver.made > before) == ponder
        talk.end()


def test_a_failure_of_pondering_is_not_the_end(monkeypatch, capfd):
    talk = Talk("tic_tac_toe", ponder=True)
    with monkeypatch.context() as patch:
        patch.setattr("jubango.bots.gtp_server.host.Host.ponder", lambda self: 1 / 0)
        assert re.fullmatch(r"= [A-C]\d", talk.ask("genmove b"))
        said, until = "", time.monotonic() + 60
        while "\n" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capfd.readouterr().err
    assert said == "jubango: pondering: internal error: ZeroDivisionError: division by zero\n"
    assert re.fullmatch(r"= [A-C]\d", talk.ask("genmove w"))
    talk.end()
