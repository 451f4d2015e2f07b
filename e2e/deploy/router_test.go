// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/internal/venv"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

// files is the folder of the configurations.
func files(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../deploy/zenoh", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// changed copies a configuration with some words replaced; each must be there.
func changed(t testing.TB, name string, oldnew ...string) string {
	t.Helper()
	data, err := os.ReadFile(files(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(data), oldnew[i]) {
			t.Fatalf("%s has no %q", name, oldnew[i])
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(oldnew...).Replace(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tcp(t testing.TB) string { return fmt.Sprintf("tcp/localhost:%d", proctest.Port(t)) }

func tls(t testing.TB) string { return fmt.Sprintf("tls/localhost:%d", proctest.Port(t)) }

// endpoints is the setting of a list of them.
func endpoints(key string, list ...string) string {
	text, err := json.Marshal(append([]string{}, list...))
	if err != nil {
		panic(err)
	}
	return key + "=" + string(text)
}

func listen(list ...string) string { return endpoints("listen/endpoints", list...) }

func connect(list ...string) string { return endpoints("connect/endpoints", list...) }

// router runs deploy/zenoh/router.py with a configuration in a folder, with some
// settings changed, and waits until it is up.
func router(t testing.TB, env venv.Env, dir, file string, settings ...string) {
	t.Helper()
	cmd := exec.Command(env.Python(t), append([]string{files(t, "router.py"), file}, settings...)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	if watch.Stop(); !strings.HasSuffix(line, "is up\n") {
		_ = cmd.Process.Kill()
		t.Fatalf("router of %s: %v, %q\n%s", filepath.Base(file), cmd.Wait(), line, said.String())
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		watch := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer watch.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("router of %s: %v\n%s", filepath.Base(file), err, said.String())
		}
	})
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

// settings reads a session's configuration and sends it to an endpoint. Nothing
// in it may be without effect: the files are written for sessions of ours.
func settings(t testing.TB, name, endpoint string) *config.Config {
	t.Helper()
	c := config.New()
	if err := c.LoadFile(files(t, name)); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Notes() {
		t.Errorf("%s: %v", name, n)
	}
	c.Connect.Endpoints = []string{endpoint}
	return c
}

// quiet is a session that logs nothing.
var quiet = &zenoh.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}

func session(t testing.TB, name, endpoint string) *zenoh.Session {
	t.Helper()
	return open(t, settings(t, name, endpoint))
}

// secure is mtls-session.json5 as a program that runs in dir reads it.
func secure(t testing.TB, dir, endpoint string) *config.Config {
	t.Helper()
	c := settings(t, "mtls-session.json5", endpoint)
	for _, file := range []*string{&c.TLS.RootCA, &c.TLS.ConnectCertificate, &c.TLS.ConnectKey} {
		*file = filepath.Join(dir, *file)
	}
	return c
}

func open(t testing.TB, c *config.Config) *zenoh.Session {
	t.Helper()
	s, err := zenoh.Open(ctx(t), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(ctx(t)) })
	if err := s.WaitConnected(ctx(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// refused holds that the router does not let c in.
func refused(t testing.TB, what string, c *config.Config) {
	t.Helper()
	c.Connect.ExitOnFailure = true
	s, err := zenoh.Open(ctx(t), c, quiet)
	if err == nil {
		_ = s.Close(ctx(t))
		t.Errorf("%s was let in", what)
		return
	}
	if !errors.Is(err, zenoh.ErrUnreachable) {
		t.Errorf("%s: %v, want ErrUnreachable", what, err)
	}
}

// receiver counts what arrives under a key, until the marker that ends it.
type receiver struct {
	t   testing.TB
	sub *zenoh.Subscriber
}

// receive subscribes, and returns when sender's router knows of it.
func receive(t testing.TB, s, sender *zenoh.Session, name string) receiver {
	t.Helper()
	sub, err := s.Subscribe("**", nil)
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := sender.SubscribeLiveliness("ready/"+name, &zenoh.LivelinessOptions{History: true})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	// Declared behind the subscriber, so that it cannot overtake it.
	if _, err := s.Token("ready/" + name); err != nil {
		t.Fatal(err)
	}
	if _, err := watcher.Receive(ctx(t)); err != nil {
		t.Fatalf("nobody hears of the subscriber %s: %v", name, err)
	}
	return receiver{t, sub}
}

// want holds how many samples of each key arrived before the marker.
func (r receiver) want(what string, want map[string]int) {
	r.t.Helper()
	got := make(map[string]int)
	for {
		s, err := r.sub.Receive(ctx(r.t))
		if err != nil {
			r.t.Fatalf("%s: %v after %v", what, err, got)
		}
		if s.Key == marker {
			break
		}
		got[s.Key]++
	}
	for key, n := range want {
		if got[key] != n {
			r.t.Errorf("%s: %d of %s, want %d", what, got[key], key, n)
		}
	}
}

// marker is the key of the last sample.
const marker = "end"

// put sends samples and waits for room, so that nothing is lost here.
func put(t testing.TB, s *zenoh.Session, key string, n, size int) {
	t.Helper()
	for range n {
		o := &zenoh.PutOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}}
		if err := s.Put(ctx(t), key, make([]byte, size), o); err != nil {
			t.Fatal(err)
		}
	}
}
