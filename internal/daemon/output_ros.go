// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// rosOutput is what subscribers of ROS 2 see of a stream.
type rosOutput struct {
	qos         rosQoS
	cameraInfo  string         // file of the calibration; "" = the camera is not calibrated
	jpegQuality int            // of pictures that are encoded here, 1 to 100
	jpegRate    float64        // encoded pictures per second; 0 = every frame
	encoding    frame.Encoding // of the pictures; "" = what viewers show, with as little work as can be
	topic       string         // of the pictures, in the namespace unless a / is in front; "" = CAMERA/STREAM/image_raw
}

// rosQoS is a profile of quality of service.
type rosQoS string

// The profiles. Frames that a link has no room for are dropped with each, as
// rmw_zenoh does.
const (
	qosSensorData     rosQoS = "sensor_data"     // best effort, volatile
	qosReliable       rosQoS = "reliable"        // reliable, volatile
	qosTransientLocal rosQoS = "transient_local" // reliable, the last frame for who comes late
)

// usualJPEGQuality keeps compression out of sight at about a tenth of the bytes.
const usualJPEGQuality = 90

func usualROS() rosOutput {
	return rosOutput{qos: qosSensorData, jpegQuality: usualJPEGQuality}
}

// rosKeys lists the options of rosOutput.
func rosKeys() []string {
	return []string{"qos", "camera_info", "ros_encoding", "topic", "jpeg.quality", "jpeg.max_rate"}
}

// mainStreams are those that a topic which is said for the whole camera is of.
var mainStreams = []string{"color", "color/jpeg"}

// of is what is said for the whole camera, for one stream: two with one topic
// would be taken for one.
func (r rosOutput) of(stream string) rosOutput {
	if !slices.Contains(mainStreams, stream) {
		r.topic = ""
	}
	return r
}

func readROS(o *capture.Options, def rosOutput) rosOutput {
	out := rosOutput{
		qos:         rosQoS(o.Choice("qos", string(def.qos), string(qosSensorData), string(qosReliable), string(qosTransientLocal))),
		cameraInfo:  o.String("camera_info", def.cameraInfo),
		encoding:    readROSEncoding(o, def.encoding),
		topic:       o.String("topic", def.topic),
		jpegQuality: int(o.Int("jpeg.quality", int64(def.jpegQuality), 1, 100)),
		jpegRate:    o.Float("jpeg.max_rate", def.jpegRate, 0, 1e6),
	}
	// As a camera_info_url of ROS has it.
	out.cameraInfo = strings.TrimPrefix(out.cameraInfo, "file://")
	if scheme, _, ok := strings.Cut(out.cameraInfo, "://"); ok {
		o.RefuseKey("camera_info", "option camera_info: %.16s:// is not read: want the path of a file", scheme)
	}
	if out.jpegRate != 0 && out.jpegRate < leastRate {
		o.RefuseKey("jpeg.max_rate", "option jpeg.max_rate=%g: want at least %g frames per second, or 0 for all", out.jpegRate, leastRate)
	}
	if out.topic != "" {
		if _, err := resolveTopic("/", "node", out.topic); err != nil {
			o.RefuseKey("topic", "option topic: %w", err)
		}
	}
	return out
}

const autoEncoding = "auto"

// readROSEncoding takes the encodings that ROS has a name for and an Image can
// hold.
func readROSEncoding(o *capture.Options, def frame.Encoding) frame.Encoding {
	text := string(def)
	if text == "" {
		text = autoEncoding
	}
	word := o.String("ros_encoding", text)
	if word == autoEncoding {
		return ""
	}
	list := slices.DeleteFunc(frame.Encodings(), func(e frame.Encoding) bool {
		return e == frame.JPEG || e == frame.Y8I || e == frame.Y12I
	})
	e, err := frame.ParseEncodingOf(word, list)
	switch {
	case err != nil:
		o.RefuseKey("ros_encoding", "option ros_encoding: %w, or %s", err, autoEncoding)
	case !slices.Contains(list, e):
		o.RefuseKey("ros_encoding", "option ros_encoding=%s: no Image has this encoding; known are %s, %s", e, autoEncoding, frame.JoinEncodings(list))
	}
	return e
}
