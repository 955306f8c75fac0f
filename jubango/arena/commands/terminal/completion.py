"""Options that take a game or a bot, whose names a shell completes; and the words of bash, which takes them apart.

The names are stated here, as completing has no time to import JAX; a test compares them with the games and bots that
there are. Levels are read from the table that the levels themselves come from.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import typer

GAME_NAMES = ("go", "connect_four", "gomoku", "othello", "hex", "tic_tac_toe", "mnk", "pgx")
OFTEN_PLAYED = ("go:9", "go:13", "go:19", "gomoku:9", "gomoku:15")  # that are often played
BOTS = (
    "random", "uct", "uct-solver", "mcts-400", "mcts-800", "mcts-1600", "mcts-3200", "mcts-6400", "rave", "patterns",
    "minimax", "alphago", "alphazero", "gumbel", "policy", "value", "level", "gtp", "process",
)  # fmt: skip
LEVELS_FILE = Path(__file__).parents[3] / "bots" / "players" / "levels.toml"
LEVEL_STEP = 200  # Elo between two levels that are offered
USUAL_GAME = "go:9"  # of the commands that need not be told one
WORD_BREAKS = "=:"  # where bash takes words apart
COMPLETING = "_JUBANGO_COMPLETE"  # in the environment where a shell asks how a word may end


def _games(incomplete: str) -> list[str]:
    return [name for name in (*GAME_NAMES, *OFTEN_PLAYED) if name.startswith(incomplete)]


def _bots(ctx: typer.Context, incomplete: str) -> list[str]:
    levels = [f"level={level}" for level in _levels_of(ctx)] if incomplete.startswith("level") else []
    return [name for name in (*BOTS, *levels) if name.startswith(incomplete)]


def _players(ctx: typer.Context, incomplete: str) -> list[str]:
    return [name for name in ("human", *_bots(ctx, incomplete)) if name.startswith(incomplete)]


def _levels(ctx: typer.Context, incomplete: str) -> list[str]:
    return [level for level in _levels_of(ctx) if level.startswith(incomplete)]


def _levels_of(ctx: typer.Context) -> list[str]:
    """Round levels of the game that has been typed so far."""
    typed = ctx.params.get("game") or USUAL_GAME
    board = str(typed).partition(",")[0]
    for table in tomllib.loads(LEVELS_FILE.read_text())["games"]:
        name = table["game"].partition(",")[0]
        if board in (name, name.removesuffix(":7x6")):
            elos = [point[1] for curve in table["curves"] for point in curve["points"]]
            least = -(-int(min(elos)) // LEVEL_STEP) * LEVEL_STEP
            return [str(level) for level in range(least, int(max(elos)) + 1, LEVEL_STEP)]
    return []


game_option = functools.partial(typer.Option, autocompletion=_games)
bot_option = functools.partial(typer.Option, autocompletion=_bots)
bot_argument = functools.partial(typer.Argument, autocompletion=_bots)
player_option = functools.partial(typer.Option, autocompletion=_players)  # people too
level_option = functools.partial(typer.Option, autocompletion=_levels)


@contextlib.contextmanager
def words_of_bash() -> Iterator[None]:
    """Around the answer to a shell. Bash takes ``go:9`` and ``level=800`` apart, and puts in only what follows: here
    the words are whole again, and what is printed is the rest of each."""
    if os.environ.get(COMPLETING) != "complete_bash":
        yield
        return
    text = os.environ.get("COMP_WORDS", "")
    pieces, place = text.split("\n" if "\n" in text else " "), int(os.environ.get("COMP_CWORD", "0"))
    words, begun = joined([*pieces, ""][: place + 1])
    os.environ |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    answer = io.StringIO()
    try:
        with contextlib.redirect_stdout(answer):
            yield
    finally:
        own = begun.partition("=")[2] if begun.startswith("--") else begun  # what is completed of --game=go:9
        for line in answer.getvalue().splitlines():
            print(line.removeprefix(own))


def complete_at_the_first_tab() -> None:
    """zsh reads typer's script when Tab is first pressed, and that only says how to complete from then on; the script
    is to complete at once, too."""
    from typer import _completion_shared

    _completion_shared._completion_scripts["zsh"] = _completion_shared.COMPLETION_SCRIPT_ZSH + (
        '\n[[ $funcstack[1] = _%(prog_name)s ]] && %(complete_func)s "$@"\n'
    )


def joined(pieces: list[str]) -> tuple[list[str], str]:
    """The words that bash's pieces were, and what of the last one stands before the piece that is being typed."""
    words: list[str] = []
    begun, after_break = "", False
    for piece in pieces:
        is_break = bool(piece) and not piece.strip(WORD_BREAKS)
        if words and (is_break or (after_break and piece)):
            begun = words[-1]
            words[-1] += piece
        else:
            begun = ""
            words.append(piece)
        after_break = is_break
    return words, words[-1] if after_break else begun
