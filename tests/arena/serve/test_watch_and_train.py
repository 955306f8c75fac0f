"""The rooms Watch and Train as a program asks them: what a form may say, whose runs are stopped, what is shown."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import shutil

import pytest
from starlette.testclient import TestClient

import jubango as jb
from jubango.arena import found_runs
from jubango.arena.runs.under_way import SHOWN_BOARDS, WATCHED
from jubango.arena.runs.work_folder import locked
from jubango.arena.schedule.plan import make_plan, parse_plan
from jubango.arena.serve.app import make_app
from jubango.arena.serve.site import Site
from jubango.arena.serve.train.reading import TrainingFolder
from jubango.arena.serve.watch.run_view import shown_boards
from jubango.arena.serve.watch.starting import check_file, file_of_form
from jubango.arena.serve.work.jobs import Jobs
from jubango.arena.serve.work.listing import Listing
from jubango.arena.serve.work.polling import Polled
from jubango.arena.training.sitting import SittingFile
from jubango.sgf_games.library.folder import Folder

HOST = "127.0.0.1:8361"
BOTS = ["random", "random:name=second"]
FORM = {"name": "ladder", "game": "tic_tac_toe", "games": 6, "seed": 3, "bots": ["random", "uct:simulations=8", " "]}
ENGINE = 'gtp:command="touch owned"'
ENGINE_FILE = """
name = "owned"
game = "go:9"
[[bots]]
use = "random"
[[bots]]
name = "x"
use = "gtp"
command = "touch owned"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A run whose bots have names that would do something on a page that believed them."""
    out = tmp_path_factory.mktemp("played") / "run"
    jb.match("random", 'random:name="<img src=x onerror=alert(1)>"', "tic_tac_toe", 4, out)
    return out


@pytest.fixture
def client(folder):
    with TestClient(make_app(Site(Folder(folder)), "", [HOST]), base_url=f"http://{HOST}") as client:
        client.headers["origin"] = f"http://{HOST}"
        yield client


def refused(client, address: str, data: dict[str, object]) -> str:
    answer = client.post(address, json=data)
    assert answer.status_code == 400
    said = answer.json()["error"]
    assert "\n" not in said
    return said


def test_a_form_says_what_a_file_would(client):
    text = client.post("/watch/toml", json=FORM).json()["toml"]
    assert text.count("[[bots]]") == 2
    plan = parse_plan(text, "the file")
    same = make_plan("tic_tac_toe", ["random", "uct:simulations=8"], {"name": "ladder", "games": 6, "seed": 3})
    assert (plan.name, plan.game, plan.bots, plan.seed) == (same.name, same.game, same.bots, same.seed)
    assert plan.format == same.format
    assert list(plan.tasks()) == list(same.tasks())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bots": ["random", ENGINE]}, "engines are not started from the page"),
        ({"bots": ["random", 'process:command="touch owned"']}, "engines are not started from the page"),
        ({"bots": ["random", "gumbel:network=/etc/passwd"]}, "is not in the folder that is served"),
        ({"bots": ["random", "gumbel:network=../x.safetensors"]}, "is not in the folder that is served"),
        ({"bots": ["random", "gumbel:network=katago:/etc/passwd"]}, "is not in the folder that is served"),
        ({"openings": "/etc"}, "is not in the folder that is served"),
        ({"name": "../out"}, "letters, digits"),
        ({"name": "a" * 61}, "letters, digits"),
        ({"name": ""}, "letters, digits"),
        ({"game": "chess"}, "no game is called"),
        ({"games": 7}, "games"),
        ({"games": "many"}, "games: has to be a number"),
        ({"bots": ["random"]}, "needs two or more"),
        ({"bots": "random"}, "bots: have to be a list"),
    ],
)
def test_what_a_form_may_not_say(client, folder, change, said):
    assert said in refused(client, "/watch/toml", {**FORM, **change})
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        ENGINE_FILE,
        ENGINE_FILE.replace('use = "gtp"', 'use = "process"'),
        ENGINE_FILE.replace('command = "touch owned"', ""),
        ENGINE_FILE.replace('use = "gtp"', 'use = "uct"'),
        ENGINE_FILE.replace('use = "gtp"\ncommand = "touch owned"', 'use = "gumbel"\nnetwork = ["/etc/passwd"]'),
        'openings = "/etc/passwd"\n' + ENGINE_FILE.replace('use = "gtp"\ncommand = "touch owned"', 'use = "uct"'),
        "name = 3",
        "[[",
        "x = 1\n" * 60_000,
    ],
)
def test_a_file_that_a_page_may_not_have_run(client, folder, text):
    refused(client, "/watch/start", {"toml": text})
    assert list(folder.iterdir()) == []


def test_the_file_of_a_level_is_one_that_may_be_run(folder):
    text = file_of_form({**FORM, "game": "tic_tac_toe", "bots": ["level=600", "random"]}, Folder(folder))
    assert check_file(text, Folder(folder)).bots[1].name == "random"


def test_a_tournament_that_was_stopped_before_its_first_game_is_begun_again(client, folder, monkeypatch):
    """By *Go on*, and by the form; a file that somebody has written there is not written over."""
    started = []
    monkeypatch.setattr(Jobs, "start", lambda self, run, words: started.append((run, *words)))
    toml = {"toml": file_of_form(FORM, Folder(folder))}
    (folder / "runs").mkdir()
    (folder / "runs" / "ladder.toml").write_text("# mine\n")
    assert "says something else" in refused(client, "/watch/start", toml)
    (folder / "runs" / "ladder.toml").unlink()
    assert client.post("/watch/start", json=toml).status_code == 200
    begun = ("runs/ladder", "tournament", "runs/ladder.toml", "--out", "runs/ladder")
    (folder / "runs" / "ladder").mkdir()
    (folder / "runs" / "ladder" / "job.json").write_text("{}")
    assert client.post("/watch/start", json=toml).status_code == 200
    monkeypatch.setattr(Listing, "row", lambda self, name: {"name": name, "kind": "tournament"})
    assert client.post("/watch/go", json={"run": "runs/ladder"}).status_code == 200
    assert started == [begun] * 3
    monkeypatch.setattr(Jobs, "is_running", lambda self, run: True)
    assert "already" in refused(client, "/watch/start", toml), "it is about to play"
    monkeypatch.undo()
    (folder / "runs" / "ladder" / "train.toml").write_text("games = ['tic_tac_toe']")
    assert "already" in refused(client, "/watch/start", toml), "a training is no tournament"
    (folder / "runs" / "ladder" / "job.json").unlink()
    assert "already" in refused(client, "/watch/start", toml)


def test_a_run_whose_folder_is_deleted_is_none_any_more(folder):
    files = Folder(folder)
    jobs = Jobs(files)
    jobs.start("runs/x", ["tournament", "no-such-file.toml", "--out", "runs/x"])
    jobs._own["runs/x"].kill()
    jobs._own["runs/x"].wait()
    (row,) = Listing(files, jobs).rows()
    assert (row["name"], row["state"]) == ("runs/x", "interrupted")
    shutil.rmtree(folder / "runs")
    assert not Listing(files, jobs).rows()


def test_a_run_that_is_played_anew_has_its_new_games(client, folder, played, tmp_path):
    """Even if the new database has the old one's number: many file systems give it to the next file at once."""
    run, anew = folder / "one", tmp_path / "anew"
    shutil.copytree(played, run)
    assert len(client.get("/watch/new/one?since=0").json()["games"]) == 4
    number = (run / "results.sqlite").stat().st_ino
    jb.match("random", "random:name=other", "tic_tac_toe", 2, anew, seed=9)
    shutil.copytree(anew, run, copy_function=shutil.copyfile, dirs_exist_ok=True)
    assert (run / "results.sqlite").stat().st_ino == number
    assert "other" in client.get("/watch/run/one").text
    assert len(client.get("/watch/new/one?since=0").json()["games"]) == 2


