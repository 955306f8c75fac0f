"""Markdown and LaTeX of tables: names that look like instructions stay names."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jubango.analysis.tables.markup import latex, latex_table, markdown_paragraph, markdown_table
from jubango.arena.commands import run
from jubango.sgf_games.base.printable import printable

HOSTILE = [
    r"a_b & 50% $x$ \input{/etc/passwd} ^~ {}", "[x](y) | <b>*z*</b> `q`", "[", "]", "*", "\\", "^^M", "--'',,``<<", "?`!`", "---",
    "# 1. - x", "\x1b[31m\nsecond line\x85", "".join(map(chr, range(32, 127))), "é ß ± — · …", "%", "~~~", "&amp; &#65;", "\\end{tabular}",
]  # fmt: skip
names = st.text(st.characters(max_codepoint=0x2FF), min_size=1, max_size=20).filter(str.strip)


def rendered(text):
    """The HTML of Markdown, by a parser that is not ours."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.render(text)


def plain(html):
    return " ".join(unescape(html).split())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_cell_of_markdown(name):
    html = rendered(markdown_table(["#", "bot"], [["1", name], ["2", "uct"]], "rl"))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html, re.S)
    assert list(map(plain, cells)) == ["1", " ".join(printable(name).split()), "2", "uct"]
    assert not any("<" in cell for cell in cells), "nothing in it is an element"
    assert re.findall(r'style="text-align:(\w+)"', html) == ["right", "left"] * 3


@given(names)
def test_any_name_is_a_cell_and_a_paragraph_of_markdown(name):
    expected = " ".join(printable(name).split())
    html = rendered(markdown_table(["x"], [[name]], "l"))
    assert plain(re.findall(r"<td[^>]*>(.*?)</td>", html, re.S)[0]) == expected
    html = rendered(markdown_paragraph(expected))
    assert re.fullmatch(r"<p>[^<]*</p>\n", html)
    assert plain(html[3:-5]) == expected


def test_latex_of_a_hostile_name():
    assert latex(HOSTILE[0]) == (
        r"a\_b \& 50\% \$x\$ \textbackslash{}input\{/etc/passwd\} \textasciicircum{}\textasciitilde{} \{\}"
    )
    assert latex("[a]*--x\x00") == r"{[}a]{*}-{}-x?"


SAID = {
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<", "textgreater": ">", "textbar": "|", "char34": '"',
    "textemdash": "—", "textendash": "–", "dots": "…",
}  # fmt: skip
TOKEN = re.compile(
    r"\\(?P<command>[a-z]+\d*)\{\}|\\(?P<sign>[{}$&#%_])|\$\\(?P<maths>pm|cdot)\$|\{(?P<one>['`\[*]?)\}|(?P<plain>[^\\{}$&#%_^~])"
)


def read_latex(text):
    """What LaTeX prints, of the little that we write; fails where a sign would do something."""
    out, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found, text[at:]
        kind, value = found.lastgroup, found[found.lastgroup]
        out.append(SAID[value] if kind == "command" else {"pm": "±", "cdot": "·"}[value] if kind == "maths" else value)
        at = found.end()
    return "".join(out)


@given(names)
def test_latex_prints_any_name_as_it_is(name):
    written = latex(name)
    assert read_latex(written) == re.sub("[\u2400-\u2420\ufffd]", "?", printable(name))
    assert not re.search(r"--|,,|''|``|[?!]`|<<|>>", written), "no ligatures"
    assert not re.match(r"[\[*]", written), "after a line's end it would be an argument"


def test_a_table_of_latex():
    rows = [["1", "a_b", "-12", "3-0-1"], ["2", "1-2-3", "-inf", "—"]]
    assert latex_table(["#", "bot", "±", "W-D-L"], rows, "rlrc") == (
        "\\begin{tabular}{rlrc}\n\\toprule\n\\# & bot & $\\pm$ & W-D-L \\\\\n\\midrule\n"
        "1 & a\\_b & $-$12 & 3--0--1 \\\\\n2 & 1-2-3 & $-$inf & \\textemdash{} \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


@pytest.fixture
def games(tmp_path, monkeypatch):
    """A CSV in which everybody beats the next one."""
    monkeypatch.chdir(tmp_path)
    quoted = ['"{}"'.format(" ".join(name.split()).replace('"', '""')) for name in HOSTILE]
    lines = [f"{a},{b},1-0" for a, b in itertools.pairwise([*quoted, quoted[0]])]
    (tmp_path / "games.csv").write_text("black,white,result\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="asks LaTeX itself")
def test_latex_takes_the_standings(games, capsys):
    assert run(["rate", "games.csv", "--format", "latex"]) == 0
    table = capsys.readouterr().out
    (games / "x.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{table}\\end{{document}}\n"
    )
    command = ["pdflatex", "-output-format=dvi", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-2000:]


def test_markdown_has_the_standings(games, capsys):
    assert run(["rate", "games.csv", "--format", "markdown"]) == 0
    html = rendered(capsys.readouterr().out)
    ratings, cross = re.findall(r"<table>.*?</table>", html, re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", ratings, re.S)
    shown = [list(map(plain, re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row))) for row in rows]
    assert shown[0] == ["#", "bot", "Elo", "±95%", "±pairs", "games", "W-D-L", "score"]
    assert {row[1] for row in shown[1:]} == {" ".join(printable(name).split()) for name in HOSTILE}
    assert all(row[2:] == ["0", *row[3:5], "2", "1-0-1", "50.0 %"] for row in shown[1:])
    assert cross.count("1-0-0") == cross.count("0-0-1") == len(HOSTILE)
    assert "moving first is worth" in html


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("markdown", "| game | default size | about |\n| :-- |"),
        ("latex", "% needs \\usepackage{booktabs}\n\\begin{tabular}{lll}"),
    ],
)
def test_any_table_can_be_had(form, begins, capsys):
    assert run(["games", "--format", form]) == 0
    out = capsys.readouterr().out
    assert out.startswith(begins)
    assert r"tic\_tac\_toe" in out
    assert run(["sprt", "--elo1", "20", "--wdl", "30,0,20", "--format", form]) == 0
    assert ("| 20-0-30 |" if form == "markdown" else "20-0-30") in capsys.readouterr().out
    arguments = [
        "match",
        "random",
        "minimax:depth=1",
        "--game",
        "tic_tac_toe",
        "--games",
        "2",
        "--sprt",
        "0,900",
        "--format",
        form,
    ]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "minimax:depth=1" in out
    assert "LLR" in out
