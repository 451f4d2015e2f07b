// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//! Zenoh as a peer, and as the router that others need.

#[path = "../../common.rs"]
mod common;

use std::sync::mpsc;

use common::{now, Failure, Order, Publication, Reception};
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;
use zenoh::shm::{BlockOn, GarbageCollect, ShmProviderBuilder};
use zenoh::{Config, Session, Wait};

const KEY: &str = "peers/data";

/// Nobody is looked for: publisher and subscriber know their address.
fn open(settings: &[(&str, &str)]) -> Result<Session, Failure> {
    let mut config = Config::default();
    for (key, value) in [("scouting/multicast/enabled", "false"), ("scouting/gossip/enabled", "false")].iter().chain(settings) {
        config.insert_json5(key, value)?;
    }
    zenoh::open(config).wait()
}

fn list(endpoint: &str) -> String {
    format!("[\"{endpoint}\"]")
}

/// A router if the order says so: then both sides are clients of it.
fn session(o: &Order) -> Result<Session, Failure> {
    let endpoint = list(&o.address);
    let shm = if o.variant == "shm" { "true" } else { "false" }; // by default TCP is left for shared memory from 3072 bytes on
    let shared = ("transport/shared_memory/enabled", shm);
    match (o.variant.as_str(), o.role.as_str()) {
        ("router", _) => open(&[("mode", "\"client\""), ("connect/endpoints", &endpoint), shared]),
        (_, "publish") => open(&[("mode", "\"peer\""), ("listen/endpoints", &endpoint), shared]),
        _ => open(&[("mode", "\"peer\""), ("listen/endpoints", "[]"), ("connect/endpoints", &endpoint), shared]),
    }
}

fn publish(o: &Order) -> Result<(), Failure> {
    let session = session(o)?;
    let publisher = session.declare_publisher(KEY).congestion_control(CongestionControl::Block).express(true).wait()?;
    let mut p = Publication::new(o);
    // Room for those that wait for the subscriber.
    let provider = match o.variant.as_str() {
        "shm" => Some(ShmProviderBuilder::default_backend(4 * o.size.max(4096)).wait()?),
        _ => None,
    };
    common::ready();
    loop {
        let stamp = match &provider {
            Some(provider) => {
                let mut payload = provider.alloc(o.size).with_policy::<BlockOn<GarbageCollect>>().wait()?;
                p.fill(&mut payload);
                let stamp = p.stamp(&mut payload);
                publisher.put(payload).wait()?;
                stamp
            }
            None => {
                let mut payload = vec![0u8; o.size]; // put takes it: no copy
                p.fill(&mut payload);
                let stamp = p.stamp(&mut payload);
                publisher.put(payload).wait()?;
                stamp
            }
        };
        if !p.next(stamp) {
            break;
        }
    }
    p.end()
}

fn subscribe(o: &'static Order) -> Result<(), Failure> {
    let session = session(o)?;
    let shm = o.variant == "shm";
    let (done, finished) = mpsc::sync_channel(1);
    let mut reception = Reception::new(o);
    let mut take = move |sample: Sample| -> Result<bool, Failure> {
        let mut usable = now();
        if shm && sample.payload().as_shm().is_none() {
            return Err("the payload did not come in shared memory".into());
        }
        // One slice: what came in several fragments is joined by a copy.
        let payload = sample.payload().to_bytes();
        if !shm {
            usable = now();
        }
        let last = reception.take(&payload, usable)?;
        if last {
            reception.end()?;
        }
        Ok(last)
    };
    let mut over = false;
    let _subscriber = session
        .declare_subscriber(KEY)
        .callback_mut(move |sample| {
            if over {
                return;
            }
            match take(sample) {
                Ok(false) => {}
                result => {
                    over = true;
                    let _ = done.send(result);
                }
            }
        })
        .wait()?;
    finished.recv()?.map(|_| ())
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() == 3 && args[1] == "router" {
        let _router = open(&[("mode", "\"router\""), ("listen/endpoints", &list(&args[2])), ("transport/shared_memory/enabled", "false")])?;
        common::ready();
        loop {
            std::thread::park();
        }
    }
    let o: &'static Order = Box::leak(Box::new(Order::parse()?)); // callbacks outlive this function
    match o.role.as_str() {
        "publish" => publish(o),
        "subscribe" => subscribe(o),
        other => Err(format!("no role {other}").into()),
    }
}
