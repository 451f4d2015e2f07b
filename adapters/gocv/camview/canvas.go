// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image"

	"gocv.io/x/gocv"
)

// pixelated is the enlargement from which on pixels are shown as what they are.
const pixelated = 2

// canvas is what is in the window, pixel for pixel.
type canvas struct {
	mat  gocv.Mat
	area image.Point
}

func newCanvas() *canvas { return &canvas{mat: gocv.NewMat()} }

// clear makes it black, in the size of the window.
func (c *canvas) clear(area image.Point) {
	if area != c.area {
		_ = c.mat.Close() // never fails
		c.mat, c.area = gocv.NewMatWithSize(area.Y, area.X, gocv.MatTypeCV8UC3), area
	}
	c.mat.SetTo(gocv.NewScalar(0, 0, 0, 0))
}

// paint draws the picture, 8UC3, as large as it can be with its aspect.
func (c *canvas) paint(picture gocv.Mat) {
	size := image.Pt(picture.Cols(), picture.Rows())
	r := fit(size, c.area)
	if r.Empty() {
		return
	}
	part := c.mat.Region(r)
	defer part.Close()
	how := gocv.InterpolationLinear
	switch {
	case r.Dx() < size.X:
		how = gocv.InterpolationArea
	case r.Dx() >= pixelated*size.X:
		how = gocv.InterpolationNearestNeighbor
	}
	gocv.Resize(picture, &part, r.Size(), 0, 0, how)
}

func (c *canvas) darken() { darken(&c.mat, image.Rectangle{Max: c.area}) }

func (c *canvas) write(at corner, text ...string) { write(&c.mat, at, text) }

func (c *canvas) close() error { return c.mat.Close() }
