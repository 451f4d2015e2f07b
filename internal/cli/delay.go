// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/measure"
)

// errNoStamp reports frames without a capture time.
var errNoStamp = errors.New("frames carry no capture time")

// delayMeter prints the age of frames as ros2 topic delay does.
type delayMeter struct {
	format   string
	realtime func() int64
	delay    *measure.Delay
	all      measure.Running // nanoseconds, over the whole run
}

func (d *delayMeter) frame(f heldFrame) (bool, error) {
	meta := f.Meta()
	at := f.HeldNanos()
	age, err := d.age(at, meta)
	if err != nil {
		return false, err
	}
	d.delay.Add(at, age)
	d.all.Add(age)
	return true, nil
}

// age is the time since capture in nanoseconds. ROS compares the wall clock
// with the stamp; the same instants on the monotonic clock give the same
// difference and do not jump when the wall clock is set.
func (d *delayMeter) age(heldNanos int64, m frame.Meta) (int64, error) {
	switch {
	case m.CaptureNanos != 0:
		return heldNanos - m.CaptureNanos, nil
	case m.WallNanos != 0:
		return d.realtime() - m.WallNanos, nil
	}
	return 0, fmt.Errorf("%w: nothing to measure a delay from", errNoStamp)
}

func (d *delayMeter) idle() (string, error) { return "", nil }

func (d *delayMeter) tick(int64) string {
	if d.format != "text" {
		return ""
	}
	return d.delay.Text()
}

// delayResult is the JSON summary of delay.
type delayResult struct {
	measurement
	Delay measure.Spread `json:"delay_s"` // from capture to held
}

func (d *delayMeter) end(s summary) (string, error) {
	if d.format == "text" {
		return d.delay.Final(), nil
	}
	r := delayResult{measurement: s.head("delay"), Delay: d.all.Spread().Scale(1e-9)}
	if d.format == "json" {
		return jsonText(r)
	}
	var t table
	t.head(r.measurement)
	t.spread("delay", "_s", r.Delay, (*table).seconds)
	return t.String(), nil
}

func newDelay(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delay STREAM",
		Short: "Print how old frames are when they arrive, as ros2 topic delay does",
		Long: `Print the time from a frame's capture to its arrival, as ros2 topic delay
does, once a second. With --format json or csv there is one summary at the end.
Of a ROS 2 topic it is the time since the stamp in the header, by two clocks if
the publisher is on another host: they must be synchronised.`,
		Example: "  camsub delay test/color --duration 10s",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	format := formatFlag(cmd, "text", "json", "csv")
	window := windowFlag(cmd.Flags(), "frames", measure.DefaultDelayWindow)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWindow(*window); err != nil {
			return err
		}
		m := &delayMeter{format: format.value, realtime: w.realtime, delay: measure.NewDelay(*window)}
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		r.fresh, r.ages = true, true
		return r.run(cmd.Context())
	}
	return cmd
}
