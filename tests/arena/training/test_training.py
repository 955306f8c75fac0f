"""Training runs: what is in their folders, and that they can be left and gone on with at any time."""

from __future__ import annotations

import csv
import io
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from nets import random_network

import jubango as jb
from jubango.analysis.learning_curves import reliability
from jubango.arena.commands import run as command
from jubango.arena.text.console import Console
from jubango.arena.training.measuring import Measuring
from jubango.arena.training.tables import Match
from jubango.arena.training.training import Training, TrainingProgress, pace
from jubango.arena.training.view import TrainingView
from jubango.bots.config import bot_from_spec
from jubango.bots.learning import training_config
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.arrays import read_arrays
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import apply
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
TRAIN = [sys.executable, "-c", "from jubango.arena.commands import main; main()", "train", "--game", "tic_tac_toe"]
SHORT = ["--measure-minutes", "0.1", "--measure-games", "4"]
QUICK = Measuring(minutes=0.1, games=4, simulations=8)


def begun(folder, *words) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*TRAIN, "--out", "run", *SHORT, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    )


def rows(path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_an_accelerator_makes_a_larger_network(monkeypatch):
    monkeypatch.setattr(training_config, "on_cpu", lambda: True)
    usual = TrainingConfig(games=("go:9",)).chosen()
    monkeypatch.setattr(training_config, "on_cpu", lambda: False)
    larger = TrainingConfig(games=("go:9",)).chosen()
    assert (larger.channels, larger.blocks, larger.lanes) == (128, 8, 1024)
    assert larger.channels > usual.channels
    assert TrainingConfig(games=("go:9",), channels=8).chosen().channels == 8
    assert TrainingConfig(games=("tic_tac_toe",)).chosen().channels == 16


def test_a_run_is_killed_its_newest_checkpoint_damaged_and_it_goes_on(tmp_path):
    run = tmp_path / "run"
    process, deadline = begun(tmp_path), time.monotonic() + 500
    checkpoints = run / "checkpoints"

    def finished() -> list[Path]:
        return sorted(checkpoints.glob("*.safetensors"), key=lambda path: int(path.stem))

    while not checkpoints.exists() or len(finished()) < 2:
        time.sleep(0.1)
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    *_, before, newest = finished()
    kept, _ = read_arrays(before, "checkpoint", "checkpoints")
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    measured = len(rows(run / "matches.csv"))
    seconds = float(rows(run / "matches.csv")[-1]["seconds"])
    again = begun(tmp_path, "--minutes", str((seconds + 8) / 60))
    out, errors = again.communicate(timeout=500)
    assert again.returncode == 0, errors
    assert "Traceback" not in errors
    assert (
        f"checkpoint run/checkpoints/{newest.name}: is no file of this program's checkpoints, or is cut off; it is left out"
        in errors
    )
    assert "Elo over random" in out
    assert len(rows(run / "matches.csv")) > measured
    best = load_weights(run / "best.safetensors")
    assert best.how["boards"] == ["tic_tac_toe"]
    newest_network = load_weights(run / "newest.safetensors")
    assert int(newest_network.how["games"]) >= kept["counts/games"] > 0
    assert errors.count("left out") == 1
    assert list((run / "damaged").iterdir())
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_ctrl_c_keeps_what_has_been_learnt(tmp_path):
    process = begun(tmp_path)
    while not (tmp_path / "run" / "curve.png").exists():  # the last that is written, and matplotlib is imported by then
        time.sleep(0.1)
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert " train --game tic_tac_toe --out run" in errors.splitlines()[-1]
    assert load_weights(tmp_path / "run" / "newest.safetensors").how["steps"] > 0


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A short run from Python: (its folder, what it yielded)."""
    folder = tmp_path_factory.mktemp("trained")
    return folder, list(jb.train("mnk:3,k=3", folder, games=15_000, measuring=QUICK, channels=8, blocks=1))


def test_what_a_run_yields(trained):
    folder, progress = trained
    assert [one.stage for one in (progress[0], progress[-1])] == ["compiling", "done"]
    assert "measuring" in {one.stage for one in progress}
    training = progress[-1].training
    assert training.trainer.counts["games"] >= 15_000
    assert 0.1 <= training.trainer.pace < 0.4, "at the end it learns slowly"
    assert training.measurements.elo
    assert {match.opponent for match in training.measurements.matches} >= {"random", "uct:simulations=100"}
    losses = [one.step.losses for one in progress if one.step and one.step.losses]
    gap = [float(loss.policy - loss.target) for loss in losses]
    assert np.mean(gap[-5:]) < np.mean(gap[:5])
    assert int(load_weights(folder / "best.safetensors").how["games"]) <= training.trainer.counts["games"]


def test_what_has_been_learnt_is_kept_before_it_is_measured(tmp_path):
    for one in jb.train("mnk:3,k=3", tmp_path, measuring=QUICK, channels=8, blocks=1):
        if one.stage == "measuring":
            turn = int(one.training.trainer.counts["turns"])
            assert (tmp_path / "checkpoints" / f"{turn}.safetensors").exists()
            break


def test_a_network_says_what_it_was_begun_with_but_not_where_that_lay(trained, tmp_path):
    best = trained[0] / "best.safetensors"
    *_, _ = jb.train("mnk:3,k=3", tmp_path, games=4000, measuring=QUICK, channels=8, blocks=1, start=str(best))
    newest = tmp_path / "newest.safetensors"
    assert load_weights(newest).how["settings"]["start"] == "best.safetensors"
    assert str(best.parent).encode() not in newest.read_bytes()


def test_what_it_has_learnt_plays(trained):
    folder, _ = trained
    network = f"network={folder / 'newest.safetensors'}"  # the best may be from the first seconds
    searches = [f"{bot}:simulations=16,{network}" for bot in ("alphago", "alphazero", "gumbel")]
    for spec in (f"policy:temperature=0,{network}", f"value:{network}", *searches):
        run = jb.match(spec, "random", "tic_tac_toe", 200)
        points = [r.score if r.white == "random" else 1 - r.score for r in run.results]
        assert np.mean(points) > 0.6, spec  # twelve measured had 0.76 at the least


def test_a_run_goes_on_only_as_it_was_begun(trained):
    folder, _ = trained
    with pytest.raises(UserError, match="was begun with channels = 8, not 16; use another --out folder"):
        Training({"games": ("tic_tac_toe",), "channels": 16}, folder)
    with pytest.raises(UserError, match="was begun with tic_tac_toe, not connect_four"):
        Training({"games": ("connect_four",)}, folder)
    assert Training({"games": ("tic_tac_toe",)}, folder).settings.channels == 8
    assert Training({"games": ("tic_tac_toe",), "channels": 0, "seed": 1}, folder).settings.channels == 8
    assert Training({"games": ("tic_tac_toe",), "rate": 5e-4, "fast": 4}, folder).settings.rate == 5e-4
    assert Training({"games": ("tic_tac_toe", "mnk:4,k=3")}, folder).settings.fast == 4
    assert Training({"games": ("tic_tac_toe",)}, folder).settings.games == ("tic_tac_toe",)
    assert Training({"games": ("tic_tac_toe",), "rate": 1e-3}, folder).settings.rate == 1e-3
    assert Training({"games": ("tic_tac_toe",), "surprise": 0.0}, folder).settings.surprise == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--game", "go:x"], "go:x"), (["--game", "go:5", "--game", "gomoku:9"], "no boards of one game"),
        (["--game", "tic_tac_toe", "--start", "nowhere"], "nowhere"), (["--game", "tic_tac_toe", "--search", "magic"], "search"),
        (["--game", "tic_tac_toe", "--channels", "99999"], "channels"),
        (["--game", "tic_tac_toe", "--share", "2"], "train: share = 2.0: should be less than or equal to 1"),
        (["--game", "tic_tac_toe", "--batch", "0"], "train: batch = 0"), (["--game", "tic_tac_toe", "--rate", "nan"], "rate = nan"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path, capsys, words, message):
    assert command(["train", *words, "--out", str(tmp_path / "run")]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert message in errors[-1]
    assert not any("Traceback" in line for line in errors)


def test_a_training_begins_with_a_smaller_network(tmp_path):
    start = tmp_path / "small.safetensors"
    shape = random_network(start, make_game("tic_tac_toe"), channels=4, blocks=1)
    how = {"games": ("tic_tac_toe",), "start": str(start), "lanes": 16}
    trainer = Training(how | {"channels": 8, "blocks": 2}, tmp_path / "large").trainer
    planes = np.random.default_rng(1).random((4, 3, 3, 3), np.float32)
    said = apply(shape, load_weights(start).weights, planes)
    assert np.asarray(apply(trainer.shape, trainer.weights, planes).policy) == pytest.approx(
        np.asarray(said.policy), abs=1e-4
    )
    with pytest.raises(UserError, match=f"train: {start} is a network of another shape: .*, which does not grow to "):
        Training(how | {"channels": 2, "blocks": 1}, tmp_path / "smaller")


def test_programs_are_made_before_training_begins(tmp_path, caplog):
    """And are not counted as training."""
    caplog.set_level(logging.WARNING, "jax")
    training = Training({"games": ("mnk:4x2,k=2",), "channels": 4, "blocks": 1, "lanes": 32, "batch": 32}, tmp_path)
    programs = re.compile(r"Compiling (?:jit\()?(further|part|move|<lambda>)\b")

    def made() -> list[str]:
        return [found[1] for message in caplog.messages if (found := programs.search(message))]

    with jax.log_compiles():
        assert [*training.trainer.compile()] == ["self-play of mnk:4x2,k=2", "learning from mnk:4x2,k=2"]
        assert {"further", "part", "move"} <= set(made())
        assert (training.seconds, training.trainer.counts["turns"]) == (0.0, 0)
        caplog.clear()
        while training.trainer.steps < 10:
            training.trainer.step()
    assert made() == []
    assert training.seconds > 0


def test_who_has_learnt_nothing_is_not_the_best(tmp_path, capsys):
    words = [
        "train",
        "--game",
        "tic_tac_toe",
        "--channels",
        "4",
        "--blocks",
        "1",
        "--out",
        str(tmp_path / "run"),
        "--lanes",
        "32",
    ]
    assert command([*words, "--games", "5"]) == 0
    out, errors = capsys.readouterr()
    assert "nothing has been learnt in " in errors and "learning begins with 1,024" in errors
    assert "best" not in out + errors
    assert not (tmp_path / "run" / "best.safetensors").exists()
    assert not (tmp_path / "run" / "newest.safetensors").exists()
    stages = [line.split(",")[0] for line in errors.splitlines()]
    stages = [stage for stage in stages if stage != "compiling"]  # which a slow machine says every 20 s
    assert stages[:2] == ["compiling self-play of tic_tac_toe", "compiling learning from tic_tac_toe"]
    assert command([*words, "--games", "6"]) == 0, "it goes on"


def test_data_that_ends_too_early_is_no_interruption(tmp_path, capsys, monkeypatch):
    def broken(*words, **keys):
        raise EOFError("No data left in file")

    monkeypatch.setattr("jubango.arena.training.training.train", broken)
    assert command(["train", "--game", "tic_tac_toe", "--out", str(tmp_path / "run")]) == 1
    assert capsys.readouterr().err.strip().startswith("jubango: EOFError: No data left in file")


def test_reliability_by_hand():
    said = [(-1.0, -1.0), (-0.95, 1.0), (0.0, 0.0), (0.99, 1.0), (1.0, 1.0)]
    found = reliability(said, bins=4)
    assert [number for _, _, number in found] == [2, 1, 2]
    assert found[0][:2] == pytest.approx((0.0125, 0.5))
    assert found[2][:2] == pytest.approx((0.9975, 1.0))
    assert reliability([]) == []


def test_the_best_network_is_the_one_that_beat_the_best(trained, tmp_path):
    """By the matches alone, whenever they were interrupted."""
    training = trained[1][-1].training
    matches = [*training.measurements.matches]
    try:
        training.measurements.matches.clear()
        assert training.measurements.best == ""
        for number, opponent, wins, best in [
            (1, "random", 4, "net-0001"), (2, "net-0001", 1, "net-0001"), (3, "net-0001", 3, "net-0003"),
            (3, "random", 4, "net-0003"), (4, "net-0003", 2, "net-0003"), (5, "net-0003", 4, "net-0005"),
        ]:  # fmt: skip
            training.measurements.matches.append(
                Match(60.0 * number, 10, f"net-{number:04d}", opponent, wins, 0, 4 - wins)
            )
            assert training.measurements.best == best
            training.draw()
    finally:
        training.measurements.matches[:] = matches


def test_who_cannot_play_is_left_out(trained, monkeypatch):
    """An opponent that does not start costs its matches, and the training goes on."""
    training = trained[1][-1].training
    broken = bot_from_spec('gtp:command="/nowhere/gnugo"', "broken")
    monkeypatch.setattr("jubango.arena.training.measuring.ladder", lambda game: [bot_from_spec("random"), broken])
    before = len(training.measurements.matches)
    list(training.measure())
    assert {match.opponent for match in training.measurements.matches[before:]} <= {
        "random",
        *(m.network for m in training.measurements.matches),
    }
    assert any(note.startswith("broken is left out: ") for note in training.notes)
    list(training.measure())
    assert sum(note.startswith("broken is left out: ") for note in training.notes) == 1


def test_any_number_of_devices_learns(tmp_path):
    """Three do not divide a batch of 256."""
    code = """
import jubango as jb
jb.configure(cores=3, cache="cache")
last = [one for one in jb.train("tic_tac_toe", "run", games=2500, channels=4, blocks=1)][-1]
assert last.stage == "done" and last.training.trainer.steps > 0 and last.training.trainer.recipe.batch == 258
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JUBANGO_CORES": "3"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_run_slows_down_towards_its_end():
    assert [pace(share) for share in (0, 0.5, 0.85)] == [1.0] * 3
    assert [pace(share) for share in (0.925, 1)] == pytest.approx([0.55, 0.1])


def test_off_a_terminal_lines_say_how_a_long_compilation_goes_on(monkeypatch, tmp_path):
    """A program of a network may take minutes; a file that is watched says so, and is quiet when games are played."""
    monkeypatch.setattr("jubango.arena.training.view.AGAIN", 0.02)
    monkeypatch.setattr("jubango.arena.text.preparing.AGAIN", 0.02)
    training = Training({"games": ("tic_tac_toe",)}, tmp_path)
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    view = TrainingView(console)

    def lines(least: int) -> list[str]:
        for _ in range(500):
            if len(found := console.file.getvalue().splitlines()) >= least:
                break
            time.sleep(0.02)
        return found

    with view.running():
        view.show(TrainingProgress(training, None, "compiling", 0.0, None, "self-play of tic_tac_toe"))
        said = lines(3)
        view.show(TrainingProgress(training, None, "self-play", 0.0, None))
        quiet = len(lines(4))
        time.sleep(0.1)
        assert len(lines(0)) <= quiet + 1
    assert said[0] == "compiling self-play of tic_tac_toe"
    assert re.fullmatch(r"compiling, \d+ s.*: self-play of tic_tac_toe", said[2])
