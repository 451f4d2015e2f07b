// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// golden is the whole table: the kernel's name, the code, and what it stands for.
var golden = []struct {
	name   string // V4L2_PIX_FMT_…
	code   uint32
	text   string
	format frame.Format
}{
	{"RGB24", 0x33424752, "RGB3", frame.Format{Encoding: frame.RGB8}},
	{"BGR24", 0x33524742, "BGR3", frame.Format{Encoding: frame.BGR8}},
	{"RGBA32", 0x34324241, "AB24", frame.Format{Encoding: frame.RGBA8}},
	{"RGBX32", 0x34324258, "XB24", frame.Format{Encoding: frame.RGBA8}},
	{"ABGR32", 0x34325241, "AR24", frame.Format{Encoding: frame.BGRA8}},
	{"XBGR32", 0x34325258, "XR24", frame.Format{Encoding: frame.BGRA8}},
	{"BGR32", 0x34524742, "BGR4", frame.Format{Encoding: frame.BGRA8}},
	{"GREY", 0x59455247, "GREY", frame.Format{Encoding: frame.Mono8}},
	{"YUYV", 0x56595559, "YUYV", frame.Format{Encoding: frame.YUV422YUY2}},
	{"UYVY", 0x59565955, "UYVY", frame.Format{Encoding: frame.YUV422UYVY}},
	{"NV12", 0x3231564e, "NV12", frame.Format{Encoding: frame.NV12}},
	{"Y16", 0x20363159, "Y16", frame.Format{Encoding: frame.Mono16}},
	{"Y16_BE", 0xa0363159, "Y16-BE", frame.Format{Encoding: frame.Mono16, BigEndian: true}},
	{"Y10", 0x20303159, "Y10", frame.Format{Encoding: frame.Mono16, Bits: 10}},
	{"Y12", 0x20323159, "Y12", frame.Format{Encoding: frame.Mono16, Bits: 12}},
	{"Y14", 0x20343159, "Y14", frame.Format{Encoding: frame.Mono16, Bits: 14}},
	{"Z16", 0x2036315a, "Z16", frame.Format{Encoding: frame.Depth16}},
	{"SRGGB8", 0x42474752, "RGGB", frame.Format{Encoding: frame.BayerRGGB8}},
	{"SBGGR8", 0x31384142, "BA81", frame.Format{Encoding: frame.BayerBGGR8}},
	{"SGBRG8", 0x47524247, "GBRG", frame.Format{Encoding: frame.BayerGBRG8}},
	{"SGRBG8", 0x47425247, "GRBG", frame.Format{Encoding: frame.BayerGRBG8}},
	{"SRGGB16", 0x36314752, "RG16", frame.Format{Encoding: frame.BayerRGGB16}},
	{"SBGGR16", 0x32525942, "BYR2", frame.Format{Encoding: frame.BayerBGGR16}},
	{"SGBRG16", 0x36314247, "GB16", frame.Format{Encoding: frame.BayerGBRG16}},
	{"SGRBG16", 0x36315247, "GR16", frame.Format{Encoding: frame.BayerGRBG16}},
	{"SRGGB10", 0x30314752, "RG10", frame.Format{Encoding: frame.BayerRGGB16, Bits: 10}},
	{"SBGGR10", 0x30314742, "BG10", frame.Format{Encoding: frame.BayerBGGR16, Bits: 10}},
	{"SGBRG10", 0x30314247, "GB10", frame.Format{Encoding: frame.BayerGBRG16, Bits: 10}},
	{"SGRBG10", 0x30314142, "BA10", frame.Format{Encoding: frame.BayerGRBG16, Bits: 10}},
	{"SRGGB12", 0x32314752, "RG12", frame.Format{Encoding: frame.BayerRGGB16, Bits: 12}},
	{"SBGGR12", 0x32314742, "BG12", frame.Format{Encoding: frame.BayerBGGR16, Bits: 12}},
	{"SGBRG12", 0x32314247, "GB12", frame.Format{Encoding: frame.BayerGBRG16, Bits: 12}},
	{"SGRBG12", 0x32314142, "BA12", frame.Format{Encoding: frame.BayerGRBG16, Bits: 12}},
	{"SRGGB14", 0x34314752, "RG14", frame.Format{Encoding: frame.BayerRGGB16, Bits: 14}},
	{"SBGGR14", 0x34314742, "BG14", frame.Format{Encoding: frame.BayerBGGR16, Bits: 14}},
	{"SGBRG14", 0x34314247, "GB14", frame.Format{Encoding: frame.BayerGBRG16, Bits: 14}},
	{"SGRBG14", 0x34315247, "GR14", frame.Format{Encoding: frame.BayerGRBG16, Bits: 14}},
	{"Y8I", 0x20493859, "Y8I", frame.Format{Encoding: frame.Y8I}},
	{"Y12I", 0x49323159, "Y12I", frame.Format{Encoding: frame.Y12I}},
	{"MJPEG", 0x47504a4d, "MJPG", frame.Format{Encoding: frame.JPEG}},
	{"JPEG", 0x4745504a, "JPEG", frame.Format{Encoding: frame.JPEG}},
}

