// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-3c7e7623/camd/frame"
)

// The conditions that errors of this package wrap.
var (
	// ErrInvalid: the calibration, or the file that has it, makes no sense.
	ErrInvalid = errors.New("invalid calibration")
	// ErrSize: the calibration says nothing about pictures of this size.
	ErrSize = errors.New("calibration is of another picture")
)

// The models of distortion that ROS names (sensor_msgs, distortion_models).
const (
	PlumbBob           = "plumb_bob"           // k1 k2 p1 p2 k3
	RationalPolynomial = "rational_polynomial" // k1 k2 p1 p2 k3 k4 k5 k6
	Equidistant        = "equidistant"         // k1 k2 k3 k4, fisheye lenses
)

// models are the coefficients of each model, in the order of the file.
var models = map[string][]string{
	PlumbBob:           {"k1", "k2", "p1", "p2", "k3"},
	RationalPolynomial: {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"},
	Equidistant:        {"k1", "k2", "k3", "k4"},
}

// otherNames are what other tools call a model.
var otherNames = map[string]string{
	"radtan": PlumbBob, "brown_conrady": PlumbBob, "brown-conrady": PlumbBob, "plumb bob": PlumbBob,
	"fisheye": Equidistant, "kannala_brandt4": Equidistant, "kannala_brandt": Equidistant,
	"rational": RationalPolynomial,
}

// Models lists the models of distortion.
func Models() []string { return []string{PlumbBob, RationalPolynomial, Equidistant} }

// Calibration is what is known of a camera's geometry, with the fields and units
// of sensor_msgs/CameraInfo: lengths in pixels, pixel centres at whole numbers
// from 0, matrices row by row. All zero but Width and Height is a camera that
// nobody calibrated.
type Calibration struct {
	Name   string // of the camera, as the file says
	Width  int    // of the pictures that were calibrated, pixels
	Height int
	Model  string      // of the distortion, one of [Models]; "" = none is known
	D      []float64   // coefficients of the model
	K      [9]float64  // 3x3 camera matrix of the distorted picture: fx 0 cx, 0 fy cy, 0 0 1
	R      [9]float64  // 3x3 rectification, a rotation; the identity for a camera alone
	P      [12]float64 // 3x4 projection of the rectified picture; P[3] = -fx' * baseline for the second camera of a pair
}

// Uncalibrated is the calibration of a camera of which only the size of its
// pictures is known.
func Uncalibrated(width, height int) Calibration {
	return Calibration{Width: width, Height: height}
}

// Calibrated says whether more is known than the size. Readers of CameraInfo
// judge by the same number.
func (c Calibration) Calibrated() bool { return c.K[0] != 0 }

// Validate fails with [ErrInvalid] if the calibration could not be that of a
// camera.
func (c Calibration) Validate() error {
	if p := c.check(); p != nil {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, p.key, p.text)
	}
	return nil
}

// fault is what is wrong with one key of the file, and with which of its
// numbers; index < 0 is the whole.
type fault struct {
	key   string
	index int
	text  string
}

func (c Calibration) check() *fault {
	for _, side := range []struct {
		key   string
		value int
	}{{keyWidth, c.Width}, {keyHeight, c.Height}} {
		if side.value < 1 || side.value > frame.MaxSide {
			return &fault{side.key, -1, fmt.Sprintf("%d: want 1 to %d pixels", side.value, frame.MaxSide)}
		}
	}
	if !validName(c.Name) {
		return &fault{keyName, -1, fmt.Sprintf("%.64q: want text of at most %d bytes without control characters", c.Name, maxName)}
	}
	for _, m := range []struct {
		key  string
		data []float64
	}{{keyD, c.D}, {keyK, c.K[:]}, {keyR, c.R[:]}, {keyP, c.P[:]}} {
		if i := slices.IndexFunc(m.data, notFinite); i >= 0 {
			return &fault{m.key, i, fmt.Sprintf("%g: want a finite number", m.data[i])}
		}
	}
	if p := c.checkModel(); p != nil {
		return p
	}
	if !c.Calibrated() {
		return c.checkZero()
	}
	return c.checkMatrices()
}

