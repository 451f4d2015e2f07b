// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseEndpoint(t *testing.T) {
	for s, want := range map[string]Endpoint{
		"tcp/192.0.2.1:7447":                {Proto: "tcp", Address: "192.0.2.1:7447"},
		"tcp/[::1]:7447":                    {Proto: "tcp", Address: "[::1]:7447"},
		"tls/robot.local:7447?prio=1-3#a=b": {Proto: "tls", Address: "robot.local:7447", Metadata: map[string]string{"prio": "1-3"}, Config: map[string]string{"a": "b"}},
		"unixsock-stream//run/z.sock":       {Proto: "unixsock-stream", Address: "/run/z.sock"},
	} {
		got, err := ParseEndpoint(s)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
	}
	for s, is := range map[string]error{
		"":                    ErrEndpoint,
		"tcp":                 ErrEndpoint,
		"tcp/":                ErrEndpoint,
		"tcp/localhost":       ErrEndpoint,
		"tcp/localhost:":      ErrEndpoint,
		"tcp/localhost:99999": ErrEndpoint,
		"tcp/localhost:-1":    ErrEndpoint,
		"tcp/h:1#x":           ErrEndpoint,
		"quic/localhost:7447": ErrUnsupported,
		"udp/localhost:7447":  ErrUnsupported,
	} {
		if got, err := ParseEndpoint(s); !errors.Is(err, is) {
			t.Errorf("%q: %+v, %v, want %v", s, got, err, is)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	f.Add("tls/h:1?a=b;c=d#e=f")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseEndpoint(s)
		if err != nil {
			return
		}
		if again, err := ParseEndpoint(e.String()); err != nil || again.Address != e.Address || again.Proto != e.Proto {
			t.Errorf("%q became %q, which is %+v, %v", s, e, again, err)
		}
	})
}

// ends returns both ends of a connection, of which the far one takes little.
func ends(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := Dial(ctx, Endpoint{Proto: "tcp", Address: l.Addr().String()}, &Options{NotSentBytes: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), far.Close() })
	tcp := far.(*net.TCPConn)
	if err := tcp.SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	return c, tcp
}

// units makes units of several slices, with the bytes that they are together.
func units(n, size int) (v *Vec, all []byte) {
	v = new(Vec)
	for i := range n {
		head, body := []byte{byte(i), 1, 2}, bytes.Repeat([]byte{byte(i)}, size)
		v.Add(head)
		v.Add(nil)
		v.Add(body)
		v.End()
		all = append(append(all, head...), body...)
	}
	return v, all
}

func TestWriteVec(t *testing.T) {
	for _, wait := range []bool{true, false} {
		c, far := ends(t)
		v, want := units(700, 10_007) // more slices than a system call takes
		got := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(far)
			got <- b
		}()
		n, done, err := c.WriteVec(v, nil, wait)
		resumed := 0
		for err == nil && !done {
			resumed++
			n, done, err = c.Resume(true)
		}
		if err != nil || n != v.Units() || wait && resumed > 0 {
			t.Errorf("wait %v: %d of %d units, resumed %d times, %v", wait, n, v.Units(), resumed, err)
		}
		if c.CongestedFor() != 0 {
			t.Error("congested after the end")
		}
		if err := c.CloseWrite(); err != nil {
			t.Error(err)
		}
		if b := <-got; !bytes.Equal(b, want) {
			t.Errorf("wait %v: %d bytes arrived of %d, or others", wait, len(b), len(want))
		}
	}
}

// Something urgent stops a write at the end of a unit, and the rest can follow.
func TestUrgentStopsAtAUnit(t *testing.T) {
	c, far := ends(t)
	v, want := units(40, 50_000)
	got := make(chan []byte)
	start := make(chan struct{})
	go func() {
		<-start
		b, _ := io.ReadAll(far)
		got <- b
	}()
	asked := 0
	n, done, err := c.WriteVec(v, func() bool {
		if asked++; asked == 1 {
			close(start)
		}
		return true
	}, true)
	if err != nil || !done || n == 0 || n >= v.Units() {
		t.Fatalf("%d of %d units, done %v, %v", n, v.Units(), done, err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Error(err)
	}
	if b := <-got; !bytes.Equal(b, want[:n*50_003]) {
		t.Errorf("%d bytes arrived, want the first %d units", len(b), n)
	}
}

func TestWriteToNobody(t *testing.T) {
	c, far := ends(t)
	if err := far.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	v, _ := units(100, 50_000)
	if n, _, err := c.WriteVec(v, nil, true); err == nil {
		t.Errorf("%d units were written to nobody", n)
	}
}

func TestTLSSettings(t *testing.T) {
	e := Endpoint{Proto: "tls", Address: "localhost:1"}
	for name, o := range map[string]*TLS{
		"missing root":   {RootCA: PEM{File: "none"}},
		"no certificate": {RootCA: PEM{Data: []byte("nothing")}},
		"key alone":      {Key: PEM{Data: []byte("x")}},
		"broken pair":    {Certificate: PEM{Data: []byte("x")}, Key: PEM{Data: []byte("x")}},
	} {
		if _, err := o.config(e); !errors.Is(err, ErrTLS) {
			t.Errorf("%s: %v, want ErrTLS", name, err)
		}
	}
	if c, err := (*TLS)(nil).config(e); err != nil || c.ServerName != "localhost" || c.InsecureSkipVerify {
		t.Errorf("no settings: %+v, %v", c, err)
	}
}
