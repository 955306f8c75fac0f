"""The game that a server is asked about: set up, played, taken back, loaded and written."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jubango.bots.gtp_server.timing import Timing
from jubango.bots.gtp_server.wire import GtpError
from jubango.bots.interactive.interactive_search import line_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import check_file
from jubango.sgf_games.rules.compiled import View, initial_state, rules
from jubango.sgf_games.rules.coordinates import COLUMN_LETTERS, Point, parse_vertex
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.sgf.positions import Record, positions
from jubango.sgf_games.sgf.sgf import LARGEST_SGF, SgfNode, read_games, write_nodes

PLAYERS = {"b": 0, "black": 0, "w": 1, "white": 1}
STONES = ".XO"
MOST_HANDICAP = 9  # stones that have fixed points


class Played(NamedTuple):
    player: int
    action: int
    state: State  # after it, and what was set up then
    setup: SgfNode | None = None


@dataclass(frozen=True)
class TurnToMove:
    """A position with somebody to move."""

    state: State
    view: View[np.ndarray]
    ply: int
    line: tuple[object, ...]  # see jubango.bots.interactive.interactive_search.Position

    @property
    def player(self) -> int:
        return int(self.view.player)

    @property
    def legal(self) -> np.ndarray:
        return np.asarray(self.view.legal)

    @property
    def over(self) -> bool:
        return bool(self.view.terminal)


class Session:
    """One game under way. Raises GtpError for what cannot be done, in the words of the protocol."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.timing = Timing()
        self._serial = 0  # of what was begun: trees of another game are no use
        self.clear()

    # -- set-up ----------------------------------------------------------------------------------

    def clear(self) -> None:
        """An empty board."""
        self._begin(None, SgfNode())
        self.timing.start()

    def _begin(self, start: State | None, node: SgfNode, played: Sequence[Played] = ()) -> None:
        """``start``: None is the game's own, which is made when it is needed: the board may be another one by then."""
        self._start, self._node, self.played = start, node, list(played)
        self._player: int | None = None
        self._serial += 1

    @property
    def _base(self) -> State:
        """Before the first move."""
        if self._start is None:
            self._start = initial_state(self.game)
        return self._start

    @property
    def _first(self) -> int:
        """Who moves first."""
        if self._player is None:
            self._player = int(rules(self.game).view(self._base).player)
        return self._player

    def resize(self, width: int, height: int) -> None:
        """Another board, empty."""
        if (width, height) != (self.game.width, self.game.height):
            if not {"width", "height"} <= self.game.parameters:
                raise GtpError("unacceptable size")
            sized: Any = self.game
            try:
                self.game = replace(sized, width=width, height=height)
            except UserError:
                raise GtpError("unacceptable size") from None
        self.clear()

    def set_komi(self, komi: float) -> None:
        """Of the game as it stands, too."""
        try:
            game = self.game.with_komi(komi)
        except UserError:
            raise GtpError("unacceptable komi; it is a whole or half number") from None
        self.game = game
        played = [own._replace(state=game.priced(own.state)) for own in self.played]
        self._begin(game.priced(self._base), self._node, played)

    def set_rules(self, ko: str, suicide: bool) -> None:
        """Play the moves again by these rules; where one is illegal by them nothing changes."""
        played, stones, player = self.played, self.game.stones(self._base), self._first
        ruled: Any = self.game
        with self.attempt():
            self.game = replace(ruled, ko=ko, suicide=suicide)
            self._begin(self.game.set_up(stones, player), self._node)
            for own in played:
                try:
                    self.play(own.player, own.action)
                except GtpError:
                    raise GtpError("the moves so far are illegal by these rules") from None
                if own.setup is not None:
                    self._add(own.setup)

    def _add(self, setup: SgfNode) -> None:
        """Stones that are set up after the last move."""
        stones = self.stones.copy()
        for colour, points in enumerate((setup.empty, setup.black, setup.white)):
            for point in points:
                stones[point] = colour
        player = int(self.game.current_player(self.state)) if setup.turn is None else setup.turn
        state = self.game.set_up(stones, player)
        self.played[-1] = self.played[-1]._replace(state=state, setup=setup)

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Whatever fails inside leaves the game and its clocks as they were."""
        before, clocks = {**vars(self), "played": list(self.played)}, dict(vars(self.timing))
        try:
            yield
        except Exception:
            vars(self).update(before)
            vars(self.timing).update(clocks)
            raise

    def set_up(self, stones: Sequence[tuple[int, Point]], player: int) -> None:
        """Stones in place of the game so far. Those without a liberty are no position: ``illegal move``."""
        board = np.zeros((self.game.height, self.game.width), np.int8)
        for colour, point in stones:
            board[point] = 1 + colour
        if not _all_have_liberties(board):
            raise GtpError("illegal move")
        black, white = (tuple(point for colour, point in stones if board[point] == 1 + colour == own) for own in (1, 2))
        self._begin(self.game.set_up(board, player), SgfNode(black, white, turn=player))

    def handicap(self, points: Sequence[Point]) -> None:
        if self.played or self.stones.any():
            raise GtpError("board not empty")
        self.set_up([(0, point) for point in points], player=1)

    def handicap_points(self, number: int, exactly: bool) -> list[Point]:
        """The fixed points; as many of them as there are, unless it has to be that ``number``."""
        for stones in (number,) if exactly else range(min(number, MOST_HANDICAP), 1, -1):
            try:
                return self.game.handicap_points(stones)
            except UserError:
                continue
        raise GtpError("invalid number of stones")

    def load(self, path: str, number: int | None = None) -> None:
        """The main line of an SGF file, up to before its move ``number``."""
        try:
            check_file(Path(path), LARGEST_SGF)  # a pipe or a device may never end, or be where commands come from
            record = Record(read_games(path)[0])
            if type(record.game) is not type(self.game):
                raise GtpError(f"cannot load file: it holds {record.game.spec}, this plays {self.game.spec}")
            self.take(record, number)
        except UserError as error:
            raise GtpError(f"cannot load file: {error}") from None

    def take(self, record: Record, number: int | None = None) -> None:
        """A record's moves, up to before its move ``number``, in place of the game so far. Raises UserError."""
        steps = positions(record.sgf)
        self.game, first = record.game, steps[0]
        setups = _set_up_between(record.sgf.nodes)
        played = []
        for (before, after), setup in zip(itertools.pairwise(steps), setups[1:], strict=True):
            assert before.next_move is not None
            player, point = before.next_move
            if setup is not None:
                setup = replace(setup, turn=after.player)
            played.append(Played(player, self.game.point_action(point), after.state, setup))
        black, white = (tuple((int(r), int(c)) for r, c in np.argwhere(first.stones == own)) for own in (1, 2))
        plain = setups[0] is None and not first.player
        node = SgfNode() if plain else SgfNode(black, white, turn=first.player)
        self._begin(first.state, node, played[: len(played) if number is None else max(0, number - 1)])

    def sgf(self, names: dict[str, str]) -> str:
        """The game so far."""
        nodes = [self._node]
        for i, own in enumerate(self.played):
            nodes += [SgfNode(move=(own.player, self.point_of(i))), *([own.setup] if own.setup else [])]
        return write_nodes(self.game, nodes, names).decode()

    # -- play ------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.played[-1].state if self.played else self._base

    @property
    def stones(self) -> np.ndarray:
        """int [H, W]: 0 empty, 1 Black, 2 White."""
        return self.game.stones(self.state)

    @property
    def last(self) -> Point | None:
        return self.point_of(len(self.played) - 1) if self.played else None

    @property
    def beginning(self) -> SgfNode:
        """What was set up before the first move."""
        return self._node

    def point_of(self, i: int) -> Point | None:
        """Where move ``i`` lies, from 0."""
        before = self.played[i - 1].state if i else self._base
        return self.game.action_point(before, self.played[i].action)

    def turn(self, player: int | None = None) -> TurnToMove:
        """The position with ``player`` to move, by default whose turn it is. In Go anybody may move, and play may go on
        after passes have ended it."""
        state, view = self._to_move(player)
        line = line_of([(own.player, own.action) for own in self.played], self._first)
        if state is not self.state:
            line = (*line, "turned")
        return TurnToMove(state, view, len(self.played), (self._serial, *line))

    def _to_move(self, player: int | None) -> tuple[State, View[np.ndarray]]:
        state = self.state if player is None else self.game.with_player(self.state, player)
        view: View[np.ndarray] = jax.device_get(rules(self.game).view(state))
        if view.terminal and self.game.has("resumed"):
            state = self.game.resumed(state)
            view = jax.device_get(rules(self.game).view(state))
        if player is not None and player != int(view.player):
            raise GtpError(f"it is {('Black', 'White')[int(view.player)]}'s turn")
        return state, view

    def play(self, player: int, action: int) -> None:
        """A pass, too, where a game that goes on after passes has lasted too long: its position stays."""
        state, view = self._to_move(player)
        if self.game.has("resumed") and view.terminal and action == self.game.pass_action:
            after = self.game.with_player(state, 1 - int(view.player))
        elif view.legal[action]:
            after = rules(self.game).step(state, action)
        else:
            raise GtpError("illegal move")
        self.played.append(Played(player, action, after))

    def undo(self, moves: int = 1) -> None:
        if not 0 <= moves <= len(self.played):
            raise GtpError("cannot undo")
        del self.played[len(self.played) - moves :]

    def after(self, moves: int) -> Session:
        """This game as it was after its first ``moves``."""
        past = copy.copy(self)
        past.played = self.played[:moves]
        return past

    # -- words -----------------------------------------------------------------------------------

    def vertex(self, action: int, state: State | None = None) -> str:
        """What GTP calls a move: a stone's point, in connect four too, or what the game itself calls it."""
        if self.game.actions_are == "columns":
            return self.game.point_text(self.game.action_point(self.state if state is None else state, action))
        return self.game.action_text(action)

    def action(self, text: str, state: State | None = None) -> int:
        """The inverse of :meth:`vertex`; a column will do for a move that falls."""
        try:
            action = self.game.parse_action(text)
            falls = self.game.actions_are == "columns" and text.upper() not in COLUMN_LETTERS
            point = parse_vertex(text, self.game.height, self.game.width) if falls else None
        except UserError:
            raise GtpError("invalid vertex") from None
        if falls and point != self.game.action_point(self.state if state is None else state, action):
            raise GtpError("illegal move")
        return action

    def vertices(self, actions: Sequence[int], state: State | None = None) -> list[str]:
        """Of moves one after another."""
        if self.game.actions_are != "columns":
            return [self.vertex(action) for action in actions]
        state, texts = self.state if state is None else state, []
        for action in actions:
            texts.append(self.vertex(action, state))
            state = rules(self.game).step(state, action)
        return texts

    def point(self, text: str) -> Point:
        try:
            point = parse_vertex(text, self.game.height, self.game.width)
        except UserError:
            raise GtpError("invalid vertex") from None
        if point is None:
            raise GtpError("invalid vertex")
        return point

    def board(self) -> str:
        """The board in letters, the last stone in parentheses; slanted where it is one of Hex."""
        stones, last, height = self.stones, self.last, self.game.height
        head = "   " + " ".join(COLUMN_LETTERS[: self.game.width])
        indents = [" " * (height - 1 - r) * self.game.hexagonal for r in range(height)]
        rows = []
        for r in range(height):
            text = f"{indents[r]}{height - r:2}"
            for c, stone in enumerate(stones[r]):
                text += ("(" if last == (r, c) else ")" if last == (r, c - 1) else " ") + STONES[stone]
            rows.append(f"{text}{')' if last == (r, self.game.width - 1) else ' '}{height - r}")
        return "\n".join([indents[0] + head, *rows, head])


