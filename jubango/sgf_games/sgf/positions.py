"""Games that were played: records, their positions under our rules, or where they break them."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.compute.traced import identity
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import View, initial_state, rules, view_of
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.sgf.diagram import Diagram, board_svg, shortened
from jubango.sgf_games.sgf.past import Past, PlayedMove
from jubango.sgf_games.sgf.sgf import SgfGame, SgfNode, read_games

POSITIONS_AT_ONCE = 64  # positions that are looked at at once

NAME_WIDTH = 15.0  # of a name above a board, in units of the font's size


@dataclass(frozen=True, eq=False, repr=False)
class Position:
    """A position in a game: what a bot is asked about. A notebook shows its board."""

    game: Game
    state: State
    number: int  # moves made
    last: Point | None
    last_player: int | None
    next_move: tuple[int, Point | None] | None  # what was played here
    players: tuple[str, str] | None = None  # Black's and White's name, where they are known
    past: Past | None = None  # what led here, where it is known

    @functools.cached_property
    def _view(self) -> View[np.ndarray]:
        return jax.device_get(rules(self.game).view(self.state))

    @property
    def player(self) -> int:
        """The player to move: 0 Black, 1 White."""
        return int(self._view.player)

    @property
    def legal(self) -> np.ndarray:
        """bool [A]; all false when the game is over."""
        return np.asarray(self._view.legal)

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return bool(self._view.terminal)

    @property
    def returns(self) -> np.ndarray:
        """float [num_players] in [-1, 1]: the players' results; zeros before the end."""
        return np.asarray(self._view.returns)

    @property
    def stones(self) -> np.ndarray:
        """int [H, W]: 0 empty, 1 Black, 2 White."""
        return self.game.stones(self.state)

    @property
    def title(self) -> str:
        """The players' names and the move: a line above a board."""
        return f"{' – '.join(self.players) if self.players else self.game.spec}, {self.place}"

    @property
    def short_title(self) -> str:
        """The same with names that fit above a board."""
        names = [shortened(name, NAME_WIDTH) for name in self.players or ()]
        return f"{' – '.join(names) or self.game.spec}, {self.place}"

    @property
    def place(self) -> str:
        """``after move 30 (W D4)``."""
        where = "before the first move"
        if self.number:
            where = f"after move {self.number}"
            if self.last_player is not None:
                where += f" ({'BW'[self.last_player]} {self.game.point_text(self.last)})"
        return where

    @property
    def status(self) -> str:
        """``Black to move``, or the result."""
        if self.over:
            return f"the game is over: {self.game.result_text(self.state)}"
        return f"{('Black', 'White')[self.player]} to move"

    def after(self, move: str) -> Position:
        """The position after one more move.

        move: its text, ``D4``.

        Raises UserError for an illegal move.
        """
        game, where = self.game, f"{self.game.spec}: move {self.number + 1} ({move})"
        try:
            action = game.parse_move(self.state, move)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        if not self.legal[action]:
            raise UserError(f"{where} is illegal: {_why(game, self.state, game.action_point(self.state, action))}")
        state = rules(game).step(self.state, action)
        last = game.last_point(state, action)
        past = self.past and self.past.then(self.player, last)
        return Position(game, state, self.number + 1, last, self.player, None, self.players, past)

    def diagram(self) -> Diagram:
        """The board as it is drawn, in text, SVG or PNG."""
        title = f"{self.short_title}\n{self.status}"
        return Diagram(self.stones, self.game.on_crossings, self.last, title=title, hexagonal=self.game.hexagonal)

    def __repr__(self) -> str:
        return printable(f"<Position of {self.game.spec}: {self.title}; {self.status}>")

    def _repr_svg_(self) -> str:
        return board_svg(self.diagram())


