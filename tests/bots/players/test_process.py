"""Any program in any game, by lines of JSON: real processes, the good and the bad."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time

import psutil
import pytest
from test_engine import ROOT, assert_gone, descriptors
from tiers import full_but

import jubango as jb
from jubango.arena.runs.play import Interrupted, play_plan
from jubango.sgf_games.base.errors import UserError

TOOL = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'json_engine.py'))}"


def engine(mode, *words, **keys):
    keys = {"name": "engine", "move_seconds": 20, **keys}
    return jb.Bot("process", command=" ".join([TOOL, mode, *map(str, words)]), **keys)


def frame(run):
    return run.games.sort_values("game_id")[["game_id", "moves", "result", "reason"]].reset_index(drop=True)


class First(jb.Player):
    name = "engine"

    def play(self, position):
        return position.legal_moves[0]


@pytest.mark.parametrize("game", full_but(["connect_four"], ["connect_four", "gomoku:6,k=4", "go:3", "pgx:hex"]))
def test_it_plays_as_a_player_in_python_does(game):
    if game.startswith("pgx"):
        pytest.importorskip("pgx")
    run = jb.match(engine("first"), "random", game, games=2)
    assert not run.failures
    assert frame(run).equals(frame(jb.match(First(), "random", game, games=2)))


@pytest.mark.parametrize(
    ("mode", "reason", "words"),
    [
        ("dies", "crash", "exit status 3); it said: out of luck"), ("garbage", "error", "no JSON object but: let me think"), ("list", "error", "but: [1]"),
        ("deep", "error", "with no JSON object"), ("huge", "error", "more than 65536 bytes"), ("bytes", "error", "no JSON object"),
        ("refuses", "error", "with the error: I would rather not"), ("empty", "illegal", 'without a "move" that is text: {}'),
        ("number", "illegal", '{"move": 3}'), ("illegal", "illegal", ", which is illegal"), ("nonsense", "illegal", "'over there', which is no move"),
        ("resigns", "resign", ""),
    ],
)  # fmt: skip
def test_whatever_it_answers_costs_it_that_game(mode, reason, words):
    run = jb.match(engine(mode), "random", "tic_tac_toe", games=2)
    assert set(run.games["reason"]) == {reason}
    assert all(words in said for said in run.games["detail"]), run.games["detail"].tolist()
    assert sorted(run.games["result"].str[2:]) == ["R" if reason == "resign" else "F"] * 2
    assert run.games["detail"].str.len().max() < 600


@pytest.mark.full
def test_one_that_hangs_loses_by_time():
    run = jb.match(engine("hangs", move_seconds=0.5), "random", "tic_tac_toe", games=2)
    assert run.failures == {"engine": {"time": 2}}
    clocked = jb.match(engine("hangs"), "random", "tic_tac_toe", games=2, clock="0.5")
    assert clocked.failures == {"engine": {"time": 2}}


@pytest.mark.parametrize("mode", ["spaced", "marked", "flood", "game_over-dies", "game_over-refuses"])
def test_what_is_no_fault_costs_nothing(mode):
    run = jb.match(engine(mode, processes=1), "random", "tic_tac_toe", games=4)
    assert not run.failures
    assert frame(run).equals(frame(jb.match(engine("first"), "random", "tic_tac_toe", games=4)))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("future", '\'hello\' without "version": 1'), ("hello-refuses", "I play nothing of the kind"), ("new_game-refuses", "answered 'new_game' with the error"),
        ("hello-dies", "ended during 'hello'"),
    ],
)  # fmt: skip
def test_one_that_cannot_play_is_bad_input(mode, words):
    with pytest.raises(UserError, match="check its command") as caught:
        jb.match(engine(mode), "random", "tic_tac_toe")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_it_is_told(tmp_path):
    """All that there is to know, with every question; and how games have ended."""
    log = tmp_path / "log"
    run = jb.match(engine("first", log, processes=1), "random", "connect_four:4x3,k=3", games=4, seed=3, clock="60+1")
    told = [json.loads(line) for line in log.read_text().splitlines()]
    kinds = [message["type"] for message in told]
    assert kinds[:2] == ["hello", "new_game"]
    assert kinds.count("hello") == 1
    assert kinds.count("game_over") == 4
    assert told[0] == {"type": "hello", "protocol": "jubango", "version": 1, "bot": "engine"}
    assert told[1] == {"type": "new_game", "game": "connect_four:4x3,k=3", "width": 4, "height": 3, "players": "XO"}
    ends = [(message["result"], " ".join(message["moves"])) for message in told if message["type"] == "game_over"]
    games = [
        (row.result, row.moves if isinstance(row.moves, str) else " ".join(row.moves)) for row in run.games.itertuples()
    ]
    assert sorted(ends) == sorted(games)
    for message in told:
        if message["type"] == "move":
            assert message["to_move"] == "XO"[len(message["moves"]) % 2]
            assert [len(row) for row in message["board"].split("\n")] == [4, 4, 4]
            assert sum(message["board"].count(mark) for mark in "XO") == len(message["moves"])
            assert 0 < message["seconds"] < message["clock"] <= 61 + 12
            assert set(message["legal_moves"]) <= set("ABCD")
            assert 0 <= message["seed"] < 2**32


def test_no_more_processes_than_it_may_have_and_none_left_behind(tmp_path):
    before, log = descriptors(), tmp_path / "log"
    most = [0]

    def look(run):
        most[0] = max(
            most[0], len([child for child in psutil.Process().children() if "keeper" in " ".join(child.cmdline())])
        )

    plan = jb.match(engine("first", processes=2), "random", "tic_tac_toe", games=2).plan
    run = play_plan(plan, on_progress=look)
    assert most[0] <= 2
    assert not run.failures
    jb.match(engine("family", log, processes=1), "random", "tic_tac_toe", games=2)
    family = [int(word) for line in log.read_text().splitlines() if line[0].isdigit() for word in line.split()]
    assert len(family) == 2
    assert_gone(*family)
    assert descriptors() <= before + 1


@pytest.mark.full
def test_a_run_goes_on_where_it_stopped(tmp_path):
    plan = jb.tournament("tic_tac_toe", [engine("last"), "random"], games=8).plan
    whole = play_plan(plan, tmp_path / "whole")

    def stop(run):
        if len(run.results) >= 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        play_plan(plan, tmp_path / "half", on_progress=stop)
    assert frame(play_plan(plan, tmp_path / "half")).equals(frame(whole))


@pytest.mark.parametrize("language", full_but(["python"], ["perl", "node", "python"]))
def test_the_examples_of_the_page_play(tmp_path, language):
    """docs/engines.md has a program in each language; they are run as they stand there."""
    program = sys.executable if language == "python" else shutil.which(language)
    if program is None:
        pytest.skip(f"{language} is not installed")
    blocks = (
        (ROOT / "docs" / "engines.md").read_text().split(f"```{'javascript' if language == 'node' else language}\n")[1:]
    )
    assert len(blocks) == 1
    code = blocks[0].partition("```")[0]
    assert len(code.splitlines()) <= 25
    (tmp_path / "my_bot").write_text(code)
    if language == "perl" and subprocess.run([program, "-MJSON::PP", "-e", "1"]).returncode:
        pytest.skip("perl has no JSON::PP")
    bot = jb.Bot("process", command=f"{program} {tmp_path}/my_bot", name="mine")
    began = time.perf_counter()
    for game in ("connect_four", "gomoku:5,k=4"):
        run = jb.match(bot, "random", game, games=4)
        assert not run.failures, run.games["detail"].tolist()
    assert time.perf_counter() - began < 300
