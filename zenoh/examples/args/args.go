// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package args holds what the examples share: the flags of Zenoh 1.x's own
// examples, the environment, and the end by Ctrl-C.
package args

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// Router is where the examples look for a node when nothing else is said.
const Router = "tcp/localhost:7447"

// Example is the command line of an example.
type Example struct {
	*pflag.FlagSet
	file, mode      string
	connect, listen []string
	set             []string
	noScouting, shm bool
	explain         bool
}

// New returns a command line with the flags that all examples have.
func New(name string) *Example {
	e := &Example{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	e.SortFlags = false
	e.StringVarP(&e.file, "config", "c", "", "a configuration file (JSON5)")
	e.StringVarP(&e.mode, "mode", "m", "", "the session's mode: client, peer or auto")
	e.StringArrayVarP(&e.connect, "connect", "e", nil, "endpoints to connect to [default of clients: "+Router+"]")
	e.StringArrayVarP(&e.listen, "listen", "l", nil, "endpoints to listen on")
	e.StringArrayVar(&e.set, "cfg", nil, "a setting as KEY:VALUE, for example transport/link/tx/lease:60000")
	e.BoolVar(&e.noScouting, "no-multicast-scouting", false, "do not look for nodes by multicast")
	e.BoolVar(&e.shm, "enable-shm", false, "use shared memory")
	e.BoolVar(&e.explain, "explain", false, "show every setting with its value and what set it, and end")
	return e
}

// errDone ends a program without a complaint.
var errDone = errors.New("done")

// Config puts file, environment and flags together, the later above the
// earlier.
func (e *Example) Config() (*config.Config, error) {
	c := config.New()
	if err := c.LoadEnv(os.Getenv); err != nil {
		return nil, err
	}
	if e.file != "" {
		if err := c.LoadFile(e.file); err != nil {
			return nil, err
		}
	}
	for _, kv := range e.set {
		k, v, ok := strings.Cut(kv, ":")
		if !ok {
			return nil, fmt.Errorf("--cfg %s: want KEY:VALUE", kv)
		}
		if err := c.Set(k, v, "--cfg"); err != nil {
			return nil, err
		}
	}
	if e.mode != "" {
		if err := c.Set("mode", fmt.Sprintf("%q", e.mode), "--mode"); err != nil {
			return nil, err
		}
	}
	if e.noScouting {
		if err := c.Set("scouting/multicast/enabled", "false", "--no-multicast-scouting"); err != nil {
			return nil, err
		}
	}
	if len(e.listen) > 0 {
		list, err := json.Marshal(e.listen)
		if err != nil {
			return nil, err
		}
		if err := c.Set("listen/endpoints", string(list), "--listen"); err != nil {
			return nil, err
		}
	}
	if e.shm {
		if err := c.Set("transport/shared_memory/enabled", "true", "--enable-shm"); err != nil {
			return nil, err
		}
	}
	source := "--connect"
	if c.Mode == "client" && len(e.connect) == 0 && len(c.Connect.Endpoints) == 0 {
		e.connect, source = []string{Router}, "example"
	}
	if len(e.connect) > 0 {
		list, err := json.Marshal(e.connect)
		if err != nil {
			return nil, err
		}
		return c, c.Set("connect/endpoints", string(list), source)
	}
	return c, nil
}

// Open opens the session that the command line asks for.
func (e *Example) Open(ctx context.Context) (*zenoh.Session, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	if e.explain {
		for _, s := range c.Explain() {
			fmt.Printf("%s = %s\t# %s\n", s.Key, s.Value, s.Source)
		}
		for _, n := range c.Notes() {
			fmt.Printf("# %v\n", n)
		}
		return nil, errDone
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return zenoh.Open(ctx, c, &zenoh.Options{Logger: log})
}

// Positional is the only argument beside flags; the program fails without.
func (e *Example) Positional(name string) (string, error) {
	if e.NArg() != 1 {
		return "", fmt.Errorf("want one argument, %s", name)
	}
	return e.Arg(0), nil
}

// Main parses the command line and runs the program until it returns or
// Ctrl-C ends ctx, which is no error.
func (e *Example) Main(run func(ctx context.Context) error) {
	err := e.Parse(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx)
	ended := ctx.Err() != nil
	stop()
	if err != nil && !ended && !errors.Is(err, errDone) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", e.Name(), err)
		os.Exit(1)
	}
}

// Close closes the session, with time of its own to send what waits.
func Close(s *zenoh.Session) { _ = s.Close(context.Background()) }
