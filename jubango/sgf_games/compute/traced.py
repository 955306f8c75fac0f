"""Programs that have been traced before: what JAX makes of our functions is kept on disk, so that a later process need
not trace them again.

A search takes seconds to trace and a fraction of one to load, compiled, from JAX's own cache. So the program that JAX
exports (``jax.export``) is kept beside it, under the digest of everything that decides it. These are our code, the
versions of the libraries, the settings of JAX, the kind of machine, the shapes of the arguments, and the parts that
the function is made of. Of parts that are not ours nobody knows the code; programs made of them are traced every time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import gc
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import stat
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import psutil
from jax import export

from jubango.sgf_games.compute import machine
from jubango.sgf_games.compute.cache import cache_folder, read_own
from jubango.sgf_games.compute.host_call import HOST_CALL
from jubango.sgf_games.compute.pallas_kernels import TRITON_CALLS

OURS = "jubango."
PACKAGE = "jubango"
LIBRARIES = "jax", "jaxlib", "numpy"
OLD = 30 * 86_400  # seconds after which what other versions of the code have left is thrown away
LEAF = 0
# What the next version of JAX may not know: programs are kept for this one alone.
OWN_CALLS = [export.DisabledSafetyCheck.custom_call(name) for name in (*TRITON_CALLS, HOST_CALL)]
MARK = b"traced by jubango\n"  # every file begins with it


def traced(function: Callable[..., Any], parts: object, places: dict[str, Any]) -> Callable[..., Any]:
    """``function`` as it was traced before, here or in another process; itself, if ``parts`` says too little.

    parts: what it is made of besides its code, its name first. places: the shardings that ``jax.jit`` is given, without
    which it is for a CPU alone: who computes on several kinds of devices may hand it arrays of either.
    """
    name = identity(parts)
    if name is None or not (places or machine.on_cpu()):
        return function

    def program(*args: Any) -> Any:  # is itself being traced: the shapes are known
        leaves, tree = jax.tree.flatten(args)
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in map(jax.typeof, leaves)]
        path = _path(f"{name} {places} {tree} {shapes}", code)
        if path is None:
            return function(*args)
        found = _read(path)
        if found is None:
            try:
                with tracing():
                    made = export.export(jax.jit(function, **places), disabled_checks=OWN_CALLS)(
                        *jax.tree.unflatten(tree, shapes)
                    )
            except Exception:  # what is wrong with the function it says by itself; some programs cannot be exported
                return function(*args)
            found = _flat(made), made.out_tree
            _write(path, *found)
            found = _read(path) or found  # as every later process has it, and without what tracing has left
        exported, out = found
        return jax.tree.unflatten(out, exported.call(*leaves))

    code = _deciding(function, name)
    program.__name__ = function.__name__ if hasattr(function, "__name__") else "program"
    return program


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Without the lines of code that each operation comes from: a third of what is written down and compiled would be
    these. And without Python's garbage collector, which takes a fifth of the time and finds nothing. Both settings are
    the whole process's; of several threads the last one restores them."""
    now: Any = jax.config
    with _changing:
        if not _tracing:
            _tracing.append((now.jax_traceback_in_locations_limit, gc.isenabled()))
            now.update("jax_traceback_in_locations_limit", 0)
            gc.disable()
        _tracing.append(None)
    try:
        yield
    finally:
        with _changing:
            _tracing.pop()
            if len(_tracing) == 1 and (before := _tracing.pop()):
                now.update("jax_traceback_in_locations_limit", before[0])
                if before[1]:
                    gc.enable()


_changing = threading.Lock()
_tracing: list[tuple[int, bool] | None] = []  # what the settings were, and an item for everybody who traces


