"""The room Watch: the runs of the folder, each as it grows, and tournaments that are begun from a form."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from jubango.arena.serve.site import Room, Site
from jubango.arena.serve.watch.run_view import MOST_VIEWS, RunView, shown_boards, shown_hosts
from jubango.arena.serve.watch.watched_tuning import WatchedTuning
from jubango.arena.serve.web.posts import Posted, posted, text_of
from jubango.arena.serve.work.jobs import JOB_FILE
from jubango.arena.serve.work.worked import RunsRoom
from jubango.sgf_games.base.errors import UserError

RUN_SECONDS = 0.7  # at a run's boards
AGAIN_SECONDS = 1.0  # between two questions of a run's page
STATES = {"finished": "is complete", "interrupted": "has stopped", "running": "is being played"}
OF_RUNS = ("tournament", "match")
TUNING = "tuning"
View = TypeVar("View", RunView, WatchedTuning)


def room(site: Site) -> Room:
    """Watch, for a site."""
    own = _Watch(site)
    more = [
        Route("/watch/toml", posted(own.as_toml), methods=["POST"]), Route("/watch/new/{name:path}", own.more),
        Route("/watch/report/{name:path}", own.report),
    ]  # fmt: skip
    return own.room(*more, close=own.close)


class _Watch(RunsRoom):
    name, title, kinds, seconds = "watch", "Watch", (*OF_RUNS, TUNING), RUN_SECONDS

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._views: dict[str, RunView | WatchedTuning] = {}  # the last ones that were looked at
        self._lock = threading.Lock()

    def close(self) -> None:
        self._jobs.close()

    def _rows(self) -> list[dict[str, object]]:
        return self._listing.rows()

    # -- tournaments from a form -----------------------------------------------------------------

    async def as_toml(self, request: Request, data: Posted) -> Mapping[str, object]:
        from jubango.arena.serve.watch.starting import file_of_form

        return {"toml": await self._site.in_background(file_of_form, data, self._site.folder)}

    def _start(self, data: Posted) -> str:
        from jubango.arena.serve.watch.starting import check_file

        text = text_of(data, "toml", most=200_000)
        plan, files = check_file(text, self._site.folder), self._site.folder
        run = self._listing.place(plan.name)
        file, again = f"{run}.toml", self._is_before_its_first_game(run)
        if files.folder(run).path.exists() and (not again or self._jobs.is_running(run)):
            raise UserError(f'there is a run "{plan.name}" already; go on with it, or choose another name')
        if not again and files.has(file) and files.read_text(file) != text:
            raise UserError(f"{file}: is there already and says something else; choose another name")
        (files.path / self._listing.home).mkdir(exist_ok=True)
        files.write(file, text.encode())
        self._jobs.start(run, ["tournament", file, "--out", run])
        return run

    def _go_on(self, row: Mapping[str, object], data: Posted) -> None:
        from jubango.arena.runs.run_folder import PLAN_FILE
        from jubango.arena.serve.watch.starting import check_file, runs_engines
        from jubango.arena.tuning.tuner import TUNE_FILE

        run = str(row["name"])
        folder = self._site.folder.folder(run)
        if not folder.path.is_dir():
            raise UserError(f"{run}: is the folder that is served itself; in a terminal: {row['go_on']}")
        if self._is_before_its_first_game(run):
            check_file(self._site.folder.read_text(f"{run}.toml") or "", self._site.folder)
            self._jobs.start(run, ["tournament", f"{run}.toml", "--out", run])
            return
        if runs_engines(folder):
            raise UserError(f"{run}: engines are not started from the page; in a terminal: {row['go_on']}")
        word, file = ("tune", TUNE_FILE) if row["kind"] == TUNING else ("tournament", PLAN_FILE)
        self._jobs.start(run, [word, f"{run}/{file}", "--out", run])

    def _is_before_its_first_game(self, run: str) -> bool:
        """Has a page begun a tournament there, which was stopped before it had a file of its own?"""
        from jubango.arena.found_runs import is_run_folder

        folder = self._site.folder.folder(run)
        return folder.has(JOB_FILE) and not is_run_folder(folder.path)

    # -- a run -----------------------------------------------------------------------------------

    def _view(self, name: str, of: type[View], kinds: Sequence[str]) -> tuple[View, Mapping[str, object]]:
        """What is known of a run, which has to be of these ``kinds``, and its row. Raises UserError."""
        row = self._known(name)
        if row["state"] == "damaged" or row["kind"] not in kinds:
            raise UserError(str(row["why"] or f"{name}: is a {row['kind']}, which has no games to show"))
        with self._lock:
            kept = self._views.pop(name, None)
            view = self._views[name] = kept if isinstance(kept, of) else of(self._run_folder(name))
            for oldest in list(self._views)[:-MOST_VIEWS]:
                self._views.pop(oldest)
        return view, row

    def _games_of(self, name: str) -> tuple[RunView, Mapping[str, object]]:
        """A run, with what is new of it. Raises UserError."""
        view, row = self._view(name, RunView, OF_RUNS)
        view.look(f"{row['progress']}; it {STATES[str(row['state'])]}.")
        return view, row

    async def _run(self, request: Request) -> Response:
        from jubango.analysis.report.page import part

        name = request.path_params["name"]
        try:
            row = await self._site.in_background(self._known, name)
            if row["kind"] == TUNING:
                return self._site.page("watch", "watch_tuning", name=name, row=row)
            view, row = await self._site.in_background(self._games_of, name)
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)
        data = {**view.data(), "live": True, "more": f"/watch/new/{quote(name)}"}
        return self._site.page(
            "watch", "watch_run", title=view.title, summary=_markup(view.summary), data=data, name=name,
            games=part("games"), row=row,
        )  # fmt: skip

    async def more(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not (since.isascii() and since.isdigit() and len(since) < 10):
            return PlainTextResponse("since: a number\n", 400)
        try:
            view, row = await self._site.in_background(self._games_of, request.path_params["name"])
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)
        data = view.data(int(since))
        line = f"{row['progress']}; it {STATES[str(row['state'])]}."
        more = bool(data["games"]) or data["since"] != int(since)
        again = AGAIN_SECONDS if row["state"] == "running" else 5 * AGAIN_SECONDS
        return JSONResponse({**data, "line": line, "summary": view.summary if more else "", "again": again})

    def _live(self, name: str) -> Mapping[str, object]:
        row = self._known(name)
        playing = row["state"] == "running"
        folder = self._run_folder(name)
        hosts = shown_hosts(folder) if playing else []
        if row["kind"] == TUNING:
            if playing and not hosts:  # they may play the match in the end
                hosts = shown_hosts(folder.folder(f"confirm-{row['done']}"))
            return {"row": row, "hosts": hosts, "summary": self._view(name, WatchedTuning, [TUNING])[0].look()}
        boards = shown_boards(folder) if playing else []
        said = self._jobs.said(name).strip().splitlines()[-1:] if playing else []
        return {"row": row, "boards": boards, "hosts": hosts, "said": said[0] if said else ""}

    async def report(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            page = await self._site.in_background(self._report, name)
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)
        file = quote(f"{name.rpartition('/')[2]}.html", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{file}"}
        return Response(page, media_type="text/html", headers=headers)

    def _report(self, name: str) -> str:
        self._known(name)
        from jubango.arena.runs.run_folder import open_run

        return open_run(self._run_folder(name).path).report()


def _markup(text: str) -> str:
    from markupsafe import Markup

    return Markup(text)
