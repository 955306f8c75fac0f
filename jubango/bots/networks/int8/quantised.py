"""Networks whose convolutions are in eight bits, evaluated by onnxruntime: on processors with VNNI twice as fast.

Weights have a scale for each channel that a convolution makes, what goes into it has one, found on positions of the
game (the 99.99th percentile). All else is float32: pooling, the heads, the sums of the blocks. So outputs are nearly
those of float32, and the same in every batch.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.networks.int8 import graph
from jubango.bots.networks.shape import Outputs, Shape
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.compute.cache import cache_folder, read_own
from jubango.sgf_games.compute.host_call import add, host_call

if TYPE_CHECKING:
    import onnxruntime

POSITIONS = 1024  # on which scales are found
BATCH = 128
PERCENTILE = 99.99
_numbers: dict[str, np.ndarray] = {}  # of sessions, by the digests of what they were made of


def number_of(
    shape: Shape, weights: Mapping[str, jax.Array], height: int, width: int, positions: Callable[[], np.ndarray]
) -> np.ndarray:
    """int32 [1]: what :func:`apply` takes for these weights on boards of this size, in this process.

    positions: float32 [POSITIONS, H, W, C], planes of positions as they occur; asked for where the cache has no scales.

    Raises UserError without onnx and onnxruntime.
    """
    for package in ("onnx", "onnxruntime"):
        need(package)
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    digest = _digest(shape, arrays, height, width)
    if digest not in _numbers:
        model = _kept(digest)
        if model is None:
            model = _quantised(*graph.graph(shape, arrays, height, width), positions())
            _keep(digest, model)
        _numbers[digest] = add(functools.partial(_run, _session(model)))
    return _numbers[digest]


def apply(shape: Shape, number: jax.Array, planes: jax.Array, actions: int) -> Outputs:
    """The network that has this ``number``: [B, H, W, C] -> its outputs, float32."""
    batch, height, width, _ = planes.shape
    sizes: list[tuple[int, ...]] = [(batch, actions), (batch, 3)]
    if shape.scores:
        sizes += [(batch, height, width), (batch,)]
    policy, outcome, *more = host_call(number, sizes, planes)
    nothing = jnp.zeros((batch, height, width), jnp.float32), jnp.zeros(batch, jnp.float32)
    ownership, score = more or nothing
    return Outputs(policy, outcome, ownership, score)


def _run(session: onnxruntime.InferenceSession, planes: np.ndarray) -> Sequence[np.ndarray]:
    found: Sequence[np.ndarray] = session.run(None, {graph.INPUT: planes})
    return found


def _session(model: bytes) -> onnxruntime.InferenceSession:
    """On one core: every device of JAX has a batch of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _quantised(model: Any, heads: list[str], planes: np.ndarray) -> bytes:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{graph.INPUT: planes[i : i + BATCH]} for i in range(0, len(planes), BATCH)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder, _quiet():
        import onnx

        before, after = (os.path.join(folder, name) for name in ("before.onnx", "after.onnx"))
        onnx.save(model, before)
        quantize_static(
            before, after, Reader(), quant_format=QuantFormat.QDQ, op_types_to_quantize=["Conv"], per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=heads,
            calibrate_method=CalibrationMethod.Percentile, extra_options={"CalibPercentile": PERCENTILE},
        )  # fmt: skip
        return Path(after).read_bytes()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the quantiser prints and logs of its progress."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(None):
            yield
    finally:
        logging.disable(before)


def _digest(shape: Shape, weights: Mapping[str, np.ndarray], height: int, width: int) -> str:
    """Of all that decides a quantised network, the code and the library among it."""
    import onnx
    import onnxruntime

    digest = hashlib.sha256(f"{shape} {height} {width} {onnx.__version__} {onnxruntime.__version__}".encode())
    for code in (__file__, graph.__file__):
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
