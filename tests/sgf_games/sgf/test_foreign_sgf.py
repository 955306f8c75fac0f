"""SGF files of other programs: handicaps without stones, encodings, komi in hundredths, numbers without end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jubango as jb
from jubango.arena.commands import run
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import position_at
from jubango.sgf_games.sgf.sgf import SgfGame, parse_sgf

GNUGO = shutil.which("gnugo", path=f"{os.environ.get('PATH', '')}:/usr/games")
NAMES = "张三", "許世賢 \\"  # in the second, Big5 has a backslash inside a character


def read(text: str | bytes) -> SgfGame:
    (sgf,) = parse_sgf(text.encode() if isinstance(text, str) else text, "x.sgf")
    return sgf


def black_stones(sgf: SgfGame) -> list[str]:
    return sorted(sgf.game.point_text(point) for node in sgf.nodes for point in node.black)


# -- handicap ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stones", "points"),
    [
        (2, "D4 Q16"), (3, "D4 Q16 D16"), (4, "D4 Q16 D16 Q4"), (5, "D4 Q16 D16 Q4 K10"), (6, "D4 Q16 D16 Q4 D10 Q10"),
        (7, "D4 Q16 D16 Q4 D10 Q10 K10"), (8, "D4 Q16 D16 Q4 D10 Q10 K4 K16"), (9, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
    ],
)  # fmt: skip
def test_the_usual_points_are_those_of_gtp(stones, points):
    game = make_game("go:19")
    assert [game.point_text(point) for point in game.handicap_points(stones)] == points.split()
    assert black_stones(read(f"(;SZ[19]HA[{stones}];W[ii])")) == sorted(points.split())


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not here")
def test_the_usual_points_are_those_of_gnu_go():
    cases = [(size, stones) for size in (7, 8, 9, 13, 19) for stones in (2, 3, 4, 5, 9)]
    commands = "".join(f"boardsize {size}\nfixed_handicap {stones}\n" for size, stones in cases) + "quit\n"
    done = subprocess.run([GNUGO, "--mode", "gtp"], input=commands, capture_output=True, text=True, timeout=60)
    answers = [answer.strip() for answer in done.stdout.split("\n\n")][1::2]
    for (size, stones), answer in zip(cases, answers, strict=False):
        game = make_game(f"go:{size}")
        if answer.startswith("?"):
            with pytest.raises(UserError, match=f"no usual points for that on {size}x{size}"):
                game.handicap_points(stones)
        else:
            assert sorted(map(game.point_text, game.handicap_points(stones))) == sorted(answer[1:].split())


@pytest.mark.parametrize(
    "setup", ["HA[2];AB[ce][ee];W[cc]", "HA[2];C[hello];AB[ce][ee];W[cc]", "HA[2]AB[ce][ee];W[cc]"]
)
def test_stones_before_the_first_move_are_the_handicap(setup):
    sgf = read(f"(;SZ[9]{setup})")
    assert black_stones(sgf) == ["C5", "E5"]
    assert not sgf.guesses
    assert position_at(sgf, 0).player == 1


def test_guessed_stones_are_said_to_be_guessed():
    sgf = read("(;SZ[9]HA[3];W[cc])")
    assert sgf.guesses == ["x.sgf: HA[3] comes without its stones, which were taken to be C3, G7, C7"]
    with pytest.raises(UserError, match=r"the point is occupied.*HA\[3\] comes without its stones.*C3, G7, C7"):
        position_at(sgf)


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        ("375", 7.5), ("325", 6.5), ("275", 5.5), ("650", 6.5), ("550", 5.5), ("750", 7.5), ("700", 7), ("3.75", 7.5),
        ("-550", -5.5), ("6,5", 6.5), ("0", 0), ("7", 7), ("6.50", 6.5),
    ],
)  # fmt: skip
def test_komi(text, komi):
    assert read(f"(;SZ[9]KM[{text}])").game.komi == komi


def test_a_size_without_a_value_is_the_usual_one():
    assert read("(;SZ[]KM[]HA[];B[pd])").game.spec == "go:19,komi=6.5"


@pytest.mark.parametrize("nodes", ["B[aa]W[bb];B[cc]", "B[aa];W[bb]B[cc]"])
def test_no_move_of_a_node_with_several_is_lost(nodes):
    assert read(f"(;SZ[9];{nodes})").nodes[1:] == read("(;SZ[9];B[aa];W[bb];B[cc])").nodes[1:]


LONG = "9" * 5000


@pytest.mark.parametrize(
    "root",
    [
        "HA[x]", "HA[x]KM[7]", "HA[-3]", f"HA[{LONG}]", f"SZ[{LONG}]", f"KM[{LONG}]", f"JG[go:{LONG}]", f"JG[mnk:5,k={LONG}]",
        f"JG[go:5,komi={LONG}]", f"GM[{LONG}]", "SZ[8]HA[5];W[aa]", "SZ[19]HA[10];W[aa]", "SZ[9];AB[zz]", "GM[4]JG[nim]",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_naming_the_file(root, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text(f"(;{root})")
    with pytest.raises(UserError) as caught:
        jb.read_sgf(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_every_error_of_read_sgf_names_the_file(tmp_path):
    cases = {"none.sgf": None, "text.sgf": "hello", "cut.sgf": "(;SZ[9];B[aa", "two.sgf": "(;SZ[9])(;SZ[9]HA[q])"}
    for name, text in cases.items():
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(UserError) as caught:
            jb.read_sgf(path)
        assert str(caught.value).startswith(str(path))
    for path in (tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UserError) as caught:
            jb.read_sgf(path)
        assert str(caught.value).startswith(printable(str(path)))
    record_path = tmp_path / "illegal.sgf"
    record_path.write_text("(;SZ[5];B[aa];W[aa])")
    for look in (lambda r: r.at(), lambda r: r.positions, lambda r: r.at(9)):
        with pytest.raises(UserError) as caught:
            look(jb.read_sgf(record_path))
        assert str(caught.value).startswith(str(record_path))


def test_a_file_without_end_is_refused():
    with pytest.raises(UserError, match="/dev/zero: holds more than 20,000,000 bytes"):
        jb.read_sgf("/dev/zero")


def test_a_pipe_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"(;SZ[5];B[aa])"))
    writer.start()
    assert jb.read_sgf(path).moves == ("A5",)
    writer.join()


def test_deep_variations_are_read():
    sgf = read("(;SZ[5]" * 5000 + ")" * 5000)
    assert len(sgf.nodes) == 5000


# -- encodings -----------------------------------------------------------------------------------


def with_names(declared: str = "") -> str:
    names = [name.replace("\\", "\\\\") for name in NAMES]
    return f"(;GM[1]{declared}PB[{names[0]}]PW[{names[1]}]SZ[9]KM[7];B[aa]C[功\\]])"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""), ("utf-8", "CA[UTF-8]"), ("utf-8-sig", ""), ("utf-8-sig", "CA[Big5]"), ("utf-16", ""),
        ("gb18030", "CA[GB18030]"), ("gb18030", "CA[gb2312]"), ("gb18030", "CA[GBK]"), ("utf-8", "CA[undefined]"),
        ("utf-8", "CA[idna]"), ("utf-8", "CA[unicode_escape]"), ("utf-8", "CA[utf-7]"), ("utf-8", "CA[Klingon]"),
    ],
)  # fmt: skip
def test_encodings(encoding, declared):
    sgf = read(with_names(declared).encode(encoding))
    assert (sgf.name(0), sgf.name(1), sgf.game.komi) == (*NAMES, 7)
    assert sgf.nodes[1].comment == "功]"


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("big5", "許功蓋"), ("shift_jis", "ソ表示"), ("gbk", "乗僜俓"), ("euc-kr", "이창호"), ("iso-2022-jp", "本因坊")],
)
def test_a_second_byte_that_looks_like_a_backslash_or_a_bracket_is_none(encoding, name):
    data = f"(;CA[{encoding}]PB[{name}]PW[{name}]SZ[9]KM[0];B[aa])".encode(encoding)
    sgf = read(data)
    assert (sgf.name(0), sgf.name(1), sgf.game) == (name, name, make_game("go:9,komi=0"))
    assert sgf.move_count == 1


@pytest.mark.parametrize(
    ("declared", "encoding", "name"),
    [
        ("x-sjis", "cp932", "ソ連 表"), ("Windows-31J", "cp932", "ソ①"), ("x-windows-949", "cp949", "똠이창호"),
        ("windows-936", "gbk", "乗柯洁"), ("Windows-950", "cp950", "許功蓋"), ("x-euc-jp", "euc-jp", "本因坊"),
    ],
)  # fmt: skip
def test_other_programs_names_of_encodings(declared, encoding, name):
    sgf = read(f"(;CA[{declared}]PB[{name}]PW[b];B[aa])".encode(encoding))
    assert (sgf.name(0), sgf.name(1), sgf.guesses) == (name, "b", [])


# As Tygem, CyberOro, Fox and older Japanese and Taiwanese collections write them: no word of the encoding.
@pytest.mark.parametrize(
    ("encoding", "named", "players"),
    [
        ("cp949", "CP949", ("박영훈 (P)", "이세돌 (D)")), ("cp949", "CP949", ("신진서", "커제")),
        ("cp949", "CP949", ("똠방각하", "이창호 9단")), ("cp950", "CP950", ("周俊勳", "許功蓋")),
        ("cp950", "CP950", ("林海峰", "陳祈睿")), ("cp932", "CP932", ("井山裕太", "ソ連")),
        ("cp932", "CP932", ("のりたま", "一力遼")), ("gb18030", "GB18030", ("柯洁", "古力")),
        ("gb18030", "GB18030", ("谢尔豪", "芈昱廷")), ("gb18030", "GB18030", ("李钦诚", "朴文垚")),
        ("latin-1", "Latin-1", ("Señor Núñez", "Ágnes Tóth")), ("latin-1", "Latin-1", ("Åse", "Guðmundur Öß")),
    ],
)  # fmt: skip
def test_undeclared_encodings_are_told_by_their_everyday_characters(encoding, named, players):
    data = f"(;GM[1]SZ[19]PB[{players[0]}]PW[{players[1]}]KM[6.5];B[pd])".encode(encoding)
    sgf = read(data)
    assert (sgf.name(0), sgf.name(1), sgf.move_count) == (*players, 1)
    assert sgf.guesses == [f"x.sgf: the text declares no encoding and is no UTF-8; read as {named}, a guess"]


def test_games_of_several_encodings_in_one_file():
    texts = [("GBK", "张三"), ("Big5", "許功蓋"), ("UTF-8", "이창호")]
    data = b"\n".join(f"(;GM[1]CA[{name}]PB[{player}]SZ[9];B[aa])".encode(name) for name, player in texts)
    assert [sgf.name(0) for sgf in parse_sgf(data, "x")] == [player for _, player in texts]
    undeclared = "(;GM[1]PB[白]SZ[9];B[aa])\n".encode()
    assert [sgf.name(0) for sgf in parse_sgf(undeclared + data, "x")] == ["白", *(player for _, player in texts)]


def test_a_comment_may_speak_of_encodings():
    sgf = read("(;CA[GBK]PB[张三]C[write CA[UTF-8\\] or so];B[aa])".encode("gbk"))
    assert sgf.name(0) == "张三"


def test_a_file_of_nothing_but_declarations_is_read_in_time():
    assert read(b"(;SZ[5]" + b"CA[GBK]CA[UTF-8]" * 200_000 + b";B[aa])").move_count == 1


@pytest.mark.parametrize(
    ("data", "name", "guess"),
    [
        (
            "(;PB[柯洁]C[黑中盘胜])".encode("gb18030"),
            "柯洁",
            "declares no encoding and is no UTF-8; read as GB18030, a guess",
        ),
        (
            "(;CA[UTF-8]PB[柯洁])".encode("gb18030"),
            "柯洁",
            "is declared to be UTF-8, which it is not; read as GB18030, a guess",
        ),
        ("(;PB[Jürgen Müller]PW[Ágnes])".encode("latin-1"), "Jürgen Müller", "read as Latin-1, a guess"),
        (
            "(;CA[Klingon]PB[白])".encode(),
            "白",
            "is declared to be Klingon, which is no encoding known here; read as UTF-8",
        ),
    ],
)
def test_a_guessed_encoding_is_said_to_be_guessed(data, name, guess):
    sgf = read(data)
    assert sgf.name(0) == name
    assert len(sgf.guesses) == 1
    assert guess in sgf.guesses[0]


def test_a_comment_that_is_cut_short_is_no_other_encoding():
    data = f"(;CA[UTF-8]PB[{'白' * 30}]".encode() + "黑".encode()[:2] + b";B[aa])"
    with pytest.raises(UserError, match="not SGF"):
        read(data)
    data = f"(;CA[UTF-8]PB[{'白' * 30}]C[".encode() + "黑".encode()[:2] + b"];B[aa])"
    assert read(data).name(0) == "白" * 30


def test_a_name_is_one_line():
    assert read("(;PB[one\ntwo\t three])").name(0) == "one two three"


def test_the_command_says_what_was_guessed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name in ("a.sgf", "b.sgf"):
        (tmp_path / name).write_bytes("(;SZ[9]HA[2]PB[柯洁]PW[古力]RE[B+R];W[ee];B[];W[])".encode("gb18030"))
    assert run(["rate", "."]) == 0
    out, err = capfd.readouterr()
    assert "柯洁" in out
    assert err == (
        "a.sgf: the text declares no encoding and is no UTF-8; read as GB18030, a guess (and 1 more like it)\n"
    )
    assert run(["analyze", "a.sgf"]) == 0
    out, err = capfd.readouterr()
    assert "柯洁 – 古力" in out
    assert "read as GB18030, a guess" in err
    assert "HA[2] comes without its stones, which were taken to be C3, G7" in err


# -- games of servers ----------------------------------------------------------------------------

GIB = r"""\HS
\[GAMEBLACKNAME=흑돌 [1D]\]
\[GAMEWHITENAME=oro\]
\[GAMEDATE=2016- 3-26\]
\[GAMEINFOMAIN=GBKIND:3,GTYPE:0,GRLT:0,ZIPSU:35,GONGJE:65\]
\[GAMETAG=S1,R3,D5,G0,W65,Z0,T30-3-1200,C2016:03:26:17:29\]
\HE
\GS
2 1 0
119 0 &4
INI 0 1 %d &4
STO 0 2 %d 15 3
STO 0 3 %d 3 16
SKI 0 4
\GE
"""
NGF = """Rating game
9
oro         7D*
stone       1D
www.cyberoro.com
0
0
6
20090714 [15:01]
0
%s
3
PMABBDC
PMACWHH
PMADBAA
"""


def test_games_of_servers_are_read(tmp_path):
    """Points by hand: GIB counts from 0 and NGF from B, both from the upper left."""
    file = tmp_path / "game.GIB"
    file.write_bytes((GIB % (0, 1, 2)).encode("euc_kr"))
    game = jb.read_sgf(file)
    assert (game.game.spec, game.players, game.result) == ("go:19,komi=6.5", ("흑돌 [1D]", "oro"), "B+3.5")
    assert game.moves == ("Q16", "D3", "pass")
    file.write_text(GIB % (3, 2, 1))
    game = jb.read_sgf(file)
    assert [player for player, _ in [node.move for node in game.sgf.nodes if node.move]] == [1, 0, 1]
    assert black_stones(game.sgf) == ["D16", "D4", "Q16"]
    file = tmp_path / "game.ngf"
    for said, result in {
        "White wins by resignation": "W+R", "흑 불계승": "B+R", "백 3집반 승": "W+3.5", "Black wins by 2.5": "B+2.5", "?": "?",
    }.items():  # fmt: skip
        file.write_bytes((NGF % said).encode("euc_kr"))
        game = jb.read_sgf(file)
        assert (game.game.spec, game.players, game.result) == ("go:9,komi=6.5", ("stone", "oro"), result)
    assert game.moves == ("C8", "G3", "pass")
    assert game.sgf.properties["DT"] == "2009-07-14"


@pytest.mark.parametrize("name", ["x.gib", "x.ngf"])
@given(st.binary(max_size=200) | st.sampled_from([GIB.encode(), NGF.encode()]).map(lambda text: text[:150]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_games_of_servers_are_one_line(name, tmp_path, data):
    (tmp_path / name).write_bytes(data)
    try:
        assert len(jb.read_sgf(tmp_path / name)), "chance may make a game"
    except UserError as error:
        assert re.search(rf"{name}: ", str(error))
        assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["x.gib", "x.ngf"])
@pytest.mark.parametrize("text", ["", "(;SZ[9];B[aa])", GIB[:150], NGF[:40]])
def test_what_is_no_game_of_a_server_is_said_to_be_none(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=rf"{name}: is no {name[2:].upper()} file"):
        jb.read_sgf(tmp_path / name)
