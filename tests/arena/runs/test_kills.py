"""Runs that are killed and gone on with: one kill of each kind. `python tests/tools/kills.py KIND 30` tries more."""

from __future__ import annotations

import pytest
from kills import FILES, kill_runs, kill_training

pytestmark = pytest.mark.full


@pytest.mark.parametrize("kind", FILES)
def test_a_run_that_is_killed_ends_as_one_that_is_not(kind, tmp_path):
    """The same games, tables and last page."""
    assert kill_runs(kind, 1, 2, tmp_path, here=True, middle=True)["in the middle"] == 1


def test_a_training_that_is_killed_goes_on(tmp_path):
    assert kill_training(1, 1, tmp_path, here=True)["kills"] == 1
