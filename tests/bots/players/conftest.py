"""Players that tests register are forgotten after them."""

from __future__ import annotations

import pytest

from jubango.bots.config import KINDS, PRESETS


@pytest.fixture(autouse=True)
def _no_player_stays():
    kinds, presets = dict(KINDS), dict(PRESETS)
    yield
    for registry, before in ((KINDS, kinds), (PRESETS, presets)):
        registry.clear()
        registry.update(before)
