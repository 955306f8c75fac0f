"""The room Train: a game, some minutes, one button; and how each training goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from jubango.arena.serve.site import Room, Site
from jubango.arena.serve.web.posts import Posted, number_of, text_of
from jubango.arena.serve.work.worked import RunsRoom
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.arena.serve.train.reading import TrainingFolder

TRAINING_SECONDS = 1.0  # between two looks at a training
LONGEST_TRAINING = 100_000.0  # minutes
LEAST_EVERY, MOST_EVERY = 0.1, 10.0  # minutes between two measurements that nobody has chosen
MEASURED_IN = 8  # of a training's minutes, then
MEASURED_GAMES = 32


def room(site: Site) -> Room:
    """Train, for a site."""
    return _Train(site).room()


class _Train(RunsRoom):
    name, title, kinds, seconds = "train", "Train", ("training",), TRAINING_SECONDS

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._folders: dict[str, TrainingFolder] = {}

    def _start(self, data: Posted) -> str:
        from jubango.sgf_games.rules.catalogue import make_game
        from jubango.sgf_games.rules.race import for_two

        minutes = number_of(data, "minutes", LEAST_EVERY, LONGEST_TRAINING)
        game = for_two(make_game(text_of(data, "game", most=200).strip()))
        stem = "train-" + re.sub("[^a-z0-9_-]+", "-", game.spec.partition(",")[0].lower()).strip("-")
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 10_000))
        run = next(
            place for name in names if not self._site.folder.folder(place := self._listing.place(name)).path.exists()
        )
        every = min(MOST_EVERY, max(LEAST_EVERY, round(minutes / MEASURED_IN, 2)))
        limits = ["--minutes", f"{minutes:.12g}", "--measure-minutes", f"{every:g}"]
        self._jobs.start(
            run, ["train", "--game", game.spec, "--out", run, *limits, "--measure-games", str(MEASURED_GAMES)]
        )
        return run

    def _go_on(self, row: Mapping[str, object], data: Posted) -> None:
        """As it was begun; "more": minutes from now on, in the place of those that were asked for."""
        from jubango.arena.found_runs import games_of_training
        from jubango.arena.training.sitting import read_sitting

        run, more = str(row["name"]), number_of(data, "more", 0, LONGEST_TRAINING, 0)
        folder = self._site.folder.folder(run)
        sitting = read_sitting(folder)
        if sitting and more:
            sitting = sitting.model_copy(update={"minutes": round(sitting.seconds / 60 + more, 3), "games": None})
        options = sitting.options if sitting else ["--minutes", f"{more or MOST_EVERY:g}"]
        games = [word for game in games_of_training(folder) for word in ("--game", game)]
        self._jobs.start(run, ["train", *games, "--out", run, *options])

    # -- a training ------------------------------------------------------------------------------

    async def _run(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            row, game = await self._site.in_background(self._opened, name)
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)
        return self._site.page("train", "train_run", name=name, row=row, data={"name": name, "game": game})

    def _opened(self, name: str) -> tuple[Mapping[str, object], Mapping[str, object] | None]:
        """The row of a training and its board, which it has from its first moment on; None before that."""
        try:
            return self._known(name), self._folder_of(name).game()
        except UserError:
            if not self._jobs.is_begun(name):
                raise
            return {"name": name, "kind": "training", "state": "running"}, None

    def _folder_of(self, name: str) -> TrainingFolder:
        from jubango.arena.serve.train.reading import TrainingFolder

        if name not in self._folders:
            self._folders[name] = TrainingFolder(self._run_folder(name))
        return self._folders[name]

    def _live(self, name: str) -> Mapping[str, object]:
        said = [line for line in self._jobs.said(name).splitlines() if line.strip()][-1:]
        last = said[0].removeprefix("jubango: ") if said else ""
        try:
            row: Mapping[str, object] = self._known(name)
            own = self._folder_of(name)
            return {"row": row, "said": last, "game": own.game(), **own.look()}
        except UserError:
            if not self._jobs.is_begun(name):
                raise
            state = "running" if self._jobs.is_running(name) else "interrupted"
            row = {"name": name, "state": state, "ours": self._jobs.is_ours(name), "failed": self._jobs.failed(name)}
            return {"row": row, "said": last, "game": None, "sitting": None}
