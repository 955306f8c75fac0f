"""The moves of many games as one pandas frame, with what their players thought of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import UNSAID, Thoughts, packed, read_words, unpacked

if TYPE_CHECKING:
    import pandas as pd

TEXTS = ("game_id", "player", "colour", "move")
COLOUR_COLUMN = np.array(["black", "white"], object)


class PlayedGame(NamedTuple):
    """What is kept of a game's moves."""

    game_id: str
    players: tuple[str, str]  # Black's and White's name
    moves: Sequence[str]
    opening: int = 0  # how many of them were made for the players
    thoughts: bytes = b""  # packed; games of older versions have none
    comments: Sequence[str] = ()  # one per move; those of older versions say what the thoughts would
    time_left: Sequence[Sequence[float]] = ()  # one per move, of games with a clock: seconds, byo-yomi periods


def played_game(record: GameRecord) -> PlayedGame:
    both, plies = (record.black, record.white), record.opening_plies
    return PlayedGame(record.game_id, both, record.moves, plies, record.thoughts, record.comments, record.time_left)


def moves_table(games: Iterable[PlayedGame]) -> pd.DataFrame:
    """A pandas frame with a row for each move. What nobody knows is missing.

    The move is told by game_id, ply (from 1), player, colour and move, and opening_move: whether it was made for the
    player. Of the search there are the move's visits and the simulations, and in [0, 1], for the move's player, its
    win_rate and its prior. Last come the seconds that it took, and what is left on its player's clock: clock_left
    (seconds) and periods_left (byoyomi).

    Raises UserError if what is stored of a game is damaged.
    """
    import pandas as pd

    games = list(games)
    plies = np.array([len(game.moves) for game in games], int)
    ply = np.concatenate([np.arange(n) for n in plies] or [np.zeros(0, int)])
    names = np.array([game.players for game in games], object).reshape(-1, 2)
    index = np.repeat(np.arange(len(games)), plies)
    columns = zip(*map(_thoughts, games), strict=True) if games else [()] * len(Thoughts._fields)
    said = Thoughts(*(np.concatenate([np.zeros(0, np.float32), *own]) for own in columns))
    clock = np.concatenate([np.zeros((0, 2)), *map(_clock, games)])
    return pd.DataFrame(
        {
            "game_id": np.array([game.game_id for game in games], object)[index],
            "ply": ply + 1,
            "player": names[index, ply % 2],
            "colour": COLOUR_COLUMN[ply % 2],
            "move": np.array([move for game in games for move in game.moves], object),
            "opening_move": ply < np.array([game.opening for game in games], int)[index],
            "visits": _counts(said.visits),
            "simulations": _counts(said.simulations),
            "win_rate": (1 + said.value) / 2,
            "prior": said.prior,
            "seconds": said.seconds,
            "clock_left": clock[:, 0],
            "periods_left": _counts(np.nan_to_num(clock[:, 1], nan=UNSAID)),
        }
    ).astype(dict.fromkeys(TEXTS, str))


def _thoughts(game: PlayedGame) -> Thoughts:
    """Of every move. Raises UserError, which names the game."""
    if game.thoughts:
        try:
            said_of = unpacked(game.thoughts)
            if len(said_of.visits) != len(game.moves):
                raise UserError(f"what was thought of its moves is of {len(said_of.visits)}, not of {len(game.moves)}")
            return said_of
        except UserError as error:
            raise UserError(f"{game.game_id}: {error}") from None
    said = [read_words(comment) for comment in game.comments[: len(game.moves)]]
    return unpacked(packed(said + [read_words("")] * (len(game.moves) - len(said))))


def _clock(game: PlayedGame) -> np.ndarray:
    """[n, 2]: seconds and periods after every move; nan where there is no clock, and after a last move that has no
    reading."""
    out = np.full((len(game.moves), 2), np.nan)
    if game.time_left:
        out[: len(game.time_left)] = game.time_left
    return out


def _counts(values: np.ndarray) -> pd.Series:
    import pandas as pd

    found = pd.Series(values.astype(np.int64), dtype="Int64")
    return found.mask(found == UNSAID)
