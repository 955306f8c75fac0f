"""The README's pictures of `jubango serve`, taken anew: python tests/tools/screenshots.py [FOLDER]

FOLDER keeps the runs that are shown, and is gone on with; without one everything is played in a temporary folder, which
takes some minutes. Needs playwright, Chromium and Pillow.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1280, "height": 860}
LARGEST = 200_000  # bytes of a picture
PATIENCE = 600_000  # ms, for programs that are made
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
THINKING = "gumbel:simulations=20000"
DEEP = "() => Number((/after ([0-9,]+) visits/.exec(document.getElementById('thinking').textContent) || [0, '0'])[1].replace(',', '')) > 3000"
LAST = "G5"
OPENING = "E5 G4 C4 F6 E6 F7 E7 F4 E8 D3 C3 D2 F8 G7 C2 E3 G8 H7"
LADDER = """
name = "ladder"
game = "connect_four"
games_per_pairing = 40
seed = 1
[[bots]]
name = "random"
use = "random"
[[bots]]
name = "uct"
use = "uct"
simulations = [25, 100, 400]
[[bots]]
name = "network alone"
use = "policy"
[[bots]]
name = "gumbel"
use = "gumbel"
simulations = 32
"""


def play(site: Path) -> None:
    """The runs that are shown."""
    (site / "runs").mkdir(parents=True, exist_ok=True)
    (site / "runs" / "ladder.toml").write_text(LADDER)
    for words in (
        ["tournament", "runs/ladder.toml", "--out", "runs/ladder"],
        ["train", "--game", "go:5", "--out", "runs/train-go-5", "--minutes", "8", "--measure-minutes",
         "0.5", "--measure-games", "16"],
    ):  # fmt: skip
        subprocess.run([*COMMAND, *words], cwd=site, env=ENVIRONMENT, check=True)


def save(page, name: str) -> None:
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot()))
    for quality in (90, 80, 70, 50):
        data = io.BytesIO()
        picture.save(data, "WEBP", quality=quality, method=6)
        if len(data.getvalue()) <= LARGEST:
            break
    file = PICTURES / f"serve-{name}.webp"
    file.write_bytes(data.getvalue())
    print(f"{file.relative_to(ROOT)}: {len(data.getvalue()):,} bytes", flush=True)


def take(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    words = ["serve", str(site), "--no-open", "--port", "0"]
    server = subprocess.Popen([*COMMAND, *words], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    url = next(found.group() for line in server.stderr if (found := re.search(r"http://\S+", line)))
    base = url.partition("/?")[0]
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            for look, name in (("light", "watch"), ("dark", "train"), ("light", "play")):
                page = browser.new_page(viewport=SIZE, color_scheme=look)
                page.set_default_timeout(PATIENCE)
                page.goto(url)
                page.wait_for_url(f"{base}/play")
                {"play": shown_play, "watch": shown_watch, "train": shown_train}[name](page, base)
                save(page, name)
                page.close()
            browser.close()
    finally:
        server.send_signal(2)
        server.wait(60)


def shown_play(page, base: str) -> None:
    """A game of Go in its middle, a bot thinking about its move."""
    headers = {"origin": base, "content-type": "application/json"}

    def post(address: str, **data: object) -> dict:
        return page.request.post(f"{base}/play/{address}", data=data, headers=headers, timeout=PATIENCE).json()

    made = post("new", game="go:9", black="human", white="human", clock="1800+5x30", sgf="")["id"]
    for ply, move in enumerate(OPENING.split()):
        post(f"{made}/move", move=move, ply=ply)
    for _ in range(2):  # the first time programs are made
        page.goto(f"{base}/play/{made}")
        page.locator("#seat1 select option").nth(3).wait_for(state="attached")
        post(f"{made}/seat", player=1, name=THINKING)
        post(f"{made}/move", move=LAST, ply=len(OPENING.split()))
        page.wait_for_function(DEEP)
        if not _:
            post(f"{made}/seat", player=1, name="human")
            post(f"{made}/undo")


def shown_watch(page, base: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1120})
    page.goto(f"{base}/watch/run/runs/ladder")
    page.wait_for_selector("table.cross")


def shown_train(page, base: str) -> None:
    """Under way: what was learnt is learnt on for some minutes more."""
    page.goto(f"{base}/train/run/runs/train-go-5")
    page.wait_for_selector("#elo circle >> nth=3")
    page.locator("button:visible", has_text=re.compile("Train on|Go on")).click()
    page.locator("#stage", has_text="self-play").wait_for()
    page.wait_for_selector("#board circle.white >> nth=3", state="attached")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        site = Path(sys.argv[1]).resolve()
        play(site)
        take(site)
    else:
        with tempfile.TemporaryDirectory() as made:
            play(Path(made))
            take(Path(made))
