// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cpu is the backend for everybody: it publishes the pictures of a
// stream over Zenoh as ROS 2 does (rmw_zenoh_cpp), so that RViz, rqt, rosbag2
// and any other program receive them.
//
// A camera is a node, and a stream has these topics, below the namespace:
//
//	/CAMERA/STREAM/image_raw             sensor_msgs/msg/Image
//	/CAMERA/STREAM/camera_info           sensor_msgs/msg/CameraInfo
//	/CAMERA/STREAM/image_raw/compressed  sensor_msgs/msg/CompressedImage
//
// A stream of JPEG frames has the last two, as the camera made them. With the
// stream that is decoded from it, it shares those of the same name, see [Pair].
//
// # Work is done when somebody subscribes
//
// Without a subscriber nothing is converted, encoded, serialised or sent, and
// the source of the stream learns that nobody wants its frames. The frame goes
// out of the ring's slot, behind the few bytes that the message has before its
// pixels: it is not copied. The slot is held until the kernel has it all. What
// cannot go as it lies there is made into memory of the topic's own and counted:
// rows with padding are packed, encodings that viewers do not show are converted
// (see [Shown]), and on a link so slow that a slot would be held for too long
// frames are copied out.
//
// # Newest wins
//
// The writer of the ring never waits, and no queue builds up: of the frames of a
// topic one is being sent and one waits, which gives way to newer ones.
package cpu
