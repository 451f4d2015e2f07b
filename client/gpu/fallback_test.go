// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The simulated driver is of one kind in each process: other kinds are tried in
// processes of their own, which are this program with these variables set.
const (
	helperVariable  = "CAMD_TEST_GPU_HELPER" // runtime directory of the daemon
	deviceVariable  = "CAMD_TEST_GPU_DEVICE"
	requireVariable = "CAMD_TEST_GPU_REQUIRE"
	writeVariable   = "CAMD_TEST_GPU_WRITE" // work on the GPU writes to the frame
)

// helperResult is what such a process says of one frame.
type helperResult struct {
	PID      int
	Opened   string // why there is no GPU
	Refused  string // why there is no subscription
	Path     client.Path
	Whole    bool
	Lost     bool             // the GPU failed when the frame was read
	Told     negotiate.Reason // to daemons from then on
	Sequence uint64
}

// helperMain subscribes, takes a frame and says how that went.
func helperMain() int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := helperResult{PID: os.Getpid()}
	err := helper(ctx, &r)
	if encoded := json.NewEncoder(os.Stdout).Encode(r); err != nil || encoded != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, encoded))
		return 1
	}
	return 0
}

// reader is what the helper uses of either subscription.
type reader interface {
	Path() client.Path
	Close() error
}

func helper(ctx context.Context, r *helperResult) (err error) {
	opts := []client.Option{
		client.WithRuntimeDir(os.Getenv(helperVariable)), client.WithLogger(silent()),
		client.WithAccept(cuda, shm), client.WithRequire(negotiate.Backend(os.Getenv(requireVariable))),
	}
	var sub reader
	var take func() (client.Frame, func([]byte) (int, error), func(), error)
	dev, openErr := Open(WithDevice(os.Getenv(deviceVariable)), WithLogger(silent())) // the library by $CAMD_CUDA_LIBRARY
	if openErr != nil {
		r.Opened = openErr.Error()
		s, err := client.Subscribe(ctx, "test/color", append(opts, client.WithDevice(Unavailable(openErr)))...)
		if err != nil {
			r.Refused = err.Error()
			return nil
		}
		sub = s
		take = func() (client.Frame, func([]byte) (int, error), func(), error) {
			f, err := s.Next(ctx)
			return f, func(dst []byte) (int, error) { return copy(dst, f.Data()), f.Valid() }, f.Release, err
		}
	} else {
		defer func() {
			if closed := dev.Close(); !errors.Is(closed, ErrLost) {
				err = errors.Join(err, closed)
			}
		}()
		s, err := dev.Subscribe(ctx, "test/color", opts...)
		if err != nil {
			r.Refused = err.Error()
			return nil
		}
		sub = s
		if os.Getenv(afterwardsVariable) != "" {
			return errors.Join(goOn(ctx, r, dev, s), notLost(s.Close()))
		}
		take = func() (client.Frame, func([]byte) (int, error), func(), error) {
			f, err := s.Next(ctx)
			if err == nil && os.Getenv(writeVariable) != "" {
				err = overwrite(dev, f)
			}
			return f.Frame, f.CopyToHost, func() { _ = f.Release() }, err
		}
	}
	defer func() {
		if closed := sub.Close(); !errors.Is(closed, ErrLost) {
			err = errors.Join(err, closed)
		}
	}()
	r.Path = sub.Path()
	f, read, release, err := take()
	if err != nil {
		return err
	}
	defer release()
	dst := make([]byte, testWidth*testHeight)
	n, err := read(dst)
	r.Sequence = f.Meta().Sequence
	r.Whole = n == len(dst) && bytes.Equal(dst, bytes.Repeat([]byte{byte(r.Sequence)}, n))
	if r.Lost = errors.Is(err, ErrLost); r.Lost {
		var h negotiate.Hello
		dev.Hello(&h)
		r.Told = h.DeviceReason
		return nil
	}
	return err
}

// overwrite has work write to a frame, and waits for that.
func overwrite(dev *Device, f Frame) error {
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	v, err := f.OnDevice(s)
	if err != nil {
		return err
	}
	if err := dev.Do(func(t *driver.Thread) error { return t.Memset8(v.Ptr, 0, int64(v.Bytes), s) }); err != nil {
		return err
	}
	if err := dev.Synchronize(s); !errors.Is(err, ErrLost) {
		return err // reading the frame shows it, too
	}
	return nil
}

