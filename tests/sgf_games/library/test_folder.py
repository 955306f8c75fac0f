"""A run's folder that a stranger has sent: nothing outside it is touched, and nothing in it is waited for."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from test_library import kept, some_records

from jubango.analysis.tables.tables import games_frame, moves_frame, results_of
from jubango.arena.runs.run_folder import RunFolder, open_run, plan_in
from jubango.arena.runs.work_folder import is_at_play, locked
from jubango.arena.schedule.plan import read_plan
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.database import JOURNAL
from jubango.sgf_games.library.folder import Folder, is_plain
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.library.recovery import problems, rebuild
from jubango.sgf_games.sgf.sgf import write_record

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are Unix's")
SECRET = b"ssh-ed25519 AAAA nobody reads, writes or deletes this\n"


@pytest.fixture
def run(tmp_path) -> Path:
    """A run's folder beside somebody's own file."""
    (tmp_path / "keys").write_bytes(SECRET)
    folder = tmp_path / "run"
    library = Library(folder)
    library.add(some_records(4))
    library.close()
    yield folder
    assert (tmp_path / "keys").read_bytes() == SECRET
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys", "run"]


def change(folder: Path, statement: str, *values: object) -> None:
    db = sqlite3.connect(folder / "results.sqlite")
    with db:
        db.execute(statement, values)
    db.close()


def test_names_that_leave_the_folder(tmp_path):
    for name in ("x", "games/a~b%2F1.sgf", "networks/é.safetensors", "a/b/c", "...", "..x"):
        assert is_plain(name)
    for name in ("", "/x", "..", "../x", "games/../../x", "games/", "games//x", "./x", "c:x", "a\\b", "x\0", 5, None, b"x", "\udc80\ud800"):  # fmt: skip
        assert not is_plain(name)
        with pytest.raises(UserError, match="no name of a file in this folder"):
            Folder(tmp_path).read(name)


def test_what_is_no_file_of_the_folder_is_left_alone(tmp_path):
    (tmp_path / "keys").write_bytes(SECRET)
    (tmp_path / "run" / "folder").mkdir(parents=True)
    own = Folder(tmp_path / "run")
    (own.path / "link").symlink_to("../keys")
    (own.path / "nowhere").symlink_to("../new")
    (own.path / "up").symlink_to("..")
    (own.path / "zero").symlink_to("/dev/zero")
    os.mkfifo(own.path / "pipe")
    for name in ("link", "nowhere", "pipe", "zero", "folder", "up/keys", "link/x"):
        for act in (own.read, own.file, own.has, lambda name: own.append(name, b"x")):
            with pytest.raises(UserError, match=rf"^{own.path}/\w+: is (a link|a folder|no regular file|no folder)"):
                act(name)
    for act in (own.delete, lambda name: own.write(name, b"x"), lambda name: own.rename(name, "y"), own.folder):
        with pytest.raises(UserError, match="up: is a link"):
            act("up/keys")
    with pytest.raises(UserError, match="up: is a link"):
        own.files("up", "s")
    for name in ("link", "nowhere", "pipe"):
        (own.path / f"{name}.part").symlink_to("../keys")
        own.write(name, b"new")
        assert own.read(name) == b"new"
        assert not (own.path / name).is_symlink()
    own.delete("zero")
    assert own.read("zero") is None
    assert own.read("link", 3) == b"new"
    with pytest.raises(UserError, match="3 bytes are too many; at most 2"):
        own.read("link", 2)
    own.append("log", b"a")
    own.append("log", b"b")
    assert own.read_text("log") == "ab"
    assert own.files("folder", ".x") == []
    assert own.files("none", ".x") == []
    assert (tmp_path / "keys").read_bytes() == SECRET
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["../keys", "games/../../keys", "{}/keys", "/dev/zero", "pipe", "", 7, b"\xff"])
def test_a_row_names_no_file_but_its_games_own(run, tmp_path, name):
    """It comes from a folder that was sent: mending, forgetting and checking go by the game's id."""
    os.mkfifo(run / "pipe")
    name = name.format(tmp_path) if isinstance(name, str) else name
    change(run, "update games set sgf = ?, reason = 'crash' where game_id = 'a~b/1'", name)
    for read in (Library, problems, games_frame, moves_frame, lambda run: results_of([run])):
        with pytest.raises(UserError, match=r"results.sqlite: is no results file: .*'a~b/1'.* is damaged.*--rebuild"):
            read(run)
    assert rebuild(run, lambda record: True) == (4, [])
    assert problems(run) == []
    library = Library(run)
    library.forget(["crash"])
    library.close()


