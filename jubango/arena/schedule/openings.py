"""The openings that games begin with: drawn at random, from SGF files, or a balanced set that comes with a game.

Each is played twice with colours swapped, and every pairing has the same ones in the same order.
"""

from __future__ import annotations

import functools
import importlib.resources
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jubango.arena.schedule.pairings import Opening, drawn
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import check_file
from jubango.sgf_games.rules.compiled import initial_states, rules
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.sgf.sgf import LARGEST_SGF, SgfGame, parse_sgf, read_games

RANDOM, BALANCED = "random", "balanced"
PLIES = 4  # of a random opening, unless somebody says otherwise
MOST_OPENINGS = 10_000  # openings of a set
OPENINGS_AT_ONCE = 64  # openings that are looked at side by side
ROUNDS_OF_CANDIDATES = 20  # of OPENINGS_AT_ONCE candidates each, before one that was there already is taken again


@dataclass(frozen=True)
class Openings:
    """Where the n-th pair of a pairing's games begins. Without a set of its own (``listed``) they are ``plies`` random
    moves, another opening for every pair as long as there are others."""

    game: Game
    seed: int
    plies: int = 0
    listed: tuple[Opening, ...] = ()

    def at(self, pair: int) -> Opening:
        """Of the two games of a pair, counted from 0: a set is gone through in an order that the seed decides, again
        and again."""
        if not self.listed:
            return _random(self.game.compiled_as, self.plies, self.seed).at(pair)
        return self.listed[self._order[pair % len(self.listed)]]

    @functools.cached_property
    def _order(self) -> list[int]:
        order = list(range(len(self.listed)))
        random.Random(drawn(self.seed, "openings")).shuffle(order)
        return order

    @property
    def told(self) -> str:
        """``12 openings``, ``4 random moves``."""
        if self.listed:
            return f"{len(self.listed)} opening{'s' * (len(self.listed) > 1)}"
        return f"{self.plies} random move{'s' * (self.plies > 1)}"


def openings_of(game: Game, source: str, plies: int, seed: int) -> Openings:
    """``source``: "random", "balanced", or an SGF file or a folder of such, whose main lines are the openings.
    ``plies`` is how long random ones are (0: 4) and how long others may be (0: as they are). Raises UserError."""
    if source == RANDOM:
        found = Openings(game, seed, plies or PLIES)
        found.at(0)  # is there any?
        return found
    if source == BALANCED:
        games = _shipped(game)
    else:
        path = Path(source)
        files = sorted(path.rglob("*.sgf")) if path.is_dir() else [path]
        if not files:
            raise UserError(f"openings: {source}: holds no .sgf files")
        for file in files:
            check_file(file, LARGEST_SGF)  # a tournament's file may come from anybody, and a pipe never end
        games = [game for file in files for game in read_games(file)]
    return listed_openings(game, [_opening(game, sgf, plies) for sgf in games], seed)


def check_listed(data: Mapping[str, Any], source: str) -> None:
    """Raises UserError where what has been begun, by its TOML, names files of openings. They are listed when it begins,
    so that a folder which somebody has sent opens nothing outside it."""
    named = data.get("openings")
    if isinstance(named, str) and named not in ("", RANDOM, BALANCED):
        raise UserError(
            f'{source}: openings = "{named}": a run\'s own file lists its openings and names none; keep the file that '
            "you have written in another folder"
        )


def listed_openings(game: Game, openings: Sequence[Opening], seed: int) -> Openings:
    """These openings, each once. Raises UserError for one that the rules do not allow."""
    once = {opening.moves: opening for opening in reversed(openings)}
    kept = [opening for opening in openings if once[opening.moves] is opening]
    if not kept:
        raise UserError("openings: there are none")
    if len(kept) > MOST_OPENINGS:
        raise UserError(f"openings: {len(kept):,} are too many; {MOST_OPENINGS:,} at most")
    for i in range(0, len(kept), OPENINGS_AT_ONCE):
        _check(game, kept[i : i + OPENINGS_AT_ONCE])
    return Openings(game, seed, listed=tuple(kept))


