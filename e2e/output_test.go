// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// The lines of ros2 topic hz, bw and delay (ros2cli, ros2topic/verb/), which
// scripts parse.
var ros2Lines = map[string]*regexp.Regexp{
	"hz": regexp.MustCompile(`(?m)^average rate: \d+\.\d{3}\n\tmin: \d+\.\d{3}s max: \d+\.\d{3}s std dev: \d+\.\d{5}s window: \d+$`),
	"bw": regexp.MustCompile(`(?m)^\d+(\.\d+)? (B|KB|MB)/s from \d+ messages\n\tMessage size mean: \d+(\.\d+)? (B|KB|MB) min: \d+(\.\d+)? (B|KB|MB) max: \d+(\.\d+)? (B|KB|MB)$`),
	"delay": regexp.MustCompile(
		`(?m)^average delay: -?\d+\.\d{3}\n\tmin: -?\d+\.\d{3}s max: -?\d+\.\d{3}s std dev: \d+\.\d{5}s window: \d+$`),
}

// TestOutputs holds what scripts parse.
func TestOutputs(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@60,encoding=rgb8")
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		p := d.camsub(args...)
		if code := p.wait(); code != 0 {
			t.Fatalf("camsub %v: exit code %d: %s", args, code, p.err.String())
		}
		return p.out.String()
	}
	for name, line := range ros2Lines {
		t.Run(name+" text", func(t *testing.T) {
			out := run(t, name, "test/color", "--count", "100")
			if !line.MatchString(out) {
				t.Errorf("%q does not match %v", out, line)
			}
			if rest := strings.TrimSpace(line.ReplaceAllString(out, "")); rest != "" && rest != "Subscribed to [/test/color]" {
				t.Errorf("something else on stdout: %q", rest)
			}
		})
	}
	for _, name := range []string{"hz", "bw", "delay", "latency"} {
		t.Run(name+" json", func(t *testing.T) {
			var doc struct {
				Command string  `json:"command"`
				Stream  string  `json:"stream"`
				Backend string  `json:"backend"`
				Frames  int     `json:"frames"`
				Seconds float64 `json:"duration_s"`
			}
			out := run(t, name, "test/color", "--count", "20", "--format", "json")
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			if doc.Command != name || doc.Stream != "test/color" || doc.Backend != "shm" || doc.Frames < 20 || doc.Seconds <= 0 {
				t.Errorf("document says %+v", doc)
			}
		})
		t.Run(name+" csv", func(t *testing.T) {
			out := run(t, name, "test/color", "--count", "20", "--format", "csv")
			rows, err := csv.NewReader(strings.NewReader(out)).ReadAll() // wants rows of one length
			if err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			if len(rows) < 2 || len(rows[0]) < 4 {
				t.Errorf("%d rows: %q", len(rows), out)
			}
		})
	}
	for _, args := range [][]string{{"list"}, {"info", "test/color"}} {
		t.Run(args[0]+" json", func(t *testing.T) {
			out := run(t, append(args, "--format", "json")...)
			var doc any
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			if !strings.Contains(out, `"test/color"`) {
				t.Errorf("the stream is not in %q", out)
			}
		})
		t.Run(args[0]+" text", func(t *testing.T) {
			if out := run(t, args...); !strings.Contains(out, "test/color") || !strings.Contains(out, "320x240") {
				t.Errorf("the stream is not in %q", out)
			}
		})
	}
	t.Run("list csv", func(t *testing.T) {
		rows, err := csv.NewReader(strings.NewReader(run(t, "list", "--format", "csv"))).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Errorf("%v, rows %v", err, rows)
		}
	})
}

