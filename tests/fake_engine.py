"""A GTP engine that misbehaves on purpose: python fake_engine.py MODE

fine: plays two stones and then passes; dies: ends at its tenth answer to genmove; hangs: never answers
its third genmove; occupied: plays where a stone is; nonsense: answers genmove with nonsense;
babbles: never stops talking instead of its second genmove; flood: floods stderr, chatters on stdout; resigns: after five moves; mute: answers nothing at all.
"""

import sys
import time


def main() -> None:
    mode = sys.argv[1]
    size, stones, moves = 9, {}, 0
    columns = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
    if mode == "mute":
        time.sleep(3600)
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        answer = ""
        if words[0] == "boardsize":
            size = int(words[1])
        elif words[0] == "clear_board":
            stones, moves = {}, 0
        elif words[0] == "play":
            stones[words[2].upper()] = words[1]
        elif words[0] == "genmove":
            moves += 1
            if mode == "dies" and moves == 10:
                print("out of luck", file=sys.stderr)
                sys.exit(1)
            if mode == "hangs" and moves == 3:
                time.sleep(3600)
            points = [f"{columns[c]}{r + 1}" for r in range(size) for c in range(size)]
            answer = next((p for p in points if p not in stones), "pass")
            if mode in ("fine", "flood") and moves > 2:
                answer = "pass"
            if mode == "occupied" and moves == 4:
                answer = next(iter(stones))
            elif mode == "nonsense" and moves == 2:
                answer = "over there"
            elif mode == "resigns" and moves == 5:
                answer = "resign"
            stones[answer.upper()] = words[1]
            while mode == "babbles" and moves == 2:
                print("let me think")
        if mode == "flood":
            print("x" * 100_000, file=sys.stderr)
            print("chatter before the answer")
        sys.stdout.write(f"= {answer}\n\n")
        sys.stdout.flush()
        if words[0] == "quit":
            return


main()
