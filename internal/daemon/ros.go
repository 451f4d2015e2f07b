// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/calib"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// reliableDepth is the depth of streams that are published reliably: that of the
// client libraries.
const reliableDepth = 10

func (q rosQoS) profile() graph.QoS {
	switch q {
	case qosReliable:
		return graph.ReliableDepth(reliableDepth)
	case qosTransientLocal:
		return graph.Latched()
	}
	return graph.SensorData()
}

// imageTopic is the name of a stream's pictures, in the namespace of the link.
// Frames of the camera's own JPEG go with the stream that is made of them.
func imageTopic(l *cpu.Link, camera, stream string, o rosOutput) (string, error) {
	name := o.topic
	if name == "" {
		name = cpu.TopicName(camera, strings.TrimSuffix(stream, mjpeg.Suffix))
	}
	namespace := l.Namespace
	if namespace == "" {
		namespace = "/"
	}
	return graph.ResolveTopic(namespace, cpu.NodeName(camera), name)
}

// newCPU is the way out of a stream over Zenoh; nil if it has none.
func newCPU(c *camera, full, stream string, out output) *cpu.Backend {
	if c.d.network == nil || len(out.backends) > 0 && !slices.Contains(out.backends, negotiate.BackendCPU) {
		return nil
	}
	link := c.d.network.link
	topic, err := imageTopic(link, c.spec.Name, stream, out.ros)
	if err != nil {
		c.log.Warn("stream is not published for ROS 2", "stream", full, "err", err)
		return nil
	}
	return cpu.New(cpu.Options{
		Stream: full, Camera: c.spec.Name, Topic: topic, JPEG: strings.HasSuffix(stream, mjpeg.Suffix), JPEGInfo: c.sharesInfo(stream), QoS: out.ros.qos.profile(), Encoding: out.ros.encoding,
		FrameID: out.frameID, Stamp: out.stamp, Info: calibrated(out.ros.cameraInfo, c.log.With("stream", full)),
		Quality: out.ros.jpegQuality, MaxRate: out.ros.jpegRate, HoldFor: c.limits.evictAfter, Log: c.log,
	}, link)
}

// calibrated returns what makes the CameraInfo for pictures of a size; nil
// without a file. A file that cannot be used is said, and the camera then is one
// that nobody calibrated.
func calibrated(file string, log *slog.Logger) func(width, height int) msg.CameraInfo {
	if file == "" {
		return nil
	}
	return func(width, height int) msg.CameraInfo {
		c, err := calib.Load(file)
		if err == nil {
			c, err = c.Scale(width, height)
		}
		if err != nil {
			log.Warn("camera_info without a calibration", "err", fmt.Errorf("%s: %w", file, err))
			c = calib.Uncalibrated(width, height)
		}
		return cameraInfo(c)
	}
}

func cameraInfo(c calib.Calibration) msg.CameraInfo {
	return msg.CameraInfo{
		Width: uint32(c.Width), Height: uint32(c.Height), DistortionModel: c.Model, D: c.D, K: c.K, R: c.R, P: c.P,
	}
}

// sharesInfo says whether the camera's own JPEG has the CameraInfo of the stream
// that is decoded from it: then who wants that and compressed pictures has no
// frame decoded. Both must be of the same size, time and place.
func (c *camera) sharesInfo(stream string) bool {
	packed, decoded := c.output.of(stream), c.output.of(strings.TrimSuffix(stream, mjpeg.Suffix))
	return strings.HasSuffix(stream, mjpeg.Suffix) &&
		max(packed.downscale, decoded.downscale) <= 1 && packed.maxRate == decoded.maxRate && packed.stamp == decoded.stamp &&
		packed.frameID == decoded.frameID && packed.ros.cameraInfo == decoded.ros.cameraInfo && packed.ros.qos == decoded.ros.qos
}

// shareTopics settles which of a camera's streams publishes compressed pictures:
// the camera's own JPEG, where there is one.
func (c *camera) shareTopics(streams []*stream) {
	for _, s := range streams {
		name, isJPEG := strings.CutSuffix(s.name, mjpeg.Suffix)
		if !isJPEG || s.cpu == nil {
			continue
		}
		for _, other := range streams {
			if other.name == name && other.cpu != nil {
				other.cpu.LeaveJPEG(c.sharesInfo(strings.TrimPrefix(s.name, c.spec.Name+"/")))
			}
		}
	}
}
