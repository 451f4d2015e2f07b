// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/jpeg"
)

const (
	motionFrames = 300
	motionWidth  = 382
	motionHeight = 287
)

// motionJPEG is real footage as JPEGs.
func motionJPEG(t *testing.T) [][]byte {
	t.Helper()
	out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-i", footage(t), "-frames:v", fmt.Sprint(motionFrames),
		"-vf", fmt.Sprintf("scale=%d:%d", motionWidth, motionHeight), "-c:v", "mjpeg", "-huffman", "default", "-q:v", "5", "-f", "mjpeg", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := split(t, out)
	if len(list) != motionFrames {
		t.Fatalf("%d frames, want %d", len(list), motionFrames)
	}
	return list
}

func split(t *testing.T, stream []byte) (list [][]byte) {
	t.Helper()
	s := jpeg.NewSplitter(bytes.NewReader(stream), 1<<20)
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(data))
	}
}

// segment is where the first segment with a marker begins and ends.
func segment(t *testing.T, data []byte, marker byte) (begin, end int) {
	t.Helper()
	for p := 2; p+4 <= len(data); {
		n := 2 + int(data[p+2])<<8 + int(data[p+3])
		if data[p+1] == marker {
			return p, p + n
		}
		p += n
	}
	t.Fatalf("no marker %#x", marker)
	return 0, 0
}

// without takes all segments with a marker out.
func without(t *testing.T, data []byte, marker byte) []byte {
	t.Helper()
	_, header := segment(t, data, 0xda)
	data = bytes.Clone(data)
	for i := bytes.Index(data[:header], []byte{0xff, marker}); i >= 0; i = bytes.Index(data[:header], []byte{0xff, marker}) {
		begin, end := segment(t, data, marker)
		data = append(data[:begin], data[end:]...)
		header -= end - begin
	}
	return data
}

// spoiled damages six frames, each in another way, and takes the Huffman tables
// out of every tenth, which is no damage. good are those that must come out.
func spoiled(t *testing.T, list [][]byte) (stream []byte, good map[string]int) {
	t.Helper()
	middle := func(d []byte) int { _, header := segment(t, d, 0xda); return (header + len(d)) / 2 }
	damage := map[int]func([]byte) []byte{
		20:  func(d []byte) []byte { return d[:middle(d)] },
		71:  func(d []byte) []byte { return d[:len(d)-2] }, // no EOI
		122: func(d []byte) []byte { copy(d, "no"); return d },
		173: func(d []byte) []byte { at, _ := segment(t, d, 0xc0); copy(d[at+5:], "\xff\x00\xff\x00"); return d }, // 65280x65280
		224: func(d []byte) []byte { return without(t, d, 0xdb) },                                                 // no quantisation
		275: func(d []byte) []byte { // in the coded data
			for i, at := 0, middle(d); i < 200; i++ {
				d[at+i] = byte(i * 37 % 255)
			}
			return d
		},
	}
	good = make(map[string]int)
	for i, data := range list {
		data = bytes.Clone(data)
		if f := damage[i]; f != nil {
			stream = append(stream, f(data)...)
			continue
		}
		if i%10 == 0 {
			data = without(t, data, 0xc4)
		}
		stream = append(stream, data...)
		good[string(data)] = i
	}
	if len(good) != motionFrames-len(damage) {
		t.Fatalf("%d different good frames", len(good))
	}
	return stream, good
}

// reference decodes with the reference decoder.
func reference(t *testing.T, data []byte) string {
	t.Helper()
	cmd := exec.Command("djpeg", "-dct", "int", "-pnm")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	header := fmt.Sprintf("P6\n%d %d\n255\n", motionWidth, motionHeight)
	if err != nil || !strings.HasPrefix(string(out), header) {
		t.Fatalf("djpeg: %v, %.40q", err, out)
	}
	return string(out[len(header):])
}

// collector reads a stream until it has seen every one of the frames, and
// nothing else.
type collector struct {
	sub    *client.Subscription
	frames map[string]int
	seen   map[int]bool
}

func (d *daemon) collector(ctx context.Context, stream string, frames map[string]int) *collector {
	d.t.Helper()
	sub, err := client.Subscribe(ctx, stream, client.WithRuntimeDir(d.dir), client.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = sub.Close() })
	return &collector{sub, frames, make(map[int]bool)}
}

// run reads on after complete, until ctx is done.
func (c *collector) run(ctx context.Context, complete func()) error {
	for {
		f, err := c.sub.Next(ctx)
		if err != nil {
			if len(c.seen) < len(c.frames) {
				return fmt.Errorf("%s: %d of %d frames: %w", c.sub.Info().Name, len(c.seen), len(c.frames), err)
			}
			return nil
		}
		n, ok := c.frames[string(f.Data())]
		driver := f.Meta().DriverSequence
		f.Release()
		if !ok {
			return fmt.Errorf("%s: frame %d, after %d good ones, is none of them", c.sub.Info().Name, driver, len(c.seen))
		}
		c.seen[n] = true
		if len(c.seen) == len(c.frames) {
			complete()
		}
	}
}

func (d *daemon) streamNamed(name string) streamStatus {
	d.t.Helper()
	for _, s := range d.status().Streams {
		if s.Name == name {
			return s
		}
	}
	d.t.Fatalf("no stream %s", name)
	return streamStatus{}
}

