"""Networks whose convolutions are in eight bits, evaluated by onnxruntime: faster on processors with VNNI.

Weights have a scale for each channel that a convolution makes; what goes into it and what comes out have one, found on
positions of the game (the 99.99th percentile). All else is float32: pooling, the heads, the sums of the blocks. So
outputs are nearly those of float32, and the same in every batch.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.networks.int8 import graph
from jubango.bots.networks.shape import Outputs, Shape
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.compute.cache import cache_folder, read_own
from jubango.sgf_games.compute.host_call import add, host_call
from jubango.sgf_games.compute.machine import on_cpu, processor
from jubango.sgf_games.rules.game import Game

if TYPE_CHECKING:
    import onnxruntime

QUANTISE = Path(__file__).with_name("quantise.py")
POSITIONS = 1024  # on which scales are found
VNNI = {"avx512_vnni", "avx_vnni"}  # instructions that add products of eight bits to 32
_making = threading.Lock()
_numbers: dict[str, np.ndarray] = {}  # of sessions, by the digests of what they were made of


def number_of(
    shape: Shape, weights: Mapping[str, jax.Array], game: Game, positions: Callable[[], np.ndarray]
) -> np.ndarray:  # fmt: skip
    """int32 [1]: what :func:`apply` takes for these weights and this game, as long as this process lives.

    positions: float32 [N, H, W, C], planes of positions as they occur; asked for where the cache has no scales.

    Raises UserError as :func:`check`, and where the libraries cannot do it.
    """
    check()
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    digest = _digest(shape, arrays, game)
    with _making:
        if digest not in _numbers:
            model = kept = _kept(digest)
            if model is None:
                model = _quantised(shape, arrays, game, positions())
            number = _number(model)
            if kept is None:
                _keep(digest, model)
            _numbers[digest] = number
    return _numbers[digest]


def passing_number_of(
    shape: Shape, weights: Mapping[str, jax.Array], game: Game, positions: Callable[[], np.ndarray]
) -> np.ndarray:  # fmt: skip
    """The same for weights that others will soon replace: nothing is kept, and
    :func:`jubango.sgf_games.compute.host_call.remove` forgets the number."""
    check()
    return _number(_quantised(shape, {name: np.asarray(value) for name, value in weights.items()}, game, positions()))


def check() -> None:
    """Raises UserError without onnx and onnxruntime, where they do not work, and where there are other devices than
    CPUs."""
    if not on_cpu():
        raise UserError("precision=int8: is for CPUs; on a GPU there is precision=bfloat16")
    for package in ("onnx", "onnxruntime"):
        need(package)
        try:
            importlib.import_module(package)
        except Exception as error:  # whatever it is that a library's own parts do not like
            raise _cannot(f"{package} cannot be imported: {error}") from None


def apply(
    shape: Shape, number: jax.Array, planes: jax.Array, actions: int, asked: jax.Array | None = None
) -> Outputs:  # fmt: skip
    """The network that has this ``number``: [B, H, W, C] -> its outputs, float32. Raises UserError for weights in its
    place.

    asked: bool [B], the positions that it is asked for; by default all. Of the others it says 0, and they take no time.
    """
    if not hasattr(number, "dtype") or number.dtype != np.int32 or number.shape != (1,):
        raise UserError("a network with precision=int8 takes what its in_int8(game, weights) returns, not its weights")
    batch, height, width, _ = planes.shape
    sizes: list[tuple[int, ...]] = [(batch, actions), (batch, 3)]
    if shape.scores:
        sizes += [(batch, height, width), (batch,)]
    wanted = jnp.ones(batch, jnp.float32) if asked is None else asked.astype(jnp.float32)
    policy, outcome, *more = host_call(number, sizes, planes, wanted)
    nothing = jnp.zeros((batch, height, width), jnp.float32), jnp.zeros(batch, jnp.float32)
    ownership, score = more or nothing
    return Outputs(policy, outcome, ownership, score)


def of_asked(
    evaluate: Callable[[np.ndarray], Sequence[np.ndarray]], planes: np.ndarray, asked: np.ndarray
) -> list[np.ndarray]:  # fmt: skip
    """What :func:`apply` calls: ``evaluate`` of the positions that are asked for, and 0 of the others."""
    rows = np.flatnonzero(asked)
    if len(rows) == len(planes):
        return [*evaluate(planes)]
    found = evaluate(planes[rows] if len(rows) else planes[:1])
    results = [np.zeros((len(planes), *values.shape[1:]), values.dtype) for values in found]
    for result, values in zip(results, found, strict=True):
        result[rows] = values[: len(rows)]
    return results


def _run(session: onnxruntime.InferenceSession, planes: np.ndarray) -> Sequence[np.ndarray]:
    found: Sequence[np.ndarray] = session.run(None, {graph.INPUT: planes})
    return found


def _number(model: bytes) -> np.ndarray:
    return add(functools.partial(of_asked, functools.partial(_run, _session(model))))


def _session(model: bytes) -> onnxruntime.InferenceSession:
    """On one core: every device of JAX has a batch of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    if not VNNI & set(processor().split()):  # sums of products would overflow; with VNNI this way is as slow as float32
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many of its own
        raise _cannot(f"onnxruntime {onnxruntime.__version__} does not take the network: {error}") from None


