"""SGF files: a tournament's records written, and anybody's main line read, through sgfmill.

Games other than Go have no settled SGF form. Here m,n,k games and connect four are GM[4] on the
square board that holds theirs (SZ is one number, so that every reader loads it), a stone's point is
where it comes to lie, and the private root property JG holds the game's spec string.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from sgfmill import sgf_grammar, sgf_properties

from jubango.sgf_games import VERSION
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.coordinates import Point, parse_sgf_pair, sgf_pair
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game
from jubango.sgf_games.go import Go
from jubango.sgf_games.record import GameRecord

SPEC_PROPERTY = "JG"
LARGEST_FILE = 20_000_000  # bytes

# Fixed handicap points as (row, column) in edge distances; GTP 2, section 4.1.1.
_HANDICAP_ORDER = ("bl", "tr", "br", "tl", "ml", "mr", "bm", "tm", "mm")


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
        f"Result: {record.result} ({record.reason}{': ' + record.detail if record.detail else ''})",
    ]
    root = {**shared, "C": [_raw("\n".join(line for line in comment if line))]}
    texts = {
        "PB": record.black, "PW": record.white, "RE": record.result, "EV": record.event,
        "RO": record.game_id, "GN": record.game_id, "DT": record.date[:10],
    }  # fmt: skip
    for key, text in texts.items():
        if text:
            root[key] = [_raw(" ".join(text.split()))]
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence.append(root)
    points = game.move_points([game.parse_action(text) for text in record.moves])
    for i, point in enumerate(points):
        node = {"W" if i % 2 else "B": [sgf_pair(point).encode()]}
        if i < len(record.comments) and record.comments[i]:
            node["C"] = [_raw(record.comments[i])]
        tree.sequence.append(node)
    data: bytes = sgf_grammar.serialise_game_tree(tree)
    if isinstance(game, Go) and game.width != game.height:
        # Last, as lines are filled by one number. No text can hold these bytes: a "]" in it is escaped.
        data = data.replace(b"SZ[%b]" % shared["SZ"][0], b"SZ[%d:%d]" % (game.width, game.height), 1)
    return data


@functools.lru_cache(maxsize=64)
def _shared_properties(game: Game, spec: str) -> dict[str, list[bytes]]:
    """The root's properties that all records of a game share."""
    texts = {
        "FF": "4", "CA": "UTF-8", "GM": "4", "SZ": str(max(game.width, game.height)), "AP": f"jubango:{VERSION}",
        SPEC_PROPERTY: spec, "TM": "0", "OT": "none", "HA": "0",
    }  # fmt: skip
    if isinstance(game, Go):
        komi = sgf_properties.serialise_real(game.komi).decode()
        texts |= {"GM": "1", "KM": komi, "RU": _rules_name(game)}
    return {key: [_raw(text)] for key, text in texts.items()}


def _raw(text: str) -> bytes:
    return sgf_grammar.escape_text(text.encode())


def _rules_name(game: Go) -> str:
    if game.ko == "positional" and game.suicide:
        return "TrompTaylor"
    if game.ko == "situational" and game.suicide:
        return "NZ"
    return "AGA" if game.ko == "situational" else "Chinese"


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

    @property
    def move_count(self) -> int:
        return sum(node.move is not None for node in self.nodes)

    def name(self, player: int) -> str:
        return self.properties.get("PW" if player else "PB", "") or ("White" if player else "Black")


def read_games(path: Path | str) -> list[SgfGame]:
    """The games of an SGF file. Raises UserError naming the file and the place."""
    path = Path(path)
    try:
        if path.is_dir():
            raise UserError(f"{path}: is a folder; name an .sgf file")
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise UserError(f"{path}: {size:,} bytes is too large for an SGF file")
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_sgf(data, str(path))


