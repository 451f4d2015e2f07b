// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// Stream is the name of the only stream of a replay.
const Stream = "color"

// fallbackRate is for files that do not say how fast they are.
const fallbackRate = 25

// Source plays a file, a URL or a device. It implements [capture.Source].
type Source struct {
	// Log gets what is worth saying while frames go on; nil = slog.Default().
	Log *slog.Logger

	name     string // of the camera
	device   bool   // V4L2
	live     bool   // delivers at its own pace: a device, RTSP ...
	target   string
	reader   string // auto, native, ffmpeg
	encoding frame.Encoding
	asked    bool    // for this encoding; else a native reader takes the file's
	step     int     // of raw files; 0 = no padding
	width    int     // asked for; 0 = the file's
	height   int     // asked for; 0 = the file's
	rate     float64 // asked for; 0 = the file's
	speed    float64
	loop     bool
	fast     bool

	extra      []string // ffmpeg's input options
	probeExtra []string // those that ffprobe takes
	cut        bool     // only a part is played
	demuxer    bool     // the target need not be a file
}

// New reads the options of kind "replay":
//
//	reader=auto|native|ffmpeg
//	                  native reads y4m, raw files, motion JPEG (AVI or bare) and
//	                  folders of pictures in this process, ffmpeg is a child
//	                  process for everything; auto looks into the file
//	encoding=NAME     default of native readers: what is in the file (nv12 for
//	                  y4m of 4:2:0), of ffmpeg bgr8: what OpenCV and every ROS
//	                  viewer show directly. nv12 is the cheapest of most files, no
//	                  colours are converted for it
//	step=N            bytes from row to row of a raw file, which also needs a size
//	                  and an encoding
//	loop=true         begins again at the end, without a pause
//	pace=file|fast    as fast as recorded (default), or as fast as possible;
//	                  live URLs (rtsp, srt, udp ...) come when they come
//	speed=X           X times as fast as recorded
//	input.KEY=VALUE   passed to ffmpeg before -i: input.rtsp_transport=tcp
//
// A size scales. A rate @R shows every frame of the file at that rate; 0 is
// pace=fast. What makes no sense is [capture.ErrConfig].
func New(spec capture.Spec) (*Source, error) {
	s := &Source{}
	if err := s.parse(spec); err != nil {
		return nil, err
	}
	return s, nil
}

// NewDevice reads the options of kind "v4l2", which are encoding and input.KEY.
// Without a target it takes the first device that can capture. Size and rate
// are asked of the device.
func NewDevice(spec capture.Spec) (*Source, error) {
	s := &Source{device: true, live: true, fast: true, speed: 1}
	if err := s.parse(spec); err != nil {
		return nil, err
	}
	return s, nil
}

// Describe implements [capture.Source].
func (s *Source) Describe() string {
	if s.device {
		return strings.TrimSpace("v4l2 " + s.target)
	}
	if strings.Contains(s.target, "://") {
		return "replay " + redact(s.target)
	}
	return "replay " + filepath.Base(s.target)
}

// redact takes user and password out of a URL.
func redact(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if slash {
		host += "/" + path
	}
	return scheme + "://" + host
}

// Run implements [capture.Source].
func (s *Source) Run(ctx context.Context, sink capture.Sink) error {
	rec, g, err := s.native()
	switch {
	case err == nil:
		defer rec.Close()
		s.log().Info("reading a recording", "source", s.Describe(), "reader", readerNative, "format", rec.format, "first", g.String())
		return s.runNative(ctx, sink, rec, g)
	case !errors.Is(err, errElse):
		return err
	case s.reader == readerNative:
		return fmt.Errorf("%w: %s: reader=native: %w", capture.ErrFormatRefused, s.Describe(), err)
	}
	s.log().Info("reading a recording", "source", s.Describe(), "reader", readerFFmpeg, "reason", err)
	return s.runFFmpeg(ctx, sink)
}

func (s *Source) runNative(ctx context.Context, sink capture.Sink, rec *recording, g frame.Geometry) error {
	p := &nativePlayer{output: output{Source: s, geometry: g, color: rec.color}, rec: rec}
	p.out = &inSlots{output: &p.output, rec: rec, sink: sink}
	if r, ok := rec.reader.(*jpegReader); ok {
		p.out = &inStreams{reader: r, sink: sink, format: p.format(rec.clip), log: s.log()}
	}
	defer p.out.close()
	if err := p.out.fit(g); err != nil {
		return err
	}
	return p.play(ctx)
}

func (s *Source) runFFmpeg(ctx context.Context, sink capture.Sink) error {
	ffmpeg, err := lookPath("ffmpeg")
	if err != nil {
		return err
	}
	in, regular, err := s.input()
	if err != nil {
		return err
	}
	c, err := s.look(ctx, in, regular)
	if err != nil {
		return err
	}
	g, err := s.geometry(c)
	if err != nil {
		return err
	}
	p := &player{output: output{Source: s, geometry: g}, program: ffmpeg, args: s.command(in, g, c), clip: c}
	defer p.close()
	if err := p.open(sink, c); err != nil {
		return err
	}
	return p.play(ctx)
}

func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", ErrNoFFmpeg
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return path, nil
}

