"""Tournaments and matches from Python: the same games as the command's, kept or not, by frames and for notebooks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from jubango.analysis.tables.tables import games_frame
from jubango.analysis.tables.verdicts import summary_frame
from jubango.arena.commands import run as command
from jubango.arena.runs.play import Interrupted, play_plan
from jubango.arena.runs.run_folder import open_run
from jubango.arena.schedule.plan import make_plan, parse_plan
from jubango.arena.tournament import match, tournament
from jubango.bots.config import Bot, SearchConfig, bot_from_spec
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import CATALOGUE, make_game, register_game
from jubango.sgf_games.rules.lines.mnk import Mnk

ROOT = Path(__file__).parents[3]
BOTS = ["random", Bot("uct", name="<b>strong</b>", simulations=12), "uct:simulations=4,c=0.5"]
PLAN = """
name = "tournament"
game = "tic_tac_toe"
games_per_pairing = 4
seed = 7
[[bots]]
name = "random"
use = "random"
[[bots]]
name = "<b>strong</b>"
use = "uct"
simulations = 12
[[bots]]
name = "uct:simulations=4,c=0.5"
use = "uct"
simulations = 4
c = 0.5
"""
PLAYED = [
    "game_id",
    "black",
    "white",
    "black_spec",
    "white_spec",
    "seed",
    "result",
    "score",
    "reason",
    "plies",
    "moves",
]


@pytest.mark.full
def test_the_door_plays_the_games_of_the_command(tmp_path, capsys):
    """In memory, in a folder, from a file and by the command: the same rows, ratings and tables."""
    (tmp_path / "t.toml").write_text(PLAN)
    assert command(["tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "c"), "--format", "csv"]) == 0
    printed = capsys.readouterr().out
    expected = games_frame(tmp_path / "c")
    assert len(expected) == 12
    loose = tournament("tic_tac_toe", BOTS, games=4, seed=7)
    kept = tournament(make_game("tic_tac_toe"), BOTS, games=4, seed=7, out=tmp_path / "d")
    file = tournament(tmp_path / "t.toml", progress=False)
    for run in (loose, kept, file, open_run(tmp_path / "c"), open_run(str(tmp_path / "d"))):
        assert list(run.games.columns) == list(expected.columns)
        assert dict(run.games.dtypes) == dict(expected.dtypes)
        assert run.games[PLAYED].equals(expected[PLAYED])
        assert summary_frame(run.rating_list, run.results).to_csv(index=False) == printed
        assert printed.startswith(",".join(run.ratings.columns))
        assert run.missing == 0
    for name in ("ratings.csv", "crosstable.csv"):
        assert (tmp_path / "c" / name).read_text() == (tmp_path / "d" / name).read_text()
    assert (loose.folder, kept.folder) == (None, tmp_path / "d")
    assert list(loose.ratings.columns) == [
        "rank", "name", "elo", "error", "pair_error", "games", "wins", "draws", "losses", "score", "group",
        "time", "forfeit", "resignation", "distinct_games",
    ]  # fmt: skip
    assert list(loose.crosstable.columns) == list(loose.crosstable.index) == list(loose.ratings["name"])
    assert capsys.readouterr() == ("", ""), "off a terminal nothing is shown"


@pytest.mark.full
def test_a_file_with_other_keys(tmp_path):
    (tmp_path / "t.toml").write_text(PLAN)
    run = tournament(str(tmp_path / "t.toml"), games=2, seed=8, name="other", games_at_once=5, out=tmp_path / "run")
    assert (len(run.games), run.plan.seed, set(run.games["event"])) == (6, 8, {"other"})
    assert open_run(tmp_path / "run").plan == run.plan, "what is kept says what was played"


def test_a_plan_said_in_python_is_its_file():
    """What is written into a run's folder reads back as the same plan, whatever the bots are called."""
    bots = [
        Bot("alphazero", simulations=50, reuse=False, temperature=0, c=1 / 3), Bot("gtp", command='~/bin/"engine" --x'),
        Bot("minimax", name='a "quoted" [name] \\ é', depth=3), *(Bot("uct", c=c) for c in np.linspace(0.5, 1, 3)),
        Bot("uct", simulations=np.int64(30), seconds=0.5),
    ]  # fmt: skip
    plan = make_plan("go:9,komi=7", bots, {"games": 2, "clock": "60+1"})
    again = parse_plan(plan.text, "x")
    assert again.bots == plan.bots == tuple(bots)
    assert (again.game, again.name, again.clock, again.seed) == (plan.game, plan.name, plan.clock, plan.seed)
    assert plan.total == len(list(plan.tasks())) == 42


def test_a_bot_is_checked_as_in_a_file():
    bot = Bot("uct", simulations=800, c=1.0)
    assert isinstance(bot, SearchConfig)
    assert (bot.name, bot.spec, bot.c) == ("uct:simulations=800,c=1", "uct:simulations=800,c=1", 1.0)
    assert Bot("uct", name="u", seconds=2) == bot_from_spec("uct:seconds=2", "u")
    for keys, message in (
        ({"simulatons": 4}, 'bot "uct": uct has no key "simulatons"; did you mean "simulations"'),
        ({"simulations": -4}, 'bot "uct": simulations=-4: should be greater than or equal to 0'),
        ({"c": float("inf")}, "c=inf: should be a finite number"), ({"selection": "best"}, "selection=best: should be"),
        ({"c": [0.7, 1.4]}, "c is a list; make one Bot for each"), ({"c": np.ones(2)}, "c is a list"),
        ({"move": "gumbel"}, 'bot "uct": move=gumbel needs selection=gumbel'), ({"c": None}, "c=None: should be a valid number"),
        ({"name": "a~b"}, "may not hold ~"), ({"use": "utc"}, 'no bot is called "utc"; did you mean "uct"'),
        ({"use": ["uct"]}, "no bot is called"), ({"use": "gtp"}, 'the key "command" is missing'),
    ):  # fmt: skip
        with pytest.raises(UserError) as caught:
            Bot(**{"use": "uct", **keys})
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "keys", "message"),
    [
        (["tic_tac_toe", BOTS], {"games": 7}, "tournament: games = 7: should be an even number; games come in colour-swapped"),
        (["tic_tac_toe", BOTS], {"seed": -1}, "tournament: seed = -1"), (["tic_tac_toe", BOTS], {"games": "8"}, "games = '8': should be a valid integer"), (["tic_tac_toe", BOTS], {"games_at_once": 0}, "games_at_once = 0"),
        (["tic_tac_toe", ["uct"]], {}, "two or more"), (["tic_tac_toe", ["uct", "uct"]], {}, "two bots are called"),
        (["tic_tac_toe", "uct"], {}, "must be a list"), (["tic_tac_toe", ["uct", 3]], {}, "objects of jb.Player, not 3"),
        (["tictactoe", BOTS], {}, 'did you mean "tic_tac_toe"'), (["tic_tac_toe"], {}, "is no file"), (["no.toml"], {}, "cannot be read"),
        (["tic_tac_toe", ["random", "uct:sims=4"]], {}, 'no key "sims"'), (["tic_tac_toe", BOTS], {"clock": "fast"}, 'clock "fast"'),
        (["tic_tac_toe", BOTS], {"name": "a/b"}, "nor hold /"), ([make_game("tic_tac_toe")], {}, "needs bots"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(arguments, keys, message):
    with pytest.raises(UserError) as caught:
        tournament(*arguments, **keys)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.full
def test_a_match_has_a_verdict(tmp_path):
    run = match("uct:simulations=12", "random", game="tic_tac_toe", games=12, out=tmp_path / "m")
    verdict = run.verdict
    assert (verdict.stronger, verdict.weaker) == ("uct:simulations=12", "random")
    found = run.rating_list.difference(verdict.stronger, "random")
    assert (verdict.elo, verdict.error, verdict.probability) == found
    assert verdict.games == verdict.wins + verdict.draws + verdict.losses == 12
    assert verdict.elo == pytest.approx(run.ratings["elo"][0] - run.ratings["elo"][1])
    assert 0.9 < verdict.probability <= 1
    assert str(verdict) in str(run)
    assert f"stronger with a probability of {100 * verdict.probability:.1f} %" in str(verdict)
    assert open_run(tmp_path / "m").verdict == verdict
    assert set(match("random", "random", game="tic_tac_toe", games=12).ratings["name"]) == {"random", "random (2)"}
    three = tournament("tic_tac_toe", BOTS, games=4)
    with pytest.raises(UserError, match="a verdict is on two bots"):
        _ = three.verdict
    with pytest.raises(UserError, match='did you mean "random"'):
        three.compare("randon", "<b>strong</b>")
    assert three.compare("random", "<b>strong</b>") == three.compare("<b>strong</b>", "random")


@pytest.mark.full
def test_a_run_shows_itself():
    run = tournament("tic_tac_toe", BOTS, games=4)
    text, html = str(run), run._repr_html_()
    assert text.startswith("tournament, tic_tac_toe: 12 games\n")
    assert repr(run) == text
    for part in ("Elo", "W-D-L", "row against column"):
        assert part in text
        assert part in html
    assert "<b>strong</b>" in text
    assert "<b>strong</b>" not in html
    assert "&lt;b&gt;strong&lt;/b&gt;" in html
    assert html.count("<table") == html.count("</table>") == 2


@pytest.mark.full
def test_what_is_finished_is_kept_when_interrupted(tmp_path):
    def stop(run):
        if len(run.results) >= 4:
            raise KeyboardInterrupt

    plan = make_plan("tic_tac_toe", BOTS, {"games": 10, "games_at_once": 12})
    whole = play_plan(plan)
    for folder in (None, tmp_path / "run"):
        with pytest.raises(Interrupted, match=f"of {plan.total} games are finished") as caught:
            play_plan(plan, folder, stop)
        run = caught.value.run
        assert 4 <= len(run.games) == len(run.results) == plan.total - run.missing < plan.total
        assert set(run.games["moves"]) <= set(whole.games["moves"])
        assert "are missing" in str(run)
    assert isinstance(caught.value, KeyboardInterrupt)
    begun = open_run(tmp_path / "run")
    assert begun.missing == run.missing
    assert (tmp_path / "run" / "ratings.csv").exists()
    assert play_plan(plan, tmp_path / "run").games[PLAYED].equals(whole.games[PLAYED])


def test_folders_that_hold_no_run(tmp_path):
    with pytest.raises(UserError, match=r"holds no tournament.toml"):
        open_run(tmp_path)
    (tmp_path / "tournament.toml").write_text(PLAN)
    with pytest.raises(UserError, match=r"holds no results.sqlite"):
        open_run(tmp_path)
    tournament("tic_tac_toe", BOTS, games=4, out=tmp_path / "run")
    with pytest.raises(UserError, match="was begun with seed = 1"):
        tournament("tic_tac_toe", BOTS, games=2, seed=2, out=tmp_path / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        tournament("tic_tac_toe", BOTS, games=2, out=tmp_path / "file")


@dataclass(frozen=True)
class Wide(Mnk):
    """A user's own game."""

    width: int = 4
    height: int = 3
    k: int = 3

    name: ClassVar[str] = "wide"

    @property
    def spec(self):
        return "wide"


def test_the_users_own_game(tmp_path):
    bots = ["random", Bot("random", name="also random")]
    run = tournament(Wide(), bots, games=2)
    assert set(run.games["game"]) == {"wide"}
    with pytest.raises(UserError, match="use register_game"):
        tournament(Wide(), bots, games=2, out=tmp_path / "run")
    register_game("wide", Wide)
    try:
        kept = tournament("wide", bots, games=2, out=tmp_path / "run")
        assert kept.games[PLAYED].equals(run.games[PLAYED])
        assert open_run(tmp_path / "run").plan.game == Wide()
    finally:
        del CATALOGUE["wide"]


@pytest.mark.full
def test_what_stands_in_is_said():
    with pytest.warns(UserWarning, match='"net" has no network=FILE'):
        match(Bot("uct", name="net", evaluator="network", simulations=12), "random", game="mnk:4,k=4", games=12)


@pytest.mark.full
def test_two_pythons_do_not_play_into_one_folder(tmp_path):
    """The second is refused while the first lives, however that ends, and nothing of its games is lost."""
    out = tmp_path / "run"
    code = (
        "from jubango.arena.tournament import tournament\n"
        f"tournament('tic_tac_toe', ['random', 'uct:simulations=12'], games=20_000, games_at_once=12, out={str(out)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        while not (out / "games").exists() or len(list((out / "games").iterdir())) < 3:
            time.sleep(0.05)
            assert process.poll() is None
        with pytest.raises(UserError, match="another process is playing into this folder"):
            tournament("tic_tac_toe", ["random", "uct:simulations=12"], games=20_000, out=out)
        assert 0 < len(open_run(out).results) < 20_000, "but it can be read"
        (tmp_path / "t.toml").write_text((out / "tournament.toml").read_text())
        assert command(["tournament", str(tmp_path / "t.toml"), "--out", str(out)]) == 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = open_run(out)

        def once(run):
            raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            play_plan(before.plan, out, once)
        assert set(caught.value.run.games["game_id"]) >= set(before.games["game_id"])
    finally:
        process.kill()
        process.wait()
