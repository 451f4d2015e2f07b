# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Encodes, decodes and hashes ROS 2 messages with independent packages. A JSON
list of requests comes on stdin, a list of replies goes to stdout. Messages are
JSON objects with the fields' ROS names; bytes are lists of numbers.

A request is one of
  {"do": "decode", "by", "type", "definition", "hex"}      -> {"fields"}
  {"do": "encode", "by", "type", "definition", "fields", "big"} -> {"hex"}
  {"do": "hash", "by", "type", "definitions": {type: text}}     -> {"hash"}
where by is rosbags:<distribution>, mcap, pycdr2 or sdk. A reply may be {"error"}.
"""

import json
import sys
from functools import cache

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore


@cache
def store(distribution):
    return get_typestore(Stores("ros2_" + distribution))


@cache
def mcap(name, definition):
    from mcap_ros2._dynamic import generate_dynamic, serialize_dynamic

    short = name.replace("/msg/", "/")
    return generate_dynamic(short, definition)[short], serialize_dynamic(short, definition)[short]


def pycdr2(name):
    from zenoh_ros_type.common_interfaces import geometry_msgs, sensor_msgs, std_msgs
    from zenoh_ros_type.rcl_interfaces import builtin_interfaces

    package, _, short = name.split("/")
    modules = {
        "geometry_msgs": geometry_msgs,
        "sensor_msgs": sensor_msgs,
        "std_msgs": std_msgs,
        "builtin_interfaces": builtin_interfaces,
    }
    return getattr(modules[package], {"Imu": "IMU"}.get(short, short))


def build(name, fields, cls, array):
    """The object of a message: cls gives the class of a type, array makes the
    value of a sequence of numbers."""

    def one(kind, v):
        if kind[0] == Nodetype.NAME:
            return build(kind[1], v, cls, array)
        if kind[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE):
            element = kind[1][0]
            if element[0] == Nodetype.BASE and element[1][0] != "string":
                return array(v, element[1][0])
            return [one(element, e) for e in v]
        return v

    defs = store("jazzy").fielddefs[name][1]
    assert {n for n, _ in defs} == set(fields), (name, defs, fields)
    return cls(name)(**{n: one(kind, fields[n]) for n, kind in defs})


def plain(v):
    """A message of any of the packages as JSON can hold it, without constants."""
    if isinstance(v, (bytes, bytearray, memoryview)):
        return list(v)
    if isinstance(v, np.ndarray):
        return v.tolist()
    if isinstance(v, np.generic):
        return v.item()
    if isinstance(v, (list, tuple)):
        return [plain(e) for e in v]
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    names = getattr(v, "__slots__", None) or list(getattr(v, "__dataclass_fields__"))
    return {n: plain(getattr(v, n)) for n in names if not n.startswith("__") and not n.isupper()}


def decode(r):
    data, by = bytes.fromhex(r["hex"]), r["by"]
    if by.startswith("rosbags:"):
        return plain(store(by.split(":")[1]).deserialize_cdr(data, r["type"]))
    if by == "mcap":
        return plain(mcap(r["type"], r["definition"])[0](data))
    return plain(pycdr2(r["type"]).deserialize(data))


def encode(r):
    by, name, fields = r["by"], r["type"], r["fields"]
    if by.startswith("rosbags:"):
        s = store(by.split(":")[1])
        m = build(name, fields, lambda n: s.types[n], lambda v, t: np.array(v, dtype=t))
        return bytes(s.serialize_cdr(m, name, little_endian=not r["big"]))
    if by == "mcap":
        assert not r["big"]
        return bytes(mcap(name, r["definition"])[1](fields))
    from pycdr2._support import Endianness

    m = build(name, fields, pycdr2, lambda v, t: v)
    return m.serialize(endianness=Endianness.Big if r["big"] else Endianness.Little)


def type_hash(r):
    if r["by"].startswith("rosbags:"):
        return store(r["by"].split(":")[1]).hash_rihs01(r["type"])
    from zenoh_ros2_sdk.utils import compute_type_hash_from_msg

    others = dict(r["definitions"])
    return compute_type_hash_from_msg(r["type"], others.pop(r["type"]), others)


def answer(r):
    try:
        if r["do"] == "decode":
            return {"fields": decode(r)}
        if r["do"] == "encode":
            return {"hex": encode(r).hex()}
        return {"hash": type_hash(r)}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


json.dump([answer(r) for r in json.load(sys.stdin)], sys.stdout, allow_nan=False)
