"""Functions of the host inside of programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from jubango.sgf_games.compute import host_call as module
from jubango.sgf_games.compute.host_call import add, host_call
from jubango.sgf_games.compute.traced import OWN_CALLS

FAILED = jax.errors.JaxRuntimeError, ValueError  # the second from programs that have run before
ROOT = Path(__file__).parents[3]


def both(x, y):
    return x + y, np.float32(x.sum())


def test_a_function_is_called_in_the_middle_of_a_program():
    number = add(both)
    x, y = jnp.arange(6, dtype=jnp.float32).reshape(2, 3), jnp.full((2, 3), 10.0)

    @jax.jit
    def program(number, x, y):
        def turn(_, x):
            added, total = host_call(number, [(2, 3), ()], x * 2, y)
            return added + total * 0

        return lax.fori_loop(0, 3, turn, x), host_call(number, [(2, 3), ()], x, y)[1]

    found, total = program(number, x, y)
    assert np.array_equal(found, 8 * np.asarray(x) + 70)
    assert total == 15


def test_the_number_says_which_function():
    one, other = add(lambda x: [x + 1]), add(lambda x: [x * 3])
    program = jax.jit(lambda number, x: host_call(number, [(2,)], x)[0])
    x = jnp.array([1.0, 2.0])
    assert program(one, x).tolist() == [2, 3]
    assert program(other, x).tolist() == [3, 6]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: [x / "no"], "UFuncTypeError|TypeError"),
        (lambda x: [x[:2]], r"returned \(2,\) for \(3,\)"),
        (lambda x: [x, x], "zip"),
        (lambda x: os.stat(b"no file \xff"), "no file"),
    ],
)
def test_what_it_raises_the_program_raises(function, said):
    program = jax.jit(lambda number, x: host_call(number, [(3,)], x)[0])
    for _ in range(2):
        with pytest.raises(FAILED, match=said):
            jax.block_until_ready(program(add(function), jnp.zeros(3)))
        assert program(add(lambda x: [x + 1]), jnp.zeros(3)).tolist() == [1, 1, 1]


def test_a_number_of_another_process():
    program = jax.jit(lambda number, x: host_call(number, [(3,)], x)[0])
    with pytest.raises(FAILED, match="another process"):
        jax.block_until_ready(program(add(both) + 1000, jnp.zeros(3)))


def test_one_after_the_other_under_vmap():
    number = add(lambda x: [x + x.sum()])
    found = jax.vmap(lambda x: host_call(number, [(3,)], x)[0])(jnp.arange(6.0).reshape(2, 3))
    assert found.tolist() == [[3, 4, 5], [15, 16, 17]]


def test_ctrl_c_in_it_is_an_error_like_others():
    def interrupted(x):
        raise KeyboardInterrupt

    program, number = jax.jit(lambda number, x: host_call(number, [(3,)], x)[0]), add(interrupted)
    for _ in range(20):
        with pytest.raises(FAILED, match="KeyboardInterrupt"):
            jax.block_until_ready(program(number, jnp.zeros(3)))


def test_a_failure_before_all_else_is_an_error(monkeypatch):
    """As a signal may be handled anywhere; without it the program would go on with whatever lies in its results."""

    def fails(*_):
        raise KeyboardInterrupt

    heard = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    program, number = jax.jit(lambda number, x: host_call(number, [(3,)], x)[0]), add(lambda x: [x])
    jax.block_until_ready(program(number, jnp.zeros(3)))
    with monkeypatch.context() as patch:
        patch.setattr(module.ctypes, "cast", fails)
        for _ in range(20):
            with pytest.raises(FAILED, match="interrupted"):
                jax.block_until_ready(program(number, jnp.zeros(3)))
    assert len(heard) == 20
    assert program(number, jnp.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("number", "x"), [(np.zeros(1, np.float32), np.zeros(3, np.float32)), (np.zeros(1, np.int32), np.zeros(3, bool))]
)
def test_other_arrays_are_refused(number, x):
    with pytest.raises(TypeError, match="int32"):
        host_call(jnp.asarray(number), [(3,)], jnp.asarray(x))


def test_a_program_goes_to_another_process(tmp_path):
    exported = export.export(jax.jit(lambda number, x: host_call(number, [(2,)], x)[0]), disabled_checks=OWN_CALLS)(
        jax.ShapeDtypeStruct((1,), jnp.int32), jax.ShapeDtypeStruct((2,), jnp.float32)
    )
    (tmp_path / "program").write_bytes(exported.serialize())
    code = f"""
from pathlib import Path
import jax.numpy as jnp
from jax import export
from jubango.sgf_games.compute.host_call import add
number = add(lambda x: [x * 7])
called = export.deserialize(bytearray(Path({str(tmp_path / "program")!r}).read_bytes())).call
print(called(number, jnp.array([1.0, 2.0])).tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[7.0, 14.0]\n"
