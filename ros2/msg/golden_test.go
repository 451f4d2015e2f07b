// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type message interface {
	AppendCDR(b []byte) []byte
	DecodeCDR(b []byte) error
}

var stamp = TimeOf(1_700_000_000_123_456_789)

var (
	sampleImage = Image{
		Header: Header{stamp, "cam0"}, Height: 1, Width: 2, Encoding: "rgb8", Step: 6, Data: []byte{1, 2, 3, 4, 5, 6},
	}
	sampleCompressed = CompressedImage{Header: Header{stamp, "cam0"}, Format: "jpeg", Data: []byte{0xff, 0xd8, 0xff, 0xd9}}
	sampleInfo       = CameraInfo{
		Header: Header{stamp, "cam0"}, Height: 720, Width: 1280, DistortionModel: "plumb_bob", D: make([]float64, 5),
		K: [9]float64{1}, R: [9]float64{2}, P: [12]float64{3}, BinningX: 4, ROI: RegionOfInterest{DoRectify: true},
	}
	sampleImu = Imu{
		Header: Header{stamp, "imu"}, Orientation: Quaternion{X: 1, W: 2}, AngularVelocity: Vector3{X: 3},
		LinearAccelerationCovariance: [9]float64{8: 4},
	}
	sampleCloud = PointCloud2{
		Header: Header{Time{1, 2}, "cam0"}, Height: 1, Width: 1,
		Fields:    []PointField{{"x", 0, PointFloat32, 1}, {"y", 4, PointFloat32, 1}, {"z", 8, PointFloat32, 1}},
		PointStep: 12, RowStep: 12, Data: make([]byte, 12), IsDense: true,
	}
	sampleTF = TFMessage{Transforms: []TransformStamped{{
		Header{Time{1, 2}, "base_link"}, "cam0_link", Transform{Vector3{0.5, 0, 1}, Quaternion{0, 0, 0, 1}},
	}}}
	sampleDiagnostics = DiagnosticArray{Header: Header{Time{1, 2}, ""}, Status: []DiagnosticStatus{
		{DiagnosticWarn, "front", "slow", "usb", []KeyValue{{"rate", "29.9"}, {"drops", "3"}}},
		{Level: DiagnosticOK},
	}}
)

// golden are bytes confirmed by an encoder that is not this one, gaps zero.
var golden = []struct {
	name string
	m    message
	hex  string
}{
	{"Time", &Time{1, 2}, "00010000 01000000 02000000"},
	{"Time before the epoch", &Time{-1, 999_999_999}, "00010000 ffffffff ffc99a3b"},
	{"Header", &Header{Time{1, 2}, "cam0"}, "00010000 01000000 02000000 05000000 63616d3000"},
	{"String", &String{"hi"}, "00010000 03000000 686900"},
	{"String, empty", &String{}, "00010000 01000000 00"},
	{"Image", &sampleImage, `00010000 00f15365 15cd5b07 05000000 63616d30 00000000 01000000 02000000
		05000000 72676238 00 00 0000 06000000 06000000 010203040506`},
	{"CompressedImage", &sampleCompressed, `00010000 00f15365 15cd5b07 05000000 63616d30 00000000
		05000000 6a706567 00000000 04000000 ffd8ffd9`},
	{"TFMessage", &sampleTF, `00010000 01000000 01000000 02000000 0a000000 626173655f6c696e6b00 0000
		0a000000 63616d305f6c696e6b00 000000000000 000000000000e03f 0000000000000000 000000000000f03f
		0000000000000000 0000000000000000 0000000000000000 000000000000f03f`},
	{"DiagnosticArray", &sampleDiagnostics, `00010000 01000000 02000000 01000000 00 000000 02000000
		01 000000 06000000 66726f6e7400 0000 05000000 736c6f7700 000000 04000000 75736200 02000000
		05000000 7261746500 000000 05000000 32392e3900 000000 06000000 64726f707300 0000 02000000 3300
		00 00 01000000 00 000000 01000000 00 000000 01000000 00 000000 00000000`},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		want := unhex(t, g.hex)
		if got := g.m.AppendCDR(nil); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", g.name, got, want)
		}
		got := fresh(g.m)
		if err := got.DecodeCDR(want); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		if diff := cmp.Diff(g.m, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", g.name, diff)
		}
	}
}

// TestGoldenPlaces holds the messages that are too long to write out to where
// their members lie.
func TestGoldenPlaces(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	f64 := func(b []byte, at int) float64 { return math.Float64frombits(le.Uint64(b[at:])) }
	check := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Error(what)
		}
	}
	b := sampleInfo.AppendCDR(nil)
	check("CameraInfo: length", len(b) == 357)
	check("CameraInfo: distortion model", le.Uint32(b[32:]) == 10 && string(b[36:46]) == "plumb_bob\x00")
	check("CameraInfo: d", le.Uint32(b[48:]) == 5 && f64(b, 52) == 0)
	check("CameraInfo: k, r, p", f64(b, 92) == 1 && f64(b, 164) == 2 && f64(b, 236) == 3)
	check("CameraInfo: binning", le.Uint32(b[332:]) == 4)
	check("CameraInfo: do_rectify", b[356] == 1)

	b = sampleImu.AppendCDR(nil)
	check("Imu: length", len(b) == 316)
	check("Imu: first and last", f64(b, 20) == 1 && f64(b, 308) == 4)

	b = sampleCloud.AppendCDR(nil)
	check("PointCloud2: length", len(b) == 125)
	for i, at := range []int{36, 56, 76} {
		check("PointCloud2: field", le.Uint32(b[at:]) == 2 && b[at+4] == "xyz"[i])
	}
	check("PointCloud2: data", le.Uint32(b[108:]) == 12)
	check("PointCloud2: is_dense", b[124] == 1)
}

func TestPrefixAndPixelsAreTheMessage(t *testing.T) {
	t.Parallel()
	before := []byte("before")
	for _, n := range []int{0, 1, 6} {
		img, jpg := sampleImage, sampleCompressed
		img.Data, jpg.Data = []byte("pixels")[:n], []byte("pixels")[:n]
		want := img.AppendCDR(bytes.Clone(before))
		img.Data = nil
		if got := append(img.AppendPrefix(bytes.Clone(before), n), "pixels"[:n]...); !bytes.Equal(got, want) {
			t.Errorf("Image:\n got %x\nwant %x", got, want)
		}
		want = jpg.AppendCDR(bytes.Clone(before))
		jpg.Data = nil
		if got := append(jpg.AppendPrefix(bytes.Clone(before), n), "pixels"[:n]...); !bytes.Equal(got, want) {
			t.Errorf("CompressedImage:\n got %x\nwant %x", got, want)
		}
	}
}

func TestTimeOf(t *testing.T) {
	t.Parallel()
	for nanos, want := range map[int64]Time{
		0:                         {},
		1_700_000_000_123_456_789: {1_700_000_000, 123_456_789},
		-1:                        {-1, 999_999_999},
		-1_000_000_000:            {-1, 0},
		math.MaxInt64:             {math.MaxInt32, 999_999_999},
		math.MinInt64:             {math.MinInt32, 0},
	} {
		got := TimeOf(nanos)
		if got != want {
			t.Errorf("%d: %v, want %v", nanos, got, want)
		}
		if back := got.Nanos(); back != nanos && nanos != math.MaxInt64 && nanos != math.MinInt64 {
			t.Errorf("%v is %d, want %d", got, back, nanos)
		}
	}
}
