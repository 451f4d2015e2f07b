# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Uses examples/python in every way, right and wrong, for python_test.go, which
says by arguments what and with which daemon. Ends with an exception where
something is not as it must be."""

import ctypes
import gc
import os
import re
import sys
import threading
import time
import tracemalloc
import warnings

import camd
import numpy
from camd._frame import _describe
from camd._library import camd_frame, camd_plane


def raises(kind, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as e:
        return str(e)
    raise AssertionError(f"no {kind.__name__}")


def mappings():
    """(first, last, permissions, name) of each mapping of the process."""
    with open("/proc/self/maps") as f:
        for line in f:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            yield int(m[1], 16), int(m[2], 16), m[3], m[4]


def numbers(rows):
    """The frame's number at the start of each row of the pattern."""
    return numpy.ascontiguousarray(rows.reshape(len(rows), -1)[:, :8]).view("<u8").ravel()


def host(directory):
    with camd.Subscription("test/color", runtime_dir=directory) as sub:
        assert sub.path == "shm" and sub.device == -1
        last = 0
        for frame in sub:
            image = frame.array()
            assert (image.shape, image.dtype, image.strides) == ((480, 640, 4), numpy.uint8, (2560, 4, 1)), image.__array_interface__
            assert (frame.width, frame.height, frame.encoding, len(frame.session)) == (640, 480, "bgra8", 16)
            assert frame.flags & camd.PATTERN and frame.sequence > last and frame.capture_ns <= frame.ready_ns <= frame.held_ns
            assert (numbers(image) == frame.driver_sequence).all() and frame.valid
            # Where the daemon wrote it, and not to be written here.
            first, end = image.ctypes.data, image.ctypes.data + image.nbytes
            inside = [m for m in mappings() if m[0] <= first and end <= m[1]]
            assert len(inside) == 1 and inside[0][2] == "r--s" and "memfd:" in inside[0][3], inside
            raises(ValueError, image.setflags, write=True)
            last = frame.sequence
            if sub.stats["taken"] == 60:
                break
        # Nothing of a frame's 1.2 MB is ever allocated.
        tracemalloc.start()
        for frame in sub:
            assert numbers(frame.array())[-1] == frame.driver_sequence
            if sub.stats["taken"] == 120:
                break
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 64 << 10, peak
    del image
    gc.collect()
    assert not any("memfd:camd" in m[3] for m in mappings())


def misuse(directory):
    caught = warnings.catch_warnings(record=True)
    said = caught.__enter__()
    warnings.simplefilter("always")

    sub = camd.Subscription("test/color", runtime_dir=directory)
    held = lambda: sub.stats["held"]  # noqa: E731
    a = sub.next()
    view = a.array()[10:20, :99]
    a.release()
    for use in (a.release, a.array, a.__enter__, lambda: a.valid):
        assert "was released" in raises(camd.Released, use)
    assert held() == 1 and (numbers(view) == a.driver_sequence).all()  # the array has it still
    del view
    assert held() == 0
    raises(AttributeError, lambda: a.host)
    raises(ValueError, sub.next().cuda, 7)  # in host memory; and lost without a release
    assert len(said) == 1 and issubclass(said[0].category, ResourceWarning) and "was not released" in str(said[0].message)
    assert held() == 0  # though the warning that is kept has the frame as its source

    # As many as the credit allows, arrays of released frames included.
    b, c = sub.next(), sub.next()
    image = b.array()
    raises(camd.Busy, sub.next, 1)
    b.release()
    raises(camd.Busy, sub.next, 1)
    del image
    d = sub.next()
    c.release()
    d.release()
    raises(camd.Timeout, sub.next, 0)

    # What a thread gives back while another one waits goes back.
    e = sub.next()
    pixels = [e.array()]
    e.release()
    done = threading.Event()

    def wait():
        for _ in range(3):
            sub.next().release()
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    pixels.clear()
    thread.join()
    assert done.is_set() and held() == 0

    # A child of fork leaves the parent's subscription alone.
    f = sub.next()
    pid = os.fork()
    if pid == 0:
        try:
            raises(RuntimeError, sub.next)
            del f
            gc.collect()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert f.valid
    assert len(said) == 1, [str(w.message) for w in said]

    # Arrays outlive the subscription; frames do not.
    image = f.array()
    sub.close()
    sub.close()
    assert len(said) == 2 and "before its subscription was closed" in str(said[1].message)
    raises(camd.Gone, sub.next)
    raises(camd.Released, f.array)
    assert (numbers(image) == f.driver_sequence).all()
    del image
    assert not any("memfd:camd" in m[3] for m in mappings())
    camd.Subscription("test/color", runtime_dir=directory)
    assert len(said) == 3 and "was not closed" in str(said[2].message)
    caught.__exit__(None, None, None)

    assert not raises(camd.UnknownStream, camd.Subscription, "test/depth", runtime_dir=directory) == ""
    raises(camd.NoDaemon, camd.Subscription, "test/color", runtime_dir="/nowhere")
    raises(camd.Invalid, camd.Subscription, "test/color", runtime_dir=directory, credit=17)
    raises(camd.NotAvailable, camd.Subscription, "test/color", runtime_dir=directory, require=camd.CUDA, cuda_library="/nowhere/libcuda.so.1")
    with camd.Subscription("test/color", runtime_dir=directory, accept=camd.CUDA | camd.SHM, cuda_library="/nowhere/libcuda.so.1") as sub:
        assert sub.path == "shm" and sub.reason and sub.detail
    # At the end of the process arrays are still there.
    sub = camd.Subscription("test/color", runtime_dir=directory)
    with sub.next() as frame:
        globals()["kept"] = frame.array()
    sub.close()


