"""Fit the score head of a network that `jubango train` has made, by least squares, on the positions its run remembers.

    python benchmarks/score_head.py RUN OUT.safetensors

The head is linear, and its part in the loss is small: where self-play on one board takes turns with records of another,
it lags behind. All else in the network stays. Of the positions of recorded games that were held out it says how far the
score was off before and after, in points.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np

import jubango as jb
from jubango.bots.learning.position_files import PositionFiles
from jubango.bots.learning.replay import Samples
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.networks.model import apply
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.library.folder import Folder

TAKEN, RIDGE, AT_ONCE = 24_000, 1e-3, 256  # positions of a board, weight of the prior, positions at once


def counted(run: Folder, name: str, game: jb.Game) -> Samples | None:
    """The newest positions of a folder whose count is known."""
    files = PositionFiles(run, name, game).load(TAKEN, [])
    if not files:
        return None
    samples = jax.tree.map(lambda *x: np.concatenate(x)[-TAKEN:], *files)
    return jax.tree.map(lambda x: x[samples.counted], samples)


def hidden(game: jb.Game, shape: Shape, weights: dict[str, jax.Array], samples: Samples) -> np.ndarray:
    """[N, units + 1] what the head sees, and ones: by heads that hand on one unit each."""
    units = weights["score.kernel"].shape[0]

    @jax.jit
    def ask(state):  # the head is linear: unit by unit it tells what it sees
        def one(kernel):
            own = {**weights, "score.kernel": kernel[:, None], "score.bias": weights["score.bias"] * 0}
            return apply(shape, own, planes).score

        planes = jax.vmap(game.observe)(state)
        return jax.vmap(one, out_axes=1)(np.eye(units, dtype=np.float32))

    parts = []
    for begin in range(0, samples.number, AT_ONCE):
        rows = np.minimum(np.arange(begin, begin + AT_ONCE), samples.number - 1)
        found = np.asarray(ask(jax.tree.map(lambda x, rows=rows: x[rows], samples.state)))
        parts.append(found[: samples.number - begin])
    seen = np.concatenate(parts)
    return np.c_[seen, np.ones(len(seen))]


def main() -> None:
    run, out = Folder(Path(sys.argv[1])), Path(sys.argv[2])
    weights, shape, how = load_weights(run.path / "newest.safetensors")
    seen, margins, asked = [], [], []
    for i, spec in enumerate(how["boards"]):
        game = jb.make_game(spec)
        points, name = game.height * game.width, f"{i}-{spec.split(',')[0].replace(':', '-')}"
        for folder, into in ((f"samples/{name}", True), (f"held-out/{name}", False)):
            samples = counted(run, folder, game)
            if samples is None:
                continue
            rows = hidden(game.compiled_as, shape, weights, samples)
            if into:
                seen.append(rows)
                margins.append(samples.margin / points)
            else:
                asked.append((spec, points, rows, samples.margin))
    x, y = np.concatenate(seen), np.concatenate(margins)
    size = np.sqrt((x**2).mean(axis=0)) + 1e-6
    scaled = x / size
    fitted = np.linalg.solve(scaled.T @ scaled / len(x) + RIDGE * np.eye(x.shape[1]), scaled.T @ y / len(x)) / size
    before = np.r_[np.asarray(weights["score.kernel"])[:, 0], np.asarray(weights["score.bias"])]
    for spec, points, rows, margin in asked:
        errors = [np.abs(rows @ head * points - margin).mean() for head in (before, fitted, 0 * fitted)]
        said = f"{errors[0]:.2f} points before, {errors[1]:.2f} after, 0 for all {errors[2]:.2f}"
        print(f"{spec}, {len(rows):,} held out: {said}")
    new = {
        **weights, "score.kernel": fitted[:-1, None].astype(np.float32), "score.bias": fitted[-1:].astype(np.float32),
    }  # fmt: skip
    out.write_bytes(packed_weights(new, shape, {**how, "score_head": f"fitted to {len(x)} positions"}))


if __name__ == "__main__":
    main()
