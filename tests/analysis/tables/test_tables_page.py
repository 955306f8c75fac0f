"""docs/tables.md says what is in the frames: no column more, none less, and of the kind it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype, is_string_dtype

import jubango as jb

pytestmark = pytest.mark.full

PAGE = (Path(__file__).parents[3] / "docs" / "tables.md").read_text()
KINDS = {
    "text": is_string_dtype,
    "whole number": is_integer_dtype,
    "number": is_float_dtype,
    "yes or no": is_bool_dtype,
}


def described(heading):
    """(column, kind, whether it may be missing) of each row of a section's table."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+?) \|[^|]*\|[^|]*\|([^|]*)\|$", section, re.M)
    assert len(rows) == section.count("\n| `"), "every row is understood"
    return [(column, kind, bool(missing.strip())) for column, kind, missing in rows]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    bots = ["random", "minimax:depth=1", "uct:simulations=8"]
    return jb.tournament(
        "tic_tac_toe", bots, 2, tmp_path_factory.mktemp("tables"), openings=["B2"], clock="99", progress=False
    )


@pytest.mark.parametrize("heading", ["ratings", "games", "moves", "compare"])
def test_a_section_has_the_columns_of_its_frame(heading, run):
    frame = jb.compare_runs(run, run).frame if heading == "compare" else getattr(run, heading)
    rows = described(heading)
    assert [column for column, _, _ in rows] == frame.columns.tolist()
    for column, kind, missing in rows:
        assert KINDS[kind](frame[column].dtype), (column, frame[column].dtype)
        assert missing or frame[column].notna().all(), column


def test_the_crosstable_is_as_described(run):
    table = run.crosstable
    assert table.index.name == "name"
    assert table.index.tolist() == table.columns.tolist() == run.ratings["name"].tolist()
    assert all(re.fullmatch(r"(\d+-\d+-\d+)?", cell) for cell in table.to_numpy().ravel())


def test_every_reason_and_extra_column_is_named(run, capsys):
    from jubango.arena.commands import run as command
    from jubango.sgf_games.records.record import Failure

    reasons = re.search(r"^\| `reason`.*$", PAGE, re.M)[0]
    assert not [reason for reason in Failure if f"`{reason}`" not in reasons]
    assert command(["rate", str(run.folder), "--format", "csv"]) == 0
    header = capsys.readouterr().out.splitlines()[0].split(",")
    more = [column for column in header if column not in run.ratings and not column.startswith("against ")]
    assert more
    assert not [column for column in more if f"`{column}`" not in PAGE]