// TestQuietEnds ends camsub in the ways that are no failure.
func TestQuietEnds(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@60")
	t.Run("reader of stdout goes away", func(t *testing.T) {
		for _, command := range []string{"cat test/color --format raw", "cat test/color", "hz test/color", "list"} {
			// Bash tells the exit code of the first program of a pipe.
			p := start(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, "/bin/bash", "-c",
				fmt.Sprintf(`%q %s | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}`, built.camsub, command))
			if code := p.wait(); code != 0 {
				t.Errorf("camsub %s: exit code %d: %s", command, code, p.err.String())
			}
			if s := p.err.String(); strings.Contains(s, "pipe") {
				t.Errorf("camsub %s complains: %s", command, s)
			}
		}
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		for _, name := range []string{"hz", "bw", "delay", "latency"} {
			p := d.camsub(name, "test/color", "--format", "json")
			d.subscriber(p, 20)
			p.interrupt()
			if !json.Valid([]byte(p.out.String())) || !strings.Contains(p.out.String(), `"frames"`) {
				t.Errorf("camsub %s: no summary after Ctrl-C: %q", name, p.out.String())
			}
			if s := p.err.String(); strings.Contains(s, "cancel") || strings.Contains(s, "interrupt") {
				t.Errorf("camsub %s complains: %s", name, s)
			}
		}
	})
	t.Run("the daemon stops", func(t *testing.T) {
		other := launchDaemon(t, newDir(t), "test=pattern,160x120@60,count=240")
		other.ready()
		p := other.camsub("hz", "test/color")
		other.subscriber(p, 1)
		video := other.camsub("cat", "test/color", "--format", "raw")
		other.subscriber(video, 1)
		if code := other.wait(); code != 0 {
			t.Errorf("camd after the last frame: exit code %d", code)
		}
		p.awaitErr("lost: every camera has come to its end")
		if code := video.wait(); code != 0 || !strings.Contains(video.err.String(), " missed\n") {
			t.Errorf("camsub cat at the end of the recording: exit code %d: %s", code, video.err.String())
		}
		p.interrupt() // it waits for another daemon until then
	})
}

// TestExitCodes holds the table of exit codes, each with its message.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,160x120@60,fault.stall=2s/1h")
	nowhere := newDir(t)
	temporary := regexp.MustCompile(`/\S*/camd-e2e-\d+`)
	camd := func(args ...string) []string { return append([]string{built.camd}, args...) }
	camsub := func(args ...string) []string { return append([]string{built.camsub}, args...) }
	run := func(cameras ...string) []string {
		args := camd("run", "--runtime-dir", newDir(t))
		for _, c := range cameras {
			args = append(args, "--camera", c)
		}
		return args
	}
	for _, c := range []struct {
		code  int
		line  []string
		wants []string
	}{
		{2, camd("runn"), []string{`unknown command "runn"`, "did you mean run?"}},
		{2, camd("run", "--camra", "x"), []string{"unknown flag --camra", "did you mean --camera?"}},
		{2, camd("run", "extra"), []string{"takes no argument", "extra"}},
		{2, camd("status", "--format", "xml"), []string{"text, json"}},
		{2, run("test"), []string{"NAME=KIND"}},
		{2, run("test=pattern,99999x1@1"), []string{"99999x1"}},
		{2, camsub("hz"), []string{"which stream?"}},
		{2, camsub("hz", "a", "b"), []string{"takes one stream"}},
		{2, camsub("hz", "a", "--require", "gpu"), []string{"cuda, shm, cpu"}},
		{2, camsub("hz", "a", "--duration", "0"), []string{"positive time"}},
		{2, camsub("hz", "a", "--hold", "never"), []string{"--hold never"}},
		{2, camsub("cat", "a", "--format", "avi"), []string{"y4m, raw"}},
		{3, run("test=patern"), []string{`unknown kind "patern"`, "did you mean pattern?"}},
		{3, run("test=pattern,encoding=rgb9"), []string{`unknown encoding "rgb9"`, "bgra8"}},
		{3, run("test=pattern,foobar=1"), []string{`"foobar"`, "encoding"}},
		{3, run("test=pattern,max_subscribers=1000"), []string{"from 1 to 64"}},
		{3, run("test=pattern,slots=1"), []string{"slots=1", "at least 3"}},
		{3, run("test=pattern", "test=pattern"), []string{"test", "twice"}},
		{4, run("test=v4l2:/dev/video-none"), []string{"device not found: /dev/video-none"}},
		{4, camd("status", "--runtime-dir", nowhere), []string{"no camd found", nowhere}},
		{4, camsub("list", "--runtime-dir", nowhere), []string{"no camd found", nowhere}},
		{4, camsub("hz", "test/color", "--runtime-dir", nowhere), []string{"no camd found", nowhere}},
		{4, camsub("hz", "test/colour"), []string{"unknown stream", "test/color"}},
		{4, camsub("info", "other/color"), []string{"test/color"}},
		{5, camsub("hz", "test/color", "--require", "cuda"), []string{"cuda: policy"}},
		{5, camsub("hz", "test/color", "--accept", "cpu"), []string{"cpu: router_unreachable"}},
		{6, camsub("hz", "test/color", "--timeout", "4s"), []string{"no frame of test/color for 4s"}},
	} {
		name := temporary.ReplaceAllString(strings.Join(c.line[1:], " "), "DIR")
		t.Run(fmt.Sprintf("%d for %s", c.code, name), func(t *testing.T) {
			t.Parallel()
			env := []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}
			p := expect(t, env, c.code, c.wants, c.line[0], c.line[1:]...)
			if c.code != 6 { // which measured, and tells of it
				oneMessage(t, p)
			}
		})
	}
}
