# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Frames: what their samples are, and when they go back to the daemon."""

import collections
import os
import threading
import warnings

from ._errors import ProtocolError, Released, error
from ._library import camd_frame


class Connection:
    """A camd_sub, which is closed when no subscription, frame or array needs it."""

    def __init__(self, lib, pointer):
        self.lib, self.pointer = lib, pointer
        self.getpid, self.pid = os.getpid, os.getpid()  # modules are gone before the last arrays are
        self.lock = threading.Lock()  # the client in C is for one thread at a time
        self.returns = collections.deque()  # frames that are to go back, with their CUDA streams
        self.failures = collections.deque()
        self.stuck = False  # work of a GPU may be under way of which nothing tells the end

    def call(self, function, *arguments):
        if self.getpid() != self.pid:
            raise RuntimeError("a subscription cannot be used in a child of fork: open one there")
        with self.lock:
            result = function(self.pointer, *arguments)
        self.flush()
        return result

    def check(self, status):
        if status < 0:
            with self.lock:  # a name for the exception would be a cycle, which keeps the connection
                raise error(self.lib, status, self.pointer)

    def give_back(self, c, stream):
        """From any thread and from within any call, as it is called by __del__."""
        self.returns.append((c, stream))
        self.flush()

    def flush(self):
        # Who has the lock comes here behind it, so nothing is forgotten.
        while self.returns and self.getpid() == self.pid and self.lock.acquire(blocking=False):
            try:
                while self.returns:
                    self._return(*self.returns.popleft())
            finally:
                self.lock.release()

    def _return(self, c, stream):
        if stream is None:
            self.lib.camd_release(self.pointer, c)
            return
        status = self.lib.camd_release_on(self.pointer, c, stream)
        if status != 0 and status != Released.status:
            self.stuck = True
            self.failures.append(error(self.lib, status, self.pointer))

    def raise_failure(self):
        if self.failures:
            raise self.failures.popleft()

    def __del__(self):
        self.flush()
        if self.getpid() == self.pid and not self.stuck:
            self.lib.camd_close(self.pointer)


class Lease:
    """A frame's place in the daemon's memory. It goes back with the last reference:
    those of the Frame and of its arrays."""

    __slots__ = ("connection", "c", "stream")

    def __init__(self, connection):
        self.connection, self.c, self.stream = connection, camd_frame(), None

    def __del__(self):
        if self.c.lease:
            self.connection.give_back(self.c, self.stream)


class Memory:
    """What an array keeps of a frame, and what says where it is."""

    def __init__(self, lease, interface, description):
        self._lease = lease
        setattr(self, interface, description)


# What samples are, by encoding: kind and bytes as NumPy names them, and how many a
# pixel has.
_SAMPLES = {
    "rgb8": ("u1", 3), "bgr8": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4), "mono8": ("u1", 1),
    "yuv422_yuy2": ("u1", 2), "yuv422": ("u1", 2), "nv12": ("u1", 1), "nv21": ("u1", 1),
    "mono16": ("u2", 1), "16UC1": ("u2", 1), "32FC1": ("f4", 1),
    "rgb16": ("u2", 3), "bgr16": ("u2", 3), "rgba16": ("u2", 4), "bgra16": ("u2", 4),
    "y8i": ("u1", 2), "y12i": ("u1", 3),  # of both pictures; three bytes are two samples of 12 bits
}
_SAMPLES.update({f"bayer_{order}{bits}": (f"u{bits // 8}", 1) for order in ("rggb", "bggr", "gbrg", "grbg") for bits in (8, 16)})


