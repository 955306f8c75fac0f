"""The folder of a training run, damaged in any way or sent by somebody: what can be replaced is left out with a line, what
cannot is refused in one, and nothing outside the folder is touched."""

from __future__ import annotations

import io
import os
import random
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from damage import POSITIONS, damaged_trainings, small_training, some_positions
from safetensors.numpy import load_file

from jubango.arena.commands import run as command
from jubango.arena.training.tables import PROGRESS_COLUMNS, Match, matches_of, progress_of
from jubango.arena.training.training import Training
from jubango.bots.learning import checkpoints
from jubango.bots.learning.position_files import PositionFiles, blank_samples, packed_samples
from jubango.bots.networks.arrays import packed
from jubango.bots.networks.checkpoint import load_weights
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.catalogue import make_game

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
GAME = make_game("tic_tac_toe")


def positions(number, value=0.5):
    return some_positions(GAME, number, value)


def opened(folder) -> Training:
    return Training({"games": ("tic_tac_toe",)}, folder)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """As :func:`damage.small_training` has it."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    small_training(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "run"))


def test_what_is_whole_is_gone_on_with(folder):
    training = opened(folder)
    assert training.notes == []
    assert training.trainer.counts["games"] == 20
    assert (training.trainer.steps, len(training.trainer.replays[0])) == (200, 16)
    assert training.measurements.best == "net-0002"
    assert len(training.rows) == 2
    wanted = load_weights(folder / "networks/net-0002.safetensors").weights
    assert all(np.array_equal(value, wanted[name]) for name, value in training.trainer.weights.items())
    assert load_weights(folder / "best.safetensors").how["steps"] == 200


DAMAGES = {
    "empty": lambda data: b"", "cut": lambda data: data[: len(data) // 2], "garbage": lambda data: b"\xff\x00garbage" * 50,
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :],
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_positions_are_left_out(folder, damage):
    path = folder / POSITIONS / "000001-8.npz"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    training = opened(folder)
    assert len(training.trainer.replays[0]) == 8
    (note,) = training.notes
    assert note.startswith(f"positions {path}: damaged (") and note.isprintable()
    assert note.endswith(f"it is left out: {folder / 'damaged' / '1-000001-8.npz'}")
    assert opened(folder).notes == [], "it has been put aside"


def test_positions_that_are_none_of_this_game(folder):
    path, file = folder / POSITIONS / "000001-8.npz", io.BytesIO()
    whole = positions(8)
    others = [
        packed_samples(whole._replace(policy=whole.policy * np.float16(np.nan))), packed_samples(whole._replace(value=whole.value + 7)),
        packed_samples(whole._replace(result=whole.result[:3])), packed_samples(blank_samples(make_game("go:3"), 8)),
        packed_samples(whole._replace(owners=whole.value)),
    ]  # fmt: skip
    np.savez_compressed(file, **np.load(io.BytesIO(packed_samples(whole))))
    np.save(one := io.BytesIO(), np.zeros(3))
    for data in (*others, file.getvalue(), one.getvalue()):
        path.write_bytes(data)
        training = opened(folder)
        assert len(training.trainer.replays[0]) == 8
        assert len(training.notes) == 1


def test_strangers_files_among_the_positions_are_let_be(folder):
    """They neither fail the next save nor are lost, and what is saved goes on counting."""
    strangers = [
        "notes.npz",
        "-.npz",
        "a-b.npz",
        "00000x-3.npz",
        "readme.txt",
        "0000001-.npz",
        f"{9**99}-1.npz",
        "999999999999-1.npz",
    ]
    for name in strangers:
        (folder / POSITIONS / name).write_bytes(b"mine")
    os.mkfifo(folder / POSITIONS / "notes-1.npz")
    training = opened(folder)
    assert training.notes == []
    training.trainer.add(0, positions(5))
    training.save()
    assert (folder / POSITIONS / "000002-5.npz").exists()
    assert all((folder / POSITIONS / name).read_bytes() == b"mine" for name in strangers)
    assert len(opened(folder).trainer.replays[0]) == 21


def test_numbers_of_positions_have_an_end(tmp_path):
    """A stranger's may be the last there is: what is saved next is found and deleted all the same."""
    files = PositionFiles(Folder(tmp_path), "samples", GAME)
    for number in (3, 999_999_999):
        (tmp_path / "samples").mkdir(exist_ok=True)
        (tmp_path / f"samples/{number:06d}-8.npz").write_bytes(packed_samples(positions(8)))
    for _ in range(3):
        files.add(positions(8), 24)
    assert [*files.names()] == [f"samples/{name}-8.npz" for name in ("000005", "000006", "999999999")]
    assert len(files.load(100, [])) == 3
    alone = PositionFiles(Folder(tmp_path), "others", GAME)
    for number in (999_999_998, 999_999_999):
        (tmp_path / "others").mkdir(exist_ok=True)
        (tmp_path / f"others/{number}-8.npz").write_bytes(packed_samples(positions(8)))
    alone.add(positions(8), 100)
    assert next(iter(alone.names())) == "others/000000-8.npz"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_is_no_file_is_not_opened(folder, kind, tmp_path):
    """Of the pieces that can be spared it is put aside; of all others it is refused."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    make = {"link": lambda path: path.symlink_to(outside), "fifo": os.mkfifo, "folder": os.mkdir}[kind]
    for name in (f"{POSITIONS}/000001-8.npz", "checkpoints/2.safetensors", "networks/net-0002.safetensors"):
        (folder / name).unlink()
        make(folder / name)
    training = opened(folder)
    assert len(training.notes) == 3
    assert training.trainer.counts["games"] == 10
    training.save()
    for name in ("train.toml", "matches.csv", "progress.csv", "best.safetensors", "newest.safetensors", "curve.png"):
        path = folder / name
        path.rename(tmp_path / "kept")
        make(path)
        with pytest.raises(UserError, match=f"^{path}: is (a link|no regular file|a folder)"):
            opened(folder)
        path.rmdir() if kind == "folder" else path.unlink()
        (tmp_path / "kept").rename(path)
    assert outside.read_bytes() == b"precious"


def test_what_is_written_follows_no_link(folder, tmp_path):
    """That somebody has put there since the folder was opened."""
    training = opened(folder)
    names = "newest.safetensors", "best.safetensors", "curve.png"
    (tmp_path / "outside").write_bytes(b"mine")
    for name in names:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(tmp_path / ("outside" if name != "best.safetensors" else "nowhere"))
    training._run.write("best.safetensors", training._packed_network())
    training.save()
    assert (tmp_path / "outside").read_bytes() == b"mine" and not (tmp_path / "nowhere").exists()
    assert not any((folder / name).is_symlink() for name in names)
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_is_a_link_is_refused(folder, tmp_path):
    for name in ("samples", POSITIONS, "checkpoints", "networks"):
        (folder / name).rename(tmp_path / "elsewhere")
        (folder / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(UserError, match=f"^{folder / name}: is a link"):
            opened(folder)
        (folder / name).unlink()
        (tmp_path / "elsewhere").rename(folder / name)
    assert opened(folder).notes == []


def test_tables_with_garbage_in_them(folder):
    """Rows that can be read stay, the file as it was is kept, and what comes next is read again."""
    (folder / "progress.csv").write_bytes(
        b"\x00\xfe,rubbish\n" + (folder / "progress.csv").read_bytes() + b"1,2\nnan" + b",1" * 13 + b"\n7"
    )
    with open(folder / "matches.csv", "a") as file:
        file.write(
            f"1,1,../../etc/passwd,random,4,0,0\n1,1,net-0009,random,{9**99},0,0\n{'9' * 5000},1,net-0009,random,4,0,0\n"
        )
    training = opened(folder)
    assert [note.split(": ")[0] for note in training.notes] == [
        str(folder / "matches.csv"),
        str(folder / "progress.csv"),
    ]
    assert "3 rows cannot be read" in training.notes[0]
    assert (len(training.measurements.matches), len(training.rows)) == (2, 2)
    assert b"rubbish" in (folder / "damaged/1-progress.csv").read_bytes()
    assert opened(folder).notes == []
    for garbage in (b"", b"\n\n\n", b"\xff" * 500, b'"' * 500, b"seconds\n", b"a" * 200_000 + b"\n"):
        (folder / "progress.csv").write_bytes(garbage)
        assert opened(folder).rows == []
        opened(folder)._progress.append({}, [1] * len(PROGRESS_COLUMNS))
        assert len(opened(folder).rows) == 1


def test_a_row_that_was_cut_off_is_left_out(tmp_path):
    notes = []
    table = progress_of(Folder(tmp_path), "progress.csv", notes)
    for number in (1, 2):
        table.append({}, [number] * len(PROGRESS_COLUMNS))
    path = tmp_path / "progress.csv"
    whole = path.read_text()
    path.write_text(whole + "3,3,3")
    table = progress_of(Folder(tmp_path), "progress.csv", notes)
    assert [row["games"] for row in table.rows] == [1, 2]
    assert path.read_text() == whole
    path.write_text("secon")
    table = progress_of(Folder(tmp_path), "progress.csv", notes)
    table.append({}, [1] * len(PROGRESS_COLUMNS))
    assert path.read_text() == "".join(whole.splitlines(keepends=True)[:2])
    assert notes == []
    assert matches_of(Folder(tmp_path), "matches.csv", notes).rows == []


def test_a_row_of_no_utf_8_is_put_aside(tmp_path):
    """It is not written again as another, where the last line was cut off."""
    row = b"1,1,net-0001,%s,4,0,0\n"
    whole = ",".join(Match._fields).encode() + b"\n" + row % b"r\xffndom" + row % "é".encode() + b"2,2,net"
    (tmp_path / "matches.csv").write_bytes(whole)
    notes = []
    assert [match.opponent for match in matches_of(Folder(tmp_path), "matches.csv", notes).rows] == ["é"]
    assert "a row cannot be read and left out" in notes[0]
    assert (tmp_path / "damaged/1-matches.csv").read_bytes() == whole


def test_a_damaged_checkpoint_costs_what_came_after_the_one_before(folder):
    newest = folder / "checkpoints/2.safetensors"
    data = newest.read_bytes()
    for damage in DAMAGES.values():
        newest.write_bytes(damage(data))
        training = opened(folder)
        assert training.trainer.counts["games"] == 10
        assert "checkpoint" in training.notes[0] and "it is left out" in training.notes[0]
        assert opened(folder).notes == []


def test_without_a_checkpoint_the_newest_network_goes_on(folder):
    """So it does from a folder of an older version, whose checkpoints were folders."""
    weights = load_weights(folder / "newest.safetensors").weights
    shutil.rmtree(folder / "checkpoints")
    (folder / "checkpoints/17/learning").mkdir(parents=True)
    training = opened(folder)
    (note,) = training.notes
    assert note.startswith("checkpoints of an older version (folders) are not read: training goes on with ")
    assert all(np.array_equal(value, weights[name]) for name, value in training.trainer.weights.items())
    assert (training.trainer.steps, training.trainer.counts["games"], len(training.trainer.replays[0])) == (200, 20, 16)
    training.trainer.counts["turns"] = 1
    training.save()
    assert opened(folder).notes == []
    (folder / "checkpoints/1.safetensors").write_bytes(b"")
    (folder / "newest.safetensors").unlink()
    with pytest.raises(
        UserError, match=r"none of its checkpoints can be read, and newest.safetensors is missing; begin in"
    ):
        opened(folder)


def test_an_optimizer_of_another_version_begins_anew(folder):
    path = folder / "checkpoints/2.safetensors"
    arrays = load_file(path)
    moved = {name.replace("/mu/", "/momentum/"): value for name, value in arrays.items()}
    assert moved.keys() != arrays.keys()
    path.write_bytes(packed(moved, {}))
    training = opened(folder)
    assert training.notes == ["the optimizer of the checkpoint is another version's and begins anew"]
    assert (training.trainer.steps, training.trainer.counts["games"]) == (200, 20)


def test_the_best_network_lies_in_two_files(folder):
    best, own = folder / "best.safetensors", folder / "networks/net-0002.safetensors"
    data = own.read_bytes()
    best.write_bytes(b"")
    assert opened(folder).notes == []
    assert best.read_bytes() == data
    own.write_bytes(data[:-1])
    assert (opened(folder).measurements.best, own.read_bytes()) == ("net-0002", data)
    best.write_bytes(b"")
    own.unlink()
    training = opened(folder)
    assert training.measurements.best == "net-0001"
    assert load_weights(best).how["steps"] == 100


def test_a_copy_of_a_checkpoint_is_not_the_newest_for_ever(folder):
    own = folder / "checkpoints"
    for name in ("999999", "9" * 16):
        shutil.copy(own / "1.safetensors", own / f"{name}.safetensors")
    training = opened(folder)
    assert training.trainer.counts["turns"] == 2
    assert [note.split("; ")[0] for note in training.notes] == [
        f"checkpoint {own / name}.safetensors: is of turn 1" for name in ("9" * 16, "999999")
    ]
    assert sorted(path.name for path in (folder / "damaged").iterdir()) == [
        "1-999999.safetensors", f"1-{'9' * 16}.safetensors"
    ]  # fmt: skip
    assert opened(folder).notes == []


def test_a_checkpoint_under_another_name_is_gone_on_with(folder):
    """Where there is no other; by the turn in it."""
    own = folder / "checkpoints"
    (own / "2.safetensors").rename(own / "8.safetensors")
    (own / "1.safetensors").rename(own / "2.safetensors")
    training = opened(folder)
    assert training.trainer.counts["turns"] == 2
    assert len(training.notes) == 1
    assert [path.name for path in own.iterdir()] == ["2.safetensors"]
    assert opened(folder).notes == []


def test_the_last_checkpoints_stay(folder):
    training = opened(folder)
    for turn in range(3, 8):
        training.trainer.counts["turns"] = turn
        training.trainer.save()
    assert checkpoints.names(Folder(folder)) == [f"checkpoints/{turn}.safetensors" for turn in (7, 6, 5)]


def test_a_save_that_fails_says_why(folder):
    training = opened(folder)
    training.trainer.add(0, positions(500))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        with pytest.raises(CannotGoOn, match=f"^{folder}: cannot be written: File too large"):
            training.save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    training.save()
    assert len(opened(folder).trainer.replays[0]) == 516


def test_files_that_are_damaged_are_not_believed(tmp_path):
    """`python tests/tools/damage.py trainings 10000` tries more of them."""
    ends = damaged_trainings(60, 3, tmp_path, 30)
    assert ends["checkpoints/2.safetensors: left out"] > 5 and ends["whole folders"] == 2


def test_any_damage_costs_no_more_than_the_damaged(original, tmp_path):
    """By whatever is done to its files, a folder is opened and saved again, or refused in one line."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    refused = 0
    for seed in range(40):
        folder = Path(shutil.copytree(original, tmp_path / str(seed)))
        damaged(folder, random.Random(seed), outside)
        try:
            training = opened(folder)
            training.trainer.add(0, positions(3))
            training.trainer.save()
            assert opened(folder).notes == []
        except UserError as error:
            refused += 1
            assert str(error).isprintable() and str(folder) in str(error)
        assert outside.read_bytes() == b"precious"
    assert refused < 30


