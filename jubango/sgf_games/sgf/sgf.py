"""SGF files: a tournament's records written, and anybody's main line read, through sgfmill.

Games other than Go have no settled SGF form. Here m,n,k games and connect four are GM[4] on the
square board that holds theirs: SZ is one number, so that every reader loads it. A stone's point is
where it comes to lie. The private root property JG holds the game's spec string. Where a game's moves
have no places on a board that readers have, they are texts in the private properties JB and JW.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import read_file
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.coordinates import Point, parse_sgf_pair, sgf_pair
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf import hex_files
from jubango.sgf_games.sgf.grammar import sgf_grammar, sgf_properties
from jubango.sgf_games.sgf.servers import as_sgf
from jubango.sgf_games.sgf.sgf_tree import Node, read_trees

SPEC_PROPERTY = "JG"
MOVE_TEXTS = {"B": "JB", "W": "JW"}
LARGEST_BOARD = 26  # that other readers have
LARGEST_SGF = 20_000_000  # bytes


# -- writing -------------------------------------------------------------------------------------


def write_record(record: GameRecord) -> bytes:
    """The SGF of a finished game. Raises UserError for a game or a move that is unknown."""
    game = make_game(record.game)
    shared = _shared_properties(game, record.game)
    comment = [
        f"Event: {record.event}" if record.event else "",
        f"Game: {record.game_id}, {record.game}",
        f"Seed: {record.seed}",
        f"Black: {record.black} = {record.black_spec}",
        f"White: {record.white} = {record.white_spec}",
        f"Opening: {record.opening_plies} moves, {record.opening}" if record.opening_plies else "",
        f"Counted: {record.counted}" if record.counted else "",
        f"Result: {record.result} ({record.reason}{': ' + record.detail if record.detail else ''})",
    ]
    clock = {"TM": [_real(record.main_time)], "OT": [_raw(record.overtime)]} if record.overtime else {}
    root = {**shared, **clock, "C": [_raw("\n".join(line for line in comment if line))]}
    texts = {
        "PB": record.black, "PW": record.white, "RE": record.result, "EV": record.event,
        "RO": record.game_id, "GN": record.game_id, "DT": record.date[:10], "ON": record.opening,
    }  # fmt: skip
    for key, text in texts.items():
        if text:
            root[key] = [_raw(" ".join(text.split()))]
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence.append(root)
    points = game.move_points([game.parse_action(text) for text in record.moves])
    placed = handicap_plies(game, record)
    if placed:
        stones = [sgf_pair(point).encode() for point in points[:placed:2]]
        root |= {"HA": [b"%d" % len(stones)], "AB": stones, "PL": [b"W"]}
    notes = record.notes
    for i, (text, point) in enumerate(zip(record.moves, points, strict=True)):
        if i < placed:
            continue
        player = "W" if i % 2 else "B"
        node = move_property(game, player, text, point)
        if i < len(record.time_left):
            seconds, periods = record.time_left[i]
            node |= {f"{player}L": [_real(round(seconds, 3))]}
            node |= {f"O{player}": [b"%d" % periods]} if periods else {}
        if i < len(notes) and notes[i]:
            node["C"] = [_raw(notes[i])]
        tree.sequence.append(node)
    return _serialised(game, tree)


def write_line(game: Game, moves: Sequence[str], texts: Mapping[str, str]) -> bytes:
    """The SGF of moves from the first position, with ``texts`` in the root's properties. Raises UserError."""
    points = game.move_points(list(map(game.parse_action, moves)))
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence.append({**_shared_properties(game, game.spec), **{key: [_raw(text)] for key, text in texts.items()}})
    for i, (text, point) in enumerate(zip(moves, points, strict=True)):
        tree.sequence.append(move_property(game, "BW"[i % 2], text, point))
    return _serialised(game, tree)


