// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size of every picture.
const (
	pictureWidth  = 18 * vg.Centimeter
	pictureHeight = 12 * vg.Centimeter
	margin        = 3 * vg.Millimeter
)

// picture is a plot and the name of its files.
type picture struct {
	name string
	plot *plot.Plot
}

// pictures are all that a run has.
func (r *run) pictures() ([]picture, error) {
	var out []picture
	add := func(name string, p *plot.Plot, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if p != nil {
			out = append(out, picture{name, p})
		}
		return nil
	}
	if r.Command != "sweep" {
		p, err := r.distribution(0)
		err = add("distribution", p, err)
		return out, err
	}
	p, err := r.overSize("usable", func(p *phase) []float64 { return p.usable })
	if err := add("latency-over-size", p, err); err != nil {
		return nil, err
	}
	p, err = r.overSize("read", func(p *phase) []float64 { return p.read })
	if err := add("read-over-size", p, err); err != nil {
		return nil, err
	}
	for _, size := range r.sizes() {
		p, err := r.distribution(size)
		if err := add(fmt.Sprintf("distribution-%d", size), p, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sizes are the payloads of a sweep that were measured.
func (r *run) sizes() []int {
	var out []int
	for i := range r.Phases {
		if p := &r.Phases[i]; len(p.usable) > 0 {
			out = append(out, p.Size)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// formats of every picture.
var formats = []string{"png", "svg"}

// write makes the files of a picture, unless they are there.
func (p picture) write(dir string) error {
	for _, format := range formats {
		w, err := draw.NewFormattedCanvas(pictureWidth, pictureHeight, format)
		if err != nil {
			return err
		}
		p.plot.Draw(draw.Crop(draw.New(w), margin, -margin, margin, -margin))
		path := filepath.Join(dir, p.name+"."+format)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = w.WriteTo(f)
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(path))
		}
	}
	return nil
}
