"""Files of weights: honest ones are read, and what is not as it says is refused in one line, before anything is built."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from nets import random_weights
from safetensors.numpy import save_file

from jubango.analysis.reviews.review_file import network_digest
from jubango.arena.runs.weights import check_stated
from jubango.arena.schedule.plan import match_plan
from jubango.bots.config import bot_from_spec
from jubango.bots.networks.arrays import digest
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game


@pytest.fixture(scope="module")
def honest():
    """(the shape, the weights) of a small network."""
    shape = Shape.of(make_game("tic_tac_toe"), channels=4, blocks=1)
    return shape, random_weights(shape, seed=1)


def header(shape, weights, **lies) -> dict[str, str]:
    said = {"shape": {**asdict(shape), **lies}, "digest": digest(weights), "trained": {}}
    return {"jubango": json.dumps(said)}


def refusal(path) -> str:
    with pytest.raises(UserError) as caught:
        load_weights(path)
    message = str(caught.value)
    assert message.startswith(f"network {path}: ")
    assert message.isprintable()
    return message


BIG = 10**9


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"channels": BIG}, "channels = 1000000000"), ({"blocks": BIG}, "blocks"), ({"planes": 10**400}, "planes"), ({"blocks": 5000}, "blocks"),
        ({"channels": 0}, "channels = 0"), ({"width": -3}, "width = -3"), ({"planes": None}, "planes = None"), ({"passes": 1.0}, "passes = 1.0"),
        ({"blocks": True}, "blocks = True"), ({"channels": "4"}, "channels = '4'"), ({"head": "dense"}, "height = 0"), ({"head": "trees"}, "head = 'trees'"),
        ({"channels": 8}, "do not fit"), ({"blocks": 100}, "do not fit"), ({"blocks": 2}, "do not fit"), ({"actions": 9}, "actions = 9"),
        ({"passes": 1}, "do not fit"), ({"scores": True}, "do not fit"), ({"head": "columns"}, "do not fit"), ({"planes": 4}, "do not fit"),
        ({"head": "dense", "width": 1000, "height": 1000, "actions": 9}, "do not fit"), ({"game": 7}, "head"), ({"depth": 3}, "is no file of this program's weights"),
    ],
)  # fmt: skip
def test_metadata_that_lies(tmp_path, honest, lie, message):
    shape, weights = honest
    path = tmp_path / "lies.safetensors"
    save_file(weights, str(path), metadata=header(shape, weights, **lie))
    assert message in refusal(path)


@pytest.mark.parametrize("metadata", ["", "[]", "null", "[" * 100_000, '{"game": 1e999}', "9" * 5000])
def test_metadata_that_is_none(tmp_path, honest, metadata):
    save_file(honest[1], str(tmp_path / "net"), metadata={"jubango": metadata})
    assert "is no file of this program's weights" in refusal(tmp_path / "net")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38, -1e5])
def test_weights_that_are_no_numbers(tmp_path, honest, value):
    shape, weights = honest
    spoilt = {**weights, "outcome.bias": np.full_like(weights["outcome.bias"], value)}
    save_file(spoilt, str(tmp_path / "net"), metadata=header(shape, spoilt))
    assert "outcome.bias holds weights that are no numbers, or beyond 10000" in refusal(tmp_path / "net")


def test_weights_of_another_kind(tmp_path, honest):
    shape, weights = honest
    for kind in (np.float64, np.int32, np.float16, bool):
        changed = {name: value.astype(kind) for name, value in weights.items()}
        save_file(changed, str(tmp_path / "net"), metadata=header(shape, changed))
        assert "do not fit" in refusal(tmp_path / "net")


@pytest.mark.full
def test_every_altered_byte_is_noticed(tmp_path, honest):
    """Wherever a bit is turned or the file cut off, nothing is loaded."""
    shape, weights = honest
    path = tmp_path / "net"
    path.write_bytes(packed_weights(weights, shape, {"hours": 2.5}))
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    start = 8 + int.from_bytes(data[:8], "little")  # of the weights
    for at in [0, 9, *rng.integers(start, len(data), 30)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        refusal(path)
    for length in [0, 7, 100, start, len(data) - 1]:
        path.write_bytes(data[:length])
        refusal(path)


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is no regular file" in refusal(tmp_path / "pipe")
    assert "is a folder" in refusal(tmp_path)
    assert "cannot be read" in refusal(tmp_path / "nowhere")
    for data in (b"", b"\xff" * 100, (10**12).to_bytes(8, "little") + b"{}"):
        (tmp_path / "net").write_bytes(data)
        assert "is no file" in refusal(tmp_path / "net")


def test_only_of_a_file_is_there_a_digest(tmp_path):
    """A device may never end, and a pipe keep one waiting."""
    (tmp_path / "net").write_bytes(b"x")
    bots = [bot_from_spec(f"alphazero:network={path}") for path in (tmp_path / "net", os.devnull)]
    plan = match_plan(*bots, "tic_tac_toe", 2)
    assert check_stated(plan) == {str(tmp_path / "net"): hashlib.sha256(b"x").hexdigest()}
    assert network_digest(plan.game, bots[0]) == hashlib.sha256(b"x").hexdigest()
    with pytest.raises(UserError, match=f"^network {os.devnull}: is no regular file"):
        network_digest(plan.game, bots[1])


@pytest.mark.full
def test_weights_are_read_without_the_library_that_trains_them(tmp_path, honest):
    """Who plays need not have it."""
    shape, weights = honest
    (tmp_path / "net").write_bytes(packed_weights(weights, shape))
    code = (
        "import sys; from jubango.bots.gtp_server import host; from jubango.bots.networks.checkpoint import load_weights;"
        f"load_weights({str(tmp_path / 'net')!r}); print('optax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "False"


def test_honest_files_are_read(tmp_path, honest):
    shape = honest[0]
    (tmp_path / "net").write_bytes(packed_weights(honest[1], shape, {"games": 12}))
    weights, found, how = load_weights(tmp_path / "net")
    assert (found, how) == (shape, {"games": 12})
    assert all(np.array_equal(weights[name], value) for name, value in honest[1].items())
