// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// EnvLibrary names the driver's library where WithLibrary does not: a file or
// its folder.
const EnvLibrary = "CAMD_CUDA_LIBRARY"

type options struct {
	library string
	device  string
	log     *slog.Logger
}

// Option changes how Open works.
type Option func(*options)

// WithLibrary opens this file, or libcuda.so.1 in this folder, as the driver's
// library. Default: $CAMD_CUDA_LIBRARY, else libcuda.so.1 where the system has
// it.
func WithLibrary(path string) Option { return func(o *options) { o.library = path } }

// WithDevice uses this GPU: a UUID as nvidia-smi -L prints it, or its number
// among those that the process sees. Default: the GPU on which the daemon has
// frames by cuda, or the first one if none has come before memory, a stream or an
// upload is needed. Where there are several, and the first frames may come by
// another path, only this option is sure.
func WithDevice(which string) Option { return func(o *options) { o.device = which } }

// WithLogger sets where misuse and failures are logged. Default: slog.Default().
func WithLogger(l *slog.Logger) Option {
	return func(o *options) {
		if l != nil {
			o.log = l
		}
	}
}

// Open opens the driver and looks which GPUs there are, which can take a second.
// None is used before it is needed. It fails with ErrUnavailable, and with
// ErrNoSuchDevice if WithDevice means none of them; [Unavailable] makes
// something of that error with which a program can go on.
func Open(opts ...Option) (*Device, error) { return OpenContext(context.Background(), opts...) }

// OpenContext is Open that gives up when ctx ends, with its error. A driver that
// does not answer for ten seconds is given up by both, with ErrUnavailable and
// driver.ErrTimeout.
func OpenContext(ctx context.Context, opts ...Option) (*Device, error) {
	o := options{log: slog.Default()}
	for _, f := range opts {
		if f != nil {
			f(&o)
		}
	}
	type opened struct {
		device *Device
		err    error
	}
	over := make(chan opened, 1)
	go func() {
		d, err := open(o)
		over <- opened{d, err}
	}()
	late := time.NewTimer(openLimit)
	defer late.Stop()
	select {
	case r := <-over:
		return r.device, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late.C:
		return nil, fmt.Errorf("%w: %w for %v", ErrUnavailable, driver.ErrTimeout, openLimit)
	}
}

func open(o options) (*Device, error) {
	drv, err := driver.Open(cmp.Or(o.library, os.Getenv(EnvLibrary)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	visible, err := drv.Devices()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	d := &Device{driver: drv, visible: visible, log: o.log}
	if o.device != "" {
		dev, err := driver.Find(visible, o.device)
		if err != nil {
			return nil, err
		}
		d.visible = []driver.Device{dev}
	}
	return d, nil
}

// Unavailable is for programs that go on without a GPU: frames come by another
// path, and the daemon and the subscription's Path say why not by cuda, which is
// err, an error of Open.
func Unavailable(err error) client.DeviceImporter { return unavailable{err} }

type unavailable struct{ err error }

func (u unavailable) Hello(h *negotiate.Hello) {
	h.DeviceReason, h.DeviceDetail = reasonOf(u.err), u.err.Error()
}

func (u unavailable) Import(*negotiate.Device, int) (client.DeviceMemory, error) {
	return nil, &Error{reasonOf(u.err), u.err}
}
