// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writer opens the other end of a pipe without waiting for a reader.
func writer(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestReadPipe(t *testing.T) {
	t.Run("nobody writes", func(t *testing.T) {
		var in Input
		if err := in.ReadFile(t.Context(), fifo(t)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "is a pipe to which nobody writes") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the writer is silent, then a signal", func(t *testing.T) {
		path := fifo(t)
		writer(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		var in Input
		read := make(chan error, 1)
		go func() { read <- in.ReadFile(ctx, path) }()
		cancel()
		if err := <-read; !errors.Is(err, context.Canceled) || errors.Is(err, ErrInvalid) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
	t.Run("process substitution", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() {
			_, _ = w.WriteString("log:\n  level: debug\n")
			_ = w.Close()
		}()
		var in Input
		if err := in.ReadFile(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd())); err != nil {
			t.Fatal(err)
		}
		if c := load(t, in); c.LogLevel != "debug" {
			t.Errorf("log level %s", c.LogLevel)
		}
	})
	t.Run("nothing at all", func(t *testing.T) {
		var in Input
		if err := in.ReadFile(t.Context(), os.DevNull); err != nil || len(in.Data) != 0 {
			t.Errorf("got %q, %v", in.Data, err)
		}
	})
}

// Files that Zenoh's settings name hold nobody up either, and one that is a pipe
// is read once.
func TestZenohFilesThatArePipes(t *testing.T) {
	for name, override := range map[string]string{
		"certificate": `transport/link/tls/root_ca_certificate="%s"`,
		"key":         `transport/link/tls/listen_private_key="%s"`,
		"dictionary":  `transport/auth/usrpwd/dictionary_file="%s"`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{fifo(t), "/dev/zero"} {
				c := load(t, Input{Environ: []string{"ZENOH_CONFIG_OVERRIDE=" + fmt.Sprintf(override, path)}})
				if err := c.CheckFiles(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), path+" is not a regular file") {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	t.Run("settings", func(t *testing.T) {
		for path, want := range map[string]string{fifo(t): "is a pipe to which nobody writes", "/dev/zero": "is not a regular file"} {
			c := load(t, Input{Environ: []string{"ZENOH_SESSION_CONFIG_URI=" + path}})
			if err := c.CheckFiles(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	t.Run("process substitution", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := w.WriteString(`{ connect: { endpoints: ["tcp/192.0.2.1:7447"] } }`); err != nil {
			t.Fatal(err)
		}
		w.Close()
		c := load(t, Input{Set: []string{fmt.Sprintf("zenoh.config=/dev/fd/%d", r.Fd())}})
		if err := c.CheckFiles(); err != nil {
			t.Fatal(err)
		}
		if s, err := c.Session(); err != nil || s.Connect.Endpoints[0] != "tcp/192.0.2.1:7447" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
