// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// hung is how long a condition may take before the test calls it hung.
const hung = time.Minute

// programs is where camd and the example are.
var programs string

func TestMain(m *testing.M) {
	if name := os.Getenv(mistakeVariable); name != "" {
		makeMistake(name)
		os.Exit(0)
	}
	flag.Parse()
	// Programs of tests that run at the same time do not find each other.
	_ = os.Setenv(config.EnvOverride, `mode="client";connect/endpoints=["tcp/127.0.0.1:1"]`)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	code := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else if code = m.Run(); code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left by the tests:", err)
			code = 1
		}
	}
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

func build() (err error) {
	if programs, err = os.MkdirTemp("", "cvmat-bin-"); err != nil {
		return err
	}
	camd := exec.Command("go", "build", "-o", programs+"/", "./cmd/camd")
	camd.Dir = filepath.Join("..", "..")
	camd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	// The example is built as the test is: what it imports is compiled.
	args := []string{"build", "-buildvcs=false", "-o", filepath.Join(programs, "edges")}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" || s.Key == "-tags" {
				args = append(args, s.Key+"="+s.Value)
			}
		}
	}
	example := exec.Command("go", append(args, "./example")...)
	for _, c := range []*exec.Cmd{camd, example} {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
		}
	}
	return nil
}

// text collects what is written.
type text = proctest.Text

// log is what this program logs.
var log text

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until ok, which is asked again and again.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx := bounded(t); !ok(); {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", hung, what)
		case <-tick.C:
		}
	}
}

// startCamd runs camd with these cameras until the end of the test.
func startCamd(t testing.TB, cameras ...string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cvmat-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	args := []string{"run", "--runtime-dir", dir, "--set", "cuda.enabled=false"}
	for _, c := range cameras {
		args = append(args, "--camera", c)
	}
	var said text
	ended := make(chan error, 1)
	cmd := exec.Command(filepath.Join(programs, "camd"), args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), config.EnvOverride+`=scouting/multicast/enabled=false;listen/endpoints=["tcp/127.0.0.1:0"]`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || t.Failed() {
			t.Errorf("camd: %v\n%s", err, said.String())
		}
	})
	eventually(t, "camd running", func() bool {
		return strings.Contains(said.String(), "camd running") || len(ended) > 0
	})
	return dir
}

func subscribe(t testing.TB, dir, stream string, opts ...client.Option) *client.Subscription {
	t.Helper()
	opts = append([]client.Option{client.WithRuntimeDir(dir), client.WithAccept(negotiate.BackendSHM)}, opts...)
	s, err := client.Subscribe(bounded(t), stream, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func next(t testing.TB, s *client.Subscription) client.Frame {
	t.Helper()
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// geometry has a step that is pad bytes longer than it must be.
func geometry(t testing.TB, e frame.Encoding, w, h, pad int) frame.Geometry {
	t.Helper()
	if e.Compressed() {
		g, err := frame.NewCompressed(e, w, h, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g, err := frame.NewGeometry(e, w, h)
	if err == nil {
		g, err = frame.NewGeometryStep(e, w, h, g.Step+pad)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// noise is a frame of random bytes.
func noise(g frame.Geometry, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, g.Size())
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// raw is a camera that plays one frame again and again.
func raw(t testing.TB, name string, g frame.Geometry, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".raw")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s=replay:%s,%dx%d@50,encoding=%s,step=%d,loop=true,reader=native", name, file, g.Width, g.Height, g.Encoding, g.Step)
}

// topic is a ROS camera on a Zenoh session of its own.
type topic struct {
	t      testing.TB
	sub    *client.Subscription
	gid    graph.GID
	out    *zenoh.Publisher
	number int64
}

// newTopic publishes images of ROS, of one type, and subscribes to them.
func newTopic(t testing.TB, kind msg.Type, opts ...client.Option) *topic {
	t.Helper()
	ctx := bounded(t)
	settings := config.Peer()
	for key, value := range map[string]string{"listen/endpoints": `["tcp/127.0.0.1:0"]`, "scouting/multicast/enabled": "false"} {
		if err := settings.Set(key, value, "test"); err != nil {
			t.Fatal(err)
		}
	}
	s, err := zenoh.Open(ctx, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	node := graph.NewNode(0, s.ZID().String(), 0, "/", "robot")
	e := node.Publisher(1, "/picture", kind.Name, kind.Hash, graph.SensorData())
	c := &topic{t: t, gid: e.GID()}
	if c.out, err = s.Publisher(e.Key(), nil); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{node.Token(), e.Token()} {
		if _, err := s.Token(token); err != nil {
			t.Fatal(err)
		}
	}
	opts = append([]client.Option{client.WithZenoh(config.Client(s.Info().Listening[0])), client.WithDomain(0)}, opts...)
	if c.sub, err = client.Subscribe(ctx, "/picture", opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.sub.Close() })
	eventually(t, "a subscriber", c.out.Matching)
	return c
}

// show sends a picture and returns it as the subscriber has it.
func (c *topic) show(encoding string, g frame.Geometry, data []byte) client.Frame {
	c.t.Helper()
	m := msg.Image{
		Header: msg.Header{Stamp: msg.TimeOf(time.Now().UnixNano())}, Height: uint32(g.Height), Width: uint32(g.Width),
		Encoding: encoding, Step: uint32(g.Step), Data: data,
	}
	if g.BigEndian {
		m.IsBigendian = 1
	}
	f := c.send(m.AppendCDR(nil))
	if f.Geometry() != g {
		c.t.Fatalf("got %v, sent %v", f.Geometry(), g)
	}
	return f
}

// file sends a picture file.
func (c *topic) file(format string, data []byte) client.Frame {
	c.t.Helper()
	m := msg.CompressedImage{Header: msg.Header{Stamp: msg.TimeOf(time.Now().UnixNano())}, Format: format, Data: data}
	return c.send(m.AppendCDR(nil))
}

func (c *topic) send(message []byte) client.Frame {
	c.t.Helper()
	c.number++
	a := graph.Attachment{Sequence: c.number, SourceNanos: time.Now().UnixNano(), GID: c.gid}
	if err := c.out.Put(bounded(c.t), message, &zenoh.PutOptions{Attachment: a.Append(nil)}); err != nil {
		c.t.Fatal(err)
	}
	return next(c.t, c.sub)
}
