"""Parts of a tournament, and what becomes of them when they are put together."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.runs import merging, under_way
from jubango.arena.runs.merging import merge_runs
from jubango.arena.runs.play import play_plan
from jubango.arena.schedule.pairings import pairing
from jubango.arena.schedule.parts import Part
from jubango.arena.schedule.plan import make_plan
from jubango.bots.config import Bot
from jubango.sgf_games.base.errors import UserError

ROOT = Path(__file__).parents[3]
DICE = [Bot("random", name=name) for name in "abc"]
KEYS = {"games": 6, "seed": 3}


def played(run) -> list[tuple]:
    """All that is the same whenever and wherever a game is played."""
    moves = run.moves.drop(columns=["seconds"]).fillna(-9)
    return [*run.games.drop(columns=["seconds", "date"]).itertuples(index=False), *moves.itertuples(index=False)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A run, ``whole``, and its parts 1, 2, 3."""
    folder = tmp_path_factory.mktemp("parts")
    play_plan(make_plan("tic_tac_toe", DICE, KEYS), folder / "whole")
    for number in (1, 2, 3):
        play_plan(make_plan("tic_tac_toe", DICE, {**KEYS, "part": f"{number}/3"}), folder / str(number))
    return folder


@pytest.fixture
def copies(folders, tmp_path):
    """The same, to be changed."""
    shutil.copytree(folders, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rows_of(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "results.sqlite") as db:
        return list(db.iterdump())


def names_of(folder: Path, *names: object) -> list[Path]:
    return [folder / str(name) for name in names]


def test_shares_do_not_hang_by_the_order_of_the_bots():
    keys = {"games": 4, "part": "1/3"}
    plans = [make_plan("tic_tac_toe", bots, keys) for bots in (DICE, DICE[::-1])]
    ids = [{task.game_id for task in plan.tasks()} for plan in plans]
    assert ids[0] == ids[1]
    assert [plan.total for plan in plans] == [len(ids[0])] * 2


@pytest.mark.parametrize(
    ("bots", "games", "parts"), [(2, 8, 4), (5, 2, 4), (5, 6, 7), (9, 10, 8), (4, 12, 5), (3, 2, 1)]
)
@pytest.mark.parametrize("form", ["round-robin", "gauntlet"])
def test_shares_are_whole_pairs_and_of_one_size(bots, games, parts, form):
    plan = [Bot("random", name=f"b{i}") for i in range(bots)]
    keys = {"games": games, "format": form}
    whole = make_plan("tic_tac_toe", plan, keys)
    dealt = [make_plan("tic_tac_toe", plan, {**keys, "part": f"{i + 1}/{parts}"}) for i in range(parts)]
    shares = [list(part.tasks()) for part in dealt]
    assert sorted(task.game_id for share in shares for task in share) == sorted(task.game_id for task in whole.tasks())
    assert [part.total for part in dealt] == [len(share) for share in shares]
    counts = [Counter(pairing(task.black, task.white) for task in share) for share in shares]
    assert [part.wanted({}) for part in dealt] == [{pair: count[pair] for pair in whole.wanted({})} for count in counts]
    for pair in [*whole.wanted({}), None]:
        own = [count[pair] if pair else count.total() for count in counts]
        assert max(own) - min(own) <= 2
        assert not any(number % 2 for number in own), "both colours of a pair are in one part"


def test_a_part_is_a_run_of_its_own(folders, capsys):
    run = jb.open_run(folders / "2")
    assert (run.total, run.missing, len(run.results)) == (6, 0, 6)
    assert str(run).startswith("tournament, part 2/3, tic_tac_toe: 6 games")
    assert run.plan.whole == make_plan("tic_tac_toe", DICE, KEYS)
    for words in ("status", "check", "report", "rate"):
        assert (
            command([words, str(folders / "2"), *["--out", str(folders / "page.html")][: 2 * (words == "report")]]) == 0
        )
    assert command(["compare", str(folders / "1"), str(folders / "2")]) == 0
    assert "part 2/3" in (folders / "page.html").read_text()
    out, _ = capsys.readouterr()
    assert "tournament, part 2/3, tic_tac_toe: 6 of 6 games; it is complete" in out


def test_parts_put_together_are_the_run(folders, tmp_path):
    whole = jb.open_run(folders / "whole")
    for number, order in enumerate(itertools.permutations((1, 2, 3))):
        run = jb.merge(names_of(folders, *order), tmp_path / str(number))
        assert played(run) == played(whole)
        for name in ("ratings.csv", "crosstable.csv", "machines.txt"):
            assert (run.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    assert (run.plan.part, run.missing) == (None, 0)
    assert command(["check", str(run.folder)]) == 0
    assert len(run.rating_list.ratings) == 3


def test_a_part_that_is_merged_again_changes_nothing(folders, tmp_path):
    out = tmp_path / "x"
    first = merge_runs(names_of(folders, 1), out)
    rows = rows_of(out)
    times = {path: path.stat().st_mtime_ns for path in out.glob("games/*")}
    again = merge_runs(names_of(folders, 1, 1), out)
    assert (first.added, again.added) == (6, 0)
    assert rows_of(out) == rows
    assert {path: path.stat().st_mtime_ns for path in out.glob("games/*")} == times
    assert merge_runs(names_of(folders, 1, 2), out).added == 6
    assert merge_runs(names_of(folders, "whole"), out).added == 6, "a run is as good as its parts"
    assert played(jb.open_run(out)) == played(jb.open_run(folders / "whole"))


def test_missing_games_are_played_where_the_others_are(folders, tmp_path, capsys):
    out = tmp_path / "x"
    assert command(["merge", *map(str, names_of(folders, 1, 3)), "--out", str(out)]) == 0
    _, err = capsys.readouterr()
    assert "12 games were added: 12 of 18 are in" in err
    assert f"tournament {out}/tournament.toml --out {out}" in err
    assert command(["tournament", str(out / "tournament.toml"), "--out", str(out)]) == 0
    assert played(jb.open_run(out)) == played(jb.open_run(folders / "whole"))


def changed(folder: Path, game_id: str, sql: str) -> None:
    """Another machine has played it otherwise."""
    with sqlite3.connect(folder / "results.sqlite") as db:
        assert db.execute(f"update games set {sql} where game_id = ?", (game_id,)).rowcount == 1


def test_a_game_that_ended_otherwise_elsewhere_is_named_and_not_stored(copies, capsys):
    out, own = copies / "x", "a~b~00001"
    (copies / "1").rename(copies / "one")
    shutil.copytree(copies / "one", copies / "other")
    assert own in set(jb.open_run(copies / "one").games.game_id)
    changed(copies / "other", own, "result = 'Draw', score = 0.5")
    parts = names_of(copies, "one", 2, "other", "whole")
    assert command(["merge", *map(str, parts), "--out", str(out)]) == 1
    _, err = capsys.readouterr()
    where = f"{copies / 'one'} and otherwise in {copies / 'other'}"
    assert f"{own}: ended so in {where}; not merged" in " ".join(err.split())
    assert len(jb.open_run(out).games) == 17
    assert own not in set(jb.open_run(out).games.game_id)
    with pytest.warns(UserWarning, match=f"{own}: ended so in"):
        assert len(jb.merge(parts, out).games) == 17
    jb.merge([copies / "other"], out)  # the user has decided
    with pytest.warns(UserWarning, match="the first stays"):
        run = jb.merge([copies / "one"], out)
    assert run.games.set_index("game_id").result[own] == "Draw"
    changed(copies / "2", "a~b~00003", "moves = 'A1 ' || moves, plies = plies + 1")
    assert [game.game_id for game in merge_runs([copies / "2"], out).differing] == ["a~b~00003"]


OTHERS = {
    "seed": ({"seed": 4}, DICE, "seed = 4, not 3"),
    "bots": ({}, [*DICE[:2], Bot("uct", name="c", simulations=2)], 'bot "c" = uct:simulations=2, not random'),
    "a bot": ({}, [*DICE, Bot("random", name="d")], 'a bot "d" that is missing now'),
    "games": ({"games": 8}, DICE, "8 games per pairing, not 6"),
    "format": ({"format": "gauntlet"}, DICE, "format = gauntlet, not round-robin"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_parts_of_another_plan_are_refused(folders, tmp_path, what):
    keys, bots, said = OTHERS[what]
    other, out = tmp_path / "other", tmp_path / "x"
    plan = make_plan("tic_tac_toe", bots, {**KEYS, **keys})
    other.mkdir()
    (other / "tournament.toml").write_text(plan.text)
    with pytest.raises(UserError, match="is of another plan than") as refused:
        merge_runs([folders / "1", other], out)
    assert said in str(refused.value)
    assert not (out / "tournament.toml").exists()


def test_other_weights_are_another_plan(folders, tmp_path):
    text = make_plan("tic_tac_toe", ["alphazero:network=w.safetensors", "random"], KEYS).text
    for name, digest in (("a", "0" * 64), ("b", "1" * 64)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tournament.toml").write_text(f'{text}\n[networks]\n"w.safetensors" = "{digest}"\n')
    with pytest.raises(UserError, match="was begun with other weights of bot"):
        merge_runs(names_of(tmp_path, "a", "b"), tmp_path / "x")
    run = merge_runs(names_of(tmp_path, "a"), tmp_path / "x").run
    assert run.plan.networks == {"w.safetensors": "0" * 64}, "though nobody has the file here"
    assert jb.open_run(tmp_path / "x").plan.networks == run.plan.networks


def test_folders_that_are_none(copies, tmp_path):
    for parts, out, said in (
        ([], "x", "name the folders"),
        ([1, "nowhere"], "x", "nowhere: holds no tournament.toml"),
        ([1, 2], "2", "is what is merged and where to"),
        ([1], "3", "is part 3/3 of a run"),
    ):
        with pytest.raises(UserError, match=said):
            merge_runs(names_of(copies, *parts), tmp_path / out)
    changed(copies / "2", "a~b~00003", "seed = 7")
    with pytest.raises(UserError, match="game a~b~00003 is none of the plan's"):
        merge_runs(names_of(copies, 1, 2), tmp_path / "x")
    changed(copies / "3", "a~b~00005", "game_id = 'a~b~99999'")
    with pytest.raises(UserError, match="game a~b~99999 is none of the plan's"):
        merge_runs(names_of(copies, 1, 3), tmp_path / "x")
    with sqlite3.connect(copies / "1" / "results.sqlite") as db:
        db.execute("create trigger t after insert on games begin delete from games; end")
    with pytest.raises(UserError, match="a trigger that this program has not made"):
        merge_runs(names_of(copies, 1), tmp_path / "y")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"part": "0/3"}, 'part "0/3": write 1/3'),
        ({"part": "4/3"}, 'part "4/3": write 1/3'),
        ({"part": "half"}, 'part "half": write 1/3'),
        ({"part": "1/10"}, "part 1/10: there are 9 pairs of games, and as many parts at most"),
        (
            {"part": "1/2", "format": "swiss"},
            'format = "swiss": later games depend on the results of all before; in parts',
        ),
        ({"part": "1/2", "format": "knockout"}, "one can play format = round-robin and gauntlet"),
        ({"part": "1/2", "sprt": "0,20"}, "sprt: a test looks at the games in turn; in parts"),
    ],
)
def test_what_cannot_be_played_in_parts(keys, said):
    with pytest.raises(UserError) as refused:
        make_plan("tic_tac_toe", DICE[:2] if "sprt" in keys else DICE, {**KEYS, **keys})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_best_of_many_cannot_be_played_in_parts_nor_merged(tmp_path):
    with pytest.raises(UserError, match='format = "best": later games'):
        make_plan("tic_tac_toe", DICE, {"part": "1/2", "format": "best"})
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "tournament.toml").write_text(make_plan("tic_tac_toe", DICE, {"format": "swiss"}).text)
    with pytest.raises(UserError, match='a: cannot be merged: format = "swiss"'):
        merge_runs(names_of(tmp_path, "a", "b"), tmp_path / "x")


