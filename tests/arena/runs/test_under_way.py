"""Games under way are kept, and go on after a kill as they would have gone on without it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jubango.arena.games.pool import GamePool
from jubango.arena.runs import under_way
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run_folder import open_run
from jubango.arena.runs.under_way import UNDER_WAY
from jubango.arena.schedule.plan import make_plan
from jubango.bots.config import Bot
from jubango.sgf_games.base.errors import UserError

ROOT = Path(__file__).parents[3]
FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'fake_engine.py'))}"
DICE = [Bot("random", name="a"), Bot("random", name="b")]
OFTEN = "from jubango.arena.runs import under_way; under_way.KEEP_SECONDS = 0.0; under_way.MOST_KEEPING = 0.5"


class Killed(BaseException):
    """Ends a run without a word."""


@pytest.fixture
def often(monkeypatch):
    """Games are kept at every tick."""
    monkeypatch.setattr(under_way, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(under_way, "MOST_KEEPING", 1e9)


def killed_after(ticks: int, plan, folder) -> bool:
    """Play on; was it killed before it was complete?"""
    seen = 0

    def tick(run):
        nonlocal seen
        seen += 1
        if seen > ticks and run.table:
            raise Killed

    try:
        play_plan(plan, folder, tick)
    except Killed:
        return True
    return False


def played(run) -> list[tuple]:
    """All that is the same whenever a game is played: not seconds and dates."""
    columns = run.games.drop(columns=["seconds", "date", "sgf"])
    moves = run.moves[["game_id", "ply", "move", "visits", "simulations", "win_rate", "prior", "opening_move"]]
    return [*columns.itertuples(index=False), *moves.fillna(-9).itertuples(index=False)]


def replays(monkeypatch) -> list[str]:
    """The ids of games that go on, as they do."""
    seen: list[str] = []
    play = GamePool.play
    monkeypatch.setattr(
        GamePool,
        "play",
        lambda table, tasks, more, begun: (seen.extend(begun or ()), play(table, tasks, more, begun))[1],
    )
    return seen


def test_games_go_on_where_they_were(tmp_path, often, monkeypatch):
    keys = {"games": 8, "openings": "random", "opening_plies": 2, "games_at_once": 6}
    plan = make_plan("connect_four", DICE, keys)
    whole = play_plan(plan, tmp_path / "whole")
    assert not (tmp_path / "whole" / UNDER_WAY).exists()
    seen = replays(monkeypatch)
    for ticks in (3, 5, 5):
        assert killed_after(ticks, plan, tmp_path / "run")
        lines = [json.loads(line) for line in (tmp_path / "run" / UNDER_WAY).read_text().splitlines()]
        assert lines
        assert all(len(line["moves"].split()) > 2 for line in lines)
    run = play_plan(plan, tmp_path / "run")
    assert len(set(seen)) >= 6
    assert not any("anew" in note for note in run.notes)
    assert played(run) == played(whole)
    assert not (tmp_path / "run" / UNDER_WAY).exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: "{",
        lambda line: json.dumps({**line, "of": "0" * 24}),
        lambda line: json.dumps({**line, "game_id": "a~nobody~00001"}),
        lambda line: json.dumps({**line, "moves": "A"}),
        lambda line: json.dumps({**line, "moves": "A " * 6 + line["moves"]}),
        lambda line: json.dumps({**line, "moves": " ".join("A" * len(line["moves"].split()))}),
        lambda line: json.dumps({**line, "clocks": [[1.0, 1], [1.0, 1]]}),
        lambda line: json.dumps({**line, "disputed": "so it is"}),
        lambda line: json.dumps({**line, "seconds": float("nan")}),
        lambda line: json.dumps({**line, "trees": [""]}),
        lambda line: "[" * 100_000,
    ],
)
def test_what_is_no_game_of_the_plan_begins_anew(tmp_path, often, damage):
    plan = make_plan("connect_four", DICE, {"games": 4})
    assert killed_after(8, plan, tmp_path)
    first, *others = (tmp_path / UNDER_WAY).read_text().splitlines()
    (tmp_path / UNDER_WAY).write_text("\n".join([damage(json.loads(first)), *others]) + "\n")
    run = play_plan(plan, tmp_path)
    assert played(run) == played(play_plan(plan))
    assert len(run.notes) == 1
    assert "anew" in run.notes[0]


def test_a_file_that_is_none(tmp_path, often):
    plan = make_plan("tic_tac_toe", DICE, {"games": 4})
    assert killed_after(2, plan, tmp_path)
    (tmp_path / UNDER_WAY).write_bytes(b"\xff\xfe\n")
    run = play_plan(plan, tmp_path)
    assert [note for note in run.notes if "is not UTF-8" in note]
    assert played(run) == played(play_plan(plan))
    (tmp_path / UNDER_WAY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link"):
        play_plan(plan, tmp_path)


def test_quick_games_leave_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(under_way, "MOST_KEEPING", 1e9)
    plan = make_plan("tic_tac_toe", DICE, {"games": 20, "games_at_once": 4})
    assert killed_after(8, plan, tmp_path)
    assert not (tmp_path / UNDER_WAY).exists()


def test_games_that_are_played_again_are_not_those_that_were_under_way(tmp_path, often):
    """A line of a game that has ended since then says nothing any more."""
    plan = make_plan("tic_tac_toe", DICE, {"games": 4})
    assert killed_after(2, plan, tmp_path)
    lines = (tmp_path / UNDER_WAY).read_text()
    play_plan(plan, tmp_path)
    (tmp_path / UNDER_WAY).write_text(lines)
    assert not play_plan(plan, tmp_path).notes
    assert not (tmp_path / UNDER_WAY).exists()


# Games of kinds of their own; clocks are what they were.
BOTS = {
    "searches": ("connect_four", [Bot("uct", name="u", simulations=24), Bot("uct", name="v", simulations=12)], {}),
    "itself": (
        "connect_four",
        [Bot("uct", name="u", simulations=16), Bot("uct", name="v", simulations=16, c=0.5)],
        {"games_at_once": 3},
    ),
    "reuse": (
        "connect_four",
        [
            Bot("uct", name="u", simulations=24, reuse=True, ensemble=2),
            Bot("minimax", name="m", depth=2),
            Bot("uct", name="v", simulations=40, reuse=True, leaves=4, transpositions=True),
        ],
        {},
    ),
    "engines": (
        "go:5",
        [
            Bot("gtp", name="steady", command=f"{FAKE} steady", processes=2),
            Bot("uct", name="u", simulations=8),
            DICE[0],
        ],
        {},
    ),
    "dice": (
        "tic_tac_toe",
        [Bot("alphazero", name="z", network="none", simulations=8, noise=0.25, temperature=1.0, reuse=False), DICE[0]],
        {"openings": "random", "opening_plies": 1, "adjudication": {"move_limit": 8}},
    ),
}


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*stand in")
@pytest.mark.parametrize("kind", BOTS)
def test_bots_of_all_kinds_play_the_same_games(tmp_path, often, kind, monkeypatch):
    game, bots, keys = BOTS[kind]
    plan = make_plan(game, bots, {"games": 4, **keys})
    whole = play_plan(plan)
    seen = replays(monkeypatch)
    for ticks in (1, 2, 4):
        killed_after(ticks, plan, tmp_path)
        kept = (tmp_path / UNDER_WAY).read_text() if (tmp_path / UNDER_WAY).exists() else ""  # no file without moves
        assert all(bool(json.loads(line)["trees"]) == (kind == "reuse") for line in kept.splitlines())
    other = make_plan(game, bots, {"games": 4, **keys, "games_at_once": 5})
    run = play_plan(other, tmp_path)
    assert seen, "games went on"
    assert not any("anew" in note for note in run.notes)
    assert played(run) == played(whole)
    if kind == "reuse":  # where there is no room for trees nothing of such games is kept
        monkeypatch.setattr(under_way, "MOST_REMEMBERED", 0)
        assert killed_after(4, plan, tmp_path / "small")
        assert not (tmp_path / "small" / UNDER_WAY).exists()


@pytest.mark.full
def test_clocks_go_on_where_they_stood(tmp_path, often):
    plan = make_plan("connect_four", [Bot("uct", name="u", simulations=50), DICE[0]], {"games": 2, "clock": "500+3x9"})
    assert killed_after(6, plan, tmp_path)
    kept = {line["game_id"]: line for line in map(json.loads, (tmp_path / UNDER_WAY).read_text().splitlines())}
    assert kept
    run = play_plan(plan, tmp_path)
    left = run.moves.set_index(["game_id", "ply"])["clock_left"]
    for game_id, line in kept.items():
        told = [seconds for seconds, _ in line["time_left"]]
        assert [left[game_id, ply + 1] for ply in range(len(told))] == pytest.approx(told, abs=0.01)
        own = left[game_id].to_numpy()
        assert (own[2:] <= own[:-2]).all()


def started(plan: Path, out: Path) -> subprocess.Popen:
    code = f"{OFTEN}\nfrom jubango.arena.commands import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "tournament", str(plan), "--out", str(out)], cwd=ROOT, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Unix's signals")
def test_kill_9_costs_no_game(tmp_path):
    bots = [DICE[0], Bot("uct", name="keeps", simulations=16, reuse=True)]
    plan = make_plan("go:7", bots, {"games": 20, "games_at_once": 4})
    (tmp_path / "t.toml").write_text(plan.text)
    whole, out = play_plan(plan), tmp_path / "run"
    plies = [0]
    while len(plies) < 3:
        process = started(tmp_path / "t.toml", out)
        while process.poll() is None:
            time.sleep(0.02)
            kept = (out / UNDER_WAY).read_text() if (out / UNDER_WAY).exists() else ""
            made = sum(len(json.loads(line)["moves"].split()) for line in kept.splitlines())
            if made > plies[-1] + 8:
                os.kill(process.pid, signal.SIGKILL)
                plies.append(made)
        process.wait()
        if not (out / UNDER_WAY).exists():
            break
    assert len(plies) == 3, "it was killed twice, the second time further on"
    run = play_plan(plan, out)
    assert played(run) == played(whole)
    assert open_run(out).missing == 0
