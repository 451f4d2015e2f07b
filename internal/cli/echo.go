// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// echoMeter prints what travels with the pixels.
type echoMeter struct {
	stream string
	info   func() negotiate.StreamInfo
	text   string
}

func (m *echoMeter) frame(f heldFrame) (bool, error) {
	i := m.info()
	m.text = echoText(m.stream, &i, f.Geometry(), f.Meta(), len(f.Data()), f.HeldNanos())
	return true, nil
}

func (m *echoMeter) idle() (string, error)       { return m.text, nil }
func (m *echoMeter) tick(int64) string           { return "" }
func (m *echoMeter) end(summary) (string, error) { return "", nil }

// echoText is a YAML document: first the fields of sensor_msgs/Image (of
// CompressedImage for compressed streams) as ros2 topic echo --no-arr prints
// them, then what only camd has, times of the monotonic clock in nanoseconds.
func echoText(stream string, i *negotiate.StreamInfo, g frame.Geometry, m frame.Meta, size int, held int64) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("header:")
	line("  stamp:")
	stamp := i.Stamp.HeaderNanos(&m)
	line("    sec: %d", stamp/1e9)
	line("    nanosec: %d", stamp%1e9)
	line("  frame_id: %s", yamlText(i.FrameID))
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

// yamlText is a text as a YAML scalar: plain where that is what PyYAML prints of
// a name, else in quotes.
func yamlText(s string) string {
	plain := len(s) > 0
	for n, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		plain = plain && (letter || n > 0 && (r >= '0' && r <= '9' || strings.ContainsRune("-./", r)))
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n": // not texts to YAML 1.1
		plain = false
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
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
only camd has. The stamp is the time of capture, or of publishing where the
camera is configured so (stamp=publish). Times that end in _ns are of the monotonic clock. If stdout is
slow, frames are missing in between.`,
		Example: "  camsub echo test/color --once",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	once := cmd.Flags().Bool("once", false, "end after one frame, as --count 1")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *once {
			if flags.limits.count > 1 {
				return Usagef("--once and --count %d exclude each other", flags.limits.count)
			}
			flags.limits.count = 1
		}
		m := &echoMeter{stream: args[0]}
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		m.info = r.info
		return r.run(cmd.Context())
	}
	return cmd
}
