"""``jb.jit`` is used as ``jax.jit`` is."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import pytest

import jubango as jb


@functools.partial(jb.jit, static_argnames=("times",))
def grown(x, times=2):
    """x, several times"""
    assert isinstance(times, int)
    return x * times


def test_static_arguments():
    assert grown(jnp.arange(3), times=4).tolist() == [0, 4, 8]
    assert jb.jit(lambda x, times: x * [1, 2, 3][times], static_argnums=1)(jnp.arange(3), 2).tolist() == [0, 3, 6]
    with pytest.raises(TypeError):
        jb.jit(lambda x: x, no_such_option=1)(1)


def test_a_program_can_be_looked_at():
    x = jnp.arange(3, dtype=jnp.float32)
    assert "stablehlo.multiply" in grown.lower(x, times=3).as_text()
    assert grown.lower(x, times=3).compile()(x).tolist() == [0, 3, 6]
    assert "mul" in str(grown.trace(x).jaxpr)
    assert grown.eval_shape(x) == jax.ShapeDtypeStruct((3,), jnp.float32)
    assert (grown.__name__, grown.__doc__) == ("grown", "x, several times")


def test_methods_are_compiled_as_functions_are():
    class Scale:
        by = 3

        @functools.partial(jb.jit, static_argnums=0)
        def applied(self, x):
            return x * self.by

    assert Scale().applied(jnp.arange(3)).tolist() == [0, 3, 6]
