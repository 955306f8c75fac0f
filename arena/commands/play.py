"""``jubango play``: people and bots at one board in the terminal."""

from __future__ import annotations

import select
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from jubango.arena.commands.output import Halted, check_writable, data, loading, show_notes
from jubango.arena.preparing import Busy, Preparing, shown

if TYPE_CHECKING:
    from jubango.arena.block import Lane
    from jubango.arena.console import Console
    from jubango.bots.config import BotConfig
    from jubango.bots.player import MoveAnswer, MoveRequest
    from jubango.sgf_games.game import Game, State
    from jubango.sgf_games.record import GameRecord

HELP = "a move like D4 (or a column in connect four), pass, undo, resign, help, quit"
SIDES = ("Black ●", "White ○")
SCORED = ("score", "agreed", "cleanup", "disputed")  # reasons whose detail says how


def register(app: typer.Typer) -> None:
    @app.command()
    def play(
        game: Annotated[str, typer.Option(help="The game, e.g. go:9")] = "go:9",
        black: Annotated[str, typer.Option(help="A bot, or human.")] = "human",
        white: Annotated[str, typer.Option(help="A bot, or human.")] = "uct:simulations=1600",
        seed: Annotated[int, typer.Option(min=0, help="Decides the bots' dice.")] = 1,
        sgf: Annotated[Path | None, typer.Option(help="Keep the game in this new file, move by move.")] = None,
    ) -> None:
        """Play in the terminal. Moves like D4; pass, undo, resign, help, quit."""
        with loading():
            from jubango.bots.config import HUMAN, PRESETS, bot_from_spec, told_apart
            from jubango.bots.human import HumanConfig
            from jubango.sgf_games.catalogue import make_game
            from jubango.sgf_games.errors import UserError

            rules_of = make_game(game)

            def player(spec: str) -> BotConfig:
                try:
                    return HumanConfig(name=HUMAN) if spec == HUMAN else bot_from_spec(spec)
                except UserError as error:
                    known = spec.partition(":")[0] in PRESETS
                    raise UserError(f"{error}" if known else f'{error} (a person is "{HUMAN}")') from None

            bots = told_apart(map(player, (black, white)))
        if bots[0].name == bots[1].name and bots[0] != bots[1]:
            raise UserError(f'both players are called "{bots[0].name}"; name=... gives a bot another name')
        if rules_of.num_players != 2:
            raise UserError(f"{rules_of.spec} has {rules_of.num_players} player(s); this board is for two")
        if sgf is not None:
            check_writable(sgf, new=True)
        show_notes(rules_of, bots)
        Session(data(), rules_of, bots, seed, sgf).run()


class Session:
    """One game of the arena's table, with people asked at the terminal. It is kept in ``sgf`` from its first move on.

    The board is there before the bots are: their programs may take a while.
    """

    def __init__(self, console: Console, game: Game, bots: list[BotConfig], seed: int, sgf: Path | None) -> None:
        from jubango.analysis.plot import board_text
        from jubango.arena.pairings import GameTask
        from jubango.bots.human import HumanConfig, HumanPlayer

        self.console, self.game, self.sgf = console, game, sgf
        console.print(f"{game.spec}: {HELP}", style="dim", highlight=False)
        console.print(board_text(game.stones(game.init())))
        self.human = HumanPlayer(self._ask)
        self.people = [bot.name for bot in bots if isinstance(bot, HumanConfig)]
        self.task = GameTask("play", bots[0].name, bots[1].name, seed)
        others = ", ".join(dict.fromkeys(bot.name for bot in bots if not isinstance(bot, HumanConfig)))
        if bots[0].name in self.people and console.is_terminal:
            console.print("a move may be typed already; it is played when everything is ready", style="dim")
        with shown(console, Preparing(f"{game.spec}{' for ' * bool(others)}{others}")):
            from jubango.arena.table import Table

            players = dict.fromkeys(self.people, self.human)
            self.table = Table(game, bots, 1, players=dict(players), on_move=self._moved)

    def run(self) -> None:
        """Play to the end, or until somebody has had enough. Raises Halted for Ctrl-C."""
        try:
            record = self._play()
        except EOFError:
            self.console.print("\nthe game was left unfinished")
            record = self._unfinished()
        except KeyboardInterrupt:
            if self.table.lanes[0] is not None:
                self._keep(self._unfinished())
            where = f"is in {self.sgf}" if self.sgf else "was not kept (--sgf FILE keeps it)"
            raise Halted(f"the game up to here {where}") from None
        finally:
            self.table.close()
        self._keep(record)
        if self.sgf is not None:
            self.console.print(f"written to {self.sgf}", highlight=False, markup=False)
        if record.result != "?":
            self.console.print(f"result: {record.result}", style="bold", highlight=False)
            if record.reason in SCORED:
                self.console.print(record.detail, highlight=False, markup=False)

    def _play(self) -> GameRecord:
        """The game, finished."""
        from jubango.arena.waiting import Waiting

        waiting, records = Waiting([self.task]), []
        table = self.table
        table.seat(waiting)
        while (lane := table.lanes[0]) is not None:
            ply, bot = len(lane.moves), self._name(lane, len(lane.moves))
            quiet = bot in self.people or not self.console.is_terminal
            with nullcontext() if quiet else shown(self.console, Busy(f"{bot} thinks")):
                while table.lanes[0] is lane and len(lane.moves) == ply:
                    records += table.tick(waiting)
        return records[0]

    @staticmethod
    def _name(lane: Lane, ply: int) -> str:
        """Who makes a move of the game."""
        return lane.task.white if ply % 2 else lane.task.black

    def _moved(self, lane: Lane, answer: MoveAnswer) -> None:
        """Show what has happened."""
        from jubango.analysis.plot import board_text

        if answer.failure and answer.detail:
            self.console.print(answer.detail, highlight=False, markup=False)
        if not answer.failure:
            last = len(lane.moves) - 1
            name = self._name(lane, last)
            if name not in self.people:
                text = self.game.action_text(answer.action)
                said = f" ({answer.thought.text})" if answer.thought else ""
                self.console.print(f"{SIDES[last % 2]} {name} plays {text}{said}", highlight=False, markup=False)
        if not answer.failure or answer.failure == "undo":
            self.console.print(board_text(*self.table.boards([0])[0]))
            self._keep(self._unfinished())

    def _ask(self, request: MoveRequest, states: State) -> MoveAnswer:
        """Ask until there is a move, a resignation or a wish to take back."""
        from jubango.bots.player import MoveAnswer
        from jubango.sgf_games.errors import UserError

        while True:
            text = self._input(f"{SIDES[request.colour]} to move: ").strip().lower()
            if text in ("", "help", "?"):
                self.console.print(HELP, style="dim", highlight=False)
            elif text == "quit":
                raise EOFError
            elif text == "resign":
                return MoveAnswer(request.lane, failure="resign")
            elif text == "undo":
                if len(request.moves) >= 3 - len(self.people):
                    return MoveAnswer(request.lane, failure="undo")
                self.console.print("there is nothing to take back")
            else:
                try:
                    action = self.game.parse_action(text)
                except UserError as error:
                    self.console.print(str(error), highlight=False, markup=False)
                    continue
                if request.legal[action]:
                    return MoveAnswer(request.lane, action)
                self.console.print(f"{text.upper()} is not a legal move here", highlight=False, markup=False)

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
        from jubango.sgf_games.errors import UserError
        from jubango.sgf_games.library import write_safely
        from jubango.sgf_games.sgf import write_record

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
