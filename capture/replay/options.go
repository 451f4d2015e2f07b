// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// pixelFormat is ffmpeg's name of an encoding (libavutil/pixdesc).
func pixelFormat(e frame.Encoding) string {
	switch e {
	case frame.RGB8:
		return "rgb24"
	case frame.BGR8:
		return "bgr24"
	case frame.RGBA8:
		return "rgba"
	case frame.BGRA8:
		return "bgra"
	case frame.Mono8:
		return "gray"
	case frame.YUV422YUY2:
		return "yuyv422"
	case frame.YUV422UYVY:
		return "uyvy422"
	case frame.NV12:
		return "nv12"
	case frame.Mono16, frame.Depth16:
		return "gray16le"
	}
	return ""
}

// evenSides says by which sides an encoding shares chroma between pixels.
// Sizes are kept even there, since programs differ in what they do with the
// odd row or column.
func evenSides(e frame.Encoding) (width, height bool) {
	switch e {
	case frame.NV12:
		return true, true
	case frame.YUV422YUY2, frame.YUV422UYVY:
		return true, false
	}
	return false, false
}

// inputOptions are ffmpeg's options before -i that a camera may set: true where
// ffprobe knows them too. Others could write files or start programs.
func inputOptions() map[string]bool {
	return map[string]bool{
		"f": true, "framerate": true, "video_size": true, "pixel_format": true, "input_format": true,
		"probesize": true, "analyzeduration": true, "fflags": true, "flags": true, "err_detect": true,
		"rtsp_transport": true, "rtsp_flags": true, "timeout": true, "stimeout": true, "rw_timeout": true,
		"user_agent": true, "headers": true, "referer": true, "reconnect": true, "reconnect_streamed": true,
		"reconnect_delay_max": true, "max_delay": true, "reorder_queue_size": true, "buffer_size": true,
		"pattern_type": true, "start_number": true, "loop": true, "channel": true, "standard": true, "ts": true,
		"ss": false, "sseof": false, "t": false, "to": false, "r": false, "threads": false, "c:v": false,
		"hwaccel": false, "hwaccel_device": false, "thread_queue_size": false, "itsscale": false,
	}
}

// cutting are the input options after which the file's length says nothing.
func cutting(key string) bool {
	return slices.Contains([]string{"ss", "sseof", "t", "to", "r", "itsscale", "loop", "start_number"}, key)
}

// parse reads the options of both kinds.
func (s *Source) parse(spec capture.Spec) error {
	o := capture.NewOptions(spec)
	s.name = spec.Name
	var err error
	s.encoding = frame.BGR8
	if text := o.String("encoding", ""); text != "" {
		s.asked = true
		if s.encoding, err = frame.ParseEncoding(text); err != nil {
			o.RefuseKey("encoding", "option encoding: %w", err)
		}
	}
	s.reader = readerFFmpeg
	if !s.device {
		s.reader = o.Choice("reader", readerAuto, readerAuto, readerNative, readerFFmpeg)
		s.step = int(o.Int("step", 0, 0, frame.MaxSide*8))
	}
	if s.reader != readerNative && s.encoding != "" && pixelFormat(s.encoding) == "" {
		o.RefuseKey("encoding", "option encoding: ffmpeg is not asked for %s; raw files may hold it, with reader=native", s.encoding)
	}
	s.width, s.height, s.rate = spec.Width, spec.Height, spec.Rate
	evenW, evenH := evenSides(s.encoding)
	if s.reader != readerNative && ((evenW && s.width%2 == 1) || (evenH && s.height%2 == 1)) {
		o.RefuseKey("size", "size %dx%d: sides that share chroma in %s must be even", s.width, s.height, s.encoding)
	}
	s.target = spec.Target
	if !s.device {
		s.parseFile(o)
	}
	s.parseInput(o)
	return o.Err()
}

// parseFile reads what only files and URLs have.
func (s *Source) parseFile(o *capture.Options) {
	if s.target == "" {
		o.RefuseKey("target", "kind replay needs a file or URL: NAME=replay:FILE")
	}
	s.live = isLive(s.target)
	s.loop = o.Bool("loop", false)
	def := "file"
	if s.live {
		def = "fast"
	}
	s.fast = o.Choice("pace", def, "file", "fast") == "fast"
	if s.live && s.reader == readerNative {
		o.RefuseKey("reader", "option reader=native: %s is live, ffmpeg reads it", s.target)
	}
	s.speed = o.Float("speed", 1, 0.001, 1000)
	switch {
	case o.String("rate", "") == "0":
		s.fast = true
	case s.speed != 1 && s.rate != 0:
		o.RefuseKey("speed", "speed and a rate (@R) exclude each other")
	}
	if s.live && s.loop {
		o.RefuseKey("loop", "option loop: %s is live, it cannot begin again", s.target)
	}
}

func (s *Source) parseInput(o *capture.Options) {
	allowed := inputOptions()
	given := o.Prefix("input.")
	if len(given) > 0 && s.reader == readerNative {
		o.RefuseKey("reader", "option reader=native: options input.KEY are ffmpeg's")
	}
	keys := make([]string, 0, len(given))
	for k := range given {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		probed, ok := allowed[k]
		if !ok {
			names := make([]string, 0, len(allowed))
			for n := range allowed {
				names = append(names, n)
			}
			slices.Sort(names)
			hint := "allowed are " + strings.Join(names, ", ")
			if n := capture.Nearest(k, names); n != "" {
				hint = "did you mean input." + n + "?"
			}
			o.RefuseKey("input."+k, "option input.%s is not passed on to ffmpeg; %s", k, hint)
			continue
		}
		s.extra = append(s.extra, "-"+k, given[k])
		if probed {
			s.probeExtra = append(s.probeExtra, "-"+k, given[k])
		}
		s.cut = s.cut || cutting(k)
		s.demuxer = s.demuxer || k == "f" || k == "pattern_type"
	}
}

// isLive reports whether a target delivers at its own pace.
func isLive(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && slices.Contains([]string{"rtsp", "rtsps", "rtmp", "rtmps", "rtp", "udp", "srt", "tcp"}, strings.ToLower(scheme))
}
