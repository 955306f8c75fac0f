"""The games under way, kept twice a minute: a run that is killed goes on with them, and they end as they would have.

A line of the file is a game: its moves, what was thought of them, the clocks, and trees that bots keep. Seeds and
openings are the plan's. Of games that are over within half a minute there is nothing to keep.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import time
from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict, Field

from jubango.arena.games.pool import GameTable
from jubango.arena.games.slot import MOST_REMEMBERED, Begun
from jubango.arena.runs.weights import network_name
from jubango.arena.runs.work_folder import WorkFolder
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import Plan
from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.records.thoughts import Thought, packed, unpacked
from jubango.sgf_games.rules.game import Game

UNDER_WAY = "under_way.jsonl"
KEEP_SECONDS = 30.0  # between two times; where no game lasts as long, none is kept
MOST_KEEPING = 0.02  # of the time at most goes into keeping them
SHOWN_BOARDS = "boards.json"  # of games under way, for who watches the folder
WATCHED = ".watched"  # touched by who does
WATCH_SECONDS = 10.0  # for which boards are shown after that
BOARDS_EVERY = 0.5  # between two times
GAMES_SHOWN = 6


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    game_id: str
    of: str  # what decides the rest of the game
    moves: str
    thoughts: str  # packed, in base 64
    seconds: float = Field(ge=0, le=1e9)
    clocks: list[tuple[float, int]]
    time_left: list[tuple[float, int]]
    disputed: str = Field(max_length=2000)
    cleaners: list[str]
    trees: list[str] = []  # in base 64


class UnderWay:
    """Of the folder of a tournament or a tuning, while it is played into. ``digests`` are of the weights that are
    played with, and games that are ``finished`` are under way no more.

    ``begun`` are those that were under way when the run was stopped, by their ids; who seats one takes it out.
    ``notes`` say what was there and cannot be used.
    """

    def __init__(self, work: WorkFolder, plan: Plan, digests: Mapping[str, str], finished: Collection[str]) -> None:
        self._work, self._digests = work, digests
        self.play(plan)
        self._due = time.perf_counter() + KEEP_SECONDS
        self.begun: dict[str, Begun] = {}
        self._lines: dict[str, str] = {}  # of these games
        self.notes: list[str] = []
        self._boards_due = 0.0
        self._take(work.files, finished)

    def play(self, plan: Plan) -> None:
        """The games are those of this plan from now on, whose bots may be others."""
        self._plan, self._bots = plan, {bot.name: bot for bot in plan.bots}

    def add(self, folder: Folder, finished: Collection[str]) -> None:
        """Those of a part, too, which is not played on there, are kept here."""
        self._take(folder, finished)

    def look(self, table: GameTable) -> None:
        """Keep those of the table, if it is time. Raises CannotGoOn."""
        began = time.perf_counter()
        if began >= self._boards_due:
            self._show(table)
            self._boards_due = began + BOARDS_EVERY
        if began < self._due:
            return
        lines = [self._line(task, begun) for task, begun in table.under_way(KEEP_SECONDS, MOST_REMEMBERED)]
        self._keep([*lines, *(line for game_id, line in self._lines.items() if game_id in self.begun)])
        ended = time.perf_counter()
        self._due = ended + max(KEEP_SECONDS, (ended - began) / MOST_KEEPING)

    def _show(self, table: GameTable) -> None:
        """The boards of the first games, if somebody watches; nobody waits for one that cannot be written."""
        files = self._work.files
        with contextlib.suppress(UserError, OSError):
            seen = files.file(WATCHED).stat().st_mtime  # FileNotFoundError, mostly
            if time.time() - seen > WATCH_SECONDS:
                files.delete(WATCHED)
                files.delete(SHOWN_BOARDS)
                return
            playing = [(i, lane) for i, lane in enumerate(table.lanes) if lane][:GAMES_SHOWN]
            said: list[dict[str, object]] = []
            for (_, lane), (stones, last) in zip(playing, table.boards([i for i, _ in playing]), strict=True):
                said.append({
                    "id": lane.task.game_id, "black": lane.task.black, "white": lane.task.white,
                    "moves": len(lane.moves), "thought": lane.thoughts[-1].text if lane.thoughts else "",
                    "stones": "".join(".XO"[stone] for stone in stones.ravel()),
                    "last": -1 if last is None else int(last[0] * stones.shape[1] + last[1]),
                })  # fmt: skip
            files.write(SHOWN_BOARDS, json.dumps(said).encode(), flush=False)

    def keep(self) -> None:
        """Keep those that have not gone on. Raises CannotGoOn."""
        self._keep(list(self._lines.values()))

    def remove(self) -> None:
        """None is under way. Raises CannotGoOn."""
        self._keep([])

    def _keep(self, lines: list[str]) -> None:
        if lines:
            self._work.write(UNDER_WAY, "".join(f"{line}\n" for line in lines))
        elif self._work.files.has(UNDER_WAY):
            self._work.delete(UNDER_WAY)

    def _line(self, task: GameTask, begun: Begun) -> str:
        text = self._plan.game.action_text
        return _Line(
            game_id=task.game_id,
            of=self._decided_by(task),
            moves=" ".join(map(text, begun.moves)),
            thoughts=base64.b64encode(packed(begun.thoughts)).decode(),
            seconds=round(begun.seconds, 3),
            clocks=list(begun.clocks),
            time_left=list(begun.time_left),
            disputed=begun.disputed,
            cleaners=sorted(begun.cleaners),
            trees=[base64.b64encode(tree).decode() for tree in begun.remembered],
        ).model_dump_json()

    def _decided_by(self, task: GameTask) -> str:
        """All that decides a game, as a digest: with anything else it would be another one."""
        plan, bots = self._plan, self._bots
        said: list[object] = [VERSION, plan.game_of(task.komi).spec, task, plan.adjudication]
        for name in (task.black, task.white):
            network = network_name(plan, bots[name])
            said += [bots[name].spec, self._digests.get(network, network)]
        return hashlib.sha256(repr(said).encode()).hexdigest()[:24]

    def _take(self, folder: Folder, finished: Collection[str]) -> None:
        try:
            lines = filter(
                None, (folder.read_text(UNDER_WAY) or "").split("\n")
            )  # engines' words may hold other ends of lines
        except UserError as error:
            self.notes.append(f"{error}; the games that were under way begin anew")
            return
        unused = 0
        for line in lines:
            try:
                said = _Line.model_validate_json(line)
                if said.game_id in finished:
                    continue
                task = self._plan.task_of(said.game_id)
                if task is None or said.of != self._decided_by(task):
                    raise ValueError
                begun, known = _begun(self._plan.game, said), self.begun.get(said.game_id)
                if known is None or len(known.moves) < len(begun.moves):  # a part's may be behind
                    self.begun[said.game_id], self._lines[said.game_id] = begun, line
            except (ValueError, UserError):  # pydantic's errors are ValueErrors
                unused += 1
        if unused:
            games = "1 game" if unused == 1 else f"{unused} games"
            why = "damaged, or of another plan or version"
            self.notes.append(f"{folder.path / UNDER_WAY}: {games} cannot go on as kept ({why}) and will begin anew")


def _begun(game: Game, said: _Line) -> Begun:
    """Raises ValueError and UserError."""
    moves = tuple(map(game.parse_action, said.moves.split()))
    columns = unpacked(base64.b64decode(said.thoughts, validate=True))
    if not all(0 <= move < game.num_actions for move in moves):
        raise ValueError
    return Begun(
        moves,
        tuple(map(Thought, *(column.tolist() for column in columns))),
        said.seconds,
        tuple(said.clocks),
        tuple(said.time_left),
        said.disputed,
        frozenset(said.cleaners),
        tuple(base64.b64decode(tree, validate=True) for tree in said.trees),
    )