def padded(directory):
    """The frame of a daemon that is made by hand: mono16, 30x16, big-endian, rows of
    100 bytes whose first sample is 1000 and the row's number."""
    with camd.Subscription("test/color", runtime_dir=directory) as sub, sub.next(10) as frame:
        image = frame.array()
        assert (image.shape, image.strides, image.dtype.str, image.flags.c_contiguous) == ((16, 30), (100, 2), ">u2", False)
        assert (image[:, 0] == 1000 + numpy.arange(16)).all(), image[:, 0]
        assert int(image[3].astype("u4").sum()) == 1003, image[3]


def shapes(file):
    """Answers descriptions of frames, a line each, with their arrays'."""
    with open(file) as f:
        lines = f.read().splitlines()
    for line in lines:
        encoding, big_endian, size, *planes = line.split()
        c = camd_frame(encoding=encoding.encode(), big_endian=int(big_endian), bytes=int(size), planes=len(planes))
        for i, p in enumerate(planes):
            c.plane[i] = camd_plane(*map(int, p.split("/")))
        answers = []
        for index in (None, *range(len(planes))):
            try:
                offset, d = _describe(c, index)
                answers.append(f"{offset} {d['typestr']} {'x'.join(map(str, d['shape']))} {','.join(map(str, d['strides']))}")
            except (ValueError, camd.ProtocolError) as e:
                answers.append(type(e).__name__)
        print(encoding, "; ".join(answers))


