// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// ErrTLS reports settings of TLS that do not fit together or cannot be read.
var ErrTLS = errors.New("invalid TLS settings")

// PEM is a certificate or key: the name of a file, or the text itself.
type PEM struct {
	File string
	Data []byte
}

// IsZero says whether nothing is given.
func (p PEM) IsZero() bool { return p.File == "" && len(p.Data) == 0 }

// Read returns the text. It fails with [ErrFile] or the error of the file system.
func (p PEM) Read() ([]byte, error) {
	if len(p.Data) > 0 {
		return p.Data, nil
	}
	return ReadFile(p.File, maxPEM)
}

// TLS says whom to trust and who to be.
type TLS struct {
	RootCA      PEM // who may sign the other side; none: the public roots
	Certificate PEM // own certificate, for mutual authentication
	Key         PEM
	// AnyName does not compare the certificate with the host name.
	AnyName bool

	ServerCertificate PEM // own certificate, for who connects to us
	ServerKey         PEM
	// Mutual lets only those in whose certificate RootCA signed.
	Mutual bool
}

// Check reads all that is named, and fails with [ErrTLS] if something is no
// certificate or key, or they do not fit together.
func (o *TLS) Check() error {
	_, err := o.roots()
	if err == nil {
		_, err = pair("own certificate", o.Certificate, o.Key)
	}
	if err == nil {
		_, err = pair("certificate for listening", o.ServerCertificate, o.ServerKey)
	}
	return err
}

func (o *TLS) config(e Endpoint) (*tls.Config, error) {
	if o == nil {
		o = &TLS{}
	}
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if c.RootCAs, err = o.roots(); err != nil {
		return nil, err
	}
	if c.Certificates, err = pair("own certificate", o.Certificate, o.Key); err != nil {
		return nil, err
	}
	if o.AnyName {
		// The chain is still verified, only the name is not.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, c.RootCAs) }
	}
	return c, nil
}

func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the other side has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// roots are those who may sign the other side; nil: the public ones.
func (o *TLS) roots() (*x509.CertPool, error) {
	if o.RootCA.IsZero() {
		return nil, nil
	}
	pem, err := o.RootCA.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: root CA: %w", ErrTLS, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: root CA %s: no certificate in it", ErrTLS, o.RootCA.File)
	}
	return pool, nil
}

// pair reads a certificate with its key; nil where none is given.
func pair(what string, c, k PEM) ([]tls.Certificate, error) {
	if c.IsZero() != k.IsZero() {
		return nil, fmt.Errorf("%w: %s and key must be given together", ErrTLS, what)
	}
	if c.IsZero() {
		return nil, nil
	}
	cert, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTLS, what, err)
	}
	key, err := k.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: key of the %s: %w", ErrTLS, what, err)
	}
	p, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%w: %s and key: %w", ErrTLS, what, err)
	}
	return []tls.Certificate{p}, nil
}

// serve is the configuration for those who connect to us.
func (o *TLS) serve() (*tls.Config, error) {
	if o == nil || o.ServerCertificate.IsZero() {
		return nil, fmt.Errorf("%w: listening needs a certificate and its key", ErrTLS)
	}
	certs, err := pair("certificate for listening", o.ServerCertificate, o.ServerKey)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: certs, MinVersion: tls.VersionTLS12}
	if o.Mutual {
		c.MinVersion = tls.VersionTLS13 // as the reference does
		c.ClientAuth = tls.RequireAndVerifyClientCert
		if c.ClientCAs, err = o.roots(); err != nil {
			return nil, err
		}
		if c.ClientCAs == nil {
			return nil, fmt.Errorf("%w: mutual TLS needs a root CA for those who connect", ErrTLS)
		}
	}
	return c, nil
}
