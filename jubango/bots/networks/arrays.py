"""Files of named arrays: safetensors, whose header states the SHA-256 of what they hold; nothing in one is executed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import check_file

LARGEST_WEIGHTS = 2**32  # bytes
HEADER = "jubango"  # of the metadata, what is ours


def packed(arrays: Mapping[str, np.ndarray], header: Mapping[str, object]) -> bytes:
    """What a file of these arrays holds; ``header``, which JSON can say, goes with them."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(value).reshape(value.shape) for name, value in sorted(arrays.items())}
    return save(arrays, metadata={HEADER: json.dumps({**header, "digest": digest(arrays)})})


def read_arrays(path: Path | str, what: str, holds: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """(the arrays, the header). ``what`` it should be and what that ``holds``, for messages. Raises UserError, one line
    that begins with ``what`` and the path, for what is cut off, altered, or no such file."""
    from safetensors import SafetensorError, safe_open

    try:
        check_file(Path(path), LARGEST_WEIGHTS)
    except UserError as error:
        raise UserError(f"{what} {error}") from None
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[HEADER])
            stated = header["digest"]
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except OSError as error:
        raise UserError(f"{what} {path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError):
        raise UserError(f"{what} {path}: is no file of this program's {holds}, or is cut off") from None
    if stated != digest(arrays):
        raise UserError(f"{what} {path}: does not hold what it was written with; the file has been altered")
    return arrays, header


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of arrays, with their names and sizes."""
    found = hashlib.sha256()
    for name, value in sorted(arrays.items()):
        found.update(f"{name} {value.dtype} {value.shape}\n".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()
