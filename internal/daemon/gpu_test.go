// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// bootGPU runs a daemon with a simulated GPU, and opens that for a client too.
func bootGPU(t *testing.T, o sim.Options, cameras ...string) (d *Daemon, dev *gpu.Device, dir, sims string, stop func()) {
	t.Helper()
	library := sim.Build(t)
	sims = sim.Setenv(t, o)
	dir = t.TempDir()
	d = &Daemon{Dir: dir, Version: "test", Log: slog.New(slog.DiscardHandler), GPU: &GPU{Options: cuda.Options{Library: library}}}
	for _, text := range cameras {
		d.Cameras = append(d.Cameras, spec(t, text))
	}
	stop = run(t, d)
	publishing(t, d)
	dev, err := gpu.Open(gpu.WithLibrary(library), gpu.WithLogger(d.Log))
	if err != nil {
		t.Fatal(err)
	}
	return d, dev, dir, sims, stop
}

// The whole way: a camera, the host ring, the GPU, another side that reads it
// there, through changes of path, to nothing left.
func TestFramesOnTheGPU(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	d, dev, dir, sims, stop := bootGPU(t, sim.Options{Delay: sim.Uniform, DelayMicros: 500}, "test=pattern,64x48@200")
	ctx := bounded(t)
	if s := d.Status(); s.CUDA == nil || s.CUDA.UUID != sim.UUID(0) || s.CUDA.Rings != 0 || s.Streams[0].DeviceRing != nil {
		t.Fatalf("without a subscriber: %+v", s.CUDA)
	}
	s, err := dev.Subscribe(ctx, "test/color", client.WithRuntimeDir(dir), client.WithRequire(negotiate.BackendCUDA))
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	host := make([]byte, 64*48*4)
	for range 50 {
		f, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.CopyToHost(host); err != nil {
			t.Fatal(err)
		}
		if f.Meta().Sequence <= last {
			t.Fatalf("frame %d after %d", f.Meta().Sequence, last)
		}
		last = f.Meta().Sequence
		if binary.NativeEndian.Uint64(host) == 0 {
			t.Fatalf("frame %d is empty", last)
		}
		if err := f.Release(); err != nil {
			t.Fatal(err)
		}
	}
	st := d.Status()
	doc, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	r := st.Streams[0].DeviceRing
	if st.CUDA.Rings != 1 || st.CUDA.RingBytes != sim.Memory(t, sims) || r == nil || r.Frames < 50 || !r.Pinned || r.Errors != 0 {
		t.Errorf("status %s", doc)
	}
	if sub := st.Streams[0].Subscribers; len(sub) != 1 || sub[0].Backend != negotiate.BackendCUDA {
		t.Errorf("subscribers %+v", sub)
	}
	if err := errors.Join(s.Close(), dev.Close()); err != nil {
		t.Error(err)
	}
	if err := eventually(func() bool { return sim.Memory(t, sims) == 0 }); err != nil {
		t.Error("device memory is left: ", err)
	}
	stop()
	sim.NoLeaks(t, sims)
	sim.Clean(t, sims)
}

// What each machine gives: frames by the best path that is left, with the right
// reason, from the same program.
func TestPathWithoutGPU(t *testing.T) {
	for profile, want := range map[string]negotiate.Reason{
		"no-driver": negotiate.ReasonNoDriver, "mismatch": negotiate.ReasonDriverMismatch, "no-ipc": negotiate.ReasonVMMUnsupported,
	} {
		t.Run(profile, func(t *testing.T) {
			if !alone.Run(t) {
				return
			}
			library := sim.Build(t)
			sim.Setenv(t, sim.Options{Profile: profile})
			d := &Daemon{
				Dir: t.TempDir(), Version: "test", Log: slog.New(slog.DiscardHandler),
				GPU: &GPU{Options: cuda.Options{Library: library}}, Cameras: []capture.Spec{spec(t, "test=pattern,64x48@100")},
			}
			run(t, d)
			ctx := bounded(t)
			s, err := client.Subscribe(ctx, "test/color", client.WithRuntimeDir(d.Dir), client.WithAccept(negotiate.BackendCUDA, negotiate.BackendSHM))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f, err := s.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			f.Release()
			p := s.Path()
			better := negotiate.Better(p.Rejected, p.Backend)
			if p.Backend != negotiate.BackendSHM || len(better) != 1 || better[0].Reason != want {
				t.Errorf("path %+v, want shm because of %s", p, want)
			}
			if s := d.Status().CUDA; s.Reason != want || s.Detail == "" {
				t.Errorf("status %+v", s)
			}
			_, err = client.Subscribe(ctx, "test/color", client.WithRuntimeDir(d.Dir), client.WithRequire(negotiate.BackendCUDA))
			if !errors.Is(err, client.ErrNotAvailable) || !strings.Contains(err.Error(), string(want)) {
				t.Errorf("required: %v", err)
			}
		})
	}
}

// After a fault of the GPU its subscribers go over to shared memory by themselves,
// and the others never notice.
func TestGPULostGoesOnByMemory(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	d, dev, dir, sims, _ := bootGPU(t, sim.Options{}, "test=pattern,64x48@200")
	defer dev.Close() // fails: nothing can be given back
	ctx, quiet := bounded(t), client.WithLogger(d.Log)
	other, err := client.Subscribe(ctx, "test/color", client.WithRuntimeDir(dir), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s, err := client.Subscribe(ctx, "test/color", client.WithRuntimeDir(dir), quiet, client.WithDevice(dev), client.WithAccept(negotiate.BackendCUDA, negotiate.BackendSHM))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Path(); p.Backend != negotiate.BackendCUDA {
		t.Fatalf("path %+v", p)
	}
	sim.Inject(t, sims, "lost:719")
	end := time.Now().Add(deadline)
	for s.Path().Backend != negotiate.BackendSHM {
		if time.Now().After(end) {
			t.Fatalf("still by %+v", s.Path())
		}
		f, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
		f, err = other.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if p := s.Path(); len(negotiate.Better(p.Rejected, p.Backend)) != 1 || p.Rejected[len(p.Rejected)-1].Reason == "" {
		t.Errorf("path %+v", p)
	}
	if st := d.Status().CUDA; st.Reason != negotiate.ReasonGPULost {
		t.Errorf("status %+v", st)
	}
	if p := other.Path(); p.Backend != negotiate.BackendSHM {
		t.Errorf("the other's path %+v", p)
	}
}

// publishing waits for the first frame.
func publishing(t *testing.T, d *Daemon) {
	t.Helper()
	c := d.camera("test")
	if err := eventually(func() bool { return len(c.all()) == 1 && c.all()[0].status().Published > 0 }); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(ok func() bool) error {
	look := time.NewTicker(time.Millisecond) // not without a pause: who is waited for needs the processor
	defer look.Stop()
	for end := time.Now().Add(deadline); !ok(); <-look.C {
		if time.Now().After(end) {
			return errors.New("not within the time")
		}
	}
	return nil
}