// maxName bounds the name of a camera, bytes.
const maxName = 256

func validName(s string) bool {
	return len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

func notFinite(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }

// checkModel holds the coefficients against the model.
func (c Calibration) checkModel() *fault {
	names, ok := models[c.Model]
	switch {
	case c.Model == "" && len(c.D) == 0:
		return nil
	case c.Model == "":
		return &fault{keyModel, -1, fmt.Sprintf("none, but %d distortion coefficients; known are %s", len(c.D), strings.Join(Models(), ", "))}
	case !ok:
		return &fault{keyModel, -1, fmt.Sprintf("%.64q: known are %s%s", c.Model, strings.Join(Models(), ", "), meant(c.Model, Models()))}
	case len(c.D) == 0 && !c.Calibrated():
		return nil
	case len(c.D) != len(names):
		return &fault{keyD, -1, fmt.Sprintf("%d numbers, but model %s has %d: %s", len(c.D), c.Model, len(names), strings.Join(names, " "))}
	}
	return nil
}

// checkZero holds that an uncalibrated camera says nothing half-way.
func (c Calibration) checkZero() *fault {
	if slices.ContainsFunc(c.K[:], func(f float64) bool { return f != 0 }) {
		return &fault{keyK, 0, "0: want the focal length in pixels, or zeros only for a camera that is not calibrated"}
	}
	if c.P[0] != 0 {
		return &fault{keyK, 0, "0, but the projection has a focal length: want both, or zeros only"}
	}
	return nil
}

// checkMatrices holds K, R and P to their form.
func (c Calibration) checkMatrices() *fault {
	for _, m := range []struct {
		key  string
		cols int
		data []float64
		rest []float64 // of the last row, behind the first two
	}{{keyK, 3, c.K[:], []float64{1}}, {keyP, 4, c.P[:], []float64{1, 0}}} {
		if m.key == keyP && !slices.ContainsFunc(m.data, func(f float64) bool { return f != 0 }) {
			return &fault{m.key, -1, "zeros only: want that of the rectified picture, for a camera alone the camera matrix with a column of zeros behind it"}
		}
		for axis, name := range []string{"fx", "fy"} {
			if i := axis * (m.cols + 1); m.data[i] <= 0 {
				return &fault{m.key, i, fmt.Sprintf("%g: want %s, a focal length in pixels above 0", m.data[i], name)}
			}
		}
		last := append([]float64{0, 0}, m.rest...)
		if got := m.data[2*m.cols:]; !slices.Equal(got, last) {
			i := 0
			for got[i] == last[i] {
				i++
			}
			return &fault{m.key, 2*m.cols + i, fmt.Sprintf("%g: want %g here, the last row is %v", got[i], last[i], last)}
		}
	}
	if !isRotation(c.R) {
		return &fault{keyR, -1, "not a rotation: want rows of length 1 at right angles, the identity for a camera alone"}
	}
	return nil
}

// isRotation allows for the few digits that some tools write.
func isRotation(r [9]float64) bool {
	const tolerance = 1e-2
	for i := range 3 {
		for j := range 3 {
			dot := r[3*i]*r[3*j] + r[3*i+1]*r[3*j+1] + r[3*i+2]*r[3*j+2]
			want := 0.0
			if i == j {
				want = 1
			}
			if !(math.Abs(dot-want) <= tolerance) {
				return false
			}
		}
	}
	det := r[0]*(r[4]*r[8]-r[5]*r[7]) - r[1]*(r[3]*r[8]-r[5]*r[6]) + r[2]*(r[3]*r[7]-r[4]*r[6])
	return det > 0
}

// meant returns ", did you mean X?" for another spelling of a model.
func meant(word string, known []string) string {
	if name, ok := otherNames[strings.ToLower(word)]; ok {
		return ", did you mean " + name + "?"
	}
	return nearest(word, known)
}
