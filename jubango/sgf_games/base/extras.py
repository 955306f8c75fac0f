"""What is installed on request only, by an extra of the package."""

from __future__ import annotations

import importlib.util

from jubango.sgf_games.base.errors import UserError

# What each of these packages is for, and the extra that brings it.
EXTRAS = {
    "matplotlib": ("pictures", "plots"),
    "onnx": ("precision=int8", "int8"),
    "onnxruntime": ("precision=int8", "int8"),
    "optax": ("training", "train"),
    "pyarrow": ("Parquet", "parquet"),
    "ray": ("Ray clusters", "cluster"),
}


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def need(package: str, where: str = "") -> None:
    """Raises UserError, with the extra to install, if a package is not there. ``where``: what the line begins with."""
    if not installed(package):
        what, extra = EXTRAS[package]
        needs = "needs" if what[-1] != "s" else "need"
        raise UserError(f"{where}{': ' * bool(where)}{what} {needs} {package}: pip install 'jubango[{extra}]'")
