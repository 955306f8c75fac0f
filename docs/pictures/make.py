"""Makes the pictures of docs/python.md again: ``python docs/pictures/make.py`` in the repository's folder.

The notebook's needs jupyter-nbconvert, ipykernel and a Chromium; without them it is left as it is.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

import jubango as jb

HERE = Path(__file__).parent
NOTEBOOK = HERE.parents[1] / "examples" / "notebook.ipynb"
WIDTH, HEIGHT = 900, 4000  # of the browser's window, in pixels


def boards() -> None:
    """A position of a game between two bots, and what a search makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        run = jb.match("uct:simulations=200", "uct:simulations=400,c=0.5", "go:9,komi=7", games=2, out=folder)
        here = jb.read_sgf(run.folder / run.games["sgf"].iloc[0]).at(30)
    a = jb.analyze(here, "uct:c=0.5", simulations=20_000)
    (HERE / "position.svg").write_text(here._repr_svg_() + "\n")
    (HERE / "heatmap.svg").write_text(a._repr_svg_() + "\n")
    figure, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained")
    for ax, values in zip(axes, ["visits", "value"], strict=True):
        a.plot(ax, values)
    figure.savefig(HERE / "plot.png", dpi=80)
    smaller(HERE / "plot.png")


def notebook(jupyter: str, chromium: str) -> None:
    """The notebook, executed, as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(NOTEBOOK, folder)
        subprocess.run([jupyter, "nbconvert", "--execute", "--to", "html", NOTEBOOK.name], cwd=folder, check=True)
        page, picture = Path(folder, "notebook.html"), Path(folder, "notebook.png")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                   "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]  # fmt: skip
        window = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", f"--user-data-dir={folder}/browser"]
        subprocess.run([chromium, *options, *window, page.as_uri()], check=True)
        image = Image.open(picture).convert("L").point(lambda grey: 255 if grey < 250 else 0)
        bottom = image.getbbox()[3] + 20
        Image.open(picture).crop((0, 0, WIDTH, bottom)).save(HERE / "notebook.png")
    smaller(HERE / "notebook.png")


def smaller(path: Path) -> None:
    """The same picture in fewer colours."""
    Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    boards()
    tools = shutil.which("jupyter"), shutil.which("chromium") or shutil.which("chromium-browser")
    if tools[0] and tools[1]:
        notebook(tools[0], tools[1])
