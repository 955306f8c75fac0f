"""Runs as their users meet them: ended by signals, gone on with, with weights that changed, on disks that are full."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from jubango.analysis.tables.tables import games_frame
from jubango.arena.commands import run as command
from jubango.arena.runs.machines import machines, this_machine, with_machines
from jubango.arena.runs.run_folder import RunFolder
from jubango.arena.schedule.plan import make_plan, parse_plan, read_plan
from jubango.arena.tournament import tournament
from jubango.bots.config import Bot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
DICE = [Bot("random", name="a"), Bot("random", name="b")]
FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'fake_engine.py'))}"


def started(*arguments: str, before: str = "") -> subprocess.Popen:
    """The real command, as a process of its own."""
    code = f"{before}\nfrom jubango.arena.commands import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def wait_for(process: subprocess.Popen, condition) -> None:
    while not condition():
        time.sleep(0.05)
        assert process.poll() is None, process.communicate()


def games_in(run: Path) -> int:
    return len(list((run / "games").glob("*.sgf"))) if (run / "games").exists() else 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Unix's signals")
@pytest.mark.parametrize(("number", "status"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_other_signals_end_a_run_as_ctrl_c_does(tmp_path, number, status):
    run = tmp_path / "a run"
    fine, hangs = (
        Bot("gtp", name="fine", command=f"{FAKE} fine"),
        Bot("gtp", name="hangs", command=f"{FAKE} hangs", move_seconds=3600),
    )
    plan = make_plan("go:5", [Bot("random"), fine, hangs], {"games": 200})
    (tmp_path / "t.toml").write_text(plan.text)
    process = started("tournament", str(tmp_path / "t.toml"), "--out", str(run))
    wait_for(process, lambda: games_in(run) >= 5)
    engines = psutil.Process(process.pid).children(recursive=True)
    assert engines
    process.send_signal(getattr(signal, number))
    out, errors = process.communicate(timeout=300)
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    assert "Elo" in out
    assert "fine" in out
    assert (run / "ratings.csv").exists()
    assert not any(engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE for engine in engines)
    assert errors.endswith(f" tournament '{run}/tournament.toml' --out '{run}'\n"), "how to go on"
    assert not (run / "results.sqlite-wal").exists()
    assert len(games_frame(run)) == games_in(run)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Unix's signals")
def test_engines_end_that_have_not_even_started(tmp_path):
    process = started(
        "match", f"gtp:command={FAKE} mute", f"gtp:command={FAKE} mute ", "--game", "go:5", "--games", "2"
    )
    wait_for(process, lambda: psutil.Process(process.pid).children())
    engines = psutil.Process(process.pid).children()
    process.terminate()
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 143, errors
    assert not any(engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE for engine in engines)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Unix's signals")
def test_a_signal_that_is_ignored_stays_ignored():
    """As under nohup."""
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nfrom jubango.arena import commands\n"
        "commands.run = lambda arguments: signal.raise_signal(signal.SIGHUP) or 5\ncommands.main()"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 5


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Unix's signals")
def test_a_run_in_the_background_ends_by_sigterm():
    """A shell has SIGINT ignored there."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nfrom jubango.arena import commands\n"
        "commands.run = lambda arguments: signal.raise_signal(signal.SIGINT) or signal.raise_signal(signal.SIGTERM)\n"
        "commands.main()"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 143


def test_other_weights_under_the_same_name_are_another_run(tmp_path):
    weights, moved, run = tmp_path / "a.safetensors", tmp_path / "b.safetensors", tmp_path / "run"
    weights.write_bytes(b"some weights")

    def plan(path, **keys):
        return make_plan(
            "tic_tac_toe", [Bot("policy", name="p", network=str(path)), Bot("random")], {"games": 2, **keys}
        )

    def claim(new):
        folder = RunFolder(run)
        with folder.claimed(new):
            folder.begin(new)

    claim(plan(weights))
    claim(plan(weights))
    weights.rename(moved)
    claim(plan(moved, games=4))
    weights.write_bytes(b"other weights")
    with pytest.raises(
        UserError, match=r'begun with other weights of bot "p" than .*a.safetensors holds now'
    ) as caught:
        claim(plan(weights, games=4))
    assert "\n" not in str(caught.value)
    claim(plan(moved, games=4))
    moved.unlink()
    with pytest.raises(UserError, match=r"not policy:network=.*a.safetensors"):  # nobody can say what it was
        (run / "tournament.toml").write_text(plan(moved, games=4).text)
        claim(plan(weights, games=4))


def test_weights_are_stated_in_the_runs_file(tmp_path):
    weights, run = tmp_path / "a.safetensors", tmp_path / "run"
    weights.write_bytes(b"weights")
    text = f'# mine\nname = "x"\ngame = "tic_tac_toe"\n[[bots]]\nuse = "random"\n[[bots]]\nuse = "policy"\nnetwork = "{weights}"\n'
    plan, folder = parse_plan(text.replace('use = "random"', 'name = "random"\nuse = "random"'), "x"), RunFolder(run)
    with folder.claimed(plan):
        folder.begin(plan)
    written = read_plan(run / "tournament.toml")
    assert written.text.startswith("# mine\n")
    assert written.bots == plan.bots
    assert list(written.networks) == [str(weights)]
    with RunFolder(run).claimed(written):
        pass
    weights.write_bytes(b"others")
    with (
        pytest.raises(UserError, match=r"a.safetensors: holds other weights"),
        RunFolder(tmp_path / "new").claimed(written),
    ):
        pass


