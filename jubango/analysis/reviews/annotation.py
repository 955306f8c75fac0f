"""A game's SGF with a review in it, as Sabaki, Lizzie, KaTrain and others show it; what its author wrote stays.

In the node of a move stand its comment, what kind of move it was (DO, BM, IT, HO), the win rate after it (SBKV for
Sabaki) and the search of the position (LZ for Lizzie, LZOP in the root; KT for KaTrain). The marks are about the next
move: visits in percent as labels (LB), the best move in a circle (CR), what was played under a triangle (TR). Better
moves are variations. JN in a node names what was added there, so that it can be taken out again; JN[node]: all of the
node was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jubango.analysis.positions.heat import FEWEST
from jubango.analysis.reviews.katrain import KATRAIN_VERSION, is_ours, katrain
from jubango.analysis.reviews.notes import with_note, without_note
from jubango.analysis.reviews.review_moves import GRADES, ReviewedMove, ReviewedPosition
from jubango.sgf_games.rules.coordinates import sgf_pair
from jubango.sgf_games.sgf.grammar import sgf_grammar
from jubango.sgf_games.sgf.positions import Position
from jubango.sgf_games.sgf.sgf import LARGEST_BOARD, MOVE_TEXTS, move_property
from jubango.sgf_games.sgf.sgf_tree import Node

ADDED = "JN"
WHOLE_NODE = "node"
ENGINE = "jubango"  # as Lizzie calls who has searched
THE_BOT = "the bot"  # as comments call who has searched, if it is no engine
SUMS = ("SBKV", "LZ", "LZOP")  # of the main line, what every program writes anew
NOTE_KINDS = {
    "inaccuracy": {"DO": ""},
    "mistake": {"BM": "1", "HO": "1"},
    "blunder": {"BM": "2", "HO": "2"},
    "surprise": {"IT": ""},
}
EXCLUSIVE = ("DO", "BM", "TE", "IT")  # a node has one of them
POINT_MARKS = ("CR", "MA", "SQ", "TR", "SL")  # a point has one of them
NOTED = (
    "KTV",
    "LB",
    "CR",
    "TR",
    *dict.fromkeys(key for kind in NOTE_KINDS.values() for key in kind),
)  # what JN can name
LABELS = 12  # moves with their share of the visits
LEAST_SHARE = 0.02  # share of the visits
IN_LIZZIE = 10  # moves


def clear(root: Node) -> None:
    """Take out what a review has added before, and nothing else, whatever another program may mean by JN."""
    order = [root]
    for node in order:
        order += node.children
    game = set(map(id, root.main_line))  # where no node is ours
    for node in reversed(order):  # from the leaves up
        node.children = [child for child in node.children if id(child) in game or not _is_ours(child)]
        for key in SUMS if id(node) in game else ():
            node.properties.pop(key, None)
        if is_ours(node.properties.get("KT", ())):
            del node.properties["KT"]
        for key, value in map(_split, node.properties.get(ADDED, ())):
            values = node.properties.get(key, [])
            if key in NOTED and value in values:
                values.remove(value)
                if not values:
                    del node.properties[key]
        comment = node.text("C")
        if comment != without_note(comment):
            _set(node, "C", without_note(comment))
    for node in order:
        others = [entry for entry in node.properties.pop(ADDED, ()) if not _is_of_ours(entry)]
        if others:
            node.properties[ADDED] = others


def _is_of_ours(entry: bytes) -> bool:
    return entry == WHOLE_NODE.encode() or _split(entry)[0] in NOTED


def _is_ours(node: Node) -> bool:
    """A cleared node of a variation of ours that nobody has written into."""
    left = set(node.properties) - {ADDED, "B", "W", *MOVE_TEXTS.values()}
    return WHOLE_NODE.encode() in node.properties.get(ADDED, ()) and not left and not node.children


def annotate(
    root: Node, places: Sequence[Position], positions: Sequence[ReviewedPosition], moves: Sequence[ReviewedMove],
    summary: Sequence[str], by: str, engine: str = "",
) -> None:  # fmt: skip
    """Put a review into the tree of its game, in place of the one that may be there.

    places: the positions of the game; ``positions`` and ``moves`` are the review's. summary: lines of the first
    comment. by: who has searched. engine: the name of other people's engine that has.
    """
    clear(root)
    game = places[0].game
    last = dict(_last_nodes(root))
    for number, node in _nodes_of_moves(root):
        here = positions[number]
        _add(node, "SBKV", f"{100 * here.win_rate:.2f}")
        if game.dialect == "go" and here.candidates:
            _add(node, "LZ" if number else "LZOP", lizzie(here, engine or ENGINE))
            found = katrain(here, moves[number] if number < len(moves) else None)
            if found and "KT" not in node.properties:  # KataGo's own stays
                node.properties["KT"] = found
                if "KTV" not in root.properties:
                    _add(root, "KTV", KATRAIN_VERSION)
        lines = summary if not number else move_lines(moves[number - 1], engine or THE_BOT)
        if number:
            for key, value in NOTE_KINDS.get(moves[number - 1].grade, {}).items():
                if not node.properties.keys() & (EXCLUSIVE if key in EXCLUSIVE else {key}):
                    _add(node, key, value)
        _set(node, "C", with_note(node.text("C"), list(lines), by))
    for move in moves:
        before = last.get(move.number - 1)
        if before is None:
            continue
        place = places[move.number - 1]
        _mark(before, place, positions[place.number], move)
        if move.grade in GRADES and move.variation:
            _variation(before, place, move, engine or ENGINE)


def _mark(node: Node, place: Position, here: ReviewedPosition, move: ReviewedMove) -> None:
    game = place.game
    if max(game.height, game.width) > LARGEST_BOARD:
        return
    taken = {value for key in POINT_MARKS for value in node.properties.get(key, ())}
    labelled = {value.partition(b":")[0] for value in node.properties.get("LB", ())}
    total = max(1, sum(one.visits for one in here.candidates))
    noise = 0 < max((one.visits for one in here.candidates), default=0) < FEWEST

    def mark(key: str, point: bytes) -> None:
        if point and point not in taken:
            taken.add(point)
            _add_raw(node, key, point)

    for i, one in enumerate(() if noise else here.candidates[:LABELS]):
        point = _point(place, one.move)
        if point and point not in labelled and (one.visits >= LEAST_SHARE * total or not i):
            labelled.add(point)
            _add_raw(node, "LB", b"%b:%d" % (point, round(100 * one.visits / total)))
    if here.candidates:
        mark("CR", _point(place, here.candidates[0].move))
    mark("TR", _point(place, move.move))


def _variation(node: Node, place: Position, move: ReviewedMove, by: str) -> None:
    """Go along what is there, and add the rest."""
    for i, text in enumerate(move.variation):
        if place.over:
            return
        then = place.after(text)
        wanted = move_property(place.game, "BW"[place.player], text, then.last)
        found = next((child for child in node.children if _same_move(child, wanted)), None)
        if found is None:
            found = Node(dict(wanted))
            node.children.append(found)
            _note(found, WHOLE_NODE.encode())
        if not i:
            colour = ("Black", "White")[move.player]
            rates = f"{_percent(move.win_rate_best)} rather than {_percent(move.win_rate_after)}"
            text = f"instead of {move.move}: {colour} {rates}"
            _set(found, "C", with_note(found.text("C"), [text], by))
        node, place = found, then


def _same_move(node: Node, wanted: Mapping[str, list[bytes]]) -> bool:
    return all(node.properties.get(key) == value for key, value in wanted.items())


def move_lines(move: ReviewedMove, who: str = THE_BOT) -> list[str]:
    """What is said of a move. who: has searched."""
    colour = ("Black", "White")[move.player]
    said = f"{move.number} {'BW'[move.player]} {move.move}"
    lines = [f"{said}: {verdict(move, who)}"]
    lines.append(f"{colour}'s win rate: {_percent(move.win_rate_before)} before, {_percent(move.win_rate_after)} after")
    if move.lead_before is not None and move.lead_after is not None:
        lines[-1] += f"; {colour}'s lead: {move.lead_before:+z.1f} before, {move.lead_after:+z.1f} after"
    if move.best and not move.is_best:
        lines.append(f"{who} plays {move.best}: {' '.join(move.variation)}")
    if move.simulations:
        prior = f", prior {_percent(move.prior)}" if move.prior is not None else ""
        lines.append(f"visits of {move.move}: {move.visits} of {move.simulations}{prior}")
    return lines


def verdict(move: ReviewedMove, who: str = THE_BOT) -> str:
    """``mistake, loses 12.3 % ± 4.1``. who: has searched."""
    if move.loss != move.loss:
        return "not judged"
    if move.is_best:
        return f"{who}'s own choice"
    loss = f"{'loses' if move.loss >= 0 else 'gains'} {100 * abs(move.loss):.1f} % ± {100 * move.error:.1f}"
    if move.grade:
        return f"{move.grade}, {loss}"
    return f"{loss}, which may be noise" if abs(move.loss) <= move.error else loss


def lizzie(here: ReviewedPosition, engine: str = ENGINE) -> str:
    """Lizzie's own form of a search: its engine in one word, the win rate in % of the player who has just moved, the
    visits.

    Then come the moves as Leela Zero writes them, with win rates and priors in hundredths of a percent, for the player
    to move.
    """
    mover = 1 - here.win_rate if here.player else here.win_rate
    moves = []
    for i, one in enumerate(here.candidates[:IN_LIZZIE]):
        rate = 1 - one.win_rate if here.player else one.win_rate
        line = " ".join(one.variation or (one.move,))
        prior = "" if one.prior is None else f"prior {round(10_000 * one.prior)} "
        moves.append(f"move {one.move} visits {one.visits} winrate {round(10_000 * rate)} {prior}order {i} pv {line}")
    return f"{'-'.join(engine.split())} {100 * (1 - mover):.1f} {here.simulations}\n{' info '.join(moves)}"


def _point(place: Position, move: str) -> bytes:
    """Where a move's stone would lie; nothing for a pass."""
    point = place.game.action_point(place.state, place.game.parse_action(move))
    return sgf_pair(point).encode() if point is not None else b""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# -- nodes ---------------------------------------------------------------------------------------


