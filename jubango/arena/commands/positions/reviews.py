"""``jubango analyze --all``: games looked through, move by move."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jubango.arena.commands.positions.review_tables import print_review
from jubango.arena.commands.terminal.opening import open_page
from jubango.arena.commands.terminal.output import (
    Format,
    Halted,
    check_writable,
    loading,
    messages,
    print_frame,
    print_json,
    read_record,
    show_notes,
)
from jubango.arena.text.hosts import host_lines, hosts_said
from jubango.arena.text.preparing import AGAIN, Busy, Line, Preparing, shown

if TYPE_CHECKING:
    from jubango.analysis.reviews.engine_search import EngineSearcher
    from jubango.analysis.reviews.review import Review
    from jubango.analysis.reviews.review_file import Saved
    from jubango.analysis.reviews.review_moves import Thresholds
    from jubango.analysis.reviews.reviewing import GameUnderReview, ReviewProgress
    from jubango.arena.hosts.work.reviews import ReviewingHosts
    from jubango.bots.config import SearchConfig
    from jubango.sgf_games.sgf.positions import Record


@dataclass(frozen=True)
class Wanted:
    """What the command line says; None: nothing."""

    bot: str = ""
    simulations: int | None = None
    seconds: float | None = None
    seed: int | None = None
    repeats: int | None = None
    thresholds: str = "5,10,20"  # %
    sure: float = 99.5  # %
    save: bool = True
    sgf: Path | None = None
    png: Path | None = None
    html: Path | None = None
    csv: Path | None = None
    cluster: str = ""
    engine: str = ""  # a command
    shown: bool = False  # the page, in the browser

    @property
    def limits(self) -> dict[str, object]:
        """What is said of how long a search is, as keys of a bot."""
        limits = {"simulations": self.simulations, "seconds": self.seconds}
        return {key: value for key, value in limits.items() if value is not None}

    @property
    def names_a_search(self) -> bool:
        """Is anything said of who searches and how? Else what is saved is taken as it is."""
        return bool(self.bot or self.engine) or not self.simulations is self.seconds is self.seed is None


def review_files(files: Sequence[Path], number: int, wanted: Wanted, form: Format) -> None:
    """Review a game of each file, print what was found, and write what is asked for. Raises UserError, Halted."""
    with loading():
        import pandas as pd

        from jubango.analysis.positions.asked import limits_of
        from jubango.analysis.positions.position import searching_bot
        from jubango.analysis.reviews.review import reviews_frame
        from jubango.analysis.reviews.reviewing import AT_ONCE
        from jubango.analysis.tables.export import export_frame

    thresholds = _thresholds(wanted)
    if wanted.engine:  # what is wrong with them is said before anything else
        limits_of(wanted.limits)
    else:
        searching_bot(wanted.bot or "uct", **wanted.limits)
    files = _readable(files, number)
    targets = _targets(files, wanted)
    if wanted.save:
        _check_apart(files, number)
    documents, frames = [], []
    with _searching(wanted) as hosts, _engine(wanted) as engine:
        for first in range(0, len(files), AT_ONCE):
            group = files[first : first + AT_ONCE]
            which = f"games {first + 1} to {first + len(group)} of {len(files)}: " if len(files) > AT_ONCE else ""
            found = _reviews(group, number, wanted, thresholds, which, hosts, engine)
            for review, own in zip(found, targets[first:], strict=False):
                _write(review, own)
                if form is Format.table:
                    print_review(review)
                elif form is Format.json:
                    documents.append(review.document)
                if wanted.csv is not None or form not in (Format.table, Format.json):
                    frames.append(reviews_frame([review]))
    if wanted.shown:
        for own in targets:
            if own.html is not None:
                open_page(own.html)
    if wanted.csv is not None:
        export_frame(pd.concat(frames, ignore_index=True), wanted.csv)
    if form is Format.json:
        print_json(documents if len(files) > 1 else documents[0])
    elif form is not Format.table:
        print_frame(pd.concat(frames, ignore_index=True), form)


def _readable(files: Sequence[Path], number: int) -> Sequence[Path]:
    """Of several files those whose games can be replayed; the others are left out, which is said. Raises UserError if
    there are none, or no such file."""
    from jubango.sgf_games.base.errors import UserError
    from jubango.sgf_games.sgf.positions import read_sgf

    if len(files) == 1:
        return files
    kept, left_out = [], []
    with shown(messages(), Busy("replaying the games")):
        for path in files:
            try:
                read_sgf(path, number).at()
                kept.append(path)
            except UserError as error:
                if not path.exists():  # a slip of the pen, not a damaged game among good ones
                    raise
                left_out.append(error)
    if not kept:
        raise left_out[0]
    for why in left_out:
        messages().print(f"left out: {why}", style="yellow", soft_wrap=True)
    return kept


@contextmanager
def _searching(wanted: Wanted) -> Iterator[ReviewingHosts | None]:
    """The hosts that search, if there are any. Raises UserError."""
    if not wanted.cluster:
        yield None
        return
    from jubango.arena.tournament import reviewing_hosts

    with reviewing_hosts(wanted.cluster) as hosts:
        assert hosts is not None
        try:
            yield hosts
        finally:
            for note in hosts.notes:
                messages().print(note, style="yellow", soft_wrap=True)


@contextmanager
def _engine(wanted: Wanted) -> Iterator[EngineSearcher | None]:
    """The engine that searches in the place of a bot, if there is one. Raises UserError."""
    if not wanted.engine:
        yield None
        return
    from jubango.analysis.positions.asked import limits_of
    from jubango.analysis.reviews.engine_search import EngineSearcher
    from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine

    with shown(messages(), Busy("starting the engine")):
        engine = AnalysisEngine(wanted.engine)
    with engine:
        yield EngineSearcher(engine, limits_of(wanted.limits))
        for note in engine.notes:
            messages().print(note, style="yellow", soft_wrap=True)


def _reviews(
    files: Sequence[Path], number: int, wanted: Wanted, thresholds: Thresholds, which: str,
    hosts: ReviewingHosts | None, engine: EngineSearcher | None,
) -> list[Review]:  # fmt: skip
    """Those of a group of files. ``which`` they are, for who waits. Raises UserError, Halted, CannotGoOn."""
    from jubango.analysis.reviews.engine_search import EngineSearcher
    from jubango.analysis.reviews.reviewing import searched
    from jubango.sgf_games.base.errors import CannotGoOn

    cases, bots = [], []
    with shown(messages(), Busy(f"{which}replaying the games")):
        for path in files:
            case, bot = _case(path, number, wanted, engine)
            cases.append(case)
            bots.append(bot)
    for case, bot in zip(cases, bots, strict=True):
        if not (isinstance(bot, EngineSearcher) or case.subject.engine):
            show_notes(case.record.game, [bot])
    name = bots[0].engine.name if isinstance(bots[0], EngineSearcher) else bots[0].name
    preparing = Busy(f"{which}asking {name}") if engine else Preparing(f"{which}{cases[0].record.game.spec} for {name}")
    with shown(messages(), preparing, everywhere=True, patience=AGAIN) as line:
        try:
            searched(cases, bots, _Report(line, which, hosts), hosts.search if hosts else None)
        except KeyboardInterrupt:
            kept = "what was searched is kept, and the same command goes on" if wanted.save else "nothing was saved"
            raise Halted(kept) from None
        except CannotGoOn as error:
            if not (engine and wanted.save):
                raise
            raise CannotGoOn(f"{error}; what it has said is kept, and the same command goes on") from None
    return [case.review(thresholds) for case in cases]


class _Report:
    """Says on the waiting line how far the searches are, and below it what each host does."""

    def __init__(self, line: Line, which: str, hosts: ReviewingHosts | None = None) -> None:
        self.hosts = hosts
        if hosts is not None:
            line.below = lambda: host_lines(hosts.hosts)
        self.line, self.which, self.stage, self.began, self.first = line, which, "", 0.0, 0.0

    def __call__(self, progress: ReviewProgress) -> None:
        now = time.perf_counter()
        if progress.stage != self.stage:
            self.stage, self.began, self.first = progress.stage, now, progress.done
        what = "positions of the game" if self.stage == "positions" else "what the bot would have played"
        made = progress.done - self.first
        says = f"{self.which}searching {what}: {progress.done:.0f} of {progress.total}"
        if made > 0:
            left = (now - self.began) * (progress.total - progress.done) / made
            says += f", {left // 60:.0f}:{left % 60:02.0f} left"
        if self.hosts is not None:
            says += f", {hosts_said(self.hosts.hosts)}"
        self.line.says = says


def _thresholds(wanted: Wanted) -> Thresholds:
    from jubango.analysis.reviews.review_moves import Thresholds
    from jubango.sgf_games.base.errors import UserError

    try:
        inaccuracy, mistake, blunder = (float(part) / 100 for part in wanted.thresholds.split(","))
    except ValueError:
        raise UserError(
            f'--thresholds "{wanted.thresholds}": should be three losses in %, of an inaccuracy, a mistake and a '
            "blunder, like 5,10,20"
        ) from None
    thresholds = Thresholds(inaccuracy, mistake, blunder, wanted.sure / 100)
    thresholds.check()
    return thresholds


class _Targets(NamedTuple):
    """Where one game's review goes."""

    sgf: Path | None
    png: Path | None
    html: Path | None


