// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// nobody is a user that is not this one.
const nobody = 65534

// TestOtherUser subscribes as another user.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	asNobody := func(d *daemon) []with {
		return []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir), withUser(nobody)}
	}
	open := func(t *testing.T, d *daemon, mode os.FileMode) {
		t.Helper()
		for path, mode := range map[string]os.FileMode{d.dir: 0o711, filepath.Join(d.dir, "camd.sock"): mode} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	commands := [][]string{{"hz", "test/color", "--count", "1"}, {"list"}, {"info", "test/color"}}

	t.Run("socket closed to it", func(t *testing.T) {
		d := startDaemon(t, "test=pattern,160x120@30")
		open(t, d, 0o600)
		for _, args := range commands {
			oneMessage(t, expect(t, asNobody(d), 5, []string{"permission denied", d.dir}, built.camsub, args...))
		}
	})
	t.Run("not served", func(t *testing.T) {
		d := startDaemon(t, "test=pattern,160x120@30")
		open(t, d, 0o666)
		for _, args := range commands {
			oneMessage(t, expect(t, asNobody(d), 5, []string{"permission_denied", "user 65534 asked, served are user 0, root"}, built.camsub, args...))
		}
		d.awaitErr("permission_denied")
		if n := d.status().Refused["permission_denied"]; n < uint64(len(commands)) {
			t.Errorf("status counts %d refusals, want at least %d", n, len(commands))
		}
	})
	t.Run("allowed", func(t *testing.T) {
		dir := newDir(t)
		d := &daemon{dir: dir, process: start(t, nil, built.camd, "run", "--runtime-dir", dir,
			"--camera", "test=pattern,160x120@30", "--allow-uid", fmt.Sprint(nobody))}
		d.ready()
		open(t, d, 0o666)
		for _, args := range commands {
			expect(t, asNobody(d), 0, nil, built.camsub, args...)
		}
		d.stop()
	})
}
