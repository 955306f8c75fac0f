"""The positions that a training remembers, in files: NUMBER-POSITIONS.npz, the oldest of which go as new ones come."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterable

import jax
import numpy as np

from jubango.bots.learning.replay import Samples
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.game import Game

POSITIONS_PER_FILE = 10_000  # positions of a file
POSITIONS_NAME = re.compile(r"(\d{6,9})(?:-(\d{1,9}))?\.npz")
LAST = 10**9 - 1  # number of a file
LARGEST_POSITIONS = 2**31  # bytes


class PositionFiles:
    """Those of one game in a training's folder. What is not named as they are is nobody's business."""

    def __init__(self, run: Folder, name: str, game: Game) -> None:
        self.run, self.name, self.game = run, name, game

    def names(self) -> dict[str, int]:
        """The files, the oldest first, and how many positions each says it has. Raises UserError."""
        found = {name: POSITIONS_NAME.fullmatch(name.rpartition("/")[2]) for name in self.run.files(self.name, ".npz")}
        ours = {name: fits for name, fits in found.items() if fits}
        oldest_first = sorted(ours, key=lambda name: int(ours[name][1]))
        return {name: int(ours[name][2] or POSITIONS_PER_FILE) for name in oldest_first}

    def add(self, samples: Samples, window: int) -> None:
        """Write one more; files that go beyond ``window`` positions are deleted. Raises UserError and OSError."""
        self.run.folder(self.name).path.mkdir(parents=True, exist_ok=True)
        before = self.names()
        self.run.write(f"{self.name}/{_next(before):06d}-{samples.number}.npz", packed_samples(samples))
        kept = samples.number
        for name, positions in reversed(before.items()):
            if kept >= window:
                self.run.delete(name)
            kept += positions

    def load(self, window: int, notes: list[str]) -> list[Samples]:
        """The newest positions, at least ``window`` of them if there are so many, the oldest first. A damaged file is
        left out, and ``notes`` has a line on it. Raises UserError."""
        found: list[Samples] = []
        for name in reversed(self.names()):
            try:
                found.append(read_samples(self.run, name, self.game))
            except UserError as error:
                notes.append(f"{error}; it is left out: {set_aside(self.run, name)}")
            if sum(one.number for one in found) >= window:
                break
        return found[::-1]


def _next(names: Iterable[str]) -> int:
    """The number of a new file: behind the last one; where numbers end there, behind the last that leaves room."""
    taken = {int(name.rpartition("/")[2].partition("-")[0].partition(".")[0]) for name in names}
    return max((number + 1 for number in taken if number < LAST and number + 1 not in taken), default=0)


def packed_samples(samples: Samples) -> bytes:
    """What a file of positions holds (numpy's npz)."""
    state, rest = jax.tree.leaves(samples.state), samples._asdict()
    del rest["state"]
    file = io.BytesIO()
    np.savez(file, **{f"state{i}": leaf for i, leaf in enumerate(state)}, **rest)
    return file.getvalue()


def read_samples(run: Folder, name: str, game: Game) -> Samples:
    """A file of positions of ``game``. Raises UserError for what is no such file, or damaged."""
    data, path = run.read(name, LARGEST_POSITIONS), run.path / name
    blank = blank_samples(game, 0)
    try:
        with zipfile.ZipFile(io.BytesIO(data or b"")) as archive:
            if any(one.compress_type != zipfile.ZIP_STORED for one in archive.infolist()):
                raise ValueError("it is packed")  # there may be any size in it, and ours are not
        with np.load(io.BytesIO(data or b""), allow_pickle=False) as file:
            rest = [file[field] for field in Samples._fields[1:] if field in file or field != "surprise"]
            if "surprise" not in file:  # of an older version
                rest.append(np.ones(len(rest[1]), np.float32))
            nothing = {i: x for i, x in enumerate(jax.tree.leaves(blank.state)) if 0 in x.shape[1:]}
            state = [
                np.zeros((len(rest[1]), *nothing[i].shape[1:]), nothing[i].dtype) if i in nothing else file[f"state{i}"]
                for i in range(len(jax.tree.leaves(blank.state)))
            ]
        samples = Samples(jax.tree.unflatten(jax.tree.structure(blank.state), state), *rest)
        check_samples(samples, blank)
    except Exception as error:  # whatever zipfile and numpy make of damaged data, which neither says
        why = " ".join(str(error).split())[:100]
        raise UserError(f"positions {path}: damaged ({why or type(error).__name__})") from None
    return samples


def blank_samples(game: Game, number: int) -> Samples:
    """So many positions of which all is zero, of the sizes and types that those of ``game`` have."""
    points = game.height * game.width if game.counts_points else 0
    state = jax.eval_shape(lambda: game.without_history(game.init()))
    return Samples(
        state=jax.tree.map(lambda x: np.zeros((number, *x.shape), x.dtype), state),
        policy=np.zeros((number, game.num_actions), np.float16),
        value=np.zeros(number, np.float32),
        result=np.zeros(number, np.float32),
        counted=np.zeros(number, bool),
        margin=np.zeros(number, np.float32),
        owners=np.zeros((number, points), np.int8),
        surprise=np.zeros(number, np.float32),
    )


def check_samples(samples: Samples, blank: Samples) -> None:
    """Raises ValueError for what is not as ``blank`` is, or cannot be learnt from."""
    for found, like in zip(jax.tree.leaves(samples), jax.tree.leaves(blank), strict=True):
        if found.dtype != like.dtype or found.shape != (len(samples.value), *like.shape[1:]):
            raise ValueError("its arrays are not those of this game")
        if np.issubdtype(found.dtype, np.floating) and not np.isfinite(found).all():
            raise ValueError("what is no number stands in it")
    sizes = {"policy": samples.policy, "value": samples.value, "result": samples.result, "owners": samples.owners}
    if any(np.abs(x.astype(np.float32)).max(initial=0) > 1.01 for x in sizes.values()) or (samples.policy < 0).any():
        raise ValueError("its numbers are none of a game")
    if (samples.surprise < 0).any():
        raise ValueError("its numbers are none of a game")


def set_aside(run: Folder, name: str) -> str:
    """What is damaged goes into the run's folder ``damaged``, as it is; returns where it lies then. Raises UserError
    and OSError."""
    run.folder("damaged").path.mkdir(exist_ok=True)
    last = name.rpartition("/")[2]
    number = 1
    while os.path.lexists(run.path / (new := f"damaged/{number}-{last}")):
        number += 1
    run.rename(name, new)
    return str(run.path / new)
