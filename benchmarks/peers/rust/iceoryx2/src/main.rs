// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//! iceoryx2 as a peer: variant "event" sleeps until an event comes, "poll" spins.

#[path = "../../common.rs"]
mod common;

use common::{now, Failure, Order, Publication, Reception};
use iceoryx2::prelude::*;

fn fill<'a>(p: &Publication, memory: &'a mut [core::mem::MaybeUninit<u8>]) -> &'a mut [u8] {
    // The memory is loaned and mapped; it is written here before anybody reads it.
    let payload = unsafe { core::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), memory.len()) };
    p.fill(payload);
    payload
}

fn run() -> Result<(), Failure> {
    let o = Order::parse()?;
    let event = o.variant == "event";
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let name: ServiceName = o.address.as_str().try_into()?;
    // The newest one waits for the subscriber.
    let service = node
        .service_builder(&name)
        .publish_subscribe::<[u8]>()
        .enable_safe_overflow(true)
        .subscriber_max_buffer_size(1)
        .max_publishers(1)
        .max_subscribers(1)
        .open_or_create()?;
    let wake = node.service_builder(&name).event().open_or_create()?;
    match o.role.as_str() {
        "publish" => {
            let publisher = service.publisher_builder().initial_max_slice_len(o.size).create()?;
            let notifier = wake.notifier_builder().create()?;
            let mut p = Publication::new(&o);
            common::ready();
            loop {
                let mut sample = publisher.loan_slice_uninit(o.size)?;
                let payload = fill(&p, sample.payload_mut());
                let stamp = p.stamp(payload);
                let sample = unsafe { sample.assume_init() };
                sample.send()?;
                if event {
                    notifier.notify()?;
                }
                if !p.next(stamp) {
                    break;
                }
            }
            p.end()
        }
        "subscribe" => {
            let subscriber = service.subscriber_builder().create()?;
            let mut r = Reception::new(&o);
            let listener = match event {
                true => Some(wake.listener_builder().create()?),
                false => None,
            };
            loop {
                while let Some(sample) = subscriber.receive()? {
                    let usable = now();
                    if r.take(sample.payload(), usable)? {
                        return r.end();
                    }
                }
                match &listener {
                    Some(listener) => {
                        listener.blocking_wait(|_| {})?;
                    }
                    None => core::hint::spin_loop(),
                }
            }
        }
        other => Err(format!("no role {other}").into()),
    }
}

fn main() -> Result<(), Failure> {
    run()
}
