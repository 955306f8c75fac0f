"""Recorded games as they are learnt from: what is read of SGF, how it is replayed, labelled, held out and gone on with."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jubango.bots.learning import recorded_games, recorded_positions
from jubango.bots.learning.recorded_games import LeftOut, Place, RecordedGames, line_of, result_of
from jubango.bots.learning.recorded_positions import Replayed
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules
from jubango.sgf_games.sgf.sgf import parse_sgf

GO = make_game("go:5,komi=7.5")
# Black has the three columns on the left, White the two on the right; Black's stone at E3 is dead.
COUNTED = "(;GM[1]SZ[5]KM[0.5]RE[B+4.5];B[cc];W[dc];B[cb];W[db];B[ca];W[da];B[cd];W[dd];B[ce];W[de];B[ec]{})"
RESIGNED = "(;GM[1]SZ[5]KM[6.5]RE[W+R];B[cc];W[dc];B[bb];W[dd];B[cb];W[cd])"


def lines(text, games=(GO,)):
    return [line_of(sgf, games) for sgf in parse_sgf(text.encode(), "test")]


def replayed(text, game=GO):
    return Replayed(game, lines(text, (game,)))


def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(
    ("text", "said"),
    [("B+3.5", (1, 3.5)), ("W+12", (-1, -12)), ("w+r", (-1, None)), ("B+Resign", (1, None)), ("W+T", (-1, None)),
     ("B+", (1, None)), ("0", (0, 0)), ("Draw", (0, 0)), ("B+0", (0, 0)), ("W+0,5", (-1, -0.5))],
)  # fmt: skip
def test_a_result_is_read(text, said):
    result, margin = result_of(text)
    assert result == said[0]
    assert np.isnan(margin) if said[1] is None else margin == said[1]


@pytest.mark.parametrize("text", ["", "?", "Void", "B", "B+F", "Black wins", "B+x", "W+1e9", "B+99999"])
def test_a_game_without_a_result_is_left_out(text):
    with pytest.raises(LeftOut, match="no result"):
        result_of(text)


def test_who_has_counted_has_passed():
    """A counted game ends with two passes, in the file or not; one that was resigned does not."""
    for ending, passes in (("", 0), (";W[]", 1), (";W[];B[]", 2), (";W[tt];B[tt];W[tt]", 3)):
        (line,) = lines(COUNTED.format(ending))
        assert line.actions[-2:].tolist() == [25, 25]
        assert len(line.actions) == 11 + max(2, passes)
    (line,) = lines(RESIGNED)
    assert line.actions.tolist() == [12, 13, 6, 18, 7, 17]
    assert (line.komi, line.result, line.player, line.stones) == (6.5, -1, 0, None)


def test_every_position_is_the_one_that_the_rules_lead_to():
    found = replayed(COUNTED.format("") + RESIGNED)
    for line, states, length in zip(found.lines, found.states, found.lengths, strict=True):
        state = GO.with_komi(line.komi).init()
        assert length == len(line.actions)
        for ply, action in enumerate(line.actions):
            kept = GO.without_history(state)
            jax.tree.map(np.testing.assert_array_equal, kept, jax.tree.map(lambda x, i=ply: x[i], states))
            state = rules(GO).step(state, int(action))


def test_a_resigned_game_tells_moves_and_result():
    samples, games = replayed(RESIGNED).samples(100, rng(), [0])
    assert samples.number == games.plies == 6
    assert np.argmax(samples.policy, axis=1).tolist() == [12, 13, 6, 18, 7, 17]
    assert samples.result.tolist() == samples.value.tolist() == [-1, 1, -1, 1, -1, 1]
    assert not samples.counted.any()
    assert np.all(samples.state.komi == 6.5)


def test_where_the_count_agrees_ownership_and_margin_are_known(monkeypatch):
    """By our rules: Black has 15 points, White 10 with the dead stone's, komi 0.5: by 4.5. The komi varies, and with it
    margin and result."""
    monkeypatch.setattr(recorded_positions, "OTHER_KOMI", 0.5)
    found = replayed(COUNTED.format(""))
    samples, _ = found.samples(100, rng(), [0])
    assert samples.counted.all()
    black = np.where(samples.state.player == 0, 1, -1)
    owners = np.where(np.arange(25) % 5 < 3, 1, -1)
    np.testing.assert_array_equal(samples.owners, black[:, None] * owners)
    np.testing.assert_allclose(samples.margin * black, 5 - samples.state.komi)
    np.testing.assert_array_equal(samples.result, np.sign(samples.margin))
    assert len(set(samples.state.komi.tolist())) > 1
    assert 0.5 in samples.state.komi


def test_where_it_does_not_agree_the_stated_result_is_all_that_is_known():
    samples, _ = replayed(COUNTED.format("").replace("B+4.5", "W+20.5")).samples(100, rng(), [0])
    assert not samples.counted.any()
    assert np.all(samples.owners == 0)
    assert set(samples.state.komi.tolist()) == {0.5}
    np.testing.assert_array_equal(samples.result, np.where(samples.state.player == 0, -1, 1))


def test_handicap_stones_stand_at_the_beginning():
    text = "(;GM[1]SZ[9]HA[2]KM[0.5]RE[B+R]AB[cg][gc];W[ee];B[ec];W[dc];B[dd];W[cc])"
    game = make_game("go:9")
    (line,) = lines(text, (game,))
    assert line.player == 1
    assert np.argwhere(line.stones == 1).tolist() == [[2, 6], [6, 2]]
    found = Replayed(game, [line])
    samples, _ = found.samples(100, rng(), [0])
    assert samples.result.tolist() == [-1, 1, -1, 1, -1]
    assert int(samples.state.player[0]) == 1


def test_an_illegal_move_ends_what_is_learnt_from_a_game():
    found = replayed("(;GM[1]SZ[5]RE[B+4.5];B[aa];W[bb];B[cc];W[dd];B[ee];W[aa];B[ab])")
    assert (found.lengths, found.illegal) == ([5], 1)
    samples, _ = found.samples(100, rng(), [0])
    assert samples.number == 5
    assert not samples.counted.any()


@pytest.mark.parametrize(
    ("text", "why"),
    [("(;GM[1]SZ[9]RE[B+R];B[aa];W[bb];B[cc];W[dd];B[ee])", "another game or board"),
     ("(;GM[1]SZ[5]RE[B+R];B[aa];W[bb])", "fewer than 5 moves"),
     ("(;GM[1]SZ[5]RE[B+R];B[aa];B[bb];W[cc];B[dd];W[ee])", "moves out of turn"),
     ("(;GM[1]SZ[5];B[aa];W[bb];B[cc];W[dd];B[ee])", "no result"),
     ("(;GM[1]SZ[5]RE[B+R];B[aa];W[bb];B[cc];W[dd];AB[ee];B[ea])", "stones set up on the way")],
)  # fmt: skip
def test_what_is_left_out_and_why(text, why):
    with pytest.raises(LeftOut, match=why):
        lines(text)


def some_games(folder, number, start=0):
    folder.mkdir(exist_ok=True)
    for i in range(start, start + number):
        moves = np.random.default_rng(i).permutation(81)[:30]
        text = "".join(f";{'BW'[k % 2]}[{chr(97 + m % 9)}{chr(97 + m // 9)}]" for k, m in enumerate(moves))
        (folder / f"{i // 10}-{i}.sgf").write_text(f"(;GM[1]SZ[9]KM[7]RE[{'BW'[i % 2]}+R]{text})")
    return folder


def test_reading_goes_on_where_it_stopped(tmp_path):
    folder, game = some_games(tmp_path / "games", 30), make_game("go:9")
    (folder / "two.sgf").write_text((folder / "0-1.sgf").read_text() + (folder / "0-2.sgf").read_text())

    def all_at(size):
        place, found = Place(), []
        while place.epoch < 2:
            new, place = RecordedGames([str(folder)], [game], 5).take(place, size)  # anew each time
            found += [tuple(line.actions.tolist()) for line in new]
        return found

    once = all_at(7)
    assert once == all_at(100)
    assert len(once) == 64
    assert sorted(once[:32]) == sorted(once[32:])
    assert once[:32] != once[32:]  # another order


def test_reading_goes_on_where_there_are_fewer_files_than_before(tmp_path):
    folder, game = some_games(tmp_path / "games", 3), make_game("go:9")
    found, place = RecordedGames([str(folder)], [game], 5).take(Place(0, 29, 4), 100)
    assert len(found) == 3
    assert place == (1, 0, 0)


def test_one_game_in_thirty_two_is_held_out_whatever_file_it_is_in(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded_games, "HELD_OUT", 4)
    game = make_game("go:9")
    found, _ = RecordedGames([str(some_games(tmp_path / "a", 200))], [game], 1).take(Place(), 1000)
    held = {line.actions.tobytes() for line in found if line.held_out}
    assert 25 <= len(held) <= 75
    again, _ = RecordedGames([str(some_games(tmp_path / "b", 100, 50))], [game], 2).take(Place(), 1000)
    assert all((line.actions.tobytes() in held) == line.held_out for line in again)


def test_damaged_files_are_left_out_with_a_line(tmp_path):
    folder = some_games(tmp_path / "games", 12)
    (folder / "0-3.sgf").write_bytes(b"(;GM[1]SZ[9]RE[B+R];B[aa];W[b")
    (folder / "0-4.sgf").write_text("(;GM[1]SZ[99]RE[B+R];B[aa])")
    (folder / "0-5.sgf").write_text("(;GM[1]SZ[9];B[aa];W[bb];B[cc];W[dd];B[ee])")
    reading = RecordedGames([str(folder)], [make_game("go:9")], 1)
    found, place = reading.take(Place(), 100)
    assert (len(found), place) == (9, Place(1, 0, 0))
    assert len(reading.notes) == 2
    assert all("0-3.sgf" in note or "0-4.sgf" in note for note in reading.notes)
    assert reading.said_of_left_out == "1 game is left out: no result (1)"


def test_paths_without_records_are_refused(tmp_path):
    for path, why in ((tmp_path / "none.sgf", "cannot be read"), (tmp_path, "holds no .sgf files")):
        with pytest.raises(UserError, match=f"records: .*{why}"):
            RecordedGames([str(path)], [GO], 1)
