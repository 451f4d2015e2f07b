// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package zenoh is a Zenoh 1.x session in pure Go: a client of routers and
// peers, or a peer itself; others cannot tell it from their own.
//
//	s, err := zenoh.Open(ctx, config.Client("tcp/192.0.2.1:7447"), nil)
//	…
//	defer s.Close(ctx)
//	sub, err := s.Subscribe("demo/**", nil)
//	err = s.Put(ctx, "demo/hello", []byte("world"), nil)
//	sample, err := sub.Receive(ctx)
//
// A session puts and deletes, subscribes, asks and answers queries, and shows
// and watches what is alive. What is declared stays declared: when the
// connection is lost the session connects again, with growing pauses, and
// declares everything again. Meanwhile puts fail with [ErrNotConnected].
//
// A peer (config.Peer) listens, finds others by multicast and gossip, and is
// connected with all of them; it is usable alone. It serves peers and clients
// with what is its own and passes nothing on between them. [Scout] lists who is
// there. In mode auto (config.Auto) a session is the client of a router where
// one answers, and a peer otherwise.
//
// # Old frames are worth nothing
//
// A sample goes to a queue by its priority. While the network takes what is
// queued, every sample is sent. When it does not ([CongestionDrop], the
// default), a newer sample of a key replaces the older ones that wait, so that
// what arrives is as new as the link allows; the lost ones are counted in
// [Stats]. Urgent samples pass large ones between two batches of at most 64 KB.
// With [CongestionBlock] the sender waits instead, for a bounded time.
//
// Priority is what lets a small topic pass: at the priority of large samples (all
// have [PriorityData] unless told otherwise) it waits behind those that are
// queued, on a link of 2 Mbit/s for seconds. Give it a more urgent one. And what
// is sent with [CongestionDrop] may be lost behind the first link too: routers of
// the reference drop a sample of tens of megabytes that they cannot pass on at
// once. Use [CongestionBlock] where each of such samples counts.
//
// # Memory
//
// Put copies its payload, unless [PutOptions.Release] is set: then the kernel
// takes it out of the caller's memory. What is received lies in pooled memory,
// which [Sample.Release] gives back. Of large buffers that came back, 64 MB or two
// of the size in use are kept, and those that nobody needs for five to ten seconds
// go.
//
// # Callbacks
//
// A callback may use everything of its session, and close it: [Session.Close] then
// returns at once. One that does not return holds up only itself and what its
// connection brings after it; closing from elsewhere ends with its context.
package zenoh
