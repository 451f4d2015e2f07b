// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// floorFD is the descriptor of the floor's memory in the processes of a sweep.
const floorFD = 3

// part is what a process of a sweep has to do. It gets it as a line of JSON on
// stdin, and works until stdin ends.
type part struct {
	Publish bool              `json:"publish"` // else it consumes
	Backend negotiate.Backend `json:"backend"`
	Size    int               `json:"size"`
	Spacing time.Duration     `json:"spacing"`
	Dir     string            `json:"dir,omitempty"`     // of the daemon
	Address string            `json:"address,omitempty"` // of the floor by TCP
	Connect []string          `json:"connect,omitempty"` // endpoints of Zenoh routers
	Upload  Upload            `json:"upload,omitempty"`
	Library string            `json:"cuda_library,omitempty"`
	Device  string            `json:"cuda_device,omitempty"`

	Name       string        `json:"name,omitempty"`
	Samples    int           `json:"samples,omitempty"`
	Warmup     int           `json:"warmup,omitempty"`
	Touch      bool          `json:"touch,omitempty"`
	Publisher  int           `json:"publisher,omitempty"` // process
	Timeout    time.Duration `json:"timeout,omitempty"`
	LoadPeriod time.Duration `json:"load_period,omitempty"`
	LoadWindow int           `json:"load_window,omitempty"`
}

// hello is the line of a publisher once it can be reached.
type hello struct {
	Address string `json:"address,omitempty"`
	Error   string `json:"error,omitempty"`
}

// answer is what a consumer writes at its end, encoded by gob.
type answer struct {
	Result *Result
	Error  string
}

// ServePart is a process of a sweep: it reads what to do from in, works until in
// ends, and writes what came out.
func ServePart(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("this command is for camsub sweep alone: %w", err)
	}
	var p part
	if err := json.Unmarshal(line, &p); err != nil {
		return fmt.Errorf("this command is for camsub sweep alone: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the process at the latest
		_, _ = io.Copy(io.Discard, lines)
		cancel()
	}()
	if p.Publish {
		return p.publish(ctx, out)
	}
	return p.consume(ctx, out)
}

func (p part) publish(ctx context.Context, out io.Writer) error {
	said := false
	say := func(h hello) {
		said = true
		_ = json.NewEncoder(out).Encode(h) // who does not hear it ends stdin
	}
	ready := func(address string) { say(hello{Address: address}) }
	var err error
	switch p.Backend {
	case FloorSHM:
		var data []byte
		if data, err = mapFloor(floorFD, p.Size); err == nil {
			ready("")
			err = publishFloorSHM(ctx, data, p.Size, p.Spacing)
		}
	case FloorTCP:
		err = publishFloorTCP(ctx, p.Size, p.Spacing, ready)
	default:
		err = p.publishCamd(ctx, ready)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil && !said {
		say(hello{Error: err.Error()})
	}
	return err
}

func (p part) consume(ctx context.Context, out io.Writer) error {
	w := RealWorld()
	switch p.Backend {
	case FloorSHM:
		w = floorWorld(func(context.Context) (Subscription, error) {
			data, err := mapFloor(floorFD, p.Size)
			if err != nil {
				return nil, err
			}
			return openFloorSHM(data, p.Size)
		})
	case FloorTCP:
		w = floorWorld(func(ctx context.Context) (Subscription, error) { return openFloorTCP(ctx, p.Address, p.Size) })
	}
	accelerator := &Accelerator{Library: p.Library, Device: p.Device, Log: slog.New(slog.DiscardHandler)}
	defer accelerator.Close()
	if !isFloor(p.Backend) {
		w = accelerator.World(w)
	}
	phase := Phase{
		Name: p.Name, Stream: SweepStream, Backend: p.Backend, Samples: p.Samples, Warmup: p.Warmup, Touch: p.Touch,
		PublisherPID: p.Publisher, Timeout: p.Timeout, LoadPeriod: p.LoadPeriod, LoadWindow: p.LoadWindow, Upload: p.Upload,
		Options: []client.Option{
			client.WithRuntimeDir(p.Dir), client.WithCredit(p.credit()), client.WithName("camsub sweep"),
			client.WithLogger(slog.New(slog.DiscardHandler)),
		},
	}
	if p.Backend == negotiate.BackendCPU {
		c, err := p.zenoh()
		if err != nil {
			return err
		}
		phase.Options = append(phase.Options, client.WithZenoh(c), client.WithDomain(sweepDomain))
		w = patient(w)
	}
	r, err := phase.Run(ctx, w)
	a := answer{Result: r}
	if err != nil {
		a.Error = err.Error()
	}
	r.Size, r.Floor = p.Size, isFloor(p.Backend)
	return errors.Join(gob.NewEncoder(out).Encode(a), err)
}

// Bounds of the wait for a publisher that has to find its router first.
const (
	patience = 10 * time.Second
	tryEvery = 100 * time.Millisecond
)

// patient is a world whose streams may take a while to be there.
func patient(w World) World {
	w.Subscribe, w.SubscribeOnGPU = patiently(w.Subscribe), patiently(w.SubscribeOnGPU)
	return w
}

type subscribeFunc = func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error)

func patiently(subscribe subscribeFunc) subscribeFunc {
	return func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error) {
		for deadline := time.Now().Add(patience); ; {
			s, err := subscribe(ctx, stream, events, opts...)
			passes := errors.Is(err, client.ErrNotAvailable) || errors.Is(err, client.ErrUnknownStream)
			if !passes || errors.Is(err, client.ErrNoRouter) || time.Now().After(deadline) {
				return s, err
			}
			select {
			case <-time.After(tryEvery):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// credit is how many frames the consumer may hold: one that the GPU is not known
// to be done with is one.
func (p part) credit() int {
	if p.Backend == negotiate.BackendCUDA || p.Upload != UploadNever {
		return client.DefaultCredit
	}
	return 1
}
