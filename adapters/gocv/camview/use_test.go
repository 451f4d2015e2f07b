// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// counter is the number of the pattern's frame that is seen.
func (w *window) counter() (n uint32, err error) {
	code, err := w.shot().code()
	return code.Counter, err
}

// awaitFrames waits until the daemon has published so many more frames.
func awaitFrames(t testing.TB, sub *client.Subscription, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	for range n {
		f, err := sub.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
}

func subscribe(t testing.TB, dir, stream string) *client.Subscription {
	t.Helper()
	sub, err := client.Subscribe(context.Background(), stream, client.WithRuntimeDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Close() })
	return sub
}

// moves waits until frames come.
func (w *window) moves() {
	w.t.Helper()
	first := uint32(0)
	eventually(w.t, "pictures that move", func() (bool, string) {
		n, err := w.counter()
		if err != nil {
			return false, err.Error()
		}
		if first == 0 {
			first = n
		}
		return n != first, fmt.Sprint(n)
	})
}

// stands waits until none do, though they are published.
func (w *window) stands(sub *client.Subscription) {
	w.t.Helper()
	eventually(w.t, "a picture that stands", func() (bool, string) {
		before, err := w.counter()
		if err != nil {
			return false, err.Error()
		}
		awaitFrames(w.t, sub, 8)
		after, err := w.counter()
		return err == nil && after == before, fmt.Sprintf("%d, then %d: %v", before, after, err)
	})
}

