"""Tuning as its users meet it: files, a run that is killed and goes on, what it says in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

import jubango as jb
from jubango.analysis.tables.tables import moves_frame
from jubango.arena.commands import run as command
from jubango.arena.found_runs import RunState, found_run
from jubango.arena.games.pool import GamePool
from jubango.arena.runs import under_way
from jubango.arena.tuning.plan import read_tune_plan
from jubango.arena.tuning.tuner import TuningInterrupted, play_tuning
from jubango.sgf_games.base.errors import UserError

pytestmark = pytest.mark.full

FILE = """
game = "tic_tac_toe"
games = 24
games_per_round = 8
confirm = ""
[bot]
use = "uct"
simulations = 8
[[settings]]
key = "c"
low = 0.05
high = 8.0
log = true
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(FILE)
    return path


def test_a_tuning_that_is_killed_goes_on_as_if_nothing_had_happened(file, tmp_path, capsys):
    """The same settings are proposed and the same games played, whenever it is stopped."""
    assert command(["tune", str(file), "--out", str(tmp_path / "whole")]) == 0
    slow = (
        "import time\nfrom jubango.arena.games.batch import GameBatch\nplain = GameBatch.begin\n"
        "GameBatch.begin = lambda *a: (time.sleep(0.05), plain(*a))[1]\nfrom jubango.arena.commands import main; main()"
    )
    out = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "tune", str(file), "--out", str(out)], stderr=subprocess.DEVNULL
    )
    while len(list(out.glob("games/*.sgf"))) < 10:
        time.sleep(0.02)
        assert process.poll() is None
    process.kill()
    process.wait()
    capsys.readouterr()
    assert command(["tune", str(file), "--out", str(out), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["games"] == 24
    assert (out / "settings.csv").read_text() == (tmp_path / "whole" / "settings.csv").read_text()
    assert (out / "tune.png").stat().st_size > 5_000
    (setting,) = found["settings"]
    assert 0.05 <= setting["low"] <= setting["value"] <= setting["high"] <= 8
    assert found["bot"].startswith("uct:simulations=8,c=")


def test_a_tuning_whose_last_match_is_interrupted_is_gone_on_with(file, tmp_path):
    file.write_text(FILE.replace('confirm = ""', 'confirm = "0,20"'))
    plan, out = read_tune_plan(file), tmp_path / "out"

    def enough(match):
        if match.results:
            raise KeyboardInterrupt

    with pytest.raises(TuningInterrupted):
        play_tuning(plan, out, on_confirming=enough)
    found = found_run(out, tmp_path)
    assert (found.done, found.total, found.state) == (24, 24, RunState.interrupted)
    assert found.go_on.endswith(f"tune {out / 'tune.toml'} --out {out}")
    assert found.open.endswith(f"report {out / 'confirm-24'} --open")


def test_settings_that_hardly_search_are_found_to_be_worse():
    """Where one simulation is as good as chance, a bot that may have sixty wants them."""
    tuning = jb.tune("tic_tac_toe", "uct:simulations=2", {"simulations": (1, 60)}, games=192, confirm="")
    (found,) = tuning.best
    assert found.value > 8
    assert tuning.gain.value > 50


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("low = 0.05", "low = 9.0", "should be below high"),
        ("low = 0.05", "low = 0", "should be above 0"),
        ('key = "c"', 'key = "cc"', "is no key of uct"),
        ('key = "c"', 'key = "leaves"', "cannot be tuned"),
        ('use = "uct"\nsimulations = 8', 'use = "random"', "only searching bots can be tuned"),
        ("games = 24", "game_s = 24", 'no key "game_s"'),
        ("games = 24", "games = 25", "even number"),
        ("simulations = 8", "simulations = -8", "simulations"),
    ],
)
def test_a_file_that_cannot_be_tuned_is_one_line(file, old, new, says):
    file.write_text(FILE.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_tune_plan(file)
    assert str(caught.value).startswith(str(file))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_games_under_way_go_on_after_a_kill(file, tmp_path, monkeypatch):
    monkeypatch.setattr(under_way, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(under_way, "MOST_KEEPING", 1e9)
    file.write_text(FILE.replace("tic_tac_toe", "go:5"))
    plan, seen, play = read_tune_plan(file), [], GamePool.play
    monkeypatch.setattr(
        GamePool, "play", lambda table, tasks, more, begun: (seen.extend(begun), play(table, tasks, more, begun))[1]
    )

    class Killed(BaseException):
        pass

    for round in (1, 2):
        ticks = []

        def kill(tuning, round=round, ticks=ticks):
            ticks.append(tuning.round == round)
            if sum(ticks) > 4:
                raise Killed

        with pytest.raises(Killed):
            play_tuning(plan, tmp_path / "killed", kill)
        assert (tmp_path / "killed" / under_way.UNDER_WAY).stat().st_size
    killed, whole = play_tuning(plan, tmp_path / "killed"), play_tuning(plan, tmp_path / "whole")
    trials = {int(name.removeprefix("tuned-")[:5]) for name in seen if name.startswith("tuned-")}
    assert min(trials) <= 4 < max(trials), "games of both rounds went on"
    assert not any("anew" in note for note in killed.notes)
    assert killed.scores == whole.scores
    assert not (tmp_path / "killed" / under_way.UNDER_WAY).exists()
    moves = [moves_frame(tmp_path / name)[["game_id", "ply", "move", "visits"]] for name in ("killed", "whole")]
    assert moves[0].equals(moves[1])