def identity(value: object) -> str | None:
    """A text that is another for every other value; None if there is something in it that is not ours."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return repr(value)
    where = f"{kind.__module__}.{kind.__qualname__}"
    if not kind.__module__.startswith(OURS) and kind not in (tuple, list):
        return None
    if isinstance(value, enum.Enum):
        return f"{where}.{value.name}"
    if dataclasses.is_dataclass(value):
        inner = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, tuple | list):
        inner = [*value]
    elif hasattr(kind, "__slots__") or getattr(value, "__dict__", {}):
        return None
    else:
        inner = []
    parts = [identity(part) for part in inner]
    foreign = None in parts or getattr(value, "foreign", False)
    return None if foreign else f"{where}({', '.join(map(str, parts))})"


def _deciding(function: Callable[..., Any], name: str) -> frozenset[str]:
    """The floors (``jubango.bots``, ...) whose code decides a program: that of the function, those of its parts, and
    those which they import from. What a function calls that is not ours nobody knows: all of them."""
    while inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None):  # of vmap, of a partial
        function = inner
    module = getattr(function, "__module__", None) or ""
    if not module.startswith(OURS):
        return frozenset((PACKAGE,))
    return _needed(frozenset(re.findall(rf"\b{OURS}\w+", f"{module} {name}")))


@functools.cache
def _needed(floors: frozenset[str]) -> frozenset[str]:
    """These and all that they import from."""
    found, left = set[str](), set(floors)
    while left:
        floor = left.pop()
        found.add(floor)
        texts = (path.read_text("utf-8") for path in _folder_sources(floor))
        left |= {f"{OURS}{name}" for text in texts for name in _IMPORT.findall(text)} - found
    return frozenset(found)


_IMPORT = re.compile(rf"^\s*(?:from|import) {PACKAGE}\.(\w+)", re.MULTILINE)


def _path(program: str, floors: frozenset[str]) -> Path | None:
    """Where it is kept; nowhere, if JAX is to keep nothing either, or if nobody knows the code that runs."""
    config: Any = jax.config
    if not config.jax_enable_compilation_cache or config.jax_default_device is not None:
        return None
    code = _code(floors)
    if code is None or not _unchanged(floors):
        return None
    name = hashlib.sha256("\n".join([program, *_circumstances()]).encode()).hexdigest()[:32]
    folder = cache_folder("traced", code)
    return folder and folder / name


def _circumstances() -> list[str]:
    """What decides a program besides our code and what it is made of."""
    besides = "cache", "debug", "traceback"  # in the names of those that change no program
    settings = {key: value for key, value in jax.config.values.items() if not any(word in key for word in besides)}
    environment = [os.environ.get("XLA_FLAGS", ""), machine.processor() if machine.on_cpu() else f"{machine.suited()}"]
    device = machine.present()[0]
    return [f"{settings}", *environment, f"{device.platform} {device.device_kind} {len(machine.present())}"]


@functools.cache
def _code(floors: frozenset[str]) -> str | None:
    """The digest of the code of these floors and of what makes programs of it."""
    digest = hashlib.sha256(" ".join(map(importlib.metadata.version, LIBRARIES)).encode())
    sources = _sources(floors)
    for path in sources:
        digest.update(f"{path.parent.name} {path.name} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16] if sources else None


@functools.cache
def _sources(floors: frozenset[str]) -> tuple[Path, ...]:
    """Nothing where a floor is in an archive."""
    found = [_folder_sources(floor) for floor in sorted(floors)]
    return tuple(path for own in found for path in own) if all(found) else ()


@functools.cache
def _folder_sources(package: str) -> tuple[Path, ...]:
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return tuple(sorted(Path(folders[0]).resolve().rglob("*.py"))) if folders else ()


def _unchanged(floors: frozenset[str]) -> bool:
    """Is the code on the disk what this process has loaded?"""
    began = psutil.Process().create_time()
    try:
        return all(max(stat.st_mtime, stat.st_ctime) < began for stat in map(Path.stat, _sources(floors)))
    except OSError:
        return False


def _flat(exported: export.Exported) -> export.Exported:
    """The same between plain tuples of arrays: JAX knows no way to write down others."""
    arguments: Any = tuple([LEAF] * len(exported.in_avals)), {}
    results: Any = tuple([LEAF] * len(exported.out_avals))
    return dataclasses.replace(exported, in_tree=jax.tree.structure(arguments), out_tree=jax.tree.structure(results))


def _read(path: Path) -> tuple[export.Exported, jax.tree_util.PyTreeDef] | None:
    """What is kept there, if it is whole."""
    with contextlib.suppress(Exception):  # whatever it is: the program is traced again
        mark, digest, content = _split(read_own(path))
        if mark == MARK and hashlib.sha256(content).digest() == digest:
            (length,) = struct.unpack("<I", content[:4])
            out = jax.tree.structure(_built(json.loads(content[4 : 4 + length])))
            return export.deserialize(bytearray(zlib.decompress(content[4 + length :]))), out
    return None


def _split(whole: bytes) -> tuple[bytes, bytes, bytes]:
    """(mark, digest, content) of a file."""
    return whole[: len(MARK)], whole[len(MARK) : len(MARK) + 32], whole[len(MARK) + 32 :]


def _write(path: Path, exported: export.Exported, out: jax.tree_util.PyTreeDef) -> None:
    """Keep it, whole or not at all."""
    with contextlib.suppress(Exception):  # what cannot be written down, or not there, is not kept
        tree = json.dumps(_described(jax.tree.unflatten(out, [LEAF] * out.num_leaves))).encode()
        content = struct.pack("<I", len(tree)) + tree + zlib.compress(exported.serialize(), 1)
        os.utime(path.parent)
        _throw_away(path.parent)
        number, new = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(MARK + hashlib.sha256(content).digest() + content)
            os.replace(new, path)
        except BaseException:
            os.unlink(new)
            raise


def _throw_away(own: Path) -> None:
    """What other versions of the code left long ago; ``own`` is the folder of this one. Only files that are named and
    begin as :func:`_write` has it, and the folders that hold nothing else."""
    for other in own.parent.iterdir():
        with contextlib.suppress(OSError):
            found = other.lstat()
            named = re.fullmatch("[0-9a-f]{16}", other.name) and stat.S_ISDIR(found.st_mode)
            if named and time.time() - found.st_mtime > OLD:
                _empty(other)


def _empty(folder: Path) -> None:
    ours = False
    for path in folder.iterdir():
        named = re.fullmatch(r"[0-9a-f]{32}(\.\w+\.new)?", path.name)
        if named and stat.S_ISREG(path.lstat().st_mode) and _marked(path, unfinished=named[1] is not None):
            path.unlink()
            ours = True
    if ours:
        folder.rmdir()  # if that was all


def _marked(path: Path, unfinished: bool) -> bool:
    """Does it begin as ours do? One that is ``unfinished`` may end within the mark."""
    with path.open("rb") as file:
        found = file.read(len(MARK))
    return found == MARK or (unfinished and MARK.startswith(found))


def _described(tree: Any) -> Any:
    """A pytree for JSON. Raises ValueError for one of classes that are not ours."""
    if tree is None or (tree == LEAF and isinstance(tree, int)):
        return tree
    if isinstance(tree, dict):
        return {"dict": {key: _described(value) for key, value in tree.items()}}
    kind = type(tree)
    if hasattr(kind, "_fields") and kind.__module__.startswith(OURS):
        return {"class": f"{kind.__module__}:{kind.__qualname__}", "of": [_described(part) for part in tree]}
    if kind in (tuple, list):
        return {kind.__name__: [_described(part) for part in tree]}
    raise ValueError(f"{kind} is not ours")


def _built(tree: Any) -> Any:
    """:func:`_described` undone. Raises ValueError, ImportError, AttributeError."""
    if tree is None or tree == LEAF:
        return tree
    if "dict" in tree:
        return {key: _built(value) for key, value in tree["dict"].items()}
    if "class" in tree:
        module, _, name = tree["class"].partition(":")
        if not module.startswith(OURS):
            raise ValueError(tree["class"])
        return getattr(importlib.import_module(module), name)(*map(_built, tree["of"]))
    return [*map(_built, tree["list"])] if "list" in tree else tuple(map(_built, tree["tuple"]))
