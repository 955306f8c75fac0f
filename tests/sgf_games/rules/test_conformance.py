"""What ``jb.check_game`` says of games that are wrong, one thing each."""

from __future__ import annotations

import re

import jax.numpy as jnp
import numpy as np
import pytest
from influence import Influence

import jubango as jb
from jubango.sgf_games.rules.lines.mnk import Mnk

PROPERTIES = {"pass_action", "max_plies", "spec", "compiled_as", "symmetries", "num_actions"}


def wrong(base=Influence, **methods):
    """A game of 3x3 with these methods in place of its own."""
    made = {name: property(act) if name in PROPERTIES else act for name, act in methods.items()}
    return type("Wrong", (base,), {"name": "wrong", **made})(3, 3)


def own(game):
    return Influence(game.width, game.height, game.komi)


def by_chance(game, state, action):
    noise = np.random.default_rng().integers(1, 2**30)
    return own(game).step(state, action)._replace(ply=state.ply + int(noise))


def by_the_clock(game, state):
    seen = own(game).observe(state)
    return seen + np.random.default_rng().random(seen.shape, np.float32)


def other_stones(game, state, action):
    after = own(game).step(state, action)
    return after._replace(signs=jnp.where(state.signs == 0, -after.signs, after.signs))


# What is wrong with the game, and what is said of it.
SHAPES = {
    "a mask of points alone": ({"legal_action_mask": lambda game, state: state.signs.ravel() == 0}, "Wrong.legal_action_mask: returns bool[9]; expected bool[10]"),
    "no planes": ({"observe": lambda game, state: state.signs.astype(jnp.float32)}, "Wrong.observe: returns float32[3,3]; expected float32[3,3,C]"),
    "turned planes": ({"observe": lambda game, state: jnp.zeros((2, 3, 3))}, "Wrong.observe: returns float32[2,3,3]; expected float32[3,3,C]"),
    "one return": ({"returns": lambda game, state: jnp.float32(0)}, "Wrong.returns: returns float32[]; expected float32[2]"),
    "another type of player": ({"step": lambda game, state, action: own(game).step(state, action)._replace(player=jnp.float32(1))}, "Wrong.step: returns another kind of state: its .player is float32[], that of init() is int32[]"),
    "a plain if": ({"step": lambda game, state, action: state if state.passes > 1 else own(game).step(state, action)}, "Wrong.step: raises TracerBoolConversionError"),
    "two moves with one name": ({"action_text": lambda game, action: "A1" if action < 2 else own(game).action_text(action)}, 'Wrong.parse_action: "A1" is action 6; action_text says it is 0'),
    "names that cannot be told apart": ({"action_text": lambda game, action: f"{action // 2}", "parse_action": lambda game, text: 2 * int(text)}, 'Wrong.action_text: actions 0 and 1 are both "0"'),
    "two words": ({"action_text": lambda game, action: f"to {action}"}, "Wrong.action_text: action 0 is 'to 0'; expected one word: records put blanks between"),
    "a pass that is none": ({"pass_action": lambda game: 10}, "Wrong.pass_action: is 10; expected an action below 10, or -1"),
    "no whole number": ({"max_plies": lambda game: 27.0}, "Wrong.max_plies: is 27.0; expected a whole number"),
    "no permutation": ({"symmetries": lambda game: (np.zeros((1, 9), int), np.arange(10)[None])}, "Wrong.symmetries: number 0 does not take every one of the points once"),
    "another game's spec": ({"spec": lambda game: "influence:4"}, "Wrong.spec: make_game('influence:4') is another game"),
}  # fmt: skip
PLAY = {
    "a result before the end": ({"returns": lambda game, state: jnp.array([1.0, -1.0])}, r"Wrong.returns: is \[1.0, -1.0\]; expected zeros before the end; before the first move"),
    "no sum of zero": ({"returns": lambda game, state: jnp.where(game.is_terminal(state), 1.0, 0.0) * jnp.ones(2)}, r"Wrong.returns: is \[1.0, 1.0\]; expected two numbers whose sum is 0; after .* pass pass"),
    "large returns": ({"returns": lambda game, state: 3 * own(game).returns(state)}, r"Wrong.returns: is .*; expected numbers from -1 to 1; after .* pass pass"),
    "moves after the end": ({"legal_action_mask": lambda game, state: jnp.ones(10, bool)}, r"Wrong.legal_action_mask: (has legal actions; expected none|.* is legal; expected no move onto a stone)"),
    "no moves, no end": ({"legal_action_mask": lambda game, state: own(game).legal_action_mask(state) & (state.ply < 4)}, "Wrong.legal_action_mask: has no legal action; expected one, or a pass, before the end; after( [A-C][1-3]| pass){4}$"),
    "a third player": ({"current_player": lambda game, state: jnp.where(state.ply < 2, state.player, 2)}, "Wrong.current_player: is 2; expected 0 to 1; after( [A-C][1-3]| pass){2}$"),
    "White first": ({"current_player": lambda game, state: 1 - state.player}, "Wrong.current_player: is 1; expected 0, the player who moves first"),
    "the other's stones": ({"step": other_stones}, r"Wrong.step: [A-C][1-3] of player 0 puts a stone of player 1; expected one of their own; before the first move"),
    "chance": ({"step": by_chance}, "Wrong.step: .* leads elsewhere when it is made again; expected the same state"),
    "an end that is none": ({"step": lambda game, state, action: own(game).step(state, action)._replace(ply=state.ply + 1)}, "Wrong.step: .* changes a state that is terminal"),
    "too short": ({"max_plies": lambda game: 2, "is_terminal": lambda game, state: state.ply >= 5}, "Wrong.is_terminal: is false; expected an end after max_plies=2"),
    "one key for all": ({"transposition_key": lambda game, state: jnp.zeros(2, jnp.uint32)}, "Wrong.transposition_key: is that of a position with other stones"),
    "another point": ({"last_point": lambda game, state, action: (0, 0)}, r"Wrong.last_point: .* lies on \(0, 0\); action_point says on"),
    "stones in a row": ({"stones": lambda game, state: np.zeros(9, np.int8)}, r"Wrong.stones: is int8\[9\] from 0 to 0; expected \[H, W\] of 0, 1 and 2"),
    "set up for Black alone": ({"set_up": lambda game, stones, player: own(game).set_up(stones, 0)}, "Wrong.set_up: player 0 is to move; expected player 1, as asked"),
    "nothing set up": ({"set_up": lambda game, stones, player: own(game).set_up(0 * stones, player)}, "Wrong.set_up: leads to other stones"),
    "who has won": ({"margin": lambda game, state: -own(game).margin(state), "returns": lambda game, state: own(game).returns(state)}, "Wrong.margin: is .*, and returns is .*; expected the same winner"),
    "the other's points": ({"owners": lambda game, state: -own(game).owners(state), "margin": lambda game, state: own(game).margin(state)}, r"Wrong.owners: names the other player: .* points by owners, .* by margin without komi; .*after "),
    "no points": ({"margin": lambda game, state: own(game).margin(state) / 50, "returns": lambda game, state: own(game).returns(state)}, "Wrong.margin: is on another scale than points"),
    "far too many points": ({"margin": lambda game, state: own(game).margin(state) * 50, "returns": lambda game, state: own(game).returns(state)}, "Wrong.margin: is on another scale than points"),
    "a hook that raises": ({"why_illegal": lambda game, state, point: {}[point]}, "Wrong.why_illegal: raises KeyError"),
    "a hook that raises at the end": ({"resumed": lambda game, state, passes=0: state._replace(passes=state.passes // (1 if own(game).legal_action_mask(state).any() else own(game).nothing))}, "Wrong.resumed: raises AttributeError"),
    "no words": ({"end_reason": lambda game, drawn: None}, "Wrong.end_reason: is None; expected a word"),
    "points beside the board": ({"star_points": [(3, 0)]}, r"Wrong.star_points: is \[\(3, 0\)\]; expected points"),
    "stones that are no mask": ({"dead_stones": lambda game, state: np.zeros((3, 3), int)}, r"Wrong.dead_stones: is int64\[3,3\]; expected bool\[H,W\]"),
    "nothing goes on": ({"resumed": lambda game, state, passes=0: None}, "Wrong.resumed: is None; expected a state"),
    "one player alone": ({"current_player": lambda game, state: 0 * state.player, "step": lambda game, state, action: own(game).step(state._replace(player=0 * state.player), action)}, "Wrong.(current_player: is 0 in every position|set_up: player 0 is to move)"),
    "planes by the clock": ({"observe": by_the_clock}, "Wrong.observe: is another (when it is asked again|of the state without_history)"),
    "planes that are no numbers": ({"observe": lambda game, state: own(game).observe(state) + jnp.log(state.ply - 1.0)}, "Wrong.observe: has numbers that are not finite; before the first move"),
    "planes of what nodes forget": ({"without_history": lambda game, state: state._replace(ply=0 * state.ply), "observe": lambda game, state: own(game).observe(state) + state.ply}, "Wrong.observe: is another of the state without_history, which is all that a search keeps of a position; after"),
    "too sure": ({"heuristic": lambda game, state: own(game).margin(state)}, "Wrong.heuristic: is .*; expected a number from -1 to 1"),
    "turned another way": ({"symmetries": lambda game: (np.stack([np.arange(9), np.arange(9)[::-1]]), np.stack([np.arange(10)] * 2))}, "Wrong.symmetries: number 1 leads to another game; expected the same; after"),
    "no komi": ({"priced": lambda game, state: state}, "Wrong.priced: does not give the state this game's komi"),
}  # fmt: skip


@pytest.mark.parametrize("what", SHAPES)
def test_what_is_wrong_without_a_move(what):
    methods, said = SHAPES[what]
    with pytest.raises(jb.UserError, match=re.escape(said)) as error:
        jb.check_game(wrong(**methods))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("what", PLAY)
def test_what_is_wrong_in_play(what):
    methods, said = PLAY[what]
    with pytest.raises(jb.UserError, match=said) as error:
        jb.check_game(wrong(**methods), games=4)
    assert "\n" not in str(error.value)


def test_numbers_that_no_game_has():
    with pytest.raises(jb.UserError, match=re.escape("Wrong.__hash__: raises TypeError: unhashable")):
        jb.check_game(wrong(__hash__=None))


def test_playouts_that_depend_on_their_place():
    def playout(game, states, seeds):
        first = jnp.where(jnp.arange(len(seeds)) == 0, 1.0, -1.0)
        return jnp.stack([first, -first])

    with pytest.raises(jb.UserError, match=r"Wrong.random_playout: depends on the place in the batch"):
        jb.check_game(wrong(Mnk, spec=lambda game: "wrong", random_playout=playout), games=4)


def test_a_game_of_ones_own_passes():
    jb.check_game("influence:3x2,komi=1.5")


def test_ends_of_games_that_last_longer_are_looked_into():
    methods, said = PLAY["who has won"]
    with pytest.raises(jb.UserError, match=said):
        jb.check_game(wrong(**methods), games=4, moves=1)
