"""The networks that come with the package: which plays what."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from jubango.sgf_games.rules.game import Game

WEIGHTS_FOLDER = Path(__file__).parent / "weights"


class Shipped(NamedTuple):
    """Weights that come with the package, and the boards they know."""

    family: str  # of games
    file: str
    least: int  # points of a side
    most: int
    modest: bool = False  # so that strong players need not believe it
    simulations: int = 1600  # of a search where nobody says how many: a second or two on two cores


# docs/training.md says how each was made.
SHIPPED_NETWORKS = (
    Shipped("connect_four,k=4", "connect_four.safetensors", 6, 7),
    Shipped("go", "go.safetensors", 9, 9),
    Shipped("go", "go-large.safetensors", 13, 19, modest=True, simulations=200),
    Shipped("hex", "hex.safetensors", 11, 11),
    Shipped("othello", "othello.safetensors", 8, 8),
    Shipped("mnk,k=3", "tic_tac_toe.safetensors", 3, 3),
    Shipped("mnk,k=5", "gomoku.safetensors", 9, 9),
    Shipped("mnk,k=5", "gomoku-large.safetensors", 10, 19),
)


def shipped_for(game: Game) -> Shipped | None:
    """What the package has for this game, if it has anything for boards of this size."""
    fits = (one for one in SHIPPED_NETWORKS if one.family == game.family)
    return next((one for one in fits if all(one.least <= side <= one.most for side in (game.height, game.width))), None)


def shipped(game: Game) -> Path | None:
    """The file of its weights."""
    found = shipped_for(game)
    return None if found is None else WEIGHTS_FOLDER / found.file