def position(game: Game | str, moves: str | Iterable[str] = "") -> Position:
    """The position that moves lead to from a game's beginning: ``position("connect_four", "D C D C")``.

    game: a game or its spec string.
    moves: their texts, one after another.

    Raises UserError at an illegal move.
    """
    game = make_game(game) if isinstance(game, str) else game
    here = Position(game, initial_state(game), 0, None, None, None, past=Past())
    for text in moves.split() if isinstance(moves, str) else moves:
        here = here.after(text)
    return here


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """A game that was played, as a file has it. ``len(record)`` is the number of moves."""

    sgf: SgfGame

    @property
    def game(self) -> Game:
        """The game that was played."""
        return self.sgf.game

    @property
    def players(self) -> tuple[str, str]:
        """Black's and White's name."""
        return self.sgf.name(0), self.sgf.name(1)

    @property
    def result(self) -> str:
        """``B+3.5``, ``W+R``, ``0``; ``?`` where the file does not say."""
        return self.sgf.properties.get("RE", "").strip() or "?"

    @functools.cached_property
    def moves(self) -> tuple[str, ...]:
        """``D4``, ``pass``; the text of its column in connect four."""
        game, points = self.game, [node.move[1] for node in self.sgf.nodes if node.move]
        return tuple(game.point_text(p) if p is None else game.action_text(game.point_action(p)) for p in points)

    def __len__(self) -> int:
        return len(self.moves)

    def __bool__(self) -> bool:
        return True

    def at(self, number: int = -1) -> Position:
        """The position after ``number`` moves.

        number: -1 is the last position, -2 the one before it.

        Raises UserError for a number that does not exist, and at an illegal move on the way.
        """
        total = len(self)
        if not -total - 1 <= number <= total:
            raise UserError(f"{self.sgf.source}: has {total} moves; at({number}) is not between 0 and {total}")
        return position_at(self.sgf, number + total + 1 if number < 0 else number)

    @property
    def positions(self) -> list[Position]:
        """The position before the first move, and after every move.

        Raises UserError at an illegal move.
        """
        return positions(self.sgf)

    def __repr__(self) -> str:
        black, white = self.players
        return printable(f"<Record of {self.game.spec}: {black} – {white}, {self.result}, {len(self)} moves>")

    def _repr_html_(self) -> str:
        """The players, the result and the last board that the rules allow."""
        black, white = (html.escape(printable(name)) for name in self.players)
        facts = f"{html.escape(self.game.spec)}, {len(self)} moves, result {html.escape(printable(self.result))}"
        try:
            picture = self.at()._repr_svg_()
        except UserError as error:
            picture = f"<p>{html.escape(str(error))}</p>"
        return f"<div><p><b>{black}</b> (Black) – <b>{white}</b> (White)<br>{facts}</p>{picture}</div>"


def read_sgf(path: Path | str, number: int | None = None) -> Record:
    """The game of an SGF file, its main line.

    path: the file.
    number: which of several games, from 1.

    Raises UserError naming the file.
    """
    games = read_games(path)
    if number is None and len(games) > 1:
        raise UserError(f"{path}: holds {len(games)} games; say which, number=1 to number={len(games)}")
    if number is not None and not 1 <= number <= len(games):
        raise UserError(f"{path}: holds {len(games)} game(s); there is no game {number}")
    return Record(games[(number or 1) - 1])


def position_at(sgf: SgfGame, number: int | None = None) -> Position:
    """The position after ``number`` moves of the main line (None: the last). Raises UserError."""
    check_number(sgf, number)
    return _walk(sgf, sgf.move_count if number is None else number)[-1]


def check_number(sgf: SgfGame, number: int | None) -> None:
    """Raises UserError where there are fewer moves."""
    total = sgf.move_count
    if number is not None and not 0 <= number <= total:
        raise UserError(f"{sgf.source}: has {total} moves; move {number} is not between 0 and {total}")


def positions(sgf: SgfGame) -> list[Position]:
    """The position before the first move, and after every move. Raises UserError at an illegal move."""
    ours = (
        identity(sgf.game) is not None
    )  # built-in games play illegal moves without failing: one check afterwards does
    try:
        out = _walk(sgf, sgf.move_count, checked=not ours)
    except UserError:  # there may be a move before that is illegal
        out = _walk(sgf, sgf.move_count)
    look_at(out)  # at all of them at once, not at one after another
    if not all(map(_goes_on, out[:-1])):  # which move is illegal, if it is not play that goes on after passes
        out = _walk(sgf, sgf.move_count)
        look_at(out)
    return out


