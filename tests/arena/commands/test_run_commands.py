"""Commands around a run: what it would play, how far it is, and the openings it may begin with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.runs.work_folder import is_at_play, locked
from jubango.arena.schedule.balance import TooFew, balanced_openings
from jubango.arena.schedule.openings import openings_of
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import position
from jubango.sgf_games.sgf.sgf import read_games

FILE = """
name = "small"
game = "tic_tac_toe"
games_per_pairing = 4
openings = [{moves = "B2"}]
[[bots]]
use = "random"
[[bots]]
name = "u"
use = "uct"
simulations = [2, 4]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(FILE)
    return path


@pytest.mark.full
def test_a_forecast_plays_nothing_that_is_kept(file, tmp_path, capsys):
    out = tmp_path / "run"
    assert command(["tournament", str(file), "--out", str(out), "--check"]) == 0
    said = capsys.readouterr().out
    assert "round-robin of 3 bots, 3 pairings of 4 games" in said
    assert "1 opening, each 2 times in a pairing" in said
    assert f"12 into {out}" in said.replace("\n", "")
    assert re.search(r"time +about \d+ s", said)
    assert not out.exists()
    assert command(["tournament", str(file), "--out", str(out)]) == 0
    capsys.readouterr()
    assert command(["tournament", str(file), "--out", str(out), "--check"]) == 0
    assert "12 of them are finished" in capsys.readouterr().out


@pytest.mark.full
def test_a_forecast_finds_what_is_missing(file, tmp_path, capsys):
    file.write_text(FILE.replace('game = "tic_tac_toe"', 'game = "go:5"').replace("B2", "C3") + (
        '[[bots]]\nname = "engine"\nuse = "gtp"\ncommand = "no-such-engine --gtp"\n'
    ))  # fmt: skip
    assert command(["tournament", str(file), "--out", str(tmp_path / "run"), "--check"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "no-such-engine" in error


def test_the_status_of_a_run(file, tmp_path, capsys):
    out = tmp_path / "run"
    jb.tournament(file, games=2, out=out)
    capsys.readouterr()
    assert command(["status", str(out)]) == 0
    said = capsys.readouterr().out
    assert "6 of 6 games; it is complete" in said
    assert "u/simulations=4" in said, "the standings"
    with locked(out):
        code = f"from pathlib import Path\nfrom jubango.arena.runs.work_folder import is_at_play\nprint(is_at_play(Path({str(out)!r})))"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.strip() == "True"
    assert not is_at_play(out)
    text = (out / "tournament.toml").read_text()
    (out / "tournament.toml").write_text(text.replace("games_per_pairing = 2", "games_per_pairing = 4"))
    assert command(["status", str(out), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["finished"], found["missing"], found["total"], found["at_play"]) == (6, 6, 12, False)
    assert command(["status", str(tmp_path)]) == 2


@pytest.mark.full
def test_fair_openings_are_fair(tmp_path, capsys):
    """On a board of 5x4 with three in a row the first player wins, but not after any two moves."""
    out = tmp_path / "fair.sgf"
    arguments = [
        "--game",
        "connect_four:5x4,k=3",
        "--plies",
        "3",
        "--count",
        "4",
        "--bot",
        "uct",
        "--simulations",
        "300",
    ]
    assert command(["openings", *arguments, "--between", "20,80", "--out", str(out)]) == 0
    game = make_game("connect_four:5x4,k=3")
    found = read_games(out)
    rates = [float(re.search(r"win rate ([\d.]+) %", sgf.properties["C"])[1]) for sgf in found]
    assert len(found) == 4
    assert all(20 <= rate <= 80 for rate in rates)
    assert sorted(rates, key=lambda rate: abs(rate - 50)) == rates
    openings = openings_of(game, str(out), 0, 1)
    for rate, opening in zip(rates, openings.listed, strict=True):
        again = jb.analyze(position(game, opening.moves), "uct", simulations=3000, seed=9)
        assert abs(100 * again.win_rate.black - rate) < 25
    with pytest.raises(TooFew, match=r"are between 49\.9 and 50 %, not 40") as few:
        balanced_openings(make_game("tic_tac_toe"), 40, 1, "uct:simulations=8", (0.499, 0.5))
    assert len(few.value.found) < 40
    assert command(["openings", *arguments, "--between", "80,20", "--out", str(out)]) == 2


@pytest.mark.full
def test_openings_that_were_found_are_kept_though_they_are_too_few(tmp_path, capsys):
    """After one move tic-tac-toe has three positions that no turn makes one of the others."""
    out = tmp_path / "few.sgf"
    words = ["openings", "--game", "tic_tac_toe", "--plies", "1", "--bot", "uct", "--simulations", "20", "--count", "5"]
    assert command([*words, "--between", "0,100", "--out", str(out)]) == 1
    said, error = capsys.readouterr()
    assert "few.sgf: 3 openings, Black's win rates " in said
    assert re.fullmatch(
        r"jubango: openings: of .* openings of 1 moves 3 are between 0 and 100 %, not 5; ask .*\n", error
    )
    assert len({sgf.properties["ON"] for sgf in read_games(out)}) == 3
    assert command([*words, "--between", "0,0.01", "--out", str(tmp_path / "none.sgf")]) == 2
    assert not (tmp_path / "none.sgf").exists()


@pytest.mark.full
def test_balanced_sets_come_along():
    for spec in ("connect_four", "gomoku:9", "go:9", "go:9,komi=0.5"):
        openings = openings_of(make_game(spec), "balanced", 0, 1)
        assert len(openings.listed) >= 40
        assert len({opening.moves for opening in openings.listed}) == len(openings.listed)


@pytest.mark.full
def test_a_run_that_is_watched_says_so(tmp_path, file):
    """The status of a run that is at play, from another process."""
    slow = (
        "import time\nfrom jubango.arena.games.batch import GameBatch\nplain = GameBatch.begin\n"
        "GameBatch.begin = lambda *a: (time.sleep(0.3), plain(*a))[1]\nfrom jubango.arena.commands import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "tournament", str(file), "--out", str(tmp_path / "run")], stderr=subprocess.DEVNULL
    )
    try:
        while not list((tmp_path / "run").glob("games/*.sgf")):
            time.sleep(0.05)
            assert process.poll() is None
        assert is_at_play(tmp_path / "run")
    finally:
        process.kill()
        process.wait()
    assert not is_at_play(tmp_path / "run")
