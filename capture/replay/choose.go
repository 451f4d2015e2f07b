// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/replay/avi"
	"github.com/seed-3c7e7623/camd/capture/replay/y4m"
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// The values of option reader.
const (
	readerAuto   = "auto"
	readerNative = "native"
	readerFFmpeg = "ffmpeg"
)

// errElse: this is for ffmpeg to read; the text says why.
var errElse = errors.New("needs ffmpeg")

// recording is a file that is read without ffmpeg.
type recording struct {
	reader
	format string // for people: "y4m", "avi of MJPG"
	color  frame.Color
	clip   clip
}

// native opens the target to be read without ffmpeg and returns the geometry of
// its first frame. The error is [errElse] where ffmpeg has to.
func (s *Source) native() (*recording, frame.Geometry, error) {
	if why := s.mustFFmpeg(); why != "" {
		return nil, frame.Geometry{}, fmt.Errorf("%w: %s", errElse, why)
	}
	path := localPath(s.target)
	info, err := os.Stat(path)
	switch {
	// Some of ffmpeg's inputs are no files: "concat:a.ts|b.ts".
	case err != nil && path == s.target && strings.Contains(path, ":") && s.reader != readerNative:
		return nil, frame.Geometry{}, fmt.Errorf("%w: not a file", errElse)
	case errors.Is(err, os.ErrNotExist):
		return nil, frame.Geometry{}, noFile(path)
	case err != nil:
		return nil, frame.Geometry{}, err
	}
	rec, err := s.openKind(path, info)
	if err != nil {
		return nil, frame.Geometry{}, err
	}
	g, err := s.fit(rec)
	if err != nil {
		_ = rec.Close()
		return nil, frame.Geometry{}, err
	}
	return rec, g, nil
}

// localPath takes the "file:" off a target.
func localPath(target string) string {
	if rest, ok := strings.CutPrefix(target, "file:"); ok {
		return strings.TrimPrefix(rest, "//")
	}
	return target
}

// mustFFmpeg says why ffmpeg is needed whatever the file is; "" if it is not.
func (s *Source) mustFFmpeg() string {
	switch {
	case s.device:
		return "a device"
	case s.reader == readerFFmpeg:
		return "asked for"
	case s.live:
		return "a live stream"
	case strings.Contains(s.target, "://") && !strings.HasPrefix(s.target, "file:"):
		return "a URL"
	case len(s.extra) > 0:
		return "options input.KEY are its own"
	}
	return ""
}

// openKind finds out by content what is there. Only raw pixels have no mark:
// they go by the name, or by being asked for.
func (s *Source) openKind(path string, info os.FileInfo) (*recording, error) {
	if info.IsDir() {
		return s.openFolder(path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", errElse, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	rec, err := s.openFile(f, info.Size())
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return rec, nil
}

func (s *Source) openFile(f *os.File, size int64) (*recording, error) {
	var magic [16]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch kind := sniff(magic[:n]); {
	case kind == "y4m":
		return openY4M(f)
	case kind == "avi":
		return s.openAVI(f)
	case kind == "jpeg":
		return s.openMJPEG(f)
	case kind != "":
		return nil, fmt.Errorf("%w: %s", errElse, kind)
	case s.reader == readerNative || strings.EqualFold(filepath.Ext(f.Name()), ".raw"):
		return s.openRaw(f, size)
	}
	return nil, fmt.Errorf("%w: unknown format", errElse)
}

// sniff names the format of a file by its first bytes; "" if they are nothing
// known.
func sniff(b []byte) string {
	text := string(b)
	switch {
	case strings.HasPrefix(text, y4m.Magic):
		return "y4m"
	case strings.HasPrefix(text, "RIFF") && len(text) >= 12 && text[8:12] == "AVI ":
		return "avi"
	case strings.HasPrefix(text, "\xff\xd8\xff"):
		return "jpeg"
	case strings.HasPrefix(text, "\x89PNG\r\n\x1a\n"):
		return "png"
	case len(text) >= 8 && text[4:8] == "ftyp":
		return "mp4"
	case strings.HasPrefix(text, "\x1a\x45\xdf\xa3"):
		return "matroska"
	}
	return ""
}

// fit holds the recording against the size and encoding that were asked for,
// converts where that is needed and possible, and returns the geometry of the
// first frame that can be read.
func (s *Source) fit(rec *recording) (frame.Geometry, error) {
	if s.step != 0 && rec.format != "raw" {
		return frame.Geometry{}, fmt.Errorf("%w: %s: option step is for raw files, this is %s", capture.ErrConfig, s.Describe(), rec.format)
	}
	g, err := firstLook(rec)
	switch {
	case errors.Is(err, io.EOF):
		return g, fmt.Errorf("%w: %s: no frames in it", capture.ErrFormatRefused, s.Describe())
	case errors.Is(err, avi.ErrFormat), errors.Is(err, y4m.ErrHeader):
		return g, fmt.Errorf("%w: %s: no frames in it: %w", capture.ErrFormatRefused, s.Describe(), err)
	case err != nil:
		return g, err
	case s.width > 0 && (s.width != g.Width || s.height != g.Height):
		return g, fmt.Errorf("%w: to scale %dx%d to %dx%d", errElse, g.Width, g.Height, s.width, s.height)
	case !s.asked || g.Encoding == s.encoding:
		return g, rec.rewind()
	case !convert.Supported(g.Encoding, s.encoding):
		return g, fmt.Errorf("%w: to make %s of %s", errElse, s.encoding, g.Encoding)
	}
	rec.reader = &converted{reader: rec.reader, to: s.encoding, color: rec.color}
	if g, err = firstLook(rec); err != nil {
		return g, fmt.Errorf("%w: %w", capture.ErrFormatRefused, err)
	}
	return g, rec.rewind()
}

// firstLook finds the first frame that is not damaged.
func firstLook(r reader) (frame.Geometry, error) {
	for {
		g, err := r.look()
		if !errors.Is(err, errDamaged) {
			return g, err
		}
	}
}
