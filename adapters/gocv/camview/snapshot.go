// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/adapters/gocv/camview/highgui"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli"
)

// mostNames bounds the search for a name that is free.
const mostNames = 10000

// writeNew writes a PNG beside what is there: in the folder, called after stream
// and time. It returns the path.
func writeNew(folder, stream string, now time.Time, picture gocv.Mat) (string, error) {
	png, err := highgui.Encode(".png", picture)
	if err != nil {
		return "", err
	}
	base := strings.Map(func(r rune) rune {
		if r == '/' || r == ':' {
			return '_'
		}
		return r
	}, strings.Trim(stream, "/")) + now.UTC().Format("-20060102T150405.000Z")
	for n := 1; n <= mostNames; n++ {
		name := base + ".png"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.png", base, n)
		}
		path := filepath.Join(folder, name)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(png)
		if err := errors.Join(err, file.Close()); err != nil {
			return "", errors.Join(err, os.Remove(path)) // half a picture is none
		}
		return path, nil
	}
	return "", fmt.Errorf("%s: %w, and %d further names too", filepath.Join(folder, base), fs.ErrExist, mostNames-1)
}

// extensions are the kinds of files that a frame is written as without a window.
var extensions = []string{".png", ".jpg", ".jpeg"}

// extensionOf chooses the kind by the name's end.
func extensionOf(name string) (string, error) {
	ext := strings.ToLower(filepath.Ext(name))
	if !slices.Contains(extensions, ext) {
		return "", cli.Usagef("--snapshot %s: the name must end in .png, .jpg or .jpeg", name)
	}
	return ext, nil
}

// snapshot writes one frame and opens no window.
func snapshot(ctx context.Context, v *cli.Viewing, stream, name string, d distances) (said string, err error) {
	ext, err := extensionOf(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := limited(ctx, v)
	defer cancel()
	sub, err := v.Subscribe(ctx, stream, nil)
	if err != nil {
		return "", causeOf(ctx, err)
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	picture := gocv.NewMat()
	defer picture.Close()
	geometry, sequence, err := one(ctx, sub, d, &picture)
	if err != nil {
		return "", causeOf(ctx, err)
	}
	file, err := highgui.Encode(ext, picture)
	if err != nil {
		return "", err
	}
	if err := v.WriteFile(name, file); err != nil {
		return "", err
	}
	return wrote(name, stream, geometry, sequence), nil
}

// one makes a picture of the next frame that is whole.
func one(ctx context.Context, sub *cli.Viewed, d distances, picture *gocv.Mat) (frame.Geometry, uint64, error) {
	for {
		f, err := sub.Next(ctx)
		if err != nil {
			return frame.Geometry{}, 0, err
		}
		geometry, sequence := f.Geometry(), f.Meta().Sequence
		err = d.picture(f, picture)
		f.Release()
		if errors.Is(err, client.ErrStaleFrame) {
			continue
		}
		sub.FirstFrame()
		return geometry, sequence, err
	}
}

func wrote(name, stream string, g frame.Geometry, sequence uint64) string {
	return fmt.Sprintf("%s: frame %d of %s, %v", name, sequence, stream, g)
}

// limited is ctx with the limits of the command line.
func limited(ctx context.Context, v *cli.Viewing) (context.Context, context.CancelFunc) {
	if v.Timeout() == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, v.Timeout(), fmt.Errorf("%w: no frame for %v", cli.ErrTimeout, v.Timeout()))
}

// causeOf is why ctx is over, if it is, else err. A signal is no error.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}