// input is what goes behind -i, and whether it is a regular file.
func (s *Source) input() (target string, regular bool, err error) {
	target = s.target
	if s.device && target == "" {
		if target, _, err = capture.FirstVideoDevice("/"); err != nil {
			return "", false, err
		}
	}
	path := target
	if rest, ok := strings.CutPrefix(target, "file:"); ok {
		path = strings.TrimPrefix(rest, "//")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", false, fmt.Errorf("%w: %s is a directory", capture.ErrConfig, path)
	case err == nil && s.device:
		return path, false, nil
	case err == nil:
		return "file:" + path, info.Mode().IsRegular(), nil
	case s.device, !s.demuxer && (path != target || !strings.Contains(target, ":")):
		if errors.Is(err, os.ErrNotExist) {
			if !s.device {
				return "", false, noFile(path)
			}
			return "", false, fmt.Errorf("%w: %s", capture.ErrDeviceNotFound, path)
		}
		return "", false, err
	}
	return target, false, nil
}

// look finds out size and rate.
func (s *Source) look(ctx context.Context, in string, regular bool) (clip, error) {
	// What can be read only once is not spent on ffprobe.
	if !regular && strings.HasPrefix(in, "file:") {
		if s.width == 0 || s.rate == 0 {
			return clip{}, fmt.Errorf("%w: %s is not a regular file and cannot be looked at first: size and rate are needed, ,WxH@R", capture.ErrConfig, in[len("file:"):])
		}
		return clip{width: s.width, height: s.height, rate: s.rate}, nil
	}
	program, err := lookPath("ffprobe")
	if err != nil {
		return clip{}, err
	}
	c, err := probe(ctx, program, append(s.before(s.probeExtra), "-i", in))
	if err != nil {
		if ctx.Err() != nil {
			return clip{}, ctx.Err()
		}
		return clip{}, s.explain(err, regular)
	}
	if c.rate == 0 {
		c.rate = fallbackRate
	}
	if s.cut {
		c.frames = 0
	}
	return c, nil
}

// before is the row of input options.
func (s *Source) before(extra []string) []string {
	var args []string
	if s.device {
		args = append(args, "-f", "v4l2")
		if s.rate > 0 {
			args = append(args, "-framerate", strconv.FormatFloat(s.rate, 'f', -1, 64))
		}
		if s.width > 0 {
			args = append(args, "-video_size", fmt.Sprintf("%dx%d", s.width, s.height))
		}
	}
	return append(args, extra...)
}

// geometry is the size that will be delivered.
func (s *Source) geometry(c clip) (frame.Geometry, error) {
	w, h := c.width, c.height
	if s.width > 0 && !s.device {
		w, h = s.width, s.height
	}
	evenW, evenH := evenSides(s.encoding)
	if evenW && w > 1 {
		w &^= 1
	}
	if evenH && h > 1 {
		h &^= 1
	}
	g, err := frame.NewGeometry(s.encoding, w, h)
	if err != nil {
		return g, fmt.Errorf("%w: %w", capture.ErrFormatRefused, err)
	}
	return g, nil
}

// played is the rate at which frames are published; nominal for what is live.
func (s *Source) played(c clip) float64 {
	switch {
	case s.rate > 0 && !s.live:
		return s.rate
	case s.speed > 0:
		return c.rate * s.speed
	}
	return c.rate
}

// command is ffmpeg's command line. -vsync is the spelling that versions 4 to 7
// share.
func (s *Source) command(in string, g frame.Geometry, c clip) []string {
	args := []string{"-nostdin", "-hide_banner", "-v", "error"}
	args = append(args, s.before(s.extra)...)
	args = append(args, "-i", in, "-map", "0:v:0", "-vf", fmt.Sprintf("scale=%d:%d", g.Width, g.Height))
	if s.live {
		args = append(args, "-vsync", "passthrough")
	} else {
		// Files of varying rate are made even: the raw stream has no stamps.
		args = append(args, "-r", strconv.FormatFloat(c.rate, 'f', -1, 64))
	}
	return append(args, "-f", "rawvideo", "-pix_fmt", pixelFormat(g.Encoding), "pipe:1")
}

// explain finds the condition behind what ffmpeg or ffprobe said.
func (s *Source) explain(err error, regular bool) error {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	var kind error
	switch {
	case errors.Is(err, capture.ErrFormatRefused), errors.Is(err, capture.ErrUnsupported):
		return err
	case !s.device && has("No such file or directory", "404 Not Found"):
		return &problem{s.Describe() + ": " + err.Error(), capture.ErrDeviceNotFound}
	case has("No such file or directory"):
		kind = capture.ErrDeviceNotFound
	case has("No such device", "Input/output error"):
		kind = capture.ErrDeviceGone
	case s.device && has("Not a video capture device", "The device does not support", "Cannot find a proper format", "Inappropriate ioctl"):
		kind = capture.ErrFormatRefused
	case regular && errors.Is(err, errProbe) && !has("Permission denied"):
		kind = capture.ErrFormatRefused
	default:
		return fmt.Errorf("%s: %w", s.Describe(), err)
	}
	return fmt.Errorf("%w: %s: %w", kind, s.Describe(), err)
}

func (s *Source) log() *slog.Logger {
	l := s.Log
	if l == nil {
		l = slog.Default()
	}
	return l.With("camera", s.name)
}

// player is one run through ffmpeg.
type player struct {
	output
	program string
	args    []string
	clip    clip

	current *child
	standby *child // started before the end, so that a loop has no gap
	scratch []byte // for frames that find no slot
	first   []byte // the first frame, which may be the only one
}

func (p *player) close() {
	all := []*child{p.current, p.standby}
	for _, c := range all {
		if c != nil {
			c.kill()
		}
	}
	for _, c := range all {
		if c != nil {
			c.stop()
		}
	}
}

// lead is how long before the end of the file the next pass is made ready.
const lead = 3 * time.Second