def test_files_that_have_other_names_are_renamed_or_written_again(run):
    change(run, "update games set sgf = 'games/x.sgf' where game_id = 'a~b/0'")
    change(run, "update games set sgf = 'games/a~b%2F2.sgf' where game_id = 'a~b/1'")
    (run / "games" / "a~b%2F0.sgf").rename(run / "games" / "x.sgf")
    said = [tuple(problem) for problem in problems(run)]
    assert said[:2] == [(f"a~b/{i}", f"games/{name}.sgf", "is not called as the game is: going on with the run mends that") for i, name in ((0, "x"), (1, "a~b%2F2"))]  # fmt: skip
    Library(run).close()
    assert problems(run) == []
    assert kept(run) == {record.game_id: write_record(record) for record in some_records(4)}


def test_links_and_pipes_among_the_games(run):
    files = sorted((run / "games").iterdir())
    for i, file in enumerate(files[:3]):
        file.unlink()
        os.mkfifo(file) if i == 2 else file.symlink_to("../../keys" if i else "/dev/zero")
    (run / "games" / "new.sgf").symlink_to("../../keys")
    os.mkfifo(run / "games" / "pipe.sgf")
    (run / "games" / "folder.sgf").mkdir()
    assert [problem.problem for problem in problems(run)] == ["is no file, or one that is too large"] * 3 + [
        "has no row"
    ] * 3
    assert rebuild(run, lambda record: True)[1] == [
        ("", f"games/{name}.sgf", "is no game that this program has written") for name in ("folder", "new", "pipe")
    ]
    assert kept(run) == {record.game_id: write_record(record) for record in some_records(4)}
    assert not any(file.is_symlink() for file in files), "mending puts files into their places"


@pytest.mark.parametrize("name", ["games", "results.sqlite", "results.sqlite-wal", "results.sqlite-shm", "results.sqlite-journal"])  # fmt: skip
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_parts_of_a_run_that_lead_elsewhere(run, name, kind):
    if kind == "folder" and name == "games":
        return
    (run / name).exists() and (run / name).rename(run / "away")
    if kind == "link":
        (run / name).symlink_to("../keys")
    elif kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).mkdir()
    readers = [problems, Library, lambda run: rebuild(run, lambda record: True)]
    readers += [games_frame, lambda run: results_of([run])] if name != "games" else []
    for read in readers:
        with pytest.raises(UserError, match=rf"run/{name}: is (a link|a folder|no regular file|no folder)"):
            read(run)


def test_a_file_with_another_name_is_not_changed_in_place(run, tmp_path):
    """It may be anybody's; a copy is a file of its own."""
    (run / "results.sqlite-wal").unlink(missing_ok=True)
    for name, act in (
        ("table.csv", lambda: Folder(run).append("table.csv", b"x")),
        (".lock", lambda: locked(run).__enter__()), (".lock", lambda: is_at_play(run)),
        ("results.sqlite-wal", lambda: Library(run)),
    ):  # fmt: skip
        os.link(tmp_path / "keys", run / name)
        with pytest.raises(UserError, match=rf"run/{name}: has another name .*; put a copy in its place"):
            act()
        (run / name).unlink()
    os.link(run / "results.sqlite", run / "backup")
    assert len(games_frame(run)) == 4, "reading changes nothing"
    with pytest.raises(UserError, match=r"results.sqlite: has another name"):
        Library(run)
    shutil.copy(run / "results.sqlite", run / "copy")
    (run / "copy").replace(run / "results.sqlite")
    Library(run).close()


