"""A block of lanes: games under way whose moves are found and made together."""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from jubango.arena.games.boards import Boards
from jubango.arena.games.scoring import score
from jubango.arena.games.slot import Begun, GameSlot, goes_on_elsewhere, remembers
from jubango.arena.schedule.adjudication import Adjudication
from jubango.arena.schedule.pairings import GameTask, move_seed
from jubango.bots.config import BotConfig
from jubango.bots.players.batch_player import (
    BatchPlayer,
    MoveAnswer,
    MoveRequest,
    RecalledGame,
    ScoringVerdict,
    WholeGame,
)
from jubango.bots.players.clock import NO_LIMIT, Clock, SharedClock, TimeControl, moves_left
from jubango.sgf_games.records.record import VOID, GameRecord, score_of
from jubango.sgf_games.records.thoughts import Thought, packed
from jubango.sgf_games.rules.compiled import MOVES_A_STEP, initial_state
from jubango.sgf_games.rules.game import Game, State

# What an engine's failure is in SGF's RE: it loses by T(ime) or F(orfeit). Where it takes a legal move for illegal
# nobody does ("refused").
FAILURE_LETTERS = {"resign": "R", "time": "T", "crash": "F", "illegal": "F", "error": "F"}
MOST_DETAIL = 500  # characters that are kept of what went wrong
NOTHING_BEGUN: Mapping[str, Begun] = {}
SILENT = Thought()  # of a move that its player says nothing of


