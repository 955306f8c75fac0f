"""Random numbers of roots: numpy's, by the seeds of trees that play games, or JAX's, by a key inside a program."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

ALPHA = 10.0  # over the number of legal actions: the usual alpha (Silver et al. 2018: 0.03 in Go to 0.3 in chess)


class RootNoise(Protocol):
    """The random numbers of n roots."""

    legal: Any  # bool [n, A], the legal actions

    def dirichlet(self, alpha: Any) -> Any:
        """float [n, A]: shares of the legal actions, Dirichlet(``alpha``) distributed; alpha 0: 10 / legal actions."""

    def gumbel(self) -> Any:
        """float [n, A]: standard Gumbel numbers."""


class SeededNoise:
    """Each tree's own, decided by its seed alone; the arrays are numpy's."""

    def __init__(self, seeds: np.ndarray, legal: np.ndarray) -> None:
        self.seeds, self.legal = seeds, legal

    def dirichlet(self, alpha: float) -> np.ndarray:
        out = np.zeros(self.legal.shape)
        for row, seed, legal in zip(out, self.seeds, self.legal, strict=True):
            if count := int(legal.sum()):
                row[legal] = np.random.default_rng([seed, 1]).dirichlet(np.full(count, alpha or ALPHA / count))
        return out

    def gumbel(self) -> np.ndarray:
        size = self.legal.shape[1]
        return np.stack([np.random.default_rng([seed, 2]).gumbel(size=size) for seed in self.seeds])


class KeyedNoise:
    """Those of one JAX key for all roots; the arrays may be traced."""

    def __init__(self, for_dirichlet: jax.Array, for_gumbel: jax.Array, legal: jax.Array) -> None:
        self.legal, self._dirichlet, self._gumbel = legal, for_dirichlet, for_gumbel

    def dirichlet(self, alpha: jax.Array | float) -> jax.Array:
        usual = ALPHA / jnp.maximum(jnp.sum(self.legal, axis=-1, keepdims=True), 1)
        alphas = jnp.where(jnp.float32(alpha) > 0, jnp.float32(alpha), usual.astype(jnp.float32))
        spread = jax.random.gamma(self._dirichlet, alphas, self.legal.shape, jnp.float32) * self.legal
        return spread / jnp.maximum(jnp.sum(spread, axis=-1, keepdims=True), 1e-30)

    def gumbel(self) -> jax.Array:
        return jax.random.gumbel(self._gumbel, self.legal.shape, jnp.float32)
