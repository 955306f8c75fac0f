"""Two CPU devices as on the smallest machine, and a cache of compiled programs between runs."""

from __future__ import annotations

from sgf_games.lanes import prepare_machine

prepare_machine(2)
