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
// # ROS 2 topics
//
// A name with a slash in front is a ROS 2 image topic (sensor_msgs/msg/Image or
// CompressedImage), which comes through a Zenoh router, from any host, without
// ROS being installed:
//
//	sub, err := client.Subscribe(ctx, "/front/color/image_raw", client.WithZenoh(config.Client("tcp/robot:7447")))
//
// Everything else is the same: the newest frame wins, Data is the buffer in
// which the message was received, and a frame costs no allocation. Sequence
// numbers are the publisher's, Session is its GID. A stream of camd comes this
// way, too, where [WithAccept] names cpu and no better path can be had; Path
// says why.
//
// Times of such frames are those that the publisher wrote, by its system clock:
// they are moved to this host's CLOCK_MONOTONIC by the difference between the
// two clocks of this host. Ages across hosts are only as right as the clocks are
// synchronised, and wrong by as much as a clock was set while the frame was
// under way; steps of this host's clock are noticed (Stats.ClockSteps,
// [EventClockStep]).
package client
