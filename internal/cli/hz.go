// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// hzMeter prints the rate as ros2 topic hz does.
type hzMeter struct {
	format   string
	rate     *measure.Rate
	last     int64           // arrival of the newest frame, 0 = none
	interval measure.Running // nanoseconds, over the whole run
	age      measure.Running // ready to held, nanoseconds, over the whole run
}

func (h *hzMeter) frame(f heldFrame) (bool, error) {
	at := f.HeldNanos()
	if h.last != 0 {
		h.interval.Add(at - h.last)
	}
	h.last = at
	if ready := f.Meta().ReadyNanos; ready != 0 {
		h.age.Add(at - ready)
	}
	h.rate.Add(at)
	return true, nil
}

func (h *hzMeter) idle() (string, error) {
	if h.format != "text" {
		return "", nil
	}
	if r, ok := h.rate.Report(); ok {
		return r.String(), nil
	}
	return "", nil
}

func (h *hzMeter) tick(int64) string { return "" }

// hzResult is the JSON summary of hz.
type hzResult struct {
	measurement
	Rate     float64        `json:"rate_hz"`
	Interval measure.Spread `json:"interval_s"` // between arrivals
	Age      measure.Spread `json:"age_s"`      // from ready to held
}

func (h *hzMeter) end(s summary) (string, error) {
	if h.format == "text" {
		if r, ok := h.rate.Final(); ok {
			return r.String(), nil
		}
		return "", nil
	}
	interval := h.interval.Spread()
	r := hzResult{
		measurement: s.head("hz"), Rate: measure.RateReport{Interval: interval}.Hz(),
		Interval: interval.Scale(1e-9), Age: h.age.Spread().Scale(1e-9),
	}
	if h.format == "json" {
		return jsonText(r)
	}
	var t table
	t.head(r.measurement)
	if r.Interval.Count == 0 {
		t.text("rate_hz", "")
	} else {
		t.number("rate_hz", r.Rate)
	}
	t.spread("interval", "_s", r.Interval, (*table).seconds)
	t.spread("age", "_s", r.Age, (*table).seconds)
	return t.String(), nil
}

func newHz(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hz STREAM",
		Short: "Print the rate at which frames arrive, as ros2 topic hz does",
		Long: `Print the rate at which frames arrive, as ros2 topic hz does: about once a
second, when new frames came. With --format json or csv there is one summary
at the end.`,
		Example: "  camsub hz test/color --duration 10s\n  camsub hz test/color --verify --count 600 --format json",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	format := formatFlag(cmd, "text", "json", "csv")
	window := windowFlag(cmd.Flags(), "intervals", measure.DefaultRateWindow)
	hold := cmd.Flags().String("hold", "", "keep every frame this `time`, or \"forever\", to see what a slow reader does")
	var limit perSecond
	cmd.Flags().Var(&limit, "rate-limit", "take at most this many frames per second (`Hz`)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWindow(*window); err != nil {
			return err
		}
		p, err := parsePace(*hold, float64(limit))
		if err != nil {
			return err
		}
		r, err := flags.runner(w, cmd, args[0], &hzMeter{format: format.value, rate: measure.NewRate(*window)})
		if err != nil {
			return err
		}
		r.pace = p
		r.fresh = true
		return r.run(cmd.Context())
	}
	return cmd
}

func parsePace(hold string, limit float64) (pace, error) {
	var p pace
	switch hold {
	case "":
	case "forever":
		p.forever = true
	default:
		d, err := parseSeconds(hold)
		if err != nil {
			return p, Usagef("--hold %s: %v, or forever", hold, err)
		}
		p.holdFor = d
	}
	if limit > 0 {
		p.interval = time.Duration(float64(time.Second) / limit)
	}
	return p, nil
}
