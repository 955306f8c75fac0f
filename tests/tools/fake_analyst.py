"""An engine that says what it thinks of positions, and may misbehave: python fake_analyst.py MODE [FILE]

In the mode ``recorded`` it answers whatever is asked with what the file holds. In the mode ``says`` the second argument
is JSON, which takes the place of parts of every reply; in the mode ``gtp-says`` it is a line about moves.
It speaks KataGo's JSON analysis protocol, or GTP in the modes that begin with ``gtp``. What it says of a position
depends on nothing but the moves. Black wins with 0.5 and a hundredth more for each move; the first free point has all
visits but one, the next one that.
"""

import json
import os
import sys
import time

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
KOMI_WINS = 20.0  # points with which White has won


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def points(width: int, height: int) -> list[str]:
    """From the top left on."""
    return [f"{COLUMNS[column]}{height - row}" for row in range(height) for column in range(width)]


# -- JSON ------------------------------------------------------------------------------------------


def reply(query: dict, turn: int, during: bool = False) -> dict:
    """What is said of a turn of a query, in Black's view."""
    width, height = query["boardXSize"], query["boardYSize"]
    taken = {point for _, point in [*query.get("initialStones", []), *query["moves"][:turn]]}
    board = points(width, height)
    free = [point for point in board if point not in taken]
    visits = query.get("maxVisits", 10)
    rate = 0.5 + turn / 100
    moves = [
        {"move": free[1], "visits": 1, "winrate": rate - 0.1, "order": 1, "scoreLead": -1.5, "pv": [free[1]]},
        {
            "move": free[0], "visits": visits - 1, "winrate": rate, "order": 0, "scoreLead": 2.5, "prior": 0.5,
            "pv": [free[0], free[1], "pass"],
        },
    ]  # fmt: skip
    policy = [-1.0 if point in taken else 1 / len(free) for point in board]
    return {
        "id": query["id"], "turnNumber": turn, "isDuringSearch": during, "moveInfos": moves,
        "rootInfo": {"visits": visits, "winrate": rate, "scoreLead": turn / 2},
        "policy": [*policy, 0.0],
        "ownership": [1.0 if point in taken else -0.25 for point in board],
    }  # fmt: skip


def json_engine(mode: str) -> None:
    waiting: list[tuple[dict, int]] = []
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("action") == "query_version":
            say(json.dumps({**said, "version": "1.99.0"}) + "\n")
        elif said.get("action") == "query_models":
            say(json.dumps({**said, "models": [{"internalName": "tiny-b1c1"}]}) + "\n")
        elif said.get("action") == "terminate":
            mine = [own for own in waiting if own[0]["id"] == said["terminateId"]]
            waiting = [own for own in waiting if own not in mine]
            for query, turn in mine:
                say(json.dumps({"id": query["id"], "turnNumber": turn, "isDuringSearch": False, "noResults": True}))
                say("\n")
        elif "action" not in said:
            log = os.environ.get("FAKE_ANALYST_LOG")
            if log:
                with open(log, "a") as file:
                    file.write(line)
            asked = [(said, turn) for turn in said["analyzeTurns"]]
            if mode == "slow":
                waiting += asked
                say(json.dumps(reply(said, asked[0][1], during=True)) + "\n")
                continue
            answer(mode, said, [turn for _, turn in asked])


