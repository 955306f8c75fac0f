"""SGF: our records load elsewhere and come back; other people's files are read as the standard says."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill_sgf

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules
from jubango.sgf_games.rules.coordinates import parse_sgf_pair, parse_vertex, sgf_pair, vertex
from jubango.sgf_games.sgf.positions import position_at, positions
from jubango.sgf_games.sgf.sgf import parse_sgf, write_record


@given(st.integers(1, 25), st.integers(1, 25), st.data())
def test_coordinates_round_trip(height, width, data):
    point = data.draw(st.tuples(st.integers(0, height - 1), st.integers(0, width - 1)))
    assert parse_vertex(vertex(point, height), height, width) == point
    assert parse_vertex(vertex(point, height).lower(), height, width) == point
    if not (sgf_pair(point) == "tt" and height <= 19 and width <= 19):
        assert parse_sgf_pair(sgf_pair(point), height, width) == point


@pytest.mark.parametrize(
    "text", ["I5", "A0", "A10", "K1", "", "55", "A", "D4x", "é4", "A²", pytest.param("A" + "9" * 5000, id="long")]
)
def test_bad_vertices(text):
    with pytest.raises(UserError):
        parse_vertex(text, 9, 9)


def random_record(spec: str, seed: int) -> GameRecord:
    game, rng = make_game(spec), np.random.default_rng(seed)
    compiled, state, moves = rules(game), initial_state(game), []
    while not bool((view := compiled.view(state)).terminal):
        action = int(rng.choice(np.flatnonzero(view.legal)))
        moves.append(game.action_text(action))
        state = compiled.step(state, action)
    comments = tuple(f"move \\ {i}] [:" if i % 3 == 0 else "" for i in range(len(moves)))
    return GameRecord(
        "a~b~1", game.spec, "Black] \\ :é", "white 白", "uct", "random", 7, tuple(moves), game.result_text(state),
        "score", event="an event", date="2026-01-02T03:04:05+00:00", comments=comments,
    )  # fmt: skip


@pytest.mark.parametrize(
    "spec",
    ["go:5", "go:3,ko=positional,suicide=true", "tic_tac_toe", "connect_four", "gomoku:7", "mnk:5x4,k=4", "go:4x3"],
)
def test_records_round_trip(spec):
    for seed in range(2):
        record = random_record(spec, seed)
        data = write_record(record)
        (sgf,) = parse_sgf(data, "x.sgf")
        assert sgf.game == make_game(spec)
        assert (sgf.name(0), sgf.name(1)) == (record.black, record.white)
        assert sgf.properties["RE"] == record.result
        last = position_at(sgf)
        assert last.number == len(record.moves)
        assert bool(rules(sgf.game).view(last.state).terminal)
        assert last.game.result_text(last.state) == record.result
        moves = [node for node in sgf.nodes if node.move]
        assert [node.comment for node in moves] == [c.rstrip() for c in record.comments]
        if sgf.game.width == sgf.game.height or not spec.startswith("go"):
            other = sgfmill_sgf.Sgf_game.from_bytes(data)
            assert other.get_player_name("b") == record.black
            assert len(other.get_main_sequence()) == len(record.moves) + 1


def high_level_sgf(record: GameRecord) -> bytes:
    """A record through sgfmill's own game objects, which escape and check by themselves."""
    game = make_game(record.game)
    size = max(game.width, game.height)
    document = sgfmill_sgf.Sgf_game(size=size, encoding="UTF-8")
    root = document.get_root()
    root.set("GM", 1 if record.game.startswith("go:") else 4)
    root.set("AP", ("jubango", "0.2.0"))
    texts = {
        "PB": record.black, "PW": record.white, "RE": record.result, "EV": record.event, "RO": record.game_id,
        "GN": record.game_id, "DT": record.date[:10],
    }  # fmt: skip
    for key, text in texts.items():
        if text:
            root.set(key, " ".join(text.split()))
    if record.game.startswith("go:"):
        root.set("KM", game.komi)
        names = {("positional", True): "TrompTaylor", ("situational", True): "NZ", ("situational", False): "AGA"}
        root.set("RU", names.get((game.ko, game.suicide), "Chinese"))
    root.set("JG", record.game)
    root.set("TM", 0)
    root.set("OT", "none")
    root.set("HA", 0)
    about = f"Event: {record.event}\n" if record.event else ""
    about += f"Game: {record.game_id}, {record.game}\nSeed: {record.seed}\n"
    about += f"Black: {record.black} = {record.black_spec}\nWhite: {record.white} = {record.white_spec}\n"
    detail = f": {record.detail}" if record.detail else ""
    root.set("C", f"{about}Result: {record.result} ({record.reason}{detail})")
    points = game.move_points([game.parse_action(text) for text in record.moves])
    for i, point in enumerate(points):
        node = document.extend_main_sequence()
        node.set_raw("BW"[i % 2], sgf_pair(point).encode())
        if record.comments[i : i + 1] > ("",):
            node.set("C", record.comments[i])
    return document.serialise().replace(b"SZ[13]", b"SZ[9:13]" if game.height > game.width else b"SZ[13]")


