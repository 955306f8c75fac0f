"""The suite that a game passes: what everything around the rules relies on, checked in random games."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import CATALOGUE, as_game, make_game
from jubango.sgf_games.rules.compiled import initial_states
from jubango.sgf_games.rules.conformance.errors import differs, kind_of, made, wrong
from jubango.sgf_games.rules.conformance.random_games import RandomGames, check_turned_games
from jubango.sgf_games.rules.game import Game


def check_game(game: Game | str, games: int = 16, moves: int = 60, seed: int = 0) -> None:
    """Nothing, if ``game`` keeps what searches, records, pages and GTP rely on; else raises UserError.

    The error is of the first thing that is wrong. It names the method, the moves that led to the position, what came
    there and what was expected. All games of the package pass. What no check can know is whether the rules are those
    you mean.

    game: a game or its spec string.
    games: random games, side by side.
    moves: how many moves of each are looked at; all are played to their end.
    seed: of the random moves.

    Raises UserError for the first thing that is wrong.
    """
    game = as_game(game)
    _check_parameters(game)
    _check_shapes(game)
    _check_texts(game)
    _check_symmetries(game)
    RandomGames(game, games, seed).check(moves)
    check_turned_games(game, games, seed)
    _check_playouts(game, games, seed)


# -- without a move --------------------------------------------------------------------------------


def _check_parameters(game: Game) -> None:
    for key in ("height", "width", "num_actions", "max_plies", "num_players"):
        value = made(game, key, lambda key=key: getattr(game, key))  # type: ignore[misc]
        if not isinstance(value, int) or value < 1:
            raise wrong(game, key, f"is {value!r}; expected a whole number, 1 or more")
    made(game, "__hash__", lambda: hash(game))  # frozen dataclasses have it
    spec = made(game, "spec", lambda: game.spec)
    if spec.partition(":")[0].partition(",")[0] in CATALOGUE and made(game, "spec", lambda: make_game(spec)) != game:
        raise wrong(game, "spec", f"make_game({spec!r}) is another game; expected one that is equal to this")
    if game.compiled_as.compiled_as != game.compiled_as:
        raise wrong(game, "compiled_as", "is compiled as yet another game; expected itself")
    if not -1 <= game.pass_action < game.num_actions:
        raise wrong(game, "pass_action", f"is {game.pass_action}; expected an action below {game.num_actions}, or -1")


def _check_shapes(game: Game) -> None:
    """Of all that is computed, found without computing."""
    first = made(game, "init", lambda: jax.eval_shape(game.init))
    action, points = jax.ShapeDtypeStruct((), jnp.int32), game.height * game.width
    after = made(game, "step", lambda: jax.eval_shape(game.step, first, action))
    if difference := differs(after, first):
        raise wrong(game, "step", f"returns another kind of state: {difference}")
    expected: dict[str, tuple[str, str]] = {
        "legal_action_mask": (f"bool[{game.num_actions}]", "an entry for each action"),
        "current_player": ("int32[]", "one player"),
        "is_terminal": ("bool[]", "one answer"),
        "returns": (f"float32[{game.num_players}]", "an entry for each player"),
        "heuristic": ("float32[]", "one number"),
        "transposition_key": ("uint32[2]", "64 bits"),
        "margin": ("float32[]", "one number"),
        "owners": (f"int8[{points}]", "an entry for each point"),
    }
    for method, (kind, why) in expected.items():
        found = kind_of(made(game, method, lambda method=method: jax.eval_shape(getattr(game, method), first)))  # type: ignore[misc]
        if found != kind:
            raise wrong(game, method, f"returns {found}; expected {kind}, {why}")
    planes = made(game, "observe", lambda: jax.eval_shape(game.observe, first))
    board = "H,W" if game.actions_are == "dense" else f"{game.height},{game.width}"  # whose board may be one of actions
    sized = board == "H,W" or planes.shape[:2] == (game.height, game.width)
    if planes.dtype != jnp.float32 or len(planes.shape) != 3 or not sized:
        what = f"expected float32[{board},C], planes of the board"
        raise wrong(game, "observe", f"returns {kind_of(planes)}; {what}")
    if planes.shape != game.observation_shape:
        raise wrong(game, "observation_shape", f"is {game.observation_shape}, but observe returns {planes.shape}")
    bare = made(game, "without_history", lambda: jax.eval_shape(game.without_history, first))
    after = made(game, "step", lambda: jax.eval_shape(lambda s, a: game.without_history(game.step(s, a)), bare, action))
    if difference := differs(after, bare):
        raise wrong(game, "without_history", f"a step from there leads to another kind of state: {difference}")


def _check_texts(game: Game) -> None:
    seen: dict[str, int] = {}
    for action in range(game.num_actions):
        text = made(game, "action_text", lambda action=action: game.action_text(action))  # type: ignore[misc]
        if not isinstance(text, str) or len(text.split()) != 1 or text.split() != [text]:
            raise wrong(
                game, "action_text", f"action {action} is {text!r}; expected one word: records put blanks between"
            )
        if text in seen:
            raise wrong(game, "action_text", f'actions {seen[text]} and {action} are both "{text}"')
        seen[text] = action
        found = made(game, "parse_action", lambda text=text: game.parse_action(text))  # type: ignore[misc]
        if found != action:
            raise wrong(game, "parse_action", f'"{text}" is action {found}; action_text says it is {action}')
    if game.pass_action >= 0 and made(game, "point_action", lambda: game.point_action(None)) != game.pass_action:
        raise wrong(game, "point_action", f"None is {game.point_action(None)}; expected pass_action")


def _check_symmetries(game: Game) -> None:
    points, actions = made(game, "symmetries", lambda: game.symmetries)
    height, width, _ = game.observation_shape
    for rows, number, what in ((points, height * width, "points"), (actions, game.num_actions, "actions")):
        if rows.ndim != 2 or len(rows) != len(points) or rows.shape[1] != number:
            raise wrong(game, "symmetries", f"{what} are of shape {rows.shape}; expected (S, {number})")
        for i, row in enumerate(rows):
            if sorted(row.tolist()) != list(range(number)):
                raise wrong(game, "symmetries", f"number {i} does not take every one of the {what} once")


def _check_playouts(game: Game, games: int, seed: int) -> None:
    """What a random game comes to depends on the state and the seed alone."""
    states = game.without_history(initial_states(game, games))
    seeds = jnp.arange(games, dtype=jnp.uint32) * 977 + np.uint32(seed)
    playout = jit(game.random_playout)
    returns = np.asarray(made(game, "random_playout", lambda: playout(states, seeds)))
    if returns.shape != (game.num_players, games):
        raise wrong(game, "random_playout", f"returns {kind_of(returns)}; expected float32[{game.num_players},{games}]")
    if not np.array_equal(returns[:, ::-1], playout(states, seeds[::-1])):
        raise wrong(game, "random_playout", "depends on the place in the batch; expected the state and the seed alone")
