// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var front = Calibration{
	Name: "front", Width: 1280, Height: 720, Model: PlumbBob,
	D: []float64{0.08125, -0.1875, 0.000625, -0.0003, 0},
	K: [9]float64{912.4375, 0, 641.25, 0, 911.0625, 358.5, 0, 0, 1},
	R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1},
	P: [12]float64{920.5, 0, 640.5, 0, 0, 918.75, 357.25, 0, 0, 0, 1, 0},
}

func TestGoldenFiles(t *testing.T) {
	for name, want := range map[string]Calibration{
		"plumb_bob": front,
		"rational_polynomial": {
			Name: "kinect", Width: 2048, Height: 1536, Model: RationalPolynomial,
			D: []float64{0.5208, -2.7131, 0.000711, -0.000229, 1.6041, 0.3964, -2.5227, 1.521},
			K: [9]float64{974.25, 0, 1021.5, 0, 973.75, 776.125, 0, 0, 1},
			R: front.R,
			P: [12]float64{974.25, 0, 1021.5, 0, 0, 973.75, 776.125, 0, 0, 0, 1, 0},
		},
		"equidistant_right": {
			Name: "stereo/right", Width: 640, Height: 480, Model: Equidistant,
			D: []float64{-0.0084, 0.0421, -0.0398, 0.0066},
			K: [9]float64{286.125, 0, 322.5, 0, 286, 238.75, 0, 0, 1},
			R: [9]float64{0.9999, 0.0125, -0.0051, -0.0125, 0.9999, 0.0008, 0.0051, -0.0007, 1},
			P: [12]float64{280, 0, 320, -17.92, 0, 280, 240, 0, 0, 0, 1, 0},
		},
		"uncalibrated": Uncalibrated(640, 480),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".yaml")
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if got.Calibrated() != (name != "uncalibrated") {
				t.Errorf("calibrated: %v", got.Calibrated())
			}
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := want.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), string(text)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

