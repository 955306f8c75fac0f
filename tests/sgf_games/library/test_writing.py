"""Files that commands write: there whole, or as they were."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from jubango.analysis.positions.plot import save_figure, save_png
from jubango.analysis.reviews.review_plot import Curves, save_graph
from jubango.analysis.tables.export import export_frame
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library import library
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.sgf.positions import position

FRAME = pd.DataFrame({"move": ["D4", "pass"], "loss": [0.1, 0.2]})
CURVES = Curves([0.5, 0.6], [0.1, 0.1], [None, None], [], "t")
WRITERS = {
    "a.csv": lambda path: export_frame(FRAME, path),
    "board.svg": lambda path: save_png(path, position("go:3", "B2").diagram()),
    "board.png": lambda path: save_png(path, position("go:3", "B2").diagram()),
    "curves.svg": lambda path: save_graph(path, CURVES),
    "figure.pdf": lambda path: save_figure(path, Figure()),
}
BEGINS = {"csv": b"move,loss\n", "svg": b"<", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(library.os, "fsync", full)
        with pytest.raises((OSError, UserError), match="No space left"):
            WRITERS[name](path)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"], "and nothing beside it"
    WRITERS[name](path)
    assert path.read_bytes().startswith(BEGINS[path.suffix[1:]])


def test_a_parquet_file_is_written_too(tmp_path):
    pytest.importorskip("pyarrow")
    export_frame(FRAME, tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet").equals(FRAME)


def test_links_and_pipes_stay_what_they_are(tmp_path):
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(file)
    write_safely(link, b"through a link")
    assert (link.is_symlink(), file.read_bytes()) == (True, b"through a link")
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_safely(pipe, b"through a pipe")
    reader.join(60)
    assert got == [b"through a pipe"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev")
def test_what_a_process_has_open_is_written_to_and_not_replaced(tmp_path):
    """A shell's ``> file`` keeps its place in it: what is written before and after is there too."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom jubango.sgf_games.library.library import write_safely\n"
        "print('before', flush=True)\nwrite_safely(Path('/dev/stdout'), b'data\\n')\n"
    )
    with (tmp_path / "out").open("ab") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
        out.write(b"after\n")
    assert (tmp_path / "out").read_text() == "before\ndata\nafter\n"
