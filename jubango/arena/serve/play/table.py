"""The games at the boards: who looks is told, what happens is kept in files, and bots are asked for their moves."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jubango.arena.serve.kept import Data, KeptThings, keep_files
from jubango.arena.serve.search.thinker import Thinking
from jubango.arena.serve.site import Site
from jubango.arena.serve.web.events import EventStream, Feed
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.arena.serve.play.game import BoardGame
    from jubango.bots.config import BotConfig

GAMES_FOLDER = "games"
HINT_SECONDS = 2.0
SEEN_SECONDS = 0.2  # between two moves of bots
FLAG_SLACK = 0.05  # seconds after which a fallen flag is looked for


class Table:
    """One game. In the thread of the event loop, but for what :meth:`change` does."""

    def __init__(self, site: Site, name: str, game: BoardGame) -> None:
        self.site, self.name, self.game = site, name, game
        self.feed = Feed(self._snapshot)
        self.shown: dict[str, object] = {}
        self._order: dict[str, object] | None = None  # of the bot that is to move
        self._next: dict[str, object] | None = None  # of the bot that moves after a person
        self._readied: list[object] = []  # bots that have been made ready, by what they are
        self._thinking: Thinking | None = None
        self._hinting: Thinking | None = None
        self._thought: Mapping[str, object] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._trouble = ""
        self._number = 0  # of changes: what was thought before one is old

    async def change(self, what: Callable[[BoardGame], None], ask: bool = True) -> None:
        """Do something with the game, and let everybody know. Raises UserError."""
        await self.site.in_order(self._changed, what)
        self._number += 1
        self._forget_thoughts()
        self.tell()
        if ask:
            self.go_on(asked=True)

    def _changed(self, what: Callable[[BoardGame], None]) -> None:
        what(self.game)
        self.keep()

    def keep(self) -> None:
        """Write the files, and note what is shown: for the thread of the rules."""
        game = self.game
        self.shown = game.shown()
        self._order = self._order_of(game.turn_of, game.mover)
        self._next = self._order_of(game.comes_next, 1 - game.mover)
        self._trouble = keep_files(self.site, GAMES_FOLDER, "game", self.name, game.saved(), game.sgf())

    def _order_of(self, bot: BotConfig | None, player: int) -> dict[str, object] | None:
        """Of a move by the bot that plays this colour."""
        from jubango.arena.serve.search.told import told
        from jubango.arena.serve.search.work import told_table

        if bot is None:
            return None
        seed = zlib.crc32(f"{self.name} {self.game.ply}".encode())
        key = f"{self.name} {player}"
        return {**told(self.game.session), "work": "move", "key": key, "seed": seed, "bot": told_table(bot)}

    def sgf(self) -> str:
        return self.game.sgf()

    # -- telling -----------------------------------------------------------------------------------

    @property
    def wanted(self) -> bool:
        return self.feed.watched

    def _snapshot(self) -> dict[str, object]:
        clocks = self.game.shown_clocks()
        return {
            **self.shown, "id": self.name, "clocks": clocks, "thinking": self._thought or None,
            "asked": self._thinking is not None, "trouble": self._trouble,
        }  # fmt: skip

    def tell(self) -> None:
        self.feed.send("all", self._snapshot())
        self._watch_flag()

    def answer(self) -> EventStream:
        """For who begins to look; a bot that waited for that goes on."""
        answer = self.feed.answer()
        asyncio.get_running_loop().call_later(0.05, self.go_on)
        return answer

    def _watch_flag(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        game = self.game
        if game.runs(game.mover):
            left = max(0.0, game.left(game.mover)) + FLAG_SLACK
            self._timer = asyncio.get_running_loop().call_later(left, self._look_at_flag)

    def _look_at_flag(self) -> None:
        def fallen(game: BoardGame) -> None:
            game.flag()

        self.site.soon(self.change(fallen))

    # -- thinking ----------------------------------------------------------------------------------

    def go_on(self, asked: bool = False) -> None:
        """Ask the bot whose turn it is, if somebody looks or has just ``asked`` for it; one whose turn comes next is
        made ready."""
        game = self.game
        if self._next is not None and (asked or self.feed.watched):
            whom = [self._next["key"], self._next["bot"]]
            if whom not in self._readied:
                self._readied.append(whom)
                self.site.thinker.begin({**self._next, "work": "ready"}, lambda said: None)
        if self._order is None or self._thinking is not None or game.paused or not (asked or self.feed.watched):
            return
        number, asked_for = self._number, self._order

        def heard(said: Mapping[str, object]) -> None:
            if number == self._number:
                self._heard(said, asked_for)

        order = {**asked_for, "limit": [*game.budget()], "clock": game.left(game.mover) if game.clocks else 0.0}
        self._thinking = self.site.thinker.begin(order, heard)
        self._thought = {"visits": 0}
        self.feed.send("thinking", self._thought)

    def _heard(self, said: Mapping[str, object], asked_for: Mapping[str, object]) -> None:
        def here(what: Callable[[BoardGame], None]) -> Callable[[BoardGame], None]:
            return lambda game: what(game) if self._order is asked_for else None  # else it was another position

        if said["kind"] == "update":
            self._thought = {key: said[key] for key in ("visits", "rate", "line", "seconds")}
            self.feed.send("thinking", self._thought)
            return
        self._thinking = None
        thought = said.get("thought")
        if said.get("error"):
            self.site.soon(self._halt(str(said["error"])))
        elif said.get("event") == "resign":
            mover = self.game.mover
            self.site.soon(self.change(here(lambda game: game.resign(mover))))
        else:
            move, own = str(said["move"]), dict(thought) if isinstance(thought, dict) else None
            self.site.soon(self._moved(here(lambda game: game.move(move, own))))

    async def _moved(self, change: Callable[[BoardGame], None]) -> None:
        """A bot moves; between bots there is time to see it."""
        people = self.game.has_people
        await self.change(change, ask=people)
        if not people:
            await asyncio.sleep(SEEN_SECONDS)
            self.go_on()

    async def _halt(self, why: str) -> None:
        """A bot cannot go on."""
        await self.change(lambda game: game.pause(True), ask=False)
        self._trouble = why
        self.tell()

    def _forget_thoughts(self) -> None:
        for task in (self._thinking, self._hinting):
            if task is not None:
                task.drop()
        self._thinking = self._hinting = None
        self._thought = {}

    def hurry(self) -> None:
        """The bot is to move now."""
        if self._thinking is not None:
            self._thinking.stop()

    async def hint(self) -> None:
        """What the strongest bot makes of the position. Raises UserError."""
        from jubango.arena.serve.opponents import player_named
        from jubango.arena.serve.search.told import told
        from jubango.arena.serve.search.work import told_table

        def ask() -> dict[str, object]:
            game = self.game
            if game.phase != "play" or game.turn_of is not None:
                raise UserError("hints are for the person to move")
            bot = player_named("", game.session.game, self.site.folder)
            assert bot is not None
            return {**told(game.session), "work": "analyse", "key": f"{self.name} hint", "bot": told_table(bot)}

        order = await self.site.in_order(ask)
        if self._hinting is not None:
            return
        self.feed.send("hint", {"visits": 0, "moves": []})

        def heard(said: Mapping[str, object]) -> None:
            if said["kind"] == "error":
                self._trouble = str(said["error"])
                self.tell()
            else:
                self.feed.send("hint", {**said, "over": said["kind"] == "done"})
                seconds = said.get("seconds")
                if self._hinting is not None and isinstance(seconds, float) and seconds > HINT_SECONDS:
                    self._hinting.stop()
            if said["kind"] != "update":
                self._hinting = None

        self._hinting = self.site.thinker.begin(order, heard)

    def close(self) -> None:
        self._forget_thoughts()
        if self._timer is not None:
            self._timer.cancel()


class Tables(KeptThings[Table, "BoardGame"]):
    """The games of a site."""

    folder, what = GAMES_FOLDER, "game"

    def _of(self, name: str, content: BoardGame) -> Table:
        return Table(self._site, name, content)

    def _read(self, data: Data) -> BoardGame:
        from jubango.arena.serve.opponents import player_named
        from jubango.arena.serve.play.game import BoardGame, players_in
        from jubango.arena.serve.search.told import game_of

        game = game_of(str(data.get("game")))
        bots: list[BotConfig | None] = []
        for text in players_in(data):
            try:
                bots.append(player_named(text, game, self._site.folder))
            except UserError:  # it is gone: a person plays on
                bots.append(None)
        return BoardGame.of(data, bots)

    def _row(self, data: Data) -> dict[str, object] | None:
        moves = data.get("moves")
        if not isinstance(moves, list):
            return None
        return {
            "game": data.get("game"), "players": data.get("players"), "moves": len(moves),
            "began": str(data.get("began"))[:16],
        }  # fmt: skip
