// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg_test

import (
	"fmt"

	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// A frame goes out as what stands before its pixels, and the pixels from where
// they are.
func ExampleImage_AppendPrefix() {
	pixels := make([]byte, 640*480*3)
	m := msg.Image{
		Header: msg.Header{Stamp: msg.TimeOf(1_700_000_000_123_456_789), FrameID: "front_optical_frame"},
		Width:  640, Height: 480, Encoding: "rgb8", Step: 640 * 3,
	}
	payload := [][]byte{m.AppendPrefix(nil, len(pixels)), pixels}
	fmt.Println(len(payload[0]), len(payload[1]), msg.TypeImage.Wire())
	// Output: 64 921600 sensor_msgs::msg::dds_::Image_
}
