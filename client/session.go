// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	zlink "github.com/seed-3c7e7623/camd/zenoh/link"
)

// session is what topics need of a Zenoh session.
type session interface {
	// ZID is the session's id as Zenoh prints it.
	ZID() string
	// Subscribe calls f with each sample of the key, from the goroutine that
	// reads the network. f owns the sample.
	Subscribe(key string, f func(zenoh.Sample)) (io.Closer, error)
	// Token shows that something is alive until it is closed.
	Token(key string) (io.Closer, error)
	// Watch calls f with the tokens that are there, and with each that comes
	// and goes, from the goroutine that reads the network.
	Watch(key string, f func(token string, alive bool)) (io.Closer, error)
	// Tokens lists what is alive. It returns after Watch has reported that.
	Tokens(ctx context.Context, key string) ([]string, error)
	// Get calls f with each answer, which f owns, and returns after the last.
	// Answers of more than most bytes do not come; 0: any size.
	Get(ctx context.Context, selector string, most int, f func(zenoh.Sample)) error
	// Connected is the endpoint that the session is connected to, or who it is
	// that came in; or "", and why the last connection ended if there was one.
	Connected() (endpoint string, lost error)
	// Others are whom the session is connected to.
	Others() others
	Close() error
}

// Bounds of what waits for a router.
const (
	openWait  = 3 * time.Second // for it to answer
	graphWait = 3 * time.Second // for the tokens that it knows
	closeSend = time.Second     // for what is to be undeclared
)

// DefaultRouter is where a router is looked for when no configuration names an
// endpoint: where rmw_zenohd listens.
const DefaultRouter = zenoh.DefaultRouter

// realSession is a session of package zenoh. own: it is closed with the last
// subscription.
type realSession struct {
	*zenoh.Session
	own bool
}

// openSession connects as c says.
func openSession(ctx context.Context, c *config.Config, o *options) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	s, err := zenoh.Open(ctx, c, &zenoh.Options{Logger: o.log})
	if err != nil {
		return nil, err
	}
	return realSession{s, true}, nil
}

// zenohConfig is the configuration that the program gave, else that of the
// environment, with what camsub needs filled in.
func (o *options) zenohConfig() (*config.Config, error) {
	c := o.zenoh
	if c == nil {
		c = config.Auto()
		err := c.LoadEnv(os.Getenv)
		if err == nil {
			err = NameRouters(c, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	if err := c.Skipped(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	tls, err := c.TLS.Link()
	if err == nil {
		err = tls.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: Zenoh: %w", ErrConfig, err)
	}
	own := *c
	if len(own.Connect.Endpoints) == 0 && own.Mode == "client" {
		own.Connect.Endpoints = []string{DefaultRouter}
	}
	// A subscription looks again by itself: what it waits for is said there.
	// Who is to find others by itself needs no endpoint.
	if own.Mode == "client" || own.Mode == "peer" && len(own.Connect.Endpoints) > 0 {
		own.Connect.ExitOnFailure, own.Connect.Timeout = true, 0
	}
	builtIn := config.New()
	if own.Connect.RetryInit == builtIn.Connect.RetryInit && own.Connect.RetryMax == builtIn.Connect.RetryMax {
		own.Connect.RetryInit, own.Connect.RetryMax = retryEvery, time.Second
	}
	if own.Transport.MaxMessage == builtIn.Transport.MaxMessage {
		own.Transport.MaxMessage = maxMessage
	}
	return &own, nil
}

// NameRouters has c connect to endpoints, if there are any. Settings of the mode
// auto that name some become those of a client: whoever answers there, a router
// or a peer, is who is meant.
func NameRouters(c *config.Config, endpoints []string) error {
	if len(endpoints) > 0 {
		c.Connect.Endpoints = endpoints
	}
	if c.Mode != "auto" || len(c.Connect.Endpoints) == 0 {
		return nil
	}
	return c.Set("mode", `"client"`, "endpoints are named")
}

// searched says where a session without a connection looked for others.
func searched(c *config.Config) string {
	at := endpoints(c)
	if at == "" && c.Mode == "auto" {
		at = DefaultRouter
	}
	text := ""
	if at != "" {
		text = " at " + at
	}
	if c.Mode != "client" && c.Scout.Multicast {
		text += ", and no peer on the network (by multicast at " + c.Scout.Address + ")"
	}
	return text
}

// ZID is the session's id.
func (s realSession) ZID() string { return s.Session.ZID().String() }

// Subscribe declares a subscriber.
func (s realSession) Subscribe(key string, f func(zenoh.Sample)) (io.Closer, error) {
	return s.Session.Subscribe(key, &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: f}})
}

// Token declares a token.
func (s realSession) Token(key string) (io.Closer, error) { return s.Session.Token(key) }

// Watch declares a subscriber of tokens, with history.
func (s realSession) Watch(key string, f func(token string, alive bool)) (io.Closer, error) {
	call := func(smp zenoh.Sample) { f(smp.Key, smp.Kind == zenoh.Put) }
	return s.SubscribeLiveliness(key, &zenoh.LivelinessOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: call}, History: true})
}

