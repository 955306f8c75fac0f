"""The room Analyse: positions and games looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from jubango.arena.serve.analyse.desk import Desk, Desks
from jubango.arena.serve.site import Room, Site
from jubango.arena.serve.web.posts import Answer, Posted, posted, text_of, truth_of, whole_of
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.arena.serve.analyse.board import AnalysedGame

_LONGEST_SGF = 2_000_000  # characters
# A page from a file, which may be a stranger's: it runs apart from the pages of this server.
SANDBOX = "sandbox allow-scripts; frame-ancestors 'none'"


def room(site: Site) -> Room:
    """Analyse, for a site."""
    desks = Desks(site)

    async def page(request: Request) -> Response:
        return site.page("analyse", analysis=request.path_params.get("name", ""))

    async def listed(request: Request) -> Response:
        return JSONResponse({"analyses": await site.in_background(desks.listed)})

    async def new(request: Request, data: Posted) -> Mapping[str, object]:
        return {"id": (await desks.new(lambda: _made(site, data))).name}

    async def reviewed(request: Request) -> Response:
        try:
            found = await site.in_background(desks.file, request.path_params["name"], ".html")
        except UserError:
            found = None
        if found is None:
            return PlainTextResponse("there is no review here yet\n", 404)
        return HTMLResponse(found, headers={"Content-Security-Policy": SANDBOX})

    routes = [
        Route("/analyse", page), Route("/analyse/list", listed), Route("/analyse/new", posted(new), methods=["POST"]),
        Route("/analyse/{name:str}", page), *desks.routes("analyse"),
        Route("/analyse/{name}/review.html", reviewed),
    ]  # fmt: skip
    for name, act in _ACTS.items():
        routes.append(Route(f"/analyse/{{name}}/{name}", posted(_acting(desks, act)), methods=["POST"]))

    async def attempt(request: Request, data: Posted) -> Mapping[str, object]:
        desk = await desks.get(request.path_params["name"])
        await desk.attempt(whole_of(data, "number", 1, 10**5), text_of(data, "move", most=20))
        return {}

    routes.append(Route("/analyse/{name}/try", posted(attempt), methods=["POST"]))
    return Room("analyse", "Analyse", routes, desks.close)


Act = Callable[[Desk, Posted], Callable[["AnalysedGame"], None]]


def _acting(desks: Desks, act: Act) -> Answer:
    async def answer(request: Request, data: Posted) -> Mapping[str, object]:
        desk = await desks.get(request.path_params["name"])
        await desk.change(act(desk, data))
        return {}

    return answer


def _go(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    at = whole_of(data, "at", 0, 10**6)
    return lambda board: board.go(at)


def _move(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    text = text_of(data, "move", most=20)
    return lambda board: board.move(text)


def _who(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    name = text_of(data, "name", most=500)

    def choose(board: AnalysedGame) -> None:
        from jubango.arena.serve.opponents import searcher_named

        searcher_named(name, board.main.game, desk.site.folder)
        board.who = name

    return choose


def _run(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    running = truth_of(data, "running")

    def run(board: AnalysedGame) -> None:
        board.running = running

    return run


def _review(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    wanted = truth_of(data, "wanted")

    def review(board: AnalysedGame) -> None:
        if wanted and not board.main.played:
            raise UserError("there is no move to review")
        board.reviewing = wanted

    return review


def _set_up(desk: Desk, data: Posted) -> Callable[[AnalysedGame], None]:
    sides, player = [data.get("black"), data.get("white")], whole_of(data, "player", 0, 1)
    listed = [[str(text)[:4] for text in one] if isinstance(one, list) and len(one) < 2000 else [] for one in sides]
    return lambda board: board.set_up(listed[0], listed[1], player)


_ACTS: dict[str, Act] = {
    "go": _go, "move": _move, "back": lambda desk, data: lambda board: board.back(), "who": _who, "run": _run,
    "review": _review, "setup": _set_up,
}  # fmt: skip


def _made(site: Site, data: Posted) -> AnalysedGame:
    """What a page wants to look at: a text of SGF, a game of the room Play, an empty board. Raises UserError."""
    from jubango.arena.serve.analyse.board import AnalysedGame, game_from
    from jubango.arena.serve.search.told import game_of
    from jubango.bots.gtp_server.session import Session

    played = text_of(data, "play", "", 20)
    if played:
        sgf = site.folder.read_text(f"games/{played}.sgf", _LONGEST_SGF) if played.isalnum() else None
        if sgf is None:
            raise UserError("there is no such game here")
        return game_from(sgf)
    sgf = text_of(data, "sgf", "", _LONGEST_SGF)
    return game_from(sgf) if sgf.strip() else AnalysedGame(Session(game_of(text_of(data, "game", most=200))))