def _set_up_between(nodes: Sequence[SgfNode]) -> list[SgfNode | None]:
    """What is set up before the first move of a main line, and after each; what follows the last one is no part of the
    game."""
    stones: list[dict[Point, int]] = [{}]
    for node in nodes:
        for colour, points in enumerate((node.empty, node.black, node.white)):
            stones[-1] |= dict.fromkeys(points, colour)
        if node.move is not None:
            stones.append({})
    if len(stones) > 1:
        stones[-1] = {}
    found: list[SgfNode | None] = []
    for own in stones:
        empty, black, white = (tuple(p for p, colour in own.items() if colour == wanted) for wanted in range(3))
        found.append(SgfNode(black, white, empty) if own else None)
    return found


def _all_have_liberties(board: np.ndarray) -> bool:
    from scipy.ndimage import binary_dilation, label

    for colour in (1, 2):
        chains, count = label(board == colour)
        for chain in range(1, count + 1):
            if not (binary_dilation(chains == chain) & (board == 0)).any():
                return False
    return True


def player_of(text: str) -> int:
    """The colour that a word names. Raises GtpError."""
    if text.lower() not in PLAYERS:
        raise GtpError("invalid color")
    return PLAYERS[text.lower()]


def is_player(text: str) -> bool:
    return text.lower() in PLAYERS