// Tokens asks for what is alive.
func (s realSession) Tokens(ctx context.Context, key string) ([]string, error) {
	return s.Liveliness(ctx, key)
}

// Get asks all queryables and waits for the last answer.
func (s realSession) Get(ctx context.Context, selector string, most int, f func(zenoh.Sample)) error {
	call := func(r zenoh.Reply) {
		if r.Err == nil {
			f(r.Sample)
		} else {
			r.Release()
		}
	}
	r, err := s.Session.Get(ctx, selector, &zenoh.GetOptions{
		Target: zenoh.All, Consolidation: zenoh.ConsolidationNone, MaxReply: most, Handler: zenoh.Handler[zenoh.Reply]{Callback: call},
	})
	if err != nil {
		return err
	}
	<-r.Done()
	return r.Err()
}

// Connected tells the state of the connection.
func (s realSession) Connected() (string, error) {
	i := s.Info()
	if !i.Connected {
		return "", i.LastErr
	}
	// The endpoint of one that came in is where this side listens.
	for n := range i.Links {
		if l := &i.Links[n]; l.Remote == i.Remote {
			return linkAt(l), nil
		}
	}
	return i.Endpoint, nil
}

// Close ends a session of our own.
func (s realSession) Close() error {
	if !s.own {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeSend)
	defer cancel()
	return s.Session.Close(ctx)
}

// noRouter is the error for a session that cannot be opened.
func noRouter(c *config.Config, err error) error {
	switch {
	case errors.Is(err, zenoh.ErrConfig), errors.Is(err, zlink.ErrTLS):
		return fmt.Errorf("%w: Zenoh: %w", ErrConfig, err)
	case errors.Is(err, zenoh.ErrNoAnswer), errors.Is(err, context.DeadlineExceeded):
		return silent(endpoints(c), err)
	}
	return fmt.Errorf("%w at %s (%w); ROS 2 starts one with: ros2 run rmw_zenoh_cpp rmw_zenohd", ErrNoRouter, endpoints(c), err)
}

// unanswered is the error for a question that nobody has answered.
func unanswered(s session, what string, err error) error {
	endpoint, lost := s.Connected()
	switch {
	case endpoint == "":
		if lost == nil {
			lost = err
		}
		return &routerError{fmt.Sprintf("connection to the Zenoh network lost while %s: %v", what, lost), err}
	case errors.Is(err, context.DeadlineExceeded):
		by := unansweredBy(err)
		if len(by) == 0 {
			o := s.Others()
			by = o.names()
		}
		return &routerError{fmt.Sprintf("no answer in time over Zenoh from %s (%s: %v)", together(by), what, err), err}
	}
	return fmt.Errorf("%w: %s: %w", ErrNoRouter, what, err)
}

// silent is the error for a router or peer that may be there, but says nothing.
func silent(at string, err error) error {
	return &routerError{fmt.Sprintf("the Zenoh router or peer at %s does not answer (%v)", at, err), err}
}

// routerError is an [ErrNoRouter] that does not say that there is none.
type routerError struct {
	text  string
	cause error
}

func (e *routerError) Error() string { return e.text }

// Unwrap names the condition and the cause.
func (e *routerError) Unwrap() []error { return []error{ErrNoRouter, e.cause} }
