"""Tuning a bot: round after round its settings are proposed, played in pairs against the opponents, and kept."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

from jubango.analysis.ratings.sprt import Sprt
from jubango.arena.games.pool import GamePool, GameTable, told_by
from jubango.arena.hosts.cluster import cluster_of
from jubango.arena.runs.ended_games import EndedGames
from jubango.arena.runs.machines import HOSTS
from jubango.arena.runs.play import Interrupted, TableMaker, play_plan
from jubango.arena.runs.run import Run
from jubango.arena.runs.same_run import MAY_CHANGE as SAME_RUN_MAY_CHANGE
from jubango.arena.runs.same_run import other_bot
from jubango.arena.runs.under_way import UNDER_WAY, UnderWay
from jubango.arena.runs.weights import check_stated, with_digests
from jubango.arena.runs.work_folder import WorkFolder, changes, writing
from jubango.arena.schedule.openings import as_key
from jubango.arena.schedule.pairings import GameTask, pairing
from jubango.arena.schedule.plan import Plan, match_plan
from jubango.arena.tuning.plan import TUNED, TunePlan, make_tune_plan, read_tune_plan
from jubango.arena.tuning.tuning import PICTURE, SETTINGS_TABLE, Tuning
from jubango.arena.tuning.view import tuning_view_for
from jubango.bots.config import BotConfig, EngineConfig
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.base.extras import installed
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.compute.machine import claim, games_at_once
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.rules.game import Game

TUNE_FILE = "tune.toml"

Preparing = Callable[[str], AbstractContextManager[object]]


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C during a tuning; ``tuning`` holds what was finished."""

    def __init__(self, tuning: Tuning) -> None:
        super().__init__(_finished(tuning))
        self.tuning = tuning


def _finished(tuning: Tuning) -> str:
    where = f" and kept in {tuning.folder}" if tuning.folder else ""
    return f"{tuning.done} of {tuning.total} games are finished{where}"


