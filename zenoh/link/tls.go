// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
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

func (p PEM) read() ([]byte, error) {
	if len(p.Data) > 0 {
		return p.Data, nil
	}
	return os.ReadFile(p.File)
}

// TLS says whom to trust and who to be.
type TLS struct {
	RootCA      PEM // who may sign the other side; none: the public roots
	Certificate PEM // own certificate, for mutual authentication
	Key         PEM
	// AnyName does not compare the certificate with the host name.
	AnyName bool
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
	if !o.RootCA.IsZero() {
		pem, err := o.RootCA.read()
		if err != nil {
			return nil, fmt.Errorf("%w: root CA: %w", ErrTLS, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: root CA %s: no certificate in it", ErrTLS, o.RootCA.File)
		}
	}
	if o.Certificate.IsZero() != o.Key.IsZero() {
		return nil, fmt.Errorf("%w: own certificate and key must be given together", ErrTLS)
	}
	if !o.Certificate.IsZero() {
		cert, err := o.Certificate.read()
		if err != nil {
			return nil, fmt.Errorf("%w: own certificate: %w", ErrTLS, err)
		}
		key, err := o.Key.read()
		if err != nil {
			return nil, fmt.Errorf("%w: own key: %w", ErrTLS, err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: own certificate and key: %w", ErrTLS, err)
		}
		c.Certificates = []tls.Certificate{pair}
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
