// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
)

// benchRun is a run of camsub bench that has ended.
type benchRun struct{ rows, samples []map[string]string }

// oneRun reads the only run below a folder.
func oneRun(t testing.TB, out string) benchRun {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "*", "meta.json"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("runs in %s: %v, error %v, want one", out, dirs, err)
	}
	dir := filepath.Dir(dirs[0])
	return benchRun{rows: table(t, filepath.Join(dir, "latency.csv")), samples: table(t, filepath.Join(dir, "samples.csv"))}
}

// table reads a CSV file into a map of columns for each row.
func table(t testing.TB, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d lines, error %v", path, len(all), err)
	}
	var out []map[string]string
	for _, fields := range all[1:] {
		row := make(map[string]string)
		for i, name := range all[0] {
			row[name] = fields[i]
		}
		out = append(out, row)
	}
	return out
}

func integer(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// barcodes builds the program that reads what the pattern draws.
func barcodes(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "barcodes")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../benchmarks/barcodes")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building barcodes: %v\n%s", err, out)
	}
	return path
}

// TestBenchStampsAreThoseOfThePicture holds number and capture time of each
// frame against what another program reads out of its pixels.
func TestBenchStampsAreThoseOfThePicture(t *testing.T) {
	t.Parallel()
	program := barcodes(t)
	d := startDaemon(t, "test=pattern,640x480@100")
	reader := start(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, program, "-warmup", "0", "-frames", "1000000", "test/color")
	d.subscribed(1)
	out := t.TempDir()
	if b := d.camsub("bench", "test/color", "--samples", "150", "--warmup", "5", "--no-plot", "-o", out); b.wait() != 0 {
		t.Fatalf("bench: %s", b.err.String())
	}
	reader.interrupt()
	drawn := make(map[string]int64)
	for _, line := range strings.Split(reader.out.String(), "\n") {
		if f := strings.Split(line, ","); len(f) == 3 && f[0] != "number" {
			drawn[f[0]] = integer(t, f[1])
		}
	}
	run := oneRun(t, out)
	if len(run.samples) != 150 {
		t.Errorf("%d samples, want 150", len(run.samples))
	}
	both := 0
	for _, s := range run.samples {
		micros, ok := drawn[s["driver_sequence"]]
		if !ok {
			continue // one of the two was too slow for it
		}
		both++
		if got := integer(t, s["capture_ns"]) / 1000; got != micros {
			t.Errorf("frame %s was captured at %d µs by its stamp, at %d µs by its picture", s["driver_sequence"], got, micros)
		}
		if usable := integer(t, s["usable_ns"]); usable < integer(t, s["ready_ns"]) || usable < integer(t, s["publish_ns"]) {
			t.Errorf("frame %s was usable before it was there: %v", s["driver_sequence"], s)
		}
	}
	if both == 0 {
		t.Errorf("no frame was seen by both, of %d drawn", len(drawn))
	}
}

// TestBenchInterrupted stops bench in the middle and wants what it has, whole.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@100")
	out := t.TempDir()
	b := d.camsub("bench", "test/color", "--samples", "1000000", "--warmup", "0", "--lines", "--no-plot", "-o", out)
	eventually(t, "bench measures", func() (bool, string) {
		s := b.out.String()
		return strings.Count(s, "\n") > 20, proctest.Tail(s)
	})
	b.interrupt()
	run := oneRun(t, out)
	if len(run.samples) <= 20 {
		t.Fatalf("%d samples were kept", len(run.samples))
	}
	first, last := integer(t, run.samples[0]["sequence"]), integer(t, run.samples[len(run.samples)-1]["sequence"])
	for _, r := range run.rows {
		if dropped := integer(t, r["dropped"]); int64(len(run.samples))+dropped != last-first+1 {
			t.Errorf("%s: received %d + dropped %d, published %d", r["metric"], len(run.samples), dropped, last-first+1)
		}
	}
}