func TestKeys(t *testing.T) {
	s := startScreen(t)
	dir, folder := runtimeDir(t), t.TempDir()
	startCamd(t, dir, nil, patternCamera("test", frame.BGRA8, 9))
	sub := subscribe(t, dir, "test/color")
	w := s.view(dir, "test/color", "--folder", folder)
	eventually(t, "shaded ground on the left, none elsewhere", func() (bool, string) {
		last := w.shot()
		shaded, bare := last.at(4, 40), last.at(patternWidth*7/16, patternHeight-60)
		return shaded.near(rgb{67, 67, 67}, 4) && bare.near(rgb{0, 191, 0}, 6), fmt.Sprint(shaded, bare)
	})
	eventually(t, "white letters", func() (bool, string) {
		last := w.shot()
		white := 0
		for y := range 60 {
			for x := range 300 {
				if last.at(x, y).near(rgb{255, 255, 255}, 20) {
					white++
				}
			}
		}
		last.keep(t, "overlay")
		return white > 100, fmt.Sprint(white)
	})
	w.press('o')
	eventually(t, "the pattern alone", func() (bool, string) {
		got := w.shot().at(4, 40)
		return got.near(rgb{191, 191, 191}, 6), fmt.Sprint(got)
	})
	w.moves()

	w.press('p')
	w.stands(sub)
	w.press(keyLeft) // whose code ends with that of Q
	w.stands(sub)
	for n := 1; n <= 2; n++ {
		w.press('s')
		eventually(t, fmt.Sprintf("file %d", n), func() (bool, string) {
			return strings.Count(w.out.String(), "of test/color, 640x360 bgra8\n") == n, w.out.String()
		})
	}
	files, err := filepath.Glob(filepath.Join(folder, "test_color-*.png"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v: %v", files, err)
	}
	var saved [2]shot
	for i, f := range files {
		saved[i] = readPNG(t, f)
		if ok, why := saved[i].isPattern(frame.BGRA8, 9); !ok {
			t.Errorf("%s: %s", f, why)
		}
	}
	if !bytes.Equal(saved[0].bgrx, saved[1].bgrx) {
		t.Error("the picture that stands was saved as two different ones")
	}
	w.press(' ')
	w.moves()
	w.press('n')
	eventually(t, "word that there is no other stream", func() (bool, string) {
		return strings.Contains(w.err.String(), "there is no other stream"), w.err.String()
	})
	w.press(keyEscape)
	w.ends(0)
}

func readPNG(t testing.TB, name string) shot {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	s := shot{width: m.Bounds().Dx(), height: m.Bounds().Dy()}
	for y := range s.height {
		for x := range s.width {
			r, g, b, _ := m.At(x, y).RGBA()
			s.bgrx = append(s.bgrx, byte(b>>8), byte(g>>8), byte(r>>8), 0)
		}
	}
	return s
}

// A picture without a daemon is dark, and comes back by itself.
func TestDaemonRestart(t *testing.T) {
	s := startScreen(t)
	dir := runtimeDir(t)
	camd := startCamd(t, dir, nil, patternCamera("test", frame.BGRA8, 1))
	w := s.view(dir, "test/color", "--no-overlay")
	shows := func(number int) {
		t.Helper()
		eventually(t, "the pattern", func() (bool, string) { return w.shot().isPattern(frame.BGRA8, number) })
	}
	shows(1)
	camd.kill()
	eventually(t, "a dark picture", func() (bool, string) {
		last := w.shot()
		got := last.at(patternWidth*7/16, patternHeight-60) // the green bar, below what is written
		last.keep(t, "waiting")
		return got.near(rgb{0, 67, 0}, 6), fmt.Sprint(got)
	})
	startCamd(t, dir, nil, patternCamera("test", frame.BGRA8, 2))
	shows(2)
	// timeout(1) and terminals signal twice.
	w.signal(os.Interrupt)
	_ = w.cmd.Process.Signal(os.Interrupt) // it may have ended
	w.ends(0)
}

// Frames of ROS 2 topics, raw and compressed, look as those of the stream.
func TestTopics(t *testing.T) {
	s := startScreen(t)
	dir, port := runtimeDir(t), proctest.Port(t)
	env := fmt.Sprintf(`%s=mode="peer";scouting/multicast/enabled=false;listen/endpoints=["tcp/127.0.0.1:%d"]`, config.EnvOverride, port)
	startCamd(t, dir, []string{env}, sceneCamera(t, "scene", frame.NV12))
	at := image.Rect(0, 0, 320, 240)
	for topic, e := range map[string]frame.Encoding{"/scene/color/image_raw": frame.NV12, "/scene/color/image_raw/compressed": frame.JPEG} {
		w := s.view(runtimeDir(t), topic, "--wait", "--no-overlay", "--connect", fmt.Sprintf("tcp/127.0.0.1:%d", port))
		var last shot
		eventually(t, topic, func() (bool, string) {
			last = w.shot()
			done, why := last.isScene(e, at)
			return done, why + w.err.String()
		})
		last.keep(t, topic)
		w.signal(syscall.SIGTERM)
		w.ends(0)
	}
}

func TestWithoutWindow(t *testing.T) {
	dir := runtimeDir(t)
	startCamd(t, dir, nil, patternCamera("test", frame.YUV422YUY2, 3))
	file := filepath.Join(t.TempDir(), "x.png")
	p := start(t, "camview", nil, "test/color", "--runtime-dir", dir, "--snapshot", file)
	p.ends(0)
	if !strings.HasPrefix(p.out.String(), file+": frame ") {
		t.Errorf("said %q", p.out.String())
	}
	if code, err := readPNG(t, file).code(); err != nil || code.Camera != 3 {
		t.Errorf("code %v: %v", code, err)
	}
	// The picture that was there is replaced by a whole one, not written over.
	old, linked := readFile(t, file), file+".old"
	if err := os.Link(file, linked); err != nil {
		t.Fatal(err)
	}
	start(t, "camview", nil, "test/color", "--runtime-dir", dir, "--snapshot", file).ends(0)
	if !bytes.Equal(readFile(t, linked), old) || bytes.Equal(readFile(t, file), old) {
		t.Error("the file that was there was written over")
	}
	for _, tc := range []struct {
		args, display string
		code          int
		says          string
	}{
		{"test/color", "", 1, "camview: no display: DISPLAY is not set"},
		{"test/color", ":9999", 1, "camview: no display at DISPLAY=:9999: "},
		{"test/colr --snapshot " + file, "", 4, `unknown stream "test/colr", did you mean test/color?`},
		{"test/color --snapshot x.bmp", "", 2, "must end in .png, .jpg or .jpeg"},
		{"test/color --near 3 --far 2", "", 2, "--near 3 --far 2"},
		{"test/color --folder " + file, "", 2, "is no folder"},
		{"test/color --snapshot " + file + " --require cuda", "", 5, "cuda"},
		{"", "", 2, "which stream?"},
	} {
		p := start(t, "camview", []string{"DISPLAY=" + tc.display}, append(strings.Fields(tc.args), "--runtime-dir", dir)...)
		p.ends(tc.code)
		if !strings.Contains(p.err.String(), tc.says) || strings.Contains(p.err.String(), "goroutine") {
			t.Errorf("%s: said %q", tc.args, p.err.String())
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A display that goes away is the end, with an error and without a crash.
func TestDisplayGone(t *testing.T) {
	s := startScreen(t)
	dir := runtimeDir(t)
	startCamd(t, dir, nil, patternCamera("test", frame.BGRA8, 1))
	w := s.view(dir, "test/color")
	w.moves()
	if err := s.server.Kill(); err != nil {
		t.Fatal(err)
	}
	w.ends(1)
	if said := w.err.String(); !strings.Contains(said, "X11 connection broke") || strings.Contains(said, "goroutine") {
		t.Errorf("said %q", said)
	}
}

// A stream without frames opens a window all the same; --timeout and --duration
// end it.
func TestSilentStream(t *testing.T) {
	s := startScreen(t)
	dir := runtimeDir(t)
	startCamd(t, dir, nil, "test=pattern:,64x48@30,fault.stall=1s/300s")
	w := s.view(dir, "test/color")
	w.signal(syscall.SIGTERM)
	w.ends(0)
	// The time may be over before there is a window.
	for limit, code := range map[string]int{"--timeout": 6, "--duration": 0} {
		start(t, "camview", []string{"DISPLAY=" + s.display}, "test/color", limit, "1s", "--runtime-dir", dir).ends(code)
	}
}
