"""What each GUI sends when it starts and while it analyses, answered in full; and that docs/gui.md says what holds.

A transcript is lines to be sent, after ``>``, and the answers that they get, as patterns, after ``<``. After ``~`` is what an
analysis says first, and ``!`` is its end.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from gtp_talk import Talk
from typer.testing import CliRunner

from jubango.arena.commands.app import app

pytestmark = pytest.mark.full

PAGE = (Path(__file__).parents[3] / "docs" / "gui.md").read_text()
V = r"([A-E][1-5]|pass)"
LZ = rf"info move {V} visits \d+ winrate \d+ lcb \d+ order \d+ pv( {V})+"
KATA = rf"info move {V} visits \d+ edgeVisits \d+ utility \S+ winrate \S+ scoreMean \S+ [^\n]* lcb \S+ utilityLcb \S+ weight \d+ order \d+ pv( {V})+"

# Sabaki asks who it is all at once, brings the engine to its board (komi first), and stops an analysis by a command.
SABAKI = rf"""
> name
> version
> protocol_version
> list_commands
< = jubango
< = 0\.\d{{3,}}\.\d+ \(jubango .*\)
< = 2
< = boardsize\n.*
> komi 6.5
< =
> boardsize 5
< =
> clear_board
> play B C3
> play W D4
< =
< =
< =
> kata-analyze B 50
~ =\n{KATA}
> undo
!
< =
> play W B2
< =
> kata-genmove_analyze B 50
< =\n(info .*\n)+play {V}
> quit
< =
"""

# GoGui reads the commands, asks which of them show something, and plays without ids.
GOGUI = rf"""
> protocol_version
< = 2
> list_commands
< = .*gogui-analyze_commands\ngogui-interrupt\n.*
> name
< = jubango
> version
< = .*
> gogui-interrupt
< =
> gogui-analyze_commands
< = dboard/Visits/jubango-visits\n.*
> boardsize 5
< =
> clear_board
< =
> komi 6.5
< =
> time_settings 1800 0 0
< =
> play B C3
< =
> time_left w 1795 0
< =
> genmove w
< = {V}
> jubango-visits
< = (-?\d\.\d{{3}}[ \n]?){{25}}
> jubango-pv
< = VAR b .*\nTEXT Black wins .*
> jubango-moves
< = ({V} \d+% ?)+
> undo
< =
> final_score
< = [BW]\+\d+\.5
> quit
< =
"""

# Lizzie has a number for every line and asks for lines ten times a second; the next move ends them.
LIZZIE = rf"""
> 1 name
< =1 jubango
> 2 version
< =2 0\.\d{{3,}}\.\d+ .*
> 3 boardsize 5
< =3
> 4 komi 7.5
< =4
> 5 lz-analyze 10
~ =5\n{LZ}
> 6 play B C3
!
< =6
> 7 lz-analyze 10
~ =7\n{LZ}
> 8 name
!
< =8 jubango
> 9 time_settings 0 5 1
< =9
> 10 genmove W
< =10 {V}
> 11 lz-genmove_analyze B 10
< =11\n(info .*\n)+play {V}
> 12 undo
< =12
> 13 clear_board
< =13
> 14 quit
< =14
"""

# LizzieYzy takes an engine for KataGo's kin if it knows kata-analyze.
LIZZIE_YZY = rf"""
> 1 name
< =1 jubango
> 2 version
< =2 .*
> 3 list_commands
< =3 .*\nkata-analyze\n.*
> 4 boardsize 5
< =4
> 5 komi 7.5
< =5
> 6 kata-get-rules
< =6 \{{"friendlyPassOk".*\}}
> 7 kata-set-rules chinese
< =7
> 8 kata-analyze B 10 ownership true
~ =8\n{KATA} ownership( -?\d\.\d+){{25}}
> 9 stop
!
< =9
> 10 quit
< =10
"""


@pytest.mark.parametrize("name", ["SABAKI", "GOGUI", "LIZZIE", "LIZZIE_YZY"])
def test_a_guis_lines_are_answered(name):
    talk = Talk("go:5,komi=0")
    for line in globals()[name].strip().split("\n"):
        sign, text = line[0], line[2:].replace(".*", "((?!\n\n).)*")
        if sign == ">":
            talk.write(f"{line[2:]}\n")
        elif sign == "!":
            talk.read_until(r"\A(info [^\n]*\n)*\n")
        else:
            talk.read_until(rf"\A({text}) *\n\n" if sign == "<" else rf"\A{text}[^\n]*\n")
    assert talk.end() == ""


def test_the_page_names_commands_that_there_are():
    """Every command line of the page has options that its command knows."""
    lines = [line.strip() for line in re.findall(r"^ {4}(\S*jubango (?:gtp|analysis-server).*)$", PAGE, re.M)]
    assert len(lines) >= 5
    for line in lines:
        _, command, *words = shlex.split(line)
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
        options = [word for word in words if word.startswith("--")]
        assert all(option in shown for option in options), line
    for gui in ("Sabaki", "GoGui", "Lizzie", "LizzieYzy", "KaTrain"):
        assert f"## {gui}" in PAGE


def test_the_page_lists_every_command():
    talk = Talk("go:5,komi=0")
    listed = talk.ask("list_commands")[2:].split("\n")
    talk.end()
    named = set(re.findall(r"`([a-z_-]+)`", PAGE))
    assert set(listed) <= named, set(listed) - named
