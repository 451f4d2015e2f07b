// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"strings"

	"github.com/seed-3c7e7623/camd/calib"
	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	zenoh "github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// keyCameraInfo is the file of a camera's or stream's calibration.
const keyCameraInfo = "camera_info"

// CheckFiles reads the files that the settings name: Zenoh's, with the
// certificates and users in it, and the cameras' calibrations; it looks whether the
// library of cuda is there. It fails with [*Error].
// Each problem has the place of the setting and, in its text, that in the file.
func (c *Config) CheckFiles() error {
	r := &report{lines: c.lines}
	c.checkCUDA(r, driver.ErrFile)
	c.checkZenoh(r)
	for _, s := range c.Settings {
		name, key, ok := splitCamera(s.Key)
		if ok && s.Value != "" && (key == keyCameraInfo || strings.HasSuffix(key, "."+keyCameraInfo)) {
			c.checkCalibration(r, name, key, s)
		}
	}
	return r.err()
}

func (c *Config) checkZenoh(r *report) {
	if c.Zenoh.Enabled == EnabledNo {
		return
	}
	where := c.origin(keyZenohConfig)
	session, err := c.Session()
	if err != nil {
		r.add(where, "%s: %s", keyZenohConfig, err)
		return
	}
	tls, err := session.TLS.Link()
	if err != nil {
		r.add(where, "%s: %s", keyZenohConfig, err)
		return
	}
	fine := true
	for _, file := range [][2]string{
		{"root_ca_certificate", session.TLS.RootCA},
		{"connect_certificate", session.TLS.ConnectCertificate},
		{"connect_private_key", session.TLS.ConnectKey},
		{"listen_certificate", session.TLS.ListenCertificate},
		{"listen_private_key", session.TLS.ListenKey},
	} {
		key, path := "transport/link/tls/"+file[0], file[1]
		if path == "" {
			continue
		}
		if _, err := (link.PEM{File: path}).Read(); err != nil {
			r.add(where, "%s: %s: %s (%s)", keyZenohConfig, key, err, source(session, key))
			fine = false
		}
	}
	if err := tls.Check(); err != nil && fine {
		r.add(where, "%s: transport/link/tls: %s", keyZenohConfig, err)
	}
	if _, err := session.Users(); err != nil {
		r.add(where, "%s: %s (%s)", keyZenohConfig, err, source(session, "transport/auth/usrpwd/dictionary_file"))
	}
}

// builtIn is the source of keys that nothing sets.
const builtIn = "built-in"

// source is where a key of Zenoh's is said.
func source(c *zenoh.Config, key string) string {
	for _, s := range c.Explain() {
		if s.Key == key {
			return s.Source
		}
	}
	return builtIn
}

// origin is what set a key.
func (c *Config) origin(key string) Origin {
	for _, s := range c.Settings {
		if s.Key == key {
			return s.Set
		}
	}
	return Origin{}
}

func (c *Config) checkCalibration(r *report, name, key string, s Setting) {
	got, err := calib.Load(strings.TrimPrefix(s.Value, "file://"))
	if err != nil {
		r.add(s.Set, "camera %s: %s: %s", name, key, err)
		return
	}
	if key != keyCameraInfo && key != streamPath(mainStream, keyCameraInfo) {
		return // its size is not said before the device is opened
	}
	for _, spec := range c.Cameras {
		width, height := spec.Width, spec.Height
		if width == 0 && spec.Kind == "pattern" {
			width, height = pattern.DefaultWidth, pattern.DefaultHeight
		}
		if spec.Name != name || width == 0 {
			continue
		}
		if _, err := got.Scale(width, height); errors.Is(err, calib.ErrSize) {
			r.add(s.Set, "camera %s: %s: %s: %s", name, key, s.Value, err)
		}
	}
}
