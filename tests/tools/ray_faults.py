"""Tournaments on a Ray cluster of this machine to which one thing after the other happens, beside one that a single
process plays.

python tests/tools/ray_faults.py [CASE...]     all cases without names
python tests/tools/ray_faults.py again [local:N | ray] [TIMES]

Cases: raylet, actor, client, stopped, frozen, driver, interrupt, late, code, altered, disk, head, token. After each the games
are the same, each is there once, and the folder is whole. ``again`` kills hosts, and says after how many seconds their
games are leased again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from gtp_talk import ROOT
from kills import kept_in
from ray_nodes import Nodes, gone
from sitting import Sitting, check, environment, laid_out, rows


def settled(hosts: list[psutil.Process]) -> float:
    """When these have ended."""
    until = time.monotonic() + 60
    while not all(map(gone, hosts)):
        assert time.monotonic() < until, "hosts outlive the command"
        time.sleep(0.05)
    return time.monotonic()


def raylet(nodes: Nodes, place: Path) -> str:
    """A node's raylet is killed."""
    _, second = nodes.hold(2)
    sitting = Sitting(place, nodes.address)
    sitting.hosts(2)
    began = time.monotonic()
    os.kill(second.raylet, signal.SIGKILL)
    seconds = sitting.when("leased again") - began
    assert "is gone: its node" in sitting.end(), sitting.said
    return f"leased again after {seconds:.2f} s"


def actor(nodes: Nodes, place: Path) -> str:
    """A host's process is killed, and another one takes its place."""
    _, second = nodes.hold(2)
    sitting = Sitting(place, nodes.address)
    sitting.hosts(2)
    pid = sitting.until(lambda: second.hosts, "a host of the second node")[0]
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    seconds = sitting.when("leased again") - began
    assert "is gone: its process has ended" in sitting.end(), sitting.said
    assert any(row["host"].endswith(".2") and int(row["games"]) for row in rows(sitting.run)), rows(sitting.run)
    return f"leased again after {seconds:.2f} s"


def client(nodes: Nodes, place: Path) -> str:
    """The command is on no node of the cluster, and a host's process is killed."""
    _, second = nodes.hold(2)
    sitting = Sitting(place, nodes.client)
    sitting.hosts(2)
    began = time.monotonic()
    os.kill(sitting.until(lambda: second.hosts, "a host of the second node")[0], signal.SIGKILL)
    seconds = sitting.when("is gone: its process has ended") - began
    sitting.end()
    return f"noted after {seconds:.2f} s"


def stopped(nodes: Nodes, place: Path) -> str:
    """A host sleeps beyond the driver's patience, and its late games are compared."""
    _, second = nodes.hold(2)
    sitting = Sitting(place, nodes.address, patience=3.0)
    sitting.hosts(2)
    pid = sitting.until(lambda: second.hosts, "a host of the second node")[0]
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    seconds = sitting.when("is silent") - began
    sitting.games(kept_in(sitting.run) + 100)
    os.kill(pid, signal.SIGCONT)
    assert "answers again" in sitting.end(), sitting.said
    agreed = sum(int(row["agreed"]) for row in rows(sitting.run))
    assert agreed >= 4, rows(sitting.run)
    return f"silent after {seconds:.2f} s of a patience of 3; {agreed} games agreed"


def frozen(nodes: Nodes, place: Path) -> str:
    """A whole node sleeps until the cluster takes it for dead, and wakes; a new one takes its place."""
    _, second = nodes.hold(2)
    sitting = Sitting(place, nodes.address)
    sitting.hosts(2)
    began = time.monotonic()
    second.signal(signal.SIGSTOP)
    seconds = sitting.when("leased again") - began
    second.signal(signal.SIGCONT)
    second.process.wait(60)  # it hears that it is dead
    nodes.hold(2)
    sitting.end()
    return f"leased again after {seconds:.2f} s"