class GameBatch:
    """``lanes`` games at once, each at its own pace, with players of their own.

    A round is :meth:`finish` and :meth:`begin`. The first waits for what the players have been set to work on, and
    makes the moves. The second asks the players to move, and sets them to work. Between the two games may come and go.
    """

    def __init__(
        self, game: Game, bots: dict[str, BotConfig], players: dict[str, BatchPlayer], boards: Boards, event: str,
        adjudication: Adjudication | None, on_move: Callable[[GameSlot, MoveAnswer], None] | None,
    ) -> None:  # fmt: skip
        self.game, self.bots, self.players = game, bots, players
        self.event, self.adjudication, self.on_move = event, adjudication, on_move
        self.boards = boards
        self.lanes: list[GameSlot | None] = [None] * boards.lanes
        self.free = list(range(boards.lanes))  # lanes without a game
        self.unasked: list[int] = []  # lanes whose next player has not been asked yet
        self.moves_made = 0
        self._here: set[int] = set()  # lanes whose next move is being found by this process
        self._share = SharedClock()
        # Those that look for answers from elsewhere come first, so that the others' work does not keep them waiting.
        self.everybody = sorted(set(players.values()), key=lambda player: player.works_here)
        self._quick = [player for player in self.everybody if not player.patient]
        self._judged = any(player.judges for player in self.everybody)  # some games end by verdicts
        if self._judged:  # the programs are there when a clock runs
            score(game, self.boards.fetched([0])[0], [ScoringVerdict("", dead=())])

    @property
    def busy(self) -> int:
        """Games under way."""
        return len(self.lanes) - len(self.free)

    def seat(self, tasks: Iterable[GameTask], begun: Mapping[str, Begun] = NOTHING_BEGUN) -> list[str]:
        """Begin games in the first free lanes, of which there are enough; those that have ``begun``, by their ids, go
        on. Returns the ids of those that cannot, as what is said of them is no game of theirs: they begin anew."""
        games = {self._take(GameSlot(task, clocks=_clocks(task.clock))): task for task in tasks}
        self._set_up(games)
        going = {i: begun[task.game_id] for i, task in games.items() if task.game_id in begun}
        anew = self._go_on_with(going) if going else []
        for i in anew:
            self.lanes[i] = GameSlot(games[i], clocks=_clocks(games[i].clock))
        self._set_up({i: games[i] for i in anew})
        fresh = {i: task for i, task in games.items() if i not in going or i in anew}
        self._open({i: self._opening(task) for i, task in fresh.items()})
        return [games[i].game_id for i in anew]

    def _set_up(self, games: Mapping[int, GameTask]) -> None:
        """First positions."""
        for i in games:
            self.boards.begin(i)
        if self.boards.told:
            self.boards.step()
        starts = {i: initial_state(self._game_of(task)) for i, task in games.items() if task.komi is not None}
        if starts:
            self.boards.put(starts)

    def _opening(self, task: GameTask) -> list[int]:
        return list(map(self.game.parse_action, task.opening.moves))

    def _go_on_with(self, games: Mapping[int, Begun]) -> list[int]:
        """Make the moves that were made elsewhere, at first positions; returns the lanes where that cannot be."""
        wrong = {i for i, begun in games.items() if not self._at(i).go_on(begun)}
        resumed: set[int] = set()
        for ply in range(max(len(begun.moves) for begun in games.values())):
            moving = {i: begun.moves[ply] for i, begun in games.items() if ply < len(begun.moves) and i not in wrong}
            for i, action in list(moving.items()):
                lane = self._at(i)
                if lane.played_out or not self.boards.legal[i][action]:
                    wrong.add(i)
                    del moving[i]
                    continue
                value = lane.thoughts[ply].value
                lane.moves.append(action)
                lane.values.append(-value if self.boards.player[i] else value)
                self.boards.move(i, action)
            self.boards.step()
            for i in [i for i in moving if self.boards.over[i]]:
                lane = self._at(i)
                if lane.disputed and i not in resumed:
                    resumed.add(i)
                    self.boards.put({i: self._game_of(lane.task).resumed(self.boards.fetched([i])[0])})
                else:
                    lane.played_out = True
        for i, begun in games.items():
            lane = self._at(i)
            opening = self._opening(lane.task)
            lane.opening = len(opening)
            strange = list(begun.moves[: len(opening)]) != opening or bool(begun.disputed) != (i in resumed)
            if strange or (lane.played_out and not self._judges(lane)):
                wrong.add(i)
        return sorted(wrong | self._recall({i: begun for i, begun in games.items() if i not in wrong}))

    def remembering(self, lane: GameSlot) -> list[str]:
        """Of Black and White, whose moves follow from more than those before."""
        names = (lane.task.black, lane.task.white)
        return [name for name in names if remembers(self.bots[name], lane.task.clock is not None)]

    def _recall(self, games: Mapping[int, Begun]) -> set[int]:
        """Players have in mind what they had elsewhere; returns the lanes where that cannot be."""
        wrong: set[int] = set()
        recalled: dict[BatchPlayer, dict[int, RecalledGame]] = {}
        for i, begun in games.items():
            lane = self._at(i)
            names = self.remembering(lane)
            if len(begun.remembered) != len(names):
                wrong.add(i)
                continue
            for name, data in zip(names, begun.remembered, strict=True):
                if data:
                    recalled.setdefault(self.players[name], {})[i] = RecalledGame(lane.game_id, lane.moves, data)
        return wrong.union(*(player.recall(own) for player, own in recalled.items()))

    def under_way(self, i: int) -> Begun | None:
        """The game in a lane as another process can go on with it, between two rounds; None if none can."""
        lane = self.lanes[i]
        if lane is None or len(lane.moves) == lane.opening:
            return None
        if not all(goes_on_elsewhere(self.bots[name]) for name in (lane.task.black, lane.task.white)):
            return None
        names = self.remembering(lane)
        return lane.begun(tuple(self.players[name].remembered(i, lane.game_id) for name in names))

    def _open(self, moves: dict[int, list[int]]) -> None:
        """Make the moves of openings, as many at a time as a step can hold."""
        for i, own in moves.items():
            lane = self._at(i)
            lane.moves += own
            lane.thoughts += [SILENT] * len(own)
            lane.values += [math.nan] * len(own)
            lane.time_left += [clock.reading for clock in lane.clocks[:1]] * len(own)
            lane.opening = len(own)
        for first in range(0, max(map(len, moves.values()), default=0), MOVES_A_STEP):
            for i, own in moves.items():
                for action in own[first : first + MOVES_A_STEP]:
                    self.boards.move(i, action)
            self.boards.step()

    def _game_of(self, task: GameTask) -> Game:
        """The game that is played, with its own komi."""
        return self.game if task.komi is None else self.game.with_komi(task.komi)

    def leave(self) -> list[tuple[GameSlot, State]]:
        """The games between two moves, with their positions; they are no longer here."""
        if not self.unasked:
            return []
        games = list(zip(map(self._at, self.unasked), self.boards.fetched(self.unasked), strict=True))
        for i in self.unasked:
            self.lanes[i] = None
        self._release(self.unasked)
        self.unasked = []
        return games

    def join(self, games: Sequence[tuple[GameSlot, State]]) -> None:
        """Take over games that have left another block."""
        self.boards.put({self._take(lane): state for lane, state in games})

    def _take(self, lane: GameSlot) -> int:
        i = self.free.pop(0)
        self.lanes[i] = lane
        self.unasked.append(i)
        return i

    def _release(self, lanes: Sequence[int]) -> None:
        self.free = sorted([*self.free, *lanes])

    def finish(self, more: bool) -> list[GameRecord]:
        """Make the moves that the players have found; returns the games that have ended. ``more``: others wait for
        their lanes."""
        return self._moved(self.everybody, more)

    def begin(self, more: bool) -> list[GameRecord]:
        """Ask whoever is to move, make the moves of those who answer at once, and set all others to work. Returns the
        games that have ended."""
        self._ask()
        records = self._moved(self._quick, more) if self._quick else []
        self._ask()  # whom a quick answer leaves to move works along with the others
        # Devices take one search after the other. Of several that go by the clock each is timed by itself, and all work
        # as long, until the first of them has to look.
        looks = [player.next_look for player in self.everybody]
        limited = sum(map(math.isfinite, looks))
        for player in self.everybody:
            player.start(min(looks) / max(1, limited), limited < 2)
        return records

    def _ask(self) -> None:
        requests: dict[BatchPlayer, list[MoveRequest]] = {}
        before = self._share.number
        self._share.look(len(self._here) + sum(self._works_here(i) for i in self.unasked))
        if self._share.number != before:
            for player in self.everybody:
                player.rescale(self._share.number / before)
        for i in self.unasked:
            lane = self._at(i)
            lane.asked_at = time.perf_counter()
            if self._works_here(i):
                self._here.add(i)
                lane.asked_at = self._share.seconds
            for name in self._judges(lane) if lane.played_out else [self._mover(i, lane)]:
                requests.setdefault(self.players[name], []).append(self._request(i, lane, name))
        self.unasked = []
        for player, asked in requests.items():
            player.begin(asked, self.boards.states)

    def _works_here(self, i: int) -> bool:
        """Is the lane's next move found by this process?"""
        lane = self._at(i)
        return not lane.played_out and self.players[self._mover(i, lane)].works_here

    def _mover(self, i: int, lane: GameSlot) -> str:
        return lane.task.white if self.boards.player[i] else lane.task.black

    def _judges(self, lane: GameSlot) -> list[str]:
        """Who has to be asked when the game has been played out."""
        names = dict.fromkeys((lane.task.black, lane.task.white))
        return [name for name in names if self.players[name].judges]

    def _request(self, i: int, lane: GameSlot, name: str) -> MoveRequest:
        colour, ply, limit, left = self.boards.player[i], len(lane.moves), NO_LIMIT, 0.0
        if lane.clocks and not lane.played_out:
            points, clock = self.game.height * self.game.width, lane.clocks[colour]
            limit, left = clock.budget(moves_left(points, ply)), clock.left
            if i in self._here:
                limit, left = limit.times(self._share.number), left * self._share.number
        return MoveRequest(
            i, lane.game_id, self.bots[name], move_seed(lane.task.seed, ply), self.boards.legal[i], lane.moves, colour,
            limit, left, self._whole(lane.task), self._game_of(lane.task),
            wanted="verdict" if lane.played_out else "cleanup" if name in lane.cleaners else "move",
            judged=bool(self._judges(lane)),
        )  # fmt: skip

    def _whole(self, task: GameTask) -> WholeGame | None:
        """Of a game whose moves may be made unasked: nobody looks at every one, and one player has both sides."""
        watched = task.clock or self.adjudication or self.on_move
        if watched or self.players[task.black] is not self.players[task.white]:
            return None
        return WholeGame((self.bots[task.black], self.bots[task.white]), functools.partial(move_seed, task.seed))

    def hold(self) -> None:
        """Let no player make moves unasked from now on."""
        for player in self.everybody:
            player.hold()

    def _moved(self, players: Sequence[BatchPlayer], more: bool) -> list[GameRecord]:
        """What ``players`` answer is done. Returns the games that have ended."""
        answers = [answer for player in players for answer in player.advance()]
        self._share.look(len(self._here))
        self._here -= {answer.lane for answer in answers if not answer.goes_on}
        judged = [
            answer.lane for answer in answers if answer.verdict is not None and self._hear(answer.verdict, answer.lane)
        ]
        number = Counter(answer.lane for answer in answers)
        made = [(self._at(own.lane), self._timed(own, number[own.lane])) for own in answers if own.verdict is None]
        records = [record for lane, answer in made if (record := self._take_in(lane, answer)) is not None]
        if self.boards.told:
            self.moves_made += self.boards.step(restart=more and not self._judged)
        for lane, answer in made:
            if answer.goes_on:
                lane.asked_at = self._share.seconds
            if self.on_move:
                self.on_move(lane, answer)
        records += self._go_on([answer.lane for _, answer in made if not answer.event and not answer.goes_on])
        for i in judged:
            records += self._score(i)
        return records

    def _at(self, i: int) -> GameSlot:
        """The game in a lane that has one."""
        lane = self.lanes[i]
        assert lane is not None
        return lane

    def _hear(self, verdict: ScoringVerdict, i: int) -> bool:
        """Is it the last of the game's verdicts?"""
        lane = self._at(i)
        lane.verdicts.append(verdict)
        return len(lane.verdicts) == len(self._judges(lane))

    def _timed(self, answer: MoveAnswer, number: int) -> MoveAnswer:
        """The answer with the seconds that it took, a share of what ``number`` of this lane took together; or that it
        came too late by the game's clock, which has run meanwhile."""
        lane = self._at(answer.lane)
        here = self.players[self._mover(answer.lane, lane)].works_here
        now = self._share.seconds if here else time.perf_counter()
        spent = (now - lane.asked_at) / number if answer.seconds is None else answer.seconds
        if lane.clocks and not answer.event:
            clock = lane.clocks[self.boards.player[answer.lane]]
            if not clock.spend(spent):
                return MoveAnswer(answer.lane, event="time", detail=f"the clock ran out after {spent:.1f} s")
            lane.time_left.append(clock.reading)
        return answer._replace(seconds=spent)

    def _take_in(self, lane: GameSlot, answer: MoveAnswer) -> GameRecord | None:
        """Have its move made with the next step, or do what its event asks for; returns the game if that ends it."""
        i = answer.lane
        if not answer.event:
            self.boards.move(i, answer.action)
            lane.moves.append(answer.action)
            lane.thoughts.append((answer.thought or SILENT)._replace(seconds=answer.seconds or 0.0))
            value = lane.thoughts[-1].value
            lane.values.append(-value if self.boards.player[i] else value)
            return None
        if answer.event == "undo":
            self._take_back(i, lane)
            return None
        if answer.event == "swap":
            lane.task = replace(lane.task, black=lane.task.white, white=lane.task.black)
            self.unasked.append(i)
            return None
        winner = "B" if self.boards.player[i] else "W"
        result, detail = f"{winner}+{FAILURE_LETTERS.get(answer.event)}", answer.detail
        if answer.event == "refused":
            result, detail = VOID, f"{self._mover(i, lane)}: {detail}"
        self._release([i])
        return self._end(i, lane, result, answer.event, detail[:MOST_DETAIL])

    def _go_on(self, moved: list[int]) -> list[GameRecord]:
        """After a move, ask the next player, or for verdicts where the game is over, or end it."""
        over = [i for i in moved if self.boards.over[i]]
        going = [i for i in moved if not self.boards.over[i]]
        records = self._adjudicated(going) if self.adjudication else []
        self.unasked += [i for i in going if self.lanes[i]]
        if not over:
            return records
        margins = self.boards.margins()
        for i in over:
            lane = self._at(i)
            if self._judges(lane):
                lane.played_out = True
                self.unasked.append(i)
            else:
                self._release([i])
                result = self.game.margin_text(margins[i])
                records.append(self._end(i, lane, result, self.game.end_reason(score_of(result) == 0.5)))
        return records

    def _adjudicated(self, going: list[int]) -> list[GameRecord]:
        """End the games whose players agree on the result, and those that are too long."""
        rule, records = self.adjudication, []
        assert rule is not None
        for i in going:
            lane = self._at(i)
            if winner := rule.agreed(lane.values):
                result, detail = "0" if winner == "0" else f"{winner}+", "both players said so"
            elif rule.move_limit and len(lane.moves) >= rule.move_limit:
                result, detail = self._as_it_stands(i), f"ended after {len(lane.moves)} moves"
            else:
                continue
            self._release([i])
            records.append(self._end(i, lane, result, "adjudicated", detail))
        return records

    def _as_it_stands(self, i: int) -> str:
        """The result of a game that is not over: points are counted without dead stones, elsewhere it is drawn."""
        game = self._game_of(self._at(i).task)
        if not game.counts_points:
            return "0"
        state = self.boards.fetched([i])[0]
        return game.result_text(game.without_stones(state, game.dead_stones(state)))

    def _score(self, i: int) -> list[GameRecord]:
        """End a game by its verdicts, or let it go on, once, if they differ and an engine can show what is dead."""
        lane = self._at(i)
        game = self._game_of(lane.task)
        state, verdicts = self.boards.fetched([i])[0], lane.verdicts
        result, reason, detail, lane.counted = score(game, state, verdicts)
        cleaners = {verdict.name for verdict in verdicts if verdict.cleans_up}
        if reason == "disputed" and cleaners and not lane.disputed and len(lane.moves) < game.max_plies:
            said = f"play went on after move {len(lane.moves)}: {detail}"
            lane.disputed, lane.cleaners = said[:MOST_DETAIL], cleaners
            lane.played_out, lane.verdicts = False, []
            self._renew(lane)
            self.boards.put({i: game.resumed(state)})
            self.unasked.append(i)
            if self.on_move:
                self.on_move(lane, MoveAnswer(i, event="disputed", detail=lane.disputed))
            return []
        self._release([i])
        return [
            self._end(i, lane, result, "cleanup" if lane.disputed and reason in ("score", "agreed") else reason, detail)
        ]

    def _renew(self, lane: GameSlot) -> None:
        """For its players it is another game from now on."""
        for name in {lane.task.black, lane.task.white}:
            self.players[name].finish(lane.game_id)
        lane.renewed += 1

    def _take_back(self, i: int, lane: GameSlot) -> None:
        """Take back the last move and, where a bot made it, the one before, so that the same person moves again."""
        two = self.players[lane.task.black] is not self.players[lane.task.white]
        kept = lane.moves[: -2 if two else -1]
        self._renew(lane)
        lane.thoughts = lane.thoughts[: len(kept)]
        del lane.values[len(kept) :]
        del lane.time_left[len(kept) :]
        self.boards.begin(i)
        self.boards.step()
        disputed, cleaners, lane.disputed, lane.cleaners = lane.disputed, lane.cleaners, "", set()
        for action in kept:
            self.boards.move(i, action)
            self.boards.step()
            if self.boards.over[i]:  # and yet it went on
                self.boards.put({i: self.game.resumed(self.boards.fetched([i])[0])})
                lane.disputed, lane.cleaners = disputed, cleaners
        lane.moves = kept
        self.unasked.append(i)

    def _end(self, i: int, lane: GameSlot, result: str, reason: str, detail: str = "") -> GameRecord:
        self.lanes[i] = None
        for name in (lane.task.black, lane.task.white):
            self.players[name].finish(lane.game_id, result)
        return self.record(lane, result, reason, detail)

    def record(self, lane: GameSlot, result: str, reason: str, detail: str = "") -> GameRecord:
        """What is kept of a game."""
        task = lane.task
        detail = " ".join("; ".join(filter(None, [detail, lane.disputed])).split())
        last = [f"{result}, {reason}: {detail}"] if detail and lane.moves else []
        return GameRecord(
            game_id=task.game_id,
            game=self._game_of(task).spec,
            black=task.black,
            white=task.white,
            black_spec=self.bots[task.black].spec,
            white_spec=self.bots[task.white].spec,
            seed=task.seed,
            moves=tuple(map(self.game.action_text, lane.moves)),
            result=result,
            reason=reason,
            detail=detail,
            event=self.event,
            seconds=round(time.perf_counter() - lane.began, 3),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            comments=("",) * (len(lane.moves) - len(last)) + tuple(last),
            thoughts=packed(lane.thoughts),
            main_time=task.clock.main if task.clock else 0.0,
            overtime=task.clock.overtime if task.clock else "",
            time_left=tuple(lane.time_left),
            opening=task.opening.name if lane.opening else "",
            opening_plies=lane.opening,
            counted=lane.counted,
        )


def _clocks(control: TimeControl | None) -> tuple[Clock, ...]:
    """Black's and White's."""
    return (Clock(control), Clock(control)) if control else ()
