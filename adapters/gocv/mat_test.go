// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"bytes"
	"errors"
	"image"
	"testing"
	"unsafe"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ros2/msg"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
)

// layouts are what each encoding is for OpenCV, at 48x32 pixels.
var layouts = []struct {
	encoding   frame.Encoding
	kind       gocv.MatType
	rows, cols int
	bytes      int // of an element
}{
	{frame.RGB8, gocv.MatTypeCV8UC3, 32, 48, 3},
	{frame.BGR8, gocv.MatTypeCV8UC3, 32, 48, 3},
	{frame.RGBA8, gocv.MatTypeCV8UC4, 32, 48, 4},
	{frame.BGRA8, gocv.MatTypeCV8UC4, 32, 48, 4},
	{frame.Mono8, gocv.MatTypeCV8UC1, 32, 48, 1},
	{frame.YUV422YUY2, gocv.MatTypeCV8UC2, 32, 48, 2},
	{frame.YUV422UYVY, gocv.MatTypeCV8UC2, 32, 48, 2},
	{frame.NV12, gocv.MatTypeCV8UC1, 48, 48, 1},
	{frame.Mono16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.Depth16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.BayerRGGB8, gocv.MatTypeCV8UC1, 32, 48, 1},
	{frame.BayerBGGR8, gocv.MatTypeCV8UC1, 32, 48, 1},
	{frame.BayerGBRG8, gocv.MatTypeCV8UC1, 32, 48, 1},
	{frame.BayerGRBG8, gocv.MatTypeCV8UC1, 32, 48, 1},
	{frame.BayerRGGB16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.BayerBGGR16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.BayerGBRG16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.BayerGRBG16, gocv.MatTypeCV16UC1, 32, 48, 2},
	{frame.Y8I, gocv.MatTypeCV8UC2, 32, 48, 2},

	{frame.Float32, gocv.MatTypeCV32FC1, 32, 48, 4},
	{frame.RGB16, gocv.MatTypeCV16UC3, 32, 48, 6},
	{frame.BGR16, gocv.MatTypeCV16UC3, 32, 48, 6},
	{frame.RGBA16, gocv.MatTypeCV16UC4, 32, 48, 8},
	{frame.BGRA16, gocv.MatTypeCV16UC4, 32, 48, 8},
	{frame.NV21, gocv.MatTypeCV8UC1, 48, 48, 1},
}

// pad is what rows have beyond their samples.
const pad = 24

func TestLayout(t *testing.T) {
	known := map[frame.Encoding]bool{frame.Y12I: true, frame.JPEG: true}
	for _, l := range layouts {
		known[l.encoding] = true
		rows, cols, kind, err := cvmat.Layout(geometry(t, l.encoding, 48, 32, pad))
		if err != nil || rows != l.rows || cols != l.cols || kind != l.kind {
			t.Errorf("%s: %dx%d of type %d, %v; want %dx%d of %d", l.encoding, cols, rows, kind, err, l.cols, l.rows, l.kind)
		}
	}
	for _, e := range frame.Encodings() {
		if !known[e] {
			t.Errorf("%s is not in the table", e)
		}
	}
	if _, cols, _, err := cvmat.Layout(geometry(t, frame.YUV422YUY2, 47, 32, 0)); cols != 48 || err != nil {
		t.Errorf("4:2:2 of an odd width: %d columns, %v", cols, err)
	}
	big := geometry(t, frame.Mono16, 48, 32, 0)
	big.BigEndian = true
	for _, g := range []frame.Geometry{
		geometry(t, frame.Y12I, 48, 32, 0), geometry(t, frame.NV12, 47, 32, 0), geometry(t, frame.NV12, 48, 31, 0), big,
	} {
		if _, _, _, err := cvmat.Layout(g); !errors.Is(err, cvmat.ErrLayout) {
			t.Errorf("%v: %v", g, err)
		}
	}
	if _, _, _, err := cvmat.Layout(frame.Geometry{Encoding: frame.BGR8}); !errors.Is(err, frame.ErrGeometry) {
		t.Errorf("no geometry: %v", err)
	}
}

// shows checks that m is the memory of f, and that OpenCV sees in it what f has.
func shows(t *testing.T, m *cvmat.Mat, f client.Frame, rows, cols, elem int) {
	t.Helper()
	mat := m.Mat()
	if mat.Rows() != rows || mat.Cols() != cols || mat.Step() != f.Geometry().Step {
		t.Fatalf("%v: %dx%d with a step of %d", f.Geometry(), mat.Cols(), mat.Rows(), mat.Step())
	}
	if at := cvmat.Memory(mat); at != unsafe.Pointer(&f.Data()[0]) {
		t.Errorf("%v: pixels at %p, the frame is at %p", f.Geometry(), at, &f.Data()[0])
	}
	// OpenCV's own walk over the rows, which takes the padding out.
	tight := m.Clone()
	defer tight.Close()
	got, err := tight.DataPtrUint8()
	if err != nil {
		t.Fatal(err)
	}
	for y := range rows {
		want := f.Data()[y*f.Geometry().Step:][:cols*elem]
		if !bytes.Equal(got[y*cols*elem:][:cols*elem], want) {
			t.Fatalf("%v: row %d differs", f.Geometry(), y)
		}
	}
}