def test_a_game_s_file_with_numbers_that_are_none(client, folder):
    (folder / "games").mkdir()
    (folder / "games" / "0123456789ab.json").write_text('{"thoughts": [[1, NaN]]}')
    answer = client.get("/play/0123456789ab/events")
    assert (answer.status_code, "is damaged" in answer.text) == (404, True)
    (folder / "games").rename(folder / "elsewhere")
    (folder / "games").symlink_to(folder / "elsewhere")
    assert client.get("/play/list").json() == {"games": []}


def test_a_run_on_its_page(client, folder, played):
    shutil.copytree(played, folder / "runs" / "one")
    page = client.get("/watch/run/runs/one")
    assert page.status_code == 200
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.text
    assert "<img" not in page.text
    assert "4 of 4 games; it is complete." in page.text
    new = client.get("/watch/new/runs/one?since=1").json()
    assert (len(new["games"]), new["since"], new["again"]) == (3, 1, 5.0)
    assert "<h2>Crosstable</h2>" in new["summary"]
    assert client.get("/watch/new/runs/one?since=4").json()["summary"] == "", "there is nothing new"
    report = client.get("/watch/report/runs/one")
    assert report.headers["content-disposition"] == "attachment; filename*=UTF-8''one.html"
    assert report.text.startswith("<!doctype html>")


