"""Batched play and tournaments: nothing depends on the batch, nothing is lost, nothing counts twice."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from schedules import round_robin

import jubango as jb
from jubango.analysis.tables.tables import games_frame
from jubango.arena.games.batch import GameBatch
from jubango.arena.games.pool import GamePool
from jubango.arena.runs.play import play_plan
from jubango.arena.schedule.plan import parse_plan, read_plan
from jubango.arena.schedule.toml_tables import expand_table
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.records.thoughts import unpacked
from jubango.sgf_games.rules.catalogue import make_game

ROOT = Path(__file__).parents[3]
FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'fake_engine.py'))}"


def play_all(game: str, specs: list[str], games: int, lanes: int) -> dict:
    bots = [bot_from_spec(spec) for spec in specs]
    table = GamePool(make_game(game), bots, lanes)
    tasks = round_robin([bot.name for bot in bots], games, seed=5)
    return {r.game_id: (r.moves, r.result) for records in table.play(tasks) for r in records}


@pytest.mark.full
@pytest.mark.parametrize("game", ["tic_tac_toe", "go:3,komi=1.5"])
def test_games_do_not_depend_on_the_batch(game):
    specs = ["random", "uct:simulations=8", "uct:simulations=20,c=0.5"]
    alone, seven, many = (play_all(game, specs, 4, lanes) for lanes in (1, 7, 64))
    assert len(alone) == 12
    assert alone == seven == many
    assert len({moves for moves, _ in alone.values()}) > 6, "the games are not all the same"


@pytest.mark.full
@pytest.mark.parametrize("keep", [False, True])
def test_games_do_not_depend_on_their_block(monkeypatch, keep):
    """Games of blocks that run empty join others, unless a bot's trees would be lost by that."""
    specs = ["random", f"uct:simulations=20,reuse={str(keep).lower()}", "uct:simulations=30,c=0.5"]
    together = play_all("connect_four", specs, 4, 12)
    moved = []
    join = GameBatch.join
    monkeypatch.setattr(GameBatch, "join", lambda block, games: (moved.extend(games), join(block, games)))
    monkeypatch.setattr("jubango.arena.games.pool.block_lanes", lambda: 3)
    assert play_all("connect_four", specs, 4, 12) == together
    assert bool(moved) is not keep


@pytest.mark.full
@pytest.mark.parametrize("game", ["connect_four", "go:3,komi=1.5"])
def test_moves_made_on_the_devices_are_those_the_host_would_make(monkeypatch, game):
    """Ties broken at random and by order, numbers that differ with the colour, chance in the first moves, games that end: moves
    and comments are the same whether the host is asked for every one or hears of them afterwards."""
    kinds = {
        "by lot": ["uct:simulations=4", "uct:simulations=24,c=0.4"],
        "in order": ["uct:simulations=4,ties=first", "uct:simulations=24,c=0.4,ties=first,depth=3"],
        "dice": [
            "uct:selection=puct,simulations=8,temperature=1,temperature_moves=5",
            "uct:selection=puct,simulations=20,noise=0.2",
        ],
    }
    answers = []

    def games(specs, unasked):
        with monkeypatch.context() as patch:
            if not unasked:
                patch.setattr(GameBatch, "_whole", lambda block, task: None)
            bots = [bot_from_spec(spec) for spec in specs]
            table = GamePool(make_game(game), bots, 6)
            for player in table.players.values():
                advance = player.advance
                patch.setattr(player, "advance", lambda f=advance: answers.extend(out := f()) or out)
            tasks = round_robin([bot.name for bot in bots], 12, seed=5)
            records = [r for finished in table.play(tasks) for r in finished]
            return {r.game_id: (r.moves, r.result, r.notes, unpacked(r.thoughts).prior.tolist()) for r in records}

    for name, specs in kinds.items():
        answers.clear()
        asked = games(specs, unasked=False)
        assert not any(answer.goes_on for answer in answers)
        answers.clear()
        assert games(specs, unasked=True) == asked, name
        unasked = sum(answer.goes_on for answer in answers)
        assert unasked == 0 if name == "dice" else unasked > len(answers) / 2, name


@pytest.mark.full
def test_the_last_games_go_on_in_a_smaller_block(monkeypatch):
    specs = ["uct:simulations=8", "uct:simulations=20,c=0.7", "random"]
    together = play_all("connect_four", specs, 20, 60)
    joined = []
    join = GameBatch.join
    monkeypatch.setattr(GameBatch, "join", lambda block, games: (joined.append(len(block.lanes)), join(block, games)))
    monkeypatch.setattr("jubango.arena.games.pool.full_lanes", lambda: 8)
    monkeypatch.setattr(GamePool, "_making", property(lambda table: 0.0, lambda table, seconds: None), raising=False)
    assert play_all("connect_four", specs, 20, 60) == together
    assert set(joined) == {8}


