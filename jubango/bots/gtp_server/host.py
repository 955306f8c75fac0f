"""What the commands of a server work on: the game, the bot that thinks about it, what comes in and goes out."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from jubango.bots.composition import evaluator_for, judging_note, strongest
from jubango.bots.config import BotConfig, GtpConfig, SearchConfig, bot_from_spec, bot_from_table
from jubango.bots.gtp_server.session import Session, TurnToMove
from jubango.bots.gtp_server.territory import Territory
from jubango.bots.gtp_server.wire import GtpError, Lines, Output, complain
from jubango.bots.interactive.interactive_search import (
    LONGEST_ANALYSIS,
    AnalysisInfo,
    InteractiveSearch,
    SearchedPosition,
)
from jubango.bots.players.batch_player import BatchPlayer, MoveRequest
from jubango.bots.players.clock import MoveTime
from jubango.bots.players.levels import at_level
from jubango.bots.roster import make_players
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import initial_state, prepare, stacked
from jubango.sgf_games.rules.game import Game, State

TICK = 0.1  # seconds between two looks at the input


class Options(NamedTuple):
    """How a server plays."""

    bot: BotConfig | None = None  # by default the strongest there is for the game, and by the clock alone
    seed: int = 1
    resign_below: float = 0.0  # a win rate in [0, 1]
    ponder: bool = False
    room: int = LONGEST_ANALYSIS  # simulations of an analysis that nobody ends


RESIGN = -1


class Choice(NamedTuple):
    """What a bot wants to play."""

    action: int  # or RESIGN
    findings: AnalysisInfo | None  # of a bot that searches


class Host:
    """Raises UserError for a bot that cannot play the game."""

    def __init__(self, game: Game, options: Options, lines: Lines, output: Output) -> None:
        if isinstance(options.bot, GtpConfig):
            raise UserError(f'bot "{options.bot.name}": speaks GTP itself; start its command')
        if game.num_players != 2:
            raise UserError(f"{game.spec} has {game.num_players} player(s); GTP is for two")
        self.options, self.lines, self.output = options, lines, output
        self.session = Session(game)
        self.explanation = ""  # of the last move
        self.pondering = False
        self.shown: tuple[State, AnalysisInfo] | None = None  # what was shown of a position
        self._made: tuple[Game, BotConfig] | None = None
        self._noted = ""  # what has been said of the bot's judgement
        self._thinker: InteractiveSearch | None = None
        self._player: BatchPlayer | None = None
        self._games, self._asked = 0, -1  # what a player knows the game by, and at which move it has been asked last
        self._territory: Territory | None = None
        self._aside = ThreadPoolExecutor(1)  # where the programs that count points are made
        self._points: Future[None] | None = None  # that they have been
        self._unwanted = threading.Event()  # they are not to be made any more
        _playable(game, self.bot)

    @property
    def bot(self) -> BotConfig:
        """Who plays the game as it is."""
        game = self.session.game
        bot = at_level(game, self.options.bot or bot_from_spec(strongest(game)))
        if self.options.ponder and isinstance(bot, SearchConfig) and not bot.reuse:
            table = {**bot.changed, "reuse": True, "name": bot.name, "use": bot.use}
            return bot_from_table(table, f'bot "{bot.name}"')
        return bot

    @property
    def searches(self) -> bool:
        return isinstance(self.bot, SearchConfig)

    def ready(self) -> None:
        """Have the programs that a move is found by: compiling is no part of it. Those that count points are begun, and
        waited for by who needs them (:meth:`wait_for_points`)."""
        game, bot = self.session.game, self.bot
        if self._made == (game.compiled_as, bot):
            return
        self.close()
        note = judging_note(game, bot)
        if note not in ("", self._noted):
            complain(note)
            self._noted = note
        thinker, player, territory = None, None, None
        by_rules = functools.partial(_prepare_rules, game)
        if isinstance(bot, SearchConfig):
            territory = Territory(game, evaluator_for(game, bot))
            thinker = InteractiveSearch(game, bot, self.options.room, by_rules)
        else:
            player = make_players(game, [bot], 1, lambda aside: by_rules())[bot.name]
        self._thinker, self._player, self._territory = thinker, player, territory
        self._made = game.compiled_as, bot
        self._unwanted = threading.Event()
        self._points = self._aside.submit(_prepare_points, game, territory, self._unwanted)

    def require_search(self) -> InteractiveSearch:
        """The bot's search. Raises GtpError for a bot that does not search."""
        self.ready()
        if self._thinker is None:
            raise GtpError("this bot does not search")
        return self._thinker

    @property
    def territory(self) -> Territory:
        self.ready()
        self.wait_for_points()
        assert self._territory is not None, "a bot that searches has it"
        return self._territory

    def wait_for_points(self) -> None:
        """Have the programs that count points, if they are being made."""
        if self._points is not None:
            self._points.result()

    def close(self) -> None:
        """Let go of the bot. A program that is being compiled is finished nevertheless."""
        self._unwanted.set()
        self._points = None
        for held in (self._thinker, self._player):
            if held is not None:
                held.close()
        self._made = self._thinker = self._player = self._territory = self.shown = None

    # -- thinking --------------------------------------------------------------------------------

    def choose(
        self, player: int | None, on_tick: Callable[[], None] = lambda: None, tick: float = TICK, judged: bool = True
    ) -> Choice:
        """What the bot would play, in the time that there is. judged: dead stones will be taken off in the end. Raises
        GtpError where the game is over."""
        self.ready()
        session = self.session
        if session.played and session.played[-1].action == session.game.pass_action:  # another one would be the end
            self.wait_for_points()
        began = time.perf_counter()
        turn = session.turn(player)
        if turn.over:
            if session.game.has("resumed"):  # and yet it has lasted too long
                return Choice(session.game.pass_action, None)
            raise GtpError("the game is over")
        points = session.game.height * session.game.width
        limit = session.timing.budget(turn.player, points, turn.ply)
        if self._thinker is not None:
            choice = self._search(self._thinker, turn, limit, on_tick, tick, judged)
        else:
            choice = self._ask(turn, limit, judged)
        session.timing.spend(turn.player, time.perf_counter() - began)
        return choice

    def _search(
        self, thinker: InteractiveSearch, turn: TurnToMove, limit: MoveTime, on_tick: Callable[[], None], tick: float,
        judged: bool,
    ) -> Choice:  # fmt: skip
        room = thinker.room if limit.seconds and self.options.bot is None else None
        thinker.begin(self.position(turn), simulations=room, limit=limit)
        self.finish(thinker, on_tick, tick)
        return Choice(thinker.choice(judged), thinker.findings())

    def finish(
        self, thinker: InteractiveSearch, on_tick: Callable[[], None] = lambda: None, tick: float = TICK
    ) -> None:
        """Search until it has been enough, or GoGui wants the answer now."""
        thinker.advance(tick)
        while thinker.busy and not self.lines.interrupted:
            on_tick()
            self._leave_if_alone()
            thinker.advance(tick)

    def _ask(self, turn: TurnToMove, limit: MoveTime, judged: bool) -> Choice:
        player = self._player
        assert player is not None
        moves = [own.action for own in self.session.played]
        clock = self.session.timing.remaining(turn.player)
        if len(moves) <= self._asked:  # another game, or another line of it
            player.finish(f"gtp {self._games}")
            self._games += 1
        self._asked = len(moves)
        request = MoveRequest(
            0, f"gtp {self._games}", self.bot, self._seed(turn), turn.legal, moves, turn.player, limit, clock,
            game=self.session.game, judged=judged,
        )  # fmt: skip
        player.begin([request], stacked([turn.state]))
        while True:
            answers = player.advance()
            if answers:
                event = answers[-1].event
                if event and event != "resign":
                    raise GtpError(answers[-1].detail)
                return Choice(RESIGN if event else answers[-1].action, None)
            self._leave_if_alone()
            if self.lines.interrupted:
                player.hurry()

    def position(self, turn: TurnToMove, legal: np.ndarray | None = None) -> SearchedPosition:
        """What a thinker is asked about; only ``legal`` moves are looked at."""
        return SearchedPosition(
            turn.state, turn.legal if legal is None else legal, turn.ply, self._seed(turn), turn.line
        )

    def _seed(self, turn: TurnToMove) -> int:
        entropy = [self.options.seed, turn.ply, *(own.action for own in self.session.played[-1:])]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def _leave_if_alone(self) -> None:
        """Nobody asks any more, and nobody hears the answer."""
        if self.lines.ended and self.output.deaf:
            raise BrokenPipeError

    def ponder(self) -> None:
        """Search on while the other side thinks, until there is a line."""
        turn = self.session.turn()
        if self._thinker is None or turn.over:
            return
        self._thinker.begin(self.position(turn), simulations=self._thinker.room)
        while self._thinker.busy and not self.lines.waiting:
            self._thinker.advance(TICK)


