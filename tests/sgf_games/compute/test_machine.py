"""No set-up call: importing is quick, what plays by itself takes every core and the compile cache, what runs in somebody's
own program takes nothing, and what the user has chosen stays. Each in a Python of its own, where nothing has been used
yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import configure, cores

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
CHOICES = (
    "JUBANGO_DEVICE",
    "JUBANGO_CORES",
    "JUBANGO_CACHE",
    "JAX_NUM_CPU_DEVICES",
    "JAX_COMPILATION_CACHE_DIR",
    "XLA_FLAGS",
)
USE = """
import jubango as jb
place = jb.position("tic_tac_toe")
"""
SEARCH = "jb.run(jb.Search(place.game, jb.Ucb1(), jb.Uniform(), capacity=9), place.state)\n"
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


@pytest.mark.parametrize(("said", "quiet"), [({}, True), ({"TF_CPP_MIN_LOG_LEVEL": "0"}, False)])
def test_what_xla_complains_of_is_not_said_where_nobody_wants_it(tmp_path, said, quiet):
    """Of a slow program it asks to file a bug; here of a folder that cannot be made."""
    alarm = {"XLA_FLAGS": "--xla_dump_to=/dev/null/x", "JUBANGO_CACHE": str(tmp_path), "JAX_PLATFORMS": "cpu", **said}
    code = (
        USE
        + "jb.configure()\n"
        + 'import jax, logging\njax.jit(lambda x: x + 1)(1)\nlogging.getLogger("jax").warning("loud")'
    )
    clean = {key: value for key, value in os.environ.items() if key not in (*CHOICES, "TF_CPP_MIN_LOG_LEVEL")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**clean, "PYTHONPATH": str(ROOT), **alarm}
    )
    assert done.returncode == 0 and "loud" in done.stderr, "JAX's own warnings stay"
    assert ("Could not create directory" not in done.stderr) == quiet


def test_the_first_search_takes_all_there_is(tmp_path):
    count, cache = python(USE + SEARCH + TELL, JUBANGO_CACHE=str(tmp_path))
    assert count == cores()
    assert Path(cache).is_relative_to(tmp_path)
    assert any(path.is_file() for path in tmp_path.rglob("*")), "what is compiled is kept"


@pytest.mark.parametrize(
    ("before", "environment", "devices", "cache"),
    [
        ("", {"JUBANGO_CORES": "1", "JUBANGO_CACHE": "kept/here"}, 1, "kept/here/xla"),
        ("import jubango as jb; jb.configure(cores=3, cache='kept/here')", {}, 3, "kept/here/xla"),
        ("import jax; jax.config.update('jax_num_cpu_devices', 3)", {"JAX_COMPILATION_CACHE_DIR": "mine"}, 3, "mine"),
        ("", {"JAX_NUM_CPU_DEVICES": "4", "JUBANGO_CORES": "1", "JUBANGO_CACHE": "kept/here"}, 4, "kept/here/xla"),
        ("", {"XLA_FLAGS": "--xla_force_host_platform_device_count=5"}, 5, ".cache/jubango/xla"),
        ("import jax; jax.devices()", {}, 1, ".cache/jubango/xla"),
    ],
    ids=["environment", "configure", "own config", "own environment", "own flags", "already started"],
)
def test_what_is_chosen_stays(tmp_path, before, environment, devices, cache):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    count, directory = python(f"import os; os.chdir({str(tmp_path)!r})\n" + before + USE + TELL, **home | environment)
    assert count == devices
    assert (tmp_path / directory).relative_to(tmp_path) == Path(cache)


PROGRAM = """
import jubango as jb, jax
environment = jb.env("tic_tac_toe")
state = jax.jit(environment.init)(jax.random.key(0))
state = jax.jit(environment.step)(state, 4)
game = jb.make_game("connect_four")
first = jax.tree.map(lambda x: x[None], game.init())
jax.jit(jb.Search(game, jb.Puct(), jb.Uniform(), capacity=2))((), first, jax.random.key(0))
jb.jit(lambda x: x + 1)(1)
"""


def test_in_somebody_s_own_program_jax_stays_as_it_is(tmp_path):
    changed = """
