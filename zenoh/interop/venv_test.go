// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// versions are those of eclipse-zenoh that the tests talk to, the newest
// first.
var versions = []string{"1.10.2", "1.9.0", "1.5.1"}

// python returns an interpreter that has the version, under .cache of the
// project. Where that cannot be made the test is skipped, but fails in CI.
func python(t testing.TB, version string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".cache", "zenoh-"+version)
	bin := filepath.Join(dir, "bin", "python3")
	works := func() bool { return exec.Command(bin, "-c", "import zenoh").Run() == nil }
	if works() {
		return bin
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if works() {
		return bin
	}
	for _, c := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", "eclipse-zenoh==" + version},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%v: %v\n%s", c, err, out)
			}
			t.Skipf("eclipse-zenoh %s cannot be installed: %v: %v\n%s", version, c, err, out)
		}
	}
	return bin
}
