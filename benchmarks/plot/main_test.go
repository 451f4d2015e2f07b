// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runOf copies a run that camsub's own tests hold to a new folder.
func runOf(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "internal", "bench", "testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func plotted(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := command(args, &out, &errs); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, errs.String())
	}
	return out.String() + errs.String()
}

// words are the texts of an SVG file, which is well-formed.
func words(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, "|")
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if text, ok := token.(xml.CharData); ok {
			if s := strings.TrimSpace(string(text)); s != "" {
				out = append(out, s)
			}
		}
	}
}

// checkPNG holds that a picture has no colour, and is neither empty nor full.
func checkPNG(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	dark, all := 0, 0
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			r, g, b, _ := m.At(x, y).RGBA()
			if r != g || g != b {
				t.Fatalf("%s has a colour at %d,%d", path, x, y)
			}
			if all++; r < 0x8000 {
				dark++
			}
		}
	}
	if all < 300_000 || dark < all/500 || dark > all/5 {
		t.Errorf("%s: %d of %d pixels are dark", path, dark, all)
	}
}

func TestPicturesOfARun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		texts map[string][]string
	}{
		{"bench", map[string][]string{
			"distribution": {"front/color", "time from ready to usable in µs", "frames that were usable by then in %", "shm, 40 frames", "cpu, 40 frames", "cuda (NOT VALID), 36 frames", "100"},
		}},
		{"gpu", map[string][]string{
			"distribution": {"front/color, on a SIMULATED GPU", "cuda, 40 frames", "shm, 40 frames", "cpu (host memory), 40 frames"},
		}},
		{"sweep", map[string][]string{
			"latency-over-size":    {"payload in bytes", "time from ready to usable in µs", "shm", "cpu", "floor: memory and futex", "floor: socket", "8 B", "4.096 kB", "4.096 MB", "10000"},
			"read-over-size":       {"payload in bytes", "time from ready to read in µs", "floor: socket"},
			"distribution-8":       {"payload of 8 B", "floor: socket, 40 frames"},
			"distribution-4096":    {"payload of 4.096 kB"},
			"distribution-4096000": {"payload of 4.096 MB"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := runOf(t, tc.name)
			plotted(t, 0, dir)
			for name, texts := range tc.texts {
				svg := words(t, filepath.Join(dir, name+".svg"))
				for _, want := range texts {
					if !strings.Contains(svg, want) {
						t.Errorf("%s.svg lacks %q: %s", name, want, svg)
					}
				}
				checkPNG(t, filepath.Join(dir, name+".png"))
			}
			entries, err := os.ReadDir(dir)
			if want := 3 + 2*len(tc.texts); err != nil || len(entries) != want {
				t.Errorf("%d files, want %d: %v", len(entries), want, err)
			}
			// What is there stays.
			mark := filepath.Join(dir, entries[0].Name())
			if err := os.WriteFile(mark, []byte("mine"), 0o666); err != nil {
				t.Fatal(err)
			}
			plotted(t, 0, dir)
			if b, err := os.ReadFile(mark); err != nil || string(b) != "mine" {
				t.Errorf("%s was drawn over: %v", mark, err)
			}
		})
	}
}

func TestNothingToDraw(t *testing.T) {
	empty := t.TempDir()
	if text := plotted(t, 1, empty); !strings.Contains(text, "no results of a run") {
		t.Error(text)
	}
	damaged := runOf(t, "bench")
	if err := os.WriteFile(filepath.Join(damaged, "samples.csv"), []byte("a,b\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := plotted(t, 1, damaged); !strings.Contains(text, `no column "phase"`) {
		t.Error(text)
	}
	none := runOf(t, "bench")
	header := "run_id,phase,backend,sequence,driver_sequence,capture_ns,ready_ns,publish_ns,usable_ns,read_ns,pixel\n"
	if err := os.WriteFile(filepath.Join(none, "samples.csv"), []byte(header), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := plotted(t, 1, none); !strings.Contains(text, "nothing was measured") {
		t.Error(text)
	}
	plotted(t, 2)
	plotted(t, 2, "--nonsense")
	if text := plotted(t, 0, "--help"); !strings.HasPrefix(text, "Usage:") {
		t.Error(text)
	}
}

// TestQuantile holds the picture's median against the definition.
func TestQuantile(t *testing.T) {
	v := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func FuzzReadSamples(f *testing.F) {
	for _, name := range []string{"bench", "sweep"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "internal", "bench", "testdata", name, "samples.csv"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:2000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &run{Phases: []phase{{Name: "shm", Backend: "shm", Valid: true}}}
		if r.readSamples(bytes.NewReader(b)) == nil && len(r.Phases[0].usable) > 0 {
			if _, err := r.distribution(0); err != nil {
				t.Error(err)
			}
		}
	})
}
