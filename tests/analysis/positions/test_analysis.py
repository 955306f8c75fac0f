"""Records, positions and analyses as a notebook's user meets them: what they say and how they look."""

from __future__ import annotations

import itertools
import warnings
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from tiers import full_but

from jubango.analysis.positions.heat import MOST_LABELS, Heat, hex_colour
from jubango.analysis.positions.ownership import ownership
from jubango.analysis.positions.plot import EAST_ASIAN, draw, drawable, font_names, heat_text, save_png
from jubango.analysis.positions.position import analysis_frame, analyze, searching_bot
from jubango.analysis.positions.win_rate import WinRate
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.diagram import (
    Cell,
    Diagram,
    board_svg,
    breadth,
    contrast,
    folded,
    luminance,
    readable_on,
    shortened,
)
from jubango.sgf_games.sgf.positions import Position, Record, position, read_sgf
from jubango.sgf_games.sgf.sgf import parse_sgf

SVG = "{http://www.w3.org/2000/svg}"


def record(text: str) -> Record:
    return Record(parse_sgf(text.encode(), "game.sgf")[0])


GAME = record('(;SZ[5]KM[0]PB[<b>Jürgen</b> & "co"]PW[柯潔]RE[B+R];B[cc];W[cd];B[bd];W[];B[db])')


# -- records and positions -----------------------------------------------------------------------


def test_a_record_says_what_was_played():
    assert GAME.players == ('<b>Jürgen</b> & "co"', "柯潔")
    assert (GAME.result, len(GAME), GAME.game) == ("B+R", 5, make_game("go:5,komi=0"))
    assert GAME.moves == ("C3", "C2", "B2", "pass", "D4")
    assert [p.number for p in GAME.positions] == list(range(6))
    assert [GAME.at(n).number for n in (0, 3, -1, -6)] == [0, 3, 5, 0]
    assert GAME.at().stones.tolist() == GAME.at(5).stones.tolist()
    assert [GAME.at(n).player for n in range(6)] == [0, 1, 0, 1, 0, 1]
    assert record("(;SZ[3])").result == "?"
    assert record("(;SZ[3])"), "a game without moves is a game"
    for number in (6, -7):
        with pytest.raises(UserError, match="between 0 and 5"):
            GAME.at(number)


def test_one_game_of_a_file(tmp_path):
    path = tmp_path / "two.sgf"
    path.write_text("(;SZ[5]PB[a];B[aa])(;SZ[5]PB[b];B[bb])")
    assert read_sgf(path, number=2).players[0] == "b"
    with pytest.raises(UserError, match="holds 2 games; say which, number=1 to number=2"):
        read_sgf(path)
    with pytest.raises(UserError, match="there is no game 3"):
        read_sgf(path, 3)
    path.write_text("(;SZ[5]PB[a];B[aa])")
    assert read_sgf(str(path)).moves == ("A5",)