def _describe(c, index):
    """Offset in bytes and array interface (without data) of a plane, None = of all."""
    encoding, planes = c.encoding.decode(), [c.plane[i] for i in range(c.planes)]
    if encoding not in _SAMPLES:  # compressed: a row of bytes
        return 0, {"shape": (c.bytes,), "typestr": "|u1", "strides": (1,)}
    kind, channels = _SAMPLES[encoding]
    size = int(kind[1:])
    if index is None:
        first, rows = planes[0], sum(p.rows for p in planes)
        for before, p in zip(planes, planes[1:]):
            if (p.step, p.row_bytes, p.offset) != (before.step, before.row_bytes, before.offset + before.step * before.rows):
                raise ValueError(f"the planes of this {encoding} are no one array: take array(0), array(1)")
    else:
        first = planes[index]
        rows = first.rows
        if index > 0:
            channels = 2  # pairs of chroma
    if rows == 0 or first.offset + first.step * (rows - 1) + first.row_bytes > c.bytes:
        raise ProtocolError(f"{rows} rows of {first.step} bytes in a frame of {c.bytes} bytes")
    shape, strides = (rows, first.row_bytes // (size * channels)), (first.step, size * channels)
    if channels > 1:
        shape, strides = (*shape, channels), (*strides, size)
    order = "|" if size == 1 else ">" if c.big_endian else "<"
    return first.offset, {"shape": shape, "typestr": order + kind, "strides": strides}


def _stream_handle(stream):
    """The CUstream of a number, or of a stream of CuPy, PyTorch or cuda.core."""
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    handle = int(stream)
    if handle in (0, 1, 2):
        raise ValueError("not the default stream, which makes others wait and is another one for each thread or context: create one")
    return handle


# What a frame says of itself: not where it lies, which arrays do.
_PUBLIC = {name for name, *_ in camd_frame._fields_} - {"host", "device", "lease", "plane"}


class Frame:
    """A frame that is held. Everything camd.h has of it, except where it lies, is an
    attribute: sequence, width, encoding, flags, capture_ns … They stay after release."""

    def __init__(self, stream, lease):
        self.stream, self._lease, self._c = stream, lease, lease.c
        self.on_gpu = lease.c.device != 0

    def __getattr__(self, name):
        if name not in _PUBLIC:
            raise AttributeError(f"a frame has no {name}")
        value = getattr(self._c, name)
        return value.decode() if name == "encoding" else bytes(value) if name == "session" else value

    def __repr__(self):
        return f"<camd.Frame {self.sequence} of {self.stream}, {self.width}x{self.height} {self.encoding}>"

    def _held(self):
        if self._lease is None:
            raise Released(f"frame {self.sequence} of {self.stream} was released")
        return self._lease

    def array(self, plane=None):
        """The pixels as a NumPy array that can only be read, without a copy.

        shape is (rows, columns) or (rows, columns, channels), of compressed frames
        (bytes,); strides are the frame's, so rows may be padded. nv12 without a plane
        is one array of height * 3/2 rows, as OpenCV takes it; array(0) is Y and
        array(1) the pairs of chroma. Not for frames on a GPU."""
        import numpy

        lease = self._held()
        if self.on_gpu:
            raise ValueError("the frame is in memory of a GPU: use cuda(stream), or accept=camd.SHM")
        offset, description = _describe(lease.c, plane)
        description.update(data=(lease.c.host + offset, True), version=3)
        return numpy.asarray(Memory(lease, "__array_interface__", description))

    def cuda(self, stream, plane=None, readonly=False):
        """The pixels on the GPU as an object with __cuda_array_interface__ (version 3),
        for cupy.asarray, torch.as_tensor and numba.cuda.as_cuda_array, without a copy.

        stream is where the work that reads them is queued: a number (CUstream,
        cudaStream_t), or an object of CuPy, PyTorch or cuda.core; not the default
        stream. The frame is complete: the stream has nothing to wait for. When the
        frame is released and the last array of it is gone, the end of what is then
        queued on the stream is marked, and the frame goes back when the GPU is past
        the mark. Work on other streams must be ordered before that by the program.

        The memory is to be read only, and mapped so where the GPU can. PyTorch
        refuses arrays that say so, hence the default of readonly."""
        handle, lease = _stream_handle(stream), self._held()
        if not self.on_gpu:
            raise ValueError("the frame is in host memory: use array()")
        if lease.stream not in (None, handle):
            raise ValueError("a frame is for one stream: have that wait for the others")
        offset, description = _describe(lease.c, plane)
        lease.stream = handle
        description.update(data=(lease.c.device + offset, readonly), version=3, stream=None)
        return Memory(lease, "__cuda_array_interface__", description)

    @property
    def valid(self):
        """Whether the pixels are still this frame's. The daemon takes frames back by
        force only from a program that sits on one for seconds; who does asks
        after it has read them. On a GPU, after its work is complete."""
        lease = self._held()
        return lease.connection.call(lease.connection.lib.camd_valid, lease.c) == 0

    def release(self):
        """Hands out no more arrays. The frame goes back now, or with its last array."""
        lease = self._held()
        connection = lease.connection
        self._lease = None
        del lease
        connection.raise_failure()

    def __enter__(self):
        self._held()
        return self

    def __exit__(self, *_):
        if self._lease is not None:
            self.release()

    def __del__(self):
        if self.__dict__.get("_lease") is not None:
            self._lease = None  # a warning that is kept has its source
            warnings.warn(f"{self!r} was not released", ResourceWarning, source=self)
