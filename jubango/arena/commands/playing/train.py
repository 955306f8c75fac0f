"""``jubango train``: a network learns by self-play, visibly."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import game_option
from jubango.arena.commands.terminal.output import Halted, data, loading, messages
from jubango.sgf_games.base import shell


def register(app: typer.Typer) -> None:
    @app.command()
    def train(
        game: Annotated[
            list[str], game_option(help="The game, e.g. go:9; given again, other boards that it learns on as well.")
        ],
        out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="runs/train-GAME")] = None,
        minutes: Annotated[
            float | None, typer.Option(min=0.1, help="Train so long in all.", show_default="no limit")
        ] = None,
        games: Annotated[
            int | None, typer.Option(min=1, help="Train on so many games in all.", show_default="no limit")
        ] = None,
        channels: Annotated[int | None, typer.Option(help="Of the network.", show_default="the game's")] = None,
        blocks: Annotated[int | None, typer.Option(help="Of the network.", show_default="the game's")] = None,
        start: Annotated[
            str | None,
            typer.Option(
                help="A file of weights to begin with, of a network as large or smaller.", show_default="new ones"
            ),
        ] = None,
        search: Annotated[
            str | None, typer.Option(help="Of self-play: gumbel or alphazero.", show_default="gumbel")
        ] = None,
        simulations: Annotated[
            int | None, typer.Option(help="A move that is learnt from.", show_default="16; alphazero: more")
        ] = None,
        fast: Annotated[
            int | None, typer.Option(help="Simulations of the other moves.", show_default="a quarter")
        ] = None,
        share: Annotated[
            float | None, typer.Option(help="Of the moves that are learnt from.", show_default="0.25")
        ] = None,
        opening: Annotated[
            int | None, typer.Option(help="Moves at most drawn from the prior at first.", show_default="a side")
        ] = None,
        opening_temperature: Annotated[
            float | None, typer.Option(help="Of that draw; large: moves at random.", show_default="1")
        ] = None,
        lanes: Annotated[int | None, typer.Option(help="Games at once.", show_default="the machine's")] = None,
        records: Annotated[
            list[str] | None,
            typer.Option(help="SGF files or folders of games that are learnt from first.", show_default="none"),
        ] = None,
        epochs: Annotated[int | None, typer.Option(help="Times that all records are read.", show_default="1")] = None,
        per_game: Annotated[
            int | None, typer.Option(help="Positions of each recorded game at a time.", show_default="16")
        ] = None,
        alternate: Annotated[
            list[str] | None,
            game_option(help="A board: self-play there takes turns with the records.", show_default="none"),
        ] = None,
        rollouts: Annotated[
            int | None, typer.Option(help="First positions, which come from uct's rollouts.", show_default="0")
        ] = None,
        window: Annotated[
            int | None, typer.Option(help="Positions that are remembered.", show_default="400000")
        ] = None,
        reuse: Annotated[float | None, typer.Option(help="How often each is learnt from.", show_default="8")] = None,
        surprise: Annotated[
            float | None,
            typer.Option(help="Share drawn by how much the search changed the policy.", show_default="0.5"),
        ] = None,
        batch: Annotated[int | None, typer.Option(help="Positions of a step.", show_default="256")] = None,
        rate: Annotated[float | None, typer.Option(help="Of learning.", show_default="0.001")] = None,
        precision: Annotated[
            str | None,
            typer.Option(help="Of the network meanwhile: bfloat16 for GPUs, int8 for CPUs.", show_default="float32"),
        ] = None,
        seed: Annotated[
            int | None, typer.Option(help="Seed of the first weights and of all random numbers.", show_default="1")
        ] = None,
        measure_minutes: Annotated[float, typer.Option(min=0.1, help="Between two measurements of strength.")] = 10.0,
        measure_games: Annotated[int, typer.Option(min=2, help="Against each opponent.")] = 32,
        cluster: Annotated[
            str, typer.Option(metavar="HOSTS", help="Who plays what is learnt from, as of `tournament --cluster`.")
        ] = "",
    ) -> None:
        """Train a network by self-play, first from recorded games if there are any, or go on where it stopped; the best
        one is DIR/best.safetensors.

        A run that is gone on with keeps its settings, but for those that are given again."""
        with loading():
            from jubango.arena.screens.dashboard import clock
            from jubango.arena.training.measuring import BEST, Measuring
            from jubango.arena.training.training import CURVE_PICTURE
            from jubango.arena.training.training import train as training
            from jubango.arena.training.view import TrainingView

        folder = out or Path("runs") / f"train-{game[0].split(',')[0].replace(':', '-')}"
        settings = {
            "channels": channels, "blocks": blocks, "start": start, "search": search, "simulations": simulations,
            "fast": fast, "share": share, "opening": opening, "opening_temperature": opening_temperature,
            "lanes": lanes, "rollouts": rollouts, "window": window, "reuse": reuse, "surprise": surprise,
            "batch": batch, "rate": rate, "precision": precision, "seed": seed, "epochs": epochs, "per_game": per_game,
            "records": tuple(records) if records else None, "alternate": tuple(alternate) if alternate else None,
        }  # fmt: skip
        given = {key: value for key, value in settings.items() if value is not None}
        view = TrainingView(messages())
        run = None
        try:
            with view.running():
                for progress in training(
                    game, folder, minutes or math.inf, games or math.inf,
                    measuring=Measuring(measure_minutes, measure_games + measure_games % 2), cluster=cluster or None,
                    **given,
                ):  # fmt: skip
                    run = progress.training
                    view.show(progress)
        except KeyboardInterrupt:
            learnt = run is not None and run.trainer.steps
            said = f"all is kept in {folder}" if learnt else "nothing had been learnt yet"
            raise Halted(f"{said}; the same command goes on: {shell.command(*sys.argv[1:])}") from None
        assert run is not None
        if not run.trainer.steps:
            counts = run.trainer.counts
            messages().print(
                f"nothing has been learnt in {clock(run.seconds)} of training: {counts['games']:,.0f} games have given "
                f"{counts['positions']:,.0f} positions, and learning begins with {run.trainer.first_lesson:,}; the "
                "same command goes on with more --minutes or --games",
                style="yellow", soft_wrap=True,
            )  # fmt: skip
            return
        if run.measurements.elo:
            _, elo, error = run.measurements.elo[-1]
            data().print(f"the newest network has {elo:+.0f} ± {error:.0f} Elo over random")
        best = f"gumbel:network={folder / BEST}"
        play = shell.command("play", "--game", run.game.spec, "--black", best, "--white", "human")
        messages().print(
            f"the best network is {folder / BEST}, how it went {folder / CURVE_PICTURE}; play it: {play}",
            soft_wrap=True,
        )  # fmt: skip