def _targets(files: Sequence[Path], wanted: Wanted) -> list[_Targets]:
    """Of each file. Raises UserError where something cannot be written."""
    from jubango.analysis.positions.plot import check_format
    from jubango.analysis.tables.export import check_export

    kinds = [_outputs(getattr(wanted, kind), files, f".{kind}") for kind in _Targets._fields]
    targets = [_Targets(*own) for own in zip(*kinds, strict=True)]
    for own in targets:
        if own.png is not None:
            check_format(own.png)
    if wanted.csv is not None:
        check_export(wanted.csv)
    for output in filter(None, [*itertools.chain(*targets), wanted.csv]):
        check_writable(output)
    return targets


def _outputs(named: Path | None, files: Sequence[Path], suffix: str) -> Sequence[Path | None]:
    """Where something of each file goes: where the option says, of several files into the folder that it names. Raises
    UserError."""
    from jubango.sgf_games.base.errors import UserError

    if named is None or len(files) == 1:
        return [named] * len(files)
    names = [f"{path.stem}{suffix}" for path in files]
    if len(set(names)) < len(names):
        raise UserError(f"{named}: two of the files have one name; review them one after another")
    if named.suffix == suffix and not named.is_dir():
        raise UserError(f"{named}: should be a folder, as there are several files; leave out {suffix}")
    try:
        named.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{named}: should be a folder, as there are several files: {error.strerror}") from None
    return [named / name for name in names]