def killed(nodes: Nodes, place: Path, number: int = signal.SIGKILL) -> str:
    """The command is killed, and gone on with."""
    both = nodes.hold(2)
    sitting = Sitting(place, nodes.address)
    sitting.games(100)
    pids = sitting.until(lambda: all(node.hosts for node in both) and [node.hosts[0] for node in both], "two hosts")
    hosts = [psutil.Process(pid) for pid in pids]
    began = time.monotonic()
    sitting.process.send_signal(number)
    seconds = settled(hosts) - began
    sitting.end(130 if number == signal.SIGINT else -number)
    kept = kept_in(sitting.run)
    assert 0 < kept < 600
    sitting = Sitting(place, nodes.address)
    sitting.end()
    found = rows(sitting.run)[-2:]
    played, twice = (sum(int(row[key]) for row in found) for key in ("games", "agreed"))
    assert played <= 600 - kept + twice, "what was kept is played again"
    return f"hosts ended {seconds:.1f} s after the command; {kept} games were kept, {played} played then"


def interrupted(nodes: Nodes, place: Path) -> str:
    """The command is interrupted, and gone on with."""
    return killed(nodes, place, signal.SIGINT)


def late(nodes: Nodes, place: Path) -> str:
    """A node joins in the middle."""
    for node in nodes.nodes[1:]:
        node.close()
    nodes.hold(1)
    sitting = Sitting(place, nodes.address)
    sitting.games(50)
    nodes.hold(2)
    sitting.end()
    games = [int(row["games"]) for row in rows(sitting.run)]
    assert len(games) == 2 and min(games) > 0, games
    return f"games of each: {games}"


def code(nodes: Nodes, place: Path) -> str:
    """A node has other code, and is refused."""
    nodes.hold(1)
    shutil.copytree(ROOT / "jubango", place / "other" / "jubango", ignore=shutil.ignore_patterns("__pycache__"))
    with open(place / "other" / "jubango" / "arena" / "games" / "slot.py", "a") as file:
        file.write("# another version\n")
    path = os.pathsep.join([str(place / "other"), str(place)])
    with contextlib.closing(nodes.add(PYTHONPATH=path)):
        sitting = Sitting(place, nodes.address)
        sitting.when("is refused")
        said = sitting.end()
    line = next(line for line in said.splitlines() if "is refused" in line)
    assert "has other code, another version of JAX, or other plug-ins" in line, said
    return line


def altered(nodes: Nodes, place: Path) -> tuple[str, str]:
    """A host of three alters one move of one game, and is named; so is the game."""
    nodes.hold(2)
    with contextlib.closing(nodes.add(JUBANGO_ALTERS="1")):
        sitting = Sitting(place, nodes.address)
        said = sitting.end()
    lines = [line for line in said.splitlines() if "otherwise" in line]
    assert lines and "otherwise than two other hosts" in lines[-1], (said, sitting.notes)
    own = lines[-1].split(" plays ")[1].split()[0]
    assert [int(row["differed"]) for row in rows(sitting.run) if row["state"] == "refused"] == [1], rows(sitting.run)
    return lines[-1], own if "is stored" in lines[-1] else ""


def disk(nodes: Nodes, place: Path) -> str:
    """The disk is full where the command keeps games; then there is room again."""
    nodes.hold(2)
    run = place / "run"
    run.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(run)], check=True)
    try:
        said = Sitting(place, nodes.address).end(1)
        kept = kept_in(run)
        subprocess.run(["mount", "-o", "remount,size=50m", str(run)], check=True)
        Sitting(place, nodes.address).end()
        check(place)
    finally:
        subprocess.run(["umount", str(run)], check=True)
    return f"{kept} games were kept: {said.splitlines()[-1]}"


def head(nodes: Nodes, place: Path) -> str:
    """The head of the cluster is lost, which ends the command; it goes on with another cluster."""
    nodes.hold(2)
    sitting = Sitting(place, nodes.address)
    sitting.games(100)
    began = time.monotonic()
    nodes.head.close()
    said = sitting.end(1)
    seconds = time.monotonic() - began
    nodes.close()
    with Nodes(nodes.variables) as others:
        others.hold(2)
        Sitting(place, others.address).end()
    return f"after {seconds:.1f} s: {said.splitlines()[-1]}"