// A process takes the best path that it can, and says why not a better one.
func TestFallBack(t *testing.T) {
	for name, tc := range map[string]struct {
		options sim.Options
		env     []string
		old     bool   // the library lacks what is new
		allowed string // rule that the fault itself breaks
		want    negotiate.Reason
	}{
		"the same GPU":              {options: sim.Options{Profile: "two-gpus"}},
		"the GPUs in another order": {options: sim.Options{Profile: "two-gpus", Devices: "1,0"}},
		"chosen by UUID":            {options: sim.Options{Profile: "two-gpus"}, env: []string{deviceVariable + "=" + sim.UUID(1)}},
		"delays":                    {options: sim.Options{Profile: "two-gpus", Delay: sim.Hold}},
		"cannot map for reading":    {options: sim.Options{Profile: "two-gpus", Fail: "cuMemSetAccess:1:801"}},
		"sees another GPU":          {options: sim.Options{Profile: "discrete"}, want: negotiate.ReasonDifferentGPU},
		"wants another GPU":         {options: sim.Options{Profile: "two-gpus"}, env: []string{deviceVariable + "=0"}, want: negotiate.ReasonDifferentGPU},
		"wants a GPU that is not there": {
			options: sim.Options{Profile: "two-gpus"}, env: []string{deviceVariable + "=7"}, want: negotiate.ReasonDifferentGPU,
		},
		"no GPU":      {options: sim.Options{Profile: "no-driver"}, want: negotiate.ReasonNoDriver},
		"no library":  {env: []string{EnvLibrary + "=/nonexistent/libcuda.so.1"}, want: negotiate.ReasonNoDriver},
		"mismatch":    {options: sim.Options{Profile: "mismatch"}, want: negotiate.ReasonDriverMismatch},
		"stub":        {options: sim.Options{Profile: "stub"}, want: negotiate.ReasonNoDriver},
		"not ready":   {options: sim.Options{Profile: "not-ready"}, want: negotiate.ReasonNoDriver},
		"no VMM":      {options: sim.Options{Profile: "two-gpus", NoVMM: true}, want: negotiate.ReasonVMMUnsupported},
		"old library": {options: sim.Options{Profile: "two-gpus"}, old: true, want: negotiate.ReasonVMMUnsupported},
		"no room":     {options: sim.Options{Profile: "two-gpus", Fail: "cuMemMap:0:2"}, want: negotiate.ReasonLimit},
		"exclusive to another": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuDevicePrimaryCtxRetain:0:46"}, want: negotiate.ReasonLimit,
		},
		"no import": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuMemImportFromShareableHandle:0:999"}, want: negotiate.ReasonGPUError,
		},
		"the context hangs": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuDevicePrimaryCtxRetain:1:-60"}, want: negotiate.ReasonGPUTimeout,
		},
		"mapping hangs": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuMemMap:1:-60"}, want: negotiate.ReasonGPUTimeout,
		},
		"lost at the first copy": {
			options: sim.Options{Profile: "two-gpus", Fail: "op:1:719"}, want: negotiate.ReasonGPULost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules(t, tc.allowed)
			library := sim.Build(t)
			if tc.old {
				library = sim.BuildOld(t)
			}
			d := newDaemon(t, cuda, shm)
			tc.options.Dir = simDir
			env, _ := sim.Env(t, tc.options)
			env = append([]string{EnvLibrary + "=" + library, helperVariable + "=" + d.dir}, append(env, tc.env...)...)
			r := run(t, d, env)
			if tc.want == negotiate.ReasonGPUTimeout {
				excepted = append(excepted, r.PID)
			}
			if tc.want == "" {
				if r.Path.Backend != cuda || r.Path.GPU != sim.UUID(1) || r.Path.GPUName == "" || len(r.Path.Rejected) != 0 {
					t.Errorf("path %+v", r.Path)
				}
			} else if r.Path.Backend != shm || len(r.Path.Rejected) != 1 || r.Path.Rejected[0].Reason != tc.want || r.Path.Rejected[0].Detail == "" {
				t.Errorf("path %+v, want shm because of %s", r.Path, tc.want)
			}
			if !r.Whole || r.Sequence != d.sequence {
				t.Errorf("frame %d is not whole", r.Sequence)
			}
			// A daemon hears the reason before it offers anything.
			if h := <-d.hellos; (h.DeviceReason != "") != (r.Opened != "") || h.DeviceReason != "" && h.DeviceReason != tc.want {
				t.Errorf("hello says %s: %s", h.DeviceReason, h.DeviceDetail)
			}
		})
	}
}

// A GPU that fails below a frame is said, and what there is ends.
func TestLost(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	env, _ := sim.Env(t, sim.Options{Dir: simDir, Profile: "two-gpus", Fail: "op:2:719"}) // the first one is the probe
	env = append(env, EnvLibrary+"="+sim.Build(t), helperVariable+"="+d.dir)
	r := run(t, d, env)
	excepted = append(excepted, r.PID)
	if r.Path.Backend != cuda || !r.Lost || r.Told != negotiate.ReasonGPULost {
		t.Errorf("got %+v", r)
	}
}

// A required GPU that cannot be had is an error that says why.
func TestRequired(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	env, _ := sim.Env(t, sim.Options{Dir: simDir, Profile: "mismatch"})
	env = append(env, EnvLibrary+"="+sim.Build(t), helperVariable+"="+d.dir, requireVariable+"=cuda")
	if r := run(t, d, env); r.Refused == "" || r.Opened == "" || !bytes.Contains([]byte(r.Refused), []byte(negotiate.ReasonDriverMismatch)) {
		t.Errorf("got %+v", r)
	}
}

// run runs the helper and gives it a frame each time that it subscribes.
func run(t *testing.T, d *daemon, env []string) (r helperResult) {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out := &bytes.Buffer{}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	var err error
	for running := true; running; {
		select {
		case <-d.begun:
			d.publish()
		case err = <-over:
			running = false
		}
	}
	if err != nil {
		t.Fatalf("helper: %v", err)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return r
}

// reasons that come out of no driver at hand.
func TestReasons(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want negotiate.Reason
	}{
		{fmt.Errorf("wrapped: %w", because(negotiate.ReasonPolicy, "x")), negotiate.ReasonPolicy},
		{fmt.Errorf("%w: %w", ErrUnavailable, driver.ErrTooOld), negotiate.ReasonDriverMismatch},
		{fmt.Errorf("%w: %w", ErrUnavailable, driver.ErrTimeout), negotiate.ReasonGPUTimeout},
		{ErrLost, negotiate.ReasonGPULost},
		{ErrOutOfMemory, negotiate.ReasonLimit},
		{errors.New("anything"), negotiate.ReasonGPUError},
	} {
		if got := reasonOf(tc.err); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}
