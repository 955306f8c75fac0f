"""The dashboard fits its screen and says what it should; off a terminal it is lines."""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from schedules import round_robin
from tiers import full_but

from jubango.analysis.positions.heat import Heat, scale_colour, short_count
from jubango.analysis.positions.plot import board_text, heat_text
from jubango.analysis.ratings.ratings import rate
from jubango.analysis.ratings.sprt import Sprt, SprtState
from jubango.analysis.reviews.reviewing import ReviewProgress
from jubango.arena.commands.positions.reviews import _Report
from jubango.arena.games.pool import GamePool
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import Memory
from jubango.arena.schedule.plan import parse_plan
from jubango.arena.schedule.waiting import Waiting
from jubango.arena.screens.dashboard import Dashboard, between, clock
from jubango.arena.text.console import Console as OwnConsole
from jubango.arena.text.names import short_names, stay_apart, widest
from jubango.arena.text.preparing import Preparing, shown
from jubango.arena.text.standings import cross_for, print_standings, standings_for
from jubango.bots.players.random import RandomPlayer

ROOT = Path(__file__).parents[3]
PLAN = """
name = "a [bold]name"
game = "{game}"
games_per_pairing = 2
[[bots]]
name = "random [x]"
use = "random"
[[bots]]
name = "a very long name of a bot that has to be cut somewhere on a small screen"
use = "random"
"""


def ended(run, results):
    """So many games of the run have ended, with these results."""
    run._results = {str(i): result for i, result in enumerate(results)}


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 10), (60, 15)])
@pytest.mark.parametrize("game", full_but(["go:9", "connect_four"], ["go:9", "connect_four", "go:19"]))
def test_it_fits_the_screen(width, height, game):
    plan = parse_plan(PLAN.format(game=game), "x")
    table = GamePool(plan.game, plan.bots, 2)
    table.seat(tasks := Waiting(round_robin([b.name for b in plan.bots], 2, 1)))
    for _ in range(3):
        assert not table.tick(tasks)
    run = Run(plan, Memory())
    run.table = table
    ended(run, [(plan.bots[0].name, plan.bots[1].name, 1.0)])
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=False)
    dashboard = Dashboard(console)
    console.print(dashboard.render(run))
    lines = console.file.getvalue().splitlines()
    assert len(lines) <= height
    assert max(len(line.rstrip()) for line in lines) <= width
    text = "\n".join(lines)
    assert "1/2 games, 50 %" in text
    assert "a [bold]name" in text, "names are shown as they are"
    assert "Elo" in text
    if (width, height) in ((80, 24), (200, 50)) and game != "go:19":
        assert "random [x]" in text
        assert re.search("A +B +C +D +E +F +G", text), "a live board"
        assert "(" in text, "the last move is marked"
        assert "row against column" in text or width < 100
    table.close()


SWEEP = """
name = "sweep"
game = "connect_four"
games_per_pairing = 2
[[bots]]
name = "uct"
use = "uct"
simulations = [20, 40]
c = [0.7, 1.0, 1.4]
[[bots]]
name = "another-name-that-is-long"
use = "uct"
c = [0.5, 2.5]
"""


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 50)])
def test_a_screen_tells_bots_apart_and_is_filled(width, height):
    """A sweep of eight bots, every one with some hundred games: all that fits is there, and nothing is far from its name."""
    plan = parse_plan(SWEEP, "x")
    names = [bot.name for bot in plan.bots]
    table = GamePool(plan.game, plan.bots, 30, players=dict.fromkeys(names, RandomPlayer()))
    table.seat(Waiting(round_robin(names, 2, 1)))
    run = Run(plan, Memory())
    run.table = table
    ended(run, [(a, b, float(i % 3 > 0)) for i in range(60) for a in names for b in names if a < b])
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=False)
    console.print(Dashboard(console).render(run))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    rows = [re.match(r"([1-8])  (\S+) +[+-]?\d+ ", line) for line in lines]
    found = {row.group(1): row.group(2) for row in rows if row}
    assert len(set(found.values())) == 8, "names stay apart"
    for name in found.values():
        assert re.search("c=(0.7|1|1.4|0.5|2.5)$", name), "what differs is seen"
    heading = next(line for line in lines if " Elo " in line)
    assert heading.index(" Elo") - heading.index("bot") <= max(map(len, found.values())) + 6, (
        "numbers are beside the names"
    )
    text = "\n".join(lines)
    assert text.count("A B C D E F G") // 2 >= {80: 1, 120: 2, 200: 12}[width], "boards"
    assert text.count(" — ") == {80: 0}.get(width, 8), "the crosstable"
    assert width == 80 or sum(not line for line in lines) + height - len(lines) <= height // 3
    table.close()