import jax
kept = dict(jax.config.values)
{}
print(json.dumps([jax.device_count(), [key for key in kept if kept[key] != jax.config.values[key]]]))
"""
    code = "import json" + changed.format(PROGRAM)
    assert python(code, JUBANGO_CORES="3", JUBANGO_CACHE=str(tmp_path)) == [1, []]


@pytest.mark.parametrize(
    "use",
    [
        "jb.tune('pgx:tic_tac_toe', 'no bot', {})",
        "list(jb.train('no game', 'out'))",
        "from jubango.arena.commands import run; run(['match', 'no bot', 'no bot'])",
        "from jubango.arena.commands import run; run(['gtp', '--game', 'no game'])",
        "os.environ['JUBANGO_PLUGINS'] = 'jax.numpy'; from jubango.arena.commands import run; run(['games'])",
    ],
)
def test_what_plays_takes_the_machine(tmp_path, use):
    """Before a game of pgx, a plug-in or a first position makes arrays."""
    code = (
        f"import os\nos.chdir({str(tmp_path)!r})\nimport jubango as jb\ntry:\n    {use}\nexcept jb.UserError:\n    pass"
    )
    count, cache = python(code + TELL, JUBANGO_CORES="3", JUBANGO_CACHE=str(tmp_path))
    assert count == 3
    assert Path(cache) == tmp_path / "xla"


def test_it_says_that_jax_was_in_use_before(tmp_path):
    """Where cores lie idle by it, once, and so that it can be hushed; not where one is all that a search needs."""
    code = """
import jax, json, warnings
jax.devices()
import jubango as jb
from jubango.sgf_games.compute.machine import device_layout
said = []
for many in (1, 100, 100):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        device_layout(many)  # games over devices, as every search does
    said.append([f"{one.category.__name__}: {one.message}" for one in caught])
print(json.dumps(said))
"""
    line = "SetupWarning: JAX was in use before jubango: searches run on 1 of 3 cores; call jubango.configure() before JAX is first used"
    assert python(code, JUBANGO_CORES="3", JUBANGO_CACHE=str(tmp_path)) == [[], [line], []]
    late = """
import jax, json, warnings
jax.devices()
import jubango as jb
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    jb.configure(cores=2)
print(json.dumps([str(one.message) for one in caught]))
"""
    (said,) = python(late, JUBANGO_CACHE=str(tmp_path))
    assert "searches run on 1 of 2 cores" in said


def test_everything_is_kept_where_it_is_told_to_be(tmp_path):
    before = f"import jubango as jb; jb.configure(cache={str(tmp_path / 'told')!r})"
    python(before + USE + SEARCH + TELL, HOME=str(tmp_path / "home"), JUBANGO_CACHE="")
    assert [path.name for path in tmp_path.iterdir()] == ["told"]
    assert any(path.is_file() for path in (tmp_path / "told" / "traced").rglob("*"))


def test_another_cache_takes_effect(tmp_path):
    """JAX opens its cache once, when the first program is compiled."""
    told = [tmp_path / "first", tmp_path / "second"]
    code = "import jubango as jb, jax, json\n"
    for number, folder in enumerate(told):
        code += f"jb.configure(cores=1, cache={str(folder)!r})\n"
        code += "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
        code += f"jax.jit(lambda x: x * {number + 2})(1)\n"
    python(code + TELL)
    assert all(any((folder / "xla").iterdir()) for folder in told)


def test_no_number_of_cores():
    for number in (0, -1, "2", 1.5):
        with pytest.raises(UserError, match=r"configure: cores = .*: should be a whole number, 1 or more"):
            configure(cores=number)
    code = "try:\n    jb.position('tic_tac_toe')\nexcept jb.UserError as error:\n    print(json.dumps(str(error)))"
    told = python("import json\nimport jubango as jb\n" + code, JUBANGO_CORES="two")
    assert told == "JUBANGO_CORES=two: should be a whole number, 1 or more"


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"JUBANGO_DEVICE": "cuda"}, "", "JUBANGO_DEVICE=cuda: should be cpu, gpu or tpu"),
        ({"JUBANGO_DEVICE": "tpu"}, "", "device tpu: JAX finds no such device here"),
        ({}, "jb.configure(device='gqu')\n", "configure: device = gqu: should be cpu, gpu or tpu"),
        ({}, "import jax; jax.devices()\njb.configure(device='tpu')\n", "device tpu: JAX was in use before, on cpu"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(variables, code, said):
    told = "print(json.dumps('none'))\nexcept jb.UserError as error: print(json.dumps(str(error)))"
    body = f"{code}place = jb.position('tic_tac_toe')\n{SEARCH}".replace("\n", "\n    ")
    assert python(f"import json, jubango as jb\ntry:\n    {body}{told}", **variables).startswith(said)


def test_the_device_that_is_asked_for_is_taken():
    code = f"import jubango as jb\njb.configure(device='cpu')\n{USE}{SEARCH}" + TELL
    assert python(code, JAX_PLATFORMS="")[0] >= 1
