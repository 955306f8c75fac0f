"""A game's states in the tree: the words of all their arrays side by side, so that one row is read or written."""

from __future__ import annotations

import functools
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jubango.sgf_games.rules.game import Game, State

T = TypeVar("T")  # a pytree of arrays


def packed(states: State, batch: int = 0) -> jax.Array:
    """uint32 [..., W]: the words of states that have so many batch axes first."""
    return jnp.concatenate([_words(x, batch) for x in jax.tree.leaves(states)], axis=-1)


def unpacked(words: jax.Array, game: Game) -> State:
    """uint32 [..., W] -> what a node keeps of a state, batch axes first."""
    leaves, tree = jax.tree.flatten(_of_node(game))
    batch, found, at = words.shape[:-1], [], 0
    for one in leaves:
        bits = _bits(one.dtype)
        size = -(-one.size * bits.itemsize // 4)
        part = words[..., at : at + size]
        if bits.itemsize == 8:
            part = lax.bitcast_convert_type(part.reshape(*batch, -1, 2), bits)
        elif bits.itemsize < 4:  # by shifts, which become one with what is computed next
            part = (part[..., None] >> _shifts(bits)).astype(bits)
        numbers = part.reshape(*batch, -1)[..., : one.size].reshape(*batch, *one.shape)
        found.append(numbers != 0 if one.dtype == jnp.bool_ else lax.bitcast_convert_type(numbers, one.dtype))
        at += size
    return jax.tree.unflatten(tree, found)


def words_of_lanes(states: State, game: Game) -> jax.Array:
    """uint32 [B, W]: the words of what a node keeps of states, with their lanes last, as the rules have them."""
    kept = jax.tree.map(lambda x, one: x.astype(one.dtype), states, _of_node(game))
    return packed(lanes_first(kept), batch=1)


def lanes_of(words: jax.Array, game: Game) -> State:
    """uint32 [B, W] -> states with their lanes last."""
    return lanes_last(unpacked(words, game))


def lanes_last(states: T) -> T:
    """[B, ...] -> [..., B]: from the tree's layout to the rules'."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), states)


def lanes_first(states: T) -> T:
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), states)


def words_of(game: Game) -> int:
    """W, the words of a state of this game."""
    return int(jax.eval_shape(packed, _of_node(game)).shape[0])


def _of_node(game: Game) -> State:
    """Shapes and dtypes."""
    return jax.eval_shape(lambda: game.without_history(game.init()))


def _shifts(dtype: jnp.dtype) -> jax.Array:
    """uint32 [K]: where the K numbers of a word lie."""
    return jnp.arange(0, 32, 8 * dtype.itemsize, dtype=jnp.uint32)


def _bits(dtype: jnp.dtype) -> jnp.dtype:
    """The whole numbers that are as large."""
    return jnp.dtype(f"uint{8 * dtype.itemsize}")


def _words(x: jax.Array, batch: int) -> jax.Array:
    x = x.astype(jnp.uint8) if x.dtype == jnp.bool_ else lax.bitcast_convert_type(x, _bits(x.dtype))
    x = x.reshape(*x.shape[:batch], -1)
    if (in_a_word := 4 // x.dtype.itemsize) > 1:
        parts = x.astype(jnp.uint32)
        parts = jnp.pad(parts, [(0, 0)] * batch + [(0, -x.shape[-1] % in_a_word)])
        parts = parts.reshape(*x.shape[:-1], -1, in_a_word) << _shifts(x.dtype)
        return functools.reduce(jnp.bitwise_or, (parts[..., k] for k in range(in_a_word)))
    return lax.bitcast_convert_type(x, jnp.uint32).reshape(*x.shape[:batch], -1)