def handicap_opening(game: Game, stones: int) -> Opening:
    """Black's stones on the usual points, White passing in between, so that every engine understands it; White moves
    next. Raises UserError where there are no such points."""
    if not game.has("set_up") or game.pass_action < 0:
        raise UserError(f"handicap: is for games with stones that are set up, as Go, not for {game.spec}")
    none = game.action_text(game.pass_action)
    try:
        points = [game.point_text(point) for point in game.handicap_points(stones)]
    except UserError:
        raise UserError(f"handicap = {stones}: {game.spec} has no usual points for so many stones") from None
    return Opening(f"{stones} handicap stones", tuple(f" {none} ".join(points).split()))


def _opening(game: Game, sgf: SgfGame, plies: int) -> Opening:
    """A main line's first moves. Raises UserError."""
    where = f"openings: {sgf.source}"
    if (sgf.game.height, sgf.game.width) != (game.height, game.width):
        raise UserError(f"{where}: is a game of {sgf.game.spec}, not of {game.spec}")
    if any(node.black or node.white or node.empty for node in sgf.nodes):
        raise UserError(f"{where}: has set-up stones; an opening is moves from the first position")
    moves = [node.move for node in sgf.nodes if node.move]
    wrong = next((i for i, (player, _) in enumerate(moves, 1) if player != (i - 1) % 2), 0)
    if wrong:
        raise UserError(f"{where}: move {wrong} is not the turn of who makes it")
    texts = [game.action_text(sgf.game.point_action(point)) for _, point in moves]
    name = sgf.properties.get("ON") or Path(sgf.source).name
    return Opening(" ".join(name.split()), tuple(texts[:plies] if plies else texts))


def _shipped(game: Game) -> list[SgfGame]:
    """The balanced set that comes with the package for a game, whatever the komi. Raises UserError."""
    folder = importlib.resources.files("jubango.sgf_games") / "openings"
    name = _file_of(game)
    file = folder / name
    if not file.is_file():
        known = sorted(entry.name.removesuffix(".sgf") for entry in folder.iterdir() if entry.name.endswith(".sgf"))
        make = shell.command("openings", "--game", game.spec, "--out", "openings.sgf")
        raise UserError(
            f"openings: no balanced set comes with jubango for {game.spec} (but for {', '.join(known)}); "
            f'"random" draws moves, {make} makes a set'
        )
    return parse_sgf(file.read_bytes(), name)


def _file_of(game: Game) -> str:
    """``go-9.sgf``, ``mnk-k=5-9.sgf``."""
    size = f"{game.width}" if game.width == game.height else f"{game.width}x{game.height}"
    return f"{game.family.replace(',', '-').replace(':', '-')}-{size}.sgf"


def _check(game: Game, openings: Sequence[Opening]) -> None:
    """Raises UserError for the first move that is none, or after which there is nothing left to play."""
    actions = []
    for opening in openings:
        try:
            actions.append([game.parse_action(text) for text in opening.moves])
        except UserError as error:
            raise UserError(f"openings: {opening.name}: {error}") from None

    def chosen(ply: int, legal: np.ndarray, over: np.ndarray) -> np.ndarray:
        moves = np.zeros(OPENINGS_AT_ONCE, np.int32)
        for i, (opening, own) in enumerate(zip(openings, actions, strict=True)):
            if ply < len(own) and not legal[i, own[ply]]:
                raise UserError(f"openings: {opening.name}: move {ply + 1} ({opening.moves[ply]}) is illegal")
            if ply == len(own) and over[i]:
                raise UserError(f"openings: {opening.name}: the game ends with it; opening_plies cuts it shorter")
            moves[i] = own[ply] if ply < len(own) else 0
        return moves

    _walk(game, max(map(len, actions)), chosen)