def play_tuning(
    plan: TunePlan,
    folder: Path | str | None = None,
    on_progress: Callable[[Tuning], None] = lambda tuning: None,
    on_confirming: Callable[[Run], None] = lambda run: None,
    preparing: Preparing = nullcontext,
    hosts: TableMaker | None = None,
) -> Tuning:
    """Play what is missing in ``folder``, where every finished game is kept, whatever happens next; without one nothing
    is kept. Then the best settings found meet those without tuning, if the plan says so.

    ``on_progress`` and ``on_confirming`` are called after every tick of the tuning and of that match; ``preparing``
    and ``hosts`` as by :func:`jubango.arena.runs.play.play_plan`. Raises UserError, TuningInterrupted and CannotGoOn.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            kept = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jubango-")))
        else:
            kept = Folder(folder).path
        work = _work_folder(kept)
        stack.enter_context(work.claimed())
        networks = _claim(plan, work)
        library = stack.enter_context(contextlib.closing(Library(kept)))
        tuning = Tuning(plan, kept)
        under_way = UnderWay(work, tuning.round_plan, networks, tuning.scores.keys())
        tuning.notes += under_way.notes
        stated = with_digests(plan.playing, networks)
        try:
            _play(tuning, EndedGames(library.add), under_way, stated, on_progress, preparing, hosts)
            under_way.remove()
            _conclude(tuning)
            on_progress(tuning)
            match = confirmation(tuning)
            if match is not None:
                own = None if folder is None else Folder(kept).folder(f"confirm-{tuning.done}").path
                tuning.confirmed = play_plan(match, own, on_confirming, preparing, hosts=hosts)
        except Interrupted as interrupted:  # during that match
            tuning.confirmed = interrupted.run
            raise TuningInterrupted(tuning) from None
        except KeyboardInterrupt:
            _conclude(tuning)
            raise TuningInterrupted(tuning) from None
        except CannotGoOn as why:
            with contextlib.suppress(CannotGoOn):
                _conclude(tuning)
            raise CannotGoOn(f"{why}; {_finished(tuning)}") from None
        finally:
            tuning.table = None
            if folder is None:
                tuning.folder = None
    return tuning


def confirmation(tuning: Tuning) -> Plan | None:
    """The match of the best settings found against those without tuning; None if there is none to be played."""
    plan, best = tuning.plan, tuning.bot
    start = plan.start.model_copy(update={"name": plan.start.usual_name})
    if plan.confirm is None or tuning.latest is None or best == start:
        return None
    given = parse_toml(plan.playing.text, TUNE_FILE).items()
    keys: dict[str, object] = {k: v for k, v in given if k in ("games_at_once", "openings", "opening_plies")}
    game, seed, test = plan.playing.game, plan.playing.seed, str(plan.confirm)
    return match_plan(best, start, game, plan.confirm_games, seed, "", test, keys)


def _work_folder(path: Path) -> WorkFolder:
    return WorkFolder(path, TUNE_FILE, (SETTINGS_TABLE, PICTURE, UNDER_WAY, HOSTS), "tuning in")


def _claim(plan: TunePlan, folder: WorkFolder) -> dict[str, str]:
    """Digests of the weights that are played with. Raises UserError if what was played in the folder is not part of the
    plan."""
    networks = check_stated(plan.playing)
    if folder.begun:
        old = read_tune_plan(folder.files.file(TUNE_FILE), begun=True)
        check_stated(old.playing)
        check_same_tuning(old, plan, networks, folder)
    elif folder.files.has(SETTINGS_TABLE) or any(folder.path.glob("*.sqlite")):
        folder.refuse_games()
    return networks


# Fields of TunePlan, and of the plan of its games, that may be others when a tuning goes on.
MAY_CHANGE = frozenset({"games", "confirm", "confirm_games"})
GAMES_MAY_CHANGE = SAME_RUN_MAY_CHANGE | {"name"}


def check_same_tuning(old: TunePlan, new: TunePlan, networks: Mapping[str, str], folder: WorkFolder) -> None:
    """``networks`` are the digests of the new plan's weights. Raises UserError."""

    def refuse(was: str) -> NoReturn:
        folder.refuse(was, "games, games_at_once, confirm and confirm_games may change")

    names = [[bot.name for bot in plan.opponents] for plan in (old, new)]
    if names[0] != names[1]:
        refuse(f"opponents {', '.join(names[0])}, not {', '.join(names[1])}")
    for bot, now in zip(old.playing.bots, new.playing.bots, strict=True):
        if other := other_bot(old.playing, bot, new.playing, now, networks):
            refuse(other)
    games = changes(old.playing, new.playing, GAMES_MAY_CHANGE | {"bots", "format"})
    for change in (*games, *changes(old.playing.format, new.playing.format, ())):
        refuse("other openings" if change.key == "openings" else str(change))
    for change in changes(old, new, MAY_CHANGE | {"playing"}):
        if change.key == "settings":
            refuse(f"settings {_ranges(old)}, not {_ranges(new)}")
        refuse(str(change))


def _ranges(plan: TunePlan) -> str:
    return "; ".join(f"{setting.key} from {setting.range}" for setting in plan.settings)


def _play(
    tuning: Tuning, ended: EndedGames, under_way: UnderWay, stated: str, on_progress: Callable[[Tuning], None],
    preparing: Preparing, hosts: TableMaker | None,
) -> None:  # fmt: skip
    plan = tuning.plan
    tasks = tuning.tasks()
    if not tasks and tuning.total <= 2 * len(tuning.trials):
        tuning.fit()  # nothing is to be played; what does it say?
        return
    assert tuning.folder is not None
    _work_folder(tuning.folder).write(TUNE_FILE, stated)
    bots = _players(plan)

    def tick(table: GameTable) -> None:
        tuning.add(ended.settle())
        tuning.notes += told_by(table)
        under_way.look(table)
        on_progress(tuning)

    table: GameTable
    with preparing(f"{plan.playing.game.spec} for {plan.start.spec} with any settings"):
        if hosts is None:
            table = GamePool(plan.playing.game, bots, _lanes(plan, bots), plan.playing.name, tick)
        else:
            first = [plan.playing.task(pairing(TUNED, bot.name), 0) for bot in plan.opponents]
            table = hosts(plan.playing, bots, plan.games_per_round, tick, tuning.folder, first)
    if table.note:
        tuning.notes.append(table.note)

    def following() -> Iterable[GameTask]:
        """What is left of a round, or the next one."""
        tuning.add(ended.settle(now=True))
        tasks = tuning.tasks()
        if not tasks and tuning.propose():
            tuning.save()
            tasks = tuning.tasks()
        table.enter(tuning.tried, TUNED)
        under_way.play(tuning.round_plan)
        return tasks

    with contextlib.closing(table):
        tuning.table = table
        try:
            for records in table.play(following(), following, under_way.begun):
                ended.add(records)
        except KeyboardInterrupt:
            ended.add(table.ended())
            raise
        finally:
            tuning.add(ended.settle(now=True))