def damaged(folder: Path, dice: random.Random, outside: Path) -> None:
    """One to three files are changed, exchanged, or put in place of something else."""
    for _ in range(dice.randint(1, 3)):
        path = dice.choice(sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()))
        data, how = path.read_bytes(), dice.randrange(8)
        at = dice.randrange(len(data)) if data else 0
        if how == 0:
            path.write_bytes(data[:at])
        elif how == 1:
            path.write_bytes(data[:at] + bytes([255 ^ data[at] if data else 0]) + data[at + 1 :])
        elif how == 2:
            path.write_bytes(data[:at] + dice.randbytes(dice.randrange(1, 200)) + data[at:])
        elif how == 3:
            path.write_bytes(dice.choice([b"", dice.randbytes(300), b"\0" * len(data), b"PK\x03\x04", b"[" * 5000]))
        elif how == 4:
            path.write_bytes(dice.choice(sorted(p for p in folder.rglob("*") if p.is_file())).read_bytes())
        else:
            path.unlink()
            if how == 5:
                path.symlink_to(outside)
            elif how == 6:
                os.mkfifo(path)


def test_a_damaged_folder_is_never_an_interruption(folder, capsys):
    """The command goes on, too, and says what it leaves out."""
    (folder / POSITIONS / "000001-8.npz").write_bytes(b"")
    (folder / "progress.csv").write_text("no,table\nat,all\n")
    assert command(["train", "--game", "tic_tac_toe", "--out", str(folder), "--games", "20"]) == 0
    errors = capsys.readouterr().err
    assert "damaged (" in errors and "2 rows cannot be read" in errors
    assert "interrupted" not in errors
