// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli/picture"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// shotMeter keeps one frame and writes it once it is released.
type shotMeter struct {
	format picture.Format
	out    *output
	said   func(text string) // where to say what was written
	stream string
	info   func() negotiate.StreamInfo

	color    frame.Color
	geometry frame.Geometry
	meta     frame.Meta
	held     int64
	data     []byte
}

func (m *shotMeter) frame(f heldFrame) (bool, error) {
	m.geometry, m.meta, m.color, m.held = f.Geometry(), f.Meta(), m.info().Color, f.HeldNanos()
	data := f.Data()
	if m.geometry.Compressed() {
		data = data[:min(m.meta.Bytes, len(data))]
	}
	m.data = append(m.data[:0], data...)
	// The copy may be torn if the frame was taken away meanwhile.
	return true, f.Valid()
}

func (m *shotMeter) idle() (string, error) {
	var file bytes.Buffer
	if err := picture.Encode(&file, m.format, m.geometry, m.color, m.data); err != nil {
		return "", fmt.Errorf("frame %d of %s, %v, as %s: %w", m.meta.Sequence, m.stream, m.geometry, m.format, err)
	}
	if err := m.out.write(file.Bytes()); err != nil {
		return "", fmt.Errorf("write picture: %w", err)
	}
	when := ""
	if m.meta.WallNanos != 0 {
		when = ", captured " + time.Unix(0, m.meta.WallNanos).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	if m.meta.Flags&frame.Kept != 0 { // by no means what the camera sees now
		when += fmt.Sprintf(", published %v ago and kept for who comes late", time.Duration(m.held-m.meta.PublishNanos).Round(time.Millisecond))
	}
	m.said(fmt.Sprintf("%s: frame %d of %s, %v%s, %d bytes of %s", m.out.name, m.meta.Sequence, m.stream, m.geometry, when, file.Len(), m.format))
	return "", nil
}

func (m *shotMeter) tick(int64) string           { return "" }
func (m *shotMeter) end(summary) (string, error) { return "", nil }

func newSnapshot(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot STREAM -o FILE",
		Short: "Write the newest frame as a picture",
		Long: `Write one frame as a picture and say what was written. The end of the name
chooses the kind: .png, .ppm, .raw (the samples as they are, rows without
padding) or .jpg (a compressed stream's bytes as they came). Grey of 16 bits and
depth keep their values in .png and .ppm. A ROS 2
publisher may have kept its newest frame for who comes late (transient local);
then it is that one, and what was written says how old it is.`,
		Example: "  camsub snapshot test/color -o x.png\n  camsub snapshot front/color -o - --format ppm | display",
		Args:    OneArg("stream", streamExample+" -o x.png"),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	limits := &limitFlags{count: 1}
	name := fs.StringP("output", "o", "", "`file` to write; - is stdout")
	format := newOneOf("", picture.Formats()...)
	fs.Var(format, "format", "kind of picture, whatever the name of the file")
	fs.Var(&limits.timeout, "timeout", "fail with exit code 6 when no frame comes for this time")
	fs.BoolVar(&limits.verify, "verify", false, "check the frame at take and at release")
	flags := &measureFlags{limits: limits, path: addPathFlags(fs)}
	flags.complete(w, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		m := &shotMeter{stream: args[0], format: picture.Format(format.value), out: &output{name: *name, stdout: cmd.OutOrStdout()}}
		if *name == "" {
			return Usagef("%s: where to? For example: %s %s -o x.png", args[0], cmd.CommandPath(), args[0])
		}
		if err := m.out.check(); err != nil {
			return err
		}
		if m.format == "" && *name == "-" {
			m.format = picture.PNG
		}
		if m.format == "" {
			if m.format, err = picture.FormatOf(*name); err != nil {
				return Usagef("-o %s: %v; or say --format", *name, err)
			}
		}
		said := cmd.OutOrStdout()
		if *name == "-" {
			said = cmd.ErrOrStderr()
		}
		m.said = func(text string) { fmt.Fprintln(said, text) }
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		m.info = r.info
		return r.run(cmd.Context())
	}
	return cmd
}
