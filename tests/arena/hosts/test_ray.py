"""Hosts on a Ray cluster: three nodes on this machine, of which one is lost and one comes late."""

from __future__ import annotations

import csv
import importlib.util
import os
import socket
import sys
import threading
import time
import types

import pytest

from jubango.arena.commands import load_plugins
from jubango.arena.commands import run as command
from jubango.arena.hosts.cluster import Cluster
from jubango.arena.hosts.fleet import CAME, GONE
from jubango.arena.hosts.fleets import ray_fleet, ray_host
from jubango.arena.hosts.fleets.ray_fleet import RayFleet, reason
from jubango.arena.hosts.fleets.ray_host import RayHost, SharedWeights
from jubango.arena.hosts.protocol import HostWork
from jubango.arena.hosts.signature import code_digest
from jubango.arena.runs.play import play_plan
from jubango.arena.schedule.plan import make_plan
from jubango.bots.networks.checkpoint import packed_weights
from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.own_parts import LOADED
from jubango.sgf_games.rules.catalogue import make_game

installed = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install 'jubango[cluster]'"
)
# A player who waits until this file is there, once it has made more moves than what a host proves itself by.
GATED = """
import pathlib, time
import jubango as jb

@jb.player("gated")
class Gated(jb.Player):
    made = []

    def play(self, position):
        self.made.append(position)
        while len(self.made) > 60 and not pathlib.Path({gate!r}).exists():
            time.sleep(0.05)
        return position.legal_moves[len(position.legal_moves) // 2]
"""


@pytest.mark.parametrize("text", ["auto,x", "ray://", "ray://host", "ray://host:x", "host:123456", ":6379"])
def test_what_names_no_cluster_is_said_in_one_line(text):
    with pytest.raises(UserError, match=r"auto or HOST:PORT for a Ray cluster"):
        Cluster.parse(text)


@pytest.mark.parametrize("text", ["auto", "ray://head:10001", "192.0.2.7:6379", "[2001:db8::1]:6379", "auto,mixed"])
def test_what_names_one(text):
    found = Cluster.parse(text)
    assert (found.kind, found.mixed) == ("ray", "mixed" in text) and isinstance(found.fleet(), RayFleet)


def test_without_ray_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert command(["match", "random", "random", "--game", "tic_tac_toe", "--games", "2", "--cluster", "auto"]) == 2
    said = capsys.readouterr().err
    assert "cluster \"auto\": Ray clusters need ray: pip install 'jubango[cluster]'" in said and said.count("\n") == 1


@installed
def test_where_nothing_answers_is_said_in_one_line(capsys):
    with pytest.raises(UserError, match=r'cluster "127.0.0.1:1": nothing answers there: .*refused'):
        RayFleet("127.0.0.1:1").start()


@installed
@pytest.mark.parametrize("said", [b"HTTP/1.0 400 Bad request\r\n\r\n", b""])
def test_what_is_no_ray_is_said_in_one_line(said):
    """And soon: Ray itself would wait for it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            line, _ = server.accept()
            with line:
                line.recv(100)
                line.sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(UserError, match="what answers there is no Ray cluster"):
            RayFleet(f"127.0.0.1:{server.getsockname()[1]}").start()


@installed
@pytest.mark.parametrize(
    ("said", "asked", "told"),
    [
        ("Starting Ray client server failed. See the log.", 3, "its head was too busy to take a client in, 3 times"),
        ("GRPC connection failed", 1, "cannot be joined: is its token here"),
    ],
)
def test_a_head_that_is_busy_is_asked_again(monkeypatch, said, asked, told):
    import ray

    tries = []

    def refuse(**_):
        tries.append(1)
        raise ConnectionError(said)

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr("jubango.arena.hosts.fleets.ray_fleet._speaks_grpc", lambda host, port: True)
    with pytest.raises(UserError, match=told):
        RayFleet("ray://127.0.0.1:10001").start()
    assert len(tries) == asked


def error(name, text, cause=None):
    found = type(name, (Exception,), {})(text)
    found.cause = cause
    return found


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (error("ActorDiedError", "The actor died unexpectedly before finishing this task."), "its process has ended"),
        (error("ActorDiedError", "The actor died because its node has died. Node Id: 1\n"), "its node is gone"),
        (error("ActorDiedError", "in its creation task\nModuleNotFoundError: No module named 'jubango'\n"),
         "ModuleNotFoundError: No module named 'jubango'"),
        (error("NodeDiedError", "x"), "its node is gone"),
        (error("ActorUnavailableError", "x"), "its node cannot be reached"),
        (error("GetTimeoutError", "x"), "no answer in time"),
        (error("RayTaskError", "x", UserError("bot \"a\": no such file")), "bot \"a\": no such file"),
        (error("RayTaskError", "x", ValueError("a\nb")), "ValueError: a b"),
        (error("Strange", "\n\na\nlast  line\n"), "Strange: last line"),
    ],
)  # fmt: skip
def test_why_a_host_is_gone(what, said):
    assert reason(what) == said


def test_weights_come_to_the_host(tmp_path, monkeypatch):
    """The file that a bot names need not be on the host's machine."""
    game = make_game("tic_tac_toe")
    shape = Shape.of(game, 4, 1)
    data = packed_weights(new_weights(shape, 1), shape)
    (tmp_path / "net.safetensors").write_bytes(data)
    asked = []
    ray = types.SimpleNamespace(get=lambda ref: asked.append(ref) or ref, put=lambda data: data)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_host, "cache_folder", lambda name: tmp_path)
    fleet = RayFleet("auto")
    fleet._ray = ray
    name = str(tmp_path / "net.safetensors")
    bot = {"name": "n", "use": "gumbel", "network": name, "simulations": 2}
    work = HostWork("tic_tac_toe", (bot, {"name": "r", "use": "random"}), 2)
    weights = fleet._weights(work)
    assert list(weights) == [name]
    os.remove(name)
    for _ in range(2):
        host = RayHost()
        said = host.answer("hello", work, weights)
        assert not said.problem and said.networks == {name: weights[name].digest}
    assert len(asked) == 1, "it is kept by its digest"
    (tmp_path / f"{weights[name].digest}.safetensors").write_bytes(b"damaged")
    assert not RayHost().answer("hello", work, weights).problem
    assert len(asked) == 2, "and fetched again if it is damaged"
    assert RayHost().answer("hello", work, {}).problem
    assert isinstance(weights[name], SharedWeights)