def _prepare_rules(game: Game) -> None:
    """Have the programs of the rules."""
    prepare(game)
    game.resumed(game.with_player(initial_state(game), 1))


def _prepare_points(game: Game, territory: Territory | None, unwanted: threading.Event) -> None:
    """Have the programs of the count, of who is ahead, and of whose each point is, as long as they are wanted."""
    start = initial_state(game)
    stages: list[Callable[[], object]] = []
    if game.counts_points:
        stages += [lambda: game.final_margin(game.without_stones(start, game.dead_stones(start)))]
    if territory:
        stages += [lambda: territory.judge(start, ()), lambda: territory.owners(start)]
    for stage in stages:
        if unwanted.is_set():
            return
        stage()


def make_programs(game: Game, bot: SearchConfig) -> None:
    """Nothing; it makes all programs of a server that plays this game with this bot, so that the next one finds them in
    the cache. Raises UserError for a bot that cannot play the game."""
    InteractiveSearch(game, bot, beside=functools.partial(_prepare_rules, game)).close()
    _prepare_points(game, Territory(game, evaluator_for(game, bot)), threading.Event())


def _playable(game: Game, bot: BotConfig) -> None:
    """Raises UserError for a bot that cannot play the game, before anything is compiled."""
    if isinstance(bot, SearchConfig):
        evaluator_for(game, bot)
