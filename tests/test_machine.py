"""No set-up call: importing is quick, the first use takes every core and the compile cache, and what the user has
chosen stays. Each in a Python of its own, where nothing has been used yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jubango.sgf_games.errors import UserError
from jubango.sgf_games.machine import configure, cores

ROOT = Path(__file__).parents[1]
CHOICES = ("JUBANGO_CORES", "JUBANGO_CACHE", "JAX_NUM_CPU_DEVICES", "JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS")
USE = """
import jubango as jb
game = jb.make_game("tic_tac_toe")
"""
TELL = """
import jax, json
config = jax.config
print(json.dumps([jax.device_count(), config.jax_compilation_cache_dir]))
"""


def python(code, **environment):
    """What a fresh Python prints last, as JSON, or its complaint."""
    clean = {key: value for key, value in os.environ.items() if key not in CHOICES}
    clean |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_starts_nothing():
    code = "import json, sys, jubango\nprint(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    loaded = python(code)
    assert not {"jax", "jaxlib", "numpy", "pandas", "scipy", "matplotlib", "pydantic", "rich"} & set(loaded)
    assert len([name for name in loaded if name not in sys.stdlib_module_names and name != "jubango"]) < 5


def test_the_first_search_takes_all_there_is(tmp_path):
    search = "found = jb.run(jb.Search(game, jb.Ucb1(), jb.Uniform(), capacity=9), game.init())\n"
    count, cache = python(USE + search + TELL, JUBANGO_CACHE=str(tmp_path))
    assert count == cores()
    assert Path(cache).is_relative_to(tmp_path)
    assert any(path.is_file() for path in tmp_path.rglob("*")), "what is compiled is kept"


@pytest.mark.parametrize(
    ("before", "environment", "devices", "cache"),
    [
        ("", {"JUBANGO_CORES": "1", "JUBANGO_CACHE": "/kept/here"}, 1, "/kept/here"),
        ("import jubango as jb; jb.configure(cores=3, cache='/kept/here')", {}, 3, "/kept/here"),
        ("import jax; jax.config.update('jax_num_cpu_devices', 3)", {"JAX_COMPILATION_CACHE_DIR": "/mine"}, 3, "/mine"),
        ("", {"JAX_NUM_CPU_DEVICES": "4", "JUBANGO_CORES": "1", "JUBANGO_CACHE": "/kept/here"}, 4, "/kept/here"),
        ("", {"XLA_FLAGS": "--xla_force_host_platform_device_count=5"}, 5, "jubango"),
        ("import jax; jax.devices()", {}, 1, "jubango"),
    ],
    ids=["environment", "configure", "own config", "own environment", "own flags", "already started"],
)
def test_what_is_chosen_stays(before, environment, devices, cache):
    count, directory = python(before + USE + TELL, **environment)
    assert count == devices
    assert cache in directory


def test_everything_is_kept_where_it_is_told_to_be(tmp_path):
    before = f"import jubango as jb; jb.configure(cache={str(tmp_path / 'told')!r})"
    search = "found = jb.run(jb.Search(game, jb.Ucb1(), jb.Uniform(), capacity=9), game.init())\n"
    python(before + USE + search + TELL, HOME=str(tmp_path / "home"), JUBANGO_CACHE="")
    assert [path.name for path in tmp_path.iterdir()] == ["told"]
    assert any(path.is_file() for path in (tmp_path / "told" / "traced").rglob("*"))


def test_no_number_of_cores():
    for number in (0, -1, "2", 1.5):
        with pytest.raises(UserError, match=r"configure: cores = .*: should be a whole number, 1 or more"):
            configure(cores=number)
    code = "try:\n    jb.make_game('go')\nexcept jb.UserError as error:\n    print(json.dumps(str(error)))"
    told = python("import json\nimport jubango as jb\n" + code, JUBANGO_CORES="two")
    assert told == "JUBANGO_CORES=two: should be a whole number, 1 or more"