def test_a_crosstable_that_is_too_wide_beside_boards_lies_below_or_loses_its_names():
    results = [(f"bot-{i}", f"bot-{j}", 1.0) for i in range(12) for j in range(i) for _ in range(100)]
    ratings = rate(results)
    wide, narrow = (cross_for(width, results, ratings) for width in (200, 110))
    assert [table.columns[1].header for table in (wide, narrow)] == ["row against column", "1"]
    assert cross_for(60, results, ratings) is None


def test_short_names_stay_apart():
    sweep = [f"uct/simulations=400,c={c},leaves=8" for c in (0.7, 1.4)]
    assert short_names(["random", *sweep], 16) == ["random", "uct/…c=0.7…", "uct/…c=1.4…"]
    assert short_names(sweep, 40) == sweep


@given(st.lists(st.text("ab=,/:-囲", min_size=1, max_size=40), min_size=1, max_size=6), st.integers(10, 40))
def test_no_name_gets_longer_than_the_room_or_another_s(names, limit):
    short = short_names(names, limit)
    assert widest(short) <= limit
    assert all(cut == name for cut, name in zip(short, names, strict=True) if widest(names) <= limit)
    if stay_apart(names, limit):
        assert len(set(short)) == len(set(names))


LONG = [f"our-bot-{a}-trained-for-a-week-{b}-noise-and-then-{c}-simulations-a-move" for a in "AB" for b in ("with", "less")
        for c in (200, 800)]  # fmt: skip
WIDE = [f"星陣囲碁星陣囲碁星陣囲碁星陣囲碁星陣囲碁星陣囲碁{place}番" for place in "一二三"]
ALIKE = ["".join(bits) * 26 for bits in itertools.product("ab", "cd", "ef")]  # no cut leaves what tells them apart


@pytest.mark.parametrize("names", [LONG, WIDE, ALIKE, [*LONG, *WIDE]], ids=["words", "wide", "alike", "both"])
@pytest.mark.parametrize("games", [0, 2, 100])
def test_long_names_cut_no_column_of_the_standings(names, games):
    """Neither while the games are played nor at the end; a column that is there is there whole."""
    plan = parse_plan(
        'name = "x"\ngame = "connect_four"\n' + "".join(f'[[bots]]\nname = "{n}"\nuse = "random"\n' for n in names), "x"
    )
    run = Run(plan, Memory())
    ended(run, results := [(a, b, float(i % 2)) for a in names for b in names if a < b for i in range(games)])
    run.table = GamePool(plan.game, plan.bots, 2, players=dict.fromkeys(names, RandomPlayer()))
    run.table.seat(Waiting(round_robin(names, 2, 1)))
    playing, ends = (Console(width=80, height=24, file=io.StringIO(), force_terminal=False) for _ in range(2))
    playing.print(Dashboard(playing).render(run))
    print_standings(ends, rate(results, players=names), results)
    for console in (playing, ends):
        text = console.file.getvalue()
        assert cell_len(max(text.splitlines(), key=cell_len)) <= 80
        head, first = re.search(r"^ *#  bot .*\n.*", text, re.M)[0].splitlines()
        assert re.search(r"#  bot +Elo  +±95%  .*score", head)
        assert not games or re.search(r"\d\.\d %", first)
    run.table.close()


