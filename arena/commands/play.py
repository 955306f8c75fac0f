"""``jubango play``: people and bots at one board in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jubango.arena.commands.output import data, show_notes

if TYPE_CHECKING:
    from rich.console import Console

    from jubango.bots.config import BotConfig
    from jubango.sgf_games.game import Game

HELP = "a move like D4 (or a column in connect four), pass, undo, resign, help, quit"


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
        from jubango.bots.config import bot_from_spec
        from jubango.sgf_games.catalogue import make_game
        from jubango.sgf_games.errors import UserError
        from jubango.sgf_games.machine import configure

        rules_of = make_game(game)
        players = [None if spec == "human" else bot_from_spec(spec) for spec in (black, white)]
        if rules_of.num_players != 2:
            raise UserError(f"{rules_of.spec} has {rules_of.num_players} player(s); this board is for two")
        show_notes([bot for bot in players if bot])
        configure(cores=1)
        Session(data(), rules_of, players, seed).run(sgf)


class Session:
    """One game: the moves, and the position they lead to."""

    def __init__(self, console: Console, game: Game, players: list[BotConfig | None], seed: int) -> None:
        from jubango.bots.bot import make_movers
        from jubango.sgf_games.compiled import rules

        self.console, self.game, self.players, self.seed = console, game, players, seed
        self.rules = rules(game)
        self.movers = make_movers(game, [bot for bot in dict.fromkeys(players) if bot], 1)
        self.moves: list[int] = []
        self.comments: list[str] = []
        self.round = 0  # grows with every undo, so that engines start their game afresh
        self._replay()

    def _replay(self) -> None:
        from jubango.sgf_games.compiled import initial_state

        self.states = [initial_state(self.game)]
        for action in self.moves:
            self.states.append(self.rules.step(self.states[-1], action))

    def view(self) -> Any:
        import jax

        return jax.device_get(self.rules.view(self.states[-1]))

    def run(self, sgf: Path | None) -> None:
        result, reason = "?", "unfinished"
        self.console.print(f"{self.game.spec}: {HELP}", style="dim", highlight=False)
        try:
            while True:
                view = self.view()
                self._draw()
                if bool(view.terminal):
                    result, reason = self.game.result_text(self.states[-1]), "score"
                    break
                player = int(view.player)
                bot = self.players[player]
                outcome = self._bot_move(bot, view) if bot else self._human_move(player, view)
                if outcome:
                    result = f"{'B' if player else 'W'}+{outcome}"
                    reason = "resign"
                    break
        except EOFError:
            self.console.print("\nthe game was left unfinished")
        finally:
            for mover in set(self.movers.values()):
                mover.close()
            if sgf is not None:
                self._save(sgf, result, reason)
        if result != "?":
            self.console.print(f"result: {result}", style="bold", highlight=False)

    def _draw(self) -> None:
        from jubango.analysis.plot import board_text

        state = self.states[-1]
        last = self.game.last_point(state, self.moves[-1]) if self.moves else None
        self.console.print(board_text(self.game.stones(state), last))

    def _human_move(self, player: int, view: Any) -> str:
        """Ask until there is a move. Returns "R" for a resignation."""
        from jubango.sgf_games.errors import UserError

        while True:
            colour = ("Black ●", "White ○")[player]
            text = self.console.input(f"{colour} to move: ").strip().lower()
            if text in ("", "help", "?"):
                self.console.print(HELP, style="dim", highlight=False)
            elif text == "quit":
                raise EOFError
            elif text == "resign":
                return "R"
            elif text == "undo":
                if self._undo():
                    return ""
                self.console.print("there is nothing to take back")
            else:
                try:
                    action = self.game.parse_action(text)
                except UserError as error:
                    self.console.print(str(error), highlight=False, markup=False)
                    continue
                if view.legal[action]:
                    self._push(action, "")
                    return ""
                self.console.print(f"{text.upper()} is not a legal move here", highlight=False, markup=False)

    def _undo(self) -> bool:
        """Take back the last move and those of bots before it, so that the same person moves again."""
        humans = [i for i, bot in enumerate(self.players) if bot is None]
        count = 1 if len(humans) == 2 else 2
        if len(self.moves) < count:
            return False
        del self.moves[-count:], self.comments[-count:]
        self.round += 1
        self._replay()
        return True

    def _push(self, action: int, comment: str) -> None:
        self.moves.append(action)
        self.comments.append(comment)
        self.states.append(self.rules.step(self.states[-1], action))

    def _bot_move(self, bot: BotConfig, view: Any) -> str:
        import jax
        import jax.numpy as jnp

        from jubango.arena.pairings import move_seed
        from jubango.bots.bot import MoveRequest

        mover = self.movers[bot.name]
        game_id = f"play-{self.round}"
        seed = move_seed(self.seed, len(self.moves))
        batch = jax.tree.map(lambda x: jnp.asarray(x)[..., None], self.states[-1])
        request = MoveRequest(0, game_id, bot, seed, view.legal, list(self.moves), int(view.player))
        with self.console.status(f"{bot.name} is thinking"):
            mover.begin([request], batch)
            answers = mover.advance()
            while not answers:
                answers = mover.advance()
        answer = answers[0]
        if answer.failure:
            if answer.detail:
                self.console.print(f"{bot.name}: {answer.detail}", highlight=False, markup=False)
            return {"resign": "R", "time": "T"}.get(answer.failure, "F")
        said = ""
        if answer.thought:
            thought = answer.thought
            said = f"{thought.visits} of {thought.simulations} visits, win rate {50 + 50 * thought.value:.1f} %"
        text = self.game.action_text(answer.action)
        self.console.print(f"{bot.name} plays {text}" + (f" ({said})" if said else ""), highlight=False, markup=False)
        self._push(answer.action, said)
        return ""

    def _save(self, path: Path, result: str, reason: str) -> None:
        from datetime import UTC, datetime

        from jubango.sgf_games.errors import UserError
        from jubango.sgf_games.record import GameRecord
        from jubango.sgf_games.sgf import write_record

        names = [bot.name if bot else "human" for bot in self.players]
        specs = [bot.spec if bot else "human" for bot in self.players]
        record = GameRecord(
            "play", self.game.spec, names[0], names[1], specs[0], specs[1], self.seed,
            tuple(self.game.action_text(action) for action in self.moves), result, reason,
            date=datetime.now(UTC).isoformat(timespec="seconds"), comments=tuple(self.comments),
        )  # fmt: skip
        try:
            path.write_bytes(write_record(record))
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from None
        self.console.print(f"written to {path}", highlight=False, markup=False)
