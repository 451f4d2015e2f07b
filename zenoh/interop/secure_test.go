// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// authority signs certificates.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t testing.TB, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.file, _ = a.issue(name, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature})
	return a
}

// issue writes a certificate and its key.
func (a *authority) issue(name string, c *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = key
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+"-key.pem")
	a.write(certFile, "CERTIFICATE", der)
	a.write(keyFile, "PRIVATE KEY", raw)
	return certFile, keyFile
}

func (a *authority) write(file, kind string, b []byte) {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) server() (string, string) {
	return a.issue("server", &x509.Certificate{
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) client() (string, string) {
	return a.issue("client", &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// exchange puts to the node and back, small and in fragments.
func exchange(t *testing.T, n *node, s *zenoh.Session) {
	t.Helper()
	n.do(command{"op": "sub", "name": "x", "key": "x/**"}, "declared")
	sub, err := s.Subscribe("y/**", nil)
	if err != nil {
		t.Fatal(err)
	}
	round(t, s)
	for _, size := range []int{1, 3_000_000} {
		b := noise(size)
		if err := s.Put(ctx(t), "x/a", b, nil); err != nil {
			t.Fatal(err)
		}
		if e := n.want("sample"); e.SHA256 != sum(b) {
			t.Errorf("%d bytes arrived as %d", size, e.Len)
		}
		put := n.do(command{"op": "put", "key": "y/a", "size": size, "congestion": "BLOCK"}, "put")
		if got, err := sub.Receive(ctx(t)); err != nil || sum(got.Payload) != put.SHA256 {
			t.Errorf("%d bytes received as %d, %v", size, len(got.Payload), err)
		}
	}
}

// refused opens a session that must not come to be.
func refused(t *testing.T, what string, c *config.Config) {
	t.Helper()
	s, err := zenoh.Open(ctx(t), c, nil)
	if err == nil {
		_ = s.Close(ctx(t))
		t.Errorf("%s was let in", what)
		return
	}
	if !errors.Is(err, zenoh.ErrUnreachable) {
		t.Errorf("%s: %v, want ErrUnreachable", what, err)
	}
}

func TestTLS(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			ca, stranger := newAuthority(t, "ca"), newAuthority(t, "stranger")
			cert, key := ca.server()
			e := fmt.Sprintf("tls/localhost:%d", proctest.Port(t))
			n := start(t, v, listening("router", e, fmt.Sprintf("transport: {link: {tls: {listen_certificate: %q, listen_private_key: %q}}}", cert, key)))
			c := config.Client(e)
			c.TLS.RootCA = ca.file
			exchange(t, n, open(t, c))

			c = config.Client(e)
			c.TLS.RootCA = stranger.file
			refused(t, "a node whose certificate a stranger signed", c)
			refused(t, "a node whose certificate no public authority signed", config.Client(e))
		})
	}
}

func TestMutualTLS(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			ca, stranger := newAuthority(t, "ca"), newAuthority(t, "stranger")
			cert, key := ca.server()
			e := fmt.Sprintf("tls/127.0.0.1:%d", proctest.Port(t))
			n := start(t, v, listening("router", e, fmt.Sprintf(
				"transport: {link: {tls: {root_ca_certificate: %q, listen_certificate: %q, listen_private_key: %q, enable_mtls: true}}}", ca.file, cert, key)))
			c := config.Client(e)
			c.TLS.RootCA, c.TLS.MutualTLS = ca.file, true
			c.TLS.ConnectCertificate, c.TLS.ConnectKey = ca.client()
			exchange(t, n, open(t, c))

			c = config.Client(e)
			c.TLS.RootCA = ca.file
			refused(t, "a client without certificate", c)
			c = config.Client(e)
			c.TLS.RootCA = ca.file
			c.TLS.ConnectCertificate, c.TLS.ConnectKey = stranger.client()
			refused(t, "a client whose certificate a stranger signed", c)
		})
	}
}

func TestUserPassword(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			dict := filepath.Join(t.TempDir(), "users")
			if err := os.WriteFile(dict, []byte("alice:secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			n, e := router(t, v, fmt.Sprintf("transport: {auth: {usrpwd: {user: 'node', password: 'x', dictionary_file: %q}}}", dict))
			c := config.Client(e)
			c.User, c.Password = "alice", "secret"
			exchange(t, n, open(t, c))
			refused(t, "a client without password", config.Client(e))
			c = config.Client(e)
			c.User, c.Password = "alice", "wrong"
			refused(t, "a client with a wrong password", c)
		})
	}
}

func TestUnixSocket(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "z") // the path must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			e := "unixsock-stream/" + filepath.Join(dir, "s")
			n := start(t, v, listening("router", e))
			exchange(t, n, client(t, e))
		})
	}
}
