// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// maxProbeBytes bounds what is read of ffprobe's answer.
const maxProbeBytes = 1 << 20

// clip is what is known of a file before it is played.
type clip struct {
	width, height int     // pixels, as shown (rotation applied)
	rate          float64 // frames per second; 0 = not known
	frames        uint64  // what the header promises; 0 = not known
}

// probe asks ffprobe.
func probe(ctx context.Context, program string, input []string) (clip, error) {
	args := append([]string{"-v", "error", "-hide_banner"}, input...)
	args = append(args, "-select_streams", "v:0", "-of", "json", "-show_entries",
		"stream=width,height,avg_frame_rate,r_frame_rate,nb_frames,duration:stream_side_data=rotation:format=duration")
	c, err := startChild(program, args...)
	if err != nil {
		return clip{}, err
	}
	defer c.stop()
	defer c.bind(ctx)()
	answer, err := io.ReadAll(io.LimitReader(c.out, maxProbeBytes))
	if ctx.Err() != nil {
		return clip{}, ctx.Err()
	}
	if err != nil {
		return clip{}, err
	}
	if err := c.exit(); errors.Is(err, errSignalled) {
		return clip{}, err
	} else if err != nil {
		return clip{}, fmt.Errorf("%w%s", errProbe, strings.TrimPrefix(c.stderr.quote(), ": it said"))
	}
	found, err := parseProbe(answer)
	if err != nil {
		return clip{}, fmt.Errorf("%w%s", err, c.stderr.quote())
	}
	return found, nil
}

var errProbe = errors.New("ffprobe cannot read it")

// parseProbe reads ffprobe's JSON.
func parseProbe(answer []byte) (clip, error) {
	var doc struct {
		Streams []struct {
			Width     int    `json:"width"`
			Height    int    `json:"height"`
			AvgRate   string `json:"avg_frame_rate"`
			BaseRate  string `json:"r_frame_rate"`
			Frames    string `json:"nb_frames"`
			Duration  string `json:"duration"`
			SideDatas []struct {
				Rotation float64 `json:"rotation"`
			} `json:"side_data_list"`
		} `json:"streams"`
		Format struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	if err := json.Unmarshal(answer, &doc); err != nil {
		return clip{}, fmt.Errorf("%w: answer of ffprobe: %w", errProbe, err)
	}
	if len(doc.Streams) == 0 {
		return clip{}, fmt.Errorf("%w: there is no video in it", capture.ErrFormatRefused)
	}
	st := doc.Streams[0]
	c := clip{width: st.Width, height: st.Height}
	for _, d := range st.SideDatas {
		if quarter := math.Mod(math.Abs(d.Rotation), 180); quarter > 45 && quarter < 135 {
			c.width, c.height = c.height, c.width
		}
	}
	if c.width < 1 || c.height < 1 || c.width > frame.MaxSide || c.height > frame.MaxSide {
		return clip{}, fmt.Errorf("%w: video of %dx%d", capture.ErrFormatRefused, st.Width, st.Height)
	}
	c.rate = ratio(st.AvgRate)
	// The average of a short file is off by a little; the base rate is exact
	// where all frames are equally long.
	if base := ratio(st.BaseRate); base > 0 && (c.rate == 0 || math.Abs(base-c.rate) < 0.01*c.rate) {
		c.rate = base
	}
	if n, err := strconv.ParseUint(st.Frames, 10, 62); err == nil {
		c.frames = n
	} else if d := max(number(st.Duration), number(doc.Format.Duration)); d > 0 && c.rate > 0 && d < 1e9 {
		c.frames = uint64(d * c.rate)
	}
	return c, nil
}

// ratio reads "30000/1001". It is 0 for anything that is no usable rate.
func ratio(s string) float64 {
	a, b, ok := strings.Cut(s, "/")
	r := number(a)
	if ok {
		d := number(b)
		if d == 0 {
			return 0
		}
		r /= d
	}
	if math.IsNaN(r) || r < 0.001 || r > 1000 {
		return 0
	}
	return r
}

// number reads a number that is not negative; 0 for anything else.
func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0
	}
	return f
}