func TestFourCCTable(t *testing.T) {
	first := map[frame.Format]bool{}
	plain := map[frame.Encoding]bool{}
	for _, row := range golden {
		t.Run(row.name, func(t *testing.T) {
			c := frame.FourCC(row.code)
			if c.String() != row.text || c.BigEndian() != row.format.BigEndian {
				t.Errorf("%#08x is %q, big-endian %v", row.code, c, c.BigEndian())
			}
			if f, ok := c.Format(); !ok || f != row.format {
				t.Errorf("%v stands for %+v, %v, want %+v", c, f, ok, row.format)
			}
			if e, ok := frame.FromFourCC(row.code); !ok || e != row.format.Encoding {
				t.Errorf("%v stands for %v, %v", c, e, ok)
			}
			back, ok := row.format.FourCC()
			if !ok || (!first[row.format] && back != c) {
				t.Errorf("%+v has the code %v, %v, want %v", row.format, back, ok, c)
			}
			first[row.format] = true
		})
		plain[row.format.Encoding] = true
	}
	for _, e := range frame.Encodings() {
		c, ok := e.FourCC()
		back, known := frame.FromFourCC(c)
		if !ok || !known || back != e || !plain[e] {
			t.Errorf("%s: code %v, %v, reads as %s; in the golden table %v", e, frame.FourCC(c), ok, back, plain[e])
		}
	}
	for _, none := range []string{"RGB4", "H264", "pBAA", "YV12", "YUYV-BE"} {
		c, err := frame.ParseFourCC(none)
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := c.Format(); ok || f != (frame.Format{}) {
			t.Errorf("%s stands for %+v", none, f)
		}
	}
	if c, ok := frame.Encoding("h264").FourCC(); ok || c != 0 {
		t.Errorf("an unknown encoding has the code %#x", c)
	}
}

// The golden table is what the kernel's own header says, where that is installed.
func TestFourCCTableIsTheKernels(t *testing.T) {
	text, err := os.ReadFile("/usr/include/linux/videodev2.h")
	if err != nil {
		t.Skipf("no kernel headers: %v", err)
	}
	line := regexp.MustCompile(`#define\s+V4L2_PIX_FMT_(\w+)\s+v4l2_fourcc(_be)?\('(.)',\s*'(.)',\s*'(.)',\s*'(.)'\)`)
	codes := map[string]string{}
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		code := strings.TrimRight(m[3]+m[4]+m[5]+m[6], " ")
		if m[2] != "" {
			code += "-BE"
		}
		codes[m[1]] = code
	}
	if len(codes) < 50 {
		t.Fatalf("read only %d formats from the header", len(codes))
	}
	for _, row := range golden {
		if got, ok := codes[row.name]; ok && got != row.text {
			t.Errorf("%s is %q in the header, %q here", row.name, got, row.text)
		}
	}
}

func TestFourCCText(t *testing.T) {
	for _, tc := range []struct {
		name, in, out string
		code          uint32
	}{
		{"plain", "YUYV", "YUYV", 0x56595559},
		{"short", "Y16", "Y16", 0x20363159},
		{"as v4l2-ctl", "Y16 -BE", "Y16-BE", 0xa0363159},
		{"hexadecimal", "0x56595559", "YUYV", 0x56595559},
		{"not printable", "0x00000001", "0x00000001", 1},
		{"looks big-endian", "0x45422d41", "0x45422d41", 0x45422d41},
		{"all spaces", "0x20202020", "0x20202020", 0x20202020},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := frame.ParseFourCC(tc.in)
			if err != nil || uint32(c) != tc.code || c.String() != tc.out {
				t.Errorf("got %#08x %q, %v", uint32(c), c, err)
			}
		})
	}
	for _, bad := range []string{"", "YUYV2", "Yé1", "0xzzz", "0x123456789", "Y\n16", "ABCDE-BE"} {
		if c, err := frame.ParseFourCC(bad); !errors.Is(err, frame.ErrFourCC) || c != 0 {
			t.Errorf("%q: got %v, %v", bad, c, err)
		}
	}
}

func TestFormatGeometry(t *testing.T) {
	c, err := frame.ParseFourCC("BG10")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := c.Format()
	g, err := f.Geometry(4, 2, 16)
	if err != nil || g.String() != "4x2 bayer_bggr16 (10 bits)" || g.Format() != f || g.Size() != 32 {
		t.Errorf("got %+v, %v", g, err)
	}
	if _, err := (frame.Format{Encoding: frame.RGB8, Bits: 10}).Geometry(4, 2, 0); !errors.Is(err, frame.ErrGeometry) {
		t.Errorf("ten bits of rgb8: %v", err)
	}
	if _, err := (frame.Format{Encoding: frame.JPEG}).Geometry(4, 2, 0); !errors.Is(err, frame.ErrGeometry) {
		t.Errorf("rows of JPEG: %v", err)
	}
}

func FuzzFourCC(f *testing.F) {
	f.Add(uint32(0x56595559), "YUYV")
	f.Add(uint32(0xa0363159), "Y16 -BE")
	f.Add(uint32(0x45422d41), "A-BE")
	f.Fuzz(func(t *testing.T, code uint32, text string) {
		c := frame.FourCC(code)
		if back, err := frame.ParseFourCC(c.String()); err != nil || back != c {
			t.Fatalf("%#08x is %q, which reads as %#08x, %v", code, c, uint32(back), err)
		}
		c, err := frame.ParseFourCC(text)
		if err != nil {
			return
		}
		if back, err := frame.ParseFourCC(c.String()); err != nil || back != c {
			t.Fatalf("%q reads as %v, that as %v, %v", text, c, back, err)
		}
		if f, ok := c.Format(); ok && f.BigEndian != c.BigEndian() {
			t.Fatal(fmt.Sprint(c, f))
		}
	})
}