def write_nodes(game: Game, nodes: Sequence[SgfNode], texts: Mapping[str, str]) -> bytes:
    """The SGF of a main line, whoever moves: the first of the ``nodes`` may have set-up stones, each of the others has
    such or a move. ``texts`` go into the root's properties."""
    first, *others = nodes
    root = {**_shared_properties(game, game.spec), **{key: [_raw(text)] for key, text in texts.items()}}
    if len(first.black) > 1 and not first.white and first.turn == 1:
        root["HA"] = [b"%d" % len(first.black)]
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence.append({**root, **_set_up_properties(first)})
    for node in others:
        if node.move is None:
            tree.sequence.append(_set_up_properties(node))
            continue
        player, point = node.move
        text = "" if _has_board(game) else game.action_text(game.point_action(point))
        tree.sequence.append(move_property(game, "BW"[player], text, point))
    return _serialised(game, tree)


def _set_up_properties(node: SgfNode) -> dict[str, list[bytes]]:
    stones = (("AB", node.black), ("AW", node.white), ("AE", node.empty))
    found = {key: [sgf_pair(point).encode() for point in points] for key, points in stones if points}
    return found if node.turn is None else {**found, "PL": [b"BW"[node.turn : node.turn + 1]]}


def move_property(game: Game, player: str, text: str, point: Point | None) -> dict[str, list[bytes]]:
    """The property of a node for a move of ``player``, B or W, that is said as ``text`` and lies at ``point``."""
    return {player: [sgf_pair(point).encode()]} if _has_board(game) else {MOVE_TEXTS[player]: [_raw(text)]}


def _serialised(game: Game, tree: sgf_grammar.Coarse_game_tree) -> bytes:
    data: bytes = sgf_grammar.serialise_game_tree(tree)
    if game.dialect == "go" and game.width != game.height:
        # Last, as lines are filled by one number. No text can hold these bytes: a "]" in it is escaped.
        size = _shared_properties(game, game.spec)["SZ"][0]
        data = data.replace(b"SZ[%b]" % size, b"SZ[%d:%d]" % (game.width, game.height), 1)
    return data


def handicap_plies(game: Game, record: GameRecord) -> int:
    """How many first moves are Black's handicap stones, with White's passes in between, which a file has as AB."""
    moves = record.moves[: record.opening_plies]
    if not game.has("set_up") or game.pass_action < 0:
        return 0
    none = game.action_text(game.pass_action)
    handicap = len(moves) % 2 and len(moves) > 1 and set(moves[1::2]) == {none}
    return len(moves) if handicap and none not in moves[::2] else 0


@functools.lru_cache(maxsize=64)
def _shared_properties(game: Game, spec: str) -> dict[str, list[bytes]]:
    """The root's properties that all records of a game share."""
    size = {"SZ": str(max(game.width, game.height))} if _has_board(game) else {}
    texts = {
        "FF": "4", "CA": "UTF-8", "GM": "4", **size, "AP": f"jubango:{VERSION}",
        SPEC_PROPERTY: spec, "TM": "0", "OT": "none", "HA": "0",
    }  # fmt: skip
    if game.dialect == "go":
        texts |= {"GM": "1", "KM": _real(game.komi_of()).decode(), "RU": game.rule_set}
    return {key: [_raw(text)] for key, text in texts.items()}


def _has_board(game: Game) -> bool:
    return max(game.width, game.height) <= LARGEST_BOARD


def _real(number: float) -> bytes:
    text: bytes = sgf_properties.serialise_real(number)
    return text


def _raw(text: str) -> bytes:
    return sgf_grammar.escape_text(text.encode())


# -- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SgfNode:
    """One node of the main line: set-up stones, whose turn, a move; most have a move alone."""

    black: tuple[Point, ...] = ()
    white: tuple[Point, ...] = ()
    empty: tuple[Point, ...] = ()
    turn: int | None = None
    move: tuple[int, Point | None] | None = None  # (player, point; None is a pass)
    comment: str = ""


