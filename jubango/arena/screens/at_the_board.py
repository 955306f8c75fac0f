"""A game at the board: people, asked at the terminal, and bots, whose thoughts are shown."""

from __future__ import annotations

import select
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TextIO

import jax
import numpy as np

from jubango.analysis.positions.heat import Heat
from jubango.analysis.positions.plot import board_text, heat_text
from jubango.arena.games.pool import GamePool
from jubango.arena.games.slot import GameSlot
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.waiting import Waiting
from jubango.arena.text.console import Console
from jubango.arena.text.preparing import Busy, Line, Preparing, shown
from jubango.bots.composition import strongest
from jubango.bots.config import BotConfig, SearchConfig, bot_from_spec
from jubango.bots.interactive.interactive_search import AnalysisInfo, InteractiveSearch, SearchedPosition
from jubango.bots.interactive.watched import WatchedPlayer
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.human import HumanConfig, HumanPlayer
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.rules.race import Race
from jubango.sgf_games.sgf.sgf import write_record

SIDE_TEXTS = ("Black ●", "White ○")
SHOWN_LINE = 8  # moves of a variation
SHOWN_MOVES = 5  # of a hint
RESULTS = {0.0: "lost", 0.5: "drawn", 1.0: "won"}  # of a move, where that is proved
PROVED = {  # of the position, with who is to move and who is not
    (0.0, 0.0): "{1} wins", (0.5, 0.5): "a draw", (1.0, 1.0): "{0} wins",
    (0.5, 1.0): "{0} does not lose", (0.0, 0.5): "{0} does not win",
}  # fmt: skip
SCORED = ("score", "agreed", "cleanup", "disputed")  # reasons whose detail says how


class BrokenOff(KeyboardInterrupt):
    """Ctrl-C at the board; the text says what has become of the game."""


