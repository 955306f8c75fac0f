"""The page of a run while it is being played."""

from __future__ import annotations

import html
import json
import os
import re
import resource
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from browser import browser, opened  # noqa: F401

import jubango as jb
from jubango.analysis.tables.tables import games_frame, kept_after, moves_frame
from jubango.arena.schedule.plan import read_plan
from jubango.arena.serve.live import Live
from jubango.sgf_games.base.errors import UserError

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
PLAN = """
name = "live <i>run"
game = "tic_tac_toe"
games_per_pairing = {games}
games_at_once = 2
[[bots]]
name = "a"
use = "uct"
simulations = 400
[[bots]]
name = "b"
use = "uct"
simulations = 200
"""


def asked(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=120) as answer:
        return answer.read().decode()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "live.toml"
    path.write_text(re.sub(r'"uct"\nsimulations = \d+', '"random"', PLAN.format(games=4)))
    return path


def test_the_page_grows_with_the_run(file, tmp_path):
    live = Live(read_plan(file), tmp_path / "run")
    try:
        assert "No game has ended yet." in asked(live.url)
        run = jb.tournament(file, out=tmp_path / "run", progress=False)
        live.note(run, lambda run: "one line of it")
        answer = json.loads(asked(f"{live.url}new?since=0"))
        assert [game[-1] for game in answer["games"]] == sorted(run.finished)
        assert "one line of it" in answer["summary"]
        assert answer["names"] == ["a", "b"]
        assert answer["again"] >= 1
        assert json.loads(asked(f"{live.url}new?since=3"))["games"] == answer["games"][3:]
        page = asked(live.url)
        assert "connect-src 'self'" in html.unescape(page)
        assert "live &lt;i&gt;run" in page
    finally:
        live.close("it is over")


def test_it_answers_this_machine_alone(file, tmp_path):
    live = Live(read_plan(file), tmp_path / "run")
    try:
        port = int(re.search(r":(\d+)/", live.url)[1])
        with pytest.raises(urllib.error.HTTPError, match="403"):
            asked(live.url, Host="somewhere.example.com")  # a name that leads here from a page of others
        for path in ("x", "../live.toml", "new?since=-1", "new?since=x"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                asked(live.url + path)
        own = socket.gethostbyname(socket.gethostname())
        if own != "127.0.0.1" and not own.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((own, port), timeout=5)
        with pytest.raises(UserError, match=f"--port {port}: cannot be listened to"):
            Live(read_plan(file), tmp_path / "run", port)
    finally:
        live.close("")


def test_who_follows_a_run_reads_every_game_once(file, tmp_path):
    folder = tmp_path / "run"
    jb.tournament(file, games=2, out=folder, progress=False)
    games, moves, row = kept_after(folder, 0)
    assert games.equals(games_frame(folder)) and moves.equals(moves_frame(folder))
    jb.tournament(file, out=folder, progress=False)
    more, _, last = kept_after(folder, row)
    assert len(more) == 2 and set(games["game_id"]) | set(more["game_id"]) == set(games_frame(folder)["game_id"])
    assert len(kept_after(folder, last)[0]) == 0


def visitors(port, idle, half, slow, aborted):
    """Connections that ask nothing, half a question, or for a page that they do not read; of the last ones nothing is
    left."""
    address = "127.0.0.1", port
    asks = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    for said, count in ((b"", idle), (b"GET / HTTP/1.1\r\nHo", half), (asks, slow)):
        for _ in range(count):
            connection = socket.create_connection(address, timeout=60)
            connection.sendall(said)
            yield connection
    for said in (asks[:20], asks) * (aborted // 2):
        with socket.create_connection(address, timeout=60) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it resets
            connection.sendall(said)


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_visitors_of_every_kind_keep_nobody_from_the_page(file, tmp_path, many_files, capfd):
    live = Live(read_plan(file), tmp_path / "run")
    try:
        port = int(re.search(r":(\d+)/", live.url)[1])
        with ExitStack() as held:
            for connection in visitors(port, idle=400, half=100, slow=100, aborted=100):
                held.enter_context(connection)
            with ThreadPoolExecutor(200) as crowd:
                pages = list(crowd.map(asked, [live.url] * 200))
            assert all("No game has ended yet." in page for page in pages)
            own = psutil.Process().net_connections()
            assert len([c for c in own if c.laddr.port == port and c.status == "ESTABLISHED"]) <= 257
        for said in (b"", b"\xff\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 20_000):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1 << 16)
                assert answer.startswith(b"HTTP/1.1 4") if said else not answer
    finally:
        live.close("")
    assert capfd.readouterr() == ("", "")


def test_no_visitor_ends_a_run(tmp_path):
    """A process that may have few files open, while many connections to its page are."""
    path = tmp_path / "live.toml"
    path.write_text(re.sub(r'"uct"\nsimulations = \d+', '"random"', PLAN.format(games=4000)))
    command = [sys.executable, "-m", "jubango.arena.commands", "tournament", str(path), "--out", str(tmp_path / "run")]
    few = f"ulimit -n 128; exec {shlex.join([*command, '--serve'])}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(["sh", "-c", few], stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            port = next(int(found[1]) for line in process.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)/", line)))
            with ExitStack() as held:
                for connection in visitors(port, idle=200, half=20, slow=20, aborted=40):
                    held.enter_context(connection)
                _, said = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "Traceback" not in said and "Too many open files" not in said


def test_a_browser_sees_a_run_to_its_end(browser, tmp_path):  # noqa: F811
    """A real tournament, which is stopped while somebody looks."""
    path = tmp_path / "live.toml"
    path.write_text(PLAN.format(games=40_000))
    code = (
        "from jubango.arena.serve import live; live.LAST_ANSWER = 60.0; from jubango.arena.commands import main; main()"
    )
    command = [sys.executable, "-c", code, "tournament", str(path), "--out", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*command, "--serve"], stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            url = ""
            for line in process.stderr:
                if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                    url = found[0]
                    break
            with opened(browser, url, patience=120_000) as view:
                view.wait_for_selector("table.standings")
                view.locator("#list tbody tr").first.click()
                before = view.locator("#count").inner_text()
                view.wait_for_function("(text) => document.getElementById('count').textContent !== text", arg=before)
                assert view.locator(".board .last").count() == 1, "the game that was opened stays"
                assert "of 40000 games" in view.locator("header").inner_text().replace(",", "")
                process.send_signal(signal.SIGINT)
                view.wait_for_function("() => document.getElementById('live').textContent.includes('has stopped')")
                time.sleep(1.5)
        finally:
            process.kill()
