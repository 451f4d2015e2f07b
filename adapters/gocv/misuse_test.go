// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/msg"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
)

// onBothPaths runs f with frames of shared memory and with frames of a topic.
func onBothPaths(t *testing.T, f func(t *testing.T, s *client.Subscription, next func() client.Frame)) {
	g := geometry(t, frame.BGR8, 48, 32, 0)
	t.Run("shm", func(t *testing.T) {
		dir := startCamd(t, raw(t, "test", g, noise(g, 1)))
		s := subscribe(t, dir, "test/color", client.WithCredit(2))
		f(t, s, func() client.Frame { return next(t, s) })
	})
	t.Run("cpu", func(t *testing.T) {
		c := newTopic(t, msg.TypeImage, client.WithCredit(2))
		f(t, c.sub, func() client.Frame { return c.show("bgr8", g, noise(g, 1)) })
	})
}

// open shows a frame whose turn is over.
func open(t *testing.T, f client.Frame) *cvmat.Mat {
	t.Helper()
	m, err := cvmat.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Release()
	return m
}

func TestUseAfterClose(t *testing.T) {
	onBothPaths(t, func(t *testing.T, _ *client.Subscription, next func() client.Frame) {
		m := open(t, next())
		kept := m.Mat()
		if kept.Empty() {
			t.Error("empty before Close")
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if !kept.Empty() || kept.Rows() != 0 || cvmat.Memory(kept) != nil {
			t.Error("a kept gocv.Mat still shows the pixels")
		}
		if err := m.Close(); !errors.Is(err, cvmat.ErrClosed) || !strings.Contains(err.Error(), "misuse_test.go:") {
			t.Errorf("closed twice: %v", err)
		}
		if err := m.Valid(); !errors.Is(err, cvmat.ErrClosed) {
			t.Errorf("Valid after Close: %v", err)
		}
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, cvmat.ErrClosed) {
				t.Errorf("Mat after Close: %v", err)
			}
		}()
		m.Mat()
	})
}

