// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
)

func TestJournalLines(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, slog.LevelDebug, "text", true).With("camera", "test")
	log.Debug("d")
	log.Info("i", "n", 1)
	log.Warn("w")
	log.WithGroup("g").Error("e", "time", "kept")
	want := "<7>level=DEBUG msg=d camera=test\n<6>level=INFO msg=i camera=test n=1\n<4>level=WARN msg=w camera=test\n" +
		"<3>level=ERROR msg=e camera=test g.time=kept\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestJournalJSON(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, slog.LevelInfo, "json", true).Info("i", "n", 1)
	if want := "<6>{\"level\":\"INFO\",\"msg\":\"i\",\"n\":1}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// countingWriter counts writes: a line of the journal must be one.
type countingWriter struct{ n int }

func (c *countingWriter) Write(p []byte) (int, error) { c.n++; return len(p), nil }

func TestJournalLineIsOneWrite(t *testing.T) {
	var out countingWriter
	log := NewLogger(&out, slog.LevelInfo, "text", true)
	log.Info("a", "b", "c")
	log.Debug("not logged")
	if out.n != 1 {
		t.Errorf("%d writes", out.n)
	}
}

func TestLogFlags(t *testing.T) {
	var out bytes.Buffer
	fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags := AddLogFlags(fs, "warn")
	if err := fs.Parse([]string{"--log-format", "json"}); err != nil {
		t.Fatal(err)
	}
	log := flags.Logger(&out)
	log.Info("below the default")
	log.Warn("at it")
	if s := out.String(); strings.Contains(s, "below") || !strings.Contains(s, `"msg":"at it"`) || !strings.Contains(s, `"time":`) {
		t.Errorf("got %q", s)
	}
	if err := fs.Parse([]string{"--log-level", "info", "--log-format", "text"}); err != nil {
		t.Fatal(err)
	}
	flags.Logger(&out).Info("now it is")
	mustContain(t, "log", out.String(), `level=INFO msg="now it is"`)
}

func TestUnderJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	this := fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	if !UnderJournal(f, this) {
		t.Error("not recognised")
	}
	for _, other := range []string{"", "0:0", this + "1", "x"} {
		if UnderJournal(f, other) {
			t.Errorf("%q was taken for %q", other, this)
		}
	}
	if UnderJournal(&bytes.Buffer{}, this) {
		t.Error("a buffer is no journal")
	}
}