@dataclass(frozen=True)
class SgfGame:
    """The main line of one game of a file."""

    source: str  # file name and, where there are several games, which
    game: Game
    nodes: tuple[SgfNode, ...]
    properties: dict[str, str] = field(default_factory=dict)  # of the root, as text
    guessed_text: str = ""  # what was guessed to read the file's text, in words
    guessed_stones: str = ""  # and which handicap stones it may have meant
    trees: Sequence[Node] = field(default=(), compare=False, repr=False)  # all games of the file, with all there is
    number: int = 1  # which of them it is

    @property
    def move_count(self) -> int:
        return sum(node.move is not None for node in self.nodes)

    def may_be_over(self, number: int | None) -> bool:
        """Can the game have ended after ``number`` moves (None: all)? Where points are counted two passes end it."""
        last = [node.move[1] for node in self.nodes if node.move][-2:]
        return number in (None, self.move_count) and (not self.game.counts_points or last == [None, None])

    def name(self, player: int) -> str:
        """In one line."""
        named = " ".join(self.properties.get("PW" if player else "PB", "").split())
        return named or ("White" if player else "Black")

    @property
    def guesses(self) -> list[str]:
        """What people should know of how the file was read."""
        return [f"{self.source}: {guess}" for guess in (self.guessed_text, self.guessed_stones) if guess]


def read_games(path: Path | str) -> list[SgfGame]:
    """The games of an SGF file, or the one of a .gib or .ngf file. Raises UserError naming the file and the place."""
    return parse_sgf(as_sgf(read_file(path, LARGEST_SGF, "an .sgf file"), str(path)), str(path))


def parse_sgf(data: bytes, source: str) -> list[SgfGame]:
    """The games in ``data``. Raises UserError, which begins with ``source``."""
    trees, guess = read_trees(data, source)
    games = []
    for i, tree in enumerate(trees):
        name = source if len(trees) == 1 else f"{source} (game {i + 1} of {len(trees)})"
        try:
            if tree.text("GM").strip() == hex_files.KIND and SPEC_PROPERTY not in tree.properties:
                hex_files.with_our_points(tree)
            game = _read_game([node.properties for node in tree.main_line], name)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
        games.append(replace(game, guessed_text=guess, trees=trees, number=i + 1))
    return games


def _read_game(sequence: list[dict[str, list[bytes]]], source: str) -> SgfGame:
    """The game of a main line. Raises UserError, which names the place in the game."""
    properties = {key: _text(values) for key, values in sequence[0].items()}
    game = _game_of(properties)
    nodes: list[SgfNode] = []
    number = 0
    for i, raw in enumerate(sequence):
        read = _read_node(raw, game, f"move {number + 1}" if i else "root node")
        nodes += read
        number += sum(node.move is not None for node in read)
    nodes, guess = _with_handicap(nodes, properties, game)
    return SgfGame(source, game, tuple(nodes), properties, guessed_stones=guess)


def _read_node(raw: dict[str, list[bytes]], game: Game, where: str) -> list[SgfNode]:
    """A node; if it holds several moves, which some programs write, in their order, one of each."""

    def points(key: str) -> tuple[Point, ...]:
        found: list[Point] = []
        for value in raw.get(key, []):
            found += _points(value.decode("utf-8"), game, f"{where}: {key}")
        return tuple(found)

    moves: list[tuple[int, Point | None]] = []
    players = {key: i for i, keys in enumerate(MOVE_TEXTS.items()) for key in keys}
    for key in raw:
        for value in raw[key] if key in players else ():
            text = value.decode("utf-8").strip()
            try:
                if key in MOVE_TEXTS:
                    point = parse_sgf_pair(text, game.height, game.width)
                else:
                    point = game.action_point(None, game.parse_action(text))
                moves.append((players[key], point))
            except UserError as error:
                raise UserError(f"{where}: {key}[{text}]: {error}") from None
    turn = {"B": 0, "W": 1}.get(_text(raw["PL"]).strip().upper()[:1]) if "PL" in raw else None
    comment = _text(raw["C"]) if "C" in raw else ""
    first = SgfNode(points("AB"), points("AW"), points("AE"), turn, moves[0] if moves else None, comment)
    return [first, *(SgfNode(move=move) for move in moves[1:])]