def _goes_on(position: Position) -> bool:
    """Do the rules allow the move that was played here?"""
    assert position.next_move is not None
    point, game = position.next_move[1], position.game
    action = game.point_action(point)
    return bool(position.legal[action]) and not _falls_elsewhere(game, position.state, action, point)


def _falls_elsewhere(game: Game, state: State, action: int, point: Point | None) -> bool:
    """Where stones fall a point may be named where this one does not come to lie."""
    return point is not None and game.action_point(state, action) != point


def look_at(places: Sequence[Position]) -> None:
    """Have what the rules say of positions of one game: many at once take far less time than one after another. However
    many there are, it is one program."""
    new = [position for position in places if "_view" not in vars(position)]
    for first in range(0, len(new), POSITIONS_AT_ONCE):
        some = new[first : first + POSITIONS_AT_ONCE]
        filled = some + some[:1] * (POSITIONS_AT_ONCE - len(some))
        views = view_of(new[0].game, [position.state for position in filled])
        for i, position in enumerate(some):
            vars(position)["_view"] = View(*(array[i] for array in views))


def _walk(sgf: SgfGame, until: int, checked: bool = True) -> list[Position]:
    """Raises UserError at an illegal move; of moves that are not ``checked`` only for points that no action has."""
    game = sgf.game
    state = initial_state(game)
    compiled = rules(game)
    upcoming = [node.move for node in sgf.nodes if node.move]
    out: list[Position] = []
    number, last, last_player = 0, None, None
    stones: np.ndarray | None = None  # that were set up last
    line: list[PlayedMove] = []  # since then

    def here() -> Position:
        following = upcoming[number] if number < len(upcoming) else None
        names, past = (sgf.name(0), sgf.name(1)), Past(stones, line, len(line))
        return Position(game, _on_move(game, state, following), number, last, last_player, following, names, past)

    for node in sgf.nodes:
        if node.black or node.white or node.empty or node.turn is not None:
            if number == until and node.move is None and number:
                break
            state = _set_up(sgf, state, node, upcoming[number][0] if number < len(upcoming) else None)
            stones, line = game.stones(state), []
        if node.move is None:
            continue
        out.append(here())
        if number == until:
            return out
        player, point = node.move
        state = _on_move(game, state, node.move)
        state = game.resumed(state, passes=1)  # people pass and then play on
        where = f"{sgf.source}: move {number + 1} ({'BW'[player]} {game.point_text(point)})"
        try:
            action = game.point_action(point)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        legal = not checked or bool(np.asarray(compiled.view(state).legal)[action])
        if not legal or (checked and _falls_elsewhere(game, state, action, point)):
            guess = f"; {sgf.guessed_stones}" if sgf.guessed_stones else ""
            raise UserError(
                f"{where} is illegal: {_why(game, state, point)}; "
                f"move {number} is the last that can be looked at{guess}"
            )
        state = compiled.step(state, action)
        number, last, last_player = number + 1, point, player
        line.append(node.move)
    out.append(here())
    return out


def _on_move(game: Game, state: State, move: tuple[int, Point | None] | None) -> State:
    return state if move is None else game.with_player(state, move[0])


def _set_up(sgf: SgfGame, state: State, node: SgfNode, next_player: int | None) -> State:
    game = sgf.game
    if not game.has("set_up"):
        if node.black or node.white or node.empty:
            raise UserError(f"{sgf.source}: has set-up stones, and no stones can be set up in {game.spec}")
        return state
    stones = game.stones(state).copy()
    for colour, points in ((1, node.black), (2, node.white), (0, node.empty)):
        for point in points:
            stones[point] = colour
    turn = node.turn
    if turn is None:
        turn = next_player
    if turn is None:
        turn = 1 if node.black and not node.white else int(game.current_player(state))
    return game.set_up(stones, turn)


def _why(game: Game, state: State, point: Point | None) -> str:
    return "the game is over" if bool(rules(game).view(state).terminal) else game.why_illegal(state, point)
