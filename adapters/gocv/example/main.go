// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command edges finds the edges in what a camera shows and says how much of the
// picture they are, and how often it comes:
//
//	edges front/color
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
)

func main() {
	count := flag.Int("count", 0, "end after so many frames; 0: never")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: edges [-count N] STREAM")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *count); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "edges:", err)
		os.Exit(1)
	}
}

func run(stream string, count int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	sub, err := client.Subscribe(ctx, stream)
	if err != nil {
		return err
	}
	defer sub.Close()

	// What OpenCV writes to is made once and used for each frame.
	grey, edges := gocv.NewMat(), gocv.NewMat()
	defer grey.Close()
	defer edges.Close()

	began, frames := time.Now(), 0
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			return err
		}
		if err := find(f, &grey, &edges); err != nil {
			return err
		}
		frames++
		if frames%10 == 0 {
			fmt.Printf("frame %d: mean %.1f, edges %.2f %% of the picture, %.1f frames/s\n",
				f.Meta().Sequence, grey.Mean().Val1, 100*float64(gocv.CountNonZero(edges))/float64(edges.Total()),
				float64(frames)/time.Since(began).Seconds())
		}
		if frames == count {
			return nil
		}
	}
	return nil
}

// find marks the edges of a frame of bgra8, which OpenCV reads where the daemon
// wrote it.
func find(f client.Frame, grey, edges *gocv.Mat) error {
	m, err := cvmat.Open(f)
	if err != nil {
		return err
	}
	if mat := m.Mat(); mat.Type() != gocv.MatTypeCV8UC4 {
		return errors.Join(fmt.Errorf("%v: this program wants bgra8", f.Geometry()), m.Close())
	}
	gocv.CvtColor(m.Mat(), grey, gocv.ColorBGRAToGray)
	gocv.Canny(*grey, edges, 50, 150)
	return m.Close() // says so if something still shows the pixels
}
