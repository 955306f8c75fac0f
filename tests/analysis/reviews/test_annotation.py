"""Reviews in SGF files: other programs read them, a later one takes their place, and what people wrote stays."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill_sgf

from jubango.analysis.reviews.annotation import clear, move_lines, verdict
from jubango.analysis.reviews.katrain import is_ours
from jubango.analysis.reviews.notes import BEGIN, with_note, without_note
from jubango.analysis.reviews.review import Review
from jubango.analysis.reviews.review_moves import Thresholds
from jubango.arena.tournament import review
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import parse_sgf
from jubango.sgf_games.sgf.sgf_tree import Node, read_trees, write_trees

pytestmark = pytest.mark.full

# White's A1 puts itself into atari; the author has said so, has shown another move, and has labelled a point.
AUTHORS = r"""(;GM[1]FF[4]SZ[5]KM[0.5]PB[Jürgen \] x]PW[b]XX[a\]b][c]C[A game\: mine];B[cc]C[good]TE[1]
(;W[ae]TR[cc]LB[aa:x]BM[2]C[Oh no.](;B[be];W[bd])(;B[ad]C[or this]))(;W[cd]C[I would play here.];B[bd]))"""
STRICT = Thresholds(0.01, 0.02, 0.05, 0.9)


def record(text: str) -> Record:
    return Record(parse_sgf(text.encode(), "game.sgf")[0])


@pytest.fixture(scope="module")
def reviewed() -> Review:
    return review(record(AUTHORS), "uct", simulations=200, thresholds=STRICT)


def listed(root: Node) -> list[tuple[int, dict[str, list[bytes]]]]:
    """Every node with its depth, in the order of the file. Which encoding is declared does not matter, nor what of a
    comment is escaped that need not be."""
    out, below = [], [(root, 0)]
    while below:
        node, depth = below.pop()
        values = {key: values for key, values in node.properties.items() if key not in ("CA", "C")}
        out.append((depth, values | {"C": [node.text("C").encode()]}))
        below += [(child, depth + 1) for child in reversed(node.children)]
    return out


def tree(data: bytes) -> Node:
    return read_trees(data, "x")[0][0]


# -- trees ---------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\0") | st.sampled_from("[]\\\n:;() "), max_size=12)
nodes = st.dictionaries(st.sampled_from(["B", "C", "XYZ", "LB", "GC", "JN"]), st.lists(texts, min_size=1, max_size=3))


@st.composite
def trees(draw) -> Node:
    root = Node()
    known = [root]
    for properties in draw(st.lists(nodes, max_size=20)):
        node = Node()
        for key, values in properties.items():
            node.add(key, *values)
        draw(st.sampled_from(known)).children.append(node)
        known.append(node)
    return root


@given(st.lists(trees(), min_size=1, max_size=3))
def test_what_is_written_is_read_again(roots):
    again, guess = read_trees(write_trees(roots), "x")
    assert guess == ""
    assert list(map(listed, again)) == list(map(listed, roots))


def test_a_long_game_is_no_deep_recursion():
    root = Node()
    for _ in range(5000):
        root = Node({"B": [b"aa"]}, [root])
    assert len(listed(tree(write_trees([root])))) == 5001


# -- notes ---------------------------------------------------------------------------------------


@given(texts, st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])), max_size=3), texts)
@example(BEGIN, [], "")
@example("", [BEGIN, "— by nobody —", "more"], "")
def test_a_note_is_taken_out_of_a_comment(text, lines, by):
    noted = with_note(text, lines, by)
    assert without_note(noted) == without_note(text)
    assert with_note(noted, lines, by) == noted
    assert without_note(f"{noted}\nmore") == f"{without_note(text)}\nmore".strip("\n")


# -- a game --------------------------------------------------------------------------------------


def test_the_author_s_file_comes_back(reviewed):
    root = tree(reviewed.sgf())
    assert listed(root) != listed(tree(AUTHORS.encode()))
    clear(root)
    assert listed(root) == listed(tree(AUTHORS.encode()))


def test_a_later_review_takes_the_place_of_the_first(reviewed):
    data = reviewed.sgf()
    again = review(record(data.decode()), "uct", simulations=200, thresholds=STRICT)
    assert again.sgf() == data
    other = review(record(data.decode()), "uct", simulations=50)
    assert other.sgf() == review(record(AUTHORS), "uct", simulations=50).sgf()
    assert [position.comment for position in other.positions] == ["A game: mine", "good", "Oh no.", "", ""]


def test_what_the_author_wrote_is_there(reviewed):
    root = tree(reviewed.sgf())
    first = root.children[0]
    bad, own = first.children[:2]
    assert root.properties["XX"] == [rb"a\]b", b"c"]
    assert (first.properties["TE"], "DO" in first.properties) == ([b"1"], False), "the author's judgement stays alone"
    assert bad.properties["BM"] == [b"2"]
    assert bad.properties["LB"].count(b"aa:x") == 1
    assert not any(label.startswith(b"aa:") for label in bad.properties["LB"] if label != b"aa:x")
    assert bad.properties["TR"][0] == b"cc"
    assert bad.text("C").startswith("Oh no.\n\n— jubango —\n2 W A1: ")
    assert own.text("C").startswith("I would play here.")
    assert [child.properties["B"] for child in bad.children[:2]] == [[b"be"], [b"ad"]]


def test_a_variation_goes_along_the_author_s(reviewed):
    """Nowhere are there two nodes of one move side by side."""
    below = [tree(reviewed.sgf())]
    while below:
        node = below.pop()
        moves = [(child.properties.get("B"), child.properties.get("W")) for child in node.children]
        assert len(moves) == len(set(map(str, moves)))
        below += node.children


def test_what_people_write_into_a_variation_of_ours_stays(reviewed):
    root = tree(reviewed.sgf())
    variation = next(
        child for node in root.main_line for child in node.children if b"node" in child.properties.get("JN", ())
    )
    last = list(variation.main_line)[-1]
    last.properties["C"] = [b"I see."]
    clear(root)
    kept = list(variation.main_line)
    assert kept[-1].properties["C"] == [b"I see."]
    assert any(child is variation for node in root.main_line for child in node.children)
    assert without_note(variation.text("C")) == variation.text("C")


FOREIGN = rb"""(;GM[1]FF[4]SZ[3]KM[0]JN[SZ=3][AP=x];B[cc]JN[B=cc][node]HO[2]
(;W[aa]BM[1];B[bb]JN[node])(;W[ba]SBKV[51]LZ[Leela 50 9];B[bb]SBKV[52]LZ[Leela 48 9]))"""


def test_what_other_programs_mean_is_theirs():
    """By JN, and by what they have found in the author's variations."""
    root = tree(FOREIGN)
    clear(root)
    assert [node.properties.get("B", node.properties.get("W")) for node in root.main_line] == [
        None, [b"cc"], [b"aa"], [b"bb"],
    ]  # fmt: skip
    assert (root.properties["SZ"], root.properties["JN"]) == ([b"3"], [b"SZ=3", b"AP=x"])
    assert root.children[0].properties["JN"] == [b"B=cc"]
    aside = listed(root.children[0].children[1])
    assert aside == listed(tree(FOREIGN).children[0].children[1])
    found = review(record(FOREIGN.decode()), "uct", simulations=30, thresholds=Thresholds(1e-9, 1e-9, 1e-9, 0.5))
    again = tree(found.sgf())
    assert all(len(node.properties.get("HO", "1")) == 1 for node in again.main_line), "HO has one value"
    kept = next(child for child in again.children[0].children if child.properties.get("W") == [b"ba"])
    assert (kept.properties["SBKV"], kept.children[0].properties["LZ"]) == ([b"51"], [b"Leela 48 9"])
    clear(again)
    assert listed(again) == listed(root), "clearing twice changes nothing"


