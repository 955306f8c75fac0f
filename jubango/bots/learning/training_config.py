"""What is trained and how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from jubango.bots.networks.int8 import quantised
from jubango.bots.networks.model import Precision
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import on_cpu
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.race import for_two


class TrainingConfig(BaseModel):
    """What is trained and how; what is 0 is chosen for the game.

    games: specs of one family of games, the first of which is the one that counts.
    channels, blocks: of the network. start: a file of weights to begin with; a smaller network grows, see
        :mod:`jubango.bots.networks.grown`. precision: of the network's tower in self-play and learning, "bfloat16" for
        GPUs; "int8", for CPUs, is of self-play alone, by weights of a little while ago.
    search: of self-play, "gumbel" or "alphazero"; simulations, fast: of a move that is kept for learning, and of the
        others; share: of the former.
    opening, opening_temperature: moves drawn from the prior at the beginning of a game (0: each board's side), see
        :class:`~jubango.bots.learning.self_play.SelfPlay`.
    records: SGF files and folders of games that are learnt from before self-play, ``epochs`` times all of them,
        ``per_game`` positions of each at a time. alternate: boards among the games on which self-play takes turns with
        them from the beginning.
    rollouts: positions that come from rollouts at first, searched by uct with ``rollout_simulations`` a move.
    lanes: games at once. window: positions that are remembered. reuse: how often each is learnt from. surprise: the
        share that is drawn by how much the search changed the network's policy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    games: Annotated[tuple[str, ...], Field(min_length=1)]
    channels: Annotated[int, Field(ge=0, le=4096)] = 0
    blocks: Annotated[int, Field(ge=0, le=128)] = 0
    precision: Precision = "float32"
    start: str = ""
    search: Literal["gumbel", "alphazero"] = "gumbel"
    simulations: Annotated[int, Field(ge=0, le=10_000)] = 0
    fast: Annotated[int, Field(ge=0, le=10_000)] = 0
    share: Annotated[float, Field(gt=0, le=1)] = 0.25
    opening: Annotated[int, Field(ge=0, le=1000)] = 0
    opening_temperature: Annotated[float, Field(gt=0, le=1000)] = 1.0
    records: tuple[str, ...] = ()
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 1
    per_game: Annotated[int, Field(ge=1, le=10_000)] = 16
    alternate: tuple[str, ...] = ()
    rollouts: Annotated[int, Field(ge=0)] = 0
    rollout_simulations: Annotated[int, Field(ge=4, le=100_000)] = 512
    lanes: Annotated[int, Field(ge=0, le=65_536)] = 0
    window: Annotated[int, Field(ge=1_000, le=10**8)] = 400_000
    reuse: Annotated[float, Field(gt=0, le=1000)] = 8.0
    surprise: Annotated[float, Field(ge=0, le=1)] = 0.5
    batch: Annotated[int, Field(ge=2, le=65_536)] = 256
    rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1

    def chosen(self) -> TrainingConfig:
        """The same with everything chosen. Raises UserError."""
        if self.precision == "int8":
            quantised.check()
        games = [for_two(make_game(spec)) for spec in self.games]
        if len({game.family for game in games}) > 1:
            raise UserError(f"train: {' and '.join(self.games)} are no boards of one game")
        points = max(game.height * game.width for game in games)
        large = points > 36
        simulations = self.simulations or (16 if self.search == "gumbel" else 64 if large else 32)
        channels, blocks = (16, 2) if points <= 9 else (32, 4 if large else 3) if on_cpu() else (128, 8 if large else 4)
        usual = {
            "channels": channels,
            "blocks": blocks,
            "simulations": simulations,
            "fast": max(2, simulations // 4),
            "lanes": 256 if on_cpu() else 1024,
        }
        chosen = {key: value or usual.get(key, value) for key, value in self}
        specs = tuple(game.spec for game in games)
        alternate = tuple(for_two(make_game(spec)).spec for spec in self.alternate)
        if unknown := [spec for spec in alternate if spec not in specs]:
            raise UserError(f"train: alternate: {unknown[0]} is none of {', '.join(specs)}")
        if alternate and not self.records:
            raise UserError("train: alternate: there are no records to take turns with")
        return type(self).model_validate({**chosen, "games": specs, "alternate": alternate})
