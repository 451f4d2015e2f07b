// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// gpuHelpers are the programs that this binary can be, by the first argument.
var gpuHelpers = map[string]func([]string) error{"gpu": gpuHelper, "gpuread": gpuReadHelper}

// pixelCamera is a camera each pixel of which says of which frame it is: rows of
// the test pattern begin with the frame's number in 8 bytes, and these have no
// more.
const pixelCamera = "test=pattern,8x4096@100,encoding=mono8,style=rows"

// gpuReadHelper is a subscriber that has work of its own on the GPU read each
// frame twice, and holds the bytes of both against the frame's number. The seed
// in its argument decides whether it waits for the work before it gives a frame
// back, and for how long it keeps it.
func gpuReadHelper(args []string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	dev, err := gpu.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	sub, err := dev.Subscribe(ctx, "test/color", client.WithRequire(negotiate.BackendCUDA))
	if err != nil {
		return err
	}
	defer func() {
		tellEnd(sub.Stats())
		err = errors.Join(err, sub.Close())
		if c := sub.Counts(); c.Stale+c.Failed > 0 {
			err = errors.Join(err, fmt.Errorf("%+v", c))
		}
	}()
	r := &gpuReading{dev: dev, sub: sub, random: rand.New(rand.NewPCG(seed, 0))}
	defer func() { err = errors.Join(err, r.close()) }()
	for {
		f, err := sub.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err == nil {
			tell(f.Frame)
			err = r.read(f)
		}
		if err != nil {
			return err
		}
	}
}

// gpuReading is what reading takes.
type gpuReading struct {
	dev    *gpu.Device
	sub    *gpu.Subscription
	random *rand.Rand
	stream [2]gpu.Stream
	copied [2][]byte // pinned
}

func (r *gpuReading) open(bytes int) error {
	if r.stream[0] != 0 {
		return nil
	}
	for i := range r.stream {
		var err error
		if r.stream[i], err = r.dev.NewStream(); err != nil {
			return err
		}
	}
	return r.dev.Do(func(t *driver.Thread) (err error) {
		for i := range r.copied {
			if r.copied[i], err = t.HostAlloc(bytes); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *gpuReading) close() error {
	if r.stream[0] == 0 {
		return nil
	}
	return r.dev.Do(func(t *driver.Thread) error { return errors.Join(t.HostFree(r.copied[0]), t.HostFree(r.copied[1])) })
}

// read looks at a frame when it was taken and before it is given back.
func (r *gpuReading) read(f gpu.Frame) error {
	g, number := f.Geometry(), f.Meta().DriverSequence
	if err := r.open(g.Size()); err != nil {
		return err
	}
	wait, hold := r.random.IntN(2) == 0, time.Duration(r.random.IntN(15))*time.Millisecond
	for i, stream := range r.stream {
		v, err := f.OnDevice(stream)
		if err != nil {
			return err
		}
		if err := r.dev.Do(func(t *driver.Thread) error { return t.DtoH(r.copied[i], v.Ptr, stream) }); err != nil {
			return err
		}
		if !wait {
			continue
		}
		if err := errors.Join(r.dev.Synchronize(stream), f.Valid(), pattern.VerifyNumber(g, r.copied[i], number)); err != nil {
			return err
		}
		if i == 0 {
			pause(hold)
		}
	}
	if err := f.Release(); err != nil || wait {
		return err
	}
	for i, stream := range r.stream {
		if err := errors.Join(r.dev.Synchronize(stream), pattern.VerifyNumber(g, r.copied[i], number)); err != nil {
			return err
		}
	}
	return nil
}

// buildReader compiles the example in C, once.
var buildReader = sync.OnceValues(func() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", err
	}
	out := filepath.Join(filepath.Dir(built.camd), "reader")
	text, err := exec.Command(cc, "-O2", "-I../clients/c", "../clients/c/reader.c", "../clients/c/camd.c", "-o", out).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

// inC is the example in C. Without a compiler the test is skipped.
func inC(t testing.TB) string {
	t.Helper()
	program, err := buildReader()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// gpuReader is a process that reads frames on the GPU and checks them.
type gpuReader struct {
	reader
	inC bool
}

// reader starts one, in Go or C.
func (s *simulated) gpuReader(c bool, seed uint64) gpuReader {
	s.t.Helper()
	if !c {
		self, err := os.Executable()
		if err != nil {
			s.t.Fatal(err)
		}
		env := withEnv(append(s.env, helperVariable+"=1", fmt.Sprintf("CUDASIM_SEED=%d", seed+1))...)
		return gpuReader{reader{start(s.t, []with{env}, self, "gpuread", fmt.Sprint(seed))}, false}
	}
	program := inC(s.t)
	args := []string{"test/color", "--require", "cuda", "--verify", "--print", "--reconnect", "--timeout-ms", "60000"}
	switch seed % 3 {
	case 0:
		args = append(args, "--async")
	case 1:
		args = append(args, "--async", "--wake", "fd")
	case 2:
		args = append(args, "--hold-ms", "5")
	}
	env := withEnv(append(s.env, fmt.Sprintf("CUDASIM_SEED=%d", seed+1))...)
	return gpuReader{reader{start(s.t, []with{env}, program, args...)}, true}
}

// taken are its frames so far.
func (r gpuReader) taken() []taken {
	if !r.inC {
		return r.frames()
	}
	var out []taken
	for line := range strings.Lines(r.out.String()) {
		var f taken
		var size, goesOn string
		if n, _ := fmt.Sscanf(line, "frame %d %s %d %s %s\n", &f.seq, &f.session, &f.epoch, &size, &goesOn); n == 5 && strings.HasSuffix(line, "\n") {
			// One that connects anew subscribes anew: it knows of the break.
			f.broken = goesOn == "discontinuity" || len(out) > 0 && f.session != out[len(out)-1].session
			out = append(out, f)
		}
	}
	return out
}

// more waits until it took so many more frames, of a session of its own choice
// or the newest.
func (r gpuReader) more(n int) {
	r.t.Helper()
	from := len(r.taken())
	eventually(r.t, fmt.Sprintf("%s %d takes %d more frames", r.name, r.pid(), n), func() (bool, string) {
		got := len(r.taken()) - from
		if got < n && r.ended() {
			r.t.Fatalf("it ended after %d frames: %s%s", from+got, proctest.Tail(r.out.String()), r.err.String())
		}
		return got >= n, fmt.Sprint(got)
	})
}

// finish ends it and holds what it has seen: frames in order, whole and its own.
func (r gpuReader) finish() (frames int) {
	r.t.Helper()
	r.interrupt() // the exit code says whether every frame was whole
	all := r.taken()
	if r.inC {
		lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, " torn 0 stale 0 ") {
			r.t.Errorf("%s %d: %s", r.name, r.pid(), last)
		}
	}
	checkOrder(r.t, all)
	return len(all)
}
