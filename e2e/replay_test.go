// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// missing skips a test, or fails it where everything has to be there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing", what)
}

func needFFmpeg(t *testing.T) {
	t.Helper()
	for _, p := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(p); err != nil {
			missing(t, p)
		}
	}
}

// footage returns real video: 768x576, 10 frames a second, 795 frames.
func footage(t *testing.T) string {
	t.Helper()
	needFFmpeg(t)
	path := os.Getenv("CAMD_TEST_CLIP")
	if path == "" {
		path = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	packed, err := exec.Command("gzip", "-dc", path+".gz").Output()
	if err != nil || len(packed) == 0 {
		missing(t, path+" (Debian package opencv-doc, or set CAMD_TEST_CLIP)")
	}
	clip := filepath.Join(t.TempDir(), "clip.avi")
	if err := os.WriteFile(clip, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	return clip
}

// children are the processes whose parent is pid.
func children(pid int) []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended in between
		}
		i := strings.LastIndexByte(string(b), ')')
		var state byte
		var parent int
		if _, err := fmt.Sscanf(string(b[i+1:]), " %c %d", &state, &parent); err != nil || parent != pid || state == 'Z' {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			out = append(out, child)
		}
	}
	return out
}

// TestRealFootage is the main job: real video to a program that knows nothing
// of camd, at the end of a pipe.
func TestRealFootage(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=replay:"+footage(t)+",loop=true,@25")
	for _, format := range []string{"y4m", "raw"} {
		t.Run(format, func(t *testing.T) {
			input := "-f yuv4mpegpipe"
			if format == "raw" {
				input = "-f rawvideo -pix_fmt " + pixFmt(t, d) + " -s 768x576"
			}
			line := fmt.Sprintf(`%q cat test/color --count 30 --format %s | ffmpeg -v error -nostdin %s -i pipe:0 -f framemd5 -`, built.camsub, format, input)
			p := start(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, "/bin/bash", "-c", "set -o pipefail; "+line)
			if code := p.wait(); code != 0 {
				t.Fatalf("exit code %d: %s", code, p.err.String())
			}
			frames := regexp.MustCompile(`(?m)^0,.*([0-9a-f]{32})$`).FindAllStringSubmatch(p.out.String(), -1)
			different := map[string]bool{}
			for _, f := range frames {
				different[f[1]] = true
			}
			if len(frames) != 30 || len(different) < 25 {
				t.Errorf("ffmpeg read %d frames, %d different; want 30 of moving pictures", len(frames), len(different))
			}
		})
	}
	if s := d.stream(); s.HostCopies == nil || *s.HostCopies != 0 {
		t.Errorf("host_copies is %v, want 0: frames are read into their slots", s.HostCopies)
	}
}

// pixFmt is ffmpeg's name of the stream's encoding.
func pixFmt(t *testing.T, d *daemon) string {
	t.Helper()
	p := d.camsub("info", "test/color")
	if code := p.wait(); code != 0 {
		t.Fatalf("camsub info: exit code %d: %s", code, p.err.String())
	}
	for word, name := range map[string]string{"bgra8": "bgra", "rgba8": "rgba", "bgr8": "bgr24", "rgb8": "rgb24", "nv12": "nv12"} {
		if regexp.MustCompile(`\b` + word + `\b`).MatchString(p.out.String()) {
			return name
		}
	}
	t.Fatalf("encoding not found in %q", p.out.String())
	return ""
}

// TestFFmpegKilled kills the decoder under a running camera. The camera comes
// back by itself, and the reader is told of the break.
func TestFFmpegKilled(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=replay:"+footage(t)+",loop=true,@25")
	r := d.reader()
	r.await(5)
	base := settled(t, d.pid())
	for round := range 3 {
		seen := len(r.frames())
		restarts := d.status().Cameras[0].Restarts
		for _, c := range children(d.pid()) {
			if err := syscall.Kill(c, syscall.SIGKILL); err != nil {
				t.Logf("killing ffmpeg: %v", err) // it may have ended by itself
			}
		}
		eventually(t, "camera restarts", func() (bool, string) {
			c := d.status().Cameras[0]
			return c.Restarts > restarts && c.State == "running", fmt.Sprintf("%s, %d restarts", c.State, c.Restarts)
		})
		r.await(seen + 10)
		if !strings.Contains(d.err.String(), "killed by signal 9") {
			t.Error("the log does not say what happened to ffmpeg")
		}
		if round == 0 {
			base = settled(t, d.pid())
		}
	}
	broken := 0
	frames := r.frames()
	for _, f := range frames {
		if f.broken {
			broken++
		}
	}
	if broken < 3 || checkOrder(t, frames) != 1 {
		t.Errorf("%d frames are marked as a discontinuity after 3 restarts", broken)
	}
	if _, _, reconnects := r.end(); reconnects != 0 {
		t.Errorf("%d reconnects: the memory was to stay", reconnects)
	}
	d.subscribed(0)
	now, _ := usage(d.pid())
	if now.rings > base.rings {
		t.Errorf("ring mappings grew from %v to %v", base, now)
	}
}

// TestStoppedReaderLearnsOfTheBreak restarts the camera while a reader is
// stopped. The first frame after the break was replaced by newer ones long
// before the reader comes back; it must learn of the break all the same.
func TestStoppedReaderLearnsOfTheBreak(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=replay:"+footage(t)+",loop=true,@25")
	r := d.reader()
	r.await(5)
	r.stop()
	before := len(r.frames())
	for _, c := range children(d.pid()) {
		if err := syscall.Kill(c, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "camera restarts", func() (bool, string) {
		c := d.status().Cameras[0]
		return c.Restarts > 0 && c.State == "running", fmt.Sprintf("%s, %d restarts", c.State, c.Restarts)
	})
	d.advance(20)
	r.signal(syscall.SIGCONT)
	broken := 0
	for _, f := range r.await(before + 10)[before:] {
		if f.broken {
			broken++
		}
	}
	if broken != 1 {
		t.Errorf("%d frames after the break are marked as a discontinuity, want 1", broken)
	}
	r.end()
}

// TestNoOrphan kills camd: its decoder ends with it.
func TestNoOrphan(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	d := launchDaemon(t, dir, "test=replay:"+footage(t)+",loop=true,@25")
	d.ready()
	d.advance(3)
	kids := children(d.pid())
	if len(kids) == 0 {
		t.Fatal("no ffmpeg below camd")
	}
	d.kill()
	for _, k := range kids {
		eventually(t, "ffmpeg has ended", func() (bool, string) {
			s := processState(k)
			return s == 0 || s == 'Z', string(s)
		})
	}
}

// TestBrokenFiles gives camd files that are not video, or not to their end.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	clip := footage(t)
	dir := t.TempDir()
	whole, err := os.ReadFile(clip)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, path string
		code       int
		wants      []string
	}{
		{"not there", filepath.Join(dir, "nothing.avi"), 4, []string{"no such file: ", "nothing.avi"}},
		{"garbage", write("garbage.avi", []byte("this is no video")), 3, []string{"format refused", "garbage.avi", "Invalid data found"}},
		{"empty", write("empty.avi", nil), 3, []string{"format refused", "empty.avi"}},
		{"directory", dir, 3, []string{"is a directory"}},
		{"cut short", write("short.avi", whole[:len(whole)/40]), 0, []string{"early: its header promises"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, nil, c.code, c.wants, built.camd, "run", "--runtime-dir", newDir(t), "--camera", "test=replay:"+c.path+",rate=0")
		})
	}
}
