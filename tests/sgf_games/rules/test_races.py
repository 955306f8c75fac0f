"""Games for one as matches of two: each plays a game of his own, and the higher return wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.bots.learning.training_config import TrainingConfig
from jubango.sgf_games.rules.catalogue import CATALOGUE
from jubango.sgf_games.rules.race import Race, for_two


class Sum(jb.Game):
    """Take two of the numbers 0 to 3, in any order; their sum counts."""

    most: int = 6
    height, width, num_actions, max_plies = 1, 4, 4, 2
    num_players = 1

    def init(self):
        return jnp.zeros(4, bool)

    def step(self, state, action):
        return jnp.where(self.is_terminal(state), state, state.at[action].set(True))

    def legal_action_mask(self, state):
        return ~state & ~self.is_terminal(state)

    def current_player(self, state):
        return jnp.int32(0)

    def is_terminal(self, state):
        return state.sum() >= 2

    def returns(self, state):
        return jnp.where(self.is_terminal(state), 2 * (state @ jnp.arange(4.0)) / self.most - 1, 0.0)[None]

    def observe(self, state):
        return state.astype(jnp.float32).reshape(1, 4, 1)

    def stones(self, state):
        return np.asarray(state, np.int8)[None]


@dataclass(frozen=True)
class Crowd(Sum):
    name: ClassVar[str] = "crowd"
    num_players: ClassVar[int] = 3


@pytest.fixture(autouse=True)
def _known():
    jb.game("sum")(Sum)
    jb.game("crowd")(Crowd)
    yield
    del CATALOGUE["sum"], CATALOGUE["crowd"]


def test_the_rules_of_a_race():
    """One after the other, each from the first position, while the other one waits; what is returned is half of the
    difference."""
    race = jb.make_game("race:sum,most=5")
    assert race == for_two(jb.make_game("sum,most=5")) and jb.make_game(race.spec) == race
    assert for_two(race) is race
    state, seen, shown = race.init(), [], []
    for ply, action in enumerate((3, 4, 1, 2, 4, 3)):
        assert not race.is_terminal(state) and race.current_player(state) == ply % 2
        legal = [*(~race.own(state) & (action < 4)), action == 4]
        assert np.array_equal(race.legal_action_mask(state), legal)
        seen.append(race.observe(state)[0, 0, 1])
        state = race.step(state, action)
        shown.append(np.flatnonzero(race.stones(state)).tolist())
    assert shown == [[3], [3], [1, 3], [2], [2], [2, 3]]
    assert seen == pytest.approx([0, 0, 0, 0.6, 0, 0.6])
    assert race.is_terminal(state) and not race.legal_action_mask(state).any()
    assert race.returns(state) == pytest.approx([-0.2, 0.2])  # 4 of 5 against 5 of 5, from -1 to 1
    after = race.step(state, 0)
    assert all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True))


def test_a_match_goes_to_the_higher_score(tmp_path):
    """And is kept and read like any other: a game in which both do as well is a draw."""
    match = jb.match("uct-solver:simulations=64", "random", game="sum", games=6, out=tmp_path / "run")
    for game in match.games.itertuples():
        first, second = (
            sum("ABCD".index(move[0]) for move in game.moves.split()[k::2] if move != "wait") for k in (0, 1)
        )
        assert game.result[0] == ("0" if first == second else "B" if first > second else "W")
        assert (first if game.black.startswith("uct") else second) == 5
    own = match.moves[match.moves["move"] != "wait"]
    assert own.groupby(["game_id", "player"]).size().eq(2).all()
    assert own.loc[own["player"] == "random", "simulations"].isna().all()
    again = jb.open_run(tmp_path / "run")
    assert again.games["result"].tolist() == match.games["result"].tolist()
    assert jb.read_sgf(tmp_path / "run" / again.games["sgf"].iloc[0]).game == Race(jb.make_game("sum"))


def test_who_cannot_race():
    for make, message in (
        (lambda: jb.make_game("race:go:5"), "race: go:5,komi=7.5 has 2 players already"),
        (lambda: jb.match("random", "random", game="crowd"), "crowd has 3 players; matches are of two"),
        (lambda: jb.match("random", "random", game="sum", openings="random"), "openings: there are none for sum"),
        (lambda: TrainingConfig(games=("crowd",)).chosen(), "crowd has 3 players"),
    ):
        with pytest.raises(jb.UserError) as refused:
            make()
        assert message in str(refused.value)
    assert TrainingConfig(games=("sum",)).chosen()
