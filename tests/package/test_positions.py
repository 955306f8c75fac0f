"""The positions of benchmarks/positions are games that can be played on from."""

from __future__ import annotations

from pathlib import Path

import pytest

import jubango as jb

FILES = sorted((Path(__file__).parents[2] / "benchmarks" / "positions").glob("*.sgf"))


def test_there_are_ten():
    assert len(FILES) == 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_position_has_a_right_move(path):
    """Its main line is played by the rules, from a board on which whoever the comment says is to move."""
    record = jb.read_sgf(path)
    first = record.at(0)
    assert len(record.positions) == len(record) + 1 >= 2
    assert f"{('Black', 'White')[first.player]} to play" in record.sgf.properties["C"]
    assert first.game.spec.startswith("go:9")
    assert "Right" in record.sgf.nodes[1].comment
