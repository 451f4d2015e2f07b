// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// How long the driver may take for what it does once. A daemon gives up an offer
// after two seconds; a context that comes late is there for the next one.
const (
	openLimit   = 10 * time.Second        // to begin at all
	startLimit  = 10 * time.Second        // to make a context
	answerLimit = 1500 * time.Millisecond // for what an offer waits for
)

// begin is a context that is being made.
type begin struct {
	dev   driver.Device
	early bool // no frames said which GPU it is
	done  chan struct{}
	late  bool  // somebody waited in vain; guarded by the device's mutex
	err   error // read after done
}

// start returns the engine of the first GPU that fits, which is started if it is
// needed first now. fits nil: any. It fails with driver.ErrTimeout if that takes
// longer than limit.
func (d *Device) start(limit time.Duration, fits func(driver.Device) bool) (*engine, error) {
	e, b, err := d.starting(fits)
	if e != nil || err != nil {
		return e, err
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-b.done:
	case <-late.C:
		d.mu.Lock()
		b.late = true
		d.mu.Unlock()
		return nil, b.timeout()
	}
	if b.err != nil {
		return nil, b.err
	}
	e, _, err = d.starting(fits)
	return e, err
}

func (b *begin) timeout() error {
	return fmt.Errorf("%w: the context of %s is not there yet", driver.ErrTimeout, b.dev.Name)
}

// starting returns the engine if there is one, else what makes it.
func (d *Device) starting(fits func(driver.Device) bool) (*engine, *begin, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, ErrClosed
	}
	if e := d.engine; e != nil {
		if fits != nil && !fits(e.dev) {
			return nil, nil, otherGPU(e.dev, e.early)
		}
		if err := e.failed(); err != nil {
			return nil, nil, err
		}
		return e, nil, nil
	}
	if b := d.begins; b != nil {
		if b.late {
			return nil, nil, b.timeout()
		}
		if fits == nil || fits(b.dev) {
			return nil, b, nil
		}
		return nil, nil, otherGPU(b.dev, b.early)
	}
	i := 0
	if fits != nil {
		if i = slices.IndexFunc(d.visible, fits); i < 0 {
			return nil, nil, fmt.Errorf("%w: the program sees %s", ErrOtherGPU, d.list())
		}
	}
	b := &begin{dev: d.visible[i], early: fits == nil && len(d.visible) > 1, done: make(chan struct{})}
	d.begins = b
	go func() {
		e, err := d.newEngine(b.dev, b.early)
		d.mu.Lock()
		d.begins = nil
		closed := d.closed
		if err == nil && !closed {
			d.engine = e
		}
		b.err = err
		d.mu.Unlock()
		if err == nil && closed {
			_ = e.close()
		}
		close(b.done)
	}()
	return nil, b, nil
}

// otherGPU is why frames on another GPU than dev do not come by cuda.
func otherGPU(dev driver.Device, early bool) error {
	why := ""
	if early {
		why = ", for streams, memory or uploads that it wanted before frames by cuda came; gpu.WithDevice names another"
	}
	return fmt.Errorf("%w: the program uses %s (%s)%s", ErrOtherGPU, dev.UUID, dev.Name, why)
}

// newEngine starts what a GPU in use takes.
func (d *Device) newEngine(dev driver.Device, early bool) (*engine, error) {
	e := &engine{dev: dev, early: early, log: d.log, gone: make(chan struct{})}
	var err error
	if e.submit, err = d.driver.Start(dev, "camd-gpu"); err != nil {
		return nil, err
	}
	if e.watch, err = d.driver.Start(dev, "camd-gpu-wait"); err != nil {
		return nil, errors.Join(err, e.submit.Close())
	}
	err = e.submit.Do(func() (err error) {
		e.side, err = e.submit.NewStream(0)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// close ends the threads, with which the context goes. A driver that hangs is not
// waited for.
func (e *engine) close() error {
	over := make(chan error, 1)
	go func() { over <- errors.Join(e.watch.Close(), e.submit.Close()) }()
	late := time.NewTimer(cudabuf.CallLimit)
	defer late.Stop()
	select {
	case err := <-over:
		return err
	case <-late.C:
		return fmt.Errorf("%w: the context of %s is not let go of", driver.ErrTimeout, e.dev.Name)
	}
}