def answer(mode: str, query: dict, turns: list[int]) -> None:
    if mode == "warns":
        say(json.dumps({"id": query["id"], "field": "rules", "warning": "not by this network"}) + "\n")
    if mode == "errs":
        say(json.dumps({"id": query["id"], "field": "moves", "error": "Illegal move 1: C3"}) + "\n")
        return
    for turn in reversed(turns):  # in another order than they were asked
        if mode == "recorded":
            with open(sys.argv[2]) as file:
                say(json.dumps({**json.load(file), "id": query["id"], "turnNumber": turn}) + "\n")
            continue
        whole = json.dumps({**reply(query, turn), **(json.loads(sys.argv[2]) if mode == "says" else {})}) + "\n"
        if mode == "noise":
            say(f"thinking about {turn} ...\n\n")
            say(json.dumps(reply(query, turn, during=True)) + "\n")
            say(json.dumps({"id": "somebody else's", "turnNumber": 0, "isDuringSearch": False}) + "\n")
        if mode == "silent" and turn != turns[-1]:
            time.sleep(3600)
        if mode == "dies" and turn != turns[-1]:
            print("out of memory", file=sys.stderr)
            sys.exit(3)
        if mode == "half" and turn != turns[-1]:
            say(whole[: len(whole) // 2] + "\n")
            continue
        if mode == "torn" and turn != turns[-1]:
            say(whole[: len(whole) // 2])
            sys.exit(0)
        if mode == "lacks":
            whole = json.dumps({"id": query["id"], "turnNumber": turn, "moveInfos": [{"move": "A1"}]}) + "\n"
        for first in range(0, len(whole), 1000):  # bit by bit
            say(whole[first : first + 1000])


# -- GTP -------------------------------------------------------------------------------------------


def gtp_engine(mode: str) -> None:
    own = {"gtp": "kata-analyze", "gtp-black": "kata-analyze", "gtp-old": "kata-analyze", "gtp-lz": "lz-analyze"}
    own["gtp-says"] = "kata-analyze"
    commands = ["name", "version", "list_commands", "protocol_version", "boardsize", "clear_board", "komi", "play"]
    commands += [own.get(mode, "")]
    commands += ["undo", "kata-set-rules", "set_position", "rectangular_boardsize"] * (mode in ("gtp", "gtp-black"))
    size, komi, played = (5, 5), 0.0, []  # type: tuple[int, int], float, list[str]
    for line in sys.stdin:
        name, *words = line.split() or [""]
        if os.environ.get("FAKE_ANALYST_LOG"):
            with open(os.environ["FAKE_ANALYST_LOG"], "a") as file:
                file.write(line)
        if not name:
            continue
        text = {"name": "Fake", "version": "1.0", "protocol_version": "2", "list_commands": "\n".join(commands)}
        if name not in commands:
            say("? unknown command\n\n")
            continue
        if name == "komi":
            komi = float(words[0])
        elif name.endswith("boardsize"):
            size = (int(words[0]), int(words[-1]))
        elif name == "clear_board":
            played = []
        elif name == "play":
            played.append(words[1])
        elif name == "undo":
            played.pop()
        elif name == "set_position":
            played = words[1::2]
        elif name == own.get(mode):
            if mode == "gtp-old" and "rootInfo" in words:
                say("? could not parse\n\n")
            else:
                search(mode, words, size, komi, played)
            continue
        say(f"= {text.get(name, '')}\n\n")


def search(mode: str, words: list[str], size: tuple[int, int], komi: float, played: list[str]) -> None:
    """Lines until there is one to read; that one is left."""
    import select

    black = 0.01 if komi >= KOMI_WINS else 0.5 + len(played) / 100
    turned = mode != "gtp-black" and words[0] == "w"
    rate, sign = (1 - black, -1) if turned else (black, 1)
    free = [point for point in points(*size) if point not in played]
    say("=\n")
    for visits in range(1, 1000):
        if mode == "gtp-says":
            line = sys.argv[2]
        elif mode == "gtp-lz":
            line = f"info move {free[0]} visits {visits} winrate {round(10000 * rate)} prior 5000 order 0 pv {free[0]}"
            line += f" {free[1]} info move {free[1]} visits 1 winrate 4000 order 1 pv {free[1]}"
        else:
            line = (
                f"info move {free[1]} visits 1 winrate {rate} scoreLead {sign * 1.5} order 1 pv {free[1]} "
                f"info move {free[0]} visits {visits} winrate {rate} prior 0.5 scoreLead {sign * 2.5} order 0 "
                f"pv {free[0]} {free[1]} pass pvVisits 3 2 1"
            )
            if "rootInfo" in words:
                line += f" rootInfo visits {visits + 1} winrate {rate} scoreLead {sign * len(played) / 2}"
            if "ownership" in words:
                line += " ownership " + " ".join(str(sign * (point in played)) for point in points(*size))
        say(f"{line}\n")
        if select.select([sys.stdin.buffer], [], [], 0.01)[0]:
            break
    say("\n")


if __name__ == "__main__":
    sys.stdin = open(0, buffering=1)  # noqa: SIM115 - unread lines must stay in the pipe
    gtp_engine(sys.argv[1]) if sys.argv[1].startswith("gtp") else json_engine(sys.argv[1])
