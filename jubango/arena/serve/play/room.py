"""The room Play: games against anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from jubango.arena.serve.play.table import Table, Tables
from jubango.arena.serve.site import Room, Site
from jubango.arena.serve.web.posts import Answer, Posted, posted, text_of, truth_of, whole_of
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.arena.serve.play.game import BoardGame

_LONGEST_SGF = 2_000_000  # characters of a game that is gone on with


def room(site: Site) -> Room:
    """Play, for a site."""
    tables = Tables(site)

    async def page(request: Request) -> Response:
        return site.page("play", game=request.path_params.get("name", ""))

    async def choices(request: Request) -> Response:
        spec = request.query_params.get("game", "")
        try:
            return JSONResponse(await site.in_order(_choices, site, spec))
        except UserError as error:
            return JSONResponse({"error": str(error)}, 400)

    async def listed(request: Request) -> Response:
        return JSONResponse({"games": await site.in_background(tables.listed)})

    async def new(request: Request, data: Posted) -> Mapping[str, object]:
        table = await tables.new(lambda: _made(site, data))
        return {"id": table.name}

    routes = [
        Route("/play", page), Route("/play/choices", choices), Route("/play/list", listed),
        Route("/play/new", posted(new), methods=["POST"]), Route("/play/{name:str}", page),
        *tables.routes("play"),
    ]  # fmt: skip
    for name, act in _ACTS.items():
        routes.append(Route(f"/play/{{name}}/{name}", posted(_acting(tables, act)), methods=["POST"]))
    return Room("play", "Play", routes, tables.close)


Act = Callable[[Table, Posted], Callable[["BoardGame"], None] | None]


def _acting(tables: Tables, act: Act) -> Answer:
    async def answer(request: Request, data: Posted) -> Mapping[str, object]:
        table = await tables.get(request.path_params["name"])
        change = act(table, data)
        if change is not None:
            await table.change(change)
        elif request.url.path.endswith("/hint"):
            await table.hint()
        return {}

    return answer


def _move(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    text, ply = text_of(data, "move", most=20), whole_of(data, "ply", 0, 10**6)

    def move(game: BoardGame) -> None:
        if game.ply != ply:
            raise UserError("the game has gone on meanwhile")
        if game.turn_of is not None:
            raise UserError("it is not your turn")
        game.move(text)

    return move


def _seat(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    player, name = whole_of(data, "player", 0, 1), text_of(data, "name", most=500)

    def seat(game: BoardGame) -> None:
        from jubango.arena.serve.opponents import player_named

        game.seat(player, name, player_named(name, game.session.game, table.site.folder))

    return seat


def _resign(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    return lambda game: game.resign(game.mover if game.bots[game.mover] is None else 1 - game.mover)


def _hurry(table: Table, data: Posted) -> None:
    table.hurry()


def _pause(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    paused = truth_of(data, "paused")
    return lambda game: game.pause(paused)


def _mark(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    point = whole_of(data, "point", 0, 10**5)
    return lambda game: game.mark(point)


def _agree(table: Table, data: Posted) -> Callable[[BoardGame], None]:
    player = whole_of(data, "player", 0, 1)
    return lambda game: game.agree(player)


_ACTS: dict[str, Act] = {
    "move": _move, "seat": _seat, "resign": _resign, "hurry": _hurry, "pause": _pause, "mark": _mark, "agree": _agree,
    "undo": lambda table, data: lambda game: game.undo(), "resume": lambda table, data: lambda game: game.resume(),
    "hint": lambda table, data: None,
}  # fmt: skip


def _choices(site: Site, spec: str) -> dict[str, object]:
    from jubango.arena.serve.opponents import games, players
    from jubango.arena.serve.search.told import game_of

    found: dict[str, object] = {"games": games()}
    if spec:
        game = game_of(spec)
        found |= {"game": game.spec, "komi": game.komi_of() if game.has_komi else None, **players(game, site.folder)}
    return found


def _made(site: Site, data: Posted) -> BoardGame:
    """The game that a page has asked for. Raises UserError."""
    from jubango.arena.serve.opponents import player_named
    from jubango.arena.serve.play.game import BoardGame
    from jubango.arena.serve.search.told import game_of, taken
    from jubango.bots.gtp_server.session import Session
    from jubango.sgf_games.sgf.sgf import parse_sgf

    sgf = text_of(data, "sgf", "", _LONGEST_SGF)
    if sgf:
        game = parse_sgf(sgf.encode("utf-8", "replace"), "the SGF")[0]
        at = whole_of(data, "at", 0, 10**6, 10**6)
        session = taken(game, at + 1 if at < game.move_count else None)
    else:
        session = Session(game_of(text_of(data, "game", most=200)))
    names = [text_of(data, colour, most=500) for colour in ("black", "white")]
    bots = [player_named(name, session.game, site.folder) for name in names]
    return BoardGame(session, names, bots, text_of(data, "clock", "", 40))
