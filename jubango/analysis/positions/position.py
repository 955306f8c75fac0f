"""What a search makes of positions: visits, win rates, principal variations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, get_args, overload

import numpy as np

from jubango.analysis.positions.asked import label_of, limits_of, questions_of, running
from jubango.analysis.positions.heat import FEWEST, MOST_LABELS, Heat, less
from jubango.analysis.positions.ownership import ownership
from jubango.analysis.positions.plot import draw, save_png
from jubango.analysis.positions.win_rate import PLAYER_NAMES, WinRate
from jubango.bots.bot_keys import BotKeys
from jubango.bots.composition import judging_note, strongest
from jubango.bots.config import BotConfig, LevelConfig, SearchConfig, bot_from_spec, bot_from_table
from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine
from jubango.bots.players.engines.analysts.analyst import EngineLimits, EngineResult
from jubango.bots.run_bot import run_bot
from jubango.bots.search.results.result import SearchResult
from jubango.bots.sizing import affordable_trees
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.sgf.diagram import Diagram, board_svg
from jubango.sgf_games.sgf.positions import Position

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Values = Literal["visits", "prior", "value", "ownership"]

MOST_LANES = 64  # positions searched at once
LONGEST_VARIATION = 12  # moves


@dataclass(frozen=True)
class MoveStatistics:
    """One legal action of a position."""

    action: int
    move: str  # D4
    point: Point | None
    visits: int
    share: float  # of all visits
    prior: float
    win_rate: WinRate  # the mean of its visits; without any that of the whole search
    variation: tuple[str, ...]  # the principal variation, this move first
    lead: float | None = None  # Black's after it, in points, where an engine says so


@dataclass(frozen=True, eq=False, repr=False)
class PositionAnalysis:
    """What a search found. A notebook shows the board with the visits.

    ``win_rate`` is the position's, the mean of all simulations; ``best.win_rate`` is what the best move's own visits
    say, which favours whoever is to move.
    """

    position: Position
    moves: tuple[MoveStatistics, ...]  # the best one first, then the visited by visits
    win_rate: WinRate  # the mean of the whole search, or the result where the game is over
    simulations: int
    priors: np.ndarray  # float [A]; 0 where illegal
    note: str = ""  # what a person should know of the bot's judgement
    engine: str = ""  # who has looked, where it is no bot of ours
    lead: float | None = None  # Black's, in points, where an engine says so
    ownership: np.ndarray | None = None  # float [H, W], 1 for a point of Black's, where an engine says so

    @property
    def noise(self) -> str:
        """Why visits and win rates do not tell the moves apart, or nothing: where a search has made some visits, and no
        move has five."""
        most = max((move.visits for move in self.moves), default=0)
        if not 0 < most < FEWEST:
            return ""
        visits = f"{most} visit{'s' * (most != 1)}"
        return f"no move has more than {visits} of {self.simulations}, which is noise: more simulations tell them apart"

    @property
    def has_prior(self) -> bool:
        """Whether there is a prior of its moves; an engine may tell none."""
        return any(move.prior for move in self.moves)

    @property
    def lead_text(self) -> str:
        """``Black leads by 3.2 points``, where it is known."""
        if self.lead is None:
            return ""
        return f"{PLAYER_NAMES[self.lead < 0]} leads by {abs(self.lead):.1f} points"

    @property
    def player(self) -> int:
        """To move: 0 Black, 1 White."""
        return self.win_rate.player

    @property
    def over(self) -> bool:
        """The game is over here: there is nothing to search."""
        return self.position.over

    @property
    def best(self) -> MoveStatistics | None:
        """The move to play; None where the game is over."""
        return self.moves[0] if self.moves else None

    @property
    def frame(self) -> pd.DataFrame:
        """A row for every visited move; see :func:`analysis_frame`."""
        return analysis_frame([self])

    def counts(self) -> np.ndarray:
        """int [H, W]: visits of the points; a pass is on no point."""
        game = self.position.game
        grid = np.zeros((game.height, game.width), int)
        for move in self.moves:
            if move.point is not None:
                grid[move.point] += move.visits
        return grid

    def heat(self, values: Values = "visits") -> Heat:
        """Visits, priors, or win rates of the player to move, of the points; or whose they are in the end
        (:func:`jubango.analysis.positions.ownership.ownership`). Raises UserError."""
        if values == "visits":
            counts = self.counts()
            return Heat(np.where(counts > 0, counts, np.nan), "visits")
        game, state = self.position.game, self.position.state
        grid = np.full((game.height, game.width), np.nan)
        if values == "prior":
            for action in np.flatnonzero(self.priors):
                point = game.action_point(state, int(action))
                if point is not None:
                    grid[point] = np.nan_to_num(grid[point]) + self.priors[action]
            if self.engine and not self.priors.any() and self.moves:
                raise UserError(f"{self.engine}: tells no priors; look at visits or value")
            return Heat(grid, "prior in %", "share")
        if values == "ownership":
            if self.ownership is not None:
                return Heat(self.ownership, "ownership in %", "sides")
            if self.engine and self.moves:
                raise UserError(f"{self.engine}: tells no ownership; look at visits or value")
            return ownership([self.position])[0]
        if values != "value":
            raise UserError(f'a heatmap shows no "{values}"{nearest(str(values), get_args(Values))}')
        for move in reversed(self.moves):  # of several moves on a point the first counts
            if move.point is not None:
                grid[move.point] = move.win_rate.mover
        return Heat(grid, f"{PLAYER_NAMES[self.player]}'s win rate in %", "rate")

    def less(
        self, other: PositionAnalysis, values: Values = "visits", names: tuple[str, str] = ("this", "that")
    ) -> Heat:
        """What this search gives the points more than another of the same position does, visits as shares of all:
        ``a.plot(values=a.less(b))``. Raises UserError."""
        if (other.position.stones != self.position.stones).any() or other.player != self.player:
            raise UserError("the two analyses are of different positions; compare those of one")
        heats = [a.heat(values) if values != "visits" else a._shares() for a in (self, other)]
        return less(heats[0], heats[1], names)

    def _shares(self) -> Heat:
        """Visits of the points as shares of all, those of a pass included."""
        return Heat(self.heat("visits").grid / max(1, self.simulations), "visits in %", "share")

    def diagram(self, values: Values | Heat = "visits") -> Diagram:
        """The board with a heatmap, the best move framed, the win rate in the title."""
        position, best = self.position, self.best
        heat = values if isinstance(values, Heat) else self.heat(values)
        noise = self.noise if values in ("visits", "value") else ""
        status = position.status
        if best is not None:
            status += f": {best.move}, {best.visits} of {self.simulations} visits, win rate {self.win_rate}"
            status += f", after {best.move} {best.win_rate.percent}"
        by = ", ".join(filter(None, (self.engine, self.lead_text)))
        lines = [position.short_title, status, by, heat.name if heat.name != "visits" else "", noise, self.note]
        board = position.diagram()
        point = best.point if best and not noise else None
        cells = {} if noise else heat.cells(MOST_LABELS, point)
        return replace(board, best=point, cells=cells, title="\n".join(filter(None, lines)))

    def plot(self, axes: Axes | None = None, values: Values | Heat = "visits") -> Axes:
        """Draw the heatmap of ``values``, on new axes if none are given, and return the axes. Raises UserError."""
        return draw(self.diagram(values), axes)

    def save_png(self, path: Path | str, values: Values | Heat = "visits") -> None:
        """Write the heatmap as a picture, of the kind the file's name says. Raises OSError, ValueError."""
        heat = values if isinstance(values, Heat) else self.heat(values)
        save_png(path, self.diagram(values), None if self.noise and values in ("visits", "value") else heat)

    def __repr__(self) -> str:
        best = f"{self.best.move}, win rate {self.win_rate}" if self.best else self.position.status
        by = f" by {self.engine}" if self.engine else ""
        return printable(f"<PositionAnalysis of {self.position.title}: {best}, {self.simulations} simulations{by}>")

    def _repr_svg_(self) -> str:
        return board_svg(self.diagram())


