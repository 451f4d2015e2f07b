// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
)

// output collects what a program says.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// camd is the daemon as it is shipped, running until the end of the test.
type camd struct {
	t   testing.TB
	cmd *exec.Cmd
	log *output
}

func startCamd(t testing.TB, cameras ...string) *camd {
	t.Helper()
	c := &camd{t: t, log: &output{}}
	args := []string{"run"}
	for _, cam := range cameras {
		args = append(args, "--camera", cam)
	}
	c.cmd = exec.Command("camd", args...)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	eventually(t, "camd serves every camera", func() bool {
		out, err := exec.Command("camd", "status").Output()
		return err == nil && strings.Count(string(out), " running ") == len(cameras)
	})
	return c
}

// stop ends the daemon as a service manager does, once.
func (c *camd) stop() {
	if c.cmd.ProcessState != nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("camd: %v\n%s", err, c.log)
	}
}

// tool runs a program and returns its standard output.
func tool(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &out, &errs)
	}
	return out.Bytes()
}

// verified is what camsub hz --verify found.
type verified struct {
	Frames uint64
	Missed uint64
	Verify struct{ Frames, Torn, Stale uint64 }
}

func verify(t testing.TB, stream, count string) verified {
	t.Helper()
	var v verified
	out := tool(t, "camsub", "hz", stream, "--verify", "--count", count, "--timeout", "30s", "--format", "json", "--require", "shm")
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// streamStatus is a stream in camd status.
type streamStatus struct {
	Name       string                        `json:"name"`
	Source     string                        `json:"source"`
	Geometry   frame.Geometry                `json:"geometry"`
	HostCopies float64                       `json:"host_copies"`
	Published  uint64                        `json:"published"`
	Subscribed int                           `json:"subscribers"`
	Dropped    map[capture.DropReason]uint64 `json:"dropped"`
}

func statusOf(t testing.TB, stream string) streamStatus {
	t.Helper()
	out := tool(t, "camd", "status", "--format", "json")
	var docs []struct {
		Streams []streamStatus `json:"streams"`
	}
	if err := json.Unmarshal(out, &docs); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, d := range docs {
		for _, s := range d.Streams {
			if s.Name == stream {
				return s
			}
		}
	}
	t.Fatalf("no stream %s: %s", stream, out)
	return streamStatus{}
}

// The programs as they are shipped, two cameras at a time: what vivid draws
// reaches a subscriber, without a copy where the driver can write into the ring.
func TestDaemon(t *testing.T) {
	setControl(t, camMain, ctrlTestPattern, vividRed)
	setControl(t, camMain, ctrlTextMode, vividTextNone)
	startCamd(t,
		"front=v4l2:"+camMain+",640x360,encoding=yuyv",
		"rear=v4l2:"+camWebcam+",650x490,encoding=rgb8",
		"side=v4l2:"+camContig+",320x180,encoding=bgr8")
	for _, c := range []struct {
		stream, count string
		copies        float64
	}{
		{"front/color", "60", 0},
		{"rear/color", "15", 0},
		{"side/color", "30", 1},
	} {
		t.Run(c.stream, func(t *testing.T) {
			v := verify(t, c.stream, c.count)
			if v.Verify.Frames == 0 || v.Verify.Torn != 0 || v.Verify.Stale != 0 {
				t.Errorf("%+v", v)
			}
			s := statusOf(t, c.stream)
			if s.HostCopies != c.copies || s.Published == 0 {
				t.Errorf("%g copies per frame, want %g: %+v", s.HostCopies, c.copies, s)
			}
			if n := s.Dropped[capture.DropNoSlot] + s.Dropped[capture.DropDamaged]; n != 0 {
				t.Errorf("%v dropped", s.Dropped)
			}
		})
	}
	if s := statusOf(t, "rear/color"); !strings.Contains(s.Source, "size 640x480 instead of 650x490") {
		t.Errorf("the source is shown as %q, which does not say what was granted", s.Source)
	}

	t.Run("pixels", func(t *testing.T) {
		g := statusOf(t, "front/color").Geometry
		data := tool(t, "camsub", "cat", "front/color", "--format", "raw", "--count", "3")
		if len(data) != 3*g.Size() {
			t.Fatalf("%d bytes, want 3 frames of %d", len(data), g.Size())
		}
		for i := range 3 {
			f := capturetest.Frame{Format: capture.Format{Geometry: g}, Data: data[i*g.Size() : (i+1)*g.Size()]}
			if err := red(f); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("in use", func(t *testing.T) {
		got := take(t, "cam=v4l2:"+camMain+",640x360", 1, nil)
		if !errors.Is(got.err, v4l2.ErrBusy) || !strings.Contains(got.err.Error(), "(camd)") {
			t.Errorf("%v; want %v that names camd", got.err, v4l2.ErrBusy)
		}
	})
}

func TestDeviceCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"devices"}, []string{camMain, "vivid", "pictures"}},
		{[]string{"formats", camMain}, []string{"YUYV", "yuv422_yuy2", "16x16 to ", "brightness", "100% Red"}},
		{[]string{"formats", camWebcam}, []string{"640x480", "25", "5"}},
		{[]string{"formats", camPlanes}, []string{"NM12", "nv12"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			out := string(tool(t, "camd", c.args...))
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
