# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""A Zenoh router and, as another session, a ROS 2 node by zenoh-ros2-sdk that
tests drive: commands come as JSON lines on stdin, events go as JSON lines to
stdout."""

import hashlib
import json
import sys
import threading

import numpy
import xxhash
import zenoh
import zenoh_ros2_sdk as sdk
from zenoh_ros2_sdk.attachment import Attachment
from zenoh_ros2_sdk.utils import compute_type_hash_from_msg

PORT = int(sys.argv[1])
lock = threading.Lock()
declared = {}


def say(**event):
    with lock:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def type_hash(name, definition):
    """The hash of a type whose definition comes with those that it refers to."""
    own, *rest = definition.split("=" * 80 + "\n")
    others = {}
    for part in rest:
        head, text = part.split("\n", 1)
        pkg, short = head.removeprefix("MSG: ").split("/")
        others[f"{pkg}/msg/{short}"] = text
    return compute_type_hash_from_msg(name, own, others)


def options(c):
    o = {"msg_type": c["type"], "msg_definition": c["definition"], "type_hash": type_hash(c["type"], c["definition"])}
    o |= {k: c[k] for k in ("node_name", "namespace", "qos", "type_hash") if k in c}
    return o | {"router_port": PORT, "domain_id": 0}


def describe(m):
    """A message with its bytes as their hash."""
    if isinstance(m, numpy.ndarray):
        return {"len": m.size, "sha256": hashlib.sha256(m.tobytes()).hexdigest()}
    if hasattr(m, "__dataclass_fields__"):
        return {f: describe(getattr(m, f)) for f in m.__dataclass_fields__ if f != "__msgtype__"}
    if isinstance(m, list):
        return [describe(x) for x in m]
    return m


def image(c):
    types = declared["session"].store.types
    stamp = types["builtin_interfaces/msg/Time"](sec=c["sec"], nanosec=c["nanosec"])
    return {
        "header": types["std_msgs/msg/Header"](stamp=stamp, frame_id=c["frame"]),
        "height": c["height"],
        "width": c["width"],
        "encoding": c["encoding"],
        "is_bigendian": 0,
        "step": c["step"],
        "data": numpy.frombuffer(bytes.fromhex(c["data"]), dtype=numpy.uint8),
    }


def publisher(c):
    p = sdk.ROS2Publisher(c["topic"], **options(c))
    declared["session"] = p.session_mgr
    declared[c["name"]] = p
    say(ev="declared", key=p.keyexpr, hash=p.type_hash, gid=p.publisher_gid.hex())


def subscriber(c):
    s = sdk.ROS2Subscriber(c["topic"], callback=lambda m: say(ev="message", name=c["name"], message=describe(m)), **options(c))
    declared[c["name"]] = s
    say(ev="declared", key=s.keyexpr, hash=s.type_hash)


def publish(c):
    p = declared[c["name"]]
    matched = threading.Event()
    listener = p.pub.declare_matching_listener(lambda m: m.matching and matched.set())
    if not p.pub.matching_status.matching and not matched.wait(15):
        raise TimeoutError("nobody subscribes")
    listener.undeclare()
    p.sequence_number = c.get("sequence", p.sequence_number)
    p.publish(**(image(c["image"]) if "image" in c else {"data": c["text"]}))
    say(ev="published", sequence=p.sequence_number - 1)


def watch(s, c):
    """Samples of a key as they are, with what their attachments say."""

    def sample(x):
        a = Attachment.from_bytes(bytes(x.attachment))
        say(ev="sample", key=str(x.key_expr), sequence=a.sequence_id, nanos=a.timestamp_ns, gid=a.gid.hex(), size=len(bytes(x.attachment)))

    declared[c["name"]] = s.declare_subscriber(c["key"], sample)
    say(ev="declared")


def sink(s, c):
    """Takes samples and says nothing."""
    declared[c["name"]] = s.declare_subscriber(c["key"], lambda x: None)
    say(ev="declared")


def tokens(s, c):
    found = {}
    for r in s.liveliness().get(c["key"]):
        k = str(r.ok.key_expr)
        found[k] = xxhash.xxh3_128_digest(k.encode())[::-1].hex()
    say(ev="tokens", tokens=found)


def get(s, c):
    """All answers to a question, as they are."""
    answers = [{"key": str(r.ok.key_expr), "encoding": str(r.ok.encoding), "payload": bytes(r.ok.payload).decode()}
               for r in s.get(c["key"], consolidation=zenoh.ConsolidationMode.NONE, target=zenoh.QueryTarget.ALL) if r.ok]
    say(ev="answers", answers=answers)


def flood(s, c):
    """Asks so many times without waiting, and says how many answers came."""
    done = threading.Barrier(2)
    left, got = [c["count"]], [0]

    def reply(r):
        with lock:
            got[0] += 1

    def end():
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            done.wait()

    for _ in range(c["count"]):
        s.get(c["key"], zenoh.handlers.Callback(reply, end), timeout=20)
    done.wait(30)
    say(ev="flooded", size=got[0])


def alive(s, c):
    """Tells of tokens as they come and go."""

    lock, early, ready = threading.Lock(), [], False

    def token(x):
        e = {"ev": "token", "key": str(x.key_expr), "alive": x.kind == zenoh.SampleKind.PUT}
        with lock:
            if ready:
                say(**e)
            else:
                early.append(e)

    declared[c["name"]] = s.liveliness().declare_subscriber(c["key"], token, history=True)
    with lock:  # what is there already may come before this
        say(ev="declared")
        for e in early:
            say(**e)
        ready = True


def hostile(s, c):
    """Claims to have a stream, and answers never or with far too much; or shows
    a number of streams that do not exist."""

    def answer(q):
        if c["how"] == "huge":
            q.reply(c["key"], b"[" * c["count"])
        else:
            declared.setdefault("open", []).append(q)
        say(ev="asked")

    if c["how"] == "tokens":
        declared[c["name"]] = [s.liveliness().declare_token(f"camd/1/b{i}/cam{i}/color") for i in range(c["count"])]
    else:
        declared[c["name"]] = [s.liveliness().declare_token(c["key"]), s.declare_queryable(c["key"], answer)]
    say(ev="declared")


def topic(c):
    # A question about tokens that a session of Zenoh 1.10 also watches now and
    # then gets no answer.
    for _ in range(5):
        i = sdk.get_topic_info(c["topic"], domain_id=0, router_port=PORT, timeout=10, verbose=True)
        named = dict(sdk.get_topic_names_and_types(domain_id=0, router_port=PORT, timeout=10))
        if i is not None and c["topic"] in named:
            break
    else:
        return say(ev="topic", types=[], endpoints=[])
    ends = [[kind, e.node_namespace, e.node_name, e.topic_type, e.type_hash, e.qos] for kind, l in (("MP", i.publishers), ("MS", i.subscribers)) for e in l]
    say(ev="topic", types=named[c["topic"]], endpoints=ends)


def native(s, c):
    """Puts like a publisher of Lyrical: to the subscribers that announced cpu on
    the one key, and like older ones on the other."""
    cpu = [str(r.ok.key_expr) for r in s.liveliness().get(f"@ros2_lv/0/*/*/*/MS/**") if str(r.ok.key_expr).endswith("/backends:cpu:")]
    for i, key in enumerate([c["key"] + "/_buf_cpu"] * bool(cpu) + [c["key"]]):
        s.put(key, bytes.fromhex(c["payload"]), attachment=Attachment(i + 1, 1, bytes(16)).to_bytes())
    say(ev="put", tokens={k: "" for k in cpu})


def run(s, c):
    op = c["op"]
    if op == "publisher":
        publisher(c)
    elif op == "subscriber":
        subscriber(c)
    elif op == "publish":
        publish(c)
    elif op == "watch":
        watch(s, c)
    elif op == "sink":
        sink(s, c)
    elif op == "tokens":
        tokens(s, c)
    elif op == "topic":
        topic(c)
    elif op == "native":
        native(s, c)
    elif op == "get":
        get(s, c)
    elif op == "flood":
        flood(s, c)
    elif op == "alive":
        alive(s, c)
    elif op == "hostile":
        hostile(s, c)
    elif op == "token":
        declared[c["name"]] = s.liveliness().declare_token(c["key"])
        say(ev="declared")
    elif op == "undeclare":
        declared.pop(c["name"]).undeclare()
        say(ev="closed")
    elif op == "close":
        declared.pop(c["name"]).close()
        say(ev="closed")
    else:
        raise ValueError(op)


def main():
    # What rmw_zenohd differs in from Zenoh's defaults, and another port.
    conf = """{
      mode: "router", listen: {endpoints: ["tcp/127.0.0.1:%d"]}, scouting: {multicast: {enabled: false}},
      routing: {router: {peers_failover_brokering: false}}, timestamping: {enabled: {router: true, peer: true, client: true}},
    }"""
    if len(sys.argv) > 2:  # a peer, connected to somebody
        conf = """{
          mode: "peer", listen: {endpoints: ["tcp/127.0.0.1:%d"]}, connect: {endpoints: """ + sys.argv[2] + """},
          scouting: {multicast: {enabled: false}},
        }"""
    with zenoh.open(zenoh.Config.from_json5(conf % PORT)) as s:
        say(ev="ready")
        for line in sys.stdin:
            try:
                run(s, json.loads(line))
            except Exception as e:  # the test wants to hear of it, whatever it is
                say(ev="failed", text=repr(e))


main()
