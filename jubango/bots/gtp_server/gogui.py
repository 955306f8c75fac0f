"""GoGui's commands: what it may show of a search, and the rules of games that it does not know."""

from __future__ import annotations

import numpy as np

from jubango.bots.gtp_server.core import Act, command
from jubango.bots.gtp_server.host import Host
from jubango.bots.gtp_server.session import STONES
from jubango.bots.gtp_server.wire import GtpError
from jubango.bots.interactive.interactive_search import NOTHING, AnalysisInfo
from jubango.sgf_games.rules.game import Game

SHOW_COMMANDS: dict[str, Act] = {}  # what a bot that searches can show
RULER: dict[str, Act] = {}  # the rules of a game that is not Go
MENU = {
    "jubango-visits": ("dboard", "Visits"),
    "jubango-prior": ("dboard", "Prior"),
    "jubango-value": ("dboard", "Value"),
    "jubango-ownership": ("dboard", "Ownership"),
    "jubango-moves": ("pspairs", "Best Moves"),
    "jubango-pv": ("gfx", "Principal Variation"),
}
MOST_PAIRS = 10
LONGEST_SHOWN = 9  # moves of a variation


@command("gogui-analyze_commands", SHOW_COMMANDS)
def analyze_commands(host: Host, words: list[str]) -> str:
    lines = [
        f"{kind}/{label}/{name}"
        for name, (kind, label) in MENU.items()
        if (name != "jubango-ownership" or host.session.game.counts_points)
        and (name != "jubango-prior" or host.require_search().has_prior)
    ]
    return "\n".join([*lines, "string/Explain Last Move/gomill-explain_last_move"])


@command("jubango-visits", SHOW_COMMANDS)
def visits(host: Host, words: list[str]) -> str:
    """Shares of the most visited move's visits, for Black above 0, for White below."""
    found = _searched(host)
    most = max(1, max((move.visits for move in found.moves), default=0))
    return _board(host, {move.action: _sign(host) * move.visits / most for move in found.moves if move.visits})


@command("jubango-prior", SHOW_COMMANDS)
def prior(host: Host, words: list[str]) -> str:
    """As shares of the largest."""
    if not host.require_search().has_prior:
        raise GtpError("this bot has no prior: to it every move is alike before the search")
    found = _searched(host)
    most = max((move.prior for move in found.moves), default=0.0) or 1.0
    return _board(host, {move.action: _sign(host) * move.prior / most for move in found.moves})


@command("jubango-value", SHOW_COMMANDS)
def value(host: Host, words: list[str]) -> str:
    """Of the visited moves, in [-1, 1], 1 being a win of Black's."""
    moves = [move for move in _searched(host).moves if move.visits]
    return _board(host, {move.action: _sign(host) * (2 * move.win_rate - 1) for move in moves})


@command("jubango-ownership", SHOW_COMMANDS)
def ownership(host: Host, words: list[str]) -> str:
    game = host.session.game
    if not game.counts_points:
        raise GtpError(f"nobody owns points in {game.spec}")
    owners = host.territory.owners(host.session.turn().state)
    return _rows(owners.reshape(game.height, game.width))


@command("jubango-moves", SHOW_COMMANDS)
def moves(host: Host, words: list[str]) -> str:
    """Win rates of the best moves."""
    shown = [move for move in _searched(host).moves if move.visits][:MOST_PAIRS]
    return " ".join(f"{host.session.vertex(move.action)} {100 * move.win_rate:.0f}%" for move in shown)


@command("jubango-pv", SHOW_COMMANDS)
def principal_variation(host: Host, words: list[str]) -> str:
    found = _searched(host)
    if not found.moves:
        return "TEXT the game is over"
    best, player = found.moves[0], host.session.turn().player
    vertices = host.session.vertices(best.variation[:LONGEST_SHOWN])
    steps = " ".join(f"{'bw'[(player + i) % 2]} {vertex}" for i, vertex in enumerate(vertices))
    percent = f"{100 * found.win_rate:.1f}"
    return f"VAR {steps}\nTEXT {('Black', 'White')[player]} wins {percent} %, {found.visits} visits"


def _searched(host: Host) -> AnalysisInfo:
    """What the bot finds with its own simulations; asked again about the position it is what it was."""
    turn, thinker = host.session.turn(), host.require_search()
    if turn.over:
        return NOTHING
    position = host.position(turn)
    if host.shown is None or host.shown[0] is not turn.state:
        thinker.begin(position, seconds=thinker.bot.seconds or float("inf"))
        host.finish(thinker)
        found = thinker.findings()
        if thinker.busy:  # interrupted: next time it is looked for anew
            return found
        host.shown = turn.state, found
    return host.shown[1]


def _sign(host: Host) -> int:
    return -1 if host.session.turn().player else 1


def _board(host: Host, values: dict[int, float]) -> str:
    """Of moves on points; a pass is on none."""
    game, state = host.session.game, host.session.state
    board = np.zeros((game.height, game.width))
    for action, number in values.items():
        point = game.action_point(state, action)
        if point is not None:
            board[point] = number
    return _rows(board)


def _rows(board: np.ndarray) -> str:
    return "\n".join(" ".join(f"{x:.3f}" for x in row) for row in board)


# -- the rules of other games --------------------------------------------------------------------


def ruled(game: Game) -> bool:
    """A game whose moves are points, and which GoGui does not know by itself."""
    return game.dialect != "go" and game.actions_are != "dense"


@command("gogui-rules_game_id", RULER)
def game_id(host: Host, words: list[str]) -> str:
    return host.session.game.common_name


@command("gogui-rules_board_size", RULER)
def board_size(host: Host, words: list[str]) -> str:
    game = host.session.game
    return f"{game.width}" if game.width == game.height else f"{game.width} {game.height}"


@command("gogui-rules_board", RULER)
def board(host: Host, words: list[str]) -> str:
    return "\n".join(" ".join(STONES[stone] for stone in row) for row in host.session.stones)


@command("gogui-rules_legal_moves", RULER)
def legal_moves(host: Host, words: list[str]) -> str:
    turn = host.session.turn()
    return " ".join(host.session.vertex(int(action)) for action in np.flatnonzero(turn.legal))


@command("gogui-rules_side_to_move", RULER)
def side_to_move(host: Host, words: list[str]) -> str:
    return ("black", "white")[host.session.turn().player]


@command("gogui-rules_final_result", RULER)
def final_result(host: Host, words: list[str]) -> str:
    if not host.session.turn().over:
        return "unknown"
    margin = host.session.game.result_text(host.session.state)
    return {"B": "Black wins", "W": "White wins"}.get(margin[0], "Draw")
