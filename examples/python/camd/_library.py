# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""The library that clients/c builds, by ctypes: its structures and functions."""

import ctypes
import functools
import os
import pathlib

_INT, _UNSIGNED, _U32, _U64, _I64 = ctypes.c_int, ctypes.c_uint, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64


class camd_options(ctypes.Structure):
    _fields_ = [
        ("runtime_dir", ctypes.c_char_p), ("accept", _UNSIGNED), ("require", _UNSIGNED), ("credit", _INT), ("wake", _INT),
        ("timeout_ms", _INT), ("name", ctypes.c_char_p), ("cuda_library", ctypes.c_char_p),
    ]


class camd_plane(ctypes.Structure):
    _fields_ = [("offset", _U32), ("step", _U32), ("row_bytes", _U32), ("rows", _U32)]


class camd_frame(ctypes.Structure):
    _fields_ = [
        ("host", ctypes.c_void_p), ("device", _U64), ("bytes", ctypes.c_size_t), ("width", _U32), ("height", _U32),
        ("encoding", ctypes.c_char * 16), ("bits", _U32), ("big_endian", _INT), ("planes", _U32), ("plane", camd_plane * 4),
        ("sequence", _U64), ("driver_sequence", _U64), ("epoch", _U64), ("session", ctypes.c_uint8 * 16), ("capture_ns", _I64),
        ("wall_ns", _I64), ("ready_ns", _I64), ("publish_ns", _I64), ("held_ns", _I64), ("clock", _U32), ("flags", _U32),
        ("lease", _U64),
    ]


class camd_stats(ctypes.Structure):
    _fields_ = [
        ("taken", _U64), ("missed", _U64), ("stale", _U64), ("kicks", _U64), ("sleeps", _U64), ("reconfigs", _U64),
        ("held", _INT), ("pending", _INT), ("credit", _INT),
    ]


_STRUCTURES = (camd_options, camd_plane, camd_frame, camd_stats)
_SUB, _FRAME = ctypes.c_void_p, ctypes.POINTER(camd_frame)
_FUNCTIONS = {
    "camd_open": (_INT, ctypes.POINTER(_SUB), ctypes.c_char_p, ctypes.POINTER(camd_options)),
    "camd_next": (_INT, _SUB, _FRAME, _INT),
    "camd_valid": (_INT, _SUB, _FRAME),
    "camd_release": (_INT, _SUB, _FRAME),
    "camd_release_on": (_INT, _SUB, _FRAME, ctypes.c_void_p),
    "camd_poll": (_INT, _SUB),
    "camd_path": (ctypes.c_char_p, _SUB),
    "camd_reason": (ctypes.c_char_p, _SUB),
    "camd_detail": (ctypes.c_char_p, _SUB),
    "camd_device": (_INT, _SUB, ctypes.c_void_p),
    "camd_get_stats": (camd_stats, _SUB),
    "camd_close": (None, _SUB),
    "camd_strerror": (ctypes.c_char_p, _INT),
    "camd_layout": (ctypes.c_char_p, _INT, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)),
}


def _layout_here():
    for s in _STRUCTURES:
        for name, *_ in s._fields_:
            member = getattr(s, name)
            yield f"{s.__name__}.{name}", member.offset, member.size
        yield s.__name__, 0, ctypes.sizeof(s)


def _layout_of(lib):
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    i = 0
    while name := lib.camd_layout(i, offset, size):
        yield name.decode(), offset.value, size.value
        i += 1


@functools.lru_cache(maxsize=None)
def load(path=None):
    """Opens the client in C: path, else $CAMD_LIBRARY, else libcamd.so in the
    folder of this file. OSError where there is none, ImportError where it was built from
    another camd.h than this file was written for."""
    path = path or os.environ.get("CAMD_LIBRARY") or pathlib.Path(__file__).resolve().with_name("libcamd.so")
    lib = ctypes.CDLL(os.fspath(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: build it from the clients/c of the same version") from None
        function.restype, function.argtypes = result, arguments
    own, other = list(_layout_here()), list(_layout_of(lib))
    if own != other:
        raise ImportError(f"{path} is of another version: {sorted(set(own) ^ set(other))} as member, offset, size")
    return lib
