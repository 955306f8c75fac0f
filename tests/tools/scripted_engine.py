"""A GTP engine that does as it is told: python scripted_engine.py JSON

moves, cleanup: its answers to genmove and to kgs-genmove_cleanup, less those it is told of, then it passes; refuses: a vertex that it takes for
illegal; final: commands that it knows at the end and their answers, the last of them after play went on; an answer
"exit" ends it. Everything else that it does not know is an error.
"""

import json
import sys

script = json.loads(sys.argv[1])
known = ["protocol_version", "boardsize", "clear_board", "komi", "play", "genmove"]
commands = known + ["kgs-genmove_cleanup"] * ("cleanup" in script)
moves = {"genmove": [], "kgs-genmove_cleanup": []}
for line in sys.stdin:
    command, *words = line.split()
    sign, answer = "=", ""
    if command == "clear_board":
        moves = {"genmove": list(script.get("moves", [])), "kgs-genmove_cleanup": list(script.get("cleanup", []))}
    elif command == "known_command":
        answer = "true" if words[0] in commands or words[0] in script.get("final", {}) else "false"
    elif command in moves and command in commands:
        answer = moves[command].pop(0) if moves[command] else "pass"
    elif command == "play":
        moves = {kind: left[left[:1] == [words[1]] :] for kind, left in moves.items()}
        if words[1] == script.get("refuses"):
            sign, answer = "?", "illegal move"
    elif command in script.get("final", {}):
        answers = script["final"][command]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "exit":
            sys.exit(1)
    elif command not in commands:
        sign, answer = "?", "unknown command"
    print(f"{sign} {answer}\n", flush=True)
