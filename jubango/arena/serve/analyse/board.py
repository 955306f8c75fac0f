"""A game on the page's board to be looked at: where one stands in it, what was tried, what searches have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import jax
import numpy as np

from jubango.analysis.report.page import board_facts
from jubango.arena.serve.search.told import LONGEST_SHOWN_GAME, MOVERS, play, session_of, set_up, taken, told
from jubango.bots.gtp_server.session import Session
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import View, rules
from jubango.sgf_games.sgf.positions import Record
from jubango.sgf_games.sgf.sgf import SgfGame, parse_sgf

_VERSION = 1
REVIEW_KEYS = {"rates", "leads", "by", "note", "problems"}
MOST_TEXT = 200


class AnalysedGame:
    """The main line, and the moves tried after one of its positions. Raises UserError for what cannot be done.

    names: Black's and White's, of a game that was played.
    """

    def __init__(self, main: Session, names: Sequence[str] = ("", ""), result: str = "", note: str = "") -> None:
        self.main, self.names = main, [name[:MOST_TEXT] for name in names]
        self.result, self.note = result[:MOST_TEXT], note[:MOST_TEXT]
        self.at, self.branch = len(main.played), list[str]()
        self.who, self.running = "", True
        self.rates: dict[int, list[float | None]] = {}  # by the number of moves of the main line: win rate, lead
        self.review: dict[str, object] | None = None
        self.reviewing = False
        self._stand()

    def _stand(self) -> None:
        """On the position that is shown."""
        here = self.main.after(self.at)
        for text in self.branch:
            play(here, text)
        self.here = here
        self._view: View[np.ndarray] = jax.device_get(rules(here.game).view(here.state))

    @property
    def over(self) -> bool:
        turn = self.here.turn()
        return turn.over or not turn.legal.any()

    # -- what is done ----------------------------------------------------------------------------

    def go(self, at: int) -> None:
        """To a position of the main line."""
        self.at, self.branch = min(max(0, at), len(self.main.played)), []
        self._stand()

    def back(self) -> None:
        """One move of what was tried, or of the main line."""
        if self.branch:
            self.branch.pop()
        elif self.at:
            self.at -= 1
        self._stand()

    def move(self, text: str) -> None:
        """Try a move; where it is the main line's, one goes along it."""
        game, turn = self.here.game, self.here.turn()
        action = game.parse_move(turn.state, text)
        if turn.over or not turn.legal[action]:
            raise UserError(f"{text} is illegal: {game.why_illegal(turn.state, game.action_point(turn.state, action))}")
        if len(self.branch) > LONGEST_SHOWN_GAME:
            raise UserError(f"more than {LONGEST_SHOWN_GAME} moves are too many")
        played = MOVERS[turn.player] + game.action_text(action)
        onward = self.main.played[self.at] if self.at < len(self.main.played) and not self.branch else None
        if onward is not None and (onward.player, onward.action) == (turn.player, action):
            self.at += 1
        else:
            self.branch.append(played)
        self._stand()

    def set_up(self, black: Sequence[str], white: Sequence[str], player: int) -> None:
        """Stones in place of the game."""
        fresh = Session(self.here.game)
        if not self.here.game.has("set_up"):
            raise UserError(f"no stones can be set up in {self.here.game.spec}")
        set_up(fresh, black, white, player)
        self.main, self.names, self.result, self.note = fresh, ["", ""], "", ""
        self.at, self.branch, self.rates, self.review, self.reviewing = 0, [], {}, None, False
        self._stand()

    def saw(self, said: Mapping[str, object]) -> None:
        """What a search has said of the position that is shown."""
        if not self.branch and said.get("visits"):
            self.rates[self.at] = [cast(float, said["rate"]), cast("float | None", said.get("lead"))]

    def reviewed(self, said: Mapping[str, object]) -> None:
        self.review = {key: said[key] for key in REVIEW_KEYS if key in said}
        self.reviewing = False
        pairs = zip(cast(list[float], said["rates"]), cast("list[float | None]", said["leads"]), strict=True)
        self.rates = {number: [rate, lead] for number, (rate, lead) in enumerate(pairs)}

    # -- as the page and the files have it ---------------------------------------------------------

    def shown(self) -> dict[str, object]:
        """What the page shows."""
        session, game = self.here, self.here.game
        turn, last = session.turn(), session.last
        legal, others = [], []
        for action in np.flatnonzero(turn.legal).tolist() if not turn.over else ():
            point = game.action_point(turn.state, action)
            if point is None:
                others.append(game.action_text(action))
            else:
                legal.append([point[0] * game.width + point[1], game.action_text(action)])
        return {
            "game": board_facts(game), "common": game.common_name, "columns": game.actions_are == "columns",
            "names": self.names, "result": self.result, "note": self.note, "total": len(self.main.played),
            "moves": [game.action_text(own.action) for own in self.main.played],
            "movers": "".join(MOVERS[own.player] for own in self.main.played),
            "at": self.at, "branch": self.branch, "mover": turn.player, "legal": legal, "others": others,
            "stones": "".join(".XO"[stone] for stone in session.stones.ravel().tolist()),
            "last": -1 if last is None else last[0] * game.width + last[1],
            "over": turn.over, "who": self.who, "running": self.running, "review": self.review,
            "reviewing": self.reviewing, "rates": [[number, *own] for number, own in sorted(self.rates.items())],
            "can_set_up": game.has("set_up"), "counts": game.counts_points,
        }  # fmt: skip

    def saved(self) -> dict[str, object]:
        """All of it, as JSON."""
        return {
            "version": _VERSION, "main": told(self.main), "names": self.names, "result": self.result, "note": self.note,
            "at": self.at, "branch": self.branch, "who": self.who, "running": self.running, "review": self.review,
            "reviewing": self.reviewing, "rates": [[number, *own] for number, own in self.rates.items()],
        }  # fmt: skip

    @classmethod
    def of(cls, data: Mapping[str, object]) -> AnalysedGame:
        """The inverse of :meth:`saved`; a file may be a stranger's. Raises UserError."""
        main = data.get("main")
        if not isinstance(main, dict):
            raise UserError("the file of an analysis is damaged")
        session = session_of(main)
        try:
            names = [str(one) for one in cast(list[object], data["names"])][:2]
            one = cls(session, names + [""] * (2 - len(names)), str(data["result"]), str(data["note"]))
            one.at = min(max(0, int(cast(int, data["at"]))), len(session.played))
            one.branch = [str(text) for text in cast(list[object], data["branch"])][:LONGEST_SHOWN_GAME]
            one.who, one.running = str(data["who"])[:500], bool(data["running"])
            for number, rate, lead in cast("list[tuple[int, float, float | None]]", data["rates"]):
                one.rates[int(number)] = [float(rate), None if lead is None else float(lead)]
            one.reviewing = bool(data["reviewing"])
            review = data["review"]
            if isinstance(review, dict):
                one.review = _checked(review)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UserError("the file of an analysis is damaged") from None
        one._stand()
        return one

    def sgf(self) -> str:
        """The main line as SGF."""
        names = {key: name for key, name in zip(("PB", "PW"), self.names, strict=True) if name}
        return self.main.sgf({**names, **({"RE": self.result} if self.result else {})})


