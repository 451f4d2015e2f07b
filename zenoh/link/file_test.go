// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		read       func(string, int64) ([]byte, error)
		limit      int64
		want       string
	}{
		{"file", file, ReadFile, 4, ""},
		{"file too long", file, ReadFile, 3, "has more than 3 bytes"},
		{"pipe", fifo, ReadFile, 4, "is not a regular file"},
		{"pipe to which nobody writes", fifo, ReadFileOrPipe, 4, "is a pipe to which nobody writes"},
		{"endless device", "/dev/zero", ReadFileOrPipe, 4, "is not a regular file"},
		{"directory", dir, ReadFileOrPipe, 4, "is not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := c.read(c.path, c.limit)
			if c.want == "" {
				if err != nil || string(data) != "1234" {
					t.Errorf("%q, %v", data, err)
				}
				return
			}
			if !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Run("a pipe that is written to", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := w.WriteString("1234"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if data, err := ReadFileOrPipe(fmt.Sprintf("/dev/fd/%d", r.Fd()), 4); err != nil || string(data) != "1234" {
			t.Errorf("%q, %v", data, err)
		}
	})
	t.Run("certificates", func(t *testing.T) {
		for _, tls := range []*TLS{
			{RootCA: PEM{File: fifo}},
			{Certificate: PEM{File: fifo}, Key: PEM{File: fifo}},
			{ServerCertificate: PEM{File: "/dev/zero"}, ServerKey: PEM{File: fifo}},
		} {
			if err := tls.Check(); !errors.Is(err, ErrTLS) || !errors.Is(err, ErrFile) {
				t.Errorf("got %v", err)
			}
		}
	})
}