def test_a_dumb_terminal_gets_lines(monkeypatch):
    """It shows nothing that changes in place."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        console = OwnConsole(file=terminal)
        assert terminal.isatty() and not Dashboard(console).in_place
        with shown(console, Preparing("a program"), everywhere=True, patience=0.01):
            assert b"compiling, 0 s: a program" in os.read(ours, 100)
    os.close(ours)


def test_another_size_is_drawn_at_once_on_a_screen_of_its_own():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    console = Console(file=io.StringIO(), force_terminal=True, width=60, height=20, color_system=None)
    with Dashboard(console).running() as dashboard:
        run = Run(plan, Memory())
        dashboard.show(run)
        once = len(console.file.getvalue())
        dashboard.show(run)
        assert len(console.file.getvalue()) == once, "too early for another picture"
        console.size = ConsoleDimensions(40, 10)
        dashboard.show(run)
        again = console.file.getvalue()[once:]
    assert "Elo" in again
    assert again.startswith("\x1b[H"), "from the top"
    assert "\x1b[?1049h" in console.file.getvalue()[:once]
    assert "\x1b[?1049l" in console.file.getvalue(), "and what was on the terminal is back in the end"


def test_black_is_dark_and_white_is_bright_on_every_terminal():
    stones = np.array([[1, 2, 0]], np.int8)
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=40)
    console.print(board_text(stones, (0, 1)))
    ground = "48;2;220;179;92m"
    assert f"38;2;0;0;0;{ground}●" in console.file.getvalue()
    assert f"38;2;255;255;255;{ground}○" in console.file.getvalue()


def test_off_a_terminal_it_prints_lines():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    console = Console(file=io.StringIO(), force_terminal=False, width=20)
    dashboard = Dashboard(console)
    with dashboard.running():
        run = Run(plan, Memory())
        dashboard.show(run)
        ended(run, [("random [x]", "b", 1.0)] * 2)
        dashboard.show(run)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("0/2 games, 0 %, ? left")
    assert lines[1].startswith("2/2 games, 100 %, 0:00 left")


def test_colors_that_are_forced_make_no_terminal_of_a_file():
    console = OwnConsole(file=io.StringIO(), width=20, _environ={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert not console.is_terminal
    console.sentence("a line that is longer than that", style="red")
    assert console.file.getvalue() == "\x1b[31ma line that is longer than that\x1b[0m\n"


def test_notes_after_the_last_line_are_told_too():
    run = Run(parse_plan(PLAN.format(game="tic_tac_toe"), "x"), Memory())
    console = Console(file=io.StringIO(), force_terminal=False, width=60)
    with Dashboard(console).running() as dashboard:
        dashboard.show(run)
        ended(run, [("random [x]", "b", 1.0)] * 2)
        dashboard.show(run)
        run.notes.append("host a is refused")
        dashboard.show(run)
        run.notes.append("host b is gone")
    assert console.file.getvalue().splitlines()[2:] == ["host a is refused", "host b is gone"]


def test_making_programs_is_announced(monkeypatch):
    """On a terminal by a spinner, elsewhere by one line, if it takes long enough to wonder."""
    monkeypatch.setattr("jubango.arena.text.preparing.SILENT_SECONDS", 0.02)
    what = f"go:9 for {'a [bold]name, ' * 20}"
    console = OwnConsole(file=io.StringIO(), force_terminal=False, width=20)
    with Dashboard(console).preparing(what):
        for _ in range(500):
            if not console.file.getvalue().endswith("\n"):
                time.sleep(0.02)
    assert re.fullmatch(rf"compiling, \d+ s: {re.escape(what)}\n", console.file.getvalue())
    quick = Console(file=io.StringIO(), force_terminal=False)
    monkeypatch.setattr("jubango.arena.text.preparing.SILENT_SECONDS", 0.3)
    with pytest.raises(ValueError, match="broken"), Dashboard(quick).preparing(what):
        raise ValueError("broken")
    time.sleep(0.4)
    assert quick.file.getvalue() == ""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=60, color_system=None)
    with Dashboard(terminal).preparing(what):
        time.sleep(0.05)
    (line,) = [part for part in terminal.file.getvalue().split("\n") if "compiling" in part][:1]
    assert "s: go:9 for a [bold]name" in line
    assert "…" in line


def test_off_a_terminal_lines_say_how_a_long_wait_goes_on(monkeypatch):
    """Of a review, for one: first what is compiled, then how many positions are done."""
    monkeypatch.setattr("jubango.arena.text.preparing.AGAIN", 0.02)
    console = Console(file=io.StringIO(), force_terminal=False, width=20)

    def wait_for(words: str) -> None:
        for _ in range(500):
            if console.file.getvalue().count(words) < 2:
                time.sleep(0.02)

    with shown(console, Preparing("go:9 for uct"), everywhere=True, patience=0.02) as line:
        wait_for("go:9 for uct\n")
        report = _Report(line, "")
        report(ReviewProgress("positions", 0, 60))
        report(ReviewProgress("positions", 12, 60))
        wait_for(" left\n")
    lines = console.file.getvalue().splitlines()
    assert re.fullmatch(r"compiling, \d+ s: go:9 for uct", lines[0])
    assert re.fullmatch(r"searching positions of the game: 12 of 60, \d+:\d\d left", lines[-1])
    assert len(lines) >= 4
    said = len(lines)
    time.sleep(0.1)
    assert len(console.file.getvalue().splitlines()) == said, "it is over"


@pytest.mark.full
def test_programs_that_are_made_are_counted(tmp_path):
    """In a process of its own, with a cache of its own: compiled the first time, loaded the second."""
    code = (
        "from jubango.arena.text.preparing import Preparing\n"
        "from jubango.sgf_games.rules.catalogue import make_game\nfrom jubango.sgf_games.rules.compiled import initial_states, rules\n"
        "from jubango.sgf_games.compute.machine import claim\nimport jax, numpy as np\nclaim()\n"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.0)\n"  # however quickly they are made
        "p, g = Preparing('x'), make_game('tic_tac_toe')\n"
        "rules(g).step_lanes(initial_states(g, 3), np.full(3, -1, np.int32))\nprint(p)"
    )
    environment = os.environ | {"JUBANGO_CACHE": str(tmp_path)}
    texts = [
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert re.fullmatch(r"compiling, \d+ s, \d+ done: x\n", texts[0])
    assert re.fullmatch(r"compiling, \d+ s, \d+ from the cache: x\n", texts[1])


def test_before_a_game_is_over_its_moves_are_counted():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    run = Run(plan, Memory())
    run.table = GamePool(plan.game, plan.bots, 2)
    run.table.seat(tasks := Waiting(round_robin([b.name for b in plan.bots], 2, 1)))
    dashboard = Dashboard(Console(file=io.StringIO(), width=80))
    run.table.tick(tasks)
    assert run.table.moves_made > 0
    assert dashboard.line(run).plain == f"0/2 games, 0 %, ? left, {run.table.moves_made} moves made"
    run.table.close()


def test_a_run_that_is_shown_again_has_no_speed():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    assert "games/s" not in Dashboard(Console(file=io.StringIO(), width=80)).line(Run(plan, Memory())).plain


def test_started_from_python_one_line_changes_in_place():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    console = Console(file=io.StringIO(), force_terminal=True, width=60, color_system=None)
    with Dashboard(console, screen=False).running() as dashboard:
        dashboard.show(Run(plan, Memory()))
    text = console.file.getvalue()
    assert "0/2 games, 0 %, ? left" in text
    assert "Elo" not in text


def test_in_a_notebook_it_is_updated_in_place():
    """A real kernel: one output, which ends as one line, and the run's tables as HTML."""
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    code = "from jubango.arena.tournament import tournament\nrun = tournament('tic_tac_toe', ['random', 'minimax'], games=4)"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (code, "run")])
    client.NotebookClient(book, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    (shown,), (tables,) = (cell.outputs for cell in book.cells)
    assert shown["data"]["text/html"].startswith("4/4 games, 100 %")
    assert tables["data"]["text/html"].count("<table") == 2


def visits(counts):
    return Heat(np.where(counts > 0, counts, np.nan), "visits")


def test_boards_say_what_is_on_them():
    stones = np.zeros((3, 3), np.int8)
    stones[0, 0], stones[1, 2] = 1, 2
    counts = np.array([[0, 12345, 1], [0, 0, 0], [999, 0, 0]])
    plain = board_text(stones, (1, 2), visits(counts).cells()).plain
    assert plain.splitlines()[1].split() == ["3", "●", "12k", "1", "3"]
    assert plain.splitlines()[2].replace(" ", "") == "2··(○)2"
    assert plain.splitlines()[3].split() == ["1", "999", "·", "·", "1"]
    assert len({len(line.rstrip()) for line in plain.splitlines()[1:4]}) == 1
    small = board_text(stones, (0, 0)).plain.splitlines()
    assert small[1].replace(" ", "") == "3(●)··3"


def test_visits_that_say_nothing_beside_the_others_are_left_out():
    """Fewer than five, and than a hundredth of the most; where all are few, or none is many, all are shown."""
    stones = np.zeros((2, 2), np.int8)
    many, some = (heat_text(stones, None, visits(np.array([[most, 2], [4, 5]])), 80).plain for most in (450, 100))
    assert [line.split()[1:3] for line in many.splitlines()[1:3]] == [["450", "·"], ["·", "5"]]
    assert [line.split()[1:3] for line in some.splitlines()[1:3]] == [["100", "2"], ["4", "5"]]


def test_a_board_with_visits_fits_a_small_screen():
    """19 columns of four digits are wider than 80 characters; shares are not."""
    stones, counts = np.zeros((19, 19), np.int8), np.zeros((19, 19), int)
    stones[0, 0], counts[3, 3], counts[15, 15] = 1, 6000, 2000
    wide, narrow = (heat_text(stones, (0, 0), visits(counts), width).plain for width in (120, 80))
    assert "6000" in wide
    assert "%" not in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert "% of the visits" in narrow
    assert {word for word in narrow.splitlines()[5].split() if word != "·"} == {"16", "75"}


@pytest.mark.parametrize(("cells", "big"), [(False, False), (False, True), (True, False)])
def test_points_that_are_neighbours_in_hex_are_so_on_the_screen(cells, big):
    """Left and right of each other a cell apart, and from row to row half a cell, to either side."""

    def place(row, column):
        stones = np.zeros((5, 5), int)
        stones[row, column] = 1
        heat = visits(np.full((5, 5), 3))
        text = heat_text(stones, None, heat, 80, True) if cells else board_text(stones, big=big, slanted=True)
        lines = text.plain.splitlines()
        (found,) = [(i, line.index("●")) for i, line in enumerate(lines) if "●" in line]
        return found

    line, sign = place(2, 2)
    cell = place(2, 3)[1] - sign
    between = 2 if big else 1
    near = {
        (0, -cell),
        (0, cell),
        (-between, cell // 2),
        (-between, -cell // 2),
        (between, cell // 2),
        (between, -cell // 2),
    }
    beside = [(2, 1), (2, 3), (1, 1), (1, 2), (3, 2), (3, 3)]  # B1 and A2 are, A1 and B2 are not
    assert {(place(*point)[0] - line, place(*point)[1] - sign) for point in beside} == near
    assert cell % 2 == 0


@pytest.mark.parametrize(("size", "slants"), [(11, True), (13, False), (15, False), (19, False)])
def test_a_slanted_board_fits_a_small_screen_or_is_upright(size, slants):
    stones, counts = np.zeros((size, size), np.int8), np.full((size, size), 1290)
    lines = heat_text(stones, None, visits(counts), 80, True).plain.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if line.split()[0].isdigit()]
    assert len(rows) == size
    assert (len(rows[0]) - len(rows[0].lstrip()) > size) == slants


@pytest.mark.parametrize(("size", "width"), [(9, 80), (13, 120), (13, 80), (19, 120), (19, 80)])
def test_the_last_move_s_bracket_touches_no_number_where_there_is_room(size, width):
    stones, counts = np.zeros((size, size), np.int8), np.full((size, size), 1290)
    stones[4, 4], counts[4, 4] = 2, 0
    board = heat_text(stones, (4, 4), visits(counts), width).plain.splitlines()
    assert max(map(len, board)) <= width
    row = board[5 + ("%" in board[0])]
    if 7 + 6 * size <= width:
        assert "(○) 1290 " in row
    else:
        assert "(○)1290 " in row if 7 + 5 * size <= width else "(○) 0 " in row


def test_numbers_for_people():
    assert [clock(x) for x in (None, 0, 59.6, 3661)] == ["?", "0:00", "1:00", "1:01:01"]
    assert [short_count(n) for n in (0, 9999, 10_000, 999_499, 1_234_567)] == ["0", "9999", "10k", "999k", "1.2M"]
    brightness = [sum(scale_colour(s / 10)) for s in range(11)]
    assert brightness == sorted(brightness, reverse=True), "more visits are darker"


def test_a_test_is_shown_between_its_bounds():
    """The mark goes to the right as the first bot wins; what is accepted stands out."""
    test = Sprt(0, 20)
    places = []
    for counts in ([0] * 5, [2, 0, 10, 0, 9], [2, 0, 10, 0, 60], [60, 0, 10, 0, 2]):
        llr = test.llr(counts)
        text = between(SprtState(test, llr, test.decision(llr), tuple(counts)), 60)
        assert len(text.plain) == 60
        assert (text.plain[:6], text.plain[-7:]) == ("H0 +0 ", " +20 H1")
        places.append(text.plain.index("●"))
    assert places[3] == 6 < places[0] < places[1] < places[2] == 52


def test_a_screen_says_what_ended_last_and_what_was_played_last():
    """With room for it: how the last games ended, and below who plays the last move with what it took."""
    plan = parse_plan(PLAN.format(game="go:5"), "x")
    run = Run(plan, Memory())
    table = GamePool(plan.game, plan.bots, 2)
    run.table = table
    tasks = Waiting(run.next_games())
    table.seat(tasks)
    while not run.results:
        run.add(table.tick(tasks))
        run.settle(now=True)
    console = Console(width=120, height=40, file=io.StringIO(), force_terminal=False)
    console.print(Dashboard(console).render(run))
    text = console.file.getvalue()
    (record, *_) = run.latest
    assert re.search(rf"ended last.*\n.* – .*: {re.escape(record.result)}, {len(record.moves)} moves, \d+\.\d s", text)
    if lane := next(filter(None, table.lanes), None):
        assert f"{len(lane.moves)} {plan.game.action_text(lane.moves[-1])}, 0." in text
    table.close()


@pytest.mark.parametrize(("games", "big"), [(1, True), (2, True), (9, False)])
def test_boards_are_big_where_all_of_them_have_room(games, big):
    plan = parse_plan(PLAN.format(game="go:7").replace("games_per_pairing = 2", "games_per_pairing = 10"), "x")
    run = Run(plan, Memory())
    run.table = GamePool(plan.game, plan.bots, games)
    run.table.seat(Waiting(run.next_games()))
    console = Console(width=200, height=50, file=io.StringIO(), force_terminal=False)
    console.print(Dashboard(console).render(run))
    lines = console.file.getvalue().splitlines()
    assert any("A   B   C   D   E   F   G" in line for line in lines) == big
    assert len(lines) <= 50
    assert max(len(line.rstrip()) for line in lines) <= 200
    run.table.close()


def test_a_big_board_is_twice_the_board():
    stones = np.zeros((3, 4), np.int8)
    stones[0, 0], stones[1, 2] = 1, 2
    plain = board_text(stones, (1, 2), big=True).plain.splitlines()
    assert [line.replace(" ", "") for line in plain] == ["ABCD", "3●···3", "", "2··(○)·2", "", "1····1", "ABCD"]
    assert plain[1].index("●") == plain[0].index("A")
    assert plain[3].index("○") == plain[0].index("C")


def test_a_screen_says_how_sure_neighbours_are():
    """The likelihood of superiority over the next, where there is room; the last has nobody below."""
    ratings = rate([("a", "b", 1.0)] * 20 + [("b", "a", 0.0)] * 10 + [("b", "c", 0.5)] * 30 + [("d", "e", 1.0)])
    wide = standings_for(120, ratings, 5, los=True)
    assert [column.header for column in wide.columns][-1] == "LOS"
    *chances, last = wide.columns[-1].cells
    assert last == ""
    first, second = ratings.ratings[:2]
    assert chances[0] == f"{100 * ratings.difference(first.name, second.name)[2]:.0f} %"
    assert "" in chances, "of separate groups the games say nothing"
    assert standings_for(50, ratings, 5, los=True).columns[-1].header == "score"
