# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""Answers what independent implementations make of names, keys, tokens, QoS,
GIDs and attachments: one JSON document of questions on stdin, one of answers
on stdout, in the same order."""

import json
import sys

import pamoja.ros2
import xxhash
import zenoh_ros2_sdk.discovery as discovery
from zenoh.ext import Int64, z_serialize
from zenoh_ros2_sdk.attachment import Attachment
from zenoh_ros2_sdk.entity import EndpointEntity, EntityKind, NodeEntity
from zenoh_ros2_sdk.keyexpr import endpoint_liveliness_keyexpr, node_liveliness_keyexpr, topic_keyexpr
from zenoh_ros2_sdk.qos import Duration, QosDurability, QosHistoryKind, QosProfile, QosReliability
from zenoh_ros2_sdk.utils import dds_to_ros_type, ros2_to_dds_type


def name(q):
    return {"valid": pamoja.ros2.is_fully_qualified(q["name"]) and pamoja.ros2.is_valid_name(q["name"])}


def key(q):
    wire = ros2_to_dds_type(q["type"])
    return {
        "sdk": topic_keyexpr(q["domain"], q["topic"], wire, q["hash"]),
        "pamoja": pamoja.ros2.entity_key(q["domain"], q["topic"], q["type"], q["hash"]),
        "back": dds_to_ros_type(wire),
        "mangled": pamoja.ros2.percent_mangle(q["topic"]),
    }


def token(q):
    node = NodeEntity(q["domain"], q["zid"], q["nid"], q["node"], q["namespace"])
    t = node_liveliness_keyexpr(node)
    parsed = None
    if q["kind"] != "NN":
        t = endpoint_liveliness_keyexpr(
            EndpointEntity(node, q["id"], EntityKind(q["kind"]), q["topic"], ros2_to_dds_type(q["type"]), q["hash"], q["qos"])
        )
        parsed = discovery._parse_liveliness_keyexpr(q["token"])
    # The digest is printed with the high half first, each with the high byte first.
    digest = xxhash.xxh3_128_digest(q["token"].encode())
    return {"token": t, "parsed": parsed, "gid": digest[::-1].hex()}


def qos(q):
    p = QosProfile.decode(q["text"])
    made = QosProfile(
        reliability=QosReliability(q["reliability"]),
        durability=QosDurability(q["durability"]),
        history_kind=QosHistoryKind(q["history"]),
        history_depth=q["depth"],
        **{k: Duration(*q[k]) for k in ("deadline", "lifespan") if q[k]},
    )
    return {"same": p == made, "text": made.encode()}


def attachment(q):
    gid = bytes.fromhex(q["gid"])
    a = Attachment(q["sequence"], q["nanos"], gid)
    back = Attachment.from_bytes(bytes.fromhex(q["bytes"]))
    seq, time = Int64(q["sequence"]), Int64(q["nanos"])
    return {
        "sdk": a.to_bytes().hex(),
        "same": back == a,
        "zenoh": z_serialize((seq, time, gid)).to_bytes().hex(),
        "named": z_serialize(("sequence_number", seq, "source_timestamp", time, "source_gid", gid)).to_bytes().hex(),
    }


json.dump([globals()[q["ask"]](q) for q in json.load(sys.stdin)], sys.stdout)
