"""The wheel, in an environment without the checkout, beside a user's own packages called as our folders are."""

from __future__ import annotations

import configparser
import io
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
FLOORS = ("analysis", "arena", "bots", "sgf_games")
TOP = (
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md", "README.zh-CN.md",
    "constraints-0.12.txt", "constraints-0.8.txt", "constraints-oldest.txt", "constraints.txt", "pyproject.toml",
)  # fmt: skip
THEIRS = (*FLOORS, "tests")  # packages of the user
PLAN = """
name = "small"
game = "tic_tac_toe"
games_per_pairing = 4
seed = 2
bots = [{ name = "random", use = "random" }, { name = "uct", use = "uct", simulations = 16 }]
"""
PLUGIN = '''
import bots
import jubango as jb
from jubango.sgf_games.rules.lines.mnk import Mnk


@jb.evaluator("mine")
def mine(game, state, legal, seed):
    return legal * 1.0, bots.OPINION


@jb.game("wide")
class Wide(Mnk):
    """a user's own game"""

    width: int = 4
    height: int = 3
    k: int = 3

    @property
    def spec(self):
        return "wide"
'''


def checked(command, folder, **environment):
    """What a process prints that must end well, in an environment that knows nothing of the checkout."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of the checkout, since building writes beside its sources."""
    pytest.importorskip("setuptools", minversion="77.0.3", reason="writes no license so; pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "jubango", folder / "source" / "jubango", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "source" / "docs").mkdir()
    for name in ("LICENSE", "docs/package.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / "source" / name)
    (folder / "source" / "tests").mkdir()
    (folder / "source" / "tests" / "__init__.py").touch()
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    found = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=folder / "source", capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    (made,) = folder.glob("*.whl")
    return made


class Installed:
    """An environment with the wheel and what it depends on, and a folder with the user's own packages."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        paths = sysconfig.get_paths(vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")})
        packages, scripts = Path(paths["purelib"]), Path(paths["scripts"])
        self.packages, self.python, self.command = packages, scripts / "python", scripts / "jubango"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
        # Their folders alone: their own .pth files, an editable install's too, are read in no folder that a .pth names.
        (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
        (info,) = packages.glob("jubango-*.dist-info")
        self.version = info.stem.removeprefix("jubango-")
        entries = configparser.ConfigParser()
        entries.read(info / "entry_points.txt")
        module, function = entries["console_scripts"]["jubango"].split(":")
        self.command.write_text(
            f"#!{self.python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        self.command.chmod(0o755)
        self.work = folder / "work"
        for name in THEIRS:
            (self.work / name).mkdir(parents=True)
            (self.work / name / "__init__.py").write_text(f"OWNER, OPINION = 'the user of {name}', 0.25\n")
        (self.work / "my_plugin.py").write_text(PLUGIN)
        (self.work / "small.toml").write_text(PLAN)

    def told(self, code: str) -> object:
        """What a Python in the user's folder prints, as JSON."""
        return json.loads(checked([self.python, "-c", f"import json\n{code}"], self.work))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    if os.name != "posix":
        pytest.skip("a console command is made here as on POSIX")
    return Installed(wheel, tmp_path_factory.mktemp("installed"))


def test_what_is_in_the_wheel(wheel):
    """Every module, file of weights, set of openings, part of a page and the table of levels, once, below jubango and nowhere else."""
    names = zipfile.ZipFile(wheel).namelist()
    inside = sorted(name for name in names if ".dist-info/" not in name)
    own = ROOT / "jubango"
    weights = own.rglob("*.safetensors")
    openings = (own / "sgf_games" / "openings").glob("*.sgf")
    templates = (own / "analysis" / "report" / "templates").iterdir()
    pages = (own / "arena" / "serve" / "pages").iterdir()
    levels = own / "bots" / "players" / "levels.toml"
    demo = own / "arena" / "commands" / "playing" / "demo.toml"
    files = [*own.rglob("*.py"), own / "py.typed", levels, demo, *weights, *openings, *templates, *pages]
    assert inside == sorted(path.relative_to(ROOT).as_posix() for path in files)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"jubango"}


def test_what_a_package_index_shows(wheel):
    """A license as an expression, and a description whose links and pictures do not lead into the repository."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        head, _, description = archive.read(name).decode().partition("\n\n")
    assert {"License-Expression: MIT", "License-File: LICENSE", "Author: the jubango authors"} < set(head.splitlines())
    assert description.startswith("# jubango") and "pip install 'jubango[train]'" in description
    assert not re.findall(r"\]\((?!https://)|<img|!\[", description)
    extras = re.findall("Provides-Extra: (.*)", head)
    assert {"plots", "train", "parquet", "cuda"} < set(extras)
    version = re.search("Version: (.*)", head.partition("\n")[2])[1]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_source_archive_holds_what_its_tests_need(tmp_path):
    source = tmp_path / "source"
    folders = ("jubango", "benchmarks", "docs", "examples", "tests")
    left_out = shutil.ignore_patterns("__pycache__", ".*")
    for name in folders:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=left_out)
    for name in TOP:
        shutil.copy(ROOT / name, source / name)
    before = {
        path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file() and not path.is_symlink()
    }
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=source, capture_output=True, check=True)
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert before <= inside
    assert {"Makefile", "tests/conftest.py", "docs/package.md", "examples/demo.toml", "jubango/py.typed"} <= inside


def test_what_is_imported_is_the_wheel_s(installed):
    """And the user's packages stay theirs; JAX waits until it is used."""
    code = f"""
import importlib, importlib.metadata, sys
import jubango
early = sorted({{"jax", "jaxlib", "numpy"}} & set(sys.modules))
files = [importlib.import_module("jubango" + name).__file__ for name in ("", {", ".join(repr("." + f) for f in FLOORS)})]
owners = [importlib.import_module(name).OWNER for name in {THEIRS}]
print(json.dumps([early, files, owners, jubango.__version__, importlib.metadata.version("jubango")]))
"""
    early, files, owners, own, version = installed.told(code)
    assert early == []
    assert all(Path(file).is_relative_to(installed.packages) for file in files)
    assert owners == [f"the user of {name}" for name in THEIRS]
    assert own == version == installed.version


def test_the_command_plays_a_tournament(installed):
    out = checked(
        [installed.command, "tournament", "small.toml", "--out", "runs/small", "--format", "csv"], installed.work
    )
    ratings = pd.read_csv(io.StringIO(out)).set_index("name")
    assert ratings["games"].to_dict() == {"random": 4, "uct": 4}
    assert ratings["elo"]["uct"] > ratings["elo"]["random"]
    assert len(list((installed.work / "runs" / "small" / "games").glob("*.sgf"))) == 4
    checked([installed.command, "report", "runs/small"], installed.work)
    assert "Standings" in (installed.work / "runs" / "small" / "report.html").read_text()


def test_the_command_finds_a_plugin(installed):
    """Which takes the user's own ``bots``, not ours."""
    bots = ["uct:evaluator=mine,simulations=8", "random"]
    out = checked(
        [installed.command, "match", *bots, "--game", "wide", "--games", "2", "--out", "runs/wide", "--format", "csv"],
        installed.work, JUBANGO_PLUGINS="my_plugin",
    )  # fmt: skip
    assert set(pd.read_csv(io.StringIO(out))["name"]) == set(bots)
    games = [path.read_text() for path in (installed.work / "runs" / "wide" / "games").glob("*.sgf")]
    assert len(games) == 2 and all("wide" in text for text in games)


def test_an_analysis_from_python(installed):
    """X has two in the middle row, O two in the first, and it is X's move: one move wins. Then with the plug-in."""
    code = """
import jubango as jb, my_plugin
position = jb.position("tic_tac_toe", "B2 A1 A2 B1")
found = jb.analyze(position, "uct", simulations=60)
search = jb.Search("wide", jb.Puct(), "mine", 8)
result = jb.run(search, search.game.init())
print(json.dumps([found.best.move, found.best.win_rate.black, int(result.visits.sum()), my_plugin.bots.OWNER]))
"""
    move, black, visits, owner = installed.told(code)
    assert (move, visits, owner) == ("C2", 8, "the user of bots")
    assert black > 0.95
