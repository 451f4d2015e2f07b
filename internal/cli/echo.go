// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/frame"
)

// echoMeter prints what travels with the pixels.
type echoMeter struct {
	stream string
	text   string
}

func (m *echoMeter) frame(f heldFrame) (bool, error) {
	m.text = echoText(m.stream, f.Geometry(), f.Meta(), len(f.Data()), f.HeldNanos())
	return true, nil
}

func (m *echoMeter) idle() (string, error)       { return m.text, nil }
func (m *echoMeter) tick(int64) string           { return "" }
func (m *echoMeter) end(summary) (string, error) { return "", nil }

// echoText is a YAML document: first the fields of sensor_msgs/Image (of
// CompressedImage for compressed streams) as ros2 topic echo --no-arr prints
// them, then what only camd has, times of the monotonic clock in nanoseconds.
func echoText(stream string, g frame.Geometry, m frame.Meta, size int, held int64) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("header:")
	line("  stamp:")
	line("    sec: %d", m.WallNanos/1e9)
	line("    nanosec: %d", m.WallNanos%1e9)
	line("  frame_id: ''")
	if g.Compressed() {
		size = min(size, m.Bytes)
		line("format: %s", g.Encoding)
	} else {
		line("height: %d", g.Height)
		line("width: %d", g.Width)
		line("encoding: %s", g.Encoding)
		line("is_bigendian: %d", bit(g.BigEndian))
		line("step: %d", g.Step)
	}
	line("data: '<sequence type: uint8, length: %d>'", size)
	line("camd:")
	line("  stream: %s", strconv.Quote(stream))
	if g.Compressed() {
		line("  height: %d", g.Height)
		line("  width: %d", g.Width)
	}
	if g.Bits != 0 {
		line("  bits: %d", g.Bits)
	}
	line("  sequence: %d", m.Sequence)
	line("  driver_sequence: %d", m.DriverSequence)
	line("  clock: %s", m.Clock)
	line("  capture_ns: %d", m.CaptureNanos)
	line("  ready_ns: %d", m.ReadyNanos)
	line("  publish_ns: %d", m.PublishNanos)
	line("  held_ns: %d", held)
	line("  flags: [%s]", strings.ReplaceAll(m.Flags.String(), "|", ", "))
	b.WriteString("---")
	return b.String()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newEcho(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "echo STREAM",
		Short: "Print what travels with the frames, as ros2 topic echo --no-arr does",
		Long: `Print the header, geometry and counters of each frame as YAML: the fields of
sensor_msgs/Image as ros2 topic echo --no-arr prints them, and below camd: what
only camd has. Times that end in _ns are of the monotonic clock. If stdout is
slow, frames are missing in between.`,
		Example: "  camsub echo test/color --once",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	once := cmd.Flags().Bool("once", false, "end after one frame, as --count 1")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *once {
			if flags.limits.count > 1 {
				return Usagef("--once and --count %d exclude each other", flags.limits.count)
			}
			flags.limits.count = 1
		}
		r, err := flags.runner(w, cmd, args[0], &echoMeter{stream: streamName(args[0])})
		if err != nil {
			return err
		}
		return r.run(cmd.Context())
	}
	return cmd
}