def _check_apart(files: Sequence[Path], number: int) -> None:
    """Raises UserError where the searches of two files would be kept in one."""
    from jubango.analysis.reviews.review_file import review_path
    from jubango.sgf_games.base.errors import UserError

    seen: dict[Path, Path] = {}
    for path in files:
        kept = review_path(path, number)
        other = seen.setdefault(kept.resolve(), path)
        if other is not path:
            raise UserError(
                f"{path}: its searches would be kept in {kept}, as those of {other} are; rename one, or give --no-save"
            )


def _write(review: Review, targets: _Targets) -> None:
    """Raises UserError."""
    from jubango.analysis.report.review_page import save_review

    if targets.sgf is not None:
        _written(review.save_sgf, targets.sgf)
    if targets.png is not None:
        _written(review.save_png, targets.png)
    if targets.html is not None:
        _written(functools.partial(save_review, review), targets.html)


def _written(write: Callable[[Path], None], path: Path) -> None:
    """Raises UserError."""
    from jubango.sgf_games.base.errors import UserError

    try:
        write(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be written: {error}") from None


def _case(
    path: Path, number: int, wanted: Wanted, engine: EngineSearcher | None
) -> tuple[GameUnderReview, SearchConfig | EngineSearcher]:
    """The game of a file, with what is saved of it, and who searches."""
    from jubango.analysis.reviews.review_file import load, review_path
    from jubango.analysis.reviews.reviewing import REPEATS, GameUnderReview, subject_by
    from jubango.sgf_games.base.errors import UserError
    from jubango.sgf_games.library.folder import own_file

    record = read_record(path, number)
    file = review_path(path, number)
    if wanted.save:
        try:
            own_file(file)  # which may have come with the game, from anybody
            check_writable(file)
        except UserError as error:
            raise UserError(f"{error}; --no-save keeps nothing") from None
    saved = load(file) if wanted.save else None
    mine = saved if saved and saved.is_of(record.sgf) and not wanted.names_a_search else None
    repeats = wanted.repeats or (mine.repeats if mine else REPEATS)
    searcher = engine or _bot(record, mine, wanted)
    if mine and mine.subject.engine:  # what it has said is taken as it is: no file is believed about commands
        case = GameUnderReview(record, mine.subject, repeats, file, mine)
        if case.missing:
            raise UserError(
                f"{file}: lacks some of what {mine.subject.bot} was to say; go on with its --engine, or give a --bot"
            )
        return case, searcher
    seed = mine.subject.seed if mine else 1 if wanted.seed is None else wanted.seed
    subject = subject_by(record, searcher, seed)
    if saved and saved.subject != subject:
        _say_why(file, saved, record, subject.bot)
    return GameUnderReview(record, subject, repeats, file if wanted.save else None, saved), searcher


def _bot(record: Record, mine: Saved | None, wanted: Wanted) -> SearchConfig:
    """The bot that searches, by default the one that has."""
    from jubango.analysis.positions.position import searching_bot
    from jubango.bots.composition import strongest

    known = mine.subject.bot if mine and not mine.subject.engine else ""
    return searching_bot(known or wanted.bot or strongest(record.game), **wanted.limits)


def _say_why(file: Path, saved: Saved, record: Record, bot: str) -> None:
    """Why what is saved is not taken."""
    why = "has another seed or another network"
    if not saved.is_of(record.sgf):
        why = "is of another game"
    elif saved.subject.bot != bot:
        why = f"is by {saved.subject.bot}"
    elif saved.subject.engine:
        why = "is by an engine with another command"
    messages().print(f"{file} {why}; it is searched again and replaced", style="yellow", soft_wrap=True)
