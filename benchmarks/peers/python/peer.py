# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""The Python programs of cells; program.go says what they do. numpy fills and
reads payloads, so that both go at the speed of memory."""

import os
import socket
import sys
import threading
import time

import numpy

now = time.monotonic_ns  # CLOCK_MONOTONIC

role, variant, address = sys.argv[1:4]
size, spacing_us, warmup, count = map(int, sys.argv[4:8])
out, stop = sys.argv[8:10]


def write(cpu, span, rows):
    with open(out + ".part", "w") as f:
        f.write(f"cpu {cpu} {span}\n")
        f.writelines(" ".join(map(str, r)) + "\n" for r in rows)
    os.rename(out + ".part", out)  # whole as soon as it is there


class Publication:
    def __init__(self):
        self.source = numpy.resize((numpy.arange(64 << 10) * 7 + 1).astype(numpy.uint8), 64 << 10)
        self.noted = []
        self.cpu, self.began = time.process_time_ns(), now()

    def fill(self, payload):
        """Writes every byte of an array of uint8."""
        for at in range(0, size, len(self.source)):
            part = payload[at : at + len(self.source)]
            part[:] = self.source[: len(part)]

    @staticmethod
    def stamp(payload):
        t = now()
        payload[:8] = numpy.frombuffer(t.to_bytes(8, "little"), numpy.uint8)
        return t

    def next(self, stamp):
        self.noted.append((stamp, now()))
        if len(self.noted) >= count or os.path.exists(stop):
            return False
        time.sleep(spacing_us / 1e6)
        return True

    def end(self):
        write(time.process_time_ns() - self.cpu, now() - self.began, self.noted)


class Reception:
    def __init__(self):
        self.noted, self.warm, self.sum = [], 0, 0
        self.begin()

    def begin(self):
        self.cpu, self.began = time.process_time_ns(), now()

    def take(self, payload, usable):
        """Reads an array of uint8; True: there are enough."""
        if payload.nbytes != size:
            raise ValueError(f"payload of {payload.nbytes} bytes, not {size}")
        words = size // 8 * 8
        self.sum += int(payload[:words].view(numpy.uint64).sum()) + int(payload[words:].sum())
        read = now()
        if self.warm < warmup:
            self.warm += 1
            if self.warm == warmup:
                self.begin()
            return False
        self.noted.append((int.from_bytes(payload[:8].tobytes(), "little"), usable, read))
        return len(self.noted) >= count

    def end(self):
        write(time.process_time_ns() - self.cpu, now() - self.began, self.noted)


def ready():
    print("ready", flush=True)


def publish_unix():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(1)
    ready()
    connection, _ = listener.accept()
    p, payload = Publication(), numpy.empty(size, numpy.uint8)
    try:
        while True:
            p.fill(payload)
            stamp = p.stamp(payload)
            connection.sendall(payload)
            if not p.next(stamp):
                break
    except OSError:  # the subscriber has enough
        end = now() + 5_000_000_000
        while not os.path.exists(stop):
            if now() > end:
                raise
            time.sleep(0.001)
    p.end()


def subscribe_unix():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    r, payload = Reception(), numpy.empty(size, numpy.uint8)
    view = memoryview(payload)
    while True:
        got = 0
        while got < size:
            n = connection.recv_into(view[got:])
            if n == 0:
                raise EOFError("the publisher has closed the connection")
            got += n
        if r.take(payload, now()):
            break
    r.end()


def zenoh_session(listen):
    import zenoh

    config = zenoh.Config()
    for key, value in {
        "mode": '"peer"',
        "scouting/multicast/enabled": "false",
        "scouting/gossip/enabled": "false",
        "listen/endpoints": f'["{address}"]' if listen else "[]",
        "connect/endpoints": "[]" if listen else f'["{address}"]',
        # By default TCP is left for shared memory from 3072 bytes on.
        "transport/shared_memory/enabled": "true" if variant == "zenoh_shm" else "false",
    }.items():
        config.insert_json5(key, value)
    return zenoh.open(config)


def publish_zenoh():
    import zenoh

    shm = variant == "zenoh_shm"
    session = zenoh_session(True)
    publisher = session.declare_publisher("peers/data", congestion_control=zenoh.CongestionControl.BLOCK, express=True)
    if shm:
        import zenoh.shm

        provider = zenoh.shm.ShmProvider.default_backend(4 * max(size, 4096))
        policy = zenoh.shm.BlockOn(zenoh.shm.GarbageCollect())
    else:
        own = bytearray(size)  # put takes bytes, not arrays
        payload = numpy.frombuffer(own, numpy.uint8)
    p = Publication()
    source = p.source.tobytes()
    ready()
    while True:
        if shm:  # no array can look at this memory
            memory = provider.alloc(size, policy=policy)
            for at in range(0, size, len(source)):
                memory[at : min(at + len(source), size)] = source[: size - at]
            stamp = now()
            memory[0:8] = stamp.to_bytes(8, "little")
            publisher.put(memory)
        else:
            p.fill(payload)
            stamp = p.stamp(payload)
            publisher.put(own)
        if not p.next(stamp):
            break
    p.end()
    session.close()


def subscribe_zenoh():
    shm = variant == "zenoh_shm"
    session = zenoh_session(False)
    r, over, failed = Reception(), threading.Event(), []

    def take(sample):
        if over.is_set():
            return
        try:
            if shm and sample.payload.as_shm() is None:
                raise ValueError("the payload did not come in shared memory")
            payload = numpy.frombuffer(sample.payload.to_bytes(), numpy.uint8)  # from shared memory, too, only a copy can be had
            if r.take(payload, now()):
                over.set()
        except Exception as e:
            failed.append(e)
            over.set()

    subscriber = session.declare_subscriber("peers/data", take)
    over.wait()
    if failed:
        raise failed[0]
    r.end()
    subscriber.undeclare()
    session.close()


def publish_dora():
    import dora

    node = dora.Node()
    p = Publication()
    while True:
        sample = node.send_output_raw("data", size)  # memory of the pool: no copy
        view = sample.as_memoryview()
        payload = numpy.frombuffer(view, numpy.uint8)
        p.fill(payload)
        stamp = p.stamp(payload)
        del payload
        view.release()
        sample.send()
        if not p.next(stamp):
            break
    p.end()


def subscribe_dora():
    import dora

    node = dora.Node()
    r = Reception()
    for event in node:
        if event["type"] != "INPUT":
            continue
        payload = event["value"].to_numpy(zero_copy_only=True)
        if r.take(payload, now()):
            break
    else:
        raise EOFError("the publisher has ended")
    r.end()


{
    ("publish", "unix"): publish_unix,
    ("subscribe", "unix"): subscribe_unix,
    ("publish", "zenoh_tcp"): publish_zenoh,
    ("subscribe", "zenoh_tcp"): subscribe_zenoh,
    ("publish", "zenoh_shm"): publish_zenoh,
    ("subscribe", "zenoh_shm"): subscribe_zenoh,
    ("publish", "dora"): publish_dora,
    ("subscribe", "dora"): subscribe_dora,
}[role, variant]()
