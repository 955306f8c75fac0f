"""How far bots agree with a stronger judge, on positions of recorded games: the next move, and who is ahead.

    python benchmarks/agreement.py GAMES --judge 'alphazero:network=katago:FILE.bin.gz,simulations=50'
    python benchmarks/agreement.py gnugo-3.8/regression/games --game go:9 --judge 'alphazero:network=katago:FILE.bin.gz'
    python benchmarks/agreement.py GAMES --engine 'katago analysis -model FILE -config FILE' --visits 50 \\
        --bot policy --bot alphazero:simulations=200

GAMES are a folder of SGF files, with those below it. Of as many games as are asked for, drawn at random, one position
each is taken, the number of its moves drawn between --first and --last. With --game those on its board are played over
as games of it, with its komi and rules, but for those with handicap or other stones set up. So the games in GNU Go's
sources can be asked about, hundreds between people, GNU Go and other engines. For every bot the script says in how many
positions its first choice is among the judge's best three by visits, and is the judge's own. With that it says how far
the win rates are apart in the mean, and how far 50 % for all would be.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import numpy as np

import jubango as jb
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game


def games(folder: Path, game: str, first: int) -> list[jb.Record]:
    """Those of so many moves or more, each once; with ``game`` those on its board that can be played over by it."""
    found, rules = {}, make_game(game) if game else None
    for path in sorted(folder.rglob("*.sgf")):
        try:
            record = jb.read_sgf(path)
        except jb.UserError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        wanted = not rules or (board(record.game) == board(rules) and even(record))
        if wanted and len(record) >= first:
            found.setdefault(record.moves, record)
    return list(found.values())


def board(game: Game) -> tuple[str, int, int]:
    return game.family, game.width, game.height


def even(record: jb.Record) -> bool:
    """Black and White in turn from the empty board?"""
    nodes = record.sgf.nodes
    moves = [node.move[0] for node in nodes if node.move]
    return moves == [i % 2 for i in range(len(moves))] and not any(n.black or n.white or n.empty for n in nodes)


def positions(folder: Path, game: str, most: int, first: int, last: int, seed: int) -> list[jb.Position]:
    found, rng = games(folder, game, first), np.random.default_rng(seed)
    asked = []
    for i in sorted(random.Random(seed).sample(range(len(found)), min(most, len(found)))):
        number = int(rng.integers(first, min(last, len(found[i])) + 1))
        try:
            asked.append(jb.position(game, found[i].moves[:number]) if game else found[i].at(number))
        except jb.UserError as error:  # a move that these rules forbid
            print(f"left out: {error}", file=sys.stderr)
    return [place for place in asked if not place.over]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    judge = parser.add_mutually_exclusive_group(required=True)
    judge.add_argument("--judge", help="a bot")
    judge.add_argument("--engine", help="an engine that analyses")
    parser.add_argument("--visits", type=int, default=50, help="of the engine (50)")
    parser.add_argument("--bot", action="append", help="(policy and alphazero:simulations=200)")
    parser.add_argument("--positions", type=int, default=100)
    parser.add_argument("--game", default="", help="that all are taken as, e.g. go:9 (their own, the same for all)")
    parser.add_argument("--first", type=int, default=11)
    parser.add_argument("--last", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.first > args.last:
        parser.error(f"--first {args.first}: after --last {args.last}")
    asked = positions(args.games, args.game, args.positions, args.first, args.last, args.seed)
    if not asked:
        parser.error(f"{args.games}: holds no .sgf files of {args.first} moves or more that can be asked of")
    told = (
        jb.analyze(asked, args.judge) if args.judge else jb.analyze(asked, engine=args.engine, simulations=args.visits)
    )
    best = [[move.move for move in one.moves[:3]] for one in told]
    rates = np.array([one.win_rate.black for one in told])
    print(f"{len(asked)} positions; the judge is {args.judge or args.engine}")
    print(f"50 % for all: win rates {np.mean(np.abs(rates - 0.5)):.3f} apart")
    for bot in args.bot or ["policy", "alphazero:simulations=200"]:
        if bot.startswith("policy"):  # which does not search
            found = jb.analyze(asked, f"alphazero{bot.removeprefix('policy')}", simulations=1)
            chosen = [asked[0].game.action_text(int(np.argmax(one.priors))) for one in found]
        else:
            found = jb.analyze(asked, bot)
            chosen = [one.moves[0].move for one in found]
        among = np.mean([move in three for move, three in zip(chosen, best, strict=True)])
        own = np.mean([move == three[0] for move, three in zip(chosen, best, strict=True)])
        error = 1.96 * np.sqrt(among * (1 - among) / len(asked))
        apart = np.abs(rates - np.array([one.win_rate.black for one in found]))
        shares = f"among its best three {among:.1%} ± {error:.1%}, its own choice {own:.1%}"
        print(f"{bot}: {shares}, win rates {apart.mean():.3f} apart")


if __name__ == "__main__":
    main()