def test_nothing_outside_the_folder(client, folder, played, tmp_path):
    shutil.copytree(played, tmp_path / "outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    for name in ("../outside", "link", "..%2foutside", "%2e%2e/outside", str(tmp_path / "outside"), "", "none"):
        for what in ("run", "new", "report", "feed"):
            answer = client.get(f"/watch/{what}/{name}")
            assert answer.status_code == 404, name
            assert "<img" not in answer.text
        assert client.get(f"/train/run/{name}").status_code == 404
        for act in ("/watch/stop", "/watch/go", "/train/stop", "/train/go"):
            refused(client, act, {"run": name})
    assert not (tmp_path / "outside" / WATCHED).exists()


def test_a_run_with_engines_is_not_gone_on_with(client, folder, played):
    run = folder / "sent"
    shutil.copytree(played, run)
    text = (run / "tournament.toml").read_text()
    engine = text.replace("bots = [", 'bots = [{ name = "x", use = "gtp", command = "touch owned" },')
    (run / "tournament.toml").write_text(engine.replace('"tic_tac_toe"', '"go:5"'))
    said = refused(client, "/watch/go", {"run": "sent"})
    assert "engines are not started from the page" in said or "damaged" in said
    assert not list(folder.glob("**/owned"))


def test_a_tuning_with_engines_is_not_gone_on_with(client, folder):
    own = folder / "sent"
    own.mkdir()
    (own / "tune.toml").write_text(
        'name = "sent"\ngame = "go:5"\ngames = 8\n'
        "opponents = ['gtp:command=\"touch owned\"']\n"
        '[bot]\nuse = "uct"\nsimulations = 8\n[[settings]]\nkey = "c"\nlow = 0.1\nhigh = 2.0\n'
    )
    assert "engines are not started from the page" in refused(client, "/watch/go", {"run": "sent"})
    assert "which has no games to show" in client.get("/watch/new/sent").text
    assert client.get("/watch/run/sent").status_code == 200
    assert not list(folder.glob("**/owned"))


def test_what_somebody_else_runs_is_not_stopped_here(client, folder, played):
    """Even where a file in the folder names this very process."""
    shutil.copytree(played, folder / "one")
    (folder / "one" / "job.json").write_text(json.dumps({"pid": os.getpid(), "began": 1.0}))
    assert "is not running" in refused(client, "/watch/stop", {"run": "one"})
    with locked(folder / "one"):
        assert "was begun elsewhere" in refused(client, "/watch/stop", {"run": "one"})
        assert "is being worked on already" in refused(client, "/watch/go", {"run": "one"})
        row = Listing(Folder(folder), Jobs(Folder(folder))).row("one")
        assert (row["state"], row["ours"]) == ("running", False)
    assert "is a match, which has no page in Train" in refused(client, "/train/go", {"run": "one"})


def test_only_runs_that_have_changed_are_read_again(folder, played, monkeypatch):
    shutil.copytree(played, folder / "a")
    shutil.copytree(played, folder / "b")
    read, real = [], found_runs.found_run
    monkeypatch.setattr(found_runs, "found_run", lambda path, within: read.append(path.name) or real(path, within))
    listing = Listing(Folder(folder), Jobs(Folder(folder)))
    assert sorted(row["name"] for row in listing.rows()) == ["a", "b"]
    read.clear()
    assert len(listing.rows()) == 2
    assert [name for name in read if name in "ab"] == []
    os.utime(folder / "b" / "results.sqlite")
    listing.rows()
    assert [name for name in read if name in "ab"] == ["b"]


def test_a_server_stops_while_somebody_looks(folder):
    async def stopped() -> list[dict[str, object]]:
        troubles: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, trouble: troubles.append(trouble))
        site, number = Site(Folder(folder)), itertools.count()
        stream = await Polled(site, 0.001).answer("", lambda: {"number": next(number)})
        stream._feed._join()
        while next(number) < 3:
            await asyncio.sleep(0.01)
        await site.end()
        await asyncio.sleep(0.05)
        gc.collect()  # what nobody has asked a task for is said when it goes
        return troubles

    assert asyncio.run(stopped()) == []