class TerminalGame:
    """One game of the arena's table, with people asked at the terminal. It is kept in ``sgf`` from its first move on.

    The board is there before the bots are: their programs may take a while.
    """

    def __init__(self, console: Console, game: Game, bots: list[BotConfig], seed: int, sgf: Path | None) -> None:
        self.console, self.game, self.sgf = console, game, sgf
        example, passing = game.action_text(game.num_actions // 2), ", pass" if game.pass_action >= 0 else ""
        self._help = f"a move like {example}{passing}, hint, undo, swap (sides), resign, help, quit"
        console.print(f"{game.spec}: {self._help}", style="dim")
        console.print(board_text(game.stones(game.init()), slanted=game.hexagonal))
        self.human = HumanPlayer(self._ask)
        self.people = [bot.name for bot in bots if isinstance(bot, HumanConfig)]
        self.task = GameTask("play", bots[0].name, bots[1].name, seed)
        others = ", ".join(dict.fromkeys(bot.name for bot in bots if not isinstance(bot, HumanConfig)))
        if bots[0].name in self.people and console.is_terminal:
            console.print("a move may be typed already; it is played when everything is ready", style="dim")
        with shown(console, Preparing(f"{game.spec}{' for ' * bool(others)}{others}"), everywhere=True):
            players: dict[str, BatchPlayer] = dict.fromkeys(self.people, self.human)
            for bot in bots:
                if isinstance(bot, SearchConfig) and bot.name not in players:
                    players[bot.name] = WatchedPlayer(game, bot, self._watch)
            self.table = GamePool(game, bots, 1, players=dict(players), on_move=self._moved)
        self.bots = bots
        self.line: Line | None = None  # on the screen while a bot thinks
        self._adviser: InteractiveSearch | None = None  # gives hints

    def run(self) -> None:
        """Play to the end, or until somebody has had enough. Raises BrokenOff for Ctrl-C."""
        try:
            record = self._play()
        except EOFError:
            self.console.print("\nthe game was left unfinished")
            record = self._unfinished()
        except KeyboardInterrupt:
            if self.table.lanes[0] is not None:
                self._keep(self._unfinished())
            kept = self.sgf is not None and self.sgf.exists()
            where = f"is in {self.sgf}" if kept else "was not kept (--sgf FILE keeps it)"
            raise BrokenOff(f"the game up to here {where}") from None
        finally:
            self.table.close()
            if self._adviser is not None:
                self._adviser.close()
        self._keep(record)
        if self.sgf is not None and self.sgf.exists():
            self.console.print(f"written to {self.sgf}", soft_wrap=True)
        if record.result != "?":
            self.console.print(f"result: {record.result}", style="bold")
            if record.reason in SCORED:
                self.console.print(record.detail)

    def _play(self) -> GameRecord:
        """The game, finished."""
        waiting, records = Waiting([self.task]), []
        table = self.table
        table.seat(waiting)
        while (lane := table.lanes[0]) is not None:
            ply, bot = len(lane.moves), self._name(lane, len(lane.moves))
            quiet = bot in self.people or not self.console.is_terminal
            with nullcontext() if quiet else shown(self.console, Busy(f"{bot} thinks")) as self.line:
                while table.lanes[0] is lane and len(lane.moves) == ply:
                    records += table.tick(waiting)
        return records[0]

    @staticmethod
    def _name(lane: GameSlot, ply: int) -> str:
        """Who makes a move of the game."""
        return lane.task.white if ply % 2 else lane.task.black

    def _moved(self, lane: GameSlot, answer: MoveAnswer) -> None:
        """Show what has happened."""
        if answer.event and answer.detail:
            self.console.print(answer.detail)
        if not answer.event:
            last = len(lane.moves) - 1
            name = self._name(lane, last)
            if name not in self.people:
                text = self.game.action_text(answer.action)
                thought = answer.thought if answer.thought and answer.thought.simulations > 0 else None
                said = f" ({thought.text}{self._expected(name, answer.action)})" if thought else ""
                self.console.print(f"{SIDE_TEXTS[last % 2]} {name} plays {text}{said}")
        if answer.event == "swap":
            side = SIDE_TEXTS[lane.task.white in self.people]
            self.console.print(f"sides are changed: you are {side} now")
        if not answer.event or answer.event == "undo":
            self.console.print(board_text(*self.table.boards([0])[0], slanted=self.game.hexagonal))
            self._keep(self._unfinished())

    def _ask(self, request: MoveRequest, states: State) -> MoveAnswer:
        """Ask until there is a move, a resignation or a wish to take back; nobody is asked who can but wait."""
        if isinstance(self.game, Race) and request.legal[self.game.wait]:
            return MoveAnswer(request.lane, self.game.wait)
        while True:
            text = self._input(f"{SIDE_TEXTS[request.colour]} to move: ").strip().lower()
            if text in ("", "help", "?"):
                self.console.print(self._help, style="dim")
            elif text == "quit":
                raise EOFError
            elif text == "resign":
                return MoveAnswer(request.lane, event="resign")
            elif text == "hint":
                self._hint(request, states)
            elif text == "swap" and not self._is_move(text, request):  # as it is in Hex
                if len(self.people) == 1:
                    return MoveAnswer(request.lane, event="swap")
                self.console.print("people play both sides")
            elif text == "undo":
                if len(request.moves) >= 3 - len(self.people):
                    return MoveAnswer(request.lane, event="undo")
                self.console.print("there is nothing to take back")
            else:
                try:
                    state = jax.tree.map(lambda x: x[..., request.lane], states)
                    action = self.game.parse_move(state, text)
                except UserError as error:
                    self.console.print(str(error))
                    continue
                if request.legal[action]:
                    return MoveAnswer(request.lane, action)
                self.console.print(f"{text.upper()} is not a legal move here")

    def _is_move(self, text: str, request: MoveRequest) -> bool:
        with suppress(UserError):
            return bool(request.legal[self.game.parse_action(text)])
        return False

    def _watch(self, findings: AnalysisInfo) -> None:
        """A bot thinks on."""
        if self.line is not None and isinstance(self.line.says, Busy):
            best = findings.moves[0]
            rate = f"{100 * best.win_rate:.0f} % for itself after {findings.visits:,} visits"
            who = self.line.says.what.partition(": ")[0]
            self.line.says.what = f"{who}: {self._line(best.variation)}, {rate}"

    def _line(self, variation: Sequence[int]) -> str:
        return " ".join(map(self.game.action_text, variation[:SHOWN_LINE]))

    def _expected(self, name: str, action: int) -> str:
        """What a bot expects to follow its move."""
        player = self.table.players[name]
        last = player.last if isinstance(player, WatchedPlayer) else None
        line = next((move.variation[1:] for move in last.moves if move.action == action), ()) if last else ()
        return f", expecting {self._line(line)}" if line else ""

    def _hint(self, request: MoveRequest, states: State) -> None:
        """What the strongest bot there is makes of the position, whoever plays, and what it has proved."""
        spec = strongest(self.game)
        bot = bot_from_spec(spec if self.game.counts_points else f"{spec},solver=true")  # no game of points is proved
        assert isinstance(bot, SearchConfig)
        if self._adviser is None:
            with shown(self.console, Preparing(f"{self.game.spec} for {bot.name}")):
                self._adviser = InteractiveSearch(self.game, bot, room=0)
        state = jax.tree.map(lambda x: x[..., request.lane], states)
        with shown(self.console, Busy(f"{bot.name} thinks for you")):
            self._adviser.begin(
                SearchedPosition(state, request.legal, len(request.moves), request.seed),
                seconds=bot.seconds or float("inf"),
            )
            while self._adviser.busy:
                self._adviser.advance()
        found = self._adviser.findings()
        counts = np.zeros((self.game.height, self.game.width), int)
        for move in found.moves:
            point = self.game.action_point(state, move.action)
            if point is not None:
                counts[point] += move.visits
        stones, last = self.table.boards([request.lane])[0]
        heat = Heat(np.where(counts > 0, counts, np.nan), "visits")
        self.console.print(heat_text(stones, last, heat, self.console.width, self.game.hexagonal))
        side, other = (SIDE_TEXTS[colour][:-2] for colour in (request.colour, 1 - request.colour))
        known = max(move.bounds[0] for move in found.moves), max(move.bounds[1] for move in found.moves)
        if known in PROVED:
            self.console.print(f"proved: {PROVED[known].format(side, other)}", style="bold")
        self.console.print(f"move  {side} wins  visits  expected", style="dim")
        for move in found.moves[:SHOWN_MOVES]:
            text = self.game.action_text(move.action)
            low, high = move.bounds
            rate = RESULTS[low] if low == high and low in RESULTS else f"{100 * move.win_rate:.1f} %"
            line = f"{text:<4}  {rate:>10}  {move.visits:>6,}  {self._line(move.variation)}"
            self.console.print(line, no_wrap=True, overflow="ellipsis")

    def _input(self, prompt: str) -> str:
        """A line; one that was there before the prompt, typed ahead or from a file, is shown after it."""
        ahead = _is_waiting(sys.stdin)
        text = self.console.input(prompt)
        if ahead:
            self.console.print(text)
        return text

    def _unfinished(self) -> GameRecord:
        """The game as far as it has come."""
        lane = self.table.lanes[0]
        assert lane is not None
        return self.table.record(lane, "?", "unfinished")

    def _keep(self, record: GameRecord) -> None:

        if self.sgf is None:
            return
        try:
            write_safely(self.sgf, write_record(record))
        except OSError as error:
            raise UserError(f"{self.sgf}: cannot be written: {error.strerror}") from None


def _is_waiting(stream: TextIO) -> bool:
    """Can something be read from it at once?"""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError):  # Windows asks sockets only
        return False
