"""Analysis that streams: ``lz-analyze``, ``kata-analyze`` and the moves that are made with it.

The formats are Leela Zero's and KataGo's, without double blanks, the ``pv`` last in every move's segment.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from jubango.bots.gtp_server.core import made
from jubango.bots.gtp_server.host import TICK, Host
from jubango.bots.gtp_server.session import Session, TurnToMove, is_player, player_of
from jubango.bots.gtp_server.wire import Command, GtpError
from jubango.bots.interactive.interactive_search import AnalysisInfo, MoveInfo

FLAGS = {
    "rootinfo", "ownership", "ownershipstdev", "movesownership", "movesownershipstdev", "pvvisits", "pvedgevisits",
    "noresultvalue",
}  # fmt: skip
STANDARD = 1.0  # seconds between two lines where nobody says
SHORTEST_INTERVAL = 0.01


@dataclass
class AnalyzeOptions:
    """The arguments of an analysis."""

    player: int | None = None
    interval: float = STANDARD
    least: int = 0  # moves to be shown
    most: int = 10**6
    avoid: list[tuple[int, list[str]]] = field(default_factory=list)
    allow: list[tuple[int, list[str]]] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


def analyze_options(words: list[str]) -> AnalyzeOptions:
    """Raises GtpError."""
    options, rest = AnalyzeOptions(), list(words)
    if rest and is_player(rest[0]):
        options.player = player_of(rest.pop(0))
    if rest and re.fullmatch(r"\d+\.?\d*|\.\d+", rest[0], re.ASCII):
        options.interval = float(rest.pop(0)) / 100
    while rest:
        key = rest.pop(0).lower()
        try:
            if key == "interval":
                options.interval = float(rest.pop(0)) / 100
            elif key in ("minmoves", "maxmoves"):
                number = int(rest.pop(0))
                options.least, options.most = (number, options.most) if key == "minmoves" else (options.least, number)
            elif key in ("avoid", "allow"):
                player, vertices, _ = player_of(rest.pop(0)), rest.pop(0).split(","), int(rest.pop(0))
                (options.avoid if key == "avoid" else options.allow).append((player, vertices))
            elif key in FLAGS:
                value = rest.pop(0).lower()
                if value not in ("true", "false"):
                    raise ValueError
                if value == "true":
                    options.flags.add(key)
            else:
                raise GtpError(f"syntax error: {key} is not understood")
        except (IndexError, ValueError):
            raise GtpError(f"syntax error after {key}") from None
    options.interval = max(SHORTEST_INTERVAL, options.interval)
    return options


def restricted(
    session: Session, allow: list[tuple[int, list[str]]], avoid: list[tuple[int, list[str]]], turn: TurnToMove
) -> np.ndarray:
    """bool [A]: the moves at the root that are looked at; those wished, if any of them is legal. Raises GtpError."""
    legal = turn.legal.copy()
    for listed, keep in ((allow, True), (avoid, False)):
        own = [vertex for player, vertices in listed if player == turn.player for vertex in vertices if vertex]
        if not own:
            continue
        named = np.zeros_like(legal)
        for vertex in own:
            named[session.action(vertex, turn.state)] = True
        legal &= named if keep else ~named
    return legal if legal.any() else turn.legal


class Reporter:
    """Lines of what is found, one an interval."""

    def __init__(self, host: Host, options: AnalyzeOptions, kata: bool, turn: TurnToMove) -> None:
        self._host, self._options, self._kata, self._turn = host, options, kata, turn
        self._next = time.perf_counter() + options.interval
        self.tick = min(TICK, options.interval)

    def look(self) -> None:
        """Say something if it is time."""
        if time.perf_counter() < self._next:
            return
        self._next = max(self._next + self._options.interval, time.perf_counter())
        self.say()

    def say(self) -> None:
        found = self._host.require_search().findings()
        shown = [m for i, m in enumerate(found.moves) if m.visits or i < max(1, self._options.least)][
            : self._options.most
        ]
        if shown:
            self._host.output.write(f"{self._line(found, shown)}\n")

    def _line(self, found: AnalysisInfo, shown: list[MoveInfo]) -> str:
        vertices = [self._host.session.vertices(move.variation, self._turn.state) for move in shown]
        has_prior = self._host.require_search().has_prior
        if not self._kata:
            return " ".join(lz_info(move, i, vertices[i], has_prior) for i, move in enumerate(shown))
        territory, sign = self._host.territory, -1 if self._turn.player else 1
        judged = territory.judge(self._turn.state, shown)
        parts = [
            kata_info(move, i, pv, judged.deviation, sign * judged.score_after(move), has_prior)
            for i, (move, pv) in enumerate(zip(shown, vertices, strict=True))
        ]
        flags = self._options.flags
        if "rootinfo" in flags:
            parts.append(
                f"rootInfo visits {found.visits} utility {2 * found.win_rate - 1:.6g} winrate {found.win_rate:.6g} "
                f"scoreMean {sign * judged.score:.6g} scoreStdev {judged.deviation:.6g} "
                f"scoreLead {sign * judged.score:.6g} scoreSelfplay {sign * judged.score:.6g} weight {found.visits}"
            )
        if "ownership" in flags and self._host.session.game.counts_points:
            owners = territory.owners(self._turn.state, shown)
            parts.append("ownership " + " ".join(f"{x:.6f}" for x in sign * owners))
        return " ".join(parts)


def lz_info(move: MoveInfo, order: int, vertices: list[str], has_prior: bool) -> str:
    rate, low = (round(10_000 * x) for x in (move.win_rate, move.lcb))
    prior = f"prior {round(10_000 * move.prior)} " if has_prior else ""
    return (
        f"info move {vertices[0]} visits {move.visits} winrate {rate} {prior}lcb {low} order {order} "
        f"pv {' '.join(vertices)}"
    )


def kata_info(move: MoveInfo, order: int, vertices: list[str], deviation: float, score: float, has_prior: bool) -> str:
    prior = f"prior {move.prior:.6g} " if has_prior else ""
    return (
        f"info move {vertices[0]} visits {move.visits} edgeVisits {move.visits} utility {2 * move.win_rate - 1:.6g} "
        f"winrate {move.win_rate:.6g} scoreMean {score:.6g} scoreStdev {deviation:.6g} scoreLead {score:.6g} "
        f"scoreSelfplay {score:.6g} {prior}lcb {move.lcb:.6g} utilityLcb {2 * move.lcb - 1:.6g} "
        f"weight {move.visits} order {order} pv {' '.join(vertices)}"
    )


def analyze(host: Host, command: Command, kata: bool) -> None:
    """Until there is a line, whatever it holds, or the end of them."""
    options = analyze_options(command.words)
    thinker, turn = host.require_search(), host.session.turn(options.player)
    if turn.over:
        raise GtpError("the game is over")
    position = host.position(turn, restricted(host.session, options.allow, options.avoid, turn))
    reporter = Reporter(host, options, kata, turn)
    host.output.begin(command)
    thinker.begin(position, simulations=thinker.room)
    while not host.lines.waiting:
        if thinker.busy:
            thinker.advance(reporter.tick)
        else:
            host.lines.wait(reporter.tick)
        reporter.look()
    host.output.end()


def genmove_analyze(host: Host, command: Command, kata: bool, plays: bool = True) -> None:
    """A move, and what is thought meanwhile; input waits."""
    options = analyze_options(command.words)
    turn = host.session.turn(options.player)
    host.require_search()  # says so if there is none
    if turn.over and not host.session.game.has("resumed"):
        raise GtpError("the game is over")
    if kata:
        host.wait_for_points()  # on nobody's clock
    reporter = Reporter(host, options, kata, turn)
    host.output.begin(command)
    choice = host.choose(turn.player, reporter.look, reporter.tick)
    if choice.findings:
        reporter.say()
    text = made(host, "bw"[turn.player], choice) if plays else host.session.vertex(choice.action)
    host.output.write(f"play {text}\n")
    host.output.end()


Streaming = Callable[[Host, Command], None]
STREAMING: dict[str, Streaming] = {
    "lz-analyze": lambda host, command: analyze(host, command, kata=False),
    "kata-analyze": lambda host, command: analyze(host, command, kata=True),
    "lz-genmove_analyze": lambda host, command: genmove_analyze(host, command, kata=False),
    "kata-genmove_analyze": lambda host, command: genmove_analyze(host, command, kata=True),
    "kata-search_analyze": lambda host, command: genmove_analyze(host, command, kata=True, plays=False),
}
