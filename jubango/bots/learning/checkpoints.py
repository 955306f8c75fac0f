"""Checkpoints of a training: what it goes on with after its process has ended, in files that are whole or not there.

One is named by its turn and holds arrays (:mod:`jubango.bots.networks.arrays`): those of
:class:`~jubango.bots.learning.learner.Learning`, each by the path that leads to it, and ``counts/NAME``, float64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import jax
import numpy as np

from jubango.bots.learning.learner import Learning
from jubango.bots.learning.position_files import set_aside
from jubango.bots.networks.arrays import packed, read_arrays
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

CHECKPOINTS = "checkpoints"
KEPT = 3
COUNTS = "counts/"
OPTIMIZER = "optimizer/"
CHECKPOINT_NAME = re.compile(r"(\d{1,16})\.safetensors")  # of up to LARGEST_COUNT turns
LARGEST_COUNT = 2.0**53


class Checkpoint(NamedTuple):
    """What a file holds."""

    learning: Learning
    counts: dict[str, float]
    anew: bool  # the optimizer's own arrays are another version's, and begin again

    @property
    def turn(self) -> int:
        return int(self.counts["turns"])


def names(run: Folder) -> list[str]:
    """The files of a training's folder that are named as checkpoints, the newest first. Raises UserError."""
    found = run.files(CHECKPOINTS, ".safetensors")
    return sorted(
        (name for name in found if CHECKPOINT_NAME.fullmatch(name.rpartition("/")[2])), key=lambda name: -turn_of(name)
    )


def name_of(turn: int) -> str:
    return f"{CHECKPOINTS}/{turn}.safetensors"


def turn_of(name: str) -> int:
    """The turn that a checkpoint is named by."""
    return int(name.rpartition("/")[2].partition(".")[0])


def of_older_versions(run: Folder) -> bool:
    """Are there checkpoints of an older version, which were folders?"""
    try:
        return any(entry.name.isdigit() and entry.is_dir() for entry in run.folder(CHECKPOINTS).path.iterdir())
    except FileNotFoundError:
        return False


def save(run: Folder, turn: int, learning: Learning, counts: Mapping[str, float]) -> None:
    """Write one; those before it are there until it is whole, and the last few stay. Raises UserError and OSError."""
    run.folder(CHECKPOINTS).path.mkdir(exist_ok=True)
    arrays = {name: np.asarray(value) for name, value in _named(learning).items()}
    arrays |= {f"{COUNTS}{name}": np.asarray(value, np.float64) for name, value in counts.items()}
    run.write(name_of(turn), packed(arrays, {}))
    for name in names(run)[KEPT:]:
        run.delete(name)


def load(run: Folder, name: str, like: Learning) -> Checkpoint:
    """Read one of a network and an optimizer ``like`` these. Raises UserError for a damaged one, or one of others."""
    arrays, _ = read_arrays(run.file(name), "checkpoint", "checkpoints")
    path = run.path / name
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise UserError(f"checkpoint {path}: holds what is no number")
    counts = {key.removeprefix(COUNTS): arrays.pop(key) for key in [*arrays] if key.startswith(COUNTS)}
    if not all(value.shape == () and abs(value) <= LARGEST_COUNT for value in counts.values()):
        raise UserError(f"checkpoint {path}: holds no counts")
    wanted = _named(like)
    fits = {key for key, value in wanted.items() if key in arrays and _alike(value, arrays[key])}
    anew = any(key.startswith(OPTIMIZER) for key in (wanted.keys() ^ arrays.keys()) | (wanted.keys() - fits))
    if any(not key.startswith(OPTIMIZER) for key in wanted.keys() - fits):
        raise UserError(f"checkpoint {path}: is of another network")
    found = [value if anew and key.startswith(OPTIMIZER) else arrays[key] for key, value in wanted.items()]
    learning = Learning(**jax.tree.unflatten(jax.tree.structure(like._asdict()), found))
    return Checkpoint(learning, {key: float(value) for key, value in counts.items()}, anew)


def newest(run: Folder, names: Sequence[str], like: Learning, counts: Set[str], notes: list[str]) -> Checkpoint | None:
    """The first of these that can be read and has these counts. What is damaged is put aside, with a line in ``notes``;
    so is what holds another turn than its name says, a copy perhaps, which would be the newest for ever. Where there
    are only such, the latest gets its own name. Raises UserError and OSError."""
    others: dict[str, Checkpoint] = {}
    for name in names:
        try:
            found = load(run, name, like)
            if not counts <= found.counts.keys() or found.counts["turns"] < 0:
                raise UserError(f"checkpoint {run.path / name}: holds no counts")
        except UserError as error:
            notes.append(f"{error}; it is left out: {set_aside(run, name)}")
            continue
        if found.turn == turn_of(name):
            break
        others[name] = found
    else:
        if not others:
            return None
        name = max(others, key=lambda name: others[name].turn)
        found = others.pop(name)
    for one, other in others.items():
        notes.append(f"checkpoint {run.path / one}: is of turn {other.turn}; it is left out: {set_aside(run, one)}")
    if found.turn != turn_of(name):
        run.rename(name, name_of(found.turn))
    return found


def _named(learning: Learning) -> dict[str, Any]:
    """Every array by the path that leads to it."""
    leaves, _ = jax.tree.flatten_with_path(learning._asdict())
    return {jax.tree_util.keystr(path, simple=True, separator="/"): value for path, value in leaves}


def _alike(one: Any, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype
