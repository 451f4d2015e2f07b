# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Prints the mean and the rate of a stream with NumPy, until Ctrl-C.

    python3 examples/python/mean.py test/color

A daemon that ended is waited for.
"""

import sys
import time

import camd


def watch(name):
    with camd.Subscription(name) as sub:
        print(f"{name} by {sub.path}", file=sys.stderr)
        since, first = time.monotonic(), None
        for frame in sub:
            first = first or frame
            image = frame.array()  # in the daemon's memory, not a copy
            if (now := time.monotonic()) - since < 1:
                continue
            print(
                f"frame {frame.sequence} {image.shape} {image.dtype}: mean {image.mean():.1f}, "
                f"{(frame.sequence - first.sequence) / (now - since):.1f} Hz, {sub.stats['missed']} missed",
                flush=True,
            )
            since, first = now, frame


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: mean.py CAMERA/STREAM")
    while True:
        try:
            watch(sys.argv[1])
        except KeyboardInterrupt:
            return
        except camd.Error as e:
            print(f"{sys.argv[1]}: {e}", file=sys.stderr)
            if not e.passing:
                sys.exit(1)
        try:
            time.sleep(0.25)
        except KeyboardInterrupt:
            return


main()