def _checked(review: Mapping[str, object]) -> dict[str, object]:
    problems = []
    for one in cast(list[dict[str, object]], review["problems"]):
        problems.append({
            "number": int(cast(int, one["number"])), "player": int(cast(int, one["player"])) & 1,
            "move": str(one["move"])[:20], "best": str(one["best"])[:20], "grade": str(one["grade"])[:20],
            "line": [str(text)[:20] for text in cast(list[object], one["line"])][:30],
            "loss": float(cast(float, one["loss"])), "rate": float(cast(float, one["rate"])),
        })  # fmt: skip
    return {"problems": problems, "by": str(review.get("by"))[:MOST_TEXT], "note": str(review.get("note"))[:MOST_TEXT]}


def game_from(sgf: str) -> AnalysedGame:
    """Of the first game of a text of SGF. Raises UserError."""
    games = parse_sgf(sgf.encode("utf-8", "replace"), "the SGF")
    return of_record(games[0], f"the first of {len(games)} games" if len(games) > 1 else "")


def of_record(game: SgfGame, note: str = "") -> AnalysedGame:
    record, session = Record(game), taken(game)
    notes = [text for text in (note, *game.guesses) if text]
    one = AnalysedGame(session, record.players, "" if record.result == "?" else record.result, "; ".join(notes))
    one.go(0)
    return one
