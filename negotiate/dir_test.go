// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testEnvironment is an environment of this user below a directory of its own.
func testEnvironment(t *testing.T, variables map[string]string) Environment {
	t.Helper()
	base := filepath.Dir(shortDir(t))
	env := Environment{
		Getenv: func(name string) string { return variables[name] },
		UID:    os.Geteuid(), Run: filepath.Join(base, "run"), Temp: filepath.Join(base, "tmp"),
	}
	for _, dir := range []string{env.Run, env.Temp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

func TestRuntimeDirs(t *testing.T) {
	own := t.TempDir()
	me := os.Geteuid()
	user := me
	if me == 0 {
		user = 1000
		if err := os.Chown(own, user, -1); err != nil {
			t.Fatal(err)
		}
	}
	temp := map[int]string{0: "/tmp/camd-0", user: "/tmp/camd-" + itoa(user)}
	for _, c := range []struct {
		name      string
		uid       int
		flag      string
		variables map[string]string
		daemon    string
		clients   []string
	}{
		{"root", 0, "", nil, "/run/camd", []string{"/run/camd", temp[0]}},
		{"root with a session", 0, "", map[string]string{"XDG_RUNTIME_DIR": own}, "/run/camd", []string{"/run/camd", own + "/camd", temp[0]}},
		{"user without a session", user, "", nil, temp[user], []string{"/run/camd", temp[user]}},
		{"user with a session", user, "", map[string]string{"XDG_RUNTIME_DIR": own}, own + "/camd", []string{"/run/camd", own + "/camd", temp[user]}},
		{"session of another user", user + 1, "", map[string]string{"XDG_RUNTIME_DIR": own}, "/tmp/camd-" + itoa(user+1), []string{"/run/camd", own + "/camd", "/tmp/camd-" + itoa(user+1)}},
		{"session that is gone", user, "", map[string]string{"XDG_RUNTIME_DIR": own + "/gone"}, temp[user], []string{"/run/camd", own + "/gone/camd", temp[user]}},
		{"session with a relative path", user, "", map[string]string{"XDG_RUNTIME_DIR": "x"}, temp[user], []string{"/run/camd", temp[user]}},
		{"variable", user, "", map[string]string{RuntimeDirVariable: "/srv/c", "XDG_RUNTIME_DIR": own}, "/srv/c", []string{"/srv/c", "/run/camd", own + "/camd", temp[user]}},
		{"variable for root", 0, "", map[string]string{RuntimeDirVariable: "/srv/c"}, "/srv/c", []string{"/srv/c", "/run/camd", temp[0]}},
		{"variable that names a place of the list", 0, "", map[string]string{RuntimeDirVariable: "/run/camd/"}, "/run/camd", []string{"/run/camd", temp[0]}},
		{"flag", user, "/srv/f", map[string]string{RuntimeDirVariable: "/srv/c"}, "/srv/f", []string{"/srv/f"}},
		{"flag for root", 0, "/srv/f", nil, "/srv/f", []string{"/srv/f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := Environment{Getenv: func(name string) string { return c.variables[name] }, UID: c.uid, Run: "/run", Temp: "/tmp"}
			got, err := env.DaemonDir(c.flag)
			if err != nil || got != c.daemon {
				t.Errorf("daemon: %q, %v; want %q", got, err, c.daemon)
			}
			if diff := cmp.Diff(c.clients, env.ClientDirs(c.flag)); diff != "" {
				t.Errorf("clients (-want +got):\n%s", diff)
			}
		})
	}
}

func itoa(n int) string {
	return strings.TrimPrefix(filepath.Base(Environment{UID: n}.fallback()), "camd-")
}

func TestRuntimeDirOfThisProcess(t *testing.T) {
	t.Setenv(RuntimeDirVariable, "relative")
	want, err := filepath.Abs("relative")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DaemonDir(""); err != nil || got != want {
		t.Errorf("daemon: %q, %v; want %q", got, err, want)
	}
	if got := ClientDirs(""); got[0] != want {
		t.Errorf("clients: %v; want %q first", got, want)
	}
	if _, err := DaemonDir("/" + strings.Repeat("d", 97)); !errors.Is(err, ErrPath) {
		t.Errorf("path too long: %v", err)
	}
	if _, err := DaemonDir("/" + strings.Repeat("d", 96)); err != nil {
		t.Errorf("path as long as allowed: %v", err)
	}
}

// Anyone can make names in /tmp before the daemon or the client comes.
func TestFallbackPreparedByAnother(t *testing.T) {
	for _, c := range []struct {
		name  string
		put   func(t *testing.T, dir string)
		want  error
		words string
	}{
		{"nothing there", func(*testing.T, string) {}, nil, ""},
		{"own directory", func(t *testing.T, dir string) { mkdir(t, dir) }, nil, ""},
		{"another's directory", func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("needs root to give a directory away")
			}
			mkdir(t, dir)
			if err := os.Chown(dir, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}, ErrUnsafeDir, "belongs to user 12345"},
		{"link to an own directory", func(t *testing.T, dir string) {
			mkdir(t, dir+"-real")
			if err := os.Symlink(dir+"-real", dir); err != nil {
				t.Fatal(err)
			}
		}, ErrUnsafeDir, "symbolic link"},
		{"link to nowhere", func(t *testing.T, dir string) {
			if err := os.Symlink("/nowhere", dir); err != nil {
				t.Fatal(err)
			}
		}, ErrUnsafeDir, "symbolic link"},
		{"file", func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrUnsafeDir, "no directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := testEnvironment(t, nil)
			dir := env.fallback()
			c.put(t, dir)
			if c.want != nil { // the client, before any daemon
				if _, err := dial(context.Background(), dir, env); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
					t.Errorf("dial: %v; want %v with %q", err, c.want, c.words)
				}
			}
			l, err := listen(dir, env, "")
			if !errors.Is(err, c.want) {
				t.Fatalf("listen: %v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			defer l.Close()
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v, %v; want 0700", info.Mode(), err)
			}
			conn, err := dial(context.Background(), dir, env)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
