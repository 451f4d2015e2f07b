// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package dl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func libc(t testing.TB) *Library {
	t.Helper()
	l, err := Open("libcamd-does-not-exist.so.1", "libc.so.6")
	if !Available {
		if !errors.Is(err, ErrBuiltWithoutDL) || l != nil {
			t.Fatalf("got %v, %v from a build that cannot open libraries", l, err)
		}
		t.Skip("built without libraries, and said so")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestCalls(t *testing.T) {
	l := libc(t)
	if l.Name() != "libc.so.6" {
		t.Errorf("opened %q", l.Name())
	}
	var getpid, strlen, strchr, closeFD, snprintf Func
	if err := l.Symbols(map[string]*Func{"getpid": &getpid, "strlen": &strlen, "strchr": &strchr, "close": &closeFD, "snprintf": &snprintf}); err != nil {
		t.Fatal(err)
	}
	if got := getpid.Call(nil); int(got) != os.Getpid() {
		t.Errorf("getpid: %d, want %d", got, os.Getpid())
	}
	text := []byte("a C string\x00")
	if got := strlen.Call([]uintptr{Address(&text[0])}); got != 10 {
		t.Errorf("strlen: %d", got)
	}
	if got := String(strchr.Call([]uintptr{Address(&text[0]), 'C'})); got != "C string" {
		t.Errorf("strchr: %q", got)
	}
	if got := String(strchr.Call([]uintptr{Address(&text[0]), 'x'})); got != "" {
		t.Errorf("strchr of what is not there: %q", got)
	}
	runtime.KeepAlive(text)
	if got := closeFD.Call([]uintptr{1 << 20}); int32(got) != -1 {
		t.Errorf("close of what is not open: %d", int32(got))
	}
	// More arguments than fit into registers.
	out, format := make([]byte, 64), []byte("%d %d %d %d %d %d %d %d\x00")
	snprintf.Call([]uintptr{Address(&out[0]), 64, Address(&format[0]), 1, 2, 3, 4, 5, 6, 7, 8})
	runtime.KeepAlive(format)
	if got := String(Address(&out[0])); got != "1 2 3 4 5 6 7 8" {
		t.Errorf("snprintf: %q", got)
	}
	runtime.KeepAlive(out)
}

func TestFile(t *testing.T) {
	l := libc(t)
	getpid, err := l.Symbol("getpid")
	if err != nil {
		t.Fatal(err)
	}
	if got := File(getpid); !filepath.IsAbs(got) || !strings.HasPrefix(filepath.Base(got), "libc") {
		t.Errorf("getpid is in %q", got)
	}
	if got := File(1); got != "" {
		t.Errorf("address 1 is in %q", got)
	}
	for _, c := range []struct {
		line    string
		address uint64
		path    string
		in      bool
	}{
		{"7f0000001000-7f0000002000 r-xp 00000000 08:01 1234       /opt/with a space/libx.so.1", 0x7f0000001000, "/opt/with a space/libx.so.1", true},
		{"7f0000001000-7f0000002000 r-xp 00000000 08:01 1234       /opt/libx.so.1", 0x7f0000002000, "", false},
		{"7f0000001000-7f0000002000 rw-p 00000000 00:00 0 ", 0x7f0000001fff, "", true},
		{"nonsense", 0, "", false},
		{"", 0, "", false},
	} {
		if path, in := mapped(c.line, c.address); path != c.path || in != c.in {
			t.Errorf("%q: got %q, %t", c.line, path, in)
		}
	}
}

// The loader's words belong to the thread that failed, and goroutines move.
func TestWordsOfTheLoader(t *testing.T) {
	libc(t)
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("libcamd-missing-%d.so", i)
		wg.Go(func() {
			for range 200 {
				if _, err := Open(name); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), name+": cannot open") {
					t.Errorf("%s: %v", name, err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

func TestStringIsBounded(t *testing.T) {
	long := []byte(strings.Repeat("x", 3*maxString))
	if got := String(Address(&long[0])); len(got) != maxString {
		t.Errorf("read %d bytes", len(got))
	}
	runtime.KeepAlive(long)
}

func TestCallsDoNotAllocate(t *testing.T) {
	l := libc(t)
	strlen, err := l.Symbol("strlen")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("0123456789\x00")
	args := make([]uintptr, 1)
	if n := testing.AllocsPerRun(100, func() {
		args[0] = Address(&text[0])
		if strlen.Call(args) != 10 {
			t.Fatal("wrong length")
		}
	}); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
	runtime.KeepAlive(text)
}

func TestWhatIsMissing(t *testing.T) {
	if _, err := Open("libcamd-a.so", "libcamd-b.so"); Available && (!errors.Is(err, ErrNoLibrary) ||
		!strings.Contains(err.Error(), "libcamd-a.so") || !strings.Contains(err.Error(), "libcamd-b.so")) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(); Available && !errors.Is(err, ErrNoLibrary) {
		t.Errorf("no name: got %v", err)
	}
	l := libc(t)
	if _, err := l.Symbol("camd_no_such_function"); !errors.Is(err, ErrNoSymbol) {
		t.Errorf("got %v", err)
	}
	var getpid, a, b Func
	err := l.Symbols(map[string]*Func{"camd_b": &b, "getpid": &getpid, "camd_a": &a})
	if !errors.Is(err, ErrNoSymbol) || !strings.Contains(err.Error(), "camd_a, camd_b in libc.so.6") || getpid != 0 {
		t.Errorf("got %v, getpid %v", err, getpid)
	}
}

func BenchmarkCall(b *testing.B) {
	l := libc(b)
	getpid, err := l.Symbol("getppid")
	if err != nil {
		b.Fatal(err)
	}
	args := make([]uintptr, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		getpid.Call(args)
	}
}
