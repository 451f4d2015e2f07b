// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command peers moves the same payloads through camd and through what else
// moves bytes between two processes of one host: plain sockets, Zenoh,
// iceoryx2, dora-rs, GStreamer. Payloads, pacing, processes and what the
// consumer does with the bytes are the same for all; each peer is used as its
// own documentation advises.
//
// Every cell (peer, payload, repeat) has a new publisher and a new subscriber
// process, in random order. All of them speak one protocol (see programArgs and
// parseStamps), in whatever language they are written. See docs/peers.md.
package main