// Whatever header shows the pixels keeps them.
func TestCloseWhileLent(t *testing.T) {
	onBothPaths(t, func(t *testing.T, _ *client.Subscription, next func() client.Frame) {
		m := open(t, next())
		mat := m.Mat()
		want := m.Clone()
		defer want.Close()
		lent := []gocv.Mat{mat.Region(image.Rect(8, 8, 16, 16)), mat.RowRange(2, 4), mat.Reshape(1, 0)}
		for i := range lent {
			err := m.Close()
			if !errors.Is(err, cvmat.ErrLent) {
				t.Fatalf("closed with %d headers: %v", len(lent)-i, err)
			}
			if got, want := lent[i].GetUCharAt(1, 4), byte(0); i == 2 {
				if want = m.Frame().Data()[48*3+4]; got != want {
					t.Errorf("a lent header shows %d, the frame has %d", got, want)
				}
			}
			_ = lent[i].Close()
		}
		if still := m.Mat(); still.Empty() {
			t.Error("emptied by a Close that failed")
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTaken(t *testing.T) {
	onBothPaths(t, func(t *testing.T, s *client.Subscription, next func() client.Frame) {
		before := cvmat.Opened()
		// Closed, as Mats of gocv are.
		m := open(t, next())
		mat := m.Mat()
		_ = mat.Close()
		if err := m.Close(); !errors.Is(err, cvmat.ErrTaken) {
			t.Errorf("closed by the program: %v", err)
		}
		// A destination of another size gets memory of its own: the program's.
		m = open(t, next())
		own := m.Mat()
		gocv.Resize(own, &own, image.Pt(8, 8), 0, 0, gocv.InterpolationNearestNeighbor)
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, cvmat.ErrTaken) {
					t.Errorf("Mat of what was overwritten: %v", err)
				}
			}()
			m.Mat()
		}()
		if err := m.Close(); !errors.Is(err, cvmat.ErrTaken) {
			t.Errorf("overwritten by the program: %v", err)
		}
		if own.Cols() != 8 {
			t.Errorf("what the program made has %d columns", own.Cols())
		}
		_ = own.Close()
		// Closed, and still shown by another: the order of two mistakes.
		m = open(t, next())
		mat = m.Mat()
		region := mat.Region(image.Rect(0, 0, 8, 8))
		_ = mat.Close()
		if err := m.Close(); !errors.Is(err, cvmat.ErrLent) {
			t.Errorf("closed by the program, and lent: %v", err)
		}
		_ = region.Close()
		if err := m.Close(); !errors.Is(err, cvmat.ErrTaken) {
			t.Errorf("closed by the program, and not lent any more: %v", err)
		}
		if n := cvmat.Opened(); n != before {
			t.Errorf("%d Mats are open", n-before)
		}
		for range 3 { // no credit was lost
			next().Release()
		}
		if n := s.Stats().Leaked; n != 0 {
			t.Errorf("%d frames leaked", n)
		}
	})
}

//go:noinline
func forget(t *testing.T, f client.Frame) { open(t, f) }

//go:noinline
func forgetButRegion(t *testing.T, f client.Frame) gocv.Mat {
	mat := open(t, f).Mat()
	return mat.Region(image.Rect(0, 0, 8, 8))
}

//go:noinline
func forgetButMat(t *testing.T, f client.Frame) *gocv.Mat {
	mat := open(t, f).Mat()
	return &mat
}

// leaked counts the Mats of one function of this file.
func leaked() (count, held int) {
	for _, l := range cvmat.Leaks() {
		if strings.Contains(l.Opened, "misuse_test.go:") && l.Sequence > 0 {
			count, held = count+l.Count, held+l.Held
		}
	}
	return count, held
}

func TestLeak(t *testing.T) {
	onBothPaths(t, func(t *testing.T, s *client.Subscription, next func() client.Frame) {
		count, held := leaked()
		open := cvmat.Opened()
		forget(t, next())
		eventually(t, "the leak is seen", func() bool { runtime.GC(); n, _ := leaked(); return n == count+1 })
		if n := cvmat.Opened(); n != open {
			t.Errorf("%d Mats are open", n-open)
		}
		if said := log.String(); !strings.Contains(said, "Mat was never closed") || !strings.Contains(said, "misuse_test.go:") {
			t.Errorf("logged: %s", said)
		}
		// A copy of the gocv.Mat keeps the frame, though the Mat is gone.
		kept := forgetButMat(t, next())
		for range 3 {
			runtime.GC()
		}
		if n, _ := leaked(); n != count+1 || kept.Empty() {
			t.Errorf("collected under a gocv.Mat: %d leaks", n-count)
		}
		runtime.KeepAlive(kept)
		eventually(t, "the second leak is seen", func() bool { runtime.GC(); n, _ := leaked(); return n == count+2 })
		next().Release() // both credits are there
		if n := s.Stats().Leaked; n != 0 {
			t.Errorf("%d frames reported by the client as well", n)
		}
		// A region is no Go memory: its pixels stay for good.
		region := forgetButRegion(t, next())
		eventually(t, "the third leak is seen", func() bool { runtime.GC(); n, h := leaked(); return n == count+3 && h == held+1 })
		if region.Empty() || region.GetVecbAt(1, 1) == nil {
			t.Error("emptied")
		}
		_ = region.Close()
		cvmat.LetGoForTests()
	})
}

const mistakeVariable = "CVMAT_TEST_MISTAKE"

// A mistake that only the processor sees ends the process that makes it, and no
// other one sees anything of it.
func TestFatalMistakes(t *testing.T) {
	g := geometry(t, frame.BGR8, 48, 32, 0)
	pixels := noise(g, 9)
	dir := startCamd(t, raw(t, "test", g, pixels))
	witness := subscribe(t, dir, "test/color")
	for _, tc := range []struct {
		name, path string
		guard      bool
		want       []string
	}{
		{"write", "shm", false, []string{"SIGSEGV", "during cgo execution", "gocv.Rectangle", "makeMistake"}},
		{"in place", "shm", false, []string{"segmentation fault"}}, // in a thread of OpenCV's: nothing says where
		{"function on a closed Mat", "shm", false, []string{"SIGABRT", "cv::Exception", "!_src.empty()", "makeMistake"}},
		{"old slice", "shm", true, []string{"unexpected fault address", "makeMistake"}},
		{"old header", "shm", true, []string{"SIGSEGV", "during cgo execution", "gocv.(*Mat).Clone", "makeMistake"}},
		{"write", "cpu", true, []string{"SIGSEGV", "during cgo execution", "gocv.Rectangle", "makeMistake"}},
		{"old slice", "cpu", true, []string{"unexpected fault address", "makeMistake"}},
		{"old header", "cpu", true, []string{"SIGSEGV", "during cgo execution", "gocv.(*Mat).Clone", "makeMistake"}},
		{"none", "shm", true, nil},
		{"none", "cpu", true, nil},
	} {
		t.Run(tc.path+" "+tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(bounded(t), os.Args[0])
			cmd.Env = append(os.Environ(), mistakeVariable+"="+tc.path+":"+tc.name, "CAMD_RUNTIME_DIR="+dir)
			if tc.guard {
				cmd.Env = append(cmd.Env, cvmat.EnvGuard+"=1")
			}
			out, err := cmd.CombinedOutput()
			out = fmt.Append(out, err)
			if tc.want == nil {
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			for _, want := range append(tc.want, "about to") {
				if err == nil || !bytes.Contains(out, []byte(want)) {
					t.Fatalf("%v, without %q:\n%.4000s", err, want, out)
				}
			}
			f := next(t, witness)
			defer f.Release()
			if !bytes.Equal(f.Data(), pixels) {
				t.Error("another subscriber sees what was written")
			}
		})
	}
}

// child is the test of a process that is about to die.
type child struct{ testing.TB }

func (child) Helper()                   {}
func (child) Cleanup(func())            {}
func (child) Fatal(args ...any)         { panic(args) }
func (child) Fatalf(f string, a ...any) { panic(f) }
func (child) Context() context.Context  { return context.Background() }

// makeMistake is what a child process does.
func makeMistake(what string) {
	path, name, _ := strings.Cut(what, ":")
	t := child{}
	var f client.Frame
	if path == "shm" {
		s, err := client.Subscribe(context.Background(), "test/color", client.WithAccept(negotiate.BackendSHM))
		if err != nil {
			panic(err)
		}
		f = next(t, s)
	} else {
		g := geometry(t, frame.BGR8, 48, 32, 0)
		f = newTopic(t, msg.TypeImage).show("bgr8", g, noise(g, 9))
	}
	m, err := cvmat.Open(f)
	if err != nil {
		panic(err)
	}
	mat := m.Mat()
	slice, err := mat.DataPtrUint8()
	if err != nil {
		panic(err)
	}
	other, err := mat.FromPtr(4, 4, gocv.MatTypeCV8UC1, 0, 0)
	if err != nil {
		panic(err)
	}
	sum := slice[5]
	_ = os.Stderr.Sync()
	os.Stderr.WriteString("about to: " + name + "\n")
	switch name {
	case "write":
		gocv.Rectangle(&mat, image.Rect(4, 4, 20, 20), blue, 2)
	case "in place":
		gocv.GaussianBlur(mat, &mat, image.Pt(3, 3), 0, 0, gocv.BorderDefault)
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	switch name {
	case "function on a closed Mat":
		dst := gocv.NewMat()
		gocv.CvtColor(mat, &dst, gocv.ColorBGRToGray)
	case "old slice":
		sum += slice[6]
	case "old header":
		copied := other.Clone()
		_ = copied.Close()
	}
	_ = other.Close()
	os.Stderr.WriteString("survived: " + name + string(rune('0'+sum%10)) + "\n")
}
