"""The commands of the protocol itself: set-up, play, time, scoring, files, and what other programs have added."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from jubango.bots.config import LevelConfig, SearchConfig
from jubango.bots.evaluators.territory import network_of, opinions
from jubango.bots.gtp_server.host import RESIGN, Choice, Host
from jubango.bots.gtp_server.kata_rules import rules_named
from jubango.bots.gtp_server.session import player_of
from jubango.bots.gtp_server.wire import GtpError
from jubango.bots.players.engines.analysts.kata_rules import rules_json
from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError

Act = Callable[[Host, list[str]], str]
COMMANDS: dict[str, Act] = {}  # of any game
SET_UP: dict[str, Act] = {}  # of games in which stones can be set up
POINTS: dict[str, Act] = {}  # of games that count points
RULES_COMMANDS: dict[str, Act] = {}  # of Go by rules that KataGo names
NETWORK: dict[str, Act] = {}  # of bots with a network


def command(name: str, where: dict[str, Act] = COMMANDS) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        where[name] = act
        return act

    return register


def word(words: list[str], i: int, what: str) -> str:
    if i >= len(words):
        raise GtpError(f"syntax error: {what} is missing")
    return words[i]


def whole(words: list[str], i: int, what: str) -> int:
    """Below a thousand million: nothing here is larger."""
    text = word(words, i, what)
    if not re.fullmatch(r"[+-]?\d{1,9}", text, re.ASCII):
        raise GtpError(f"syntax error: {what} is no whole number")
    return int(text)


def number(words: list[str], i: int, what: str) -> float:
    try:
        found = float(word(words, i, what))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise GtpError(f"syntax error: {what} is no number")
    return found


# -- who it is -----------------------------------------------------------------------------------


@command("protocol_version")
def protocol_version(host: Host, words: list[str]) -> str:
    return "2"


@command("name")
def name(host: Host, words: list[str]) -> str:
    return "jubango"


@command("version")
def version(host: Host, words: list[str]) -> str:
    """The first word is of the form x.y with y above 15, without which Lizzie does not start."""
    major, minor, patch = (*VERSION.split("."), "0", "0")[:3]
    digits = "".join(c for c in patch if c.isdigit()) or "0"
    return f"{major}.{int(minor) + 100}.{digits} (jubango {VERSION})"


@command("gomill-describe_engine")
def describe(host: Host, words: list[str]) -> str:
    asked, bot = host.options.bot, host.bot.spec
    said = f"{asked.spec}, which is {bot}" if isinstance(asked, LevelConfig) else bot
    return f"jubango {VERSION}\n{said}\n{host.session.game.spec}"


@command("cputime")
@command("gomill-cpu_time")
def cputime(host: Host, words: list[str]) -> str:
    return f"{time.process_time():.3f}"


# -- the board -----------------------------------------------------------------------------------


@command("boardsize")
@command("rectangular_boardsize")
def boardsize(host: Host, words: list[str]) -> str:
    width = whole(words, 0, "the size")
    height = whole(words, 1, "the height") if len(words) > 1 else width
    if (width, height) == (host.session.game.width,) * 2 and len(words) == 1:
        height = host.session.game.height  # of a board that is not square the width stands for both
    try:
        with host.session.attempt():
            host.session.resize(width, height)
            host.ready()
    except UserError as error:
        raise GtpError(f"unacceptable size: {error}") from None
    return ""


@command("clear_board")
def clear_board(host: Host, words: list[str]) -> str:
    host.session.clear()
    host.ready()
    return ""


@command("komi")
def komi(host: Host, words: list[str]) -> str:
    points = number(words, 0, "the komi")
    if host.session.game.has_komi:
        host.session.set_komi(points)
    return ""


@command("play")
def play(host: Host, words: list[str]) -> str:
    player = player_of(word(words, 0, "the color"))
    host.session.play(player, host.session.action(word(words, 1, "the vertex")))
    return ""


@command("undo")
def undo(host: Host, words: list[str]) -> str:
    host.session.undo()
    return ""


@command("gg-undo")
def undo_many(host: Host, words: list[str]) -> str:
    host.session.undo(whole(words, 0, "the number of moves") if words else 1)
    return ""


@command("showboard")
def showboard(host: Host, words: list[str]) -> str:
    return f"\n{host.session.board()}"


@command("fixed_handicap", SET_UP)
def fixed_handicap(host: Host, words: list[str]) -> str:
    return _handicap(host, words, exactly=True)


@command("place_free_handicap", SET_UP)
def place_free_handicap(host: Host, words: list[str]) -> str:
    return _handicap(host, words, exactly=False)


def _handicap(host: Host, words: list[str], exactly: bool) -> str:
    stones = whole(words, 0, "the number of stones")
    if stones < 2:
        raise GtpError("invalid number of stones")
    points = host.session.handicap_points(stones, exactly)
    host.session.handicap(points)
    return " ".join(map(host.session.game.point_text, points))


@command("set_free_handicap", SET_UP)
def set_free_handicap(host: Host, words: list[str]) -> str:
    try:
        points = [host.session.point(text) for text in words]
    except GtpError:
        raise GtpError("bad vertex list") from None
    if not points or len(set(points)) < len(points):
        raise GtpError("bad vertex list")
    host.session.handicap(points)
    return ""


@command("set_position", SET_UP)
def set_position(host: Host, words: list[str]) -> str:
    """KataGo's: colours and vertices in turn, Black to move."""
    if len(words) % 2:
        raise GtpError("syntax error: colors and vertices come in pairs")
    stones = [(player_of(a), host.session.point(b)) for a, b in zip(words[::2], words[1::2], strict=True)]
    if len({point for _, point in stones}) < len(stones):
        raise GtpError("illegal move")
    host.session.set_up(stones, player=0)
    return ""


