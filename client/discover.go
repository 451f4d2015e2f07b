// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// replyTimeout bounds a daemon's answer where the context does not.
const replyTimeout = 5 * time.Second

// maxStreams bounds what a daemon can make List remember.
const maxStreams = 1 << 12

// Daemon is one running camd and its streams.
type Daemon struct {
	Dir string `json:"runtime_dir"`
	negotiate.StreamList
}

// List asks every daemon that answers for its streams. It fails with
// ErrNoDaemon or ErrPermission if none does.
func List(ctx context.Context, opts ...Option) ([]Daemon, error) {
	o := newOptions(opts)
	return list(ctx, &o)
}

func list(ctx context.Context, o *options) ([]Daemon, error) {
	var out []Daemon
	err := eachDaemon(ctx, o, func(dir string, c *negotiate.Conn, deadline time.Time) error {
		d := Daemon{Dir: dir}
		if err := ask(c, &negotiate.Message{Type: negotiate.TypeList, List: &negotiate.List{}}); err != nil {
			return err
		}
		for {
			m, err := reply(c, negotiate.TypeStreams, deadline)
			if err != nil {
				return err
			}
			streams := append(d.Streams, m.Streams.Streams...)
			if len(streams) > maxStreams {
				return fmt.Errorf("%w: a list of more than %d streams", ErrProtocol, maxStreams)
			}
			d.StreamList = *m.Streams
			d.Streams = streams
			if !m.Streams.More {
				out = append(out, d)
				return nil
			}
		}
	})
	return out, err
}

// Status fetches the status document of every daemon that answers; its shape is
// that of camd status --format json.
func Status(ctx context.Context, opts ...Option) ([]json.RawMessage, error) {
	var out []json.RawMessage
	o := newOptions(opts)
	err := eachDaemon(ctx, &o, func(_ string, c *negotiate.Conn, deadline time.Time) error {
		if err := ask(c, &negotiate.Message{Type: negotiate.TypeStatus}); err != nil {
			return err
		}
		m, err := reply(c, negotiate.TypeStatus, deadline)
		if err != nil {
			return err
		}
		out = append(out, m.Status)
		return nil
	})
	return out, err
}

// eachDaemon calls ask for every daemon that can be reached, and reports why
// not if none answers.
func eachDaemon(ctx context.Context, o *options, ask func(dir string, c *negotiate.Conn, deadline time.Time) error) error {
	var errs []dirError
	answered := false
	for _, dir := range negotiate.ClientDirs(o.dir) {
		c, err := negotiate.Dial(ctx, dir)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			err = ask(dir, c, o.deadline(ctx))
			stop()
			_ = c.Close()
		}
		if err == nil {
			answered = true
		} else if ctx.Err() != nil {
			return ctx.Err()
		} else {
			if refused := new(RefusedError); errors.As(err, &refused) {
				refused.Dir = dir
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				o.event(EventNoAnswer, err, fmt.Sprintf("the camd in %s does not answer: is it stopped, or overloaded?", dir))
			}
			errs = append(errs, dirError{dir, err})
		}
	}
	if answered {
		return nil
	}
	return noDaemon(errs)
}

// ask sends a request whose answer is received next. That the daemon has closed
// the connection is no error here: one that refuses a client at once may have
// done so before, and the reason lies in the queue.
func ask(c *negotiate.Conn, m *negotiate.Message) error {
	if err := c.Send(m); err != nil && !errors.Is(err, negotiate.ErrPeerGone) {
		return err
	}
	return nil
}

// reply waits for a message of the wanted type and passes over unknown ones.
func reply(c *negotiate.Conn, want negotiate.Type, deadline time.Time) (*negotiate.Message, error) {
	for {
		m, files, err := c.Receive(deadline)
		_ = files.Close()
		if err != nil {
			return nil, err
		}
		switch {
		case m.Type == want:
			return m, nil
		case m.Type == negotiate.TypeReject:
			return nil, refused("", "", m.Reject)
		case m.Type.Known():
			return nil, fmt.Errorf("%w: %s instead of %s", ErrProtocol, m.Type, want)
		}
	}
}

// deadline is when a daemon's answer is too late.
func (o *options) deadline(ctx context.Context) time.Time {
	d := time.Now().Add(o.reply)
	if c, ok := ctx.Deadline(); ok && c.Before(d) {
		return c
	}
	return d
}
