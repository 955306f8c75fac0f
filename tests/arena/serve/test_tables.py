"""Games at the tables, without a browser: clocks, answers that come late, files of old games."""

from __future__ import annotations

import asyncio
import json

import pytest

from jubango.arena.serve.analyse.board import AnalysedGame
from jubango.arena.serve.analyse.desk import Desks
from jubango.arena.serve.play.game import COUNT, OVER, PLAY, BoardGame
from jubango.arena.serve.play.table import Tables
from jubango.arena.serve.search.moves import MoveWork, Players, ReadyWork
from jubango.arena.serve.search.thinker import Thinker
from jubango.arena.serve.search.told import game_of
from jubango.arena.serve.site import Site
from jubango.bots.config import RandomConfig, bot_from_spec
from jubango.bots.gtp_server.session import Session
from jubango.sgf_games.library.folder import Folder


def game(spec="tic_tac_toe", clock="", bots=(None, None)):
    return BoardGame(Session(game_of(spec)), ["human" if bot is None else "random" for bot in bots], bots, clock)


def played_out(one):
    one.move("pass")
    one.move("pass")
    assert one.phase == COUNT
    return one


def test_a_persons_flag_falls_though_nobody_asks(tmp_path):
    async def lost():
        site = Site(Folder(tmp_path))
        table = await Tables(site).new(lambda: game(clock="0.3", bots=(None, RandomConfig(name="random"))))
        for _ in range(300):
            await asyncio.sleep(0.1)
            if table.shown["phase"] == OVER:
                break
        await site.end()
        return table

    table = asyncio.run(lost())
    assert (table.shown["phase"], table.shown["result"], table.shown["reason"]) == (OVER, "W+T", "time")
    assert json.loads((tmp_path / "games" / f"{table.name}.json").read_text())["result"] == "W+T"


def test_an_answer_to_an_earlier_position_moves_nothing(tmp_path):
    async def late():
        site = Site(Folder(tmp_path))
        table = await Tables(site).new(lambda: game(bots=(RandomConfig(name="random"), None)))
        asked_for = table._order
        await table.change(lambda one: one.seat(0, "random", RandomConfig(name="random")), ask=False)
        table._heard({"kind": "done", "event": "", "move": "b2"}, asked_for)
        await asyncio.sleep(0.2)
        await site.end()
        return table.game.ply

    assert asyncio.run(late()) == 0


def test_a_player_that_is_gone_is_a_person(tmp_path):
    async def opened():
        site = Site(Folder(tmp_path))
        table = await Tables(site).new(game)
        file = tmp_path / "games" / f"{table.name}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "players": ["human", "gone"]}))
        tables = Tables(site)
        one, other = await asyncio.gather(tables.get(table.name), tables.get(table.name))
        await site.end()
        return one, other

    one, other = asyncio.run(opened())
    assert one is other and one.game.bots == [None, None]


def test_a_pause_in_byoyomi_is_kept():
    one = game(clock="1+3x10")
    one._turn_began -= 5
    one.pause(True)
    one.pause(True)
    assert one.clocks[0].main == pytest.approx(-4, abs=0.5)
    again = BoardGame.of(one.saved(), one.bots)
    assert again.clocks[0].main == one.clocks[0].main and again.clocks[0].periods == 3


def test_a_bot_that_sits_down_while_points_are_counted_agrees():
    one = played_out(game("go:5"))
    bot = RandomConfig(name="random")
    one.seat(0, "random", bot)
    assert one.agreed == [True, False] and one.phase == COUNT
    one.seat(1, "random", bot)
    assert one.phase == OVER


def test_play_that_goes_on_is_a_persons():
    one = played_out(game("go:5", bots=(None, RandomConfig(name="random"))))
    one.resume()
    assert (one.phase, one.mover, one.ply) == (PLAY, 0, 0) or one.turn_of is None


def test_who_fails_to_hear_ends_no_search():
    thinker, heard = Thinker(), []
    thinker._heard = {1: lambda said: {}["refused"], 2: heard.append}
    thinker._hear({"id": 1, "kind": "done"})
    thinker._hear({"id": 2, "kind": "done"})
    assert len(heard) == 1