@command("loadsgf")
def loadsgf(host: Host, words: list[str]) -> str:
    """The file's name may hold blanks; a last word that is a number is the move."""
    *path, last = words or [word(words, 0, "the file's name")]
    numbered = path and last.isascii() and last.isdecimal() and not os.path.isfile(" ".join(words))
    limit = whole(words, len(path), "the move") if numbered else None
    with host.session.attempt():
        host.session.load(" ".join(words if limit is None else path), limit)
        host.ready()
    return ("black", "white")[host.session.turn().player]  # to move


@command("printsgf")
def printsgf(host: Host, words: list[str]) -> str:
    text = host.session.sgf({"GN": "jubango"})
    if not words:
        return text
    path = Path(" ".join(words))
    try:
        if path.exists() and not path.is_file():  # a device may be where the answers go, a pipe may have no reader
            raise GtpError("cannot write file: it is no regular file")
        path.write_text(text)
    except OSError as error:
        raise GtpError(f"cannot write file: {error.strerror}") from None
    return ""


# -- time ----------------------------------------------------------------------------------------


@command("time_settings")
def time_settings(host: Host, words: list[str]) -> str:
    main, overtime, stones = (number(words, i, "a time") for i in range(3))
    if overtime > 0 and stones == 0:
        host.session.timing.none()  # as GTP has it
    else:
        host.session.timing.set(main, overtime if stones else 0.0, stones=int(stones))
    return ""


@command("kgs-time_settings")
@command("kata-time_settings")
def kgs_time_settings(host: Host, words: list[str]) -> str:
    kind, timing = word(words, 0, "the system").lower(), host.session.timing
    if kind == "none":
        timing.none()
    elif kind == "absolute":
        timing.set(number(words, 1, "the main time"))
    elif kind == "canadian":
        timing.set(number(words, 1, "the main time"), number(words, 2, "a time"), stones=whole(words, 3, "the stones"))
    elif kind == "byoyomi":
        timing.set(
            number(words, 1, "the main time"), number(words, 2, "a time"), periods=whole(words, 3, "the periods")
        )
    elif kind in ("fischer", "fischer-capped"):
        timing.set(number(words, 1, "the main time"), increment=number(words, 2, "the increment"))
    else:
        raise GtpError("syntax error: unknown time system")
    return ""


@command("kata-list_time_settings")
def list_time_settings(host: Host, words: list[str]) -> str:
    return "none absolute byoyomi canadian fischer fischer-capped"


@command("time_left")
def time_left(host: Host, words: list[str]) -> str:
    player = player_of(word(words, 0, "the color"))
    host.session.timing.left(
        player, number(words, 1, "the time"), whole(words, 2, "the stones") if len(words) > 2 else 0
    )
    return ""


# -- moves ---------------------------------------------------------------------------------------


@command("genmove")
def genmove(host: Host, words: list[str]) -> str:
    """All stones count as alive while it searches, so that it captures what is dead before it passes. It does not pass
    where it would lose by the count without its dead stones, while there is hope."""
    choice = host.choose(player_of(word(words, 0, "the color")))
    return made(host, words[0], choice)


@command("kgs-genmove_cleanup")
def genmove_cleanup(host: Host, words: list[str]) -> str:
    """A move where all stones on the board will count as alive."""
    choice = host.choose(player_of(word(words, 0, "the color")), judged=False)
    return made(host, words[0], choice)


