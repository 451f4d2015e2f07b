// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
)

func newControl(id, kind uint32, name string, least, most int64) queryExtCtrl {
	c := queryExtCtrl{ID: id, Type: kind, Minimum: least, Maximum: most, Step: 1, Elems: 1}
	copy(c.Name[:], name)
	return c
}

func fakeControls() []queryExtCtrl {
	return []queryExtCtrl{
		newControl(0x00980001, ctrlTypeClass, "User Controls", 0, 0),
		newControl(0x00980900, ctrlTypeInteger, "Brightness", -64, 64),
		newControl(0x0098090c, ctrlTypeBoolean, "White Balance, Automatic", 0, 1),
		newControl(0x0098091a, ctrlTypeInteger, "White Balance Temperature", 2800, 6500),
		newControl(0x009a0901, ctrlTypeMenu, "Auto Exposure", 0, 3),
		newControl(0x009a0902, ctrlTypeInteger, "Exposure Time, Absolute", 1, 5000),
		newControl(0x009a0990, ctrlTypeButton, "Reset", 0, 0),
		newControl(0x009a0991, ctrlTypeBitmask, "Flags", 0, 0xf0),
	}
}

func withControls(t *testing.T) (*fakeDriver, *Device) {
	t.Helper()
	f := newFake(t)
	f.controls = fakeControls()
	d, err := open("fake", f.open)
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

func TestControlsOfBothGenerations(t *testing.T) {
	for _, old := range []bool{false, true} {
		f, d := withControls(t)
		f.oldCtrl = old
		got, err := d.Controls()
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, 0, len(got))
		for _, c := range got {
			names = append(names, c.Name)
		}
		if want := []string{"brightness", "white_balance_automatic", "white_balance_temperature", "auto_exposure", "exposure_time_absolute", "reset", "flags"}; !slices.Equal(names, want) {
			t.Errorf("old %v: %v, want %v", old, names, want)
		}
		if m := got[3].Menu; len(m) != 3 || m[2] != (MenuItem{3, "Aperture Priority Mode"}) {
			t.Errorf("menu %v", m)
		}
		if got[0].Value != 7 || got[0].Min != -64 {
			t.Errorf("%+v", got[0])
		}
	}
}

func TestApplyControls(t *testing.T) {
	for _, c := range []struct {
		name  string
		asked map[string]string
		want  []control
		says  string // of a refusal
	}{
		{"by name", map[string]string{"brightness": "-5"}, []control{{0x00980900, -5}}, ""},
		{"by title", map[string]string{"Exposure Time, Absolute": "100"}, []control{{0x009a0902, 100}}, ""},
		{"by the older name", map[string]string{"exposure_absolute": "100"}, []control{{0x009a0902, 100}}, ""},
		{"by number", map[string]string{"0x00980900": "0x10"}, []control{{0x00980900, 16}}, ""},
		{"boolean", map[string]string{"white_balance_temperature_auto": "off"}, []control{{0x0098090c, 0}}, ""},
		{"menu by item", map[string]string{"exposure_auto": "aperture_priority_mode"}, []control{{0x009a0901, 3}}, ""},
		{"menu by number", map[string]string{"auto_exposure": "1"}, []control{{0x009a0901, 1}}, ""},
		{"button", map[string]string{"reset": "now"}, []control{{0x009a0990, 0}}, ""},
		{"bits", map[string]string{"flags": "0x30"}, []control{{0x009a0991, 0x30}}, ""},
		{
			"automatics first",
			map[string]string{"exposure_time_absolute": "9", "white_balance_temperature": "3000", "white_balance_automatic": "0", "auto_exposure": "1"},
			[]control{{0x009a0901, 1}, {0x0098090c, 0}, {0x009a0902, 9}, {0x0098091a, 3000}},
			"",
		},
		{"misspelt", map[string]string{"brightnes": "1"}, nil, "did you mean brightness?"},
		{"unknown", map[string]string{"zzz": "1"}, nil, "it has auto_exposure, brightness"},
		{"beyond its range", map[string]string{"brightness": "65"}, nil, "from -64 to 64"},
		{"no number", map[string]string{"brightness": "high"}, nil, "from -64 to 64"},
		{"no boolean", map[string]string{"white_balance_automatic": "2"}, nil, "true or false"},
		{"hole of a menu", map[string]string{"auto_exposure": "2"}, nil, "0 (auto_mode), 1 (manual_mode), 3 (aperture_priority_mode)"},
		{"other bits", map[string]string{"flags": "1"}, nil, "0xf0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, d := withControls(t)
			err := d.applyControls(c.asked, slog.New(slog.DiscardHandler))
			if c.says != "" {
				if !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), c.says) || len(f.set) > 0 {
					t.Errorf("%v, set %v; want %v that says %q", err, f.set, capture.ErrConfig, c.says)
				}
				return
			}
			if err != nil || !slices.Equal(f.set, c.want) {
				t.Errorf("%v, set %v, want %v", err, f.set, c.want)
			}
		})
	}
}

// A camera that does not take a control can stream all the same.
func TestControlNotTaken(t *testing.T) {
	f, d := withControls(t)
	f.fail[reqSetCtrl] = unix.EIO
	var log bytes.Buffer
	if err := d.applyControls(map[string]string{"brightness": "1"}, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "control=brightness") {
		t.Errorf("the log does not say it: %s", &log)
	}
	f.fail[reqSetCtrl] = unix.ENODEV
	if err := d.applyControls(map[string]string{"brightness": "1"}, slog.New(slog.DiscardHandler)); !errors.Is(err, capture.ErrDeviceGone) {
		t.Errorf("%v, want %v", err, capture.ErrDeviceGone)
	}
}

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"Exposure, Auto": "exposure_auto", "White Balance Temperature, Auto": "white_balance_temperature_auto",
		"100% Red": "100_red", "  Gain ": "gain", "brightness": "brightness", "": "", "%%%": "",
	} {
		if got := normalise(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A driver that goes in circles, or never ends, is left at some time.
func TestEndlessEnumerations(t *testing.T) {
	f, d := withControls(t)
	f.controls = f.controls[1:2]
	f.controls[0].ID = 0 // comes again and again
	got, err := d.Controls()
	if err != nil || len(got) > mostControls {
		t.Errorf("%d controls, %v", len(got), err)
	}
}