def test_the_longest_games_are_dealt_first_towards_the_end():
    bots = [bot_from_spec(spec) for spec in ("uct:simulations=4", "uct:simulations=9", "random")]
    table = GamePool(make_game("tic_tac_toe"), bots, 3)
    tasks = list(round_robin([bot.name for bot in bots], 8, seed=5))
    dealt = list(table._dealt(tasks))
    table.close()
    assert sorted(dealt, key=tasks.index) == tasks
    assert dealt[:12] == tasks[:12]
    lengths = [sum(9 * ("9" in n) + 4 * ("4" in n) for n in (task.black, task.white)) for task in dealt[12:]]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_the_schedule_is_fair_and_stable():
    tasks = list(round_robin(["a", "b", "c"], 4, 1))
    assert len({t.game_id for t in tasks}) == len({t.seed for t in tasks}) == 12
    for name in "abc":
        assert sum(t.black == name for t in tasks) == sum(t.white == name for t in tasks) == 4
    assert set(tasks) < set(round_robin(["b", "a", "d", "c"], 6, 1))
    assert not set(tasks) & set(round_robin(["a", "b", "c"], 4, 2))


@pytest.mark.full
def test_no_compilation_after_the_first_batch_of_a_sweep(caplog):
    """Three values of c are three bots in one program."""
    import jax

    bots = expand_table({"name": "uct", "use": "uct", "simulations": 12, "c": [0.7, 1.0, 1.4]}, "x")
    assert [bot.name for bot in bots] == ["uct/c=0.7", "uct/c=1", "uct/c=1.4"]
    game = make_game("tic_tac_toe")
    tasks = round_robin([bot.name for bot in bots], 8, 1)
    table = GamePool(game, bots, 8)
    assert len({id(mover) for mover in table.players.values()}) == 1
    finished, compiled_after = 0, None
    with jax.log_compiles():
        for records in table.play(tasks):
            finished += len(records)
            if compiled_after is None and finished >= 8:
                compiled_after = len(caplog.records)
    assert finished == 24
    assert [r.getMessage()[:80] for r in caplog.records[compiled_after:] if "ompil" in r.getMessage()] == []


PLAN = """
name = "small"
game = "tic_tac_toe"
games_per_pairing = {games}
seed = 3
games_at_once = 8
[[bots]]
name = "random"
use = "random"
[[bots]]
name = "uct"
use = "uct"
simulations = {simulations}
{more}
"""


def plan_text(games=10, simulations="[5, 15]", more=""):
    return PLAN.format(games=games, simulations=simulations, more=more)


def table_of(folder: Path) -> list[tuple]:
    frame = games_frame(folder)
    return list(frame[["game_id", "black", "white", "result", "moves", "seed"]].itertuples(index=False, name=None))