def searching_bot(bot: str | BotConfig, **keys: object) -> SearchConfig:
    """The bot a spec string names, or a configuration, with ``keys`` changed.

    ``seconds`` by itself replaces its simulations.

    Raises UserError if it has no visits.
    """
    config = bot_from_spec(bot) if isinstance(bot, str) else bot
    if isinstance(config, LevelConfig):
        raise UserError(f'bot "{config.name}": a level plays and does not analyse; name the bot that it stands for')
    if not isinstance(config, SearchConfig):
        raise UserError(f'bot "{config.name}": only a searching bot (uct, alphazero, ...) can show its visits')
    if keys:
        changed = config.changed
        if keys.get("seconds"):
            changed.pop("simulations", None)
        table = {**changed, **keys, "name": config.name, "use": config.use}
        config = bot_from_table(table, f'bot "{config.name}"')
        assert isinstance(config, SearchConfig)
        if config.name.partition(":")[0] == config.use:  # its name was a spec string, which is another now
            config = config.model_copy(update={"name": config.usual_name})
    return config


def _content(done: int, total: int) -> None:
    """No progress to be reported."""


@overload
def analyze(
    positions: Position, bot: str | BotConfig | None = ..., *, engine: str | AnalysisEngine | None = ...,
    seed: int = ..., on_progress: Callable[[int, int], bool | None] = ..., **keys: Unpack[BotKeys],
) -> PositionAnalysis: ...  # fmt: skip
@overload
def analyze(
    positions: Sequence[Position], bot: str | BotConfig | None = ..., *, engine: str | AnalysisEngine | None = ...,
    seed: int = ..., on_progress: Callable[[int, int], bool | None] = ..., **keys: Unpack[BotKeys],
) -> list[PositionAnalysis]: ...  # fmt: skip
def analyze(
    positions: Position | Sequence[Position],
    bot: str | BotConfig | None = None,
    *,
    engine: str | AnalysisEngine | None = None,
    seed: int = 1,
    on_progress: Callable[[int, int], bool | None] = _content,
    **keys: Unpack[BotKeys],
) -> PositionAnalysis | list[PositionAnalysis]:
    """What a bot's search finds in a position, or in each of many of one game, which are searched side by side.

    A bot's temperature and the noise at its root are for games; they are left out here.

    positions: one, or a sequence of one game's; these give a list.
    bot: a spec string or a configuration, by default the strongest there is for the game.
    engine: in the place of a bot, an engine that speaks KataGo's JSON analysis protocol, or GTP with ``kata-analyze``
        or ``lz-analyze``: its command, or one that runs already.
    seed: of the search's random numbers; an engine has its own.
    on_progress: called with (done, total) simulations a position; False ends the search with what there is.
    keys: change the bot's: ``simulations=5000``. An engine has ``simulations``, its visits, and ``seconds``.

    Raises UserError for a bot that does not search, and if a tree is too large; for an engine that cannot be started,
    or answers with an error. One that dies is a RuntimeError.
    """
    alone = isinstance(positions, Position)
    places = [positions] if isinstance(positions, Position) else positions
    if not isinstance(places, Sequence) or not all(isinstance(p, Position) for p in places):
        raise UserError(
            "analyze takes a position or a list of them; a record has them as record.at(30), record.positions"
        )
    if engine is not None and bot is not None:
        raise UserError("analyze: bot and engine exclude each other; give one")
    limits = limits_of({**keys}) if engine is not None else None
    if not places:
        return []
    games = {position.game for position in places}
    if len(games) > 1:
        raise UserError(f"positions of {len(games)} different games; analyze those of one game at a time")
    if engine is not None and limits is not None:
        with running(engine) as asked:
            found = asked_of(places, asked, limits, on_progress)
    else:
        found = _analyze(places, searching_bot(bot or strongest(places[0].game, keys), **keys), seed, on_progress)
    return found[0] if alone else found


