"""A training from recorded games, end to end: what is in its folder, and that it can be left and gone on with."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import jubango as jb
from jubango.bots.learning.trainer import Trainer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.checkpoint import load_weights
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import rules

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
TRAIN = [sys.executable, "-c", "from jubango.arena.commands import main; main()", "train", "--game", "go:5,komi=0.5"]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Games in which Black always plays the least legal point, and wins, and White the largest."""
    folder = tmp_path_factory.mktemp("records")
    game = jb.make_game("go:5,komi=0.5")
    for number in range(120):
        rng, state, moves = np.random.default_rng(number), game.init(), []
        for ply in range(16):
            legal = np.flatnonzero(np.asarray(rules(game).view(state).legal)[:25])
            action = int(rng.choice(legal) if ply < 4 else legal[0] if ply % 2 == 0 else legal[-1])
            moves.append(f";{'BW'[ply % 2]}[{chr(97 + action % 5)}{chr(97 + action // 5)}]")
            state = rules(game).step(state, action)
        (folder / f"{number}.sgf").write_text(f"(;GM[1]SZ[5]KM[0.5]RE[B+R]{''.join(moves)})")
    (folder / "damaged.sgf").write_text("(;GM[1]SZ[5]RE[B+R];B[aa")
    return folder


def test_a_network_learns_what_was_played_and_who_won(records, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [
        "--records", str(records), "--epochs", "30", "--games", "1500", "--per-game", "8", "--channels", "8", "--blocks",
        "1", "--batch", "64", "--rate", "0.01", "--measure-games", "2", "--out", "run",
    ]  # fmt: skip
    done = subprocess.run([*TRAIN, *words], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "damaged.sgf" in done.stderr
    assert "learning from records" in done.stderr
    run = tmp_path / "run"
    with open(run / "records.csv", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert last["board"] == "go:5,komi=0.5"
    assert float(last["top1"]) > 0.4  # of moves the first four of sixteen are chance
    assert float(last["value"]) < 0.2
    assert last["ownership"] == "nan"  # nothing was counted
    how = load_weights(run / "best.safetensors").how
    assert how["from_records"] == int(float(last["learnt"])) > 0
    assert how["settings"]["records"] == [records.name]
    assert str(records) not in str(how)


def test_a_run_that_goes_on_learns_the_same(records, tmp_path):
    def trainer(folder, path=records, **more):
        settings = TrainingConfig(
            games=("go:5,komi=0.5",), records=(str(path),), epochs=3, per_game=8, channels=4, blocks=1, batch=32,
            **more,
        )  # fmt: skip
        return Trainer(settings.chosen(), folder)

    once = trainer(tmp_path / "once")
    for _ in range(4):
        once.step()
    for turns in (1, 1, 2):
        again = trainer(tmp_path / "again")
        for _ in range(turns):
            again.step()
        again.save()
    assert not again.by_records
    assert once.steps == again.steps > 20
    jax.tree.map(np.testing.assert_array_equal, once.weights, again.weights)
    assert once.held_out() == again.held_out() or np.isnan(once.held_out()[0].score)
    assert trainer(tmp_path / "again", tmp_path / "gone").steps == once.steps, "what has been read is not asked for"


def test_records_that_cannot_be_read_are_one_line(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*TRAIN, "--records", "nowhere.sgf"], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300
    )
    assert done.returncode == 2
    assert done.stderr.strip().endswith("records: nowhere.sgf: cannot be read: No such file or directory")


def test_self_play_takes_turns_with_records(records, tmp_path):
    settings = TrainingConfig(
        games=("go:5,komi=0.5",), records=(str(records),), alternate=("go:5,komi=0.5",), epochs=3, per_game=2, channels=4,
        blocks=1, batch=32, simulations=4, fast=2, lanes=16,
    )  # fmt: skip
    trainer = Trainer(settings.chosen(), tmp_path)
    assert [trainer.step().stage for _ in range(5)] == ["records", "self-play", "records", "self-play", "records"]
    assert not trainer.by_records
    assert trainer.counts["recorded"] > 0


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"alternate": ("go:9",)}, "there are no records"), ({"alternate": ("go:7",), "records": ("a",)}, "go:7,komi=7.5 is none of")],
)  # fmt: skip
def test_turns_that_cannot_be_taken_are_refused(settings, why):
    with pytest.raises(UserError, match=f"train: alternate: .*{why}"):
        TrainingConfig(games=("go:9",), **settings).chosen()