def test_a_part_neither_grows_nor_becomes_another(copies):
    for keys, bots, said in (
        ({"part": "2/3"}, DICE, "part = 1/3, not 2/3"),
        ({"part": "1/3", "games": 8}, DICE, "3 bots, 6 games per pairing, which its share depends on"),
        ({"part": "1/3"}, [*DICE, Bot("random", name="d")], "which its share depends on"),
        ({}, DICE, "part = 1/3, not none"),
    ):
        with pytest.raises(UserError, match=said):
            play_plan(make_plan("tic_tac_toe", bots, {**KEYS, **keys}), copies / "1")
    assert Part.parse("1/3").spec == "1/3"


def test_a_merge_that_is_stopped_is_done_again(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "MERGED_AT_ONCE", 2)

    def stop(games: int) -> None:
        raise KeyboardInterrupt

    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            merge_runs(names_of(folders, 1, 2, 3), tmp_path / "x", stop)
    assert len(jb.open_run(tmp_path / "x").games) == 8
    assert merge_runs(names_of(folders, 1, 2, 3), tmp_path / "x").added == 10
    assert played(jb.open_run(tmp_path / "x")) == played(jb.open_run(folders / "whole"))


def test_games_under_way_in_a_part_go_on_where_it_is_merged_to(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(under_way, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(under_way, "MOST_KEEPING", 1e9)

    class Gone(BaseException):
        pass

    def tick(run):
        if run.table and any(lane and len(lane.moves) > 3 for lane in run.table.lanes):
            raise Gone

    with pytest.raises(Gone):
        play_plan(make_plan("tic_tac_toe", DICE, {**KEYS, "part": "1/3"}), tmp_path / "1", tick)
    run = merge_runs([tmp_path / "1", *names_of(folders, 2, 3)], tmp_path / "x").run
    assert not run.notes
    begun = (tmp_path / "x" / under_way.UNDER_WAY).read_text()
    assert begun == (tmp_path / "1" / under_way.UNDER_WAY).read_text()
    run = play_plan(run.plan, tmp_path / "x")
    assert not any("anew" in note for note in run.notes)
    assert played(run) == played(jb.open_run(folders / "whole"))
    assert not (tmp_path / "x" / under_way.UNDER_WAY).exists()


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Unix's signals")
def test_kill_9_in_a_merge_loses_and_doubles_nothing(tmp_path):
    keys = {"games": 100, "seed": 3, "games_at_once": 512}
    whole = play_plan(make_plan("tic_tac_toe", DICE, keys), tmp_path / "whole")
    parts = [tmp_path / str(number) for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        play_plan(make_plan("tic_tac_toe", DICE, {**keys, "part": f"{number}/2"}), part)
    out, counts = tmp_path / "x", [0]
    code = (
        "import time; from jubango.arena.runs import merging; merging.MERGED_AT_ONCE = 5\n"
        "from jubango.arena.runs.run_folder import RunFolder; add = RunFolder.add\n"
        "RunFolder.add = lambda *a: (time.sleep(0.05), add(*a))[1]\n"
        "from jubango.arena.commands import main; main()"
    )
    while len(counts) < 4:
        words = [sys.executable, "-c", code, "merge", *map(str, parts), "--out", str(out)]
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("games/*.sgf"))) <= counts[-1]:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        counts.append(len(jb.open_run(out).games))
    assert counts == sorted(counts)
    assert counts[-1] < 300, "it was stopped each time"
    run = jb.merge(parts, out)
    assert played(run) == played(whole)
    assert (out / "ratings.csv").read_text() == (tmp_path / "whole" / "ratings.csv").read_text()
    assert command(["check", str(out)]) == 0


@pytest.mark.full
def test_parts_of_searches_and_openings_are_the_run_too(tmp_path):
    bots = [DICE[0], Bot("uct", name="u", simulations=16), Bot("uct", name="v", simulations=8)]
    keys = {"games": 4, "openings": "random", "games_at_once": 16}
    whole = jb.tournament("connect_four", bots, out=tmp_path / "whole", progress=False, **keys)
    for number in (1, 2):
        jb.tournament("connect_four", bots, out=tmp_path / str(number), progress=False, part=f"{number}/2", **keys)
    assert played(jb.merge(names_of(tmp_path, 2, 1), tmp_path / "x")) == played(whole)
