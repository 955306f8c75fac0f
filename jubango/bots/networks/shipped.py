"""The networks that come with the package: which plays what."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from jubango.sgf_games.rules.game import Game

WEIGHTS_FOLDER = Path(__file__).parent / "weights"


class Shipped(NamedTuple):
    """Weights that come with the package, and the boards they know."""

    file: str
    least: int  # points of a side
    most: int


# By the family of games; docs/training.md says how each was made.
SHIPPED_NETWORKS: dict[str, Shipped] = {
    "connect_four,k=4": Shipped("connect_four.safetensors", 6, 7),
    "go": Shipped("go.safetensors", 9, 9),
    "mnk,k=3": Shipped("tic_tac_toe.safetensors", 3, 3),
    "mnk,k=5": Shipped("gomoku.safetensors", 9, 9),
}


def shipped(game: Game) -> Path | None:
    """The file of weights that the package has for this game, if it has any for boards of this size."""
    found = SHIPPED_NETWORKS.get(game.family)
    if found is None or not all(found.least <= side <= found.most for side in (game.height, game.width)):
        return None
    return WEIGHTS_FOLDER / found.file
