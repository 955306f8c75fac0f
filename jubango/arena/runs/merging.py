"""Folders of one plan's games put together into one: parts that were played on machines of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from jubango.arena.runs.machines import machines
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import RunFolder, plan_in
from jubango.arena.runs.same_run import difference
from jubango.arena.schedule.pairings import pairing
from jubango.arena.schedule.parts import check_parts
from jubango.arena.schedule.plan import Plan
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.reading import kept_games
from jubango.sgf_games.records.record import GameRecord, place_in_pairing

MERGED_AT_ONCE = 500  # games that are kept together


class Differing(NamedTuple):
    """A game that has not come out the same wherever it was played."""

    game_id: str
    folders: tuple[Path, ...]  # where it is, one for each way that it came out
    kept: bool  # it is in the merged run as its folder there has it, and stays so

    def __str__(self) -> str:
        others = f"{self.folders[0]} and otherwise in {', '.join(map(str, self.folders[1:]))}"
        return f"{printable(self.game_id)}: ended so in {others}; {'the first stays' if self.kept else 'not merged'}"


class Merged(NamedTuple):
    run: Run
    added: int  # games that the merged run did not have
    differing: list[Differing]


def merge_runs(
    folders: Sequence[Path | str], out: Path | str, on_progress: Callable[[int], None] = lambda games: None
) -> Merged:
    """Put the games of ``folders``, runs of one plan or parts of it, into the folder ``out``, each once by its id. What
    is there already stays; so a merge that was interrupted is done again, and parts that go on are merged again.

    Of a game that has not ended alike everywhere nothing is stored, unless ``out`` has it from before. ``on_progress``
    is called with the number of games added so far. Raises UserError before anything is stored, and CannotGoOn.
    """
    kept = RunFolder(out)
    parts = [Folder(folder) for folder in folders]
    if not parts:
        raise UserError("merge: name the folders of the parts")
    if here := next((part.path for part in parts if part.path.resolve() == kept.folder.resolve()), None):
        raise UserError(f"{here}: is what is merged and where to; name another --out folder")
    plan = _plan_of(parts, kept)
    with kept.claimed(plan):
        found, differing = _compared(plan, [Folder(kept.folder), *parts])
        kept.begin(plan, [line for part in parts for line in machines(part)])
        added = 0
        for place, part in enumerate(parts, 1):
            own = (game for game in kept_games(part) if found.get(game.game_id, (b"", 0))[1] == place)
            for games in _some(own, MERGED_AT_ONCE):
                kept.add(games)
                added += len(games)
                on_progress(added)
        finished = kept.finished()
        for part in parts:
            kept.under_way.add(part, finished)
        kept.under_way.keep()
        kept.notes = list(dict.fromkeys([*kept.notes, *kept.under_way.notes]))
        run = Run(plan, kept)
        kept.conclude(run)
    return Merged(run, added, differing)


def _plan_of(parts: Sequence[Folder], kept: RunFolder) -> Plan:
    """That of the folder where all is put, or else of the first part. Raises UserError if one of another is there."""
    where = kept.folder if kept.begun else parts[0].path
    plan = plan_in(where)
    if kept.begun and plan.part:
        raise UserError(f"{where}: is part {plan.part.spec} of a run; merge into another --out folder")
    plan = plan.whole
    try:
        check_parts(plan.format.kind, plan.sprt is not None)
    except UserError as error:
        raise UserError(f"{where}: cannot be merged: {error}") from None
    for part in parts:
        if was := difference(plan_in(part.path).whole, plan, plan.networks):
            raise UserError(f"{part.path}: is of another plan than {where}: was begun with {was}")
    return plan


def _compared(plan: Plan, folders: Sequence[Folder]) -> tuple[dict[str, tuple[bytes, int]], list[Differing]]:
    """(of every game by its id how it went, and the place of the first of the ``folders`` that has it; those that have
    not gone alike, which are left out there unless the first folder has them). Raises UserError for a game that is not
    the plan's."""
    found: dict[str, tuple[bytes, int]] = {}
    others: dict[str, dict[bytes, int]] = {}
    is_own = _membership(plan)
    for place, folder in enumerate(folders):
        for game in kept_games(folder):
            if not is_own(game):
                raise UserError(f"{folder.path}: game {printable(game.game_id)} is none of the plan's")
            own = _digest(game)
            before, first = found.setdefault(game.game_id, (own, place))
            if own != before:
                others.setdefault(game.game_id, {before: first}).setdefault(own, place)
    differing = []
    for game_id, places in sorted(others.items()):
        kept = found[game_id][1] == 0
        differing.append(Differing(game_id, tuple(folders[place].path for place in places.values()), kept))
        if not kept:
            del found[game_id]
    return found, differing


def _digest(game: GameRecord) -> bytes:
    """Of how it went: its moves and its result."""
    said = "\n".join((game.black, game.white, game.result, *game.moves))
    return hashlib.sha256(said.encode()).digest()[:16]


def _membership(plan: Plan) -> Callable[[GameRecord], bool]:
    """Is a game one of the plan's?"""
    wanted = plan.wanted({})

    def is_own(game: GameRecord) -> bool:
        task, (_, number) = plan.task_of(game.game_id), place_in_pairing(game.game_id) or ("", 0)
        if task is None or number >= wanted.get(pairing(task.black, task.white), 0):
            return False
        spec = plan.game_of(task.komi).spec
        return (game.game, game.black, game.white, game.seed) == (spec, task.black, task.white, task.seed)

    return is_own


def _some(games: Iterator[GameRecord], number: int) -> Iterator[list[GameRecord]]:
    """So many at a time."""
    while some := list(islice(games, number)):
        yield some