def test_positions_are_made_from_moves():
    drop = position("connect_four", "D C D C")
    assert drop.stones.tolist()[-2:] == [[0, 0, 2, 1, 0, 0, 0]] * 2
    assert (drop.number, drop.last, drop.last_player, drop.player, drop.over) == (4, (4, 2), 1, 0, False)
    again = record("(;GM[4]SZ[7]JG[connect_four];B[df];W[cf];B[de];W[ce])")
    assert again.at().stones.tolist() == drop.stones.tolist()
    assert position("connect_four", again.moves).stones.tolist() == drop.stones.tolist()
    assert position(GAME.game, GAME.moves).stones.tolist() == GAME.at().stones.tolist()
    assert position("go:5").title == "go:5,komi=7.5, before the first move"
    won = position("tic_tac_toe", ["A1", "B1", "A2", "B2", "A3"])
    assert (won.over, won.status) == (True, "the game is over: B+")
    for moves, message in (
        ("A1 A1", r"move 2 \(A1\) is illegal: the point is occupied"),
        ("A1 Z9", r"move 2 \(Z9\): .* is not on"),
        ("A1 B1 A2 B2 A3 C1", r"move 6 \(C1\) is illegal: the game is over"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            position("tic_tac_toe", moves)
        assert "\n" not in str(caught.value)


# -- win rates -----------------------------------------------------------------------------------


@given(st.floats(-1, 1), st.sampled_from([0, 1]))
def test_a_win_rate_says_whose_it_is(value, player):
    rate, other = WinRate.of_value(value, player), WinRate.of_value(-value, 1 - player)
    assert rate.black + rate.white == pytest.approx(1)
    assert (rate.black, rate.white)[player] == rate.mover
    assert rate.black == pytest.approx(other.black)
    assert str(rate).startswith("White " if player else "Black ")


def test_a_win_rate_prints():
    assert str(WinRate(0.5321, 0)) == "Black 53.2 %"
    assert str(WinRate.of_value(-1, 1)) == "White 0.0 %"


# -- analyses ------------------------------------------------------------------------------------

FAST = {"simulations": 60}
WINS = {0: "A1 B1 A2 B2", 1: "A1 B1 A2 B2 C1"}  # the player to move has a winning move: A3, then B3


@pytest.mark.parametrize("player", [0, 1])
def test_an_analysis_finds_the_win_and_says_whose_it_is(player):
    found = analyze(position("tic_tac_toe", WINS[player]), "uct", **FAST)
    assert found.best.move == ("A3", "B3")[player]
    assert (found.best.win_rate.black, found.best.win_rate.white) == ((1, 0), (0, 1))[player]
    assert found.best.win_rate.mover == 1
    assert 0.5 < found.win_rate.mover < 1
    assert found.simulations == sum(move.visits for move in found.moves) == 60
    assert sum(move.share for move in found.moves) == pytest.approx(1)
    mean = sum(move.share * move.win_rate.mover for move in found.moves)
    assert found.win_rate.mover == pytest.approx(mean, abs=0.02)


def test_keys_change_the_bot_and_are_checked():
    place = position("tic_tac_toe", "B2")
    assert analyze(place, "uct:simulations=999", **FAST).simulations == 60
    config = bot_from_spec("uct:simulations=60")
    by_spec, by_config = analyze(place, "uct", **FAST), analyze(place, config)
    assert by_spec.frame.equals(by_config.frame)
    assert not by_spec.frame.equals(analyze(place, config, seed=2).frame)
    found = analyze(place, "policy", network="none")
    assert (found.best.visits, found.best.prior) == (0, pytest.approx(1 / 8))
    assert found.best.win_rate == found.win_rate, "nothing else is known of a move without visits"
    with pytest.raises(UserError, match='did you mean "simulations"'):
        analyze(place, "uct", simulation=5)
    with pytest.raises(UserError, match="simulations=-1"):
        analyze(place, "uct", simulations=-1)
    with pytest.raises(UserError, match="searching bot"):
        analyze(place, "minimax")
    with pytest.raises(UserError, match=r"record\.at"):
        analyze(GAME, "uct")
    with pytest.raises(UserError, match="2 different games"):
        analyze([place, GAME.at()], "uct", **FAST)


def test_the_move_shown_is_the_best_not_one_drawn_by_the_bot_s_dice():
    """Temperature and noise at the root are for games."""
    places = [position("tic_tac_toe", moves) for moves in ("", "B2", "A1", "B2 A1")]
    for dice in ({"temperature": 50.0}, {"temperature": 1.0, "temperature_moves": 9, "noise": 0.9}):
        for found, calm in zip(analyze(places, "uct", **FAST, **dice), analyze(places, "uct", **FAST), strict=True):
            assert found.best.visits == max(move.visits for move in found.moves)
            assert found.frame.equals(calm.frame)


def test_the_win_rate_is_the_position_s():
    found = analyze(position("tic_tac_toe", "B2"), "uct", **FAST)
    assert str(found.win_rate) in repr(found)
    assert f"win rate {found.win_rate}, after {found.best.move} {found.best.win_rate.percent}" in found.diagram().title
    assert set(found.frame["position_win_rate_black"]) == {round(found.win_rate.black, 6)}


def test_positions_beside_each_other_change_nothing():
    places = [position("tic_tac_toe", moves) for moves in ("", "B2", WINS[0] + " A3", "B2 A1")]
    together = analyze(places, "uct", **FAST)
    assert [one.over for one in together] == [False, False, True, False]
    for place, one in zip(places, together, strict=True):
        assert analyze(place, "uct", **FAST).frame.equals(one.frame)
    over = together[2]
    assert (over.best, over.moves, over.win_rate.black, over.counts().sum()) == (None, (), 1.0, 0)
    assert "the game is over: B+" in over._repr_svg_()
    frame = analysis_frame(together)
    assert set(frame["move_number"]) == {0, 1, 2}
    black = np.where(frame["player"] == "black", frame["win_rate"], 1 - frame["win_rate"])
    assert np.allclose(frame["win_rate_black"], black, atol=1e-6)
    assert analyze([], "uct") == []


@pytest.fixture(scope="module")
def five():
    return analyze(GAME.at(3), **FAST)


@pytest.mark.full
def test_heatmaps_show_what_the_search_has(five):
    visits, prior, value = (five.heat(name).grid for name in ("visits", "prior", "value"))
    passes = next((move.visits for move in five.moves if move.move == "pass"), 0)
    assert np.nansum(visits) == five.simulations - passes
    assert np.nansum(prior) == pytest.approx(1 - five.priors[-1], abs=1e-5)
    assert value[five.best.point] == five.best.win_rate.mover
    for grid in (visits, prior, value):
        assert np.isnan(grid[five.position.stones > 0]).all()
    with pytest.raises(UserError, match='did you mean "visits"'):
        five.heat("visit")


@pytest.mark.full
def test_a_plot_takes_and_returns_axes(five, tmp_path):
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    for axes, values in zip(figure.subplots(1, 3), ("visits", "prior", "value"), strict=True):
        assert five.plot(axes, values=values) is axes
        assert "win rate White" in axes.get_title().replace("\n", " ")
    figure.savefig(tmp_path / "three.png")
    titles = [axes.title.get_window_extent() for axes in figure.axes]
    assert all(box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in titles), "nothing is cut off"
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(titles))
    own = five.plot()
    assert own.figure is not figure
    plt.close(own.figure)


# -- pictures ------------------------------------------------------------------------------------


def test_names_are_text_not_markup():
    page, picture = GAME._repr_html_(), GAME.at()._repr_svg_()
    for text in (page, picture):
        assert "<b>Jürgen" not in text
        assert "&lt;b&gt;Jürgen&lt;/b&gt; &amp;" in text
        assert "柯潔" in text
    ET.fromstring(picture)
    ET.fromstring(page.replace("<br>", "<br/>"))
    assert "5 moves, result B+R" in page
    wild = record("(;SZ[3]PB[a\x01\x0b\ud7ff]PW[" + "w" * 300 + "];B[aa])")
    picture = ET.fromstring(wild.at()._repr_svg_())
    assert len(wild._repr_html_()) < 10_000
    assert float(picture.get("width")) < 600
    broken = record("(;SZ[3];B[aa];W[aa])")
    assert "move 2 (W A3) is illegal" in broken._repr_html_()


def everything(height: int, width: int, crossings: bool) -> Diagram:
    """A board full of what can be drawn."""
    place = np.arange(height * width).reshape(height, width)
    stones = np.where(place % 3 == 0, 1 + place % 2, 0)
    cells = {
        (int(r), int(c)): Cell(("1.2M", "999k", "1234", "7")[(r + c) % 4], hex_colour((r * width + c) / stones.size))
        for r, c in zip(*np.nonzero(stones == 0), strict=True)
    }
    return Diagram(stones, crossings, (0, 0), next(iter(cells), None), cells, "A title\nand a second line of it")


@pytest.mark.parametrize("crossings", [True, False])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 3), (6, 7), (9, 9), (13, 9), (19, 19), (25, 25)])
def test_an_svg_is_whole_and_inside_its_frame(height, width, crossings):
    diagram = everything(height, width, crossings)
    text = board_svg(diagram)
    assert "href" not in text
    assert "url(" not in text
    picture = ET.fromstring(text)
    wide, tall = float(picture.get("width")), float(picture.get("height"))
    assert max(wide, tall) < 700
    stones = [c for c in picture.iter(f"{SVG}circle") if c.get("stroke-width") == "1"]
    assert len(stones) == np.count_nonzero(diagram.stones)
    words = {t.text: t for t in picture.iter(f"{SVG}text")}
    assert {"A", "1", str(height)} <= set(words)
    for t in picture.iter(f"{SVG}text"):
        size, x, y = (float(t.get(key)) for key in ("font-size", "x", "y"))
        assert size >= 6, "it can be read"
        half = size * breadth(t.text) / 2
        assert half <= x <= wide - half, t.text
        assert size / 2 <= y <= tall - size / 2, t.text
    side = min(float(r.get("width")) for r in list(picture.iter(f"{SVG}rect"))[2:]) if diagram.cells else 99
    for cell in diagram.cells.values():
        assert float(words[cell.text].get("font-size")) * breadth(cell.text) <= side