def waited(fleet, *wanted):
    """The events until these have come, (what, host) each; a host that comes under another name than all before is
    None."""
    found = []
    until = time.monotonic() + 400
    while not set(wanted) <= {event.what for event in found} and time.monotonic() < until:
        found += fleet.poll(0.2)
    assert set(wanted) <= {event.what for event in found}, found
    return found


def played(run):
    return run.games[["game_id", "black", "white", "moves", "result", "reason", "seed"]].to_dict("records")


@installed
@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*os.fork")
def test_three_nodes_of_which_one_is_lost_and_one_comes_late(tmp_path, monkeypatch, capfd):
    """All in one test, so that no two clusters are on one machine at once."""
    from ray.cluster_utils import Cluster as Nodes

    gate = tmp_path / "gate"
    (tmp_path / "gated_player.py").write_text(GATED.format(gate=str(gate)))
    monkeypatch.setenv("JUBANGO_PLUGINS", "gated_player")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ray_fleet, "NODES_SECONDS", 0.5)
    load_plugins()
    code_digest.cache_clear()
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 5}
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": quick})
    try:
        second = nodes.add_node(num_cpus=1)
        plan = make_plan(
            "tic_tac_toe", ["gated", "random", "uct:simulations=4"], {"games": 100, "games_at_once": 4, "seed": 3}
        )
        done = []

        def look(run):
            lines = list(run.table.hosts) if run.table else []
            plays = sum(": plays" in line for line in lines)
            if not done and plays == 2:
                done.append(nodes.add_node(num_cpus=1))
            elif len(done) == 1 and plays == 3:  # the late one has games: those of the two others are held up
                nodes.remove_node(second, allow_graceful=False)
                done.append(second)
            elif len(done) == 2 and any("is gone" in note for note in run.notes):
                gate.touch()
                done.append(gate)

        capfd.readouterr()
        run = play_plan(plan, tmp_path / "run", look, hosts=Cluster.parse(nodes.address))
        said = capfd.readouterr()
        assert len(done) == 3 and not run.missing
        assert played(run) == played(play_plan(plan))
        assert any("is gone: its node" in note and "leased again" in note for note in run.notes), run.notes
        with open(tmp_path / "run" / "hosts.csv") as file:
            rows = list(csv.DictReader(file))
        assert [row["state"] for row in rows].count("gone") == 1
        assert sum(int(row["games"]) for row in rows) == 300 and not any(int(row["differed"]) for row in rows)
        assert int(rows[-1]["games"]), "the one that came late has played"
        assert "raylet" not in said.out + said.err, "Ray's own lines stay away"

        nodes.wait_for_nodes()  # an answer that did not come may be heard of before Ray knows that the node is gone
        fleet = RayFleet(nodes.address)  # again, from the same process
        fleet.start()
        try:
            assert fleet.coming == 2
            hosts = [event.host for event in waited(fleet, CAME)]
            fleet.kill(hosts[0])
            events = waited(fleet, GONE, CAME)
            assert (hosts[0], GONE) in [(event.host, event.what) for event in events]
        finally:
            fleet.close()
    finally:
        nodes.shutdown()
        LOADED.clear()
        code_digest.cache_clear()
