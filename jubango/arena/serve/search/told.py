"""A game under way as JSON, as the server tells it the process that searches, and keeps it in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jubango.bots.gtp_server.session import Session
from jubango.bots.gtp_server.wire import GtpError
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.rules.race import for_two
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import SgfGame

LONGEST_SHOWN_GAME = 2000
MOST_POINTS = 1600  # of a board that a page can show
MOVERS = "bw"

Told = dict[str, object]


def told(session: Session) -> Told:
    """The game so far: its spec, what was set up, who was to move then, and the moves since, ``["bD4", "wpass"]``.
    Where stones were set up in the middle of it, it begins there."""
    game, node = session.game, session.beginning
    begin, black, white, first = 0, node.black, node.white, node.turn
    for i, own in enumerate(session.played):
        if own.setup is not None:
            stones = game.stones(own.state)
            black, white = (_points(stones == colour) for colour in (1, 2))
            begin, first = i + 1, int(game.current_player(own.state))
    moves = [MOVERS[own.player] + game.action_text(own.action) for own in session.played[begin:]]
    return {
        "game": game.spec, "black": [game.point_text(point) for point in black],
        "white": [game.point_text(point) for point in white], "first": first, "moves": moves,
    }  # fmt: skip


def _points(mask: np.ndarray) -> tuple[Point, ...]:
    return tuple((int(row), int(column)) for row, column in np.argwhere(mask))


def game_of(spec: str) -> Game:
    """The game a spec string names, for two players and with a board. Raises UserError."""
    game = for_two(make_game(spec))
    if game.height * game.width > MOST_POINTS:
        raise UserError(f"{game.spec}: a board of more than {MOST_POINTS} points is too large for this page")
    return game


def session_of(data: Mapping[str, object], near: Session | None = None) -> Session:
    """The game that :func:`told` has told. near: a game like it, whose moves need not be played again; it is changed.
    Raises UserError."""
    spec, first = data.get("game"), data.get("first")
    black, white, moves = (data.get(key, []) for key in ("black", "white", "moves"))
    if not isinstance(spec, str) or first not in (None, 0, 1) or isinstance(first, bool):
        raise UserError("a game that is damaged: its spec, or who moves first")
    texts = [_texts(value) for value in (black, white, moves)]
    if near is None or not _begins_alike(near, spec, texts[0], texts[1], first):
        near = Session(game_of(spec))
        if texts[0] or texts[1] or first is not None:
            set_up(near, texts[0], texts[1], int(first or 0))
    _play_on(near, texts[2])
    return near


def taken(game: SgfGame, number: int | None = None) -> Session:
    """The main line of a game of a file, up to before its move ``number``. Raises UserError."""
    if game.move_count > LONGEST_SHOWN_GAME:
        raise UserError(
            f"{game.source}: has {game.move_count:,} moves; at most {LONGEST_SHOWN_GAME:,} are looked at here"
        )
    session = Session(game_of(game.game.spec))
    session.take(Record(game), number)
    return session


def set_up(session: Session, black: Sequence[str], white: Sequence[str], player: int) -> None:
    """Stones in place of the game so far. Raises UserError."""
    try:
        stones = [(colour, session.point(text)) for colour, own in enumerate((black, white)) for text in own]
        session.set_up(stones, player)
    except GtpError:
        raise UserError("these stones are no position: one is off the board, or has no liberty") from None


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > LONGEST_SHOWN_GAME or not all(type(text) is str for text in value):
        raise UserError(f"a game that is damaged, or has more than {LONGEST_SHOWN_GAME} moves")
    return value


def _begins_alike(near: Session, spec: str, black: list[str], white: list[str], first: object) -> bool:
    own = told(near)
    return not any(played.setup for played in near.played) and (spec, black, white, first) == (
        own["game"], own["black"], own["white"], own["first"],
    )  # fmt: skip


def _play_on(session: Session, moves: list[str]) -> None:
    own = [MOVERS[one.player] + session.game.action_text(one.action) for one in session.played]
    same = next((i for i, (a, b) in enumerate(zip(own, moves, strict=False)) if a != b), min(len(own), len(moves)))
    session.undo(len(own) - same)
    for text in moves[same:]:
        play(session, text)


def play(session: Session, text: str) -> None:
    """A move, ``bD4``. Raises UserError."""
    number = len(session.played) + 1
    if text[:1] not in MOVERS or not text[:1]:
        raise UserError(f"move {number}: {text[:20]} begins with neither b nor w")
    try:
        action = session.game.parse_move(session.state, text[1:])
        session.play(MOVERS.index(text[0]), action)
    except UserError as error:
        raise UserError(f"move {number}: {error}") from None
    except GtpError as error:
        raise UserError(f"move {number} ({text[1:]}): {error}") from None