def _players(plan: TunePlan) -> list[BotConfig]:
    """The bot, with room for all the simulations that it may be told to make, and its opponents."""
    most = {setting.key: int(setting.high) for setting in plan.settings if setting.key == "simulations"}
    return [plan.start.model_copy(update=most), *plan.opponents]


def _lanes(plan: TunePlan, bots: Sequence[BotConfig]) -> int:
    """How many games to have under way; the same in every round and when a run goes on, as programs depend on it."""
    engines = [bot.processes for bot in plan.opponents if isinstance(bot, EngineConfig)]
    possible = sum(engines) if len(engines) == len(plan.opponents) else plan.games_per_round
    at_once = games_at_once(plan.playing.games_at_once)
    return min(plan.games_per_round, at_once, possible, affordable_lanes(plan.playing.game, bots))


def _conclude(tuning: Tuning) -> None:
    """Write the table and, where it can be drawn, the picture. Raises CannotGoOn."""
    if tuning.fit() is None or tuning.folder is None:
        return
    tuning.save()
    if not installed("matplotlib"):
        return
    with writing(tuning.folder / PICTURE):
        tuning.plot(Folder(tuning.folder).file(PICTURE))


def tune(
    game: str | Game | Path,
    bot: str | BotConfig | None = None,
    settings: Mapping[str, Sequence[object]] | None = None,
    games: int | None = None,
    out: Path | str | None = None,
    seed: int | None = None,
    *,
    opponents: Sequence[str | BotConfig] | None = None,
    confirm: str | Sprt | None = None,
    confirm_games: int | None = None,
    games_per_round: int | None = None,
    games_at_once: int | None = None,
    openings: str | Path | Sequence[str] | None = None,
    opening_plies: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Tuning:
    """The tuning of a bot's settings by playing: ``tune("connect_four", "uct", {"c": (0.1, 4, "log")})``.

    game: a spec string or a game; or, without ``bot``, the path of a tuning's file, of which the other arguments change
        the keys: ``tune("tune.toml")``.
    bot: a spec string or what :func:`jubango.Bot` makes.
    settings: the keys to search, each with its lowest and highest value and, for a logarithmic scale, "log".
    games: in all; by default 2000.
    out: a folder, where all is kept and a tuning that was begun goes on.
    seed: of proposals and games; by default 1.
    opponents: whom the bot plays, spec strings and bots; by default itself without tuning.
    confirm: the test of the best settings against those without tuning; by default "0,20", "" for none.
    confirm_games: how many that test may take; by default 4000.
    games_per_round: by default 128.
    games_at_once: by default 128, on accelerators 2,048.
    openings, opening_plies, cluster: see :func:`jubango.tournament`.
    progress: whether it is shown; by default on terminals.

    Raises UserError for input that cannot be used, and TuningInterrupted, a KeyboardInterrupt.
    """
    claim()
    hosts = cluster_of(cluster)
    given = {
        "games": games,
        "seed": seed,
        "opponents": opponents and [one if isinstance(one, str) else one.spec for one in opponents],
        "confirm": None if confirm is None else str(confirm),
        "confirm_games": confirm_games,
        "games_per_round": games_per_round,
        "games_at_once": games_at_once,
        "openings": as_key(openings),
        "opening_plies": opening_plies,
    }
    keys: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    if bot is not None or settings is not None:
        if bot is None or settings is None or isinstance(game, Path):
            raise UserError("tune: give a game, a bot and settings, or a tuning's file alone")
        plan = make_tune_plan(game, bot, settings, keys)
    elif isinstance(game, Game):
        raise UserError("tune: a game needs a bot and its settings")
    else:
        plan = read_tune_plan(Path(game), keys)
    view = tuning_view_for(progress)
    with view.running():
        return play_tuning(plan, out, view.show, view.confirming, view.preparing, hosts)
