// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
)

// The keys of a file, as ROS's camera_calibration_parsers reads and writes them.
const (
	keyWidth  = "image_width"
	keyHeight = "image_height"
	keyName   = "camera_name"
	keyModel  = "distortion_model"
	keyK      = "camera_matrix"
	keyD      = "distortion_coefficients"
	keyR      = "rectification_matrix"
	keyP      = "projection_matrix"
	keyRows   = "rows"
	keyCols   = "cols"
	keyData   = "data"
)

func keys() []string {
	return []string{keyWidth, keyHeight, keyName, keyK, keyModel, keyD, keyR, keyP}
}

// MaxFileBytes bounds a file.
const MaxFileBytes = 64 << 10

// Error is what is wrong with a file, and where. It wraps [ErrInvalid].
type Error struct {
	File   string
	Line   int // 1 is the first; 0 = of no line
	Column int // in characters, 1 is the first
	Text   string
}

// Error is "front.yaml:3:15: TEXT".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap names the condition.
func (e *Error) Unwrap() error { return ErrInvalid }

// Load reads a file of camera_info_manager and camera_calibration (YAML). It
// fails with [*Error], or the error of the file system.
func Load(path string) (Calibration, error) {
	// Nonblocking, so that a pipe to which nobody writes cannot hold the daemon.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Calibration{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Calibration{}, err
	}
	if !info.Mode().IsRegular() {
		return Calibration{}, &Error{File: path, Text: "not a regular file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return Calibration{}, err
	}
	return Parse(path, data)
}

// Parse is [Load] of a text; name stands for the file in errors. Keys that the
// format does not have are passed over, as ROS does; camera_name may be missing,
// distortion_model too, which is then plumb_bob if there are coefficients.
func Parse(name string, data []byte) (Calibration, error) {
	d, err := parseYAML(name, data)
	if err != nil {
		return Calibration{}, err
	}
	var c Calibration
	read := []func() error{
		func() (err error) { c.Width, err = d.integer(keyWidth); return err },
		func() (err error) { c.Height, err = d.integer(keyHeight); return err },
		func() (err error) { c.Name, err = d.text(keyName); return err },
		func() (err error) { c.Model, err = d.text(keyModel); return err },
		func() error { return d.matrix(keyK, 3, 3, c.K[:]) },
		func() (err error) { c.D, err = d.vector(keyD); return err },
		func() error { return d.matrix(keyR, 3, 3, c.R[:]) },
		func() error { return d.matrix(keyP, 3, 4, c.P[:]) },
	}
	for _, f := range read {
		if err := f(); err != nil {
			return Calibration{}, err
		}
	}
	if _, given := d.entries[keyModel]; !given && len(c.D) > 0 {
		c.Model = PlumbBob
	}
	if p := c.check(); p != nil {
		return Calibration{}, d.blame(p)
	}
	return c, nil
}

// nearest returns ", did you mean X?" for the known word that is at most a third
// of its letters away, else "".
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+1
	for _, k := range known {
		if n := distance(strings.ToLower(word), k); n < least {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// distance counts the letters to change, add or remove (Levenshtein). Long words
// are as far as they are long: nobody meant them.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			change := before[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, before[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
