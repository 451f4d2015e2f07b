// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/internal/cli"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// daemonVariable makes this test binary camd.
const daemonVariable = "CAMD_CHECK_DAEMON"

// soak has what takes long run too.
var soak = os.Getenv("CAMD_SOAK") == "1"

// scratch is where programs are built.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(daemonVariable) != "" {
		go func() { // the tests hold the other end: it goes with them, however they end
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		// Programs of tests that run at the same time must not find each other.
		if err := os.Setenv(config.EnvOverride, `scouting/multicast/enabled=false;listen/endpoints=["tcp/127.0.0.1:0"]`); err != nil {
			panic(err)
		}
		os.Exit(cli.Main(cli.NewCamd()))
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	var err error
	if scratch, err = os.MkdirTemp("", "camd-c-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	code := m.Run()
	if code == 0 {
		err = goleak.Find()
	}
	return code, err
}

// warnings are what the client compiles without.
var warnings = []string{"-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow"}

// compiler is the C compiler. A machine without one skips the test, a CI does
// not.
func compiler(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" && name == "cc" {
		t.Fatal("no C compiler (cc)")
	}
	t.Skipf("no %s", name)
	return ""
}

// sources is where the client is, or another one that the tests are to try.
func sources() string { return cmp.Or(os.Getenv("CAMD_CHECK_SOURCES"), "..") }

// compile compiles files of clients/c.
func compile(cc string, args ...string) error {
	cmd := exec.Command(cc, args...)
	cmd.Dir = sources()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", cc, strings.Join(args, " "), err, out)
	}
	return nil
}

// built are programs that find their own mistakes with memory.
type built struct{ reader, selftest string }

// The client is compiled once for both: selftest.c contains it.
var build = sync.OnceValues(func() (built, error) {
	b := built{filepath.Join(scratch, "reader"), filepath.Join(scratch, "selftest")}
	sanitizers := []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	flags := slices.Concat([]string{"-std=c11", "-Og", "-g"}, sanitizers, warnings)
	client := b.selftest + ".o"
	if err := compile("cc", append(flags, "-Dmain=selftest", "-c", "selftest.c", "-o", client)...); err != nil {
		return b, err
	}
	if err := compile("cc", append(flags, "reader.c", client, "-o", b.reader)...); err != nil {
		return b, err
	}
	return b, compile("cc", append(sanitizers, "-Wl,--defsym,main=selftest", client, "-o", b.selftest)...)
})

func programs(t testing.TB) built {
	t.Helper()
	compiler(t, "cc")
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What the README tells to type, without a warning, and the header in C++.
func TestCompiles(t *testing.T) {
	cc := compiler(t, "cc")
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"reader.c", "camd.c"},
		append([]string{"-std=c11", "-O2", "-c", "reader.c"}, warnings...),
		append([]string{"-std=c17", "-O2", "-Wconversion", "-c", "camd.c"}, warnings...),
		append([]string{"-std=c11", "-fsyntax-only", "camd.c"}, warnings...),
	} {
		if err := compile(cc, append(args, "-o", out)...); err != nil {
			t.Error(err)
		}
	}
	cxx, err := exec.LookPath("c++")
	if err != nil {
		t.Log("no c++: the header was not compiled as C++")
		return
	}
	program := "#include \"camd.h\"\nint main() { camd_sub *s = nullptr; camd_close(s); return sizeof(camd_frame) == 0; }\n"
	source := out + ".cc"
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, standard := range []string{"-std=c++11", "-std=c++20"} {
		if err := compile(cxx, standard, "-fsyntax-only", "-I.", "-Wall", "-Wextra", "-Werror", "-pedantic", source); err != nil {
			t.Error(err)
		}
	}
}
