// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// bwMeter prints the bandwidth as ros2 topic bw does.
type bwMeter struct {
	format string
	stream string
	window *measure.Bandwidth
	size   measure.Running // bytes, over the whole run
	total  uint64          // bytes
}

func (b *bwMeter) frame(f heldFrame) (bool, error) {
	n := f.MessageBytes()
	b.window.Add(f.HeldNanos(), n)
	b.size.Add(int64(n))
	b.total += uint64(max(n, 0))
	return true, nil
}

func (b *bwMeter) idle() (string, error) { return "", nil }

func (b *bwMeter) begin() string {
	if b.format != "text" {
		return ""
	}
	return "Subscribed to [/" + strings.TrimPrefix(b.stream, "/") + "]"
}

func (b *bwMeter) tick(nowNanos int64) string {
	if b.format != "text" {
		return ""
	}
	if r, ok := b.window.Report(nowNanos); ok {
		return r.String()
	}
	return ""
}

// bwResult is the JSON summary of bw.
type bwResult struct {
	measurement
	Bytes          uint64         `json:"bytes"` // received
	BytesPerSecond float64        `json:"bytes_per_s"`
	Size           measure.Spread `json:"size_bytes"` // of one frame
}

func (b *bwMeter) end(s summary) (string, error) {
	if b.format == "text" {
		if r, ok := b.window.Final(s.nowNanos); ok {
			return r.String(), nil
		}
		return "", nil
	}
	r := bwResult{measurement: s.head("bw"), Bytes: b.total, Size: b.size.Spread()}
	if r.Duration > 0 {
		r.BytesPerSecond = float64(b.total) / r.Duration
	}
	if b.format == "json" {
		return jsonText(r)
	}
	var t table
	t.head(r.measurement)
	t.count("bytes", r.Bytes)
	t.number("bytes_per_s", r.BytesPerSecond)
	t.spread("size", "_bytes", r.Size, (*table).number)
	return t.String(), nil
}

func newBw(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bw STREAM",
		Short: "Print the bandwidth of a stream, as ros2 topic bw does",
		Long: `Print the bytes per second of a stream, as ros2 topic bw does, once a second. Of
frames that come by cpu it counts the whole ROS messages, as ros2 topic bw does.
With --format json or csv there is one summary at the end.`,
		Example: "  camsub bw test/color --duration 10s",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	format := formatFlag(cmd, "text", "json", "csv")
	window := windowFlag(cmd.Flags(), "frames", measure.DefaultBandwidthWindow)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWindow(*window); err != nil {
			return err
		}
		m := &bwMeter{format: format.value, stream: args[0], window: measure.NewBandwidth(*window)}
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		r.begin = m.begin
		r.fresh = true
		return r.run(cmd.Context())
	}
	return cmd
}
