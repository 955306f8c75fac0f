"""Files of weights that are not what they say: refused in one line that names the file, before anything is built."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import numpy as np
import pytest
from safetensors.numpy import save_file

from jubango.bots.networks.model import Shape, load_weights, new_network, save_network, weights_of
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.errors import UserError


@pytest.fixture(scope="module")
def honest():
    """(the shape, the weights) of a small network."""
    shape = Shape.of(make_game("tic_tac_toe"), channels=4, blocks=1)
    return shape, {name: np.array(value) for name, value in weights_of(new_network(shape, seed=1)).items()}


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
        ({"channels": BIG}, "channels = 1000000000"), ({"blocks": BIG}, "blocks"), ({"height": 10**400}, "height"), ({"blocks": 5000}, "blocks"),
        ({"channels": 0}, "channels = 0"), ({"width": -3}, "width = -3"), ({"planes": None}, "planes = None"), ({"actions": 9.0}, "actions = 9.0"),
        ({"blocks": True}, "blocks = True"), ({"channels": "4"}, "channels = '4'"), ({"channels": 6}, "multiple of 4"),
        ({"channels": 8}, "do not fit"), ({"blocks": 100}, "do not fit"), ({"blocks": 2}, "do not fit"), ({"actions": 999_999}, "do not fit"),
        ({"width": 1000, "height": 1000}, "do not fit"), ({"depth": 3}, "is no file of this program's weights"),
    ],
)  # fmt: skip
def test_metadata_that_lies(tmp_path, honest, lie, message):
    shape, weights = honest
    path = tmp_path / "lies.safetensors"
    save_file(weights, str(path), metadata={"jubango": json.dumps({**asdict(shape), **lie})})
    assert message in refusal(path)


@pytest.mark.parametrize("metadata", ["", "[]", "null", "[" * 100_000, '{"game": 1e999}', "9" * 5000])
def test_metadata_that_is_none(tmp_path, honest, metadata):
    save_file(honest[1], str(tmp_path / "net"), metadata={"jubango": metadata})
    assert "is no file of this program's weights" in refusal(tmp_path / "net")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38, -1e5])
def test_weights_that_are_no_numbers(tmp_path, honest, value):
    shape, weights = honest
    spoilt = {**weights, "value.bias": np.full_like(weights["value.bias"], value)}
    save_file(spoilt, str(tmp_path / "net"), metadata={"jubango": json.dumps(asdict(shape))})
    assert "value.bias holds weights that are no numbers, or beyond 10000" in refusal(tmp_path / "net")


def test_weights_of_another_kind(tmp_path, honest):
    shape, weights = honest
    for kind in (np.float64, np.int32, np.float16, bool):
        save_file(
            {name: value.astype(kind) for name, value in weights.items()}, str(tmp_path / "net"),
            metadata={"jubango": json.dumps(asdict(shape))},
        )  # fmt: skip
        assert "do not fit" in refusal(tmp_path / "net")


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is no regular file" in refusal(tmp_path / "pipe")
    assert "is a folder" in refusal(tmp_path)
    assert "cannot be read" in refusal(tmp_path / "nowhere")
    for data in (b"", b"\xff" * 100, (10**12).to_bytes(8, "little") + b"{}"):
        (tmp_path / "net").write_bytes(data)
        assert "is no file" in refusal(tmp_path / "net")


def test_shapes_are_checked():
    with pytest.raises(UserError, match="channels = 5: should be a multiple of 4"):
        Shape.of(make_game("tic_tac_toe"), channels=5)


def test_honest_files_are_read(tmp_path, honest):
    shape = honest[0]
    save_network(tmp_path / "net", new_network(shape, seed=1), shape)
    weights, found = load_weights(tmp_path / "net")
    assert found == shape
    assert all(np.array_equal(weights[name], value) for name, value in honest[1].items())
