"""What a search inside of JAX gives back."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.bots.search.tree.state import RootStatistics
from jubango.bots.search.tree.tree import (
    CHILD,
    PRIOR,
    VALUE_SUM,
    VISITS,
    Tree,
    action_of,
    parent_of,
    pick,
    player_of,
    value_of,
)


class SearchSummary(NamedTuple):
    """The roots, by mctx's names."""

    visit_counts: jax.Array  # int32 [B, A]
    visit_probs: jax.Array  # float32 [B, A], their shares; zeros where nothing was searched
    value: jax.Array  # float32 [B], the mean of all values
    qvalues: jax.Array  # float32 [B, A], the mean of each action, 0 where unvisited


class Nodes(NamedTuple):
    """N nodes of each of B trees, by mctx's names; node 0 is the root, and what was never made has no visits. Values
    are in [-1, 1] for the player to move at the node, those of its actions too."""

    node_visits: jax.Array  # int32 [B, N], the node's own evaluation and its children's visits
    node_values: jax.Array  # float32 [B, N], the mean of all values there
    raw_values: jax.Array  # float32 [B, N], what the evaluator said
    parents: jax.Array  # int32 [B, N], -1 at the root
    action_from_parent: jax.Array  # int32 [B, N], -1 at the root
    player: jax.Array  # int32 [B, N], to move
    children_index: jax.Array  # int32 [B, N, A], the node that an action leads to, or -1
    children_visits: jax.Array  # int32 [B, N, A]
    children_qvalues: jax.Array  # float32 [B, N, A], 0 where unvisited
    children_prior: jax.Array  # float32 [B, N, A], noise at the root included, 0 where illegal

    def summary(self) -> SearchSummary:
        """What is known of the roots."""
        visits = self.children_visits[:, 0]
        shares = visits / jnp.maximum(jnp.sum(visits, axis=-1, keepdims=True), 1)
        return SearchSummary(visits, shares.astype(jnp.float32), self.node_values[:, 0], self.children_qvalues[:, 0])


class SearchOutput(NamedTuple):
    """What a search of B positions found; values are for the player to move at the root."""

    action: jax.Array  # int32 [B], the move to play
    visits: jax.Array  # int32 [B, A]
    values: jax.Array  # float32 [B, A] in [-1, 1], the mean of each action; 0 where unvisited
    policy: jax.Array  # float32 [B, A], sums to 1: the improved policy, what a network is trained towards
    priors: jax.Array  # float32 [B, A], noise included
    value: jax.Array  # float32 [B], the mean of all values at the root
    raw_value: jax.Array  # float32 [B], what the evaluator said of the root
    search_tree: Nodes  # the root alone, or with ``tree=True`` all nodes

    @property
    def action_weights(self) -> jax.Array:
        """float32 [B, A]: ``policy`` by mctx's name."""
        return self.policy


def nodes_of(tree: Tree, found: RootStatistics[jax.Array], whole: bool) -> Nodes:
    """The ``whole`` trees of a search that began with empty ones, or their roots."""
    number = tree.nodes.shape[1] - 1 if whole else 1  # the last slot is a spare
    some = slice(None), slice(number)
    edges, parent, action = tree.edges[some], parent_of(tree, *some), action_of(tree, *some)
    index, b = jnp.arange(number), jnp.arange(parent.shape[0])[:, None]
    count, child = edges[:, :, VISITS].astype(jnp.int32), edges[:, :, CHILD].astype(jnp.int32)
    player, root = player_of(tree, *some), index == 0
    above = parent if whole else jnp.zeros_like(parent)
    made = (pick(child, b, above, action) == index) & ~root
    own = jnp.where(made, pick(count, b, above, action), 0)
    total = jnp.where(made, pick(edges, b, above, VALUE_SUM, action), 0.0)
    mean = total / jnp.maximum(own, 1)
    mean = jnp.where(jnp.take_along_axis(player, above, axis=1) == player, mean, -mean)
    values = edges[:, :, VALUE_SUM] / jnp.maximum(count, 1)
    return Nodes(
        node_visits=jnp.where(root, 1 + jnp.sum(found.visits, axis=-1, keepdims=True, dtype=jnp.int32), own),
        node_values=jnp.where(root, found.mean[:, None], mean),
        raw_values=value_of(tree, *some),
        parents=jnp.where(made, above, -1),
        action_from_parent=jnp.where(made, action, -1),
        player=player,
        children_index=child,
        children_visits=count,
        children_qvalues=values.at[:, 0].set(found.value),
        children_prior=edges[:, :, PRIOR],
    )
