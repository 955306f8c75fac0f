"""Makes the pictures of README.md and the pages again, in the repository's folder:
``python docs/pictures/make.py [boards|screens|review|site|notebook]``.

All but the boards need a Chromium, and the notebook jupyter-nbconvert and ipykernel; without them they are left as
they are.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image
from rich.terminal_theme import MONOKAI

import jubango as jb
from jubango.analysis.report.review_page import save_review
from jubango.arena.runs.play import play_plan
from jubango.arena.schedule.plan import read_plan
from jubango.arena.screens.dashboard import Dashboard
from jubango.arena.text.console import Console

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NOTEBOOK = EXAMPLES / "notebook.ipynb"
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


def screens(chromium: str) -> None:
    """A run's screen while it is played (examples/ladder-go.toml, which needs gnugo), and its page."""
    plan, pages = read_plan(EXAMPLES / "ladder-go.toml"), []

    def look(run: jb.Run) -> None:
        if len(run.results) < 80 or pages:
            return
        console = Console(width=120, height=34, record=True, force_terminal=True, file=io.StringIO())
        dashboard = Dashboard(console)
        dashboard._began = began
        console.print(dashboard.render(run))
        pages.append(console.export_html(theme=MONOKAI, inline_styles=True))

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = play_plan(plan, Path(folder, "run"), look)
        page = Path(folder, "screen.html")
        page.write_text(pages[0].replace("<body", '<body style="background: #0c0c0c; margin: 12px"'))
        photographed(chromium, page, HERE / "dashboard.png", 990, 680)
        run.save_report(Path(folder, "report.html"))
        photographed(chromium, Path(folder, "report.html"), HERE / "report.png", 1100, 1000)


def review(chromium: str) -> None:
    """The page of the game of docs/first-review.md."""
    with tempfile.TemporaryDirectory() as folder:
        game, page = Path(folder, "game.sgf"), Path(folder, "review.html")
        text = (HERE.parent / "first-review.md").read_text()
        game.write_text(text.split("```sgf\n")[1].split("```")[0])
        save_review(jb.review(str(game), simulations=400), page)
        photographed(chromium, page, HERE / "review.png", 1100, 1000)


def site(chromium: str) -> None:
    """The first page of what `make docs` has built, where it has."""
    index = HERE.parents[1] / "build" / "site" / "docs" / "index.html"
    if index.exists():
        photographed(chromium, index, HERE / "site.png", 1280, 1500)


def photographed(chromium: str, page: Path, picture: Path, width: int, height: int) -> None:
    """What a browser shows of a page in a window of this size."""
    with tempfile.TemporaryDirectory() as browser:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                   "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]  # fmt: skip
        window = [f"--window-size={width},{height}", f"--screenshot={picture}", f"--user-data-dir={browser}"]
        subprocess.run([chromium, *options, *window, page.as_uri()], check=True)
    smaller(picture)


def notebook(jupyter: str, chromium: str) -> None:
    """The notebook, executed, as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(NOTEBOOK, folder)
        subprocess.run([jupyter, "nbconvert", "--execute", "--to", "html", NOTEBOOK.name], cwd=folder, check=True)
        page, picture = Path(folder, "notebook.html"), Path(folder, "notebook.png")
        photographed(chromium, page, picture, WIDTH, HEIGHT)
        image = Image.open(picture).convert("L").point(lambda grey: 255 if grey < 250 else 0)
        bottom = image.getbbox()[3] + 20
        Image.open(picture).crop((0, 0, WIDTH, bottom)).save(HERE / "notebook.png")
    smaller(HERE / "notebook.png")


def smaller(path: Path) -> None:
    """The same picture in fewer colours."""
    Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["boards", "screens", "review", "site", "notebook"]
    jupyter, chromium = shutil.which("jupyter"), shutil.which("chromium") or shutil.which("chromium-browser")
    if "boards" in wanted:
        boards()
    if "screens" in wanted and chromium:
        screens(chromium)
    if "review" in wanted and chromium:
        review(chromium)
    if "site" in wanted and chromium:
        site(chromium)
    if "notebook" in wanted and chromium and jupyter:
        notebook(jupyter, chromium)
