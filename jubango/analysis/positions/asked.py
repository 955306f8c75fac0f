"""What other people's engines say of positions: how they are told them, and how long they look."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine
from jubango.bots.players.engines.analysts.analyst import EngineLimits, EngineLine, EngineQuestion, Stone
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import Position

LIMITS = ("simulations", "seconds")  # keys of a bot that mean something to an engine
MOST_VISITS, LONGEST_SEARCH = 1_000_000_000, 86_400.0


@contextmanager
def running(engine: str | AnalysisEngine) -> Iterator[AnalysisEngine]:
    """The engine of a command, which ends with this; or one that runs already. Raises UserError."""
    if isinstance(engine, AnalysisEngine):
        yield engine
        return
    with AnalysisEngine(engine) as started:
        yield started


def limits_of(keys: dict[str, object]) -> EngineLimits:
    """How long an engine looks at a position: ``simulations``, which are its visits, and ``seconds``. Raises
    UserError."""
    for key in keys:
        if key not in LIMITS:
            raise UserError(f'engine: has no "{key}"{nearest(key, LIMITS)}; its settings are those of its command')
    visits, seconds = keys.get("simulations"), keys.get("seconds")
    if visits is not None and not (type(visits) is int and 1 <= visits <= MOST_VISITS):
        raise UserError(f"engine: simulations={visits}: should be a whole number from 1 to {MOST_VISITS}")
    if seconds is not None and not (
        isinstance(seconds, int | float) and math.isfinite(seconds) and 0 < seconds <= LONGEST_SEARCH
    ):
        raise UserError(f"engine: seconds={seconds}: should be above 0 and at most {LONGEST_SEARCH:g}")
    assert visits is None or isinstance(visits, int)
    assert seconds is None or isinstance(seconds, int | float)
    return EngineLimits(visits, None if seconds is None else float(seconds))


def questions_of(positions: Sequence[Position]) -> list[EngineQuestion]:
    """How an engine is told positions: those of one game share their line, which is told once.

    It is told the moves that led there, so that ko, superko and its network's view of the last moves are right. Where
    the moves are not known, or another player is to move than the one they leave, the stones are set up.
    """
    lines: dict[tuple[Game, int, int], EngineLine] = {}
    return [_question(position, lines) for position in positions]


def _question(position: Position, lines: dict[tuple[Game, int, int], EngineLine]) -> EngineQuestion:
    past, game, player = position.past, position.game, position.player
    if past is None or (past.number and past.line[past.number - 1][0] == player):
        line = EngineLine(game, _stones(position, position.stones), player, ())
        return EngineQuestion(line, 0, player, position.legal, position.place)
    key = game, id(past.line), id(past.stones)
    first = past.line[0][0] if past.number else player
    line = lines.get(key) or EngineLine(
        game, _stones(position, past.stones), first, tuple((mover, game.point_text(at)) for mover, at in past.line)
    )
    if line.first != first:  # nobody has moved yet, and it is not the first of the line who is to move
        line = EngineLine(game, line.stones, first, ())
    else:
        lines[key] = line
    return EngineQuestion(line, past.number, player, position.legal, position.place)


def _stones(position: Position, stones: np.ndarray | None) -> tuple[Stone, ...]:
    if stones is None:
        return ()
    return tuple(
        (int(stones[point]) - 1, position.game.point_text((int(point[0]), int(point[1]))))
        for point in zip(*np.nonzero(stones), strict=True)
    )


def label_of(engine: AnalysisEngine, limits: EngineLimits) -> str:
    """Who looked, and how long: ``KataGo 1.16.4, kata1-b10c128, 50 visits``."""
    return ", ".join(filter(None, (engine.name, limits.text)))
