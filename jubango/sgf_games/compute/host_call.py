"""Functions of the host in the middle of a program for CPUs: a library computes there what XLA would.

A program that calls Python by ``jax.pure_callback`` holds an address of its process: it can neither be exported nor
kept on disk, and may wait for ever where all threads are busy. Here a program holds a name, of one handler in XLA's
foreign function interface, and a number among its arguments says which function is meant. The handler is handed XLA's
own arrays, which are neither copied nor waited for.

The structures are those of ``xla/ffi/api/c_api.h``, version 0.1, which later versions have only added to.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

HOST_CALL = "jubango_host_call"  # the name that programs hold
EXECUTE = 3  # the stage of a call in which its results are asked for
METADATA = 1  # the extension by which XLA asks which version the handler is of
API_VERSION = 0, 1
INTERNAL = 13  # the code of an error

Function = Callable[..., Sequence[np.ndarray]]  # of float32 arrays
_functions: dict[int, Function] = {}
_numbers = itertools.count(1 + secrets.randbelow(2**30))  # those of another process are none of ours
GOOD = 2**30 - 1  # what the body returns; neither this nor the number of an error is what happens to be returned
_error_numbers = itertools.count(2**30)


class _Base(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)]


class _Version(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]  # fmt: skip


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32)]


class _MetadataAsked(ctypes.Structure):
    _fields_ = [("base", _Base), ("metadata", ctypes.POINTER(_Metadata))]


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p), ("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]  # fmt: skip


class _Buffers(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("items", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    ]  # fmt: skip


class _ErrorArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    ]  # fmt: skip


class _Api(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("version", _Version),
        ("internal", ctypes.c_void_p), ("error_create", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorArgs))),
    ]  # fmt: skip


class _Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("api", ctypes.POINTER(_Api)),
        ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("args", _Buffers), ("rets", _Buffers),
    ]  # fmt: skip


class _Errors(dict[int, int | None]):
    """Addresses of XLA's errors by what the body has returned; None for GOOD. Of whatever else it is a new error, which
    no code of Python's makes."""

    __missing__: Any = staticmethod({}.get)
    unknown = True  # how errors are made, until the first call

    def made_by(self, api: _Api) -> None:
        lost = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, b"a function of the host was interrupted", INTERNAL)
        _Errors.__missing__ = staticmethod(functools.partial(api.error_create, lost))
        self.unknown = False


_errors = _Errors({GOOD: None})


def add(function: Function) -> np.ndarray:
    """int32 [1]: the number of ``function`` in this process, until it is removed. It is called by the threads of JAX,
    several at once, and must not use JAX."""
    _register()
    number = next(_numbers)
    _functions[number] = function
    return np.array([number], np.int32)


def remove(number: np.ndarray) -> None:
    """Forget the function of this number, which no program that runs may call any more."""
    _functions.pop(int(number[0]), None)


def host_call(number: jax.Array, shapes: Sequence[tuple[int, ...]], *args: jax.Array) -> list[jax.Array]:
    """What the function of this ``number`` (int32 [1]) returns for float32 ``args``: float32 arrays of these shapes.
    Where it raises something, the program raises jax.errors.JaxRuntimeError, or ValueError if it has run before. Under
    ``vmap`` it is called once for each. Raises TypeError for other arrays."""
    if any(own.dtype != np.float32 for own in args) or number.dtype != np.int32 or number.shape != (1,):
        raise TypeError(f"host_call: an int32 [1] and float32 arrays are wanted, not {[number, *args]}")
    _register()
    results = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    return [*jax.ffi.ffi_call(HOST_CALL, results, vmap_method="sequential")(number, *args)]


@functools.cache
def _register() -> None:
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    address = ctypes.cast(_handle, ctypes.c_void_p).value
    jax.ffi.register_ffi_target(HOST_CALL, capsule(address, None, None), platform="cpu")


def _called(address: int) -> int:
    """The body of XLA's handler: GOOD, or the number of an error in ``_errors``."""
    call = ctypes.cast(address, ctypes.POINTER(_Call))[0]
    if call.extension and ctypes.cast(call.extension, ctypes.POINTER(_Base))[0].type == METADATA:
        version = ctypes.cast(call.extension, ctypes.POINTER(_MetadataAsked))[0].metadata[0].version
        version.major, version.minor = API_VERSION
    elif call.stage == EXECUTE:
        try:
            if _errors.unknown:
                _errors.made_by(call.api[0])
            number, *args = (_view(call.args.items[i][0]) for i in range(call.args.size))
            results = [_view(call.rets.items[i][0]) for i in range(call.rets.size)]
            function = _functions.get(int(number.view(np.int32)[0]))
            if function is None:
                raise LookupError("this number is of another process, or its function has been removed")
            found = function(*args)
            for result, value in zip(results, found, strict=True):
                if np.shape(value) != result.shape:
                    raise ValueError(f"a host's function returned {np.shape(value)} for {result.shape}")
                result[...] = value
        except BaseException as error:  # Ctrl-C among them
            text = f"{type(error).__name__}: {error}".encode(errors="replace")
            made = call.api[0].error_create(_ErrorArgs(ctypes.sizeof(_ErrorArgs), None, text, INTERNAL))
            key = next(_error_numbers)
            _errors[key] = made
            return key
    return GOOD


# XLA takes what is returned for an error's address, and where Python raises something, as it may on the way into the
# body and out of it, what is returned is anything. So XLA calls the lookup of an error, in which no code of Python's
# runs, and that calls the body.
_body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_called)
_guarded: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(ctypes.cast(_body, ctypes.c_void_p).value or 0)
_guarded.restype = _errors.__getitem__
_handle = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_guarded)


def _view(buffer: _Buffer) -> np.ndarray:
    """An array of XLA's, of four bytes an element, as it lies in memory."""
    shape = tuple(buffer.dims[i] for i in range(buffer.rank))
    size = 4 * int(np.prod(shape, dtype=np.int64))
    data: Any = (ctypes.c_char * size).from_address(buffer.data or 0)
    return np.frombuffer(data, np.float32).reshape(shape)
