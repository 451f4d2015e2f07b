// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package client is for programs that subscribe to camd's cameras. A
// [Subscription] hands out frames that lie in the daemon's memory: nothing is
// copied, and a frame stays as it is until it is released.
//
//	sub, err := client.Subscribe(ctx, "front/color")
//	if err != nil { ... }
//	defer sub.Close()
//	for f, err := range sub.Frames(ctx) {
//		if err != nil { ... }
//		use(f.Data(), f.Meta()) // valid until the next turn of the loop
//	}
//
// # Other hosts, and the choice of path
//
// A stream is looked for on this host and then on the network, where camds
// announce theirs over Zenoh; "host:front/color" names the host. Frames come by
// the best path that can be had, of those that [WithAccept] names: shared memory,
// else, from another host or where the daemon's socket cannot be reached, the
// stream's ROS 2 topic. Path says which one and why no better one. It is decided
// again when the path dies or a better one can be had, without the program's
// doing: the first frame afterwards is a frame.Discontinuity, none comes twice or
// goes back in time, and frames that are held stay as they are
// (Stats.PathChanges, [EventPathChanged]).
//
// # GPUs
//
// Package client/gpu has frames in memory of a GPU, where the daemon has them
// there or by one upload. This package knows no CUDA: see [WithDevice].
//
// # ROS 2 topics
//
// A name with a slash in front is a ROS 2 image topic (sensor_msgs/msg/Image or
// CompressedImage), which comes through a Zenoh router or from a peer, of any
// host, without ROS being installed:
//
//	sub, err := client.Subscribe(ctx, "/front/color/image_raw", client.WithZenoh(config.Client("tcp/robot:7447")))
//
// Everything else is the same: the newest frame wins, Data is the buffer in
// which the message was received, and a frame costs no allocation. Sequence
// numbers are the publisher's, Session is its GID. A stream of camd comes this
// way, too, where no better path can be had.
//
// Times of such frames are those that the publisher wrote, by its system clock:
// they are moved to this host's CLOCK_MONOTONIC by the difference between the
// two clocks of this host. Ages across hosts are only as right as the clocks are
// synchronised, and wrong by as much as a clock was set while the frame was
// under way; steps of this host's clock are noticed (Stats.ClockSteps,
// [EventClockStep]).
package client