def test_files_that_were_lost_are_written_again_and_it_is_said(tmp_path, capsys):
    arguments = ["match", "random", "random", "--game", "tic_tac_toe", "--games", "8", "--out", str(tmp_path)]
    assert command(arguments) == 0
    files = sorted((tmp_path / "games").iterdir())
    whole = [file.read_bytes() for file in files]
    assert command(["check", str(tmp_path)]) == 0
    assert "8 of 8 games are finished; rows and files agree" in capsys.readouterr().err
    files[0].unlink()
    files[1].write_bytes(whole[1][:40])
    assert command(["check", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "is missing" in out
    assert "is damaged" in out
    assert "2 files are not as their rows say" in err
    assert command(arguments) == 0
    assert "2 SGF files were missing or damaged and written again" in capsys.readouterr().err
    assert [file.read_bytes() for file in files] == whole
    assert command(arguments) == 0
    assert "missing or damaged" not in capsys.readouterr().err


READER = """
import os, sys
import numpy, pandas, scipy.linalg, scipy.optimize, scipy.special
from jubango.arena.commands import run
from jubango.arena.commands.results import rate
from jubango.arena.commands.results import check
from jubango.analysis.ratings import ratings
from jubango.analysis.tables import tables
from jubango.arena.commands import app
from jubango.arena.runs import run_folder
from jubango.arena.text import standings
if os.geteuid() == 0:
    os.seteuid(65534)
for command in (["rate", sys.argv[1], "--format", "csv"], ["check", sys.argv[1]]):
    assert run(command) == 0, command
try:
    open(f"{sys.argv[1]}/x", "w")
except PermissionError:
    print("nothing may be written")
"""


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Unix's users")
def test_who_may_not_write_can_read_a_run(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        tournament("tic_tac_toe", DICE, games=4, out=run)
        for path in (run.parent, run, *run.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run([sys.executable, "-c", READER, str(run)], cwd=ROOT, capture_output=True, text=True)
        for path in (run.parent, run, run / "games"):
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("nothing may be written\n")


def test_a_database_that_is_deleted_during_play(tmp_path, capsys):
    path, run = tmp_path / "t.toml", tmp_path / "run"
    path.write_text(make_plan("tic_tac_toe", DICE, {"games": 400, "games_at_once": 4}).text)
    code = f"""
        import jubango.arena.runs.play as t
        from pathlib import Path
        add = t.Run.add
        def taking(run, records):
            if 4 <= len(run.results):
                Path({str(run / "results.sqlite")!r}).unlink(missing_ok=True)
            add(run, records)
        t.Run.add = taking
    """
    process = started("tournament", str(path), "--out", str(run), before=textwrap.dedent(code))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "results.sqlite: was deleted or replaced" in errors
    assert "Traceback" not in errors
    played = games_in(run)
    assert 4 < played <= 400
    assert command(["tournament", str(path), "--out", str(run)]) == 2
    assert "--rebuild" in capsys.readouterr().err
    assert command(["check", str(run), "--rebuild"]) == 0
    assert f"{played} rows were made" in capsys.readouterr().err
    assert command(["tournament", str(path), "--out", str(run)]) == 0
    whole = tournament(path)
    columns = ["game_id", "black", "white", "result", "moves", "seed", "black_spec", "detail", "event"]
    assert games_frame(run)[columns].equals(whole.games[columns])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a limit for files is Unix's")
def test_a_full_disk_is_one_line_and_the_run_goes_on(tmp_path):
    path, run = tmp_path / "t.toml", tmp_path / "run"
    path.write_text(make_plan("tic_tac_toe", DICE, {"games": 400, "games_at_once": 4}).text)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))"
    process = started("tournament", str(path), "--out", str(run), before=limit)
    _, errors = process.communicate(timeout=300)
    last = errors.splitlines()[-1]
    assert process.returncode == 1
    assert last.startswith(f"jubango: {run}: finished games cannot be kept: ")
    assert "error of this program" not in errors
    kept = len(games_frame(run))
    assert f"{kept} of 400 games are finished" in last
    assert command(["tournament", str(path), "--out", str(run)]) == 0
    assert len(games_frame(run)) == 400


def test_every_machine_is_noted_once(tmp_path):
    """Whatever the file holds is no reason not to go on, and a link leads to nothing."""
    folder, file = Folder(tmp_path), tmp_path / "machines.txt"
    assert machines(folder) == []
    file.write_text("another\n")
    file.write_text(with_machines(machines(folder), [this_machine()]))
    assert machines(folder) == ["another", this_machine()]
    assert with_machines(machines(folder), [this_machine()]) is None
    file.write_bytes(b"\xff\n" * 10)
    assert machines(folder) == []
    file.unlink()
    (tmp_path / "private").write_text("secret\n")
    file.symlink_to(tmp_path / "private")
    assert machines(folder) == []