def _counted(root: Node) -> Iterator[tuple[int, int, Node]]:
    """(moves made after it, moves in it, node) along the main line."""
    number = 0
    for node in root.main_line:
        own = sum(len(node.properties.get(key, ())) for both in MOVE_TEXTS.items() for key in both)
        number += own
        yield number, own, node


def _nodes_of_moves(root: Node) -> Iterator[tuple[int, Node]]:
    """Of every number of moves the node that made it; the root for none."""
    for i, (number, own, node) in enumerate(_counted(root)):
        if own or not i:
            yield number, node


def _last_nodes(root: Node) -> Iterator[tuple[int, Node]]:
    """Of every number of moves the last node that shows it: the next one makes one move."""
    before: tuple[int, Node] | None = None
    for number, own, node in _counted(root):
        if own == 1 and before is not None:
            yield before
        before = number, node


def _note(node: Node, entry: bytes) -> None:
    node.properties.setdefault(ADDED, []).append(entry)


def _split(entry: bytes) -> tuple[str, bytes]:
    key, _, value = entry.partition(b"=")
    return key.decode(), value


def _add(node: Node, key: str, text: str) -> None:
    _add_raw(node, key, sgf_grammar.escape_text(text.encode()))


def _add_raw(node: Node, key: str, value: bytes) -> None:
    """A value of ours; what can be told by its name need not be noted."""
    node.properties.setdefault(key, []).append(value)
    if key not in SUMS:
        _note(node, f"{key}=".encode() + value)


def _set(node: Node, key: str, text: str) -> None:
    """Put one text in the place of a property."""
    node.properties.pop(key, None)
    if text:
        node.add(key, text)
