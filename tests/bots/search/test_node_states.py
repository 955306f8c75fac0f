"""What a node keeps of a state comes out of its words as it went in, whatever its arrays are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import jax
import numpy as np
import pytest

from jubango.bots.search.tree.node_states import packed, unpacked, words_of
from jubango.sgf_games.rules.catalogue import make_game

SHAPES = {
    "bool": (5,), "uint8": (3,), "int8": (), "uint16": (9,), "int16": (2, 2), "uint32": (2, 3), "int32": (),
    "float32": (4,), "float16": (3,), "bfloat16": (1, 5),
}  # fmt: skip


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_any_arrays(batch):
    rng = np.random.default_rng(0)

    def bits(dtype: str, shape: tuple[int, ...]) -> jax.Array:
        raw = rng.integers(0, 256, (*shape, jax.numpy.dtype(dtype).itemsize), np.uint8)  # not-a-numbers among them
        return jax.numpy.asarray(raw[..., 0] % 2 == 1 if dtype == "bool" else raw.view(jax.numpy.dtype(dtype))[..., 0])

    one = {dtype: bits(dtype, shape) for dtype, shape in SHAPES.items()} | {"none": jax.numpy.zeros((0, 4))}
    game = cast("Any", SimpleNamespace(init=lambda: one, without_history=lambda state: state))
    states = {key: bits(key, (*batch, *x.shape)) if key in SHAPES else jax.numpy.zeros((*batch, 0, 4)) for key, x in one.items()}  # fmt: skip
    words = jax.jit(lambda states: packed(states, len(batch)))(states)
    assert words.shape == (*batch, words_of(game)) and words.dtype == np.uint32
    found = jax.jit(lambda words: unpacked(words, game))(words)
    for key, x in states.items():
        assert found[key].dtype == x.dtype and found[key].shape == x.shape
        assert np.asarray(found[key]).tobytes() == np.asarray(x).tobytes(), key


def test_rows_share_words():
    assert words_of(make_game("go:9")) == 2 * 5 + 6  # nine rows of 16 bits a player, six numbers
    assert words_of(make_game("go:19")) == 2 * 19 + 6
