"""A game at the page's board: who plays, the moves, the clocks, the counting at its end. Nothing here waits."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

import jax
import numpy as np

from jubango.analysis.report.page import board_facts
from jubango.arena.games.scoring import whole_chains
from jubango.arena.serve.search.told import MOVERS, play, session_of, told
from jubango.bots.config import HUMAN, BotConfig
from jubango.bots.gtp_server.session import Session
from jubango.bots.players.clock import NO_LIMIT, Clock, MoveTime, TimeControl, moves_left
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.records.record import score_of
from jubango.sgf_games.rules.compiled import View, rules
from jubango.sgf_games.rules.race import Race

NAMES = ("Black", "White")
PLAY, COUNT, OVER = "play", "count", "over"
_VERSION = 1
LONGEST_DETAIL = 300
THOUGHT_KEYS = {"visits", "rate", "line", "seconds"}


class BoardGame:
    """One game. Raises UserError for what cannot be done.

    players: what the page calls them, "human" or a bot's spec; bots: what these are, None for people. A person's move
    is shown at once; what a bot thinks of is somebody else's matter.
    """

    def __init__(
        self, session: Session, players: Sequence[str], bots: Sequence[BotConfig | None], clock: str = ""
    ) -> None:
        self.session, self.players, self.bots = session, list(players), list(bots)
        self.control = TimeControl.parse(clock) if clock else None
        self.clocks = [Clock(self.control), Clock(self.control)] if self.control else []
        self.phase, self.result, self.reason, self.detail = PLAY, "", "", ""
        self.dead = np.zeros((session.game.height, session.game.width), bool)
        self.agreed = [False, False]
        self.thoughts: dict[int, dict[str, object]] = {}  # of moves, by their number from 0
        self.paused = False
        self.began = datetime.now(UTC).isoformat(timespec="seconds")
        self._turn_began = time.monotonic()
        self._look()

    # -- what is so ------------------------------------------------------------------------------

    def _look(self) -> None:
        session = self.session
        self._view: View[np.ndarray] = jax.device_get(rules(session.game).view(session.state))
        if bool(self._view.terminal) and self.phase == PLAY:
            self._played_out()

    @property
    def ply(self) -> int:
        return len(self.session.played)

    @property
    def mover(self) -> int:
        return int(self._view.player)

    @property
    def legal(self) -> np.ndarray:
        return np.asarray(self._view.legal)

    @property
    def turn_of(self) -> BotConfig | None:
        """The bot that is to move; None if a person is, or nobody."""
        return self.bots[self.mover] if self.phase == PLAY else None

    @property
    def comes_next(self) -> BotConfig | None:
        """The bot that moves after the person who is to move; None if there is none."""
        return self.bots[1 - self.mover] if self.phase == PLAY and self.turn_of is None else None

    @property
    def has_people(self) -> bool:
        return any(bot is None for bot in self.bots)

    def left(self, player: int) -> float:
        """Seconds until a player's flag falls."""
        spent = time.monotonic() - self._turn_began if self.runs(player) else 0.0
        return self.clocks[player].left - spent

    def runs(self, player: int) -> bool:
        """Is the player's clock running?"""
        return bool(self.clocks) and self.phase == PLAY and player == self.mover and not self.paused

    def budget(self) -> MoveTime:
        """The time that a bot has for this move."""
        if not self.clocks:
            return NO_LIMIT
        game = self.session.game
        return self.clocks[self.mover].budget(moves_left(game.height * game.width, self.ply))

    # -- what is done ----------------------------------------------------------------------------

    def move(self, text: str, thought: dict[str, object] | None = None) -> None:
        """The player to move makes a move."""
        if self.phase != PLAY:
            raise UserError("the game is over")
        game, mover = self.session.game, self.mover
        action = game.parse_move(self.session.state, text)
        if not self.legal[action]:
            point = game.action_point(self.session.state, action)
            raise UserError(f"{text} is illegal: {game.why_illegal(self.session.state, point)}")
        if self._flag_fell(mover):
            return
        play(self.session, MOVERS[mover] + game.action_text(action))
        if thought:
            self.thoughts[self.ply - 1] = thought
        self._turn_over()

    def _flag_fell(self, mover: int) -> bool:
        if self.clocks and not self.clocks[mover].spend(self._spent()):
            self.end(f"{'WB'[mover]}+T", "time", f"{NAMES[mover]}'s time is up")
            return True
        return False

    def _spent(self) -> float:
        return 0.0 if self.paused else time.monotonic() - self._turn_began

    def flag(self) -> bool:
        """Has the time of the player to move run out? Then the game is over."""
        if self.clocks and self.phase == PLAY and self.left(self.mover) <= 0:
            return self._flag_fell(self.mover)
        return False

    def _turn_over(self) -> None:
        """The next is to move; who can but wait, or pass without a choice, does it."""
        self._turn_began = time.monotonic()
        self._look()
        game = self.session.game
        while self.phase == PLAY and self.bots[self.mover] is None:
            open_to_it = np.flatnonzero(self.legal)
            if len(open_to_it) != 1 or game.action_point(self.session.state, int(open_to_it[0])) is not None:
                break
            if game.counts_points and not isinstance(game, Race):
                break
            play(self.session, MOVERS[self.mover] + game.action_text(int(open_to_it[0])))
            self._look()

    def undo(self) -> None:
        """Take back to the last move of a person; between bots, or people, one move."""
        if not self.ply:
            raise UserError("there is nothing to take back")
        self.phase, self.result, self.reason, self.detail = PLAY, "", "", ""
        self._unmark()
        while self.ply:
            self.session.undo()
            self._look()
            alone = sum(bot is None for bot in self.bots) != 1
            if alone or self.bots[self.mover] is None:
                break
        self.thoughts = {ply: own for ply, own in self.thoughts.items() if ply < self.ply}
        self._turn_began = time.monotonic()

    def resign(self, player: int) -> None:
        if self.phase != PLAY:
            raise UserError("the game is over")
        self.end(f"{'WB'[player]}+R", "resign", f"{NAMES[player]} resigns")

    def pause(self, paused: bool) -> None:
        """Bots wait, and clocks stand still."""
        if paused == self.paused:
            return
        if paused and self.clocks and self.phase == PLAY:
            self.clocks[self.mover].main -= self._spent()
        self.paused = paused
        self._turn_began = time.monotonic()

    def seat(self, player: int, name: str, bot: BotConfig | None) -> None:
        """Another one plays a colour from now on."""
        self.players[player], self.bots[player] = name, bot
        self.agreed = [self.phase == COUNT and one is not None for one in self.bots]
        if all(self.agreed):
            self._count(self.dead)

    def end(self, result: str, reason: str, detail: str = "") -> None:
        self.phase, self.result, self.reason, self.detail = OVER, result, reason, detail[:LONGEST_DETAIL]

    # -- counting --------------------------------------------------------------------------------

    def _played_out(self) -> None:
        """By the rules: people mark what is dead first, where points are counted."""
        session, game = self.session, self.session.game
        if game.counts_points and game.pass_action >= 0 and self.has_people:
            self.phase = COUNT
            self.dead = np.array(game.dead_stones(session.state), bool)
            self.agreed = [bot is not None for bot in self.bots]
            return
        if game.counts_points and game.pass_action >= 0:
            self._count(np.array(game.dead_stones(session.state), bool))
            return
        result = game.result_text(session.state)
        self.end(result, game.end_reason(score_of(result) == 0.5))

    def mark(self, point: int) -> None:
        """The chain there is dead, or lives after all; whoever had agreed is asked again."""
        game, session = self.session.game, self.session
        place = divmod(point, game.width)
        if self.phase != COUNT or not 0 <= place[0] < game.height or not session.stones[place]:
            raise UserError("stones are marked once both have passed")
        chain = whole_chains(game, session.state, [place])
        self.dead = self.dead & ~chain if self.dead[place] else self.dead | chain
        self.agreed = [bot is not None for bot in self.bots]

    def agree(self, player: int) -> None:
        """A player is content with what is marked; if both are, it is counted."""
        if self.phase != COUNT:
            raise UserError("there is nothing to count yet")
        self.agreed[player] = True
        if all(self.agreed):
            self._count(self.dead)

    def resume(self) -> None:
        """Play goes on, as what is dead is disputed."""
        if self.phase != COUNT:
            raise UserError("the game goes on anyway, or is over")
        self.session.undo(1)
        self.phase = PLAY
        self._unmark()
        self._look()
        if self.turn_of is not None and self.has_people and self.ply:  # a bot would but pass again
            self.session.undo(1)
        self.thoughts = {ply: own for ply, own in self.thoughts.items() if ply < self.ply}
        self._turn_over()

    def _unmark(self) -> None:
        self.dead = np.zeros_like(self.dead)
        self.agreed = [False, False]

    def _count(self, dead: np.ndarray) -> None:
        game, session = self.session.game, self.session
        points = [game.point_text((int(r), int(c))) for r, c in np.argwhere(dead)]
        result = game.result_text(game.without_stones(session.state, dead))
        self.end(result, "agreed" if points else "score", f"dead: {' '.join(points)}" if points else "no dead stones")

    def score_as_marked(self) -> str:
        """The result as it would be counted now."""
        game = self.session.game
        return game.result_text(game.without_stones(self.session.state, self.dead))

    # -- as the page and the files have it ---------------------------------------------------------

    def shown(self) -> dict[str, object]:
        """What the page shows."""
        session, game = self.session, self.session.game
        stones, last = session.stones, session.last
        playing = self.phase == PLAY
        legal, others = [], []
        for action in np.flatnonzero(self.legal).tolist() if playing else ():
            point = game.action_point(session.state, action)
            text = game.action_text(action)
            if point is None:
                others.append(text)
            else:
                legal.append([point[0] * game.width + point[1], text])
        return {
            "game": board_facts(game), "common": game.common_name, "columns": game.actions_are == "columns",
            "players": self.players, "people": [bot is None for bot in self.bots], "ply": self.ply,
            "stones": "".join(".XO"[stone] for stone in stones.ravel().tolist()),
            "last": -1 if last is None else last[0] * game.width + last[1],
            "moves": [game.action_text(own.action) for own in session.played],
            "movers": "".join(MOVERS[own.player] for own in session.played),
            "mover": self.mover, "legal": legal, "others": others, "phase": self.phase, "result": self.result,
            "reason": self.reason, "detail": self.detail, "paused": self.paused,
            "dead": [int(p) for p in np.flatnonzero(self.dead)] if self.phase == COUNT else [],
            "score": self.score_as_marked() if self.phase == COUNT else "", "agreed": self.agreed,
            "thoughts": [[ply, own["rate"]] for ply, own in sorted(self.thoughts.items())],
        }  # fmt: skip

    def shown_clocks(self) -> list[dict[str, object]] | None:
        """What the clocks show now, Black's and White's."""
        return [self._reading(player) for player in (0, 1)] if self.clocks else None

    def _reading(self, player: int) -> dict[str, object]:
        clock = self.clocks[player]
        return {
            "main": round(clock.main - (self._spent() if self.runs(player) else 0.0), 2), "periods": clock.periods,
            "byoyomi": clock.control.byoyomi, "runs": self.runs(player),
        }  # fmt: skip

    def saved(self) -> dict[str, object]:
        """All of it, as JSON."""
        return {
            "version": _VERSION, **told(self.session), "players": self.players,
            "clock": str(self.control) if self.control else "",
            "left": [[clock.main, max(0, clock.periods)] for clock in self.clocks], "phase": self.phase,
            "result": self.result, "reason": self.reason, "detail": self.detail, "began": self.began,
            "dead": [int(p) for p in np.flatnonzero(self.dead)], "agreed": self.agreed, "paused": self.paused,
            "thoughts": [[ply, own] for ply, own in self.thoughts.items()],
        }  # fmt: skip

    @classmethod
    def of(cls, data: Mapping[str, object], bots: Sequence[BotConfig | None]) -> BoardGame:
        """The inverse of :meth:`saved`; a file may be a stranger's. ``bots`` are those of its players."""
        players = players_in(data)
        clock = data.get("clock")
        one = cls(session_of(data), players, bots, clock if isinstance(clock, str) else "")
        try:
            if one.phase != COUNT:  # else it is asked about anew
                result, reason, detail, phase = (str(data[key]) for key in ("result", "reason", "detail", "phase"))
                if phase == OVER and one.phase == PLAY:
                    one.end(result[:40], reason[:40], detail)
            elif data["phase"] == OVER:
                one.end(str(data["result"])[:40], str(data["reason"])[:40], str(data["detail"]))
            else:
                points = np.array(cast(list[int], data["dead"]), int)
                one.dead = np.isin(np.arange(one.dead.size), points).reshape(one.dead.shape) & (one.session.stones > 0)
                one.agreed = [bool(own) or bot is not None for own, bot in zip(_two(data["agreed"]), bots, strict=True)]
            for own, (main, periods) in zip(one.clocks, cast(list[tuple[float, int]], data["left"]), strict=True):
                lowest = -int(periods) * own.control.byoyomi  # who pauses in byo-yomi has overdrawn the main time
                if not 0 <= int(periods) <= own.control.periods or not lowest <= float(main) < math.inf:
                    raise ValueError
                own.main, own.periods = float(main), int(periods)
            one.paused, one.began = bool(data["paused"]), str(data["began"])[:40]
            for ply, thought in cast(list[tuple[int, dict[str, object]]], data["thoughts"]):
                if set(thought) <= THOUGHT_KEYS and isinstance(thought.get("rate"), int | float):
                    one.thoughts[int(ply)] = thought
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UserError("the file of a game is damaged") from None
        return one

    def sgf(self) -> str:
        """The game as a file of SGF."""
        names = {f"P{'BW'[player]}": "a person" if bot is None else bot.name for player, bot in enumerate(self.bots)}
        names["DT"] = self.began[:10]
        if self.result:
            names["RE"] = self.result
        if self.control:
            names |= {"TM": f"{self.control.main:g}", "OT": self.control.overtime}
        return self.session.sgf(names)


def _two(value: object) -> Sequence[object]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError
    return value


def players_in(data: Mapping[str, object]) -> list[str]:
    """What a file calls the players. Raises UserError."""
    players = data.get("players")
    if not isinstance(players, list) or len(players) != 2 or not all(type(one) is str for one in players):
        raise UserError("the file of a game is damaged: its players")
    return [one or HUMAN for one in players]
