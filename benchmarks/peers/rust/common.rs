// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//! What the programs of all cells have in common; program.go says what they do.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

pub type Failure = Box<dyn Error + Send + Sync>;

/// The nine arguments.
pub struct Order {
    pub role: String,
    pub variant: String,
    pub address: String,
    pub size: usize,
    pub spacing: Duration,
    pub warmup: usize,
    pub count: usize,
    pub out: String,
    pub stop: String,
}

impl Order {
    pub fn parse() -> Result<Order, Failure> {
        let a: Vec<String> = std::env::args().skip(1).collect();
        if a.len() != 9 {
            return Err("nine arguments are needed: this program belongs to benchmarks/peers".into());
        }
        Ok(Order {
            role: a[0].clone(),
            variant: a[1].clone(),
            address: a[2].clone(),
            size: a[3].parse()?,
            spacing: Duration::from_micros(a[4].parse()?),
            warmup: a[5].parse()?,
            count: a[6].parse()?,
            out: a[7].clone(),
            stop: a[8].clone(),
        })
    }
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(id, &mut t) };
    t.tv_sec as i64 * 1_000_000_000 + t.tv_nsec as i64
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

fn cpu() -> i64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A line on stdout: subscribers can come.
pub fn ready() {
    println!("ready");
    let _ = std::io::stdout().flush();
}

/// The work of a publisher.
pub struct Publication<'a> {
    order: &'a Order,
    source: Vec<u8>,
    noted: Vec<i64>,
    cpu: i64,
    began: i64,
}

impl<'a> Publication<'a> {
    pub fn new(order: &'a Order) -> Self {
        Publication {
            order,
            source: (0..64 << 10).map(|i: usize| (i * 7 + 1) as u8).collect(),
            noted: Vec::with_capacity(2 * order.count),
            cpu: cpu(),
            began: now(),
        }
    }

    /// Writes every byte, as a device would.
    pub fn fill(&self, payload: &mut [u8]) {
        for part in payload.chunks_mut(self.source.len()) {
            part.copy_from_slice(&self.source[..part.len()]);
        }
    }

    /// Writes the time into a payload, just before it is published.
    pub fn stamp(&self, payload: &mut [u8]) -> i64 {
        let t = now();
        payload[..8].copy_from_slice(&t.to_le_bytes());
        t
    }

    /// Notes a payload that was published, and pauses. False: that was the last.
    pub fn next(&mut self, stamp: i64) -> bool {
        self.noted.extend([stamp, now()]);
        if self.noted.len() >= 2 * self.order.count || Path::new(&self.order.stop).exists() {
            return false;
        }
        std::thread::sleep(self.order.spacing);
        true
    }

    pub fn end(&self) -> Result<(), Failure> {
        write(&self.order.out, cpu() - self.cpu, now() - self.began, &self.noted, 2)
    }
}

/// The work of a subscriber.
pub struct Reception<'a> {
    order: &'a Order,
    noted: Vec<i64>,
    warm: usize,
    sum: u64,
    cpu: i64,
    began: i64,
}

impl<'a> Reception<'a> {
    pub fn new(order: &'a Order) -> Self {
        let mut noted = vec![1; 3 * order.count]; // no page of it is missing later
        noted.clear();
        Reception { order, noted, warm: 0, sum: 0, cpu: cpu(), began: now() }
    }

    /// Reads a payload that could be read from the time usable on. True: there
    /// are enough.
    pub fn take(&mut self, payload: &[u8], usable: i64) -> Result<bool, Failure> {
        if payload.len() != self.order.size {
            return Err(format!("payload of {} bytes, not {}", payload.len(), self.order.size).into());
        }
        self.sum = self.sum.wrapping_add(touch(payload));
        let read = now();
        if self.warm < self.order.warmup {
            self.warm += 1;
            if self.warm == self.order.warmup {
                self.cpu = cpu();
                self.began = now();
            }
            return Ok(false);
        }
        let stamp = i64::from_le_bytes(payload[..8].try_into()?);
        self.noted.extend([stamp, usable, read]);
        Ok(self.noted.len() >= 3 * self.order.count)
    }

    pub fn end(&self) -> Result<(), Failure> {
        std::hint::black_box(self.sum);
        write(&self.order.out, cpu() - self.cpu, now() - self.began, &self.noted, 3)
    }
}

/// Reads every byte.
fn touch(data: &[u8]) -> u64 {
    let words = data.chunks_exact(8);
    let rest: u64 = words.remainder().iter().map(|&x| x as u64).sum();
    words.fold(rest, |sum, w| sum.wrapping_add(u64::from_le_bytes(w.try_into().unwrap())))
}

fn write(path: &str, cpu: i64, span: i64, noted: &[i64], columns: usize) -> Result<(), Failure> {
    let mut text = format!("cpu {cpu} {span}\n");
    for row in noted.chunks(columns) {
        let row: Vec<String> = row.iter().map(|n| n.to_string()).collect();
        text += &row.join(" ");
        text += "\n";
    }
    let part = format!("{path}.part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)?; // whole as soon as it is there
    Ok(())
}
