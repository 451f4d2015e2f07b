// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/venv"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// library is the client as examples/python loads it, built as its README says.
var library = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "libcamd.so")
	return out, compile("cc", "-shared", "-fPIC", "-O2", "camd.c", "-o", out, "-ldl")
})

// startPython runs a program of Python that uses examples/python.
func startPython(t testing.TB, env []string, program string, args ...string) *process {
	t.Helper()
	compiler(t, "cc")
	python := venv.Arrays.Python(t)
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("../../../examples/python")
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "PYTHONPATH="+modules, "CAMD_LIBRARY="+lib, "PYTHONDONTWRITEBYTECODE=1")
	return start(t, env, python, append([]string{"-X", "dev", program}, args...)...)
}

// passes waits for the end of a program that ends well and warns of nothing.
func passes(t testing.TB, p *process) {
	t.Helper()
	if code := p.wait(); code != 0 || strings.Contains(p.err.String(), "Warning") {
		t.Errorf("exit code %d", code)
	}
}

const pattern640 = "test=pattern,640x480@100,encoding=bgra8"

func TestPythonReads(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"host", "misuse"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			startDaemon(t, nil, dir, "--camera", pattern640)
			passes(t, startPython(t, nil, "frames.py", what, dir))
		})
	}
}

// Arrays of frames of a daemon that was killed stay readable, and the program
// finds the next daemon.
func TestPythonOutlivesDaemon(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	d := startDaemon(t, nil, dir, "--camera", pattern640)
	p := startPython(t, nil, "frames.py", "gone", dir)
	await(t, "a frame", func() bool { return strings.Contains(p.out.String(), "taken") })
	d.signal(syscall.SIGKILL)
	<-d.done
	startDaemon(t, nil, dir, "--camera", pattern640)
	passes(t, p)
}

// The example goes on behind the end of a daemon, and ends by Ctrl-C.
func TestPythonExample(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	d := startDaemon(t, nil, dir, "--camera", pattern640)
	p := startPython(t, []string{"CAMD_RUNTIME_DIR=" + dir}, "../../../examples/python/mean.py", "test/color")
	said := func(n int) func() bool {
		return func() bool { return strings.Count(p.out.String(), "(480, 640, 4) uint8: mean") >= n }
	}
	await(t, "a line", said(1))
	d.signal(syscall.SIGKILL)
	<-d.done
	startDaemon(t, nil, dir, "--camera", pattern640)
	await(t, "lines of the second daemon", said(strings.Count(p.out.String(), "mean")+2))
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 || strings.Contains(p.err.String(), "Traceback") {
		t.Errorf("exit code %d", code)
	}
	if p := startPython(t, []string{"CAMD_RUNTIME_DIR=" + dir}, "../../../examples/python/mean.py", "test/nothing"); p.wait() != 1 || !strings.Contains(p.err.String(), "unknown stream") {
		t.Error("an unknown stream is no error")
	}
}

// Rows may be padded, and samples of either byte order.
func TestPythonPaddedRows(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(c *call) error {
		err := c.offer(func(o *negotiate.Offer, _ []int) {
			o.Stream.Geometry = frame.Geometry{Width: 30, Height: 16, Encoding: frame.Mono16, Step: 100, BigEndian: true}
		})
		if err != nil {
			return err
		}
		c.memory.grant(0, 1)
		pixels := c.memory.pixels.Data
		clear(pixels[:1600])
		for y := range 16 {
			binary.BigEndian.PutUint16(pixels[100*y:], uint16(1000+y))
		}
		c.memory.put64(c.memory.record(0), "recBytes", 1600)
		if err := c.start(c.memory.page.FD, c.memory.wake.FD); err != nil {
			return err
		}
		c.hungUp()
		return nil
	})
	passes(t, startPython(t, nil, "frames.py", "padded", f.dir))
}

// Arrays of every encoding have the shape and the strides of its frames.
func TestPythonShapes(t *testing.T) {
	t.Parallel()
	var asked, want strings.Builder
	for _, e := range frame.Encodings() {
		if e.Compressed() {
			fmt.Fprintf(&asked, "%s 0 999 0/0/0/0\n", e)
			fmt.Fprintf(&want, "%s 0 |u1 999 1; 0 |u1 999 1\n", e)
			continue
		}
		for _, padding := range []int{0, 24} {
			tight, err := frame.NewGeometry(e, 64, 32)
			if err != nil {
				t.Fatal(err)
			}
			g, err := frame.NewGeometryStep(e, 64, 32, tight.Step+padding)
			if err != nil {
				t.Fatal(err)
			}
			g.BigEndian = e.Wide() && padding > 0
			shapesOf(t, g, &asked, &want)
		}
	}
	file := filepath.Join(t.TempDir(), "asked")
	if err := os.WriteFile(file, []byte(asked.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startPython(t, nil, "frames.py", "shapes", file)
	passes(t, p)
	if got := p.out.String(); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

// shapesOf writes a question of a layout, and its answer.
func shapesOf(t testing.TB, g frame.Geometry, asked, want *strings.Builder) {
	t.Helper()
	sample, channels, kind := 1, g.Encoding.BytesPerPixel(), "u"
	switch {
	case g.Encoding == frame.Float32:
		sample, channels, kind = 4, 1, "f"
	case g.Encoding.Wide():
		sample, channels = 2, channels/2
	case g.PlaneCount() > 1:
		channels = 1
	}
	order := "|"
	if sample > 1 {
		order = "<"
		if g.BigEndian {
			order = ">"
		}
	}
	answer := func(offset, rows, columns, channels, step int) string {
		shape, strides := fmt.Sprintf("%dx%d", rows, columns), fmt.Sprintf("%d,%d", step, sample*channels)
		if channels > 1 {
			shape, strides = fmt.Sprintf("%sx%d", shape, channels), fmt.Sprintf("%s,%d", strides, sample)
		}
		return fmt.Sprintf("%d %s%s%d %s %s", offset, order, kind, sample, shape, strides)
	}
	big := 0
	if g.BigEndian {
		big = 1
	}
	fmt.Fprintf(asked, "%s %d %d", g.Encoding, big, g.Size())
	rows, answers := 0, []string{""}
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		fmt.Fprintf(asked, " %d/%d/%d/%d", p.Offset, p.Step, p.RowBytes, p.Rows)
		rows += p.Rows
		if i == 0 {
			answers = append(answers, answer(p.Offset, p.Rows, g.Width, channels, p.Step))
		} else {
			answers = append(answers, answer(p.Offset, p.Rows, g.Width/2, 2, p.Step))
		}
	}
	answers[0] = answer(0, rows, g.Width, channels, g.Step)
	fmt.Fprintln(asked)
	fmt.Fprintf(want, "%s %s\n", g.Encoding, strings.Join(answers, "; "))
}

// Frames on a GPU go back behind the work that reads them. Where Python is made
// to forget the stream, the simulated driver notices.
func TestPythonDevice(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"ordered", "unordered"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			gpu, env, run := simulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 5000})
			dir := newDir(t)
			d := startGPU(t, gpu, env, dir, pattern640)
			p := startPython(t, env, "frames.py", "device", dir, gpu, how)
			code := p.wait()
			if how == "unordered" {
				if len(sim.Reports(t, run)) == 0 && code == 0 {
					t.Error("nobody notices that a frame goes back before it was read")
				}
				return
			}
			if code != 0 || strings.Contains(p.err.String(), "Warning") {
				t.Errorf("exit code %d", code)
			}
			ended(t, d, run)
		})
	}
}