def token(place: Path) -> str:
    """A cluster that asks for a token lets nobody in without it."""
    secret = place / "token"
    secret.write_text("0123456789abcdef" * 4)
    with Nodes({**environment(place), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(secret)}) as nodes:
        said = []
        nowhere = {"HOME": str(place), "RAY_AUTH_TOKEN_PATH": ""}
        (place / "wrong").write_text("fedcba9876543210" * 4)
        for variables in ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", **nowhere},
                          {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(place / "wrong")}):  # fmt: skip
            text = Sitting(place, nodes.address, **variables).end(2)
            (line,) = [line for line in text.splitlines() if not line.startswith("compiling")]
            said.append(line)
            assert "token is here" in line or "is its token here" in line, line
        nodes.hold(2)
        Sitting(place, nodes.address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(secret)).end()
    return "without the token: " + " | ".join(said)


CASES: dict[str, Callable[[Nodes, Path], str | tuple[str, str]]] = {
    "raylet": raylet, "actor": actor, "client": client, "stopped": stopped, "frozen": frozen, "driver": killed,
    "interrupt": interrupted, "late": late, "code": code, "altered": altered, "disk": disk, "head": head,
}  # fmt: skip


# Of a pairing, where it takes more for something to happen: one host may play for a while before another has come.
GAMES = {"late": 600, "code": 400, "altered": 400}
GAMES |= dict.fromkeys(("raylet", "actor", "client", "stopped", "frozen"), 600)


def tried(name: str, nodes: Nodes, place: Path) -> str:
    """What a case has shown. Raises AssertionError."""
    found = CASES[name](nodes, laid_out(place, games=GAMES.get(name, 200)))
    said, but = found if isinstance(found, tuple) else (found, "")
    if name != "disk":
        check(place, but, differed=int(isinstance(found, tuple)))
    return said


def again(cluster: str, times: int, place: Path) -> list[float]:
    """Seconds from SIGKILL of a host to its games leased again, so many times: the hosts of one run, one by one."""
    laid_out(place, games=200 * times)
    with contextlib.ExitStack() as stack:
        nodes = stack.enter_context(Nodes(environment(place))) if cluster == "ray" else None
        if nodes is not None:
            nodes.hold(2)
        sitting = Sitting(place, nodes.address if nodes else cluster)
        stack.callback(sitting.kill)
        found = list[float]()
        for number in range(1, times + 1):
            sitting.games(300 * number)
            hosts = [pid for node in nodes.nodes for pid in node.hosts] if nodes else children(sitting.process.pid)
            began = time.monotonic()
            os.kill(hosts[-1], signal.SIGKILL)
            found.append(sitting.when("leased again", number) - began)
        sitting.end()
    check(place)
    return found


def children(pid: int) -> list[int]:
    """Hosts that a command has started on this machine, the last one last."""
    own = [one for one in psutil.Process(pid).children() if "hosts.fleets.links" in " ".join(one.cmdline())]
    return [one.pid for one in sorted(own, key=lambda one: one.create_time())]


def main(words: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster ends, too
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if words[:1] == ["again"]:
            cluster, times = (words[1:2] or ["local:2"])[0], int((words[2:3] or ["5"])[0])
            found = again(cluster, times, place / "again")
            print(
                f"{cluster}: leased again after {', '.join(f'{one:.2f}' for one in found)} s; at most {max(found):.2f} s"
            )
            return
        laid_out(place)
        names = words or [*CASES, "token"]
        with contextlib.ExitStack() as stack:
            nodes: Nodes | None = None
            for name in names:
                began = time.monotonic()
                if name == "token":
                    said = token(laid_out(place / name))
                    check(place / name)
                else:
                    if nodes is None or name == "head":
                        nodes = stack.enter_context(Nodes(environment(place)))
                    said = tried(name, nodes, place / name)
                print(f"{name}: {said}; all the same, {time.monotonic() - began:.0f} s", flush=True)
                if name == "head":
                    nodes = None


if __name__ == "__main__":
    main(sys.argv[1:])
