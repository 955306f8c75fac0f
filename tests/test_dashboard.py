"""The dashboard fits its screen and says what it should; off a terminal it is lines."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from jubango.analysis.plot import board_text, scale_colour, short_count
from jubango.arena.dashboard import Dashboard, clock
from jubango.arena.pairings import round_robin
from jubango.arena.plan import parse_plan
from jubango.arena.run import Run
from jubango.arena.run_folder import Memory
from jubango.arena.table import Table

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


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 10), (60, 15)])
@pytest.mark.parametrize("game", ["go:9", "connect_four", "go:19"])
def test_it_fits_the_screen(width, height, game):
    plan = parse_plan(PLAN.format(game=game), "x")
    table = Table(plan.game, plan.bots, 2)
    table._seat(tasks := round_robin([b.name for b in plan.bots], 2, 1))
    for _ in range(5):
        table._ask()
        list(table._collect(tasks))
    run = Run(plan, Memory())
    run.results, run.table = [(plan.bots[0].name, plan.bots[1].name, 1.0)], table
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
        assert "A B C D E F G" in text, "a live board"
        assert "(" in text, "the last move is marked"
        assert "row against column" in text or width < 100
    table.close()


def test_off_a_terminal_it_prints_lines():
    plan = parse_plan(PLAN.format(game="tic_tac_toe"), "x")
    console = Console(file=io.StringIO(), force_terminal=False, width=20)
    dashboard = Dashboard(console)
    with dashboard.running():
        run = Run(plan, Memory())
        dashboard.show(run)
        run.results = [("random [x]", "b", 1.0)] * 2
        dashboard.show(run)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("0/2 games, 0 %, ? left")
    assert lines[1].startswith("2/2 games, 100 %, 0:00 left")


def test_boards_say_what_is_on_them():
    stones = np.zeros((3, 3), np.int8)
    stones[0, 0], stones[1, 2] = 1, 2
    counts = np.array([[0, 12345, 1], [0, 0, 0], [999, 0, 0]])
    plain = board_text(stones, (1, 2), counts).plain
    assert plain.splitlines()[1].split() == ["3", "●", "12k", "1", "3"]
    assert plain.splitlines()[2].replace(" ", "") == "2··(○)2"
    assert plain.splitlines()[3].split() == ["1", "999", "·", "·", "1"]
    assert len({len(line.rstrip()) for line in plain.splitlines()[1:4]}) == 1
    small = board_text(stones, (0, 0)).plain.splitlines()
    assert small[1].replace(" ", "") == "3(●)··3"


def test_numbers_for_people():
    assert [clock(x) for x in (None, 0, 59.6, 3661)] == ["?", "0:00", "1:00", "1:01:01"]
    assert [short_count(n) for n in (0, 9999, 10_000, 999_499, 1_234_567)] == ["0", "9999", "10k", "999k", "1.2M"]
    brightness = [sum(scale_colour(s / 10)) for s in range(11)]
    assert brightness == sorted(brightness, reverse=True), "more visits are darker"
