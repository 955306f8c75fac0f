"""The page of a reviewed game: the board with its heatmaps and variations, curves to click on, turning points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jubango.analysis.positions.heat import FEWEST, Heat, Scale, hex_colour
from jubango.analysis.positions.ownership import ownership
from jubango.analysis.positions.win_rate import PLAYER_NAMES
from jubango.analysis.report.page import board_facts, page
from jubango.analysis.reviews.review import Review
from jubango.analysis.reviews.review_moves import GRADES, SIGNS, Candidate, ReviewedMove, ReviewedPosition
from jubango.analysis.reviews.review_summary import ALL, accuracy_text
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.diagram import readable_on
from jubango.sgf_games.sgf.positions import Position

MOST_TURNS = 20  # turning points
MOST_VARIATIONS = 12  # of a position
OWNER_LEVELS = "ABCDEFGHIJKLMNOPQRSTU"  # of whose a point is, from White's to Black's
COLOUR_STEPS = 33  # of a colour scale


def save_review(review: Review, path: Path) -> None:
    """Write the page; the file is there whole or as it was. Raises OSError."""
    write_safely(path, review_page(review).encode())


def review_page(review: Review) -> str:
    """The page as HTML."""
    game = review.record.game
    counted = _owned(review)
    data = {
        "game": board_facts(game),
        "players": list(review.record.players),
        "positions": [
            _position(one, place, own)
            for one, place, own in zip(review.positions, review.places, counted, strict=True)
        ],
        "moves": [_move(one) for one in review.moves],
        "levels": OWNER_LEVELS,
        "scales": {"amount": _scale("amount"), "sides": _scale("sides")}, "who": review.who,
    }  # fmt: skip
    priors = any(move.prior is not None for one in review.positions for move in one.candidates)
    return page(
        "review", review.title, {**data, "priors": priors}, players=_players(review), turns=turning_points(review),
        by=review.by, note=review.note, priors=priors, game=game.spec, names=review.record.players,
        result=review.record.result, signs=SIGNS, owned=any(own is not None for own in counted), who=review.who,
        levels=[f"{100 * level:g}" for level in review.thresholds],
    )  # fmt: skip


def _owned(review: Review) -> list[Heat | None]:
    """Whose each point is in the positions, where it is known: as an engine says that has looked at them."""
    game = review.record.game
    if not game.counts_points:
        return [None] * len(review.places)
    if not review.engine:
        return [*ownership(review.places)]
    grids = [one.ownership for one in review.positions]
    return [
        None if own is None else Heat(np.array(own).reshape(game.height, game.width), "ownership in %", "sides")
        for own in grids
    ]


def turning_points(review: Review) -> list[dict[str, object]]:
    """The graded moves that lost most, the greatest loss first."""
    graded = sorted((move for move in review.moves if move.grade in GRADES), key=lambda move: -move.loss)
    return [
        {
            "number": move.number, "player": PLAYER_NAMES[move.player], "move": move.move, "sign": move.sign,
            "grade": move.grade, "best": move.best, "loss": f"{100 * move.loss:.1f}",
            "lead": f"{move.lead_loss:.1f}" if move.lead_loss and move.lead_loss >= 0.05 else "",
        }
        for move in graded[:MOST_TURNS]
    ]  # fmt: skip


def _players(review: Review) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for player, name in enumerate(review.record.players):
        one = review.summary(player, ALL)
        said = {
            "name": name,
            "colour": PLAYER_NAMES[player],
            "moves": one.moves,
            "grades": [one.grades[g] for g in SIGNS],
        }
        if one.moves:
            said |= {
                "best": f"{100 * one.best / one.moves:.0f} %", "accuracy": accuracy_text(one),
                "loss": f"{100 * one.mean_loss:.1f} ± {100 * one.error:.1f}",
            }  # fmt: skip
        rows.append(said)
    return rows


def _position(one: ReviewedPosition, place: Position, owned: Heat | None) -> dict[str, object]:
    game = place.game
    found: dict[str, object] = {
        "stones": "".join(one.stones),
        "last": -1 if one.last is None else one.last[0] * game.width + one.last[1],
        "player": one.player,
        "over": one.over,
        "rate": round(100 * one.win_rate, 1),
        "error": round(100 * one.error, 1),
        "lead": None if one.lead is None else round(one.lead, 1),
        "simulations": one.simulations,
        "noise": 0 < max((move.visits for move in one.candidates), default=0) < FEWEST,
        "comment": one.comment,
        "moves": [_candidate(game, place, i, move) for i, move in enumerate(one.candidates)],
    }
    if owned is not None:
        levels = np.round((owned.grid.ravel() + 1) / 2 * (len(OWNER_LEVELS) - 1)).astype(int)
        found["owned"] = "".join(OWNER_LEVELS[level] for level in levels)
    return found


def _candidate(game: Game, place: Position, rank: int, one: Candidate) -> list[object]:
    """[move, point or -1, visits, prior in % or None, Black's win rate in %, variation]"""
    point = game.action_point(place.state, game.parse_action(one.move))
    line = list(one.variation) if rank < MOST_VARIATIONS else []
    where = -1 if point is None else point[0] * game.width + point[1]
    prior = None if one.prior is None else round(100 * one.prior, 1)
    return [one.move, where, one.visits, prior, round(100 * one.win_rate, 1), line]


def _move(one: ReviewedMove) -> dict[str, object]:
    return {
        "move": one.move, "player": one.player, "best": one.best, "grade": one.grade, "sign": one.sign,
        "loss": None if one.loss != one.loss else round(100 * one.loss, 1), "error": round(100 * one.error, 1),
        "lead": None if one.lead_loss is None else round(one.lead_loss, 1),
    }  # fmt: skip


def _scale(name: Scale) -> list[list[str]]:
    """Colours from the least to the most, and the ink that can be read on each."""
    colours = [hex_colour(i / (COLOUR_STEPS - 1), name) for i in range(COLOUR_STEPS)]
    return [[colour, readable_on(colour)] for colour in colours]
