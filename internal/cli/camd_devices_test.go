// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
)

// fakeDevice is what a device would tell.
type fakeDevice struct {
	formats []v4l2.PixelFormat
	broken  error
	closed  int
}

func (d *fakeDevice) Formats() ([]v4l2.PixelFormat, error) { return d.formats, d.broken }
func (d *fakeDevice) Inputs() ([]v4l2.Input, error)        { return nil, nil }
func (d *fakeDevice) Close() error                         { d.closed++; return nil }

func (d *fakeDevice) Controls() ([]v4l2.Control, error) {
	return []v4l2.Control{
		{Name: "brightness", Kind: v4l2.ControlInteger, Min: -64, Max: 64, Step: 1, Value: 3},
		{
			Name: "power_line_frequency", Kind: v4l2.ControlMenu, Max: 2, Default: 1, Value: 2,
			Menu: []v4l2.MenuItem{{Value: 0, Name: "Disabled"}, {Value: 1, Name: "50 Hz"}, {Value: 2, Name: "60 Hz"}},
		},
		{Name: "white_balance_automatic", Kind: v4l2.ControlBoolean, Max: 1, Default: 1, Value: 1},
		{Name: "white_balance_temperature", Kind: v4l2.ControlInteger, Min: 2800, Max: 6500, Step: 10, Default: 4600, Value: 4600, Inactive: true},
	}, nil
}

func discrete(w, h int, rates ...float64) v4l2.Sizes {
	s := v4l2.Sizes{Width: v4l2.Span{Min: w, Max: w}, Height: v4l2.Span{Min: h, Max: h}}
	for _, r := range rates {
		s.Rates = append(s.Rates, v4l2.Rates{Min: r, Max: r})
	}
	return s
}

// fakeHost has a USB camera with its metadata node, and a node that is not ours
// to open.
func fakeHost(t *testing.T) (devices, *fakeDevice) {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string) {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const usb = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-2"
	for name, text := range map[string]string{"idVendor": "046d\n", "idProduct": "0825\n", "serial": "AB12\n", "manufacturer": "Logi Tech\n", "product": "C270\n"} {
		write(usb+"/"+name, text)
	}
	for i, node := range []string{"video0", "video1", "video2"} {
		write("dev/"+node, "")
		if i == 2 {
			continue
		}
		dir := usb + "/1-2:1.0/video4linux/" + node
		write(dir+"/name", "C270: USB Camera\n")
		write(dir+"/index", string(rune('0'+i))+"\n")
		if err := os.Symlink("../../../1-2:1.0", filepath.Join(root, dir, "device")); err != nil {
			t.Fatal(err)
		}
		class := filepath.Join(root, "sys/class/video4linux")
		if err := os.MkdirAll(class, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, dir), filepath.Join(class, node)); err != nil {
			t.Fatal(err)
		}
	}
	dev := &fakeDevice{formats: []v4l2.PixelFormat{
		{FourCC: 'Y' | 'U'<<8 | 'Y'<<16 | 'V'<<24, Description: "YUYV 4:2:2", Encoding: frame.YUV422YUY2, Sizes: []v4l2.Sizes{discrete(640, 480, 30, 7.5), discrete(1280, 720, 10)}},
		{
			FourCC: 'H' | '2'<<8 | '6'<<16 | '4'<<24, Description: "H.264", Compressed: true,
			Sizes: []v4l2.Sizes{{Width: v4l2.Span{Min: 16, Max: 1920, Step: 8}, Height: v4l2.Span{Min: 16, Max: 1080, Step: 2}, Rates: []v4l2.Rates{{Min: 1, Max: 60}}}},
		},
	}}
	return devices{root: root, open: func(path string) (v4l2.Info, videoDevice, error) {
		info := v4l2.Info{Driver: "uvcvideo", Card: "C270: USB Camera", Bus: "usb-0000:00:14.0-2"}
		switch filepath.Base(path) {
		case "video0":
			info.Capture = true
			return info, dev, nil
		case "video1":
			info.Metadata = true
			return info, dev, nil
		}
		return v4l2.Info{}, nil, unix.EACCES
	}}, dev
}

// onHost takes the temporary root out of a text, and the width that it gave to
// columns.
func (d devices) onHost(text string) string {
	return regexp.MustCompile(`(\S)   +`).ReplaceAllString(strings.ReplaceAll(text, d.root, ""), "$1  ")
}

func runDevices(t *testing.T, cmd *cobra.Command, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	root := &cobra.Command{Use: "camd"}
	root.AddCommand(cmd)
	code = Execute(t.Context(), root, args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestDevices(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		host, dev := fakeHost(t)
		code, out, errs := runDevices(t, newCamdDevices(host), "devices", "--format", format)
		if code != 0 || errs != "" {
			t.Fatalf("exit %d: %s", code, errs)
		}
		golden(t, "devices."+strings.Replace(format, "text", "txt", 1), host.onHost(out))
		if dev.closed != 2 {
			t.Errorf("closed %d times, want 2", dev.closed)
		}
	}
}

func TestNoDevices(t *testing.T) {
	host := devices{root: t.TempDir()}
	code, out, errs := runDevices(t, newCamdDevices(host), "devices")
	if code != 0 || out != "" || !strings.Contains(errs, "no video device") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if _, out, _ = runDevices(t, newCamdDevices(host), "devices", "--format", "json"); out != "{\n  \"devices\": []\n}\n" {
		t.Errorf("%q", out)
	}
}

func TestFormats(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		host, dev := fakeHost(t)
		code, out, errs := runDevices(t, newCamdFormats(host), "formats", filepath.Join(host.root, "dev/video0"), "--format", format)
		if code != 0 || errs != "" {
			t.Fatalf("exit %d: %s", code, errs)
		}
		golden(t, "formats."+strings.Replace(format, "text", "txt", 1), host.onHost(out))
		if dev.closed != 1 {
			t.Errorf("closed %d times, want 1", dev.closed)
		}
	}
}

func TestFormatsFails(t *testing.T) {
	host, dev := fakeHost(t)
	for _, c := range []struct {
		name, target string
		broken       error
		code         int
		says         string
	}{
		{"by the name that udev would give", "/dev/v4l/by-id/usb-Logi_Tech_C270_AB12-video-index0", nil, ExitOK, ""},
		{"not there", "/dev/v4l/by-id/usb-other-video-index0", nil, ExitNotFound, "serial AB12"},
		{"not permitted", filepath.Join(host.root, "dev/video2"), nil, ExitUnavailable, "permission denied"},
		{"breaks", filepath.Join(host.root, "dev/video0"), errors.New("broken"), ExitFailure, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dev.broken = c.broken
			code, _, errs := runDevices(t, newCamdFormats(host), "formats", c.target)
			if code != c.code || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, %q; want %d and %q", code, errs, c.code, c.says)
			}
		})
	}
}
