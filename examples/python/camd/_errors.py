# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""What can go wrong, a class for each status of camd.h that a program meets."""


class Error(Exception):
    """What a call of the client in C failed with.

    status is camd.h's number, reason a word of docs/errors.md or "". passing: it may
    be over by itself, so that opening again later makes sense."""

    status, passing = 0, False

    def __init__(self, text, reason=""):
        super().__init__(text)
        self.reason = reason


class Timeout(Error, TimeoutError):
    """No newer frame came in that time."""

    status = -1


class Busy(Error):
    """As many frames are held as the credit allows: frames that are not released,
    or released frames of which arrays are still there."""

    status = -2


class Gone(Error):
    """The connection is over: the daemon ended, or was killed."""

    status, passing = -3, True


class Evicted(Error):
    """The daemon gave this program up, because it sat on frames."""

    status, passing = -4, True


class Released(Error):
    """The frame was given back before."""

    status = -6


class NoDaemon(Error):
    """No camd answers in any runtime directory."""

    status, passing = -7, True


class UnknownStream(Error):
    """A camd answers and has no such stream."""

    status = -8


class NotAvailable(Error):
    """The stream is there, but not by a path that was accepted."""

    status = -9


class NotReady(Error):
    """The camera delivers nothing yet."""

    status, passing = -10, True


class NotPermitted(Error):
    """This user may not use the daemon or the path."""

    status = -11


class ProtocolError(Error):
    """The daemon said or wrote what the protocol does not allow."""

    status = -12


class Invalid(Error):
    """The program asked for what makes no sense."""

    status = -13


class GPUError(Error):
    """A call of the CUDA driver failed."""

    status, passing = -16, True


_BY_STATUS = {c.status: c for c in Error.__subclasses__()}


def error(lib, status, pointer=None):
    """The exception for what a call returned, in the words of the client in C."""
    text = lib.camd_strerror(status).decode()
    reason = detail = ""
    if pointer:
        reason, detail = lib.camd_reason(pointer).decode(), lib.camd_detail(pointer).decode()
    if detail:
        text += ": " + detail
    if reason and reason not in detail:
        text += f" ({reason})"
    e = _BY_STATUS.get(status, Error)(text, reason)
    e.status = status
    return e
