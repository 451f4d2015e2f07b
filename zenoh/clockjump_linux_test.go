// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// jump sets the wall clock of the whole machine on or back.
func jump(t *testing.T, d time.Duration) {
	t.Helper()
	before := time.Now()
	ts := unix.NsecToTimespec(before.Add(d).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	wall, real := after.Round(0).Sub(before.Round(0)), after.Sub(before)
	if off := wall - real - d; off.Abs() > time.Second || real > time.Minute {
		t.Fatalf("the wall clock went on by %v in %v, want a jump of %v", wall, real, d)
	}
	t.Logf("the wall clock is now %v", after)
}

// alive is a node that keeps its connection, and counts what keeps ours.
type alive struct {
	n       *fakenode.Node
	count   atomic.Int64
	quiet   chan struct{} // closed: it says nothing more
	running sync.WaitGroup
}

func keepAlive(n *fakenode.Node, every time.Duration) *alive {
	a := &alive{n: n, quiet: make(chan struct{})}
	a.running.Add(2)
	go func() {
		defer a.running.Done()
		for {
			g, err := n.Next()
			if err != nil {
				_ = n.Close()
				return
			}
			if g.KeepAlive {
				a.count.Add(1)
			}
		}
	}()
	go func() {
		defer a.running.Done()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-a.quiet:
				return
			case <-tick.C:
			}
			if n.Send([]byte{0x04}) != nil {
				<-a.quiet
				return
			}
		}
	}()
	return a
}

// wait waits for more keep-alives of the session.
func (a *alive) wait(t *testing.T, more int64) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	from, limit := a.count.Load(), bounded(t)
	for a.count.Load() < from+more {
		select {
		case <-look.C:
		case <-limit.Done():
			t.Fatalf("%d of %d keep-alives", a.count.Load()-from, more)
		}
	}
}

// The wall clock jumps by hours, on and back: leases, keep-alives, time-outs
// and pauses take no notice, and stamps still never go back. It needs a machine
// of its own, that of e2e/vm.
func TestClockJumps(t *testing.T) {
	if os.Getenv("CAMD_MAY_SET_CLOCK") == "" {
		t.Skip("it sets the wall clock of the machine; CAMD_MAY_SET_CLOCK is not set")
	}
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const lease, times = 2 * time.Second, 4
	l.Open.LeaseMillis = uint64(lease / time.Millisecond)
	accepted := make(chan *alive)
	accept := func() {
		n, err := l.Accept()
		if err != nil {
			t.Error(err)
			close(accepted)
			return
		}
		accepted <- keepAlive(n, lease/times)
	}
	c := config.Client(l.Endpoint())
	c.Transport.Lease, c.Transport.KeepAlive = lease, times
	c.Connect.RetryInit, c.Connect.RetryMax = 100*time.Millisecond, 100*time.Millisecond
	go accept()
	s, err := Open(bounded(t), c, silent())
	if err != nil {
		t.Fatal(err)
	}
	a := <-accepted
	r, err := s.Get(t.Context(), "nobody/answers", &GetOptions{Timeout: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour} {
		last := s.Timestamp()
		jump(t, d)
		for range 100 {
			stamp := s.Timestamp()
			if !last.Before(stamp) {
				t.Fatalf("after a jump by %v: stamp %v after %v", d, stamp, last)
			}
			last = stamp
		}
		a.wait(t, 2*times) // two leases
		if i := s.Info(); i.Losses != 0 {
			t.Fatalf("after a jump by %v the connection was lost: %v", d, i.LastErr)
		}
		select {
		case <-r.Done():
			t.Fatalf("after a jump by %v the query ended: %v", d, r.Err())
		default:
		}
	}

	// The connection ends while the clock goes back: the next is made after the
	// pause, not after the hour.
	jump(t, -time.Hour)
	go accept()
	_ = a.n.Close()
	close(a.quiet)
	a.running.Wait()
	if a = <-accepted; a == nil {
		t.FailNow()
	}
	if err := s.WaitConnected(bounded(t)); err != nil {
		t.Fatal(err)
	}

	// A node that says nothing is given up after its lease, not after the hour.
	close(a.quiet)
	jump(t, -time.Hour)
	lost := a
	go accept()
	if a = <-accepted; a == nil {
		t.FailNow()
	}
	if err := s.WaitConnected(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if i := s.Info(); i.Losses != 2 || !errors.Is(i.LastErr, transport.ErrExpired) {
		t.Errorf("%d connections were lost, the last by %v, want 2 and an expired lease", i.Losses, i.LastErr)
	}
	jump(t, 2*time.Hour)
	if err := s.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	close(a.quiet)
	_, _ = lost.n.Close(), a.n.Close()
	lost.running.Wait()
	a.running.Wait()
}