def made(host: Host, color: str, choice: Choice) -> str:
    """The answer to a wish for a move, which is played unless it is to resign."""
    session, found = host.session, choice.findings
    if found and found.visits:
        best = next(move for move in found.moves if move.action == choice.action)
        line = " ".join(session.vertices(best.variation))
        host.explanation = (
            f"{best.visits} of {found.visits} visits, win rate {100 * found.win_rate:.1f} %, after the move "
            f"{100 * best.win_rate:.1f} %; {line}"
        )
        if found.win_rate < host.options.resign_below:
            return "resign"
    if choice.action == RESIGN:
        return "resign"
    text = session.vertex(choice.action)
    session.play(player_of(color), choice.action)
    host.pondering = host.options.ponder
    return text


@command("reg_genmove")
def reg_genmove(host: Host, words: list[str]) -> str:
    """The same without playing it; no search resigns."""
    choice = host.choose(player_of(word(words, 0, "the color")))
    return "resign" if choice.action == RESIGN else host.session.vertex(choice.action)


@command("gomill-explain_last_move")
def explain(host: Host, words: list[str]) -> str:
    return host.explanation


@command("stop")
@command("gogui-interrupt")
def stop(host: Host, words: list[str]) -> str:
    """Whatever was going on has ended with this line, a move by GoGui's comment "# interrupt"."""
    return ""


# -- scoring -------------------------------------------------------------------------------------


@command("final_score")
def final_score(host: Host, words: list[str]) -> str:
    session, game, state = host.session, host.session.game, host.session.state
    host.wait_for_points()
    if game.counts_points:
        return game.result_text(game.without_stones(state, game.dead_stones(state)))
    if not session.turn().over:
        raise GtpError("cannot score")
    return game.result_text(state)


@command("final_status_list", POINTS)
def final_status_list(host: Host, words: list[str]) -> str:
    status = word(words, 0, "the status")
    if status not in ("alive", "dead", "seki"):
        raise GtpError("invalid status")
    if status == "seki":  # counted by area it is alive
        return ""
    game, state = host.session.game, host.session.state
    host.wait_for_points()
    dead = game.dead_stones(state)
    wanted = [c for c in game.chains(state) if (c & dead).any() == (status == "dead")]
    return "\n".join(" ".join(game.point_text((int(r), int(c))) for r, c in np.argwhere(chain)) for chain in wanted)


# -- KataGo's ------------------------------------------------------------------------------------


@command("kata-get-rules", RULES_COMMANDS)
def get_rules(host: Host, words: list[str]) -> str:
    return rules_json(host.session.game)


@command("kata-set-rules", RULES_COMMANDS)
def set_rules(host: Host, words: list[str]) -> str:
    ko, suicide = rules_named(" ".join(words) or word(words, 0, "the rules"))
    with host.session.attempt():
        host.session.set_rules(ko, suicide)
        host.ready()
    return ""


@command("kata-raw-nn", NETWORK)
def raw_nn(host: Host, words: list[str]) -> str:
    """What the network says before any search, in White's view, of the board as it lies."""
    session = host.session
    found = network_of(host.require_search().judge)
    if found is None:
        raise GtpError("this bot has no network")
    turn, game = session.turn(), session.game
    outputs = opinions(game, [turn.state], *found)
    chances = np.exp(outputs.outcome[0] - np.max(outputs.outcome[0]))
    lost, drawn, won = (chances / chances.sum()).tolist()
    white_wins, white_loses, sign = (won, lost, 1) if turn.player == 1 else (lost, won, -1)
    logits = np.where(turn.legal, outputs.policy[0], -np.inf)
    weights = np.exp(logits - logits.max())
    policy = np.where(turn.legal, weights / weights.sum(), np.nan)
    points = game.height * game.width
    lines = ["symmetry 0", f"whiteWin {white_wins:.6f}", f"whiteLoss {white_loses:.6f}", f"noResult {drawn:.6f}"]
    if found[0].scores:
        lines.append(f"whiteLead {sign * float(outputs.score[0]) * points:.3f}")
    lines += ["policy", *_grid(policy[:points], game.width if len(policy) >= points else len(policy))]
    if len(policy) > points:
        lines.append(f"policyPass {policy[points]:.6f}")
    if found[0].scores:
        lines += ["whiteOwnership", *_grid(sign * np.asarray(outputs.ownership[0]).reshape(-1), game.width)]
    return "\n".join(lines)


def _grid(values: np.ndarray, width: int) -> list[str]:
    texts = ["NAN" if np.isnan(x) else f"{x:.6f}" for x in values]
    return [" ".join(texts[i : i + width]) for i in range(0, len(texts), width)]


def has_network(host: Host) -> bool:
    return isinstance(host.bot, SearchConfig) and host.bot.wants_network
