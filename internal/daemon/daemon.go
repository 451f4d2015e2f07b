// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

var (
	// ErrDuplicate: two cameras of one name.
	ErrDuplicate = errors.New("camera name used twice")
	// ErrUnknownCamera: there is no camera of that name.
	ErrUnknownCamera = errors.New("unknown camera")
	// ErrNotRunning: the daemon has not started or is ending.
	ErrNotRunning = errors.New("camd is not running")
	// ErrLimits: the process may not use as many files as it needs.
	ErrLimits = errors.New("limits of the process are too low")
)

// Daemon owns the cameras of a host. Set the exported fields, then call Run.
type Daemon struct {
	Dir     string         // runtime directory
	Cameras []capture.Spec // at start
	Policy  negotiate.Policy
	Version string
	Log     *slog.Logger
	// Sources makes the source of each camera; nil = kinds.New. Benchmarks and
	// tests put their own in.
	Sources func(capture.Spec) (capture.Source, error)
	// Network, if set, has streams published over Zenoh as well.
	Network *Network
	// GPU, if set, has frames offered in memory of a GPU as well.
	GPU *GPU
	// Ready, if set, is called once the socket answers.
	Ready func(dir string)

	files      int64 // limit on open files, 0 = that of the process; for tests
	log        *slog.Logger
	session    frame.Session
	host       string
	started    time.Time
	quarantine negotiate.Quarantine
	server     *server
	engine     *cuda.Engine // nil: no GPU is used
	network    *network     // nil: without
	announcer  *announcer   // nil: without

	mu      sync.Mutex
	ctx     context.Context // of Run; cameras added later live as long
	cameras []*camera
	epochs  map[string]uint64 // last one by stream, also of cameras that were removed
	running sync.WaitGroup
	ended   chan struct{} // capacity 1: a camera is over
}

