"""A program that speaks JSON lines and misbehaves on purpose: python json_engine.py MODE

Every mode plays the first legal move, ``last`` the last one, ``illegal`` the first one of the game once more. The others do at their second move of a game what FAULTS
says, or at the message that their name begins with.
"""

import json
import os
import subprocess
import sys
import time


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def die() -> None:
    print("out of luck", file=sys.stderr)
    os._exit(3)


FAULTS = {
    "dies": die,
    "hangs": lambda: time.sleep(3600),
    "garbage": lambda: say("let me think"),
    "list": lambda: say("[1]"),
    "deep": lambda: say("[" * 60_000),
    "huge": lambda: say("x" * 1_000_000),
    "bytes": lambda: sys.stdout.buffer.write(b"\x00\xff{\n") and sys.stdout.flush(),
    "refuses": lambda: say(json.dumps({"error": "I would rather not"})),
    "empty": lambda: say("{}"),
    "number": lambda: say(json.dumps({"move": 3})),
    "nonsense": lambda: say(json.dumps({"move": "over there"})),
    "resigns": lambda: say(json.dumps({"move": "Resign"})),
}


def main() -> None:
    mode, log = sys.argv[1], sys.argv[2:]
    for line in sys.stdin:
        message = json.loads(line)
        kind = message["type"]
        if log:
            with open(log[0], "a") as file:
                file.write(line)
        if mode == f"{kind}-dies":
            die()
        if mode == f"{kind}-refuses":
            say(json.dumps({"error": "I play nothing of the kind"}))
            continue
        answer = {}
        if kind == "hello":
            answer = {"version": 2 if mode == "future" else 1}
            if mode == "family":
                child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
                with open(log[0], "a") as file:
                    print(os.getpid(), child.pid, file=file)
        elif kind == "move":
            if mode in FAULTS and len(message["moves"]) // 2 == 1:
                FAULTS[mode]()
                continue
            if mode == "illegal" and message["moves"]:
                message["legal_moves"] = message["moves"]
            answer = {"move": message["legal_moves"][-1 if mode == "last" else 0]}
        if mode == "flood":
            print("x" * 100_000, file=sys.stderr)
        say("\n" * (mode == "spaced") + "\ufeff" * (mode == "marked") + json.dumps(answer))


main()
