// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// Real clients come in through each kind of door that a peer of ours has.
func TestPeerListens(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		t.Run(v+"/tls", func(t *testing.T) {
			t.Parallel()
			ca := newAuthority(t, "ca")
			c := alone()
			c.Listen = []string{"tls/localhost:0"}
			c.TLS.RootCA, c.TLS.MutualTLS = ca.file, true
			c.TLS.ListenCertificate, c.TLS.ListenKey = ca.server()
			s := open(t, c)
			cert, key := ca.client()
			n := start(t, v, connecting("client", reach(t, s), fmt.Sprintf(
				"transport: {link: {tls: {root_ca_certificate: %q, connect_certificate: %q, connect_private_key: %q, enable_mtls: true}}}", ca.file, cert, key)))
			linked(t, s, 1)
			everything(t, n, s)
		})
		t.Run(v+"/unixsock-stream", func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "z") // the path must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			c := alone()
			c.Listen = []string{"unixsock-stream/" + filepath.Join(dir, "s")}
			s := open(t, c)
			n := start(t, v, connecting("client", reach(t, s)))
			linked(t, s, 1)
			everything(t, n, s)
		})
		t.Run(v+"/password", func(t *testing.T) {
			t.Parallel()
			c := alone()
			c.UsersFile = filepath.Join(t.TempDir(), "users")
			if err := os.WriteFile(c.UsersFile, []byte("alice:secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, c)
			n := start(t, v, connecting("client", reach(t, s), "transport: {auth: {usrpwd: {user: 'alice', password: 'secret'}}}"))
			linked(t, s, 1)
			everything(t, n, s)
			refused(t, "a client without password", config.Client(reach(t, s)))
		})
	}
}

// A client that is killed is forgotten after its lease at most; the one that
// comes after it is served.
func TestPeerLosesClient(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			s := open(t, alone())
			w, err := s.SubscribeLiveliness("live/*", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"live/first", "live/second"} {
				n := start(t, v, connecting("client", reach(t, s)))
				n.do(command{"op": "token", "name": "t", "key": key}, "declared")
				for _, kind := range []zenoh.Kind{zenoh.Put, zenoh.Delete} {
					if got, err := w.Receive(ctx(t)); err != nil || got.Kind != kind || got.Key != key {
						t.Errorf("%+v, %v, want %v of %s", got, err, kind, key)
					}
					n.kill()
				}
				linked(t, s, 0)
			}
		})
	}
}