def parse_sgf(data: bytes, source: str) -> list[SgfGame]:
    """The games in ``data``. Raises UserError, which begins with ``source``."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise UserError(f"{source}: line {_error_line(data)}: not SGF: {error}") from None
    games = []
    for i, tree in enumerate(trees):
        name = source if len(trees) == 1 else f"{source} (game {i + 1} of {len(trees)})"
        sequence = list(tree.sequence)
        while tree.children:
            tree = tree.children[0]
            sequence += tree.sequence
        games.append(_read_game(sequence, name))
    return games


def _error_line(data: bytes) -> int:
    """The line where the grammar stops making sense."""
    start = data.find(b"(;")
    if start < 0:
        return 1
    try:
        _, end = sgf_grammar.tokenise(data, start)
    except ValueError:
        return data.count(b"\n") + 1
    return data[:end].count(b"\n") + 1


def _read_game(sequence: list[dict[str, list[bytes]]], source: str) -> SgfGame:
    root = sequence[0] if sequence else {}
    encoding = _encoding(root)

    def text(values: list[bytes]) -> str:
        return sgf_grammar.text_value(values[0]).decode(encoding, "replace")

    properties = {key: text(values) for key, values in root.items() if values}
    try:
        game = _game_of(properties)
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    nodes = []
    number = 0
    for i, raw in enumerate(sequence):
        where = f"{source}: move {number + 1}" if i else f"{source}: root node"

        def points(key: str, raw: dict = raw, where: str = where) -> tuple[Point, ...]:
            found: list[Point] = []
            for value in raw.get(key, []):
                found += _points(value.decode("ascii", "replace"), game, f"{where}: {key}")
            return tuple(found)

        move = None
        for player, key in enumerate("BW"):
            if key in raw and move is None:
                value = raw[key][0].decode("ascii", "replace").strip()
                try:
                    move = (player, parse_sgf_pair(value, game.height, game.width))
                except UserError as error:
                    raise UserError(f"{where}: {key}[{value}]: {error}") from None
        turn = None
        if "PL" in raw:
            turn = {"B": 0, "W": 1}.get(raw["PL"][0].decode("ascii", "replace").strip().upper()[:1])
        comment = text(raw["C"]) if raw.get("C") else ""
        nodes.append(SgfNode(points("AB"), points("AW"), points("AE"), turn, move, comment))
        number += move is not None
    return SgfGame(source, game, tuple(_with_handicap(nodes, properties, game)), properties)


def _encoding(root: dict[str, list[bytes]]) -> str:
    declared = root.get("CA", [b"UTF-8"])[0].decode("ascii", "replace").strip() or "UTF-8"
    try:
        for values in root.values():
            for value in values:
                value.decode(declared)
    except LookupError:
        return "utf-8"
    except UnicodeDecodeError:
        return "latin-1"
    return declared


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
    size = properties.get("SZ", "15" if kind == "4" else "19").strip()
    if not re.fullmatch(r"\d{1,3}(:\d{1,3})?", size, re.ASCII):
        raise UserError(f"SZ[{size[:20]}] is no board size")
    size = size.replace(":", "x")
    if kind == "4":
        return make_game(f"gomoku:{size}")
    if kind != "1":
        raise UserError(f"GM[{kind}] is a game this program does not know; it reads Go (1) and Gomoku (4)")
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
    """KM, to the nearest half. Fox writes 375 for 3.75 stones, which are 7.5 points."""
    text = properties.get("KM", "").strip().replace(",", ".")
    if not text:
        return 0.0 if int(properties.get("HA") or 0) > 1 else 6.5
    try:
        komi = float(text)
        if not abs(komi) < 10_000:
            raise ValueError
    except ValueError:
        raise UserError(f"KM[{text}] is no komi") from None
    if abs(komi) >= 100:
        komi = komi / 100 * 2
    return round(komi * 2) / 2


def _with_handicap(nodes: list[SgfNode], properties: dict[str, str], game: Game) -> list[SgfNode]:
    """Some programs write HA alone and mean the usual points."""
    try:
        handicap = int(properties.get("HA", "0") or 0)
    except ValueError:
        return nodes
    first = nodes[0] if nodes else SgfNode()
    white_starts = next((node.move[0] == 1 for node in nodes if node.move), False)
    if handicap < 2 or first.black or not isinstance(game, Go) or not white_starts:
        return nodes
    points = handicap_points(game, handicap)
    return [SgfNode(tuple(points), first.white, first.empty, 1, first.move, first.comment), *nodes[1:]]


def handicap_points(game: Go, stones: int) -> list[Point]:
    """The fixed handicap points of GTP. Raises UserError where there are none."""
    if not 2 <= stones <= 9 or min(game.width, game.height) < 7:
        raise UserError(f"HA[{stones}]: no usual points for that on {game.width}x{game.height}")
    edge_r, edge_c = (3 if n >= 13 else 2 for n in (game.height, game.width))
    rows = {"t": edge_r, "m": game.height // 2, "b": game.height - 1 - edge_r}
    columns = {"l": edge_c, "m": game.width // 2, "r": game.width - 1 - edge_c}
    order = list(_HANDICAP_ORDER)
    chosen = order[:stones] if stones in (2, 3, 4, 6, 8) else [*order[: stones - 1], "mm"]
    points = []
    for name in chosen:
        row_name, column_name = (name[0], name[1]) if name[0] in "tb" or name == "mm" else ("m", name[1])
        points.append((rows[row_name], columns[column_name]))
    return points