// Of 300 frames, six of them damaged, 294 reach the readers of both streams, bit
// by bit: as they came, and as the reference decoder decodes them. The others
// are counted by reason.
func TestMotionJPEG(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("djpeg"); err != nil {
		missing(t, "djpeg (Debian package libjpeg-turbo-progs)")
	}
	if dec, err := jpeg.NewDecoder(jpeg.Turbo); err != nil {
		missing(t, err.Error())
	} else {
		dec.Close()
	}
	list := motionJPEG(t)
	stream, packed := spoiled(t, list)
	pictures := make(map[string]int)
	for _, i := range packed {
		pictures[reference(t, list[i])] = i
	}
	file := filepath.Join(t.TempDir(), "x.mjpeg")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, "test=replay:"+file+",loop=true,encoding=rgb8,@60")

	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	// Damage of coded data shows only while somebody reads the pictures: these
	// are subscribed to first and longest.
	decoded := d.collector(ctx, "test/color", pictures)
	came := d.collector(ctx, "test/color/jpeg", packed)
	var complete, ended sync.WaitGroup
	errs := make([]error, 2)
	complete.Add(2)
	for i, c := range []*collector{decoded, came} {
		ended.Go(func() {
			done := sync.OnceFunc(complete.Done)
			defer done()
			errs[i] = c.run(ctx, done)
		})
	}
	go func() {
		complete.Wait()
		cancel()
	}()
	ended.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	_, _ = came.sub.Close(), decoded.sub.Close()

	t.Run("counts", func(t *testing.T) {
		for name, copies := range map[string]float64{"test/color": 0, "test/color/jpeg": 1} {
			s := d.streamNamed(name)
			passes := s.Dropped["damaged_not_jpeg"] // one in each pass
			for reason, each := range map[string]uint64{
				"damaged_truncated": 2, "damaged_not_jpeg": 1, "damaged_too_big": 1, "damaged_no_tables": 1, "damaged_corrupt": 1,
			} {
				// The file is being read; one pass is not complete.
				if n := s.Dropped[reason]; n < each*(max(passes, 1)-1) || n > each*(passes+1) || passes == 0 {
					t.Errorf("%s: %d %s in %d passes, want %d in each: %v", name, n, reason, passes, each, s.Dropped)
				}
			}
			if s.HostCopies == nil || *s.HostCopies != copies {
				t.Errorf("%s: %v copies per frame, want %g", name, s.HostCopies, copies)
			}
		}
		if lines := strings.Count(d.err.String(), "\n"); !strings.Contains(d.err.String(), "2 truncated") || lines > 15 {
			t.Errorf("%d lines of log:\n%s", lines, d.err.String())
		}
	})

	t.Run("nobody reads", func(t *testing.T) {
		unread := func() (published, damaged uint64) {
			for _, s := range d.status().Streams {
				if s.Subscribed > 0 {
					t.Fatalf("%s has %d subscribers", s.Name, s.Subscribed)
				}
				published += s.Published
				damaged += s.Dropped["damaged_not_jpeg"]
			}
			return published, damaged
		}
		eventually(t, "no subscribers", func() (bool, string) {
			st := d.status().Streams
			return st[0].Subscribed+st[1].Subscribed == 0, fmt.Sprintf("%+v", st)
		})
		before, damaged := unread()
		eventually(t, "another pass", func() (bool, string) {
			_, now := unread()
			return now > damaged, fmt.Sprint(now)
		})
		if after, _ := unread(); after != before {
			t.Errorf("%d frames were published for nobody", after-before)
		}
	})

	t.Run("camsub", func(t *testing.T) {
		run := func(args ...string) []byte {
			p := d.camsub(args...)
			p.quiet = true
			if code := p.wait(); code != 0 {
				t.Fatalf("camsub %v: exit code %d: %s", args, code, p.err.String())
			}
			return []byte(p.out.String())
		}
		name := filepath.Join(t.TempDir(), "x.jpg")
		run("snapshot", "test/color/jpeg", "-o", name)
		data, err := os.ReadFile(name)
		if _, ok := packed[string(data)]; err != nil || !ok {
			t.Errorf("the snapshot of %d bytes is no frame of the file, %v", len(data), err)
		}
		frames := split(t, run("cat", "test/color/jpeg", "--format", "raw", "--count", "20", "--verify"))
		if len(frames) != 20 {
			t.Errorf("cat wrote %d frames, want 20", len(frames))
		}
		for _, f := range frames {
			if _, ok := packed[string(f)]; !ok {
				t.Errorf("cat wrote %d bytes that are no frame of the file", len(f))
			}
		}
		var bw struct {
			Bytes  uint64 `json:"bytes"`
			Verify struct{ Frames, Torn, Stale uint64 }
			Size   struct{ Min, Max float64 } `json:"size_bytes"`
		}
		if err := json.Unmarshal(run("bw", "test/color/jpeg", "--count", "50", "--verify", "--format", "json"), &bw); err != nil {
			t.Fatal(err)
		}
		if bw.Size.Min <= 0 || bw.Size.Min >= bw.Size.Max || bw.Bytes == 0 || bw.Verify.Frames < 50 || bw.Verify.Torn+bw.Verify.Stale != 0 {
			t.Errorf("%+v", bw)
		}
	})
}
