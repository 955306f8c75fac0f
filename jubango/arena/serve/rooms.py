"""The rooms there are, in the order of the navigation."""

from __future__ import annotations

from jubango.arena.serve.analyse import room as analyse
from jubango.arena.serve.play import room as play
from jubango.arena.serve.train import room as train
from jubango.arena.serve.watch import room as watch

ROOMS = (play.room, analyse.room, watch.room, train.room)
