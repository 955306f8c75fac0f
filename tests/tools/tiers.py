"""Which cases of a test are run by `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` for ``parametrize``; all but ``quick`` are left to `make test-full`."""
    quick = list(quick)
    return [value if value in quick else pytest.param(value, marks=pytest.mark.full) for value in values]