def test_a_run_is_kept_and_goes_on(tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    play_plan(parse_plan(plan_text(), "x"), whole)
    assert sorted(p.name for p in whole.iterdir() if not p.name.startswith(".")) == [
        "crosstable.csv", "games", "machines.txt", "ratings.csv", "results.sqlite", "tournament.toml",
    ]  # fmt: skip
    expected = table_of(whole)
    assert len(expected) == 30
    assert len(list((whole / "games").glob("*.sgf"))) == 30

    class Enough(Exception):
        pass

    def stop(progress):
        if len(progress.results) >= 7:
            raise Enough

    with pytest.raises(Enough):
        play_plan(parse_plan(plan_text(), "x"), part, stop)
    assert 7 <= len(table_of(part)) < 30
    play_plan(parse_plan(plan_text(), "x"), part)
    assert table_of(part) == expected
    before = games_frame(part)
    play_plan(parse_plan(plan_text(), "x"), part)
    assert games_frame(part).equals(before), "a finished run is left alone"

    more = '[[bots]]\nname = "late"\nuse = "random"'
    play_plan(parse_plan(plan_text(games=12, more=more), "x"), part)
    assert set(expected) < set(table_of(part))
    assert len(table_of(part)) == 6 * 12
    for text, what in (
        (plan_text(games=12, simulations="[5, 16]", more=more), "missing now"), (plan_text(games=8), "12 games per pairing"),
        (plan_text(games=12, more=more).replace("seed = 3", "seed = 4"), "seed = 3"),
        (plan_text(games=12, more=more).replace("tic_tac_toe", "connect_four"), "game = tic_tac_toe"),
        (plan_text(games=12, more='[[bots]]\nname = "late"\nuse = "uct"'), 'bot "late"'),
    ):  # fmt: skip
        with pytest.raises(UserError, match=what):
            play_plan(parse_plan(text, "x"), part)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seed = 3", "seeds = 3"), 'no key "seeds"; did you mean "seed"'), (("= 10", "= -2"), "games_per_pairing = -2"),
        (("= 10", "= 7"), "colour-swapped pairs"), (('"tic_tac_toe"', '"tictactoe"'), 'did you mean "tic_tac_toe"'),
        (("simulations =", "simulatons ="), 'uct has no key "simulatons"; did you mean "simulations"'),
        (("[5, 15]", "-4"), "simulations=-4"), (("[5, 15]", "[]"), "empty list"), (('use = "uct"', 'use = "utc"'), 'mean "uct"'),
        (('name = "uct"', 'name = "random"\nuse2 = 1'), 'no key "use2"'), (("[5, 15]", "[5, 5]"), "two bots"),
        (('name = "small"', ""), '"name" is missing'), (("seed = 3", "seed = "), "not TOML"), (("seed = 3", 'seed = "3"'), "seed"),
    ],
)  # fmt: skip
def test_bad_files_get_one_clear_line(tmp_path, change, message):
    path = tmp_path / "t.toml"
    assert change[0] in plan_text()
    path.write_text(plan_text().replace(*change))
    with pytest.raises(UserError, match=message.replace("[", "\\[")) as caught:
        read_plan(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def engine_plan(mode: str, games: int = 2) -> str:
    return (
        f'name = "e"\ngame = "go:5"\ngames_per_pairing = {games}\n[[bots]]\nname = "random"\nuse = "random"\n'
        f'[[bots]]\nname = "engine"\nuse = "gtp"\ncommand = \'{FAKE} {mode}\'\nmove_seconds = 1.5\nstart_seconds = 10\n'
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("mode", "reason", "letter"),
    [
        ("dies", "crash", "F"), ("hangs", "time", "T"), ("babbles", "time", "T"), ("occupied", "illegal", "F"), ("nonsense", "illegal", "F"),
        ("resigns", "resign", "R"),
    ],
)  # fmt: skip
def test_an_engine_that_fails_loses_and_never_hangs_the_run(tmp_path, mode, reason, letter):
    play_plan(parse_plan(engine_plan(mode), "x"), tmp_path)
    frame = games_frame(tmp_path)
    assert len(frame) == 2
    for game in frame.itertuples():
        winner = "B" if game.white == "engine" else "W"
        assert (game.reason, game.result) == (reason, f"{winner}+{letter}")
        assert "\n" not in game.detail
    if mode == "dies":
        assert "out of luck" in frame["detail"][0]
        assert frame["plies"].min() >= 18


@pytest.mark.full
@pytest.mark.parametrize("mode", ["fine", "flood"])
def test_an_engine_that_only_talks_too_much_plays_on(tmp_path, mode):
    play_plan(parse_plan(engine_plan(mode), "x"), tmp_path)
    assert set(games_frame(tmp_path)["reason"]) <= {"score", "disputed"}


def test_an_engine_that_cannot_start_is_the_users_error(tmp_path):
    text = engine_plan("fine").replace(FAKE, "/no/such/engine")
    with pytest.raises(UserError, match='bot "engine": cannot start'):
        play_plan(parse_plan(text, "x"), tmp_path)
    with pytest.raises(UserError, match="no answer"):
        play_plan(parse_plan(engine_plan("mute").replace("start_seconds = 10", "start_seconds = 0.5"), "x"), tmp_path)
    with pytest.raises(UserError, match="play Go"):
        play_plan(parse_plan(engine_plan("fine").replace("go:5", "connect_four"), "x"), tmp_path / "c4")
    assert not (tmp_path / "tournament.toml").exists(), "nothing was begun"


def run_command(path: Path, out: Path) -> subprocess.Popen:
    command = [
        sys.executable,
        "-c",
        "from jubango.arena.commands import main; main()",
        "tournament",
        str(path),
        "--out",
        str(out),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)


@pytest.mark.full
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(plan_text(games=2000, simulations="[40, 80]"))
    process = run_command(path, tmp_path / "run")
    while not (tmp_path / "run" / "games").exists() or len(list((tmp_path / "run" / "games").iterdir())) < 5:
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert b"random" in out, "the standings so far"
    folder = str(tmp_path / "run").encode()
    assert b"games are finished and kept in " + folder in errors.splitlines()[-1]
    assert errors.endswith(b" tournament " + folder + b"/tournament.toml --out " + folder + b"\n"), "how to go on"
    assert len(table_of(tmp_path / "run")) >= 5


@pytest.mark.full
def test_ctrl_c_does_not_wait_for_an_engine(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(engine_plan("hangs").replace("move_seconds = 1.5", "move_seconds = 3600"))
    process = run_command(path, tmp_path / "run")
    while not (tmp_path / "run" / "tournament.toml").exists():
        time.sleep(0.1)
        assert process.poll() is None
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)  # an hour, if it waited
    assert process.returncode == 130
    assert b"Traceback" not in errors


gnugo = pytest.mark.skipif(
    not shutil.which("gnugo", path=os.environ.get("PATH", "") + ":/usr/games"), reason="gnugo is not installed"
)


@pytest.mark.full
@gnugo
def test_gnugo_plays_and_agrees_with_our_records(tmp_path):
    """GNU Go as opponent, then as referee: it loads every SGF and ends in the same position."""
    from jubango.bots.players.engines.gtp import GtpEngine
    from jubango.sgf_games.sgf.positions import position_at
    from jubango.sgf_games.sgf.sgf import read_games

    text = (
        'name = "g"\ngame = "go:7,komi=5"\ngames_per_pairing = 2\n[[bots]]\nname = "random"\nuse = "random"\n'
        '[[bots]]\nname = "uct"\nuse = "uct"\nsimulations = 20\n'
        '[[bots]]\nname = "gnugo"\nuse = "gtp"\ncommand = "gnugo --mode gtp --level 1 --chinese-rules"\n'
    )
    play_plan(parse_plan(text, "x"), tmp_path)
    frame = games_frame(tmp_path)
    assert len(frame) == 6
    assert set(frame["reason"]) <= {"score", "agreed", "cleanup", "disputed", "resign"}
    engine = GtpEngine("gnugo --mode gtp --chinese-rules")
    for name in frame["sgf"]:
        engine.ask(f"loadsgf {tmp_path / name}", 20)
        (sgf,) = read_games(tmp_path / name)
        last = position_at(sgf)
        board = last.game.stones(last.state)
        for colour, value in (("black", 1), ("white", 2)):
            theirs = set(engine.ask(f"list_stones {colour}", 20).split())
            ours = {last.game.action_text(r * 7 + c) for r in range(7) for c in range(7) if board[r, c] == value}
            assert theirs == ours, name
    engine.kill()


@pytest.mark.full
@gnugo
@pytest.mark.parametrize("spec", ["go:9", "go:5", "go:13"])
def test_gnugo_as_referee_of_random_games(spec):
    """Random legal games, captures and kos included: GNU Go accepts every move and refuses our illegal ones."""
    import numpy as np

    from jubango.bots.players.engines.engine import EngineFailure
    from jubango.bots.players.engines.gtp import GtpEngine
    from jubango.sgf_games.rules.compiled import initial_state, rules

    game = make_game(spec)
    compiled, rng = rules(game), np.random.default_rng(11)
    engine = GtpEngine("gnugo --mode gtp --chinese-rules --forbid-suicide --simple-ko")
    engine.ask(f"boardsize {game.width}", 20)
    engine.ask("clear_board", 20)
    state, refused = initial_state(game), 0
    for ply in range(3 * game.width * game.height):
        legal = np.asarray(compiled.view(state).legal)
        if not legal[:-1].any():
            break
        colour = "bw"[ply % 2]
        board = game.stones(state)
        wrong = [a for a in np.flatnonzero(~legal) if board[divmod(int(a), game.width)] == 0]
        for action in wrong[:2]:
            assert engine.ask(f"is_legal {colour} {game.action_text(int(action))}", 20) == "0", f"{spec} ply {ply}"
            refused += 1
        action = int(rng.choice(np.flatnonzero(legal[:-1])))
        try:
            engine.ask(f"play {colour} {game.action_text(action)}", 20)
        except EngineFailure as failure:
            pytest.fail(f"{spec} ply {ply}: {failure}")
        state = compiled.step(state, action)
    engine.kill()
    assert refused > 5


def test_a_full_board_is_no_line():
    """What ended a game says whether anybody made a row."""
    run = jb.tournament("mnk:2x2,k=3", ["random:name=a", "random:name=b"], 2)
    assert set(run.games["reason"]) == {"full"}
    won = jb.tournament("mnk:2x2,k=2", ["random:name=a", "random:name=b"], 2)
    assert set(won.games["reason"]) == {"line"}
