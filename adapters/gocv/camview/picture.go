// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"gocv.io/x/gocv"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// distances are the range, in metres, that depth is coloured in.
type distances struct{ near, far float64 }

// picture makes what a frame looks like, 8UC3 in the order B G R. It fails with
// client.ErrStaleFrame if the frame was taken away meanwhile: dst is of no use then.
func (d distances) picture(f client.Frame, dst *gocv.Mat) error {
	err := d.convert(f, dst)
	if stale := f.Valid(); stale != nil {
		return stale
	}
	return err
}

func (d distances) convert(f client.Frame, dst *gocv.Mat) error {
	switch g := f.Geometry(); {
	case g.Encoding != frame.Depth16 && g.Encoding != frame.Float32, g.BigEndian:
		return cvmat.BGR(f, dst)
	}
	depth, err := cvmat.Open(f)
	if err != nil {
		return err
	}
	return errors.Join(cvmat.ColorDepth(depth.Mat(), dst, d.near, d.far), depth.Close())
}
