// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
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

// imageTopic is the name of a stream's pictures, in a namespace. Frames of the
// camera's own JPEG go with the stream that is made of them.
func imageTopic(namespace, camera, stream string, o rosOutput) (string, error) {
	name := o.topic
	if name == "" {
		name = cpu.TopicName(camera, strings.TrimSuffix(stream, mjpeg.Suffix))
	}
	return resolveTopic(namespace, cpu.NodeName(camera), name)
}

// resolveTopic makes the name of a topic of pictures fully qualified. It fails
// with graph.ErrName, also if a sibling's name would be too long.
func resolveTopic(namespace, node, name string) (string, error) {
	topic, err := graph.ResolveTopic(cmp.Or(namespace, "/"), node, name)
	if err != nil {
		return "", err
	}
	for _, sibling := range []string{cpu.JPEGTopic(topic), cpu.InfoTopic(topic)} {
		if err := graph.ValidateTopic(sibling); err != nil {
			return "", err
		}
	}
	return topic, nil
}

// newCPU is the way out of a stream over Zenoh; nil if it has none.
func newCPU(c *camera, full, stream string, out output) *cpu.Backend {
	if c.d.network == nil || len(out.backends) > 0 && !slices.Contains(out.backends, negotiate.BackendCPU) {
		return nil
	}
	link := c.d.network.link
	topic, err := imageTopic(link.Namespace, c.spec.Name, stream, out.ros)
	if err != nil {
		c.log.Warn("stream is not published for ROS 2", "stream", full, "err", err)
		return nil
	}
	return cpu.New(cpu.Options{
		Stream: full, Camera: c.spec.Name, Topic: topic, JPEG: strings.HasSuffix(stream, mjpeg.Suffix), QoS: out.ros.qos.profile(), Encoding: out.ros.encoding,
		FrameID: out.frameID, Stamp: out.stamp, Info: calibrated(out.ros.cameraInfo, c.log.With("stream", full)),
		Quality: out.ros.jpegQuality, MaxRate: out.ros.jpegRate, HoldFor: c.limits.evictAfter, Log: c.log,
		Allow: func(topic string) error { return c.d.network.Access.publish(topic, full) },
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

// share has the streams of one camera that go out of the same pictures, its own
// JPEG and what is decoded from it, know of each other. mu is held.
func (c *camera) share(s *stream) {
	for _, other := range c.streams {
		switch {
		case other.name+mjpeg.Suffix == s.name:
			pair(s, other)
		case s.name+mjpeg.Suffix == other.name:
			pair(other, s)
		}
	}
}

// pair waits for nothing.
func pair(captured, decoded *stream) {
	if captured.output.maxRate == decoded.output.maxRate {
		one := decoded.decimator()
		captured.mu.Lock()
		captured.rarer = one
		captured.mu.Unlock()
	}
	if captured.cpu != nil && decoded.cpu != nil {
		cpu.Pair(captured.cpu, decoded.cpu, sameInfo(captured.output, decoded.output))
	}
}

// sameInfo says whether the CameraInfo of the camera's own JPEG and that of the
// stream that is decoded from it have only other times.
func sameInfo(captured, decoded output) bool {
	return max(captured.downscale, decoded.downscale) <= 1 && captured.frameID == decoded.frameID && captured.ros.cameraInfo == decoded.ros.cameraInfo
}
