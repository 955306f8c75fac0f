"""Options that take a game or a bot, whose names a shell completes. The names are stated here, as completing has no
time to import JAX; a test compares them with the games and bots that there are."""

from __future__ import annotations

import functools

import typer

GAME_NAMES = ("go", "connect_four", "gomoku", "tic_tac_toe", "mnk", "pgx")
BOTS = (
    "random", "uct", "uct-solver", "mcts-400", "mcts-800", "mcts-1600", "mcts-3200", "mcts-6400", "rave", "minimax",
    "alphago", "alphazero", "gumbel", "policy", "value", "gtp", "process",
)  # fmt: skip


def _games(incomplete: str) -> list[str]:
    return [name for name in GAME_NAMES if name.startswith(incomplete)]


def _bots(incomplete: str) -> list[str]:
    return [name for name in BOTS if name.startswith(incomplete)]


def _players(incomplete: str) -> list[str]:
    return [name for name in ("human", *BOTS) if name.startswith(incomplete)]


game_option = functools.partial(typer.Option, autocompletion=_games)
bot_option = functools.partial(typer.Option, autocompletion=_bots)
bot_argument = functools.partial(typer.Argument, autocompletion=_bots)
player_option = functools.partial(typer.Option, autocompletion=_players)  # people too