// Every encoding that cameras have, out of the ring of a camd.
func TestSharedMemory(t *testing.T) {
	var cameras []string
	for _, l := range layouts {
		if _, err := frame.ParseEncoding(string(l.encoding)); err == nil {
			g := geometry(t, l.encoding, 48, 32, pad)
			cameras = append(cameras, raw(t, "c"+string(rune('a'+len(cameras))), g, noise(g, 7)))
		}
	}
	dir := startCamd(t, cameras...)
	before := cvmat.Opened()
	for i := range cameras {
		l := layouts[i]
		t.Run(string(l.encoding), func(t *testing.T) {
			s := subscribe(t, dir, "c"+string(rune('a'+i))+"/color", client.WithCredit(1))
			f := next(t, s)
			m, err := cvmat.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			shows(t, m, f, l.rows, l.cols, l.bytes)
			f.Release() // the turn of the loop is over, the Mat is not
			if mat := m.Mat(); mat.Type() != l.kind || m.Valid() != nil || m.Frame().Meta().Sequence == 0 {
				t.Errorf("type %d, %v, %+v", mat.Type(), m.Valid(), m.Frame().Meta())
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			// The only credit is free again.
			next(t, s).Release()
		})
	}
	if n := cvmat.Opened(); n != before {
		t.Errorf("%d Mats are open", n-before)
	}
}

// Encodings that only ROS topics have, and others in a buffer of this process.
func TestTopic(t *testing.T) {
	c := newTopic(t, msg.TypeImage)
	for _, l := range layouts {
		if l.encoding == frame.Y8I {
			continue // no ROS encoding
		}
		g := geometry(t, l.encoding, 48, 32, pad)
		f := c.show(string(l.encoding), g, noise(g, 3))
		m, err := cvmat.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
		shows(t, m, m.Frame(), l.rows, l.cols, l.bytes)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	g := geometry(t, frame.Mono16, 48, 32, 0)
	g.BigEndian = true
	f := c.show("mono16", g, noise(g, 4))
	if _, err := cvmat.Open(f); !errors.Is(err, cvmat.ErrLayout) {
		t.Errorf("big-endian: %v", err)
	}
	f.Release()
	if _, err := cvmat.Open(f); !errors.Is(err, cvmat.ErrReleased) {
		t.Errorf("released: %v", err)
	}
	if _, err := cvmat.Open(client.Frame{}); !errors.Is(err, cvmat.ErrReleased) {
		t.Errorf("no frame: %v", err)
	}
}

func TestPlanes(t *testing.T) {
	c := newTopic(t, msg.TypeImage)
	g := geometry(t, frame.NV12, 47, 31, pad)
	f := c.show("nv12", g, noise(g, 5))
	defer f.Release()
	if _, err := cvmat.Open(f); !errors.Is(err, cvmat.ErrLayout) {
		t.Errorf("nv12 of odd sizes in one Mat: %v", err)
	}
	for i, want := range []struct {
		rows, cols int
		kind       gocv.MatType
	}{{31, 47, gocv.MatTypeCV8UC1}, {16, 24, gocv.MatTypeCV8UC2}} {
		m, err := cvmat.OpenPlane(f, i)
		if err != nil {
			t.Fatal(err)
		}
		mat := m.Mat()
		if mat.Rows() != want.rows || mat.Cols() != want.cols || mat.Type() != want.kind ||
			cvmat.Memory(mat) != unsafe.Pointer(&f.Data()[g.Plane(i).Offset]) {
			t.Errorf("plane %d: %dx%d of type %d", i, mat.Cols(), mat.Rows(), mat.Type())
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := cvmat.OpenPlane(f, 2); !errors.Is(err, cvmat.ErrLayout) {
		t.Errorf("plane 2: %v", err)
	}
}

// A picture file is a row of bytes.
func TestCompressed(t *testing.T) {
	img := gocv.NewMatWithSizeFromScalar(gocv.NewScalar(30, 60, 90, 0), 32, 48, gocv.MatTypeCV8UC3)
	defer img.Close()
	file, err := gocv.IMEncode(gocv.JPEGFileExt, img)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := newTopic(t, msg.TypeCompressedImage)
	f := c.file("jpeg", file.GetBytes())
	defer f.Release()
	m, err := cvmat.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if mat := m.Mat(); mat.Rows() != 1 || mat.Cols() != len(file.GetBytes()) || cvmat.Memory(mat) != unsafe.Pointer(&f.Data()[0]) {
		t.Errorf("%dx%d", mat.Cols(), mat.Rows())
	}
	picture := gocv.NewMat()
	defer picture.Close()
	if err := cvmat.BGR(f, &picture); err != nil {
		t.Fatal(err)
	}
	if v := picture.GetVecbAt(16, 24); picture.Rows() != 32 || picture.Cols() != 48 || !near(v[0], 30, 3) || !near(v[1], 60, 3) || !near(v[2], 90, 3) {
		t.Errorf("%dx%d, pixel %v", picture.Cols(), picture.Rows(), v)
	}
	broken := c.file("jpeg", file.GetBytes()[:len(file.GetBytes())/2])
	defer broken.Release()
	if err := cvmat.ToBGR(broken.Geometry(), broken.Color(), broken.Data()[:40], &picture); !errors.Is(err, cvmat.ErrPicture) {
		t.Errorf("a head without a picture: %v", err)
	}
	// It is OpenCV's own: a region of it may be drawn on.
	region := picture.Region(image.Rect(0, 0, 8, 8))
	region.SetTo(gocv.NewScalar(0, 0, 0, 0))
	_ = region.Close()
}

func near(a, b byte, most int) bool { d := int(a) - int(b); return max(d, -d) <= most }