// TestBenchFullDisk limits the size of files: no result is left that is short.
func TestBenchFullDisk(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@100")
	out := t.TempDir()
	expect(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, 1, []string{"results were not kept", "file too large"},
		"/bin/sh", "-c", `ulimit -f 8; exec "$0" "$@"`, built.camsub, "bench", "test/color", "--samples", "200", "--no-plot", "-o", out)
	if names := filesIn(t, out); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// TestSweepOfPrograms runs one small cell of each kind by the built program.
func TestSweepOfPrograms(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	expect(t, nil, 0, []string{"written to"}, built.camsub,
		"sweep", "--sizes", "4096", "--samples", "50", "--spacing", "1ms", "--no-plot", "--compat", "dora", "-o", out)
	run := oneRun(t, out)
	count := make(map[string]string)
	for _, r := range run.rows {
		if r["metric"] == "ready_to_usable" {
			count[r["phase"]] = r["count"]
		}
	}
	if count["shm/4096"] != "50" || count["floor_shm/4096"] != "50" {
		t.Errorf("counts %v, want 50 of both", count)
	}
	if rows := table(t, filepath.Join(out, "dora.csv")); len(rows) != 2 {
		t.Errorf("%d rows in dora.csv, want 2", len(rows))
	}
}

// TestSoakBenchAgrees measures the same frames with bench and with the program
// that reads barcodes. They come up to 20 ms after their capture, a time beside
// which it hardly matters who of the two is woken first.
func TestSoakBenchAgrees(t *testing.T) {
	needSoak(t)
	program := barcodes(t)
	d := startDaemon(t, "test=pattern,1280x720@30,fault.jitter=20ms")
	reader := start(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, program, "-warmup", "0", "-frames", "1000000", "test/color")
	d.subscribed(1)
	out := t.TempDir()
	if b := d.camsub("bench", "test/color", "--samples", "1500", "--no-plot", "-o", out); b.wait() != 0 {
		t.Fatal(b.err.String())
	}
	reader.interrupt()
	drawn := make(map[string]float64)
	for _, line := range strings.Split(reader.out.String(), "\n") {
		if f := strings.Split(line, ","); len(f) == 3 && f[0] != "number" {
			drawn[f[0]] = float64(integer(t, f[2]) - integer(t, f[1])*1000)
		}
	}
	run := oneRun(t, out)
	var theirs, apart []float64
	for _, s := range run.samples {
		if x, ok := drawn[s["driver_sequence"]]; ok {
			theirs = append(theirs, x)
			apart = append(apart, float64(integer(t, s["usable_ns"])-integer(t, s["capture_ns"]))-x)
		}
	}
	for _, r := range run.rows {
		if r["metric"] != "capture_to_usable" {
			continue
		}
		ours := float64(integer(t, r["p50"]))
		t.Logf("median of %d frames: %.1f µs in latency.csv, %.1f µs of the %d that the barcodes tell; %.1f µs apart in the median",
			len(run.samples), ours/1000, median(theirs)/1000, len(theirs), median(apart)/1000)
		if ratio := ours / median(theirs); ratio < 0.98 || ratio > 1.02 {
			t.Errorf("bench says %.4f of what the barcodes say, want 0.98 to 1.02", ratio)
		}
	}
}

// TestSoakBenchDisturbsNothing counts the frames of a camera while bench starts
// and stops beside another reader, and while it does not.
func TestSoakBenchDisturbsNothing(t *testing.T) {
	needSoak(t)
	d := startDaemon(t, "test=pattern,640x480@60")
	d.reader().await(1)
	count := func(work func(until time.Time)) float64 {
		began, from := time.Now(), d.stream().Published
		work(began.Add(20 * time.Second))
		return float64(d.stream().Published-from) / time.Since(began).Seconds()
	}
	for round := range 3 {
		quiet := count(func(until time.Time) { pause(time.Until(until)) })
		starts := 0
		busy := count(func(until time.Time) {
			for time.Now().Before(until) {
				b := d.camsub("bench", "test/color", "--samples", "20", "--warmup", "2", "--no-plot", "-o", t.TempDir())
				if starts%2 == 0 {
					b.wait()
				} else { // in the middle of its work
					pause(100 * time.Millisecond)
					b.signal(syscall.SIGKILL)
					b.wait()
				}
				starts++
			}
		})
		t.Logf("round %d: %.3f Hz alone, %.3f Hz beside %d starts of bench", round, quiet, busy, starts)
		if off := busy/quiet - 1; off < -0.005 || off > 0.005 {
			t.Errorf("the rate changed by %.2f %%", off*100)
		}
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
