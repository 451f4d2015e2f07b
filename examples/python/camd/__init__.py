# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Frames of a camd of this host, read where they lie, through the client in C.

    cc -shared -fPIC -O2 clients/c/camd.c -o examples/python/camd/libcamd.so -ldl

    with camd.Subscription("test/color") as sub:
        for frame in sub:                  # given back at the next turn
            image = frame.array()          # NumPy, read only, no copy
            print(frame.sequence, image.mean())

A frame that is released hands out no more arrays. Those that were handed out stay
right: the daemon gets the frame back when it is released and the last array (or
slice, or tensor) of it is gone, in CPython at once. A frame that is lost without a
release is told as a ResourceWarning (python3 -X dev shows those).

It needs Linux, CPython 3.9 or newer, and NumPy for Frame.array only.
"""

import ctypes
import os
import time
import warnings
import weakref

from ._errors import (
    Busy, Error, Evicted, Gone, GPUError, Invalid, NoDaemon, NotAvailable, NotPermitted, NotReady, ProtocolError, Released, Timeout,
    UnknownStream, error,
)
from ._frame import Connection, Frame, Lease
from ._library import camd_options, load

__all__ = [
    "CUDA", "DISCONTINUITY", "PATTERN", "REPLAYED", "SHM", "Busy", "Error", "Evicted", "Frame", "Gone", "GPUError", "Invalid", "NoDaemon",
    "NotAvailable", "NotPermitted", "NotReady", "ProtocolError", "Released", "Subscription", "Timeout", "UnknownStream", "load",
]

SHM, CUDA = 1, 2  # paths, see accept and require
DISCONTINUITY, REPLAYED, PATTERN = 1, 2, 4  # Frame.flags

# A wait lasts so long at a time: a signal's handler runs in between, and what
# other threads gave back goes back.
_SLICE_MS = 100


class Subscription:
    """A subscription to "camera/stream".

    accept is the paths that the program can use, the best one is taken; require
    takes no other. credit is how many frames may be held, arrays of released ones
    included, 1 to 16. timeout is for the hand-shake, in seconds; Ctrl-C waits for that.
    Calls of several threads wait for each other, up to 0.1 s. close, or the end of with,
    leaves arrays that are still there readable: the connection ends with the last."""

    _connection = None

    def __init__(self, stream, *, accept=SHM, require=0, credit=2, timeout=5.0, runtime_dir=None, name=None, cuda_library=None, library=None):
        lib = load(library)
        dir_, cuda = (None if p is None else os.fsencode(p) for p in (runtime_dir, cuda_library))
        options = camd_options(
            runtime_dir=dir_, accept=accept | require, require=require, credit=credit, timeout_ms=max(1, int(timeout * 1000)),
            name=None if name is None else name.encode(), cuda_library=cuda,
        )
        self.stream, self._frames = stream, weakref.WeakSet()
        pointer = ctypes.c_void_p()
        status = lib.camd_open(pointer, stream.encode(), options)
        if not pointer:
            raise error(lib, status)
        connection = Connection(lib, pointer)
        connection.check(status)
        self._connection = connection

    def _open(self):
        if self._connection is None:
            raise Gone(f"the subscription to {self.stream} was closed")
        return self._connection

    def _text(self, function):
        connection = self._open()
        return connection.call(getattr(connection.lib, function)).decode()

    @property
    def path(self):
        """How the frames come: "cuda" or "shm", "" after the end."""
        return self._text("camd_path")

    @property
    def reason(self):
        """Why a better path was not taken, or the connection ended, as a word of docs/errors.md."""
        return self._text("camd_reason")

    @property
    def detail(self):
        """The same as a sentence."""
        return self._text("camd_detail")

    @property
    def device(self):
        """The number of the frames' GPU in this process, -1 on the path shm."""
        connection = self._open()
        return connection.call(connection.lib.camd_device, None)

    @property
    def stats(self):
        """The counts of camd_stats as a dict."""
        connection = self._open()
        s = connection.call(connection.lib.camd_get_stats)
        return {name: getattr(s, name) for name, *_ in s._fields_}

    def next(self, timeout=None):
        """The newest frame that was not had yet. Waits for it up to timeout seconds,
        None = as long as it takes. Timeout, Busy, Gone, Evicted, GPUError …"""
        connection = self._open()
        connection.raise_failure()
        lease = Lease(connection)  # there before the frame is: whatever comes between, it goes back
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE_MS if deadline is None else min(_SLICE_MS, max(0, round((deadline - time.monotonic()) * 1000)))
            status = connection.call(connection.lib.camd_next, lease.c, left)
            if status == 0:
                frame = Frame(self.stream, lease)
                self._frames.add(frame)
                return frame
            if status != Timeout.status or left == 0:
                connection.check(status)

    def poll(self):
        """Gives back frames whose GPU work is complete, and returns of how many it is
        not. Each call of next does that too."""
        connection = self._open()
        n = connection.call(connection.lib.camd_poll)
        connection.check(n)
        return n

    def __iter__(self):
        while True:
            with self.next() as frame:
                yield frame

    def close(self):
        connection, self._connection = self._connection, None
        if connection is None:
            return
        for frame in list(self._frames):
            if frame._lease is not None:
                frame._lease = None
                warnings.warn(f"{frame!r} was not released before its subscription was closed", ResourceWarning, source=frame)
        connection.raise_failure()

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if self._connection is not None:
            self._connection = None
            warnings.warn(f"the subscription to {self.stream} was not closed", ResourceWarning, source=self)