def test_a_place_to_look_at_is_marked_once():
    text = "(;GM[4]SZ[3]JG[tic_tac_toe];B[bb];W[ab];B[aa];W[ba]HO[2])"  # White does not block C1
    found = review(record(text), "uct", simulations=100)
    assert found.moves[3].grade in ("mistake", "blunder")
    last = list(tree(found.sgf()).main_line)[-1]
    assert (last.properties["HO"], "BM" in last.properties) == ([b"2"], True)


def test_other_programs_read_it(reviewed):
    data = reviewed.sgf()
    game = sgfmill_sgf.Sgf_game.from_bytes(data)
    line = game.get_main_sequence()
    assert [node.get_move() for node in line[1:]] == [("b", (2, 2)), ("w", (0, 0)), ("b", (0, 1)), ("w", (1, 1))]
    for number, node in enumerate(line):
        here = reviewed.positions[number]
        assert float(node.get_raw("SBKV")) == pytest.approx(100 * here.win_rate, abs=0.01), "Sabaki: Black's, in %"
        engine, *lines = node.get("C") and node.get_raw("LZOP" if number == 0 else "LZ").decode().split("\n")
        name, rate, visits = engine.split(" ")
        mover = 1 - here.win_rate if here.player else here.win_rate
        assert float(rate) == pytest.approx(100 * (1 - mover), abs=0.051), "Lizzie: of who has just moved, in %"
        assert (name, int(visits), len(lines)) == ("jubango", here.simulations, 1)
        for info, one in zip(lines[0].split(" info "), here.candidates, strict=False):
            words = info.split(" ")
            at = words.index("pv")
            pairs = dict(zip(words[:at:2], words[1:at:2], strict=True))
            assert set(pairs) == {"move", "visits", "winrate", "order"}, "to rollouts every move is alike: no prior"
            assert (pairs["move"], int(pairs["visits"])) == (one.move, one.visits)
            assert 0 <= int(pairs["winrate"]) <= 10_000
            assert words[at + 1] == one.move, "the variation ends the segment"
        marked = [point for key in ("CR", "TR", "MA") if node.has_property(key) for point in node.get(key)]
        assert len(marked) == len(set(marked)), "a point has one mark"


def katrain(values: list[bytes]) -> dict:
    """What KaTrain reads of KT: ownership, policy and the rest."""
    ownership, policy, said = (gzip.decompress(base64.standard_b64decode(value)) for value in values)
    assert (ownership, policy) == (b"", b"")
    return json.loads(said)