// Older tools leave out the model, write lists line by line and have keys of
// their own.
func TestFilesOfOtherTools(t *testing.T) {
	got, err := Load("testdata/as_tools_write.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(front, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func goldenText(t testing.TB) string {
	t.Helper()
	text, err := front.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRefusals(t *testing.T) {
	good := goldenText(t)
	for _, c := range []struct{ name, old, new, where, text string }{
		{"no width", "image_width: 1280\n", "", "f.yaml: ", "no image_width"},
		{"misspelt", "camera_matrix:", "camera_matirx:", "f.yaml:4:1: ", `no camera_matrix, but "camera_matirx", did you mean camera_matrix?`},
		{"width is no number", "image_width: 1280", "image_width: wide", "f.yaml:1:14: ", `image_width: "wide": want a whole number`},
		{"width of nothing", "image_width: 1280", "image_width: 0", "f.yaml:1:14: ", "image_width: 0: want 1 to 65536 pixels"},
		{"width is a list", "image_width: 1280", "image_width: [1]", "f.yaml:1:14: ", "image_width: a list: want a whole number"},
		{"name is a list", `"front"`, "[front]", "f.yaml:3:14: ", "camera_name: a list: want text"},
		{"name with a bell", `"front"`, `"a\ab"`, "f.yaml:3:14: ", "control characters"},
		{"size of a matrix", "  rows: 3\n  cols: 3\n  data: [912", "  rows: 3\n  cols: 4\n  data: [912", "f.yaml:7:9: ", "camera_matrix.data: 9 numbers, but rows and cols say 3x4"},
		{"shape of a matrix", "  rows: 3\n  cols: 3\n  data: [912", "  rows: 1\n  cols: 9\n  data: [912", "f.yaml:4:1: ", "camera_matrix: 1x9, want 3x3"},
		{"no rows", "  rows: 1\n", "", "f.yaml:9:1: ", "distortion_coefficients has no rows"},
		{"huge", "  rows: 1\n", "  rows: 9223372036854775807\n", "f.yaml:12:9: ", "5 numbers, but rows and cols say 9223372036854775807x5"},
		{"matrix of text", "641.25", "centre", "f.yaml:7:23: ", `camera_matrix.data: number 3 of 9 is "centre": want a finite number`},
		{"not finite", "641.25", ".nan", "f.yaml:7:23: ", "want a finite number"},
		{"data is a number", "data: [920.5, 0, 640.5, 0, 0, 918.75, 357.25, 0, 0, 0, 1, 0]", "data: 920.5", "f.yaml:20:9: ", "projection_matrix.data: \"920.5\": want a list of numbers"},
		{"matrix is a list", "distortion_coefficients:\n  rows: 1\n  cols: 5\n  data: ", "distortion_coefficients: ", "f.yaml:9:26: ", "distortion_coefficients: a list: want rows, cols and data"},
		{"model of another tool", `"plumb_bob"`, "fisheye", "f.yaml:8:19: ", `distortion_model: "fisheye": known are plumb_bob, rational_polynomial, equidistant, did you mean equidistant?`},
		{"model misspelt", `"plumb_bob"`, "plumb_bop", "f.yaml:8:19: ", "did you mean plumb_bob?"},
		{"coefficients of another model", `"plumb_bob"`, "equidistant", "f.yaml:9:1: ", "distortion_coefficients: 5 numbers, but model equidistant has 4: k1 k2 k3 k4"},
		{"coefficients of no model", `"plumb_bob"`, `""`, "f.yaml:8:19: ", "distortion_model: none, but 5 distortion coefficients"},
		{"focal length", "911.0625", "-911", "f.yaml:7:34: ", "camera_matrix: -911: want fy, a focal length in pixels above 0"},
		{"half calibrated", "912.4375", "0", "f.yaml:7:10: ", "camera_matrix: 0: want the focal length in pixels, or zeros only"},
		{"last row", "358.5, 0, 0, 1]", "358.5, 0, 2, 1]", "f.yaml:7:54: ", "camera_matrix: 2: want 0 here, the last row is [0 0 1]"},
		{"no rotation", "[1, 0, 0, 0, 1, 0, 0, 0, 1]", "[1, 0, 0, 0, 0, 0, 0, 0, 1]", "f.yaml:13:1: ", "rectification_matrix: not a rotation"},
		{"mirrored", "[1, 0, 0, 0, 1, 0, 0, 0, 1]", "[1, 0, 0, 0, 1, 0, 0, 0, -1]", "f.yaml:13:1: ", "rectification_matrix: not a rotation"},
		{"no projection", "[920.5, 0, 640.5, 0, 0, 918.75, 357.25, 0, 0, 0, 1, 0]", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]", "f.yaml:17:1: ", "projection_matrix: zeros only"},
		{"twice", "image_height: 720", "image_width: 720", "f.yaml:2:1: ", `key "image_width" is here a second time, the first is in line 1`},
		{"syntax", "rows: 3", "rows: [3", "f.yaml:6:3: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("no %q", c.old)
			}
			got, err := Parse("f.yaml", []byte(strings.Replace(good, c.old, c.new, 1)))
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v", err)
			}
			if !strings.HasPrefix(err.Error(), c.where) || !strings.Contains(err.Error(), c.text) || !reflect.DeepEqual(got, Calibration{}) {
				t.Errorf("%v\nwant %s... %s", err, c.where, c.text)
			}
		})
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f.yaml: nothing in it"},
		{"two documents", "a: b\n---\nc: d", "f.yaml:3:1: a second document"},
		{"text", "hello", `f.yaml:1:1: "hello": want keys with values`},
		{"not text", "a: \xff", "f.yaml: not UTF-8"},
		{"OpenCV", "%YAML:1.0\n---\n", "f.yaml:1:1: a file of OpenCV's FileStorage"},
		{"large", strings.Repeat("#", MaxFileBytes+1), "f.yaml: more than 65536 bytes"},
		{"deep", "a: " + strings.Repeat("[", 5000), "nested deeper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("f.yaml", []byte(c.text)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

func TestYAMLRefusesWhatItWouldNotRead(t *testing.T) {
	for name, change := range map[string]func(*Calibration){
		"not a number":    func(c *Calibration) { c.K[2] = math.NaN() },
		"infinite":        func(c *Calibration) { c.D[1] = math.Inf(1) },
		"no size":         func(c *Calibration) { c.Width = 0 },
		"other model":     func(c *Calibration) { c.Model = RationalPolynomial },
		"line in a name":  func(c *Calibration) { c.Name = "a\nb" },
		"no focal length": func(c *Calibration) { c.K[0] = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := front
			c.D = append([]float64(nil), front.D...)
			change(&c)
			if _, err := c.YAML(); !errors.Is(err, ErrInvalid) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A point that is seen at u in the full picture is seen in the scaled one where
// the mean over squares of pixels puts it.
func TestScale(t *testing.T) {
	pair := front
	pair.P[3] = -92.05 // a second camera, 0.1 m to the right
	for _, c := range []struct {
		name    string
		from    Calibration
		w, h    int
		factor  float64
		refused bool
	}{
		{"as it is", pair, 1280, 720, 1, false},
		{"half", pair, 640, 360, 2, false},
		{"an eighth", pair, 160, 90, 8, false},
		{"twice", pair, 2560, 1440, 0.5, false},
		{"a third in between", pair, 960, 540, 4. / 3, false},
		{"odd sizes are cut", sized(pair, 1283, 721), 320, 180, 4, false},
		{"another shape", pair, 640, 480, 0, true},
		{"nothing", pair, 0, 0, 0, true},
		{"uncalibrated", Uncalibrated(1280, 720), 640, 360, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.from.Scale(c.w, c.h)
			if c.refused {
				if !errors.Is(err, ErrSize) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Validate(); err != nil || got.Width != c.w || got.Height != c.h || got.Calibrated() != c.from.Calibrated() {
				t.Errorf("%+v, %v", got, err)
			}
			if !got.Calibrated() {
				return
			}
			if got.R != c.from.R || !reflect.DeepEqual(got.D, c.from.D) {
				t.Errorf("R %v, D %v", got.R, got.D)
			}
			point := [4]float64{0.3, -0.2, 2, 1}
			for axis := range 2 {
				before, after := project(c.from.P, point, axis), project(got.P, point, axis)
				if want := (before+0.5)/c.factor - 0.5; math.Abs(after-want) > 1e-9 {
					t.Errorf("axis %d: seen at %g, want %g", axis, after, want)
				}
				centre := got.K[3*axis+2]
				if want := (c.from.K[3*axis+2]+0.5)/c.factor - 0.5; math.Abs(centre-want) > 1e-9 {
					t.Errorf("axis %d: centre at %g, want %g", axis, centre, want)
				}
			}
		})
	}
	if half, _ := pair.Scale(640, 360); half.K[0] != 456.21875 || half.P[3] != -46.025 || half.K[2] != 320.375 {
		t.Errorf("half: %+v", half)
	}
}

func sized(c Calibration, w, h int) Calibration {
	c.Width, c.Height = w, h
	return c
}

// project is where a point is seen along an axis, pixels.
func project(p [12]float64, point [4]float64, axis int) float64 {
	dot := func(row int) float64 {
		var sum float64
		for i, x := range point {
			sum += p[4*row+i] * x
		}
		return sum
	}
	return dot(axis) / dot(2)
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("image_width: &a [*a]\n<<: {camera_matrix: {rows: ? x}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yaml", data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v", err)
			}
			return
		}
		text, err := c.YAML()
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, err := Parse("f.yaml", text)
		if err != nil || !cmp.Equal(c, again, cmp.Comparer(func(a, b float64) bool { return a == b })) {
			t.Fatalf("written and read again: %v\n%s", err, text)
		}
	})
}
