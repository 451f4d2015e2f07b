// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli/y4m"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// errFormatChanged ends cat: a video file has one size and encoding.
var errFormatChanged = errors.New("the stream changed its format")

// catMeter writes frames as video. It copies a frame and releases it before it
// writes, so that a slow reader of the pipe keeps no slot.
type catMeter struct {
	raw  bool
	open func() (io.Writer, error)   // called at the first frame
	info func() negotiate.StreamInfo // asked at the first frame
	say  func(format string, args ...any)

	out      io.Writer
	geometry frame.Geometry // zero before the first frame
	encoder  *y4m.Encoder
	pending  []byte
	gone     bool // nobody reads any more
}

func (c *catMeter) frame(f heldFrame) (bool, error) {
	g := f.Geometry()
	if c.geometry.Width == 0 {
		if err := c.start(g); err != nil {
			return false, err
		}
	}
	// JPEGs one after the other are motion JPEG, whatever their sizes.
	if g != c.geometry && !(c.raw && g.Compressed() && c.geometry.Compressed()) {
		return false, fmt.Errorf("%w from %v (step %d) to %v (step %d): start cat again for the rest",
			errFormatChanged, c.geometry, c.geometry.Step, g, g.Step)
	}
	var err error
	if c.raw {
		c.pending, err = y4m.AppendRaw(c.pending, f.Data(), g)
	} else {
		c.pending, err = c.encoder.Append(c.pending, f.Data())
	}
	return err == nil, err
}

func (c *catMeter) start(g frame.Geometry) error {
	var err error
	if !c.raw {
		info := c.info()
		if c.encoder, err = y4m.NewEncoder(g, info.Color, info.IntervalNS); err != nil {
			return fmt.Errorf("%w; --format raw writes frames as they are", err)
		}
		c.pending = append(c.pending, c.encoder.Header()...)
	}
	c.out, err = c.open()
	c.geometry = g
	return err
}

func (c *catMeter) idle() (string, error) {
	_, err := c.out.Write(c.pending)
	c.pending = c.pending[:0]
	if err != nil {
		c.gone = true
		return "", fmt.Errorf("write video: %w", err)
	}
	return "", nil
}

func (c *catMeter) tick(int64) string { return "" }

// end says what is missing in between: nothing else tells a reader.
func (c *catMeter) end(s summary) (string, error) {
	if !c.gone {
		c.say("%s: %s, %d missed", s.stream, plural(int(s.frames), "frame"), s.stats.Missed)
	}
	return "", nil
}

func newCat(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cat STREAM",
		Short: "Write frames as video, for ffplay, ffmpeg or a file",
		Long: `Write frames to stdout or a file: as YUV4MPEG2 (y4m), which ffplay, ffmpeg and
mpv read from a pipe, or raw: rows without padding, one frame after the other;
those of a compressed stream as they came (color/jpeg becomes motion JPEG).

Only the newest frames are read: if the other side is slow, frames are missing
in between; how many is said at the end. It ends with the recording, when the
camera has come to its end, but goes on through a restart of camd. Colour pictures become 4:4:4 by BT.601, limited range.`,
		Example: "  camsub cat clip/color --count 300 | ffplay -\n  camsub cat clip/color --format raw -o frames.raw --count 1",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	format := formatFlag(cmd, "y4m", "raw")
	name := cmd.Flags().StringP("output", "o", "-", "`file` to write; - is stdout")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		out := output{name: *name, stdout: cmd.OutOrStdout()}
		if err := out.check(); err != nil {
			return err
		}
		defer func() { err = out.close(err) }()
		m := &catMeter{raw: format.value == "raw", open: out.open}
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		m.info = r.info
		m.say, r.untilEnd = r.notes.say, true
		r.opts = append(r.opts, client.WithoutHistory()) // a video begins with what is now
		return r.run(cmd.Context())
	}
	return cmd
}
