"""A GTP engine that misbehaves on purpose: python fake_engine.py MODE

Every mode but ``mute`` and ``deaf`` plays the first free point, and ``fine`` passes after two stones. The others do at
some answer to genmove what FAULTS says; ``anything`` passes likewise and does now and then one of all; ``mortal``
passes likewise and does not outlive its first game.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def die() -> None:
    print("out of luck", file=sys.stderr)
    sys.exit(1)


def leave_a_child() -> None:
    """End, while a child in a session of its own keeps the pipes open."""
    subprocess.Popen(["sleep", "3600"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def talk_for_ever(line: str) -> None:
    while True:
        say(line * 1000)


def answer_hugely() -> None:
    for _ in range(100):
        say("= " + "D" * 1_000_000)
    say("\n\n")


# What it does instead of answering, and at which genmove of a game.
FAULTS: dict[str, tuple[int, Callable[[], object]]] = {
    "dies": (10, die),
    "parts": (2, leave_a_child),
    "hangs": (3, lambda: time.sleep(3600)),
    "babbles": (2, lambda: talk_for_ever("let me think\n")),
    "endless": (2, lambda: talk_for_ever("= D4\n")),
    "huge": (2, answer_hugely),
    "digits": (2, lambda: say(f"= A{'9' * 5000}\n\n")),
    "bytes": (2, lambda: say("= \x00\x7f\u2028\u0663D\n\n")),
    "refuses": (2, lambda: say("? I would rather not\n\n")),
    "nonsense": (2, lambda: say("= over there\n\n")),
    "empty": (2, lambda: say("=\n\n")),
}


def main() -> None:
    mode = sys.argv[1]
    size, stones, moves, games = 9, {}, 0, 0
    at, fault = FAULTS.get(mode, (0, die))
    if mode == "mute":
        time.sleep(3600)
    if mode == "deaf":
        talk_for_ever("= D4\n\n")
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        answer = ""
        if mode == "anything" and (moves or games > 1) and random.random() < 0.02:  # not before its first game
            die()
        if words[0] == "boardsize":
            size = int(words[1])
        elif words[0] == "clear_board":
            if mode == "mortal" and games == 1:
                die()
            stones, moves, games = {}, 0, games + 1
        elif words[0] == "play":
            if mode == "burst" and stones:
                answer_hugely()
                continue
            stones[words[2].upper()] = words[1]
        elif words[0] == "family":  # its own number and a child's, which has left for a session of its own
            answer = f"{os.getpid()} {subprocess.Popen(['sleep', '3600'], start_new_session=True).pid}"
        elif words[0].startswith("final_"):
            say("? unknown command\n\n")
            continue
        elif words[0] == "wait":
            time.sleep(float(words[1]))
        elif words[0] == "genmove":
            moves += 1
            if mode == "anything":
                at, fault = moves if random.random() < 0.15 else 0, random.choice(list(FAULTS.values()))[1]
            if moves == at:
                fault()
                continue
            points = [f"{COLUMNS[c]}{r + 1}" for r in range(size) for c in range(size)]
            answer = next((p for p in points if p not in stones), "pass")
            if mode in ("fine", "flood", "anything", "mortal") and moves > 2:
                answer = "pass"
            if mode == "occupied" and moves == 4:
                answer = next(iter(stones))
            elif mode == "resigns" and moves == 5:
                answer = "resign"
            stones[answer.upper()] = words[1]
        if mode == "flood":
            print("x" * 100_000, file=sys.stderr)
            print("chatter before the answer")
        say(f"= {answer}\n\n")
        if words[0] == "quit":
            return


main()