def test_the_other_files_of_a_run(run):
    plan = 'name = "x"\ngame = "go:5,komi=7.5"\n[[bots]]\nname = "a"\n[[bots]]\nname = "b"\n'
    (run / "tournament.toml").write_text(plan)
    played = plan_in(run)
    for name, act in (
        ("ratings.csv", lambda: RunFolder(run).claimed(played).__enter__()), ("crosstable.csv", lambda: RunFolder(run).claimed(played).__enter__()),
        (".lock", lambda: is_at_play(run)), (".lock", lambda: locked(run).__enter__()),
        ("tournament.toml", lambda: open_run(run)), ("tournament.toml", lambda: RunFolder(run).claimed(played).__enter__()),
    ):  # fmt: skip
        for pipe in (True, False):
            (run / name).unlink(missing_ok=True)
            os.mkfifo(run / name) if pipe else (run / name).symlink_to("../keys")
            with pytest.raises(UserError, match=rf"run/{name}: is (no regular file|a link)"):
                act()
            (run / name).unlink()
    kept_in = RunFolder(run)
    (run / "tournament.toml").symlink_to("../keys")
    kept_in.begin(played)
    assert (run / "tournament.toml").read_text() == plan
    (run / "tournament.toml").unlink()
    (run / "tournament.toml").mkdir()
    with pytest.raises(CannotGoOn, match=r"tournament.toml: cannot be written"):
        kept_in.begin(played)


HOSTILE = {
    "a trigger": "create trigger t after delete on games begin delete from files; end",
    "a view": "create view more as select * from games",
    "an index": "create index i on games (length(moves))",
    "a table": "create table more (x)",
    "a view for the games": "alter table games rename to older; create view games as select * from older",
    "a check": "alter table games rename to older; create table games as select * from older; drop table older;"
    "alter table files add column x text check (x != randomblob(1000000))",
    "a trigger named as SQLite's own": "create trigger t after delete on games begin delete from files; end;"
    "pragma writable_schema=on; update sqlite_master set name = 'sqlite_autoindex_games_7',"
    "sql = replace(sql, 'TRIGGER t', 'TRIGGER sqlite_autoindex_games_7') where name = 't'",
    "an index named as SQLite's own": "create index i on games (length(moves)); pragma writable_schema=on;"
    "update sqlite_master set name = 'sqlite_autoindex_games_7',"
    "sql = replace(sql, 'INDEX i', 'INDEX sqlite_autoindex_games_7') where name = 'i'",
    "a computed column": "alter table games add column x text as (black || white)",
}


def test_what_sqlite_makes_by_itself_is_left_in_peace(run):
    change(run, "analyze")
    assert len(games_frame(run)) == 4


def test_a_small_file_takes_little_memory(tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    tracemalloc.start()
    try:
        assert Folder(tmp_path).read("x", 2**31) == b"x"
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_schema_that_is_not_ours(run, what):
    db = sqlite3.connect(run / "results.sqlite")
    db.executescript(HOSTILE[what])
    db.close()
    for read in (games_frame, moves_frame, problems, Library):
        with pytest.raises(UserError, match=r"holds a \w+ that this program has not made.*--rebuild"):
            read(run)
    assert rebuild(run, lambda record: True) == (4, [])
    assert problems(run) == []


def test_a_journal_that_names_another_file(run, tmp_path):
    """Older versions of SQLite delete the file that a rollback journal left behind calls its super-journal."""
    spill = (
        "import os, sqlite3; db = sqlite3.connect('results.sqlite'); db.execute('pragma cache_size=1');"
        "db.execute('create table t (x)'); db.executemany('insert into t values (?)', [('a' * 900,)] * 99); db.commit();"
        "db.execute('begin'); db.execute(\"update t set x = x || 'b'\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", spill], cwd=run, check=True)
    name = bytes(tmp_path / "keys")
    with open(run / "results.sqlite-journal", "ab") as file:
        place = 0x40000000 // 4096 + 1
        file.write(struct.pack(">I", place) + name + struct.pack(">II", len(name), sum(name)) + JOURNAL)
    for read in (games_frame, problems, Library, lambda run: rebuild(run, lambda record: True)):
        with pytest.raises(UserError, match=r"results.sqlite-journal: names another file"):
            read(run)