def test_katrain_reads_it(reviewed):
    root = tree(reviewed.sgf())
    assert root.properties["KTV"] == [b"1.0"]
    for number, (node, here) in enumerate(zip(root.main_line, reviewed.positions, strict=True)):
        found = katrain(node.properties["KT"])
        assert found["completed"]
        assert found["root"]["scoreLead"] == here.lead, "Black's, as are win rates"
        assert (found["root"]["winrate"], found["root"]["visits"]) == (here.win_rate, here.simulations)
        moves = list(found["moves"].values())
        assert [move["order"] for move in moves] == list(range(len(moves)))
        assert moves[0]["move"] == moves[0]["pv"][0] == here.candidates[0].move
        assert moves[0]["visits"] == here.candidates[0].visits
        if number < len(reviewed.moves) and reviewed.moves[number].lead_after is not None:
            move = reviewed.moves[number]
            sign = -1 if move.player else 1
            assert found["moves"][move.move]["scoreLead"] == sign * move.lead_after


def test_katago_s_own_analysis_stays(reviewed):
    """What KaTrain has written from ours is ours still."""
    theirs = [base64.b64encode(gzip.compress(data)).decode() for data in (b"\0\0", b"\0\0", b'{"moves": {}}')]
    text = AUTHORS.replace("B[cc]C[good]", f"B[cc]KT[{theirs[0]}][{theirs[1]}][{theirs[2]}]C[good]")
    again = tree(review(record(text), "uct", simulations=50).sgf())
    assert [value.decode() for value in again.children[0].properties["KT"]] == theirs
    assert katrain(again.properties["KT"])["completed"]
    clear(again)
    assert listed(again) == listed(tree(text.encode()))
    mine = tree(reviewed.sgf())
    said = katrain(mine.properties["KT"])
    data = json.dumps(said | {"more": 1}).encode()
    mine.properties["KT"] = [b"", b"", base64.b64encode(gzip.compress(data))]
    clear(mine)
    assert "KT" not in mine.properties
    deeper = json.dumps(said | {"root": said["root"] | {"visits": 5000}}).encode()  # by KataGo, since
    mine.properties["KT"] = [b"", b"", base64.b64encode(gzip.compress(deeper))]
    clear(mine)
    assert "KT" in mine.properties
    for odd in ([], [b""] * 3, [b"", b"", b"!"], [b"", b"", base64.b64encode(b"x")], [b"", b"", b"W10="]):
        assert not is_ours(odd)


def test_kinds_of_moves(reviewed):
    line = list(tree(reviewed.sgf()).main_line)
    for move in reviewed.moves[2:]:
        kinds = {key for key in ("DO", "BM", "IT") if key in line[move.number].properties}
        assert kinds == {"inaccuracy": {"DO"}, "mistake": {"BM"}, "blunder": {"BM"}, "surprise": {"IT"}}.get(
            move.grade, set()
        )
    graded = next(move for move in reviewed.moves if move.grade in ("mistake", "blunder"))
    assert re.fullmatch(r"(mistake|blunder), loses \d+\.\d % ± \d+\.\d", verdict(graded))
    assert line[graded.number].properties["HO"]
    better = [child for child in line[graded.number - 1].children if "instead of" in child.text("C")]
    assert better, "better moves are variations"


def test_a_lead_of_nothing_has_no_minus(reviewed):
    even = dataclasses.replace(reviewed.moves[0], lead_before=-0.04, lead_after=-0.06)
    assert any("lead: +0.0 before, -0.1 after" in line for line in move_lines(even))


def test_the_other_games_of_a_file_stay(tmp_path):
    path = tmp_path / "two.sgf"
    path.write_text("(;SZ[3]KM[0]C[one];B[bb])\n(;SZ[3]KM[0]C[two];B[aa](;W[bb])(;W[ab]))")
    second = Record(parse_sgf(path.read_bytes(), "two.sgf")[1])
    roots, _ = read_trees(review(second, "uct", simulations=30).sgf(), "x")
    before, _ = read_trees(path.read_bytes(), "x")
    assert listed(roots[0]) == listed(before[0])
    assert listed(roots[1]) != listed(before[1])
    clear(roots[1])
    assert listed(roots[1]) == listed(before[1])


@pytest.mark.parametrize(
    "text",
    [
        "(;SZ[4:3]KM[0];B[da];W[bb])", "(;GM[4]SZ[7]JG[connect_four];B[df];W[de];B[dd])", "(;SZ[3];B[aa]W[bb];B[ba])",
        "(;SZ[3]KM[0];B[bb];AW[aa];W[ba])", "(;SZ[3])", "(;SZ[3]KM[0];AB[bb];W[aa])",
    ],
)  # fmt: skip
def test_all_kinds_of_files_come_back(text):
    found = review(record(text), "uct", simulations=30, thresholds=STRICT)
    root = tree(found.sgf())
    assert parse_sgf(found.sgf(), "x")[0].game == found.record.game
    clear(root)
    assert listed(root) == listed(tree(text.encode()))
