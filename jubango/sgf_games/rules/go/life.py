"""Chains that no number of moves in a row takes (Benson 1976, "Life in the game of Go"), the areas that they hold, and
liberties.

Points are numbered row by row, P of them; a chain and a region are known by the least number of their points.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute.loops import alike, while_loop


def liberty_counts(mine: jax.Array, theirs: jax.Array, height: int, width: int) -> jax.Array:
    """int32 [P]: the liberties of the chain on each point, 0 where there is no stone.

    mine, theirs: bool [P], the stones.
    """
    return chain_liberties(mine, theirs, height, width)[1]


def chain_liberties(
    mine: jax.Array, theirs: jax.Array, height: int, width: int
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(the chain, how many liberties it has, the first, the last) on each point, int32 [P] each; no liberties where
    there is no stone."""
    colour, points = mine + 2 * theirs, mine.size
    label = connected_labels(colour, height, width)
    beside = _chains_beside(label, colour > 0, colour == 0, height, width)
    counts = jnp.zeros(points, jnp.int32).at[beside].add(1, mode="drop")
    here = jnp.broadcast_to(jnp.arange(points, dtype=jnp.int32), beside.shape)
    first = jnp.full(points, points, jnp.int32).at[beside].min(here, mode="drop")
    last = jnp.full(points, -1, jnp.int32).at[beside].max(here, mode="drop")
    return label, jnp.where(colour > 0, counts[label], 0), first[label], last[label]


def alive_areas(mine: jax.Array, theirs: jax.Array, height: int, width: int, suicide: bool) -> jax.Array:
    """int8 [P]: 1 for the mover's area, -1 for the other's, 0 for nobody's: pass-alive chains and what they surround,
    then empty regions that touch one colour, then stones where they lie.

    mine, theirs: bool [P], the stones.
    suicide: whether chains may take their own last liberty.
    """
    own, open_ = _one_side(mine, theirs, height, width, suicide)
    other, other_open = _one_side(theirs, mine, height, width, suicide)
    sure = own.astype(jnp.int8) - other.astype(jnp.int8)
    guess = open_.astype(jnp.int8) - other_open.astype(jnp.int8)
    stones = mine.astype(jnp.int8) - theirs.astype(jnp.int8)
    area = jnp.where(sure != 0, sure, guess)
    return jnp.where(area != 0, area, stones)


def _one_side(
    mine: jax.Array, theirs: jax.Array, height: int, width: int, suicide: bool
) -> tuple[jax.Array, jax.Array]:
    """(pass-alive chains and their territory, empty regions that touch no other colour), bool [P]."""
    points = mine.size
    label = connected_labels(mine, height, width)
    beside = _chains_beside(label, mine, ~mine, height, width)
    asked = jnp.ones(points, bool) if suicide else ~theirs  # must touch a chain for their region to be vital to it

    def per_region(which: jax.Array) -> jax.Array:
        """int32 [P]: how many of these points a region has."""
        return jnp.zeros(points, jnp.int32).at[jnp.where(mine, points, label)].add(which, mode="drop")

    none = jnp.zeros((points, points), jnp.int16)  # [region, chain]
    region = jnp.broadcast_to(label, beside.shape)
    touching = none.at[region, beside].add(1, mode="drop")
    shared = none.at[region, jnp.where(asked, beside, points)].add(1, mode="drop") if not suicide else touching
    borders, needed = touching > 0, per_region(asked & ~mine)
    vital = (needed > 0)[:, None] & (shared == needed[:, None])

    def again(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        alive, _ = carry
        held = ~jnp.any(borders & ~alive, axis=1)
        still = alive & (jnp.sum(vital & held[:, None], axis=0) >= 2)
        return still, jnp.any(still != alive)

    chains = mine & (label == jnp.arange(points))
    alive, _ = while_loop(lambda carry: carry[1], again, (chains, alike(jnp.bool_(True), mine)))
    held = ~jnp.any(borders & ~alive, axis=1) & jnp.any(mine)
    inner, pure = per_region(jnp.all(beside == points, axis=0)), per_region(theirs) == 0
    sure = held & ((inner <= 1) | pure)
    safe = jnp.where(mine, alive[label], sure[label])
    return safe, ~mine & pure[label] & ~safe & jnp.any(mine)


def _chains_beside(label: jax.Array, stones: jax.Array, places: jax.Array, height: int, width: int) -> jax.Array:
    """int32 [4, P]: the chains beside each of the ``places``, each once; P where there is none."""
    found: list[jax.Array] = []
    for side in neighbours(height, width):
        chain = jnp.where(jnp.asarray(side >= 0) & places & stones[side], label[side], label.size)
        for other in found:
            chain = jnp.where(chain == other, label.size, chain)
        found.append(chain)
    return jnp.stack(found)


def neighbours(height: int, width: int) -> np.ndarray:
    """int32 [4, P]: the point on each side of a point, or -1 beyond the edge."""
    inside = np.arange(height * width).reshape(height, width)
    board = np.pad(inside, 1, constant_values=-1)
    sides = board[:-2, 1:-1], board[2:, 1:-1], board[1:-1, :-2], board[1:-1, 2:]
    return np.stack([side.reshape(-1) for side in sides]).astype(np.int32)


def connected_labels(kind: jax.Array, height: int, width: int) -> jax.Array:
    """int32 [P]: the least number of the points that are connected with a point by points of its kind."""
    near = neighbours(height, width)
    same = [jnp.asarray(side >= 0) & (kind == kind[side]) for side in near]

    def spread(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        label, _ = carry
        least = label
        for side, joined in zip(near, same, strict=True):
            least = jnp.minimum(least, jnp.where(joined, label[side], least))
        least = least[least]  # what my label's point knows, I may know
        return least, jnp.any(least != label)

    first = alike(jnp.arange(kind.size, dtype=jnp.int32), kind)
    return while_loop(lambda carry: carry[1], spread, (first, alike(jnp.bool_(True), kind)))[0]
