"""Which cases of a test are run by `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full_but(quick: Iterable[Any], values: Iterable[Any], several: bool = False) -> list[Any]:
    """``values`` of one argument for ``parametrize``, or of ``several``; all but ``quick`` are left to `make test-full`."""
    quick, values = list(quick), list(values)
    assert all(value in values for value in quick), "a quick case that there is not"
    return [
        value if value in quick else pytest.param(*(value if several else [value]), marks=pytest.mark.full)
        for value in values
    ]
