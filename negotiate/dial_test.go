// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDialNobody(t *testing.T) {
	stale := shortDir(t)
	startOther(t, "listen", stale, 0).kill(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	streams := shortDir(t)
	if err := os.Mkdir(streams, 0o700); err != nil {
		t.Fatal(err)
	}
	foreignSocket(t, "unix", filepath.Join(streams, SocketName))
	for _, c := range []struct {
		name, dir string
		want      error
		words     string
	}{
		{"no directory", shortDir(t), ErrSocketUnreachable, "no such file"},
		{"no socket", t.TempDir(), ErrSocketUnreachable, "no such file"},
		{"a killed daemon's socket", stale, ErrSocketUnreachable, "refused"},
		{"a file for a directory", file, ErrSocketUnreachable, "not a directory"},
		{"a socket of another kind", streams, ErrSocketUnreachable, "wrong type"},
		{"path too long", "/tmp/" + strings.Repeat("d", 93), ErrPath, "at most 107"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := openFiles(t)
			_, err := Dial(context.Background(), c.dir)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), c.dir) {
				t.Errorf("got %v; want %v with %q and the path", err, c.want, c.words)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

func TestDialCancelled(t *testing.T) {
	l := listening(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, l.Dir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// fillBacklog connects until the kernel says that the queue is full.
func fillBacklog(t *testing.T, l *Listener) {
	t.Helper()
	for range 2 * backlog {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: l.Path()}); errors.Is(err, unix.EAGAIN) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the queue has no end")
}

func TestDialBusyDaemon(t *testing.T) {
	t.Run("that takes connections after all", func(t *testing.T) {
		l := listening(t)
		fillBacklog(t, l)
		accepting := make(chan error, 1)
		go func() {
			var err error
			for range backlog + 2 { // the queue holds one more than asked for
				var c *Conn
				if c, err = l.Accept(); err != nil {
					break
				}
				_ = c.Close()
			}
			accepting <- err
		}()
		c, err := Dial(context.Background(), l.Dir())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if err := <-accepting; err != nil {
			t.Error(err)
		}
	})
	t.Run("until the caller gives up", func(t *testing.T) {
		l := listening(t)
		fillBacklog(t, l)
		ctx, cancel := context.WithTimeout(context.Background(), 3*dialPause)
		defer cancel()
		if _, err := Dial(ctx, l.Dir()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
	t.Run("whose directory is wanted", func(t *testing.T) {
		l := listening(t)
		fillBacklog(t, l)
		if _, err := Listen(l.Dir()); !errors.Is(err, ErrInUse) {
			t.Errorf("got %v, want ErrInUse", err)
		}
	})
}