text = st.text(st.characters(codec="utf-8") | st.sampled_from("[]\\\n\r:;() "), max_size=100)


@given(st.data())
def test_records_are_written_as_sgfmill_writes_them(data):
    specs = ["go:9x13", "go:5,komi=-0.5", "go:25,ko=situational", "connect_four", "tic_tac_toe", "gomoku:7x5"]
    spec = data.draw(st.sampled_from(specs))
    game = make_game(spec)
    actions = data.draw(st.lists(st.integers(0, game.num_actions - 1), max_size=30))
    record = GameRecord(
        game=spec, moves=tuple(map(game.action_text, actions)), seed=data.draw(st.integers(0, 2**63)),
        comments=tuple(data.draw(st.lists(text, max_size=31))),
        **{key: data.draw(text) for key in (
            "game_id", "black", "white", "black_spec", "white_spec", "result", "reason", "detail", "event", "date",
        )},
    )  # fmt: skip
    assert write_record(record) == high_level_sgf(record)


def test_handicap_setup_passes_and_variations():
    text = b"""(;GM[1]FF[4]SZ[9]HA[2]KM[0.5]AB[gc][cg]C[root \\] comment];W[ee](;B[tt];W[];B[aa])(;B[bb]))"""
    (sgf,) = parse_sgf(text, "x")
    after = positions(sgf)
    assert [p.number for p in after] == [0, 1, 2, 3, 4]
    assert after[0].game.komi == 0.5
    assert np.argwhere(after[0].game.stones(after[0].state) == 1).tolist() == [[2, 6], [6, 2]]
    assert int(after[0].state.player) == 1, "White begins after a handicap"
    assert after[2].last is None
    assert after[4].last == (0, 0)


def test_handicap_without_stones_means_the_usual_points():
    (sgf,) = parse_sgf(b"(;SZ[19]HA[4];W[cc])", "x")
    board = sgf.game.stones(position_at(sgf, 0).state)
    assert np.argwhere(board == 1).tolist() == [[3, 3], [3, 15], [15, 3], [15, 15]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"(;SZ[9]AB[aa];B[bb])", 0), (b"(;SZ[9]AB[aa])", 1), (b"(;SZ[9]AB[aa]AW[bb])", 0),
        (b"(;SZ[9]AB[aa]PL[W];B[bb])", 1), (b"(;SZ[9];AW[aa];W[bb])", 0),
    ],
)  # fmt: skip
def test_whose_turn_it_is(text, expected):
    (sgf,) = parse_sgf(text, "x")
    position = position_at(sgf, 0)
    following = 0 if position.next_move is None else position.next_move[0]
    assert int(position.state.player) in (expected, following)


def test_setup_after_moves_compressed_points_and_two_moves_of_one_colour():
    (sgf,) = parse_sgf(b"(;SZ[5];B[aa];B[bb];AE[aa]AW[dd:ee];W[ab])", "x")
    board = sgf.game.stones(position_at(sgf).state)
    assert "\n".join("".join(".XO"[v] for v in row) for row in board) == ".....\nOX...\n.....\n...OO\n...OO"


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (b"(;B[aa])", "go:19,komi=6.5"), (b"(;SZ[9:13]KM[375])", "go:9x13,komi=7.5"), (b"(;SZ[13]KM[325])", "go:13,komi=6.5"),
        (b"(;SZ[9]KM[0]RU[NZ])", "go:9,komi=0,ko=situational,suicide=true"), (b"(;KM[5,5]SZ[9]RU[japanese])", "go:9,komi=5.5"),
        (b"(;SZ[9]KM[7]RU[Tromp-Taylor])", "go:9,komi=7,ko=positional,suicide=true"), (b"(;GM[4])", "gomoku:15"),
        (b"\xef\xbb\xbf(;GM[1]SZ[7]KM[3])", "go:7,komi=3"),
    ],
)  # fmt: skip
def test_root_properties(text, spec):
    (sgf,) = parse_sgf(text, "x")
    assert sgf.game == make_game(spec)