def _quantised(shape: Shape, weights: Mapping[str, np.ndarray], game: Game, planes: np.ndarray) -> bytes:
    """Raises UserError where that cannot be done."""
    import onnx

    height, width, _ = game.observation_shape
    model, stay = graph.graph(shape, weights, height, width)
    with contextlib.ExitStack() as afterwards:
        try:
            folder = Path(afterwards.enter_context(tempfile.TemporaryDirectory()))
        except OSError as error:
            raise _cannot(f"a temporary folder is wanted: {error.strerror}") from None
        onnx.save(model, folder / "before.onnx")
        arrays: dict[str, Any] = {graph.INPUT: planes}
        np.savez(folder / "input.npz", **arrays)
        words = [sys.executable, "-P", str(QUANTISE), str(folder), *stay]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
            why = " ".join(said[-2:]) or f"exit status {done.returncode}"
            if done.returncode < 0:
                why = f"ended by {signal.Signals(-done.returncode).name} (perhaps there is too little memory)"
            raise _cannot(f"onnxruntime could not make the network: {why}")
        return (folder / "after.onnx").read_bytes()


def _cannot(why: str) -> UserError:
    return UserError(f"precision=int8: {printable(' '.join(why.split())[:300])}")


def _digest(shape: Shape, weights: Mapping[str, np.ndarray], game: Game) -> str:
    """Of what decides a quantised network but the positions, the code and the libraries among it."""
    import onnx
    import onnxruntime

    digest = hashlib.sha256(f"{shape} {game.spec} {onnx.__version__} {onnxruntime.__version__}".encode())
    for code in (__file__, graph.__file__, str(QUANTISE)):
        digest.update(Path(code).read_bytes())
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].tobytes())
    return digest.hexdigest()[:32]


def _path(digest: str) -> Path | None:
    folder = cache_folder("int8")
    return folder and folder / digest


def _kept(digest: str) -> bytes | None:
    """The model, if the file is whole: it begins with its SHA-256."""
    path = _path(digest)
    with contextlib.suppress(OSError):
        whole = read_own(path) if path else b""
        if hashlib.sha256(whole[32:]).digest() == whole[:32]:
            return whole[32:]
    return None


def _keep(digest: str, model: bytes) -> None:
    path = _path(digest)
    if path is None:
        return
    with contextlib.suppress(OSError):
        number, new = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(hashlib.sha256(model).digest() + model)
            os.replace(new, path)
        except BaseException:
            os.unlink(new)
            raise