// Run serves until ctx is done, which is a clean end (nil), or until no camera
// can deliver any more. It fails with the error of a camera that is required
// (or the only one) and missing at start, capture.ErrConfig, ErrDuplicate,
// ErrLimits or what negotiate.Listen says.
func (d *Daemon) Run(ctx context.Context) error {
	d.log = d.Log
	if d.log == nil {
		d.log = slog.Default()
	}
	rand.Read(d.session[:]) // never fails (crypto/rand)
	d.host, _ = os.Hostname()
	d.started = time.Now()
	d.ended = make(chan struct{}, 1)
	d.epochs = make(map[string]uint64)
	d.openGPU()
	if d.Network != nil {
		d.network = newNetwork(*d.Network, d.log)
		d.announcer = newAnnouncer(d, d.Network.Access, d.log)
	}

	cameras, err := d.build()
	if err != nil {
		return err
	}
	if err := checkFiles(cameras, d.fileLimit()); err != nil {
		return err
	}
	listener, err := negotiate.Listen(d.Dir)
	if err != nil {
		return err
	}
	if len(d.Policy.AllowUIDs) > 0 {
		// Other users can connect then; whom the daemon serves is decided by
		// what the kernel says about them, not by the mode of the socket.
		if err := os.Chmod(listener.Path(), 0o666); err != nil {
			return errors.Join(fmt.Errorf("opening the socket to other users: %w", err), listener.Close())
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.server = newServer(d, listener)
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
	if d.network != nil {
		go d.network.run(ctx)
		defer d.network.close()
		d.running.Go(func() { d.announcer.run(ctx) })
		if d.network.Diagnostics {
			d.running.Go(func() { (&diagnostics{d: d}).run(ctx) })
		}
	}
	for _, c := range cameras {
		if d.start(c) != nil {
			break // ctx is done already
		}
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		d.server.run(ctx)
	}()
	d.gpuKnown()
	d.log.Info("camd running", "dir", listener.Dir(), "pid", os.Getpid(), "cameras", len(cameras), "version", d.Version, "session", d.session.String()[:8])
	if d.Ready != nil {
		d.Ready(listener.Dir())
	}
	err = d.wait(ctx)
	var why error
	if errors.Is(err, backend.ErrEnded) {
		why, err = err, nil
	}
	d.mu.Lock() // no camera starts after this
	cancel(why)
	d.mu.Unlock()
	d.running.Wait()
	<-served
	if err == nil {
		d.log.Info("camd stopped")
	}
	return err
}

func (d *Daemon) build() ([]*camera, error) {
	var out []*camera
	for _, spec := range d.Cameras {
		if slices.ContainsFunc(out, func(c *camera) bool { return c.spec.Name == spec.Name }) {
			return nil, fmt.Errorf("%w: %w: %s", capture.ErrConfig, ErrDuplicate, spec.Name)
		}
		c, err := newCamera(d, spec)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 1 {
		out[0].limits.required = true
	}
	return out, nil
}

func (d *Daemon) start(c *camera) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || d.ctx.Err() != nil {
		return ErrNotRunning
	}
	if slices.ContainsFunc(d.cameras, func(x *camera) bool { return x.spec.Name == c.spec.Name }) {
		return fmt.Errorf("%w: %s", ErrDuplicate, c.spec.Name)
	}
	d.cameras = append(d.cameras, c)
	c.life, c.cancel = context.WithCancelCause(d.ctx)
	d.running.Add(1)
	d.announcer.renew()
	go func() {
		defer d.running.Done()
		defer c.cancel(nil)
		c.run(c.life)
	}()
	return nil
}

// cameraEnded has wait look at what is left.
func (d *Daemon) cameraEnded() {
	select {
	case d.ended <- struct{}{}:
	default:
	}
}

// nextEpoch counts a stream's epochs for as long as the daemon runs, also
// through a camera that is removed and added again: session, epoch and sequence
// name one frame only.
func (d *Daemon) nextEpoch(stream string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epochs[stream]++
	return d.epochs[stream]
}

// Add starts a camera while the daemon runs. It fails with ErrNotRunning,
// ErrDuplicate, ErrLimits or capture.ErrConfig.
func (d *Daemon) Add(spec capture.Spec) error {
	d.mu.Lock()
	running := d.ctx != nil
	d.mu.Unlock()
	if !running {
		return ErrNotRunning
	}
	c, err := newCamera(d, spec)
	if err != nil {
		return err
	}
	if err := checkFiles(append(d.all(), c), d.fileLimit()); err != nil {
		return err
	}
	return d.start(c)
}

// Remove stops a camera, ends its subscriptions and waits for its source and
// memory. The daemon runs on, also without any camera.
func (d *Daemon) Remove(name string) error {
	c := d.camera(name)
	if c == nil {
		return fmt.Errorf("%w: %s", ErrUnknownCamera, name)
	}
	c.cancel(backend.ErrRemoved)
	<-c.done
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cameras = slices.DeleteFunc(d.cameras, func(x *camera) bool { return x == c })
	d.announcer.renew()
	return nil
}

func (d *Daemon) camera(name string) *camera {
	for _, c := range d.all() {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

func (d *Daemon) all() []*camera {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.cameras)
}

// wait returns nil after ctx, or when there is nothing left to do: because
// nothing more can come, then with backend.ErrEnded.
func (d *Daemon) wait(ctx context.Context) error {
	missing := make(chan error, 1)
	for _, c := range d.all() {
		if !c.limits.required {
			continue
		}
		go func() {
			select {
			case err := <-c.missing:
				select {
				case missing <- fmt.Errorf("camera %s: %w", c.spec.Name, err):
				default:
				}
			case <-c.life.Done():
			case <-c.ended:
			}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-missing:
			return err
		case <-d.ended:
			if over, err := d.over(); over {
				return err
			}
		}
	}
}

// over reports whether the daemon has to end, and why: a required camera
// failed, or every camera came to its end by itself.
func (d *Daemon) over() (bool, error) {
	var first error
	left, ended := 0, 0
	for _, c := range d.all() {
		select {
		case <-c.ended:
		default:
			left++
			continue
		}
		if c.life.Err() != nil {
			continue // it was removed
		}
		ended++
		if c.err == nil || errors.Is(c.err, capture.ErrEndOfStream) {
			continue
		}
		err := fmt.Errorf("camera %s: %w", c.spec.Name, c.err)
		if c.limits.required {
			return true, err
		}
		if first == nil {
			first = err
		}
	}
	if left > 0 || ended == 0 {
		return false, nil
	}
	d.log.Info("every camera has ended")
	if first == nil {
		first = backend.ErrEnded
	}
	return true, first
}
