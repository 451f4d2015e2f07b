// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/base64"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// Link returns the settings as the link takes them.
func (t TLS) Link() (*link.TLS, error) {
	o := &link.TLS{AnyName: !t.VerifyName}
	var err error
	pem := func(name, file, b64 string) (p link.PEM) {
		switch {
		case file != "" && b64 != "":
			err = fmt.Errorf("transport/link/tls/%s is given as a file and in base64", name)
		case b64 != "":
			data, e := base64.StdEncoding.DecodeString(b64)
			if e != nil {
				err = fmt.Errorf("transport/link/tls/%s_base64: %w", name, e)
			}
			p.Data = data
		default:
			p.File = file
		}
		return p
	}
	o.RootCA = pem("root_ca_certificate", t.RootCA, t.RootCABase64)
	o.Certificate = pem("connect_certificate", t.ConnectCertificate, t.ConnectCertificate64)
	o.Key = pem("connect_private_key", t.ConnectKey, t.ConnectKey64)
	o.ServerCertificate = pem("listen_certificate", t.ListenCertificate, t.ListenCertificate64)
	o.ServerKey = pem("listen_private_key", t.ListenKey, t.ListenKey64)
	o.Mutual = t.MutualTLS
	if err == nil && t.MutualTLS && o.ServerCertificate.IsZero() && (o.Certificate.IsZero() || o.Key.IsZero()) {
		err = fmt.Errorf("transport/link/tls/enable_mtls needs connect_certificate and connect_private_key")
	}
	return o, err
}
