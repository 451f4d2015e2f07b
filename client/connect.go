// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// epoch is one mapped ring. Its counters belong to the subscription's mutex.
type epoch struct {
	view    *ring.View
	device  DeviceMemory // where the pixels are, nil: in host memory
	pinned  io.Closer    // ends the registration of the host memory, nil: there is none
	conn    *negotiate.Conn
	tie     *tie // that of the connection
	session frame.Session
	info    negotiate.StreamInfo

	users   int  // frames held, and a waiting Next
	held    int  // frames held
	over    bool // replaced or disconnected: unmapped once nobody uses it
	evicted error
}

// connection is a subscription as it came out of the hand-shake.
type connection struct {
	dir   string
	conn  *negotiate.Conn
	tie   tie
	first *epoch
	path  Path
	pipe  *os.File // read end of the wake-up pipe, nil with futex
}

// errNotReady: the stream is known, its camera delivers nothing yet.
var errNotReady = errors.New("the camera delivers nothing yet")

// connect looks for the stream in every runtime directory and agrees on one of
// the paths accepted with the first daemon that has it.
func connect(ctx context.Context, o *options, accept []negotiate.Backend, stream string) (*connection, error) {
	var errs []dirError
	var unknown *RefusedError
	var other error
	for _, dir := range negotiate.ClientDirs(o.dir) {
		c, err := negotiate.Dial(ctx, dir)
		if err != nil {
			errs = append(errs, dirError{dir, err})
			continue
		}
		cn, err := subscribe(ctx, o, accept, dir, c, stream)
		if err == nil {
			return cn, nil
		}
		_ = c.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var r *RefusedError
		switch {
		case errors.Is(err, errNotReady):
			return nil, err
		case errors.As(err, &r) && errors.Is(err, ErrUnknownStream):
			if unknown == nil {
				unknown = r
			} else {
				unknown.Refusal.Known = append(unknown.Refusal.Known, r.Refusal.Known...)
			}
		case other == nil:
			other = err
		}
	}
	switch {
	case other != nil:
		return nil, other
	case unknown != nil:
		return nil, unknown
	}
	return nil, noDaemon(errs)
}

// subscribe is the hand-shake on one socket. On an error the caller closes it.
func subscribe(ctx context.Context, o *options, accept []negotiate.Backend, dir string, c *negotiate.Conn, stream string) (*connection, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	hello := &negotiate.Hello{
		Protocol: negotiate.Current(), Stream: stream, Accepts: accept, Require: o.require,
		Wake: o.wake, Credit: o.credit, Client: o.name, BootID: linux.BootID(),
	}
	o.helloDevice(hello)
	if err := ask(c, &negotiate.Message{Type: negotiate.TypeHello, Hello: hello}); err != nil {
		return nil, fmt.Errorf("subscribing to %s in %s: %w", stream, dir, err)
	}
	cn := &connection{dir: dir, conn: c}
	deadline := o.deadline(ctx) // for all of it: a daemon that only talks would keep us for ever
	for {
		m, files, err := c.Receive(deadline)
		done := false
		if err == nil {
			done, err = cn.step(o, stream, m, files)
			_ = files.Close()
		}
		if err != nil {
			cn.drop(o)
			return nil, handshakeError(stream, dir, err)
		}
		if done {
			return cn, nil
		}
	}
}