@pytest.mark.full
def test_bots_play_each_other_while_somebody_looks(tmp_path):
    """Move by move to the end, as the file has it; and not a move while nobody looks."""

    async def played():
        site = Site(Folder(tmp_path))
        bots = tuple(RandomConfig(name=name) for name in "ab")
        table = await Tables(site).new(lambda: game(bots=bots))
        table.go_on()
        await asyncio.sleep(0.5)
        alone, stream, plies = table.game.ply, table.answer(), []
        reader = stream._feed._join()
        while table.game.phase == PLAY:
            plies += [table.game.ply] if table.game.ply not in plies else []
            await asyncio.sleep(0.01)
        stream._feed._leave(reader)
        await site.end()
        return alone, plies, table

    alone, plies, table = asyncio.run(asyncio.wait_for(played(), 200))
    assert alone == 0
    assert plies[: table.game.ply] == list(range(table.game.ply)), "each was to be seen"
    kept = json.loads((tmp_path / "games" / f"{table.name}.json").read_text())
    assert (kept["phase"], len(kept["moves"])) == (OVER, table.game.ply)


def test_a_bot_is_made_ready_while_a_person_thinks(tmp_path):
    """Once for each that sits down; its move is then its player's."""
    orders = []
    bot = bot_from_spec("uct:simulations=8")

    async def ordered():
        site = Site(Folder(tmp_path))
        begin = site.thinker.begin
        site.thinker.begin = lambda order, heard: orders.append(order) or begin(order, lambda said: None)
        table = await Tables(site).new(lambda: game(bots=(None, bot)))
        for _ in range(2):
            table.go_on(asked=True)
        await table.change(lambda one: one.seat(1, "random", RandomConfig(name="random")))
        await table.change(lambda one: one.seat(1, "uct", bot))
        await table.change(lambda one: one.move("b2"))
        await site.end()

    asyncio.run(ordered())
    assert [(order["work"], order["bot"]["use"]) for order in orders] == [
        ("ready", "uct"), ("ready", "random"), ("move", "uct"),
    ]  # fmt: skip
    players = Players()
    assert ReadyWork(orders[0], players).advance() == {"kind": "done"}
    (ready,) = players._kept.values()
    work, answer = MoveWork(orders[-1], lambda said: None, players), None
    while answer is None:
        answer = work.advance()
        assert work._player in (ready, None)
    assert answer["move"] and [*players._kept.values()] == [ready]
    players.close()


def test_what_two_ask_for_at_once_is_loaded_once(tmp_path):
    async def opened():
        site = Site(Folder(tmp_path))
        name = (await Tables(site).new(game)).name
        made = (await Desks(site).new(lambda: AnalysedGame(Session(game_of("tic_tac_toe"))))).name
        for kept, own in ((Tables(site), name), (Desks(site), made)):
            loads, load = [], kept._load
            kept._load = lambda one, load=load, loads=loads: loads.append(one) or load(one)
            first, *others = await asyncio.gather(*(kept.get(own) for _ in range(5)))
            assert loads == [own] and all(one is first for one in others)
        await site.end()

    asyncio.run(opened())


def test_what_is_wanted_stays_open(tmp_path, monkeypatch):
    """Things that nobody looks at leave memory, the oldest first, and come back from their files."""
    monkeypatch.setattr("jubango.arena.serve.kept._MOST_IDLE", 2)

    async def opened():
        site = Site(Folder(tmp_path))
        tables = Tables(site)
        first = await tables.new(game)
        reader = first.feed._join()
        others = [await tables.new(game) for _ in range(5)]
        open_now = list(tables._open)
        again = await tables.get(others[0].name)
        first.feed._leave(reader)
        await site.end()
        return first, others, open_now, again

    first, others, open_now, again = asyncio.run(opened())
    assert first.name in open_now and others[-1].name in open_now
    assert others[0].name not in open_now
    assert again is not others[0] and again.name == others[0].name
