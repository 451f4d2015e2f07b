// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/nvml"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Upload is whether frames are usable only when they are in memory of the
// subscriber's GPU, by whatever backend they came.
type Upload uint8

// What phases may ask for. The backend cuda is measured on the GPU always.
const (
	UploadNever  Upload = iota
	UploadIfCan         // to host memory where there is no GPU, which is said
	UploadAlways        // where there is no GPU there is no phase
)

// GPUInfo is the GPU by which a phase measured.
type GPUInfo struct {
	Name, UUID string
	Driver     string // of the management library, "" = not told
	CUDA       string // that the driver speaks, "13.0"
}

// Simulated reports whether it is no GPU at all.
func (i *GPUInfo) Simulated() bool { return i != nil && strings.Contains(i.Name, "SIMULATED") }

func (i *GPUInfo) String() string { return fmt.Sprintf("%s (%s)", i.Name, i.UUID) }

// Accelerator is how a process uses a GPU for its phases. Each subscription opens
// the driver, uses a GPU while it lasts, and leaves nothing.
type Accelerator struct {
	Library string // of the driver; "" = $CAMD_CUDA_LIBRARY or the usual place
	Device  string // UUID or number; "" = the daemon's, or the first
	Log     *slog.Logger

	mu         sync.Mutex
	management *nvml.Library
	told       bool // the management library was asked for
	meter      *nvml.GPU
}

// Close ends the use of the management library.
func (a *Accelerator) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.management == nil {
		return nil
	}
	l := a.management
	a.management, a.meter = nil, nil
	return l.Close()
}

// World is w with a GPU.
func (a *Accelerator) World(w World) World {
	w.SubscribeOnGPU = a.subscribe
	usage := w.Usage
	w.Usage = func(publisher int) Usage {
		u := usage(publisher)
		u.GPU = a.load()
		return u
	}
	return w
}

// load is what the management library tells of the GPU in use.
func (a *Accelerator) load() GPUUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.meter == nil {
		return GPUUsage{}
	}
	l, err := a.meter.Load()
	if err != nil {
		return GPUUsage{}
	}
	return GPUUsage{Told: true, Load: int64(l.GPU) * 100, Memory: l.Used >> 10}
}

// watch has load tell of this GPU, and returns the driver's version.
func (a *Accelerator) watch(uuid string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.told {
		a.told = true
		l, err := nvml.Open("")
		if err != nil {
			a.Log.Info("the load of the GPU is not told", "err", err)
			return ""
		}
		a.management = l
	}
	a.meter = nil
	id, err := driver.ParseUUID(uuid)
	if err != nil || a.management == nil {
		return ""
	}
	if a.meter, err = a.management.GPU(id); err != nil {
		a.Log.Info("the load of the GPU is not told", "err", err)
		return "" // it is of another driver than the one that is used
	}
	version, err := a.management.DriverVersion()
	if err != nil {
		return ""
	}
	return version
}

// subscribe implements World.SubscribeOnGPU.
func (a *Accelerator) subscribe(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error) {
	dev, err := gpu.Open(gpu.WithLibrary(a.Library), gpu.WithDevice(a.Device), gpu.WithLogger(a.Log))
	if err != nil {
		s, subErr := client.Subscribe(ctx, stream, append(opts, client.WithEvents(events), client.WithDevice(gpu.Unavailable(err)))...)
		if subErr != nil {
			return nil, subErr
		}
		return &hostSubscription{subscription{Subscription: s}, err}, nil
	}
	sub, err := dev.Subscribe(ctx, stream, append(opts, client.WithEvents(events))...)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	s := &gpuSubscription{Subscription: sub}
	s.box.sub = s
	s.waiting, s.copying, s.fetching = s.wait, s.copy, s.fetch
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	var hello negotiate.Hello
	dev.Hello(&hello)
	s.info = GPUInfo{
		Name: dev.Name(), UUID: dev.UUID(), Driver: a.watch(dev.UUID()),
		CUDA: fmt.Sprintf("%d.%d", hello.Driver/1000, hello.Driver%1000/10),
	}
	return s, nil
}

// subscribe opens the subscription of a phase and notes where frames end.
func (p Phase) subscribe(ctx context.Context, w World, r *Result, events func(client.Event)) (Subscription, error) {
	opts := append(append([]client.Option{}, p.Options...), client.WithAccept(p.Backend))
	onGPU := p.Backend == negotiate.BackendCUDA || p.Upload != UploadNever
	if !onGPU || w.SubscribeOnGPU == nil {
		return w.Subscribe(ctx, p.Stream, events, opts...)
	}
	if p.Backend == negotiate.BackendCUDA {
		opts = append(opts, client.WithRequire(p.Backend)) // to accept it is to accept cpu, too
	}
	sub, err := w.SubscribeOnGPU(ctx, p.Stream, events, opts...)
	if err != nil {
		return nil, err
	}
	switch s := sub.(type) {
	case *gpuSubscription:
		r.GPU = &s.info
	case *hostSubscription:
		r.NoGPU = s.why.Error()
		if p.Upload == UploadAlways {
			return nil, errors.Join(fmt.Errorf("%w: upload: %w", client.ErrNotAvailable, s.why), s.Close())
		}
	}
	return sub, nil
}