def test_values_that_no_game_has(run):
    """Rows are taken for games where every value is of its kind."""
    whole = (run / "results.sqlite").read_bytes()
    for column, value in (
        ("black", b"x"), ("moves", None), ("seed", "x"), ("score", 0.7), ("plies", -1), ("seconds", float("inf")), ("game_id", b"\0"), ("date", b""),
    ):  # fmt: skip
        (run / "results.sqlite").write_bytes(whole)
        statement = f"update games set {column} = ? where game_id = 'a~b/2'"
        if value is None:
            statement = "update games set moves = zeroblob(3) where ? is null and game_id = 'a~b/2'"
        change(run, statement, value)
        with pytest.raises(UserError, match=r"the row of game .* is damaged"):
            games_frame(run)
    (run / "results.sqlite").write_bytes(whole)
    bomb = __import__("zlib").compress(bytes(30_000_000))
    for column, value in (
        ("comments", '{"comments": [], "game_id": "x"}'), ("comments", "[" * 9999), ("comments", "[5]"), ("comments", "9" * 5000), ("thoughts", b"x"), ("thoughts", bomb),
    ):  # fmt: skip
        change(run, f"update files set {column} = ? where game_id = 'a~b/2'", value)
        with pytest.raises(UserError, match=r"^a~b/2: what (is kept beside|was thought of) its moves is (damaged|of)"):
            moves_frame(run)
        change(run, "update files set comments = '', thoughts = x''")


def test_a_folder_of_sgf_files_with_a_pipe_among_them(tmp_path):
    (tmp_path / "a.sgf").write_bytes(write_record(some_records(1)[0]))
    os.mkfifo(tmp_path / "b.sgf")
    left_out: list[UserError] = []
    assert len(results_of([tmp_path], left_out)) == 1
    assert "b.sgf: is no regular file" in str(left_out[0])


def test_a_plan_whose_openings_are_a_pipe(run):
    os.mkfifo(run / "pipe")
    bots = '[[bots]]\nuse = "random"\nname = "a"\n[[bots]]\nuse = "random"\nname = "b"\n'
    for openings in (run / "pipe", "/dev/zero"):
        (run / "tournament.toml").write_text(f'name = "x"\ngame = "go:5,komi=7.5"\nopenings = "{openings}"\n{bots}')
        with pytest.raises(UserError, match=rf"{openings}: is no regular file"):
            read_plan(run / "tournament.toml")
        with pytest.raises(UserError, match="a run's own file lists its openings and names none"):
            open_run(run)


def test_what_a_damaged_database_still_holds_is_taken(run):
    """A game whose file is lost as well, with its seconds and thoughts; a row that was changed is not believed."""
    records = some_records(4)
    (run / "games" / "a~b%2F1.sgf").unlink()
    (run / "games" / "a~b%2F2.sgf").unlink()
    change(run, "update games set result = 'W+3.5' where game_id = 'a~b/2'")
    change(run, "update games set result = 'W+3.5' where game_id = 'a~b/3'")
    change(run, "update games set plies = 'x' where game_id = 'a~b/0'")
    made, unused = rebuild(run, lambda record: True)
    assert made == 3
    assert [tuple(problem) for problem in unused] == [
        ("a~b/2", "results.sqlite.damaged", "holds a row that is damaged, of a game without a file")
    ]
    frame = games_frame(run).set_index("game_id")
    assert frame["seconds"].to_dict() == {"a~b/0": 0.0, "a~b/1": 0.25, "a~b/3": 0.0}
    assert set(frame["result"]) == {"B+3.5"}, "files are believed more than rows that are not as they were"
    assert kept(run)["a~b/1"] == write_record(records[1])
    change(run, "update games set plies = 'x'")
    assert rebuild(run, lambda record: record.game_id != "a~b/0")[0] == 2
    assert {path.name for path in run.glob("*.damaged*")} == {"results.sqlite.damaged", "results.sqlite.damaged-2"}


def test_a_game_with_a_clock_keeps_its_readings(tmp_path):
    moves = some_records(1)[0].moves
    clock = {
        "main_time": 60.0,
        "overtime": "3x30 byo-yomi",
        "time_left": tuple((60.0 - i, 3) for i in range(len(moves))),
    }
    record = replace(some_records(1)[0], **clock)
    library = Library(tmp_path)
    library.add([record])
    library.close()
    (tmp_path / "games" / "a~b%2F0.sgf").unlink()
    Library(tmp_path).close()
    assert kept(tmp_path) == {"a~b/0": write_record(record)}
