# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

"""A Zenoh node of the reference implementation that tests drive: commands come
as JSON lines on stdin, events go as JSON lines to stdout."""

import functools
import hashlib
import itertools
import json
import random
import sys
import threading
import time

import zenoh

lock = threading.Lock()
declared = {}


def say(**event):
    with lock:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def describe(payload):
    data = bytes(payload)
    d = {"len": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if len(data) <= 200:
        d["text"] = data.decode("utf-8", "replace")
    return d


def sample(ev, s, **more):
    e = {
        "ev": ev,
        "key": str(s.key_expr),
        "kind": str(s.kind).split(".")[-1],
        "encoding": str(s.encoding),
        "priority": str(s.priority).split(".")[-1],
        "congestion": str(s.congestion_control).split(".")[-1],
        "express": bool(s.express),
        "timestamp": str(s.timestamp) if s.timestamp is not None else "",
        "attachment": bytes(s.attachment).decode() if s.attachment is not None else "",
    }
    e.update(describe(s.payload))
    e.update(more)
    say(**e)


def options(c):
    o = {}
    if "encoding" in c:
        o["encoding"] = zenoh.Encoding(c["encoding"])
    if "attachment" in c:
        o["attachment"] = c["attachment"]
    if "priority" in c:
        o["priority"] = getattr(zenoh.Priority, c["priority"])
    if "congestion" in c:
        o["congestion_control"] = getattr(zenoh.CongestionControl, c["congestion"])
    if "express" in c:
        o["express"] = c["express"]
    return o


def payload(c):
    if "size" in c:
        return random.Random(c["size"]).randbytes(c["size"])
    return c.get("text", "")


def put(s, c):
    p = payload(c)
    z, o = zenoh.ZBytes(p), options(c)
    for _ in range(c.get("times", 1)):
        s.put(c["key"], z, **o)
    e = {"ev": "put"}
    if isinstance(p, bytes):
        e["sha256"] = hashlib.sha256(p).hexdigest()
    say(**e)


@functools.lru_cache(maxsize=2)
def zeros(size):
    return zenoh.ZBytes(bytes(size))


def pump(s, c):
    """Puts as fast as it goes, with nothing to prepare from the second time on."""
    if c["key"] not in declared:
        declared[c["key"]] = s.declare_publisher(c["key"], congestion_control=zenoh.CongestionControl.BLOCK)
    p, z = declared[c["key"]], zeros(c["size"])
    for _ in range(c["times"]):
        p.put(z)
    say(ev="put")


def queryable(s, c):
    def answer(q):
        say(
            ev="query",
            key=str(q.key_expr),
            parameters=str(q.parameters),
            text=bytes(q.payload).decode() if q.payload is not None else "",
            attachment=bytes(q.attachment).decode() if q.attachment is not None else "",
        )
        with q:
            for r in c.get("replies", []):
                if r.get("error"):
                    q.reply_err(r["text"])
                elif r.get("delete"):
                    q.reply_del(r["key"])
                else:
                    q.reply(r["key"], payload(r), **({"attachment": r["attachment"]} if "attachment" in r else {}))

    return s.declare_queryable(c["key"], answer, complete=c.get("complete", False))


def get(s, c):
    o = {}
    if "timeout" in c:
        o["timeout"] = c["timeout"]
    if "text" in c:
        o["payload"] = c["text"]
    if "attachment" in c:
        o["attachment"] = c["attachment"]
    if "target" in c:
        o["target"] = getattr(zenoh.QueryTarget, c["target"])
    if "consolidation" in c:
        o["consolidation"] = getattr(zenoh.ConsolidationMode, c["consolidation"])
    replies(s.get(c["key"], **o))


def replies(answers):
    n = 0
    for r in answers:
        n += 1
        if r.ok is not None:
            sample("reply", r.ok)
        else:
            say(ev="error", **describe(r.err.payload))
    say(ev="done", count=n)


def publisher(s, c):
    o = options(c)
    if "reliability" in c:
        o["reliability"] = getattr(zenoh.Reliability, c["reliability"])
    if "destination" in c:
        o["allowed_destination"] = getattr(zenoh.Locality, c["destination"])
    return s.declare_publisher(c["key"], **o)


def match(p, wanted):
    """Waits until the publisher has a subscriber, or none. Asks: the listener of
    1.5 can miss a change just after it was declared."""
    while p.matching_status.matching != wanted:
        time.sleep(0.02)
    say(ev="matches")


def advanced(s, c):
    from zenoh.ext import HistoryConfig, RecoveryConfig, declare_advanced_subscriber

    o = {"history": HistoryConfig(detect_late_publishers=True)}
    if c.get("recovery"):
        o["recovery"] = RecoveryConfig(heartbeat=True)
    return declare_advanced_subscriber(s, c["key"], lambda x: sample("sample", x), **o)


def sink(s, c):
    """Takes samples and answers queries without a word."""

    def answer(q):
        with q:
            q.reply(c["reply"], "answer", attachment="a")
            q.reply_err("oops")

    return s.declare_subscriber(c["key"], lambda x: None), s.declare_queryable(c["key"], answer)


resting = threading.Event()


def busy(s, c):
    """Uses everything, under a key prefix, until it may rest."""
    k = c["key"]
    large = zenoh.ZBytes(random.Random(1).randbytes(c["size"]))
    p = s.declare_publisher(k + "/declared", encoding=zenoh.Encoding("text/plain"))
    for i in itertools.count():
        if resting.is_set():
            break
        s.put(f"{k}/{i % 7}", f"value {i}", attachment="att", encoding="application/json;x", priority=zenoh.Priority.REAL_TIME)
        p.put(f"{i}", timestamp=s.new_timestamp())
        s.delete(f"{k}/{i % 7}")
        if i % 3 == 0:
            s.put(k + "/large", large)
        t = s.liveliness().declare_token(f"{k}/token/{i % 5}")
        n = s.declare_subscriber(f"{k}/sub/{i % 5}/**", lambda x: None)
        g = s.get(k + "/ask?a=b", payload="why", attachment="x", timeout=0.3, target=zenoh.QueryTarget.ALL)
        time.sleep(0.002)
        t.undeclare()
        n.undeclare()
        del g
    p.undeclare()
    say(ev="busied")


class Pinger:
    def __init__(self, s, c):
        self.back = threading.Semaphore(0)
        self.p = s.declare_publisher(c["to"], congestion_control=zenoh.CongestionControl.BLOCK, express=True)
        self.s = s.declare_subscriber(c["key"], lambda x: self.back.release())

    def ping(self, p):
        start = time.perf_counter()
        self.p.put(p)
        self.back.acquire()
        return 1e6 * (time.perf_counter() - start)


class Counter:
    left = 0
    start = 0.0

    def one(self, _):
        self.left -= 1
        if self.left == 0:
            say(ev="counted", micros=1e6 * (time.perf_counter() - self.start))

    def arm(self, n):
        self.left = n
        self.start = time.perf_counter()


counter = Counter()


def run(s, c):
    op = c["op"]
    if op == "put":
        put(s, c)
    elif op == "pump":
        pump(s, c)
    elif op == "pub":
        declared[c["name"]] = publisher(s, c)
        say(ev="declared")
    elif op == "match":
        match(declared[c["name"]], c["matching"])
    elif op == "pubput":
        declared[c["name"]].put(payload(c))
        say(ev="put")
    elif op == "delete":
        s.delete(c["key"])
        say(ev="put")
    elif op == "sub":
        o = {"allowed_origin": getattr(zenoh.Locality, c["origin"])} if "origin" in c else {}
        declared[c["name"]] = s.declare_subscriber(c["key"], lambda x: sample("sample", x), **o)
        say(ev="declared")
    elif op == "echo":
        p = s.declare_publisher(c["to"], congestion_control=zenoh.CongestionControl.BLOCK, express=True)
        declared[c["name"]] = (p, s.declare_subscriber(c["key"], lambda x: p.put(x.payload)))
        say(ev="declared")
    elif op == "sink":
        declared[c["name"]] = sink(s, c)
        say(ev="declared")
    elif op == "busy":
        threading.Thread(target=busy, args=(s, c), daemon=True).start()
    elif op == "rest":
        resting.set()
    elif op == "pinger":
        declared[c["name"]] = Pinger(s, c)
        say(ev="declared")
    elif op == "ping":
        say(ev="ping", micros=declared[c["name"]].ping(zeros(c["size"])))
    elif op == "count":
        declared[c["name"]] = s.declare_subscriber(c["key"], counter.one)
        say(ev="declared")
    elif op == "await":
        counter.arm(c["count"])
        say(ev="armed")
    elif op == "advanced":
        declared[c["name"]] = advanced(s, c)
        say(ev="declared")
    elif op == "queryable":
        declared[c["name"]] = queryable(s, c)
        say(ev="declared")
    elif op == "token":
        declared[c["name"]] = s.liveliness().declare_token(c["key"])
        say(ev="declared")
    elif op == "livesub":
        declared[c["name"]] = s.liveliness().declare_subscriber(c["key"], lambda x: sample("live", x), history=c.get("history", False))
        say(ev="declared")
    elif op == "liveget":
        replies(s.liveliness().get(c["key"]))
    elif op == "get":
        get(s, c)
    elif op == "undeclare":
        declared.pop(c["name"]).undeclare()
        say(ev="undeclared")
    elif op == "scout":
        scouting = zenoh.scout(what="peer")
        while True:
            h = scouting.try_recv()
            if h is None:
                time.sleep(0.01)
            elif any(c["at"] in str(x) for x in h.locators):
                break
        scouting.stop()
        say(ev="hello", zid=str(h.zid), text=" ".join(str(x) for x in h.locators))
    elif op == "links":
        info = s.info
        say(ev="links", peers=[str(z) for z in info.peers_zid()], routers=[str(z) for z in info.routers_zid()])
    else:
        raise ValueError(op)


def main():
    with zenoh.open(zenoh.Config.from_json5(sys.argv[1])) as s:
        say(ev="ready", zid=str(s.zid()) if callable(getattr(s, "zid", None)) else str(s.info.zid()))
        for line in sys.stdin:
            c = json.loads(line)
            try:
                run(s, c)
            except Exception as e:  # the test wants to hear of it, whatever it is
                say(ev="failed", text=repr(e))


main()
