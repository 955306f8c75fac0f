"""A review on disk: the searches of one game, beside its SGF, kept from batch to batch so that nothing is lost."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jubango.analysis.reviews.review_moves import Candidate, Finding, PositionKey
from jubango.bots.composition import network_file
from jubango.bots.config import SearchConfig
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import file_digest, read_file
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.sgf import SgfGame

FORMAT = 1
LARGEST_REVIEW = 500_000_000  # bytes
MOST_REPEATS = 64
MOST = 1e12  # simulations or points
LONGEST_LABEL = 1_000  # characters of an engine's, with its network and its limits


@dataclass(frozen=True)
class ReviewKey:
    """What searches are of. Those of another subject are stale."""

    game: str  # its spec
    moves: str  # a digest of all that happens on the board
    bot: str  # its spec; of an engine its name, its network and how long it looks
    network: str  # SHA-256 of its file of weights; empty without one
    seed: int
    engine: str = ""  # SHA-256 of the command, where other people's engine searched


@dataclass(frozen=True)
class Saved:
    """What a file holds. The searches of a place are in the order of their seeds, from the first."""

    subject: ReviewKey
    repeats: int  # searches of a place that were wanted
    findings: dict[PositionKey, list[Finding]]

    def is_of(self, sgf: SgfGame) -> bool:
        """Are these searches of this game, as it is now?"""
        if (self.subject.game, self.subject.moves) != (sgf.game.spec, moves_digest(sgf)):
            return False
        points = sgf.game.height * sgf.game.width
        return all(
            one.ownership is None or len(one.ownership) == points for own in self.findings.values() for one in own
        )


def subject_of(sgf: SgfGame, bot: SearchConfig, seed: int) -> ReviewKey:
    return ReviewKey(sgf.game.spec, moves_digest(sgf), bot.spec, network_digest(sgf.game, bot), seed)


def review_path(path: Path, number: int = 1) -> Path:
    """Where the review of a file's game lies: ``game.review.json`` beside ``game.sgf``; of the second game in it
    ``game.review.2.json``, as ``game-2.sgf`` and ``game.2.sgf`` are other files."""
    return path.with_name(f"{path.stem}.review{f'.{number}' * (number > 1)}.json")


def moves_digest(sgf: SgfGame) -> str:
    """SHA-256 of the moves and the stones that are set up; comments may change."""
    parts = [[node.black, node.white, node.empty, node.turn, node.move] for node in sgf.nodes]
    said = [part for part in parts if any(part[:3]) or part[3] is not None or part[4] is not None]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def network_digest(game: Game, bot: SearchConfig) -> str:
    """SHA-256 of a bot's file of weights; empty without one. Raises UserError."""
    path = network_file(game, bot)
    if not path:
        return ""
    try:
        return file_digest(Path(path), LARGEST_WEIGHTS)
    except UserError as error:
        raise UserError(f"network {error}") from None


def save(path: Path, saved: Saved) -> None:
    """Write the file; it is there whole or as it was. Raises UserError."""
    searches = [
        {
            "number": place.number,
            "after": place.after,
            "win_rate": one.win_rate,
            "simulations": one.simulations,
            "lead": one.lead,
            "moves": [[m.move, m.visits, m.prior, m.win_rate, " ".join(m.variation)] for m in one.moves],
            **({} if one.ownership is None else {"ownership": _packed(one.ownership)}),
        }
        for place, found in sorted(saved.findings.items())
        for one in found
    ]
    document = {
        "review": FORMAT,
        "program": f"jubango {VERSION}",
        **vars(saved.subject),
        "repeats": saved.repeats,
        "searches": searches,
    }
    try:
        write_safely(path, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def load(path: Path) -> Saved | None:
    """What a file holds; None if there is no file. Raises UserError for a file that is no review."""
    if not path.exists():
        return None
    try:
        document = json.loads(read_file(path, LARGEST_REVIEW, "a saved review"))
        if document["review"] != FORMAT:
            raise UserError(f"{path}: was saved by another version of this program; move it away to search again")
        findings: dict[PositionKey, list[Finding]] = {}
        for one in document["searches"]:
            findings.setdefault(PositionKey(int(one["number"]), str(one["after"])), []).append(_finding(one))
        own = {key: kind(document[key]) for key, kind in _SUBJECT.items()}
        engine = str(document.get("engine", ""))
        if engine:  # a name that is shown as it stands here
            own["bot"] = printable(own["bot"])[:LONGEST_LABEL]
        subject = ReviewKey(**own, engine=engine)
        return Saved(subject, int(_within(document["repeats"], 1, MOST_REPEATS)), findings)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise UserError(f"{path}: is no saved review, or is damaged; move it away to search again") from None


_SUBJECT: Mapping[str, type] = {"game": str, "moves": str, "bot": str, "network": str, "seed": int}


def _finding(one: Mapping[str, Any]) -> Finding:
    lead = None if one["lead"] is None else _within(one["lead"], -MOST, MOST)
    owners = _unpacked(one["ownership"]) if "ownership" in one else None
    rate, simulations = _within(one["win_rate"]), int(_within(one["simulations"], 0, MOST))
    return Finding(rate, simulations, _moves(one["moves"]), lead, owners)


def _packed(ownership: Sequence[float]) -> str:
    """In whole percents, a byte each, as base64."""
    return base64.b64encode(np.round(100 * np.asarray(ownership)).clip(-100, 100).astype(np.int8).tobytes()).decode()


def _unpacked(text: str) -> tuple[float, ...]:
    """Raises ValueError."""
    values = np.frombuffer(base64.b64decode(text, validate=True), np.int8)
    if np.abs(values.astype(int)).max(initial=0) > 100:
        raise ValueError
    return tuple((values / 100).tolist())


def _moves(rows: Sequence[Sequence[Any]]) -> tuple[Candidate, ...]:
    """At least one: of finished games nothing is saved."""
    if not rows:
        raise ValueError
    return tuple(
        Candidate(
            str(move),
            int(_within(visits, 0, MOST)),
            None if prior is None else _within(prior),
            _within(rate),
            tuple(str(variation).split()),
        )
        for move, visits, prior, rate, variation in rows
    )


def _within(value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """A number that a search can have found. Raises ValueError."""
    number = float(value)
    if not low <= number <= high:  # nor NaN
        raise ValueError
    return number
