# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""A publisher, subscriber or router of eclipse-zenoh, for the benchmark beside
it: see doc.go and order.go for what goes through which descriptor."""

import json
import os
import select
import struct
import sys
import time

import zenoh

KEY = "cpupath/frames"
RECORD = struct.Struct("<QqQ")
STAMP = struct.Struct("<Qq")


def config(job):
    c = zenoh.Config()
    c.insert_json5("mode", '"client"' if job.get("router") else '"peer"')
    c.insert_json5("scouting/multicast/enabled", "false")
    c.insert_json5("transport/shared_memory/enabled", "false")
    if job.get("router"):
        c.insert_json5("connect/endpoints", json.dumps([job["router"]]))
    elif job["role"] == "publish":
        c.insert_json5("listen/endpoints", json.dumps([job["address"]]))
    else:
        c.insert_json5("connect/endpoints", json.dumps([job["address"]]))
        c.insert_json5("listen/endpoints", "[]")
    return c


class Records:
    """What the subscriber says."""

    def __init__(self, fd):
        self.fd, self.rest, self.newest = fd, b"", 0
        os.set_blocking(fd, False)

    def take(self, first, got, until=0.0):
        """Books the records that are there, or come within a time in seconds."""
        if not select.select([self.fd], [], [], max(until, 0))[0]:
            return False
        b = self.rest + os.read(self.fd, 1 << 16)
        whole = len(b) // RECORD.size * RECORD.size
        self.rest = b[whole:]
        for number, ready, usable in RECORD.iter_unpack(b[:whole]):
            self.newest = max(self.newest, number)
            if number >= first:
                got.append((usable, usable - ready))
        return whole > 0


def publish(job):
    with zenoh.open(config(job)) as session:
        publisher = session.declare_publisher(KEY, congestion_control=zenoh.CongestionControl.BLOCK)
        print("ready", flush=True)
        records, number = Records(3), 0
        frame = bytearray(bytes((i * 7 + 1) & 255 for i in range(65536)) * (job["size"] // 65536 + 1))[: job["size"]]
        for line in sys.stdin:
            o = json.loads(line)
            first, late, got, tick = number + 1, 0, [], 0
            records.take(first, got)
            start = time.monotonic_ns()
            while True:
                if o["rate"]:
                    behind = int((time.monotonic_ns() - start) * o["rate"] / 1e9) - tick
                    if behind > 0:
                        late, tick = late + behind, tick + behind
                    while (left := start + tick * 1e9 / o["rate"] - time.monotonic_ns()) > 0:
                        time.sleep(left / 1e9)
                if time.monotonic_ns() - start >= o["nanos"] and number - first + 1 >= o["least"]:
                    break
                number, tick = number + 1, tick + 1
                STAMP.pack_into(frame, 0, number, time.monotonic_ns())
                publisher.put(frame)
                while records.take(first, got):
                    pass
                if not o["rate"]:
                    end = time.monotonic() + 0.1
                    while number - max(records.newest, first - 1) >= o["window"] and time.monotonic() < end:
                        records.take(first, got, end - time.monotonic())
            end = time.monotonic() + 1
            while records.newest < number and time.monotonic() < end:
                records.take(first, got, end - time.monotonic())
            reader = {"received": len(got), "times": [t for _, t in got]}
            if got:
                reader |= {"first": got[0][0], "last": got[-1][0]}
            print(json.dumps([{"sent": number - first + 1, "late": late, "readers": [reader]}]), flush=True)


def receive(job):
    def sample(s):
        b = s.payload.to_bytes()
        number, ready = STAMP.unpack_from(b)
        os.write(3, RECORD.pack(number, ready, time.monotonic_ns()))

    with zenoh.open(config(job)) as session:
        session.declare_subscriber(KEY, sample)
        print("ready", flush=True)
        sys.stdin.read()


def main():
    job = json.loads(sys.argv[1])
    publish(job) if job["role"] == "publish" else receive(job)


main()