@pytest.mark.parametrize(("height", "width"), [(3, 3), (6, 7), (19, 19)])
def test_numbers_stay_in_their_cells_on_axes_of_any_size(height, width):
    diagram = everything(height, width, True)
    axes = draw(diagram, Figure(figsize=(2, 2)).add_subplot())
    boxes = [p.get_path().get_extents() for p in axes.patches if isinstance(p, PathPatch)]
    assert len(boxes) == len(diagram.cells) + height + width
    assert all(box.width < 0.9 and box.height < 0.6 for box in boxes)
    limits = axes.viewLim
    for box in boxes:
        assert limits.x0 <= box.x0 and box.x1 <= limits.x1
        assert min(limits.y0, limits.y1) <= box.y0 and box.y1 <= max(limits.y0, limits.y1)


def test_titles_are_drawn_without_boxes(tmp_path):
    """Whatever fonts this machine has: matplotlib would warn of a character that none has."""
    title = "张三 – 이창호, ソ연 \x1b ☃ 𓀀 ﷽ 👩\u200d💻\nＡ second line"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_png(tmp_path / "x.png", Diagram(np.zeros((3, 3), int), title=title))
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_characters_without_a_font_are_said_by_number():
    assert drawable("Jürgen – Ａ 张\n½", ["DejaVu Sans"]) == ("Jürgen – A \\u5f20\n½", ["DejaVu Sans"])
    assert drawable("Jürgen", font_names()) == ("Jürgen", ["DejaVu Sans"])
    east_asian = [name for name in font_names() if name in EAST_ASIAN]
    if east_asian:
        assert drawable("张", font_names()) == ("张", ["DejaVu Sans", east_asian[0]])


