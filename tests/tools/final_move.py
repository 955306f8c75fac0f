"""The move that a search would play, from the statistics of one root."""

from __future__ import annotations

import numpy as np

from jubango.bots.search.root import final_moves


def final_move(found, rule="visits", temperature=0.0, seed=0, ties="first"):
    batch = type(found)(*(np.asarray(x)[None] for x in found))
    return int(final_moves(batch, [rule], [temperature], [seed], ties)[0])
