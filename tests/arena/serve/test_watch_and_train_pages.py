"""The rooms Watch and Train in a browser: a tournament from its form to its last game, a training begun, stopped, gone
on with, and found again after the server was killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe import violations
from browser import browser  # noqa: F401 -- a fixture
from serving import PATIENCE, Server, serving, visited

import jubango as jb
from jubango.arena.runs.work_folder import is_at_play
from jubango.arena.training.sitting import read_sitting
from jubango.sgf_games.library.folder import Folder

pytestmark = pytest.mark.full

TRAINING = "runs/train-tic_tac_toe"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "site").mkdir()
    return tmp_path


@contextmanager
def opened(browser, server: Server, phone: bool = False) -> Iterator:  # noqa: F811
    """A page of the server, that shuts nobody out. Of a refusal, and of a server that is gone, the browser speaks by
    itself."""
    with visited(browser, server, phone, said=r"400 \(Bad Request\)|ERR_(CONNECTION|INCOMPLETE)") as page:
        yield page
        assert violations(page) == []


def written(page, pattern: str) -> None:
    """The form has written such a file."""
    from playwright.sync_api import expect

    expect(page.locator("#toml")).to_have_value(re.compile(pattern), timeout=PATIENCE)


def test_a_tournament_from_its_form_to_its_last_game(browser, folder):  # noqa: F811
    with serving(folder / "site") as server, opened(browser, server) as page:
        page.goto(f"{server.base}/watch")
        page.wait_for_selector("#new[open]")
        page.fill("#name", "ladder")
        page.fill("#game", "tic_tac_toe")
        page.fill("#games-of", "20")
        written(page, r'name = "ladder"\ngame = "tic_tac_toe"\ngames_per_pairing = 20\n')
        assert violations(page) == []
        page.fill("#toml", page.input_value("#toml").replace("simulations = 200", "simulations = 20"))
        page.click("button.main")
        page.wait_for_url("**/watch/run/runs/ladder")
        page.wait_for_selector("#live:has-text('is complete')")
        assert page.inner_text("header .quiet").endswith("60 games")
        names = page.locator("table.cross tbody td.name").all_inner_texts()
        run = jb.open_run(folder / "site" / "runs" / "ladder")
        assert names == list(run.crosstable.index), "the table is what the folder holds"
        assert run.plan.bots[2].simulations == 20, "as it was changed in the file"
        assert "simulations = 20\n" in (folder / "site" / "runs" / "ladder.toml").read_text()
        page.locator("#list tr.open").first.press("Enter")
        page.wait_for_selector("#replay:not([hidden]) svg.board")
        page.goto(f"{server.base}/watch")
        row = page.locator("#runs tbody tr", has_text="ladder")
        row.locator(".state", has_text="finished").wait_for()
        page.click("#new summary")
        written(page, "ladder")
        page.click("button.main")
        page.locator("#trouble", has_text='there is a run "ladder" already').wait_for()


def test_a_tournament_is_stopped_and_gone_on_with(browser, folder):  # noqa: F811
    with serving(folder / "site") as server, opened(browser, server, phone=True) as page:
        page.goto(f"{server.base}/watch")
        page.wait_for_selector("#new[open]")
        page.fill("#game", "gomoku:9")
        page.fill("#games-of", "4000")
        written(page, "games_per_pairing = 4000")
        page.click("button.main")
        page.wait_for_url("**/watch/run/runs/ladder")
        page.wait_for_selector("#boards svg.board circle.black")  # a game under way
        page.locator("button", has_text="Stop").click()
        page.locator("button", has_text="Go on").wait_for()
        page.wait_for_selector("#live:has-text('has stopped')")
        run = folder / "site" / "runs" / "ladder"
        assert not is_at_play(run)
        before = len(jb.open_run(run).results)
        page.locator("button", has_text="Go on").click()
        page.locator("button", has_text="Stop").wait_for()
        page.wait_for_selector("#boards svg.board circle.black")
        server.end(signal.SIGINT)
        until = time.monotonic() + 120  # it is told to end, and may be busy for a while
        while is_at_play(run) and time.monotonic() < until:
            time.sleep(0.1)
        assert not is_at_play(run), "what a server has begun ends with it"
        assert len(jb.open_run(run).results) >= before


def test_a_tuning_and_the_test_that_confirms_it(browser, folder):  # noqa: F811
    run = folder / "site" / "runs" / "tuned"
    ranges = {"c": (0.05, 8.0, "log"), "equivalence": (10.0, 1000.0, "log")}
    jb.tune("tic_tac_toe", "rave:simulations=8,bias=0", ranges, games=64, out=run, confirm="0,60", confirm_games=20)
    shutil.rmtree(next(run.glob("confirm-*")))
    with serving(folder / "site") as server, opened(browser, server, phone=True) as page:
        page.goto(f"{server.base}/watch")
        page.click("text=runs/tuned")
        page.wait_for_selector(".responses figure >> nth=1")
        assert page.locator("table.settings tbody td.name").all_inner_texts() == ["c", "equivalence"]
        assert page.locator(".gauge").count() == 0
        bot = page.inner_text("#summary code")
        assert violations(page) == []
        page.locator("button", has_text="Go on").click()
        page.wait_for_selector(".gauge [role=img][aria-label^='The test: ']")
        assert bot in page.inner_text("p.verdict")


def sitting(folder: Path):
    return read_sitting(Folder(folder / "site" / TRAINING))


def test_a_training_is_stopped_and_gone_on_with_even_if_the_server_is_killed(browser, folder):  # noqa: F811
    run = folder / "site" / TRAINING
    with serving(folder / "site") as server, opened(browser, server) as page:
        page.goto(f"{server.base}/train")
        page.fill("#game", "tic_tac_toe")
        page.fill("#minutes", "0.7")
        page.click("button.main")
        page.wait_for_url(f"**/train/run/{TRAINING}")
        page.wait_for_selector("#board svg.board")
        page.locator("#stage", has_text="self-play").wait_for()
        assert violations(page) == []
        page.reload()
        page.locator("#facts", has_text="0:42").wait_for()
        page.locator("button", has_text="Stop").click()
        page.locator("button", has_text="Go on").wait_for()
        assert not is_at_play(run)
        seconds = sitting(folder).seconds
        page.locator("button", has_text="Go on").click()
        page.locator("button", has_text="Stop").wait_for()
        while sitting(folder).seconds <= seconds or sitting(folder).stage == "compiling":
            time.sleep(0.2)
        server.end(signal.SIGKILL)
        assert is_at_play(run), "it goes on without the server"
    with serving(folder / "site") as server, opened(browser, server) as page:
        page.goto(f"{server.base}/train")
        page.click(f"text={TRAINING}")
        if sitting(folder).stage != "done":
            page.locator("button", has_text="Stop").wait_for()
        page.locator("#stage", has_text="done").wait_for()
        page.wait_for_selector("#elo circle")
        assert sitting(folder).seconds >= 42
        assert page.locator("#matches tr").count() >= 1
        page.fill("#more", "0.1")
        page.click("text=Train on")
        page.locator("button", has_text="Stop").wait_for()
        page.locator("#stage", has_text="done").wait_for()
        assert sitting(folder).minutes == pytest.approx(sitting(folder).seconds / 60, abs=0.1)
        page.click("text=Play the newest")
        page.wait_for_url(re.compile(r"/play/.+"))
        page.wait_for_selector("svg.board")


def test_a_training_that_was_killed_goes_on_with_one_click(browser, folder):  # noqa: F811
    """And one that cannot be begun says why."""
    run = folder / "site" / TRAINING
    with serving(folder / "site") as server, opened(browser, server, phone=True) as page:
        page.goto(f"{server.base}/train")
        page.fill("#game", "tic_tac_toe")
        page.fill("#minutes", "30")
        page.click("button.main")
        page.wait_for_url(f"**/train/run/{TRAINING}")
        page.wait_for_selector("#board svg.board")
        pid = int(re.search(r'"pid": (\d+)', (run / "job.json").read_text()).group(1))
        os.kill(pid, signal.SIGKILL)
        page.locator("button", has_text="Go on").wait_for()
        shutil.move(run / "train.toml", folder / "train.toml")
        (run / "train.toml").write_text('games = ["go:5"]\n')
        page.locator("button", has_text="Go on").click()
        page.locator("button", has_text="Stop").wait_for()
        shutil.move(folder / "train.toml", run / "train.toml")
        page.locator("button", has_text="Stop").click()
        page.locator("button", has_text="Go on").wait_for()
