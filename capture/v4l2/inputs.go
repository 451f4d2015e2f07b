// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
)

// mostInputs bounds the enumeration of inputs.
const mostInputs = 64

// Input is a connector of a device.
type Input struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Timings bool   `json:"timings"` // carries a signal whose size and rate its source sets
}

// Inputs lists the connectors; none if the driver does not tell.
func (d *Device) Inputs() ([]Input, error) {
	var out []Input
	for i := range mostInputs {
		in := input{Index: uint32(i)}
		if err := d.k.ioctl(reqEnumInput, unsafe.Pointer(&in)); err != nil {
			if absent(err) {
				break
			}
			return nil, explain("VIDIOC_ENUMINPUT", d.Path, err)
		}
		out = append(out, Input{Index: i, Name: text(in.Name[:]), Timings: in.Capabilities&inputCapTimings != 0})
	}
	return out, nil
}

// selectInput takes the input that the user named by number or name, "" = the
// one that is set, and follows the signal at it.
func (d *Device) selectInput(asked string) error {
	inputs, err := d.Inputs()
	if err != nil {
		return err
	}
	var current uint32
	if err := d.k.ioctl(reqGetInput, unsafe.Pointer(&current)); err != nil && !absent(err) {
		return explain("VIDIOC_G_INPUT", d.Path, err)
	}
	if asked != "" {
		n, err := chooseInput(inputs, asked)
		if err != nil {
			return err
		}
		if uint32(n) != current {
			current = uint32(n)
			if err := d.call("VIDIOC_S_INPUT", reqSetInput, unsafe.Pointer(&current)); err != nil {
				return err
			}
		}
	}
	for _, in := range inputs {
		if in.Index == int(current) && in.Timings {
			return d.followSignal()
		}
	}
	return nil
}

func chooseInput(inputs []Input, asked string) (int, error) {
	number, err := strconv.Atoi(asked)
	names := make([]string, 0, len(inputs))
	for _, in := range inputs {
		if (err == nil && in.Index == number) || normalise(in.Name) == normalise(asked) {
			return in.Index, nil
		}
		names = append(names, fmt.Sprintf("%d (%s)", in.Index, in.Name))
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%w: input=%s: the device has no inputs to choose from", capture.ErrConfig, asked)
	}
	return 0, fmt.Errorf("%w: input=%s: the device has %s", capture.ErrConfig, asked, strings.Join(names, ", "))
}

// followSignal sets the timings of the signal that arrives, and asks to be told
// when it changes.
func (d *Device) followSignal() error {
	var t dvTimings
	err := d.k.ioctl(reqQueryTimings, unsafe.Pointer(&t))
	switch {
	case err == nil:
		if err := d.call("VIDIOC_S_DV_TIMINGS", reqSetTimings, unsafe.Pointer(&t)); err != nil {
			return err
		}
	case errors.Is(err, unix.ENOLINK):
		return fmt.Errorf("%w: nothing is connected to the input of %s, or its source is off (VIDIOC_QUERY_DV_TIMINGS: %w)", ErrNoSignal, d.Path, err)
	case errors.Is(err, unix.ENOLCK):
		return fmt.Errorf("%w: the signal at %s is not stable (VIDIOC_QUERY_DV_TIMINGS: %w)", ErrNoSignal, d.Path, err)
	case errors.Is(err, unix.ERANGE):
		return fmt.Errorf("%w: the device cannot take the signal at %s: lower its size or rate (VIDIOC_QUERY_DV_TIMINGS: %w)", ErrNoSignal, d.Path, err)
	case !absent(err): // without the request the timings stay as they are
		return explain("VIDIOC_QUERY_DV_TIMINGS", d.Path, err)
	}
	sub := eventSubscription{Type: eventSourceChange}
	// Drivers without the event are watched by their frames alone.
	_ = d.k.ioctl(reqSubscribeEvent, unsafe.Pointer(&sub))
	return nil
}

// sourceChanged takes the events that wait and reports whether the signal
// changed.
func (d *Device) sourceChanged() bool {
	changed := false
	for range mostControls {
		var e event
		if d.k.ioctl(reqDequeueEvent, unsafe.Pointer(&e)) != nil {
			break
		}
		changed = changed || e.Type == eventSourceChange
	}
	return changed
}