def test_boards_are_shown_to_who_watches(folder):
    (folder / SHOWN_BOARDS).write_text(
        '[{"id": "g", "black": "a", "white": "b", "moves": 3, "thought": "", "stones": "X..", "last": 0}, {"id": 1}]'
    )
    assert [one["stones"] for one in shown_boards(Folder(folder))] == ["X.."]
    assert (folder / WATCHED).exists()
    (folder / SHOWN_BOARDS).write_text("{")
    assert shown_boards(Folder(folder)) == []


def test_a_training_as_its_page_shows_it(client, folder):
    own = folder / "t"
    own.mkdir()
    (own / "train.toml").write_text('games = ["tic_tac_toe"]\n')
    (own / "matches.csv").write_text(
        "seconds,trained_games,network,opponent,wins,draws,losses\n10.0,50,net-0001,random,20,6,6\nnot,a,row\n"
        "20.0,90,net-0002,net-0001,9,4,3\n20.0,90,net-0002,random,15,1,0\n30.0,91,net-0003,ran"
    )
    file = SittingFile(Folder(own), 2.0, float("inf"), 1.0, 32)
    file.note("self-play", "", 60.0, {"seconds": 60.0, "games": 91, "positions": 400}, 12)
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    look = TrainingFolder(Folder(own)).look()
    assert [one["network"] for one in look["matches"]] == ["net-0002", "net-0002"]
    assert [seconds for seconds, _, _ in look["elo"]] == [10.0, 20.0]
    assert look["elo"][1][1] > look["elo"][0][1] > 0, "over the random player"
    assert look["sitting"]["minutes"] == 2.0
    assert before == {path.name: path.read_bytes() for path in own.iterdir()}, "nothing is written"
    page = client.get("/train/run/t")
    assert page.status_code == 200
    assert '"spec": "tic_tac_toe"' in page.text
    assert client.get("/watch/run/t").status_code == 404


@pytest.mark.parametrize(
    "data",
    [{"game": "chess", "minutes": 1}, {"game": "go:9", "minutes": 0}, {"game": "go:9"}, {"game": 3, "minutes": 1}],
)
def test_what_cannot_be_trained(client, folder, data):
    refused(client, "/train/start", data)
    assert list(folder.iterdir()) == []