def _text(values: list[bytes]) -> str:
    text: bytes = sgf_grammar.text_value(values[0])
    return text.decode("utf-8")


def _points(value: str, game: Game, where: str) -> list[Point]:
    """A point, or a rectangle ``aa:cc``."""
    first, _, last = value.strip().partition(":")
    try:
        a = parse_sgf_pair(first, game.height, game.width)
        b = parse_sgf_pair(last or first, game.height, game.width)
    except UserError as error:
        raise UserError(f"{where}[{value}]: {error}") from None
    if a is None or b is None:
        raise UserError(f"{where}[{value}]: is no point")
    rows = range(min(a[0], b[0]), max(a[0], b[0]) + 1)
    columns = range(min(a[1], b[1]), max(a[1], b[1]) + 1)
    return [(r, c) for r in rows for c in columns]


def _game_of(properties: dict[str, str]) -> Game:
    if SPEC_PROPERTY in properties:
        return make_game(properties[SPEC_PROPERTY])
    kind = properties.get("GM", "1").strip() or "1"
    size = properties.get("SZ", "").strip() or ("15" if kind == "4" else "19")
    if not re.fullmatch(r"\d{1,3}(:\d{1,3})?", size, re.ASCII):
        raise UserError(f"SZ[{size[:20]}] is no board size")
    size = size.replace(":", "x")
    if kind == "4":
        return make_game(f"gomoku:{size}")
    if kind != "1":
        raise UserError(f"GM[{kind}] is a game this program does not know; it reads Go (1), Gomoku (4) and Hex (11)")
    rule_name = "".join(properties.get("RU", "").lower().replace("-", "").split())
    ko, suicide = "simple", "false"
    if rule_name.startswith(("nz", "newzealand")):
        ko, suicide = "situational", "true"
    elif rule_name.startswith("tromptaylor"):
        ko, suicide = "positional", "true"
    elif rule_name.startswith(("goe", "ing")):
        suicide = "true"
    return make_game(f"go:{size},komi={_komi(properties)},ko={ko},suicide={suicide}")


def _komi(properties: dict[str, str]) -> float:
    """KM, to the nearest half. Fox writes hundredths; and a quarter can only be one of stones, which count twice."""
    text = properties.get("KM", "").strip().replace(",", ".")
    if not text:
        return 0.0 if _handicap(properties) > 1 else 6.5
    try:
        komi = float(text)
        if not abs(komi) < 10_000:
            raise ValueError
    except ValueError:
        raise UserError(f"KM[{text[:20]}] is no komi") from None
    if abs(komi) >= 100:
        komi /= 100
    if komi % 0.5 == 0.25:
        komi *= 2
    return round(komi * 2) / 2


def _handicap(properties: dict[str, str]) -> int:
    """HA. Raises UserError."""
    text = properties.get("HA", "").strip() or "0"
    if not re.fullmatch(r"\+?\d{1,3}", text, re.ASCII):
        raise UserError(f"HA[{text[:20]}] is no number of stones")
    return int(text)


def _with_handicap(nodes: list[SgfNode], properties: dict[str, str], game: Game) -> tuple[list[SgfNode], str]:
    """Some programs write HA alone and mean the usual points: the nodes with them, and words that say so. Others put
    the stones into a node of their own before the first move."""
    stones, first = _handicap(properties), nodes[0]
    opening = itertools.takewhile(lambda node: node.move is None, nodes)
    white_starts = next((node.move[0] == 1 for node in nodes if node.move), False)
    if stones < 2 or any(node.black for node in opening) or not game.has("set_up") or not white_starts:
        return nodes, ""
    points = game.handicap_points(stones)
    names = ", ".join(map(game.point_text, points))
    guess = f"HA[{stones}] comes without its stones, which were taken to be {names}"
    return [replace(first, black=tuple(points), turn=1), *nodes[1:]], guess
