"""How strong the networks of a training are: matches against the best so far, and a ladder that is the same for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jubango.analysis.ratings.ratings import RatingList
from jubango.analysis.ratings.results import decided
from jubango.arena.runs.play import play_plan
from jubango.arena.schedule.plan import match_plan
from jubango.arena.training.tables import NETWORK_NAME, Match, elo_of, matches_of, rated
from jubango.bots.config import Bot, BotConfig, bot_from_spec
from jubango.bots.learning.position_files import set_aside
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.players.engines.engine import program
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.game import Game

MATCHES = "matches.csv"  # a row for each match of a network
BEST = "best.safetensors"
NETWORKS_FOLDER = "networks"  # the folder of all that were measured
EASY = 0.97  # a score from which on an opponent is met only now and then
SELDOM = 4  # measurements
HOPELESS = 0.05  # a score up to which nobody stronger is met
LARGEST_OF_GNUGO = 19  # boards
GNUGO = "gnugo --mode gtp --level {} --chinese-rules"


@dataclass(frozen=True)
class Measuring:
    """How strength is measured: every so many ``minutes``, with ``games`` against each opponent, ``simulations`` a
    move."""

    minutes: float = 10.0
    games: int = 32
    simulations: int = 32


class Measurements:
    """The matches of a training's networks of ``game``, kept in the training's folder. notes: takes what is to be told.
    Raises UserError for tables that cannot be read."""

    def __init__(self, run: Folder, game: Game, measuring: Measuring, notes: list[str]) -> None:
        self._run, self.game, self.measuring, self.notes = run, game, measuring, notes
        self._matches = matches_of(run, MATCHES, notes)
        self._lost: set[str] = set()  # networks whose files cannot be read
        self._easy: dict[str, int] = {}  # measurements until an opponent is met again
        self._unfit: set[str] = set()  # opponents that cannot play here
        self._rated: tuple[int, list[tuple[float, float, float]]] = (0, [])  # by so many matches
        self._restore_best()

    @property
    def matches(self) -> list[Match]:
        """All there have been, the oldest first."""
        return self._matches.rows

    @property
    def best(self) -> str:
        """The network that has beaten the best one before it, and so on from the first; empty before there is one."""
        best = ""
        for match in (match for match in self.matches if match.network not in self._lost):
            if not best or (match.opponent == best and match.score > 0.5):
                best = match.network
        return best

    @property
    def elo(self) -> list[tuple[float, float, float]]:
        """(seconds, Elo, half of its 95 % interval) of the networks that have been measured."""
        if self._rated[0] != len(self.matches):
            elo = elo_of(self.matches)
            self._rated = len(self.matches), elo
        return self._rated[1]

    @property
    def ratings(self) -> RatingList | None:
        """Of all networks that have been measured, and of the ladder, ``random`` being 0."""
        return rated(self.matches)

    def measure(self, network: bytes, seconds: float, games: int) -> Iterator[str]:
        """Matches of a file of weights against the best so far and the ladder; it becomes the best by beating it.
        Yields the name of each opponent before they play. seconds, games: what it has been trained so far."""
        (self._run.path / NETWORKS_FOLDER).mkdir(exist_ok=True)
        name = self._new_name()
        self._run.write(_file_of(name), network)
        newest, best = self._player(name), self.best

        def match(opponent: BotConfig) -> Match:
            return self._match(Match(seconds, games, name, opponent.name, 0, 0, 0), newest, opponent)

        if best:
            yield best
            match(self._player(best))
        first = not self.matches
        if not best or self.best == name:
            self._run.write(BEST, network)
        for opponent in ladder(self.game)[: 1 if first else None]:  # at first what is quick
            if opponent.name in self._unfit:
                continue
            if self._easy.get(opponent.name, 0) > 0:
                self._easy[opponent.name] -= 1
                continue
            yield opponent.name
            score = match(opponent).score
            if score >= EASY:
                self._easy[opponent.name] = SELDOM - 1
            if score <= HOPELESS:
                break

    def _new_name(self) -> str:
        """Of a network: one that none has had yet."""
        files = [Path(file).stem for file in self._run.files(NETWORKS_FOLDER, ".safetensors")]
        names = [name for name in (*files, *(match.network for match in self.matches)) if NETWORK_NAME.fullmatch(name)]
        return f"net-{max((int(name[4:]) for name in names), default=0) + 1:04d}"

    def _player(self, name: str) -> BotConfig:
        path = str(self._run.file(_file_of(name)))
        return Bot("gumbel", name=name, simulations=self.measuring.simulations, network=path)

    def _match(self, match: Match, newest: BotConfig, opponent: BotConfig) -> Match:
        """Play; of somebody who cannot, a note is taken and no match."""
        plan = match_plan(newest, opponent, self.game, self.measuring.games, len(self.matches) + 1)
        try:
            results = [result for result in decided(play_plan(plan).results) if result.ending in ("", "R")]
        except (CannotGoOn, UserError) as error:
            self.notes.append(f"{opponent.name} is left out: {error}")
            self._unfit.add(opponent.name)
            return match
        scores = [r.score if r.black == newest.name else 1 - r.score for r in results]
        match = match._replace(wins=scores.count(1.0), draws=scores.count(0.5), losses=scores.count(0.0))
        self._matches.append(match, match)
        return match

    def _restore_best(self) -> None:
        """The best network lies in two files; each is made good by the other (who was left in the middle of measuring
        may not have come to the second). If both are lost, the best one of the others is the best."""
        while best := self.best:
            name = _file_of(best)
            for there, lacking in ((name, BEST), (BEST, name)):
                if self._can_be_read(there):
                    (self._run.path / NETWORKS_FOLDER).mkdir(exist_ok=True)
                    self._run.write(lacking, (self._run.path / there).read_bytes())
                    return
            self._lost.add(best)

    def _can_be_read(self, name: str) -> bool:
        """Is it a whole file of weights? A damaged one is put aside."""
        try:
            if self._run.has(name):
                load_weights(self._run.path / name)
                return True
        except UserError as error:
            self.notes.append(f"{error}; it is left out: {set_aside(self._run, name)}")
        return False


def _file_of(network: str) -> str:
    return f"{NETWORKS_FOLDER}/{network}.safetensors"


def ladder(game: Game) -> list[BotConfig]:
    """Whom a network is measured against, weakest first: one set for every game, so that Elo means the same."""
    found = [bot_from_spec(spec) for spec in ("random", "uct:simulations=100", "uct:simulations=1000")]
    if game.dialect == "go" and game.width == game.height <= LARGEST_OF_GNUGO and program("gnugo"):
        found.append(bot_from_spec(f'gtp:command="{GNUGO.format(10)}",processes=2', "gnugo-10"))
    return found