// handshakeError says what was going on, unless the daemon refused in its own
// words.
func handshakeError(stream, dir string, err error) error {
	var r *RefusedError
	if errors.As(err, &r) || errors.Is(err, errNotReady) {
		return err
	}
	if errors.Is(err, negotiate.ErrProtocol) && !errors.Is(err, ErrProtocol) {
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("subscribing to %s in %s: %w", stream, dir, err)
}

// step answers one message of the hand-shake; true ends it.
func (cn *connection) step(o *options, stream string, m *negotiate.Message, files negotiate.Files) (bool, error) {
	switch m.Type {
	case negotiate.TypeReject:
		// Also where a path comes back at once: the camera changes its format.
		if m.Reject.Reason == negotiate.ReasonNotReady || slices.ContainsFunc(m.Reject.Rejected, notReadyYet) {
			return false, fmt.Errorf("%w: %s", errNotReady, m.Reject.Text)
		}
		return false, refused(stream, cn.dir, m.Reject)
	case negotiate.TypeOffer:
		cn.drop(o) // an offer before, whose probe failed
		probe := cn.tryOffer(o, m.Offer, files)
		return false, ask(cn.conn, &negotiate.Message{Type: negotiate.TypeProbe, Probe: probe})
	case negotiate.TypeStart:
		if cn.first == nil || len(files) < 2 || (o.wake == negotiate.WakePipe && len(files) < 3) {
			return false, fmt.Errorf("%w: start without an offer or with %d descriptors", ErrProtocol, len(files))
		}
		if err := cn.first.view.Attach(files[0], files[1]); err != nil {
			return false, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if o.wake == negotiate.WakePipe {
			if !isPipe(files[2]) {
				return false, fmt.Errorf("%w: the wake-up pipe is none", ErrProtocol)
			}
			fd := files.Take(2)
			_ = unix.SetNonblock(fd, true) // so that os.File waits through the poller
			cn.pipe = os.NewFile(uintptr(fd), "camd wake-up pipe")
		}
		cn.path.Credit, cn.path.Wake = m.Start.Credit, o.wake
		return true, nil
	}
	if m.Type.Known() {
		return false, fmt.Errorf("%w: %s during the hand-shake", ErrProtocol, m.Type)
	}
	return false, nil
}

func notReadyYet(r negotiate.Rejected) bool { return r.Reason == negotiate.ReasonNotReady }

// isPipe tells a pipe, which camd makes of sockets, from what would wake us all
// the time, or never.
func isPipe(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFSOCK || kind == unix.S_IFIFO
}

// tryOffer maps what is offered and says how that went.
func (cn *connection) tryOffer(o *options, offer *negotiate.Offer, files negotiate.Files) *negotiate.Probe {
	if err := offer.Protocol.Check(); err != nil {
		return &negotiate.Probe{Reason: negotiate.ReasonProtocol, Detail: err.Error()}
	}
	device := offer.Device
	switch {
	case offer.Backend == negotiate.BackendSHM:
		device = nil
	case offer.Backend != negotiate.BackendCUDA || o.device == nil:
		return &negotiate.Probe{Reason: negotiate.ReasonNotAccepted, Detail: "this client reads " + o.reads() + " only"}
	}
	e, err := openEpoch(o, offer.Stream, offer.Layout, device, offer.Session, files)
	if err != nil {
		return &negotiate.Probe{Reason: reasonOf(err), Detail: err.Error()}
	}
	probe, err := e.probe(device)
	if err != nil {
		e.close(o)
		return &negotiate.Probe{Reason: reasonOf(err), Detail: err.Error()}
	}
	e.conn, e.tie = cn.conn, &cn.tie
	cn.first = e
	cn.path = Path{Backend: offer.Backend, Rejected: offer.Rejected, Dir: cn.dir, Session: offer.Session}
	cn.path.setDevice(device, e.device)
	return &negotiate.Probe{OK: true, Proof: negotiate.Proof(offer.Challenge, probe)}
}

// openEpoch maps header and pixels, files 0 and 1, and holds them against what
// was said about them. With a device the pixels are in memory of that.
func openEpoch(o *options, info negotiate.StreamInfo, l negotiate.Layout, d *negotiate.Device, session string, files negotiate.Files) (*epoch, error) {
	if len(files) < 2 {
		return nil, fmt.Errorf("%w: ring with %d descriptors, want 2", ErrProtocol, len(files))
	}
	if l.Version != ring.Version {
		return nil, fmt.Errorf("%w: layout version %d, this client reads %d", ErrProtocol, l.Version, ring.Version)
	}
	if err := info.Geometry.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if int64(info.Geometry.Size()) > l.StrideBytes {
		return nil, fmt.Errorf("%w: frames of %d bytes in slots of %d", ErrProtocol, info.Geometry.Size(), l.StrideBytes)
	}
	layout := ring.Layout{
		Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}
	var view *ring.View
	var err error
	if d == nil {
		view, err = ring.OpenView(layout, files[0], files[1])
	} else {
		view, err = ring.OpenHeader(layout, files[0])
	}
	if err != nil {
		return nil, err
	}
	e := &epoch{view: view, info: info, session: view.Session()}
	if want, err := hex.DecodeString(session); err != nil || string(want) != string(e.session[:]) {
		return nil, errors.Join(fmt.Errorf("%w: ring of another session", ErrProtocol), view.Close())
	}
	if d == nil {
		e.pin(o)
		return e, nil
	}
	if e.device, err = o.device.Import(d, files[1]); err != nil {
		return nil, errors.Join(fmt.Errorf("importing memory of %s: %w", d.UUID, err), view.Close())
	}
	return e, nil
}

// drop gives back what the hand-shake got so far.
func (cn *connection) drop(o *options) {
	if cn.first != nil {
		cn.first.close(o)
		cn.first = nil
	}
	if cn.pipe != nil {
		_ = cn.pipe.Close()
		cn.pipe = nil
	}
}
