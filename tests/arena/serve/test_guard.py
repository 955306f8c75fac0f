"""Who may ask: other sites, other names, other machines, hostile files and slow readers come to nothing."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from starlette.testclient import TestClient

from jubango.arena.serve.app import make_app
from jubango.arena.serve.site import Site
from jubango.arena.serve.web.events import MOST_KINDS_WAITING, MOST_OF_A_BROWSER, EventStream, Feed
from jubango.arena.serve.web.listening import bound, own_token
from jubango.arena.serve.web.posts import MOST_POSTED
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder

TOKEN = "0123456789abcdef" * 3
HOST = "127.0.0.1:8361"
OWN = {"host": HOST, "origin": f"http://{HOST}"}


@pytest.fixture
def site(tmp_path):
    found = Site(Folder(tmp_path))
    found.warm = lambda: None  # nothing of this needs JAX
    yield found
    found.close()


def client(site, host=HOST, anywhere=False):
    return TestClient(make_app(site, TOKEN, [host], anywhere), base_url=f"http://{host}")


@pytest.fixture
def stranger(site):
    return client(site)


@pytest.fixture
def guest(site):
    found = client(site)
    assert found.get(f"/?token={TOKEN}").status_code == 200
    return found


def test_the_token_is_asked_for_once_and_then_the_cookie_does(stranger):
    assert stranger.get("/play").status_code == 403
    assert stranger.get("/files/board.js").status_code == 403
    assert stranger.get("/?token=wrong").status_code == 403
    assert stranger.get("/?token=").status_code == 403
    answer = stranger.get(f"/play?token={TOKEN}&game=go")
    assert answer.headers["refresh"] == "0; url=/play?game=go"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/play").status_code == 200
    stranger.cookies.clear()
    assert stranger.get("/play").status_code == 403
    assert stranger.get("/play", headers={"cookie": "jubango-8361=guess"}).status_code == 403


def test_the_way_on_leads_nowhere_else(stranger):
    answer = stranger.get(f"http://{HOST}//elsewhere.example/?token={TOKEN}")
    assert answer.headers["refresh"] == "0; url=/elsewhere.example/"
    answer = stranger.get(f"/watch/run/a%0Ab%20%C3%A9?token={TOKEN}")
    assert answer.headers["refresh"] == "0; url=/watch/run/a%0Ab%20%C3%A9"


def test_a_browser_leaves_port_80_out(site):
    served = client(site, "127.0.0.1:80")
    for host, status in (("127.0.0.1", 200), ("127.0.0.1:80", 200), ("evil.example", 403)):
        assert served.get(f"/?token={TOKEN}", headers={"host": host}).status_code == status


@pytest.mark.parametrize("host", ["evil.example:8361", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8361", ""])
def test_another_name_of_this_machine_is_refused(guest, host):
    """What a page gets that has its own name lead to 127.0.0.1 (DNS rebinding)."""
    assert guest.get("/play", headers={"host": host}).status_code == 403


def test_numbers_are_names_where_every_address_is_listened_to(site):
    found = client(site, anywhere=True)
    found.get(f"/?token={TOKEN}")
    jar = {"cookie": "; ".join(f"{k}={v}" for k, v in found.cookies.items())}
    assert found.get("/play", headers={**jar, "host": "192.168.1.7:8361"}).status_code == 200
    assert found.get("/play", headers={**jar, "host": "[fe80::1]:8361"}).status_code == 200
    assert found.get("/play", headers={**jar, "host": "evil.example:8361"}).status_code == 403
    assert found.get("/play", headers={**jar, "host": "192.168.1.7:80"}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", f"https://{HOST}", "http://localhost:8361"]
)
def test_a_stolen_cookie_from_another_origin_is_refused(guest, origin):
    for method in ("GET", "POST"):
        answer = guest.request(method, "/play/new", headers={"host": HOST, "origin": origin}, json={})
        assert answer.status_code == 403, (method, origin)
        assert "access-control-allow-origin" not in answer.headers


def test_a_post_says_where_it_is_from(guest):
    assert guest.post("/play/new", json={}, headers={"host": HOST}).status_code == 403
    assert guest.post("/play/new", json={}, headers=OWN).status_code == 400  # asked, and it names no game


@pytest.mark.parametrize("site_of", ["cross-site", "same-site"])
def test_what_other_pages_load_is_refused(guest, site_of):
    for mode in ("no-cors", "cors"):
        answer = guest.get("/files/board.js", headers={"sec-fetch-site": site_of, "sec-fetch-mode": mode})
        assert answer.status_code == 403
    assert guest.get("/play", headers={"sec-fetch-site": site_of, "sec-fetch-mode": "navigate"}).status_code == 200


def test_no_page_frames_ours_and_ours_loads_nothing_else(guest):
    head = guest.get("/play").headers
    policy = head["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "'unsafe" not in policy
    assert "http" not in policy and "*" not in policy
    assert head["x-content-type-options"] == "nosniff"
    assert head["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in head if name.startswith("access-control")]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_are_no_json(guest, kind):
    answer = guest.post("/play/new", content=b'{"game": "tic_tac_toe"}', headers={**OWN, "content-type": kind})
    assert answer.status_code == 400


def test_too_much_and_nonsense_is_one_line(guest):
    head = {**OWN, "content-type": "application/json"}
    for content in (b"[" * 100_000, b"{", b"[]", b"3", b"{}" + b" " * MOST_POSTED, b'{"a": ' * 20_000):
        answer = guest.post("/play/new", content=content, headers=head)
        assert answer.status_code == 400 and "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/files/../site.py", "/files/..%2fsite.py", "/files/shell.html", "/files/.css", "/files/%00.js", "/files/a/b.js",
     "/play/../../../etc/passwd", "/analyse/..%2f..%2fetc/review.html", "/play/0123/game.sgf"],
)  # fmt: skip
def test_only_the_pages_own_files_are_sent(guest, path):
    answer = guest.get(path)
    assert answer.status_code == 404 or "<h1" in answer.text  # a page without a game


def test_a_link_out_of_the_folder_is_not_followed(guest, tmp_path):
    (tmp_path / "analyses").mkdir()
    secret = tmp_path.parent / "secret"
    secret.write_text("a secret")
    (tmp_path / "analyses" / "0123456789ab.html").symlink_to(secret)
    assert guest.get("/analyse/0123456789ab/review.html").status_code == 404
    (tmp_path / "analyses" / "0123456789ab.html").unlink()
    (tmp_path / "analyses" / "0123456789ab.html").write_text("<script>1</script>")
    answer = guest.get("/analyse/0123456789ab/review.html")
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts;")


def test_a_port_that_is_taken_is_one_line():
    with bound("127.0.0.1", 0) as first, pytest.raises(UserError, match="cannot be listened to"):
        bound("127.0.0.1", first.getsockname()[1])
    with pytest.raises(UserError, match="nowhere"):
        bound("nowhere.invalid", 0)


def test_the_token_is_kept_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("platformdirs.user_state_path", lambda name: tmp_path / name)
    token = own_token()
    assert own_token() == token and len(token) >= 32
    file = tmp_path / "jubango" / "serve-token"
    assert file.read_text() == token
    assert os.stat(file).st_mode & 0o077 == 0
    file.write_text("short")
    assert own_token() not in (token, "short")


# -- events ------------------------------------------------------------------------------------------


class Reader:
    """Somebody at a stream, who takes what is sent, or does not."""

    def __init__(self, stream: EventStream, takes: bool = True, client: str = "10.0.0.1") -> None:
        self.heard, self.takes = b"", takes
        self._gone, self._client = asyncio.Event(), client
        self.task = asyncio.create_task(stream({"type": "http", "client": (client, 1)}, self._receive, self._send))

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if message["type"] == "http.response.body":
            if not self.takes:
                await asyncio.sleep(3600)
            self.heard += message["body"]

    def leave(self):
        self._gone.set()


def test_a_slow_reader_holds_up_nobody(monkeypatch):
    monkeypatch.setattr("jubango.arena.serve.web.events.SEND_SECONDS", 0.3)

    async def scene():
        feed = Feed(lambda: {"now": 1})
        slow, quick = Reader(feed.answer(), takes=False), Reader(feed.answer(), client="10.0.0.2")
        await asyncio.sleep(0.05)
        for i in range(2000):
            feed.send("search", {"i": i})
        await asyncio.sleep(0.05)
        assert quick.heard.count(b"event: all") == 1
        assert b'{"i": 1999}' in quick.heard and quick.heard.count(b"event: search") < 10  # the newest alone
        await asyncio.wait_for(slow.task, 5)  # it loses its connection
        assert len(feed._readers) == 1
        quick.leave()
        await asyncio.wait_for(quick.task, 5)
        assert not feed.watched

    asyncio.run(scene())


def test_what_waits_for_a_reader_is_bounded():
    async def scene():
        feed = Feed(dict)
        reader = feed._join()
        for i in range(10 * MOST_KINDS_WAITING):
            feed.send(f"kind{i}", {})
        assert reader.over

    asyncio.run(scene())


def test_a_browser_with_200_tabs_keeps_connections_for_pages():
    """Browsers open six connections to a server: streams take turns, and the others are ended."""

    async def scene():
        feed = Feed(lambda: {"a": 1})
        tabs = [Reader(feed.answer()) for _ in range(200)]
        await asyncio.sleep(0.5)
        assert len(feed._readers) == MOST_OF_A_BROWSER
        assert all(b'{"a": 1}' in tab.heard for tab in tabs)  # every one of them was told
        assert sum(tab.task.done() for tab in tabs) == 200 - MOST_OF_A_BROWSER
        for tab in tabs:
            tab.leave()
        await asyncio.gather(*(tab.task for tab in tabs))
        assert not EventStream._of_browsers

    asyncio.run(scene())


# -- what files and pages say ------------------------------------------------------------------------


def test_a_page_names_no_commands_and_no_files_outside(guest, tmp_path):
    (tmp_path / "link.safetensors").symlink_to("/etc/passwd")
    for bot in ('gtp:command="touch /tmp/x"', "process:command=x", "alphazero:network=/etc/passwd",
                "alphazero:network=../x", "alphazero:network=link.safetensors", "nothing", "uct:simulations=-1"):  # fmt: skip
        answer = guest.post("/play/new", json={"game": "tic_tac_toe", "black": "human", "white": bot}, headers=OWN)
        assert answer.status_code == 400, bot
        assert "\n" not in answer.json()["error"]
    assert not (tmp_path / "games").exists()


HOSTILE = {
    "deep": "(;GM[1]SZ[9]" * 5000,
    "long": "(;GM[1]SZ[9]" + ";B[aa];W[bb]" * 20_000 + ")",
    "no SGF": "<script>alert(1)</script>",
    "board": "(;GM[1]SZ[52:1000])",
    "huge": "(;GM[1]SZ[99999999999999999999])",
    "spec": "(;GM[1]JG[go:9,komi=__import__('os')])",
    "bytes": "(;GM[1]SZ[9]\x00;B[\ud800])",
    "illegal": "(;GM[1]SZ[9];B[aa];W[aa])",
    "empty": "()",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_sgf_is_one_line(guest, kind):
    text = json.dumps({"sgf": HOSTILE[kind]}).encode()
    answer = guest.post("/analyse/new", content=text, headers={**OWN, "content-type": "application/json"})
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"] and "Traceback" not in answer.text


def test_markup_in_an_sgf_stays_text(guest, tmp_path):
    sgf = "(;GM[1]SZ[9]PB[<img src=x onerror=alert(1)>]PW[\u202ereversed]RE[<b>];B[ee])"
    answer = guest.post("/analyse/new", json={"sgf": sgf}, headers=OWN)
    assert answer.status_code == 200
    page = guest.get(f"/analyse/{answer.json()['id']}").text
    assert "onerror" not in page
    assert "<img" not in guest.get("/analyse/list").headers["content-type"]
    assert guest.get("/analyse/list").headers["content-type"] == "application/json"