class Driver:
    """The calls of the CUDA driver that a program makes by itself: here in place of
    CuPy or PyTorch, which need a GPU."""

    def __init__(self, library):
        self._lib, self._context = ctypes.CDLL(library), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)
        self("cuCtxSetCurrent", self._context)
        self.stream = ctypes.c_void_p()
        self("cuStreamCreateWithPriority", ctypes.byref(self.stream), 1, 0)
        self._buffers = []

    def __call__(self, name, *arguments):
        status = getattr(self._lib, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def pinned(self, shape):
        p, n = ctypes.c_void_p(), int(numpy.prod(shape))
        self("cuMemHostAlloc", ctypes.byref(p), ctypes.c_size_t(n), 0)
        self._buffers.append(p)
        return numpy.ctypeslib.as_array((ctypes.c_uint8 * n).from_address(p.value)).reshape(shape)

    def copy(self, to, memory):
        """Queues what __cuda_array_interface__ describes, to be read by the host later."""
        d = memory.__cuda_array_interface__
        assert d["strides"] == to.strides and d["shape"] == to.shape
        self("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(to.ctypes.data), ctypes.c_uint64(d["data"][0]), ctypes.c_size_t(to.nbytes), self.stream)

    def wait(self):
        self("cuStreamSynchronize", self.stream)

    def close(self):
        self.wait()
        self("cuStreamDestroy_v2", self.stream)
        for p in self._buffers:
            self("cuMemFreeHost", p)
        self("cuCtxSetCurrent", None)
        self("cuDevicePrimaryCtxRelease_v2", 0)


def device(directory, library, how):
    """Reads frames on a GPU by copies that are queued on a stream, and gives them
    back while those are under way."""
    cu = Driver(library)
    handle = cu.stream.value

    class OfPyTorch:
        cuda_stream = handle

    class OfCuPy:
        ptr = handle

    class OfCore:
        def __cuda_stream__(self):
            return 0, handle

    targets = [cu.pinned((480, 640, 4)) for _ in range(2)]
    waiting = [None, None]
    with camd.Subscription("test/color", runtime_dir=directory, require=camd.CUDA, cuda_library=library) as sub:
        assert sub.path == "cuda" and sub.device == 0
        for n, frame in enumerate(sub):
            memory = frame.cuda((handle, OfPyTorch, OfCuPy(), OfCore())[n % 4])
            if n == 0:
                misuse_on_gpu(frame, handle, memory.__cuda_array_interface__)
            if waiting[n % 2] is not None:
                cu.wait()
                assert (numbers(targets[n % 2]) == waiting[n % 2]).all()
            cu.copy(targets[n % 2], memory)
            waiting[n % 2] = frame.driver_sequence
            if how == "unordered":  # as if nobody had said which stream reads it
                frame._lease.stream = None
            frame.release()
            raises(camd.Released, frame.cuda, handle)
            del memory  # goes back behind the copy
            if n == 59:
                break
        cu.wait()
        until = time.monotonic() + 20
        while sub.poll() > 0:  # the mark behind the copy may be told a moment after it
            assert time.monotonic() < until
    if how == "ordered":
        kept = after_close(directory, library, handle)
        gc.collect()
        assert kept() is None
    cu.close()


def misuse_on_gpu(frame, handle, d):
    assert d == {
        "shape": (480, 640, 4), "typestr": "|u1", "strides": (2560, 4, 1), "data": (d["data"][0], False), "version": 3, "stream": None,
    }, d
    assert d["data"][0] == frame._c.device
    again = frame.cuda(handle, readonly=True).__cuda_array_interface__
    assert again["data"] == (d["data"][0], True)
    for default in (0, 1, 2):
        raises(ValueError, frame.cuda, default)
    assert "one stream" in raises(ValueError, frame.cuda, handle + 8)
    raises(ValueError, frame.array)


def after_close(directory, library, handle):
    """An array that outlives its subscription; its memory stays until it is gone."""
    import weakref

    with camd.Subscription("test/color", runtime_dir=directory, require=camd.CUDA, cuda_library=library) as sub:
        with sub.next() as frame:
            memory = frame.cuda(handle)
        connection = weakref.ref(sub._connection)
    assert connection() is not None
    raises(camd.Gone, lambda: sub.path)
    del memory, frame
    return connection


def gone(directory):
    """Waits for the end of the daemon; the array at hand stays readable."""
    sub = camd.Subscription("test/color", runtime_dir=directory)
    with sub.next() as frame:
        image = frame.array()
    print("taken", flush=True)
    try:
        while True:
            sub.next().release()
    except camd.Gone as e:
        assert e.passing and isinstance(e, camd.Error)
    assert (numbers(image) == frame.driver_sequence).all()
    sub.close()
    while True:
        try:
            with camd.Subscription("test/color", runtime_dir=directory) as again, again.next(10) as other:
                assert other.session != frame.session
                return
        except camd.Error as e:
            if not e.passing:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {f.__name__: f for f in (host, misuse, padded, shapes, device, gone)}[what](*arguments)
