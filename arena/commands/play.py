"""``jubango play``: people and bots at one board in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.output import data, show_notes

if TYPE_CHECKING:
    from rich.console import Console

    from jubango.arena.block import Lane
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
        sgf: Annotated[Path | None, typer.Option(help="Write the game here when it ends.")] = None,
    ) -> None:
        """Play in the terminal. Moves like D4; pass, undo, resign, help, quit."""
        from jubango.bots.config import bot_from_spec, told_apart
        from jubango.bots.human import HumanConfig
        from jubango.sgf_games.catalogue import make_game
        from jubango.sgf_games.errors import UserError

        rules_of = make_game(game)
        bots = told_apart(
            HumanConfig(name="human") if spec == "human" else bot_from_spec(spec) for spec in (black, white)
        )
        if bots[0].name == bots[1].name and bots[0] != bots[1]:
            raise UserError(f'both players are called "{bots[0].name}"; name=... gives a bot another name')
        if rules_of.num_players != 2:
            raise UserError(f"{rules_of.spec} has {rules_of.num_players} player(s); this board is for two")
        show_notes(bots)
        Session(data(), rules_of, bots, seed).run(sgf)


class Session:
    """One game of the arena's table, with people asked at the terminal."""

    def __init__(self, console: Console, game: Game, bots: list[BotConfig], seed: int) -> None:
        from jubango.arena.pairings import GameTask
        from jubango.arena.table import Table
        from jubango.arena.waiting import Waiting
        from jubango.bots.human import HumanConfig, HumanPlayer

        self.console, self.game = console, game
        self.human = HumanPlayer(self._ask)
        people = {bot.name: self.human for bot in bots if isinstance(bot, HumanConfig)}
        self.people = len([bot for bot in bots if isinstance(bot, HumanConfig)])
        self.table = Table(game, bots, 1, players=dict(people), on_move=self._moved)
        self.waiting = Waiting([GameTask("play", bots[0].name, bots[1].name, seed)])

    def run(self, sgf: Path | None) -> None:
        self.console.print(f"{self.game.spec}: {HELP}", style="dim", highlight=False)
        table, records = self.table, []
        try:
            table.seat(self.waiting)
            self._draw()
            while table.lanes[0] is not None:
                records += table.tick(self.waiting)
        except EOFError:
            self.console.print("\nthe game was left unfinished")
            lane = table.lanes[0]
            assert lane is not None
            unfinished = table.record(lane, "?", "unfinished")
            records.append(unfinished)
        finally:
            table.close()
        if sgf is not None:
            self._save(sgf, records[0])
        if records[0].result != "?":
            self.console.print(f"result: {records[0].result}", style="bold", highlight=False)
            if records[0].reason in SCORED:
                self.console.print(records[0].detail, highlight=False, markup=False)

    def _draw(self) -> None:
        from jubango.analysis.plot import board_text

        self.console.print(board_text(*self.table.board(0)))

    def _moved(self, lane: Lane, answer: MoveAnswer) -> None:
        """Show what has happened."""
        if answer.failure and answer.detail:
            self.console.print(answer.detail, highlight=False, markup=False)
        if not answer.failure:
            bot = self.table.bots[lane.task.white if len(lane.moves) % 2 == 0 else lane.task.black]
            if self.table.players[bot.name] is not self.human:
                text = self.game.action_text(answer.action)
                said = f" ({answer.thought.text})" if answer.thought else ""
                self.console.print(f"{bot.name} plays {text}{said}", highlight=False, markup=False)
        if not answer.failure or answer.failure == "undo":
            self._draw()

    def _ask(self, request: MoveRequest, states: State) -> MoveAnswer:
        """Ask until there is a move, a resignation or a wish to take back."""
        from jubango.bots.player import MoveAnswer
        from jubango.sgf_games.errors import UserError

        while True:
            text = self.console.input(f"{SIDES[request.colour]} to move: ").strip().lower()
            if text in ("", "help", "?"):
                self.console.print(HELP, style="dim", highlight=False)
            elif text == "quit":
                raise EOFError
            elif text == "resign":
                return MoveAnswer(request.lane, failure="resign")
            elif text == "undo":
                if len(request.moves) >= 3 - self.people:
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

    def _save(self, path: Path, record: GameRecord) -> None:
        from jubango.sgf_games.errors import UserError
        from jubango.sgf_games.sgf import write_record

        try:
            path.write_bytes(write_record(record))
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from None
        self.console.print(f"written to {path}", highlight=False, markup=False)