def test_colours_keep_their_order_in_grey_and_numbers_can_be_read():
    shares = [i / 100 for i in range(101)]
    grey = [luminance(hex_colour(share)) for share in shares]
    assert grey == sorted(grey, reverse=True)
    assert grey[0] > 5 * grey[-1]
    for share in shares:
        colour = hex_colour(share)
        assert contrast(readable_on(colour), colour) >= 4.5
    assert contrast("#000000", "#ffffff") == pytest.approx(21)  # WCAG 2's own figures
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_a_heat_scales_from_nothing_or_from_its_least():
    grid = np.array([[np.nan, 0.25], [0.5, 0.004]])
    assert Heat(grid, "prior in %", "share").limits == (0, 0.5)
    assert Heat(grid, "Black's win rate in %", "rate").limits == (0.004, 0.5)
    assert {cell.text for cell in Heat(grid, "prior in %", "share").cells().values()} == {"25", "50", "0.4"}
    assert Heat(np.full((2, 2), np.nan), "visits").cells() == {}
    assert Heat(np.array([[12345.0]]), "visits").cells()[0, 0] == Cell("12k", hex_colour(1))


def test_the_largest_numbers_are_written_and_all_are_coloured():
    heat = Heat(np.arange(361.0).reshape(19, 19), "visits")
    cells = heat.cells(MOST_LABELS)
    assert len(cells) == 361 and sum(bool(cell.text) for cell in cells.values()) == MOST_LABELS
    assert cells[18, 18].text == "360" and cells[0, 5].text == ""
    alike = Heat(np.full((19, 19), 0.3), "prior in %", "share").cells(MOST_LABELS, best=(3, 3))
    assert [point for point, cell in alike.items() if cell.text] == [(3, 3)], "no arbitrary ones of equals"


def test_two_sides_are_told_apart_in_colour_in_grey_and_by_sign():
    grid = np.array([[1.0, -1.0, 0.0, 0.5]])
    sides, difference = Heat(grid, "ownership in %", "sides"), Heat(0.2 * grid, "prior: a less b, in %", "difference")
    black, white, nobody, half = (luminance(sides.cells()[0, c].fill) for c in range(4))
    assert black < 0.02 < half < nobody < 0.98 < white, "as stones are"
    assert difference.limits == (-0.2, 0.2) and sides.limits == (-1, 1)
    assert [cell.text for cell in difference.cells().values()] == ["+20", "-20", "0", "+10"]
    more, fewer, same = (difference.cells()[0, c].fill for c in range(3))
    assert contrast(more, same) > 3 and contrast(fewer, same) > 3
    red, blue = (int(more[1:3], 16) - int(fewer[1:3], 16), int(fewer[5:], 16) - int(more[5:], 16))
    assert red > 80 and blue > 80, "apart for who sees no red or no green: purple and orange differ in blue"
    for scale in ("sides", "difference"):
        for share in range(101):
            colour = hex_colour(share / 100, scale)
            assert contrast(readable_on(colour), colour) >= 4.5