def asked_of(
    positions: Sequence[Position], engine: AnalysisEngine, limits: EngineLimits,
    on_progress: Callable[[int, int], bool | None] = _content,
) -> list[PositionAnalysis]:  # fmt: skip
    """What an engine finds in positions; see :func:`analyze`. Raises UserError, and CannotGoOn where it dies."""
    going = [position for position in positions if not position.over]
    visits = limits.visits or 0

    def look(done: float) -> bool | None:
        return on_progress(round(done * visits / len(going)), visits)

    found = {id(going[i]): result for i, result in engine.ask(questions_of(going), limits, look)}
    for position in going:
        if found[id(position)] is None:
            raise UserError(f"stopped before {engine.name} had looked at the position {position.place}")
    note, label = "; ".join(engine.notes), label_of(engine, limits)
    return [_analysis(position, found.get(id(position)), note, label) for position in positions]


def _analyze(
    positions: Sequence[Position], bot: SearchConfig, seed: int, on_progress: Callable[[int, int], bool | None]
) -> list[PositionAnalysis]:
    at_once = min(MOST_LANES, affordable_trees(positions[0].game, bot))
    total = bot.simulations * -(-len(positions) // at_once)
    out: list[PositionAnalysis] = []
    stopped = False

    def look(made: int, done: int, wanted: int) -> bool:
        nonlocal stopped
        stopped = stopped or on_progress(made + done, total) is False
        return not stopped

    for first in range(0, len(positions), at_once):
        made = bot.simulations * (first // at_once)
        out += _batch(positions[first : first + at_once], bot, seed, functools.partial(look, made))
    return out


def _batch(
    positions: Sequence[Position], bot: SearchConfig, seed: int, on_progress: Callable[[int, int], bool]
) -> list[PositionAnalysis]:
    going = [i for i, position in enumerate(positions) if not position.over]
    # A position's seed depends on the seed and its place in the game, not on what is searched beside it.
    seeds = [(positions[i].number + seed) * 2654435761 % 2**32 for i in going]
    game, states = positions[0].game, [positions[i].state for i in going]
    found = dict(zip(going, run_bot(game, bot, states, seeds, on_progress) if going else [], strict=True))
    note = judging_note(game, bot)
    return [_analysis(position, found.get(i), note) for i, position in enumerate(positions)]


def _analysis(
    position: Position, result: SearchResult | EngineResult | None, note: str, engine: str = ""
) -> PositionAnalysis:
    player, game = position.player, position.game
    if result is None:
        rate = WinRate.of_value(position.returns[player], player)
        return PositionAnalysis(position, (), rate, 0, np.zeros(game.num_actions, np.float32), engine=engine)
    rate = WinRate.of_value(result.value, player)
    lead = owners = None
    if isinstance(result, EngineResult):
        lead = result.lead
        owners = None if result.ownership is None else result.ownership.reshape(game.height, game.width)
    return PositionAnalysis(
        position, _moves(position, result), rate, result.simulations, result.priors, note, engine, lead, owners
    )


def _moves(position: Position, result: SearchResult | EngineResult) -> tuple[MoveStatistics, ...]:
    game, visits, value = position.game, result.visits, result.values
    total = max(1, int(visits.sum()))
    shown = {int(action) for action in np.flatnonzero(visits)} | {result.action}  # a bot may choose without visits
    order = sorted(shown, key=lambda a: (a != result.action, -visits[a], -value[a], a))
    leads = result.leads or {} if isinstance(result, EngineResult) else {}
    return tuple(
        MoveStatistics(
            action,
            game.action_text(action),
            game.action_point(position.state, action),
            int(visits[action]),
            float(visits[action]) / total,
            float(result.priors[action]),
            WinRate.of_value(value[action] if visits[action] else result.value, position.player),
            tuple(game.action_text(a) for a in result.variation_of(action)[:LONGEST_VARIATION]),
            leads.get(action),
        )
        for action in order
    )


def analysis_frame(analyses: Sequence[PositionAnalysis]) -> pd.DataFrame:
    """One row for every visited move of every position: move_number, player, rank, move, visits, share,
    win_rate (of the player to move), win_rate_black, prior, variation; and position_win_rate_black, of the whole
    search. Where an engine says who leads, also lead_black and position_lead_black, in points."""
    import pandas as pd

    rows = [
        (a.position.number, ("black", "white")[a.player], i, m.move, m.visits, round(m.share, 6),
         round(m.win_rate.mover, 6), round(m.win_rate.black, 6), round(m.prior, 6), " ".join(m.variation),
         round(a.win_rate.black, 6), _points(m.lead), _points(a.lead))
        for a in analyses
        for i, m in enumerate(a.moves, 1)
    ]  # fmt: skip
    columns = [
        "move_number", "player", "rank", "move", "visits", "share", "win_rate", "win_rate_black", "prior", "variation",
        "position_win_rate_black", "lead_black", "position_lead_black",
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    return frame if any(a.lead is not None for a in analyses) else frame[columns[:-2]]


def _points(lead: float | None) -> float:
    return float("nan") if lead is None else round(lead, 2)