def _walk(game: Game, plies: int, chosen: Callable[[int, np.ndarray, np.ndarray], np.ndarray]) -> list[bytes]:
    """Moves ``chosen(ply, legal, over)``, made in OPENINGS_AT_ONCE games. It is asked once more for the last positions.
    Returns the boards, equal if they can be turned or mirrored into each other; nothing of games that are over."""
    compiled, states = rules(game), initial_states(game, OPENINGS_AT_ONCE)
    for ply in range(plies + 1):
        view = compiled.view_lanes(states)
        over = np.asarray(view.terminal)
        moves = chosen(ply, np.asarray(view.legal), over)
        if ply < plies:
            states = compiled.step_lanes(states, moves)
    kept = jax.tree.map(np.asarray, states)
    places = [jax.tree.map(lambda x, i=i: x[..., i], kept) for i in range(OPENINGS_AT_ONCE)]
    return [b"" if ended else board_key(game, place) for place, ended in zip(places, over, strict=True)]


def board_key(game: Game, state: State) -> bytes:
    """Equal for boards that can be turned or mirrored into each other."""
    board, (turned, _) = np.asarray(game.stones(state)).reshape(-1), game.symmetries
    return min(board[own].tobytes() for own in turned)


@functools.lru_cache(maxsize=8)
def _random(game: Game, plies: int, seed: int) -> _Random:
    return _Random(game, plies, seed)


class _Random:
    """Random openings in the order in which they come; the n-th is the same whichever are asked for."""

    def __init__(self, game: Game, plies: int, seed: int) -> None:
        self._game, self._plies, self._seed = game, plies, seed
        self._found: list[Opening] = []
        self._seen: set[bytes] = set()  # boards
        self._candidates = 0  # so far
        self._idle = 0  # rounds of candidates without a new one

    def at(self, index: int) -> Opening:
        while len(self._found) <= index:
            self._draw()
        return self._found[index]

    def _draw(self) -> None:
        generators = [
            random.Random(drawn(self._seed, f"opening {self._candidates + i}")) for i in range(OPENINGS_AT_ONCE)
        ]
        self._candidates += OPENINGS_AT_ONCE
        moves: list[list[str]] = [[] for _ in generators]

        def chosen(ply: int, legal: np.ndarray, over: np.ndarray) -> np.ndarray:
            found = np.zeros(OPENINGS_AT_ONCE, np.int32)
            for i, own in enumerate(generators):
                able = [a for a in np.flatnonzero(legal[i]).tolist() if self._game.action_text(a) != "pass"]
                if able and ply < self._plies:
                    found[i] = own.choice(able)
                    moves[i].append(self._game.action_text(int(found[i])))
            return found

        boards = _walk(self._game, self._plies, chosen)
        good = {board: tuple(own) for own, board in zip(moves, boards, strict=True) if board}
        new = {board: own for board, own in good.items() if board not in self._seen and len(own) == self._plies}
        if not new:
            self._idle += 1
            if self._idle < ROUNDS_OF_CANDIDATES:
                return
            if not self._seen:
                raise UserError(f"openings: no game of {self._game.spec} lasts longer than {self._plies} random moves")
            self._seen.clear()  # all there are, as far as chance can find them: they come again
        self._idle = 0
        self._seen.update(new)
        self._found += [Opening(f"random {len(self._found) + i}", own) for i, own in enumerate(new.values(), 1)]


def as_key(openings: str | Path | Sequence[str] | None) -> str | list[dict[str, str]] | None:
    """What is said in Python, as a tournament's file has it."""
    if openings is None or isinstance(openings, str | Path):
        return openings if openings is None else str(openings)
    return [{"moves": moves} for moves in openings]


def texts_of(openings: Iterable[Opening]) -> list[dict[str, str]]:
    """As a tournament's file lists them."""
    return [{"name": opening.name, "moves": " ".join(opening.moves)} for opening in openings]