@pytest.mark.parametrize("spec", full_but(["tic_tac_toe"], ["go:5,komi=0", "connect_four", "tic_tac_toe"]))
def test_whose_points_are_in_the_end(spec):
    """Of each game, near its end: stones that stay are their owner's, and both sides are about as well off elsewhere."""
    moves = {
        "go:5,komi=0": "C1 D1 C2 D2 C3 D3 C4 D4 C5 D5", "gomoku:7": "D4 E4 A1", "connect_four": "D D C", "tic_tac_toe": "B2 A1",
    }  # fmt: skip
    here = position(spec, moves[spec])
    heat = analyze(here, **FAST).heat("ownership")
    assert not np.isnan(heat.grid).any() and (np.abs(heat.grid) <= 1).all()
    if spec.startswith("go:"):  # a wall: three columns are Black's
        assert heat.grid[:, :3].min() > 0.3 and heat.grid[:, 3:].mean() < -0.3
    else:
        assert (heat.grid[here.stones == 1] == 1).all() and (heat.grid[here.stones == 2] == -1).all()
        assert np.abs(heat.grid[here.stones == 0]).max() < 1
    for text in (board_svg(analyze(here, **FAST).diagram("ownership")),):
        assert text.count("on-stone") == np.count_nonzero(here.stones)
    assert "●" in heat_text(here.stones, here.last, heat, 80).plain


@pytest.mark.full
def test_the_network_knows_whose_points_are():
    """Two walls on 9x9: Black's side, White's side, whoever is to move."""
    game, stones = make_game("go:9"), np.zeros((9, 9), np.int8)
    stones[:, 3], stones[:, 5] = 1, 2
    one, other = ownership([Position(game, game.set_up(stones, turn), 0, None, None, None) for turn in (0, 1)])
    for heat in (one, other):
        assert heat.grid[:, :4].min() > 0.3 and heat.grid[:, 5:].max() < -0.3
    assert np.abs(one.grid - other.grid).mean() < 0.2
    assert ownership([]) == []


@pytest.mark.full
def test_what_one_bot_looks_at_and_another_does_not(five, tmp_path):
    other = analyze(GAME.at(3), "uct", simulations=30)
    heat = five.less(other, names=("柯潔", "b"))
    passes = [next((m.share for m in a.moves if m.move == "pass"), 0.0) for a in (five, other)]
    assert np.nansum(heat.grid) == pytest.approx(passes[1] - passes[0], abs=1e-6)
    assert np.nansum(five.less(five).grid) == 0
    five.save_png(tmp_path / "x.png", heat)
    five.save_png(tmp_path / "x.svg", heat)
    assert "柯潔 less b" in (tmp_path / "x.svg").read_text("utf-8"), "as text, whatever fonts there are here"
    with pytest.raises(UserError, match="different positions"):
        five.less(analyze(GAME.at(2), **FAST))


@pytest.mark.parametrize("size", [3, 9, 13, 19])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_heatmaps_fit_a_terminal(size, width):
    grid = np.linspace(-1, 1, size * size).reshape(size, size)
    for heat in (
        Heat(grid, "ownership in %", "sides"),
        Heat(abs(grid), "prior in %", "share"),
        Heat(abs(grid) * 1e5, "visits"),
    ):
        text = heat_text(np.zeros((size, size), int), None, heat, width).plain
        if width >= 7 + 3 * size:
            assert max(map(len, text.splitlines())) <= max(width, 60)


@settings(max_examples=200)
@given(st.text("ab ,白\n", max_size=60), st.floats(4, 30))
def test_lines_are_folded_without_loss(text, limit):
    lines = folded(text, limit)
    assert all(breadth(line) <= limit for line in lines)
    if all(breadth(word) <= limit for word in text.split()):
        assert "".join(lines).replace(" ", "") == "".join(text.split())
    assert breadth(shortened(text, limit)) <= limit or breadth(text.rstrip()) <= limit


def test_a_bot_whose_keys_change_is_called_by_what_it_is():
    """What compiles and searches is named on the screen: "alphazero:simulations=1600" did not search with 400."""
    assert searching_bot("alphazero:simulations=1600", simulations=400).name == "alphazero:simulations=400"
    assert searching_bot("uct:simulations=9,name=mine", c=1.0).name == "mine"
    assert searching_bot("uct", simulations=9).name == "uct:simulations=9"
    assert searching_bot("uct").name == "uct"
