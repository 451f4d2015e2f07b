// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
)

// controlNames are the names that kernels of different ages, v4l2-ctl and
// people give to one control (linux/v4l2-controls.h).
var controlNames = []struct {
	id    uint32
	names []string
}{
	{0x00980900, []string{"brightness"}},
	{0x00980901, []string{"contrast"}},
	{0x00980902, []string{"saturation"}},
	{0x00980903, []string{"hue"}},
	{0x0098090c, []string{"white_balance_automatic", "white_balance_temperature_auto", "white_balance_auto"}},
	{0x00980910, []string{"gamma"}},
	{0x00980911, []string{"exposure"}},
	{0x00980912, []string{"gain_automatic", "gain_auto", "autogain"}},
	{0x00980913, []string{"gain"}},
	{0x00980914, []string{"horizontal_flip", "hflip"}},
	{0x00980915, []string{"vertical_flip", "vflip"}},
	{0x00980918, []string{"power_line_frequency"}},
	{0x0098091a, []string{"white_balance_temperature"}},
	{0x0098091b, []string{"sharpness"}},
	{0x0098091c, []string{"backlight_compensation"}},
	{0x009a0901, []string{"auto_exposure", "exposure_auto"}},
	{0x009a0902, []string{"exposure_time_absolute", "exposure_absolute"}},
	{0x009a0903, []string{"exposure_dynamic_framerate", "exposure_auto_priority"}},
	{0x009a090a, []string{"focus_absolute"}},
	{0x009a090c, []string{"focus_automatic_continuous", "focus_auto"}},
	{0x009a090d, []string{"zoom_absolute"}},
}

// automatics rule other controls and are therefore set before them.
var automatics = []uint32{0x009a0901, 0x0098090c, 0x00980912, 0x009a090c, 0x009a0903}

// findControl finds the control that the user calls name.
func findControl(controls []Control, name string) (Control, error) {
	want := normalise(name)
	byName := func(c Control) bool { return c.Name == want }
	if i := slices.IndexFunc(controls, byName); i >= 0 {
		return controls[i], nil
	}
	if id, err := strconv.ParseUint(name, 0, 32); err == nil {
		if i := slices.IndexFunc(controls, func(c Control) bool { return c.ID == uint32(id) }); i >= 0 {
			return controls[i], nil
		}
	}
	for _, known := range controlNames {
		if !slices.Contains(known.names, want) {
			continue
		}
		if i := slices.IndexFunc(controls, func(c Control) bool { return c.ID == known.id }); i >= 0 {
			return controls[i], nil
		}
	}
	names := make([]string, 0, len(controls))
	for _, c := range controls {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	hint := "it has none"
	if n := capture.Nearest(want, names); n != "" {
		hint = "did you mean " + n + "?"
	} else if len(names) > 0 {
		hint = "it has " + strings.Join(names, ", ")
	}
	return Control{}, fmt.Errorf("%w: the camera has no control %q; %s", capture.ErrConfig, name, hint)
}

// parse reads a value as the control takes it.
func (c Control) parse(value string) (int64, error) {
	refuse := func(want string) (int64, error) {
		return 0, fmt.Errorf("%w: control.%s=%s: the camera takes %s", capture.ErrConfig, c.Name, value, want)
	}
	if c.ReadOnly {
		return 0, fmt.Errorf("%w: control.%s can only be read", capture.ErrConfig, c.Name)
	}
	n, err := strconv.ParseInt(value, 0, 64)
	switch c.Kind {
	case ControlButton:
		return 0, nil
	case ControlBoolean:
		switch strings.ToLower(value) {
		case "true", "on", "yes", "1":
			return 1, nil
		case "false", "off", "no", "0":
			return 0, nil
		}
		return refuse("true or false")
	case ControlMenu:
		texts := make([]string, 0, len(c.Menu))
		for _, m := range c.Menu {
			if (err == nil && n == m.Value) || normalise(m.Name) == normalise(value) {
				return m.Value, nil
			}
			texts = append(texts, fmt.Sprintf("%d (%s)", m.Value, normalise(m.Name)))
		}
		return refuse("one of " + strings.Join(texts, ", "))
	case ControlBitmask:
		if err != nil || n < 0 || n&^c.Max != 0 {
			return refuse(fmt.Sprintf("a combination of the bits %#x", c.Max))
		}
	default:
		if err != nil || n < c.Min || n > c.Max {
			return refuse(fmt.Sprintf("a whole number from %d to %d", c.Min, c.Max))
		}
	}
	return n, nil
}

// setting is a control with the value that it shall have.
type setting struct {
	control Control
	value   int64
}

// settings resolves what the user asked for against what the camera has. The
// automatics come first, the others by name.
func settings(controls []Control, asked map[string]string) ([]setting, error) {
	var out []setting
	var errs []error
	names := make([]string, 0, len(asked))
	for name := range asked {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c, err := findControl(controls, name)
		if err == nil {
			var v int64
			if v, err = c.parse(asked[name]); err == nil {
				out = append(out, setting{c, v})
				continue
			}
		}
		errs = append(errs, err)
	}
	slices.SortStableFunc(out, func(a, b setting) int { return rank(a.control.ID) - rank(b.control.ID) })
	return out, errors.Join(errs...)
}

func rank(id uint32) int {
	if i := slices.Index(automatics, id); i >= 0 {
		return i
	}
	return len(automatics)
}

// applyControls sets what the user asked for. A name or a value that makes no
// sense is [capture.ErrConfig]; what the camera does not take is only said,
// because it can stream all the same.
func (d *Device) applyControls(asked map[string]string, log *slog.Logger) error {
	if len(asked) == 0 {
		return nil
	}
	controls, err := d.Controls()
	if err != nil {
		return err
	}
	list, err := settings(controls, asked)
	if err != nil {
		return err
	}
	for _, s := range list {
		err := d.setControl(s.control.ID, s.value)
		switch {
		case err == nil:
			log.Debug("control set", "control", s.control.Name, "value", s.value)
		case errors.Is(err, unix.ENODEV):
			return explain("VIDIOC_S_CTRL", d.Path, err)
		default:
			hint := ""
			if s.control.Inactive {
				hint = "an automatic rules it"
			}
			log.Warn("camera does not take a control", "control", s.control.Name, "value", s.value, "hint", hint, "err", err)
		}
	}
	return nil
}
