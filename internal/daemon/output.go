// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// streamsPrefix begins the options of single streams: streams.NAME.KEY.
const streamsPrefix = "streams."

// StreamKeys lists the options that a camera has for all of its streams and
// that streams.NAME.KEY sets for one of them.
func StreamKeys() []string {
	return append([]string{"max_rate", "downscale", "stamp", "frame_id", "backends"}, rosKeys()...)
}

// output is how frames of a stream leave the daemon.
type output struct {
	maxRate   float64 // frames per second; 0 = as they come
	downscale int     // divides width and height; 1 = as they are
	own       bool    // downscale is said for this stream, not for the camera
	stamp     negotiate.Stamp
	frameID   string
	backends  []negotiate.Backend // nil = all that there are
	ros       rosOutput
}

// outputs are those of a camera's streams.
type outputs struct {
	camera  output
	streams map[string]output // what is different
}

func (o outputs) of(stream string) output {
	if own, ok := o.streams[stream]; ok {
		return own
	}
	out := o.camera
	out.ros = out.ros.of(stream)
	return out
}

// period is the least time from frame to frame in the long run; 0 = any.
func (o output) period() time.Duration {
	if o.maxRate == 0 {
		return 0
	}
	return time.Duration(math.Ceil(float64(time.Second) / o.maxRate))
}

// published is the format that subscribers see of a source's, and what makes
// the frames smaller; nil if nothing does.
func (o output) published(f capture.Format) (capture.Format, *convert.Downscaler, error) {
	out := f
	if f.Interval > 0 {
		out.Interval = max(f.Interval, o.period())
	}
	if o.downscale <= 1 || f.Geometry.Compressed() && !o.own {
		return out, nil, nil
	}
	d, err := convert.Downscale(f.Geometry, o.downscale)
	if err != nil {
		return out, nil, fmt.Errorf("%w: downscale=%d: %w", capture.ErrFormatRefused, o.downscale, err)
	}
	out.Geometry, out.Held, out.MinSlotBytes = d.Geometry(), 1, 0
	return out, d, nil
}

// takeOutputs parses and removes the options of streams from spec.
func takeOutputs(spec *capture.Spec) (outputs, error) {
	o := takeOptions(spec, func(key string) bool {
		return strings.HasPrefix(key, streamsPrefix) || slices.Contains(StreamKeys(), key)
	})
	out := readOutputs(o, *spec)
	return out, o.Err()
}

func readOutputs(o *capture.Options, spec capture.Spec) outputs {
	defaults := output{downscale: 1, stamp: negotiate.StampCapture, frameID: spec.Name + "_optical_frame", ros: usualROS()}
	out := outputs{camera: readOutput(o, defaults), streams: make(map[string]output)}
	byStream := make(map[string]map[string]string)
	given := o.Prefix(streamsPrefix)
	for _, path := range slices.Sorted(maps.Keys(given)) {
		name, key, ok := strings.Cut(path, ".")
		if !ok {
			name = ""
		}
		if known := kinds.Streams(spec.Kind); name == "" || known != nil && !slices.Contains(known, name) {
			o.RefuseKey(streamsPrefix+path, "option %s%s: kind %s has no stream %q; want streams.NAME.KEY, NAME one of %s",
				streamsPrefix, path, spec.Kind, name, strings.Join(known, ", "))
			continue
		}
		if byStream[name] == nil {
			byStream[name] = make(map[string]string)
		}
		byStream[name][key] = given[path]
	}
	for name, options := range byStream {
		sub := capture.NewOptions(capture.Spec{Kind: spec.Kind, Options: options})
		own := readOutput(sub, out.of(name))
		_, own.own = options["downscale"]
		out.streams[name] = own
		refuseAll(o, sub, streamsPrefix+name+".")
	}
	return out
}

// refuseAll brings what sub refuses into the account of o.
func refuseAll(o, sub *capture.Options, prefix string) {
	var account *capture.OptionsError
	if !errors.As(sub.Err(), &account) {
		return
	}
	for _, err := range account.Errs {
		var one *capture.OptionError
		switch {
		case !errors.As(err, &one):
			o.Refuse("%w", err)
		case one.Unknown:
			o.RefuseKey(prefix+one.Key, "option %s%s: of one stream only %s can be set", prefix, one.Key, strings.Join(StreamKeys(), ", "))
		default:
			o.RefuseKey(prefix+one.Key, "%s: %w", strings.TrimSuffix(prefix, "."), err)
		}
	}
}

// leastRate is the lowest max_rate but 0, frames per second.
const leastRate = 0.001

func readOutput(o *capture.Options, def output) output {
	out := output{
		maxRate:   o.Float("max_rate", def.maxRate, 0, 1e6),
		downscale: readFactor(o, def.downscale),
		stamp:     negotiate.Stamp(o.Choice("stamp", string(def.stamp), string(negotiate.StampCapture), string(negotiate.StampPublish))),
		frameID:   o.String("frame_id", def.frameID),
		ros:       readROS(o, def.ros),
	}
	if out.maxRate != 0 && out.maxRate < leastRate {
		o.RefuseKey("max_rate", "option max_rate=%g: want at least %g frames per second, or 0 for all", out.maxRate, leastRate)
	}
	if !validFrameID(out.frameID) {
		o.RefuseKey("frame_id", "option frame_id=%.64q: want 1 to %d letters, digits and _ - . /, without a / in front", out.frameID, negotiate.MaxName)
	}
	var err error
	if out.backends, err = parseBackends(o.String("backends", joinBackends(def.backends))); err != nil {
		o.RefuseKey("backends", "option backends: %w", err)
	}
	return out
}

func readFactor(o *capture.Options, def int) int {
	words := []string{"1"}
	for _, f := range convert.Factors() {
		words = append(words, fmt.Sprint(f))
	}
	chosen := o.Choice("downscale", fmt.Sprint(def), words...)
	return int(chosen[0] - '0')
}

// validFrameID keeps to what tf2 takes: no / in front.
func validFrameID(s string) bool {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./", r)
	}
	return s != "" && len(s) <= negotiate.MaxName && s[0] != '/' && strings.IndexFunc(s, bad) < 0
}

func joinBackends(list []negotiate.Backend) string {
	words := make([]string, 0, len(list))
	for _, b := range list {
		words = append(words, string(b))
	}
	return strings.Join(words, ",")
}

// parseBackends reads names with commas between them; "" is no restriction.
func parseBackends(text string) ([]negotiate.Backend, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []negotiate.Backend
	for word := range strings.SplitSeq(text, ",") {
		b := negotiate.Backend(strings.TrimSpace(word))
		if !slices.Contains(negotiate.Backends(), b) {
			return nil, fmt.Errorf("%.64q: want some of %s, with commas between them%s", string(b), strings.ReplaceAll(joinBackends(negotiate.Backends()), ",", ", "), didYouMean(string(b), strings.Split(joinBackends(negotiate.Backends()), ",")))
		}
		out = append(out, b)
	}
	return out, nil
}

// didYouMean returns "; did you mean X?" or "".
func didYouMean(word string, known []string) string {
	if n := capture.Nearest(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
