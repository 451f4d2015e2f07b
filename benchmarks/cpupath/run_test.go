// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childWord { // the benchmark runs this binary again as its processes
		os.Exit(childMain(context.Background(), os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

func tiny(t *testing.T, args ...string) Options {
	t.Helper()
	args = append([]string{
		"-python", venv.ROS2.Python(t), "-deploy", "../../deploy/zenoh", "-o", t.TempDir(),
		"-size", "57600", "-duration", "100ms", "-repeats", "1", "-seed", "7",
	}, args...)
	o, err := parseOptions(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A run has a row for each block, and what the subscribers had is what was
// sent, or counted as missed.
func TestCompare(t *testing.T) {
	o := tiny(t)
	var out, errs strings.Builder
	if err := compare(context.Background(), o, &out, &errs); err != nil {
		t.Fatalf("%v; %s", err, errs.String())
	}
	files, err := filepath.Glob(filepath.Join(o.Out, "*", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 1+2*len(sides) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, r := range rows[1:] {
		if r[column["received"]] == "0" || r[column["publisher_cpu_ns_per_frame"]] == "0" || (r[column["hop_cpu_ns_per_frame"]] == "") != (r[column["side"]] == "socket" || strings.HasSuffix(r[column["side"]], "_peer")) {
			t.Errorf("%v", r)
		}
		if r[column["copies"]] != "0" || r[column["conversions"]] != "0" {
			t.Errorf("pixels were copied on the way: %v", r)
		}
	}
	for _, s := range sides {
		if !strings.Contains(out.String(), " "+s.Name+" ") {
			t.Errorf("no line of %s in\n%s", s.Name, out.String())
		}
	}
}

// Frames over Zenoh and by shared memory are those of the camera, also beside a
// subscriber that stands still.
func TestSoak(t *testing.T) {
	o := tiny(t, "-soak", "300ms", "-rate", "100", "-cameras", "2", "-stopped")
	var out strings.Builder
	if err := soak(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"camera0", "camera1", "shm", "the router", "camera1/color by cpu", "stands still"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"-size 7":        "no picture of rgb8 has 7 bytes",
		"-sides ftp":     "no side is called \"ftp\"",
		"-rate 0":        "must be above 0",
		"-window 0":      "must be from 1 to 64",
		"-cameras 17":    "must be from 1 to 16",
		"-repeats 0":     "must be above 0",
		"-soak 1s other": "unexpected argument",
	} {
		if _, err := parseOptions(strings.Fields(text), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if o, err := parseOptions(nil, io.Discard); err != nil || o.Size != 6220800 || o.Duration != 2*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
}

// What a subscriber tells is what the publisher wrote into the frame, and when it had it.
func TestRecords(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	pixels, scratch := make([]byte, 64), make([]byte, recordBytes)
	ready := stamp(pixels, 9)
	if err := tell(w, scratch, pixels, ready+5); err != nil {
		t.Fatal(err)
	}
	if err := tell(w, scratch, pixels[:8], 1); err == nil {
		t.Error("a frame without room for a stamp is told of")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c := make(chan record, 2)
	readRecords(r, c)
	if got := <-c; got != (record{9, ready, ready + 5}) {
		t.Errorf("%+v", got)
	}
	if _, more := <-c; more {
		t.Error("a second record")
	}
}
