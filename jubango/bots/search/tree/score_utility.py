"""What a search compares where the lead counts, too: the value with a share of the lead in points.

A game that is won or lost for sure has moves that are all alike by their values. People, and KataGo, then play for
points. So of an action with mean value q and mean lead m, in points, a rule is told

    (1 - w) q + w (2 / pi) arctan((m - c) / side)

w is the ``score_utility``, c the lead at the root as its evaluator says it, and side the root of the number of points.
Around c a point is worth the most. Values that are reported stay as they are: they are of the result alone.

A tree that is kept for the next move has the lead of its new root for c, as what is summed up are leads.

Source: Wu 2019, "Accelerating Self-Play Learning in Go", "Score Maximization". There it is the mean over the score's
distribution, here it is that of the mean score.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.rule import Edges
from jubango.bots.search.tree.tree import Tree, pick, player_of
from jubango.sgf_games.rules.game import Game


def compared(tree: Tree, b: jax.Array, node: jax.Array, edges: Edges, game: Game, share: float) -> Edges:
    """The actions of ``node`` of tree ``b``, int32 [L] each, as a rule is to compare them.

    edges: those of the values alone.
    share: the lead's.
    """
    if not share:
        return edges
    leads, root = pick(tree.leads, b, node), jnp.zeros_like(node)
    centre = own_lead(tree, b, root)
    centre = jnp.where(player_of(tree, b, node) == player_of(tree, b, root), centre, -centre)
    side = math.sqrt(game.height * game.width)

    def mixed(value: jax.Array, lead: jax.Array, centre: jax.Array) -> jax.Array:
        # The arctan of jaxlib 0.10 and 0.11 is wrong in vectors of 16, which CPUs with AVX-512 have.
        return (1 - share) * value + share * (2 / math.pi) * jnp.arctan2(lead - centre, side)

    visits, q = edges.visits.astype(jnp.float32), edges.q
    means = leads[:, :-1] / jnp.maximum(visits, 1)
    new = jnp.where(visits > 0, mixed(q, means, centre[:, None]), 0.0)
    squares = edges.square_sum
    if squares is not None:  # values scatter as they do, by their share
        squares = (1 - share) ** 2 * (squares - visits * jnp.square(q)) + visits * jnp.square(new)
    return edges._replace(value_sum=new * visits, value=mixed(edges.value, leads[:, -1], centre), square_sum=squares)


def own_lead(tree: Tree, b: jax.Array, node: jax.Array) -> jax.Array:
    """float32 [L]: the lead of a node as the evaluator said it, or the margin."""
    return pick(tree.leads, b, node, tree.leads.shape[-1] - 1)
