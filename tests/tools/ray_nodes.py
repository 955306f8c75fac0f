"""A Ray cluster on this machine, each node of it as ``ray start`` begins it, in a network namespace of its own if that
is wanted; for what damages it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from gtp_talk import ROOT

RAY = [sys.executable, "-m", "ray.scripts.scripts"]
START_SECONDS = 120.0  # of a node
QUICK_HEALTH = (
    '{"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_timeout_ms": 1000, '
    '"health_check_failure_threshold": 5}'
)  # a node that does not answer is dead after 5 to 10 seconds, not after a minute


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def gone(process: psutil.Process) -> bool:
    """Has it ended, if only its parent has not asked how?"""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Node:
    """One node: a raylet, what belongs to it, and its workers."""

    def __init__(self, words: list[str], variables: Mapping[str, str], log: Path, space: str = "") -> None:
        inside = ["ip", "netns", "exec", space] if space else []
        path = os.pathsep.join([variables.get("PYTHONPATH", ""), str(ROOT)]).strip(os.pathsep)
        with open(log, "wb") as said:
            self.process = subprocess.Popen(
                [*inside, *RAY, "start", *words, "--block", "--disable-usage-stats", "--include-log-monitor=false"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
                env={**os.environ, **variables, "PYTHONPATH": path, "RAY_DISABLE_IMPORT_WARNING": "1"},
            )  # fmt: skip
        self.log = log
        self._seen: dict[int, psutil.Process] = {}
        until = time.monotonic() + START_SECONDS
        while "Ray runtime started" not in log.read_text():
            assert self.process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        self.see()

    def see(self) -> list[psutil.Process]:
        """Its processes, those that have lost their parents too."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._seen |= {one.pid: one for one in psutil.Process(self.process.pid).children(recursive=True)}
        return [one for one in self._seen.values() if not gone(one)]

    def named(self, name: str) -> list[psutil.Process]:
        """Its processes of this name: ``raylet``, ``gcs_server``, ``ray::RayHost``."""
        found = []
        for one in self.see():
            with contextlib.suppress(psutil.Error):
                line = one.cmdline()
                if line and (line[0].startswith(name) or Path(line[0].split()[0]).name == name):
                    found.append(one)
        return found

    @property
    def hosts(self) -> list[int]:
        """Process ids of the hosts that play on it."""
        return [one.pid for one in self.named("ray::RayHost")]

    @property
    def raylet(self) -> int:
        return self.named("raylet")[0].pid

    def signal(self, number: int) -> None:
        """To the whole node: its raylet, its workers and all."""
        for one in self.see():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)

    def close(self) -> None:
        """It ends, and nothing is left of it."""
        self.signal(signal.SIGKILL)
        self.process.kill()
        self.process.wait(30)
        self.signal(signal.SIGKILL)


class Nodes:
    """A cluster. ``variables`` are of the environment of all its nodes; ``head`` is the address that nodes join it by,
    where this machine has it already; ``quick``: a node that does not answer is soon taken for dead. ``client`` is the
    address for those who join from elsewhere, if ``ray[client]`` is installed."""

    def __init__(
        self, variables: Mapping[str, str], head: str = "127.0.0.1", processors: int = 1, quick: bool = True
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="jray"))  # a short name: sockets lie there
        self.variables = dict(variables)
        port = free_port()
        self.address, self.nodes, self._logs = f"{head}:{port}", list[Node](), 0
        words = [f"--node-ip-address={head}", f"--port={port}", "--head", f"--temp-dir={self.folder}"]
        words += [f"--num-cpus={processors}", "--include-dashboard=false"]
        words += [f"--system-config={QUICK_HEALTH}"] * quick
        self.client = f"ray://{head}:{free_port()}"
        if importlib.util.find_spec("grpc") is not None:
            words.append(f"--ray-client-server-port={self.client.rpartition(':')[2]}")
        self.head = self._start(words, {}, "")

    def add(self, at: str = "127.0.0.1", space: str = "", **variables: str) -> Node:
        """One more node."""
        return self._start([f"--address={self.address}", f"--node-ip-address={at}", "--num-cpus=1"], variables, space)

    def _start(self, words: list[str], variables: Mapping[str, str], space: str) -> Node:
        words = [*words, "--object-store-memory=80000000"]
        self._logs += 1
        log = self.folder / f"node-{self._logs}.log"
        self.nodes.append(Node(words, {**self.variables, **variables}, log, space))
        return self.nodes[-1]

    def hold(self, number: int) -> list[Node]:
        """So many nodes, the head first: others begin in the place of those that are gone."""
        for node in self.nodes:
            if node.process.poll() is not None:
                node.close()
        self.nodes = [node for node in self.nodes if node.process.poll() is None]
        while len(self.nodes) < number:
            self.add()
        return self.nodes[:number]

    def close(self) -> None:
        for node in reversed(self.nodes):
            node.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