def test_wrong_and_unknown_encodings_do_not_lose_the_game():
    (latin,) = parse_sgf("(;CA[UTF-8]PB[Jürgen];B[aa])".encode("latin-1"), "x")
    assert latin.name(0) == "Jürgen"
    (unknown,) = parse_sgf("(;CA[Klingon]PB[白];B[aa])".encode(), "x")
    assert unknown.name(0) == "白"


def test_several_games_in_a_file():
    one, two = parse_sgf(b"(;SZ[9]PB[a];B[aa])\n(;SZ[13]PB[b];B[bb])", "x.sgf")
    assert (one.name(0), two.name(0)) == ("a", "b")
    assert "game 2 of 2" in two.source


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"(;SZ[9];B[aa]\n;W[bb", "line 2: not SGF"), (b"hello", "line 1: not SGF"), (b"", "not SGF"),
        (b"(;SZ[9];B[zz])", "move 1"), (b"(;SZ[9];B[aa];W[aa])", r"move 2 \(W A9\) is illegal: the point is occupied"),
        (b"(;SZ[9];B[a])", "move 1"), (b"(;SZ[99];B[aa])", "1 to 25"), (b"(;SZ[x])", r"SZ\[x\] is no board size"), (b"(;GM[3])", "GM\\[3\\]"),
        (b"(;SZ[9]KM[abc])", "KM"), (b"(;SZ[9]AB[zz])", "root node: AB"),
        (b"(;SZ[5];B[ab];W[ee];B[ba];W[aa])", "suicide"), (b"(;JG[tic_tac_toe]GM[4]SZ[3];B[aa];W[ab];B[ba];W[bb];B[ca];W[cc])", "the game is over"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_naming_the_place(text, message):
    with pytest.raises(UserError, match=message) as caught:
        (sgf,) = parse_sgf(text, "file.sgf")
        positions(sgf)
    assert str(caught.value).startswith("file.sgf")
    assert "\n" not in str(caught.value)


def test_a_position_before_an_illegal_move_can_be_had():
    (sgf,) = parse_sgf(b"(;SZ[9];B[aa];W[aa])", "x")
    assert position_at(sgf, 1).number == 1
    with pytest.raises(UserError, match="between 0 and 2"):
        position_at(sgf, 3)


@pytest.mark.parametrize(
    "text",
    [
        b"(;SZ[5];B[bb];W[];B[];W[ab];B[];W[];B[cc])",  # play goes on after two passes, twice
        b"(;SZ[5]AB[aa][ba];W[ab];B[bb]AW[cc];W[dd];B[de])",  # stones are set up on the way
        b"(;SZ[3]KM[0];B[bb];B[aa];W[ba])",  # two moves of one player
        b"(;SZ[5])",
        b"(;GM[4]SZ[3]JG[tic_tac_toe];B[bb];W[ab])",
        b"(;GM[4]SZ[7:6]JG[connect_four];B[df];W[de])",
    ],
)
def test_all_positions_are_those_one_after_another(text):
    (sgf,) = parse_sgf(text, "x")
    found = positions(sgf)
    assert len(found) == sgf.move_count + 1
    for n, position in enumerate(found):
        alone = position_at(sgf, n)
        for ours, theirs in zip(jax.tree.leaves(position.state), jax.tree.leaves(alone.state), strict=True):
            assert np.array_equal(ours, theirs)
        assert np.array_equal(position.legal, alone.legal)
        assert (position.player, position.over, position.last) == (alone.player, alone.over, alone.last)


@pytest.mark.parametrize(
    "text",
    [
        b"(;GM[4]SZ[3]JG[tic_tac_toe];B[bb];W[bb];B[])",  # then a pass, which the game does not have
        b"(;GM[4]SZ[7:6]JG[connect_four];B[df];W[da];B[da])",  # a stone that would hang in the air, twice
        b"(;SZ[5];B[bb];W[bb];B[bb])",
    ],
)
def test_of_several_illegal_moves_the_first_is_named(text):
    (sgf,) = parse_sgf(text, "x")
    with pytest.raises(UserError, match=r"x: move 2 \(W .*illegal"):
        positions(sgf)


@pytest.mark.parametrize(
    ("text", "number", "may_be"),
    [
        ("(;SZ[5];B[aa];W[];B[])", None, True),
        ("(;SZ[5];B[aa];W[];B[])", 3, True),
        ("(;SZ[5];B[aa];W[];B[])", 2, False),
        ("(;SZ[5];B[];W[aa];B[])", None, False),
        ("(;SZ[5])", None, False),
        ("(;GM[4]SZ[5];B[aa])", None, True),
        ("(;GM[4]SZ[5];B[aa])", 0, False),
    ],
)
def test_where_a_game_may_be_over(text, number, may_be):
    (game,) = parse_sgf(text.encode(), "here")
    assert game.may_be_over(number) == may_be
