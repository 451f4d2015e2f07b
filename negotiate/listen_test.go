// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestListenTwiceInOneProcess(t *testing.T) {
	l := listening(t)
	_, err := Listen(l.Dir())
	inUse, ok := errors.AsType[*InUseError](err)
	if !ok || !errors.Is(err, ErrInUse) || inUse.PID != os.Getpid() || inUse.Dir != l.Dir() {
		t.Errorf("got %v, want ErrInUse with this process", err)
	}
	if got := names(t, l.Dir()); len(got) != 1 || got[0] != SocketName {
		t.Errorf("the directory holds %v", got)
	}
}

func TestListenBesideAnotherDaemon(t *testing.T) {
	dir := shortDir(t)
	o := startOther(t, "listen", dir, 0)
	before := openFiles(t)
	_, err := Listen(dir)
	if inUse, ok := errors.AsType[*InUseError](err); !ok || inUse.PID != o.Process.Pid {
		t.Errorf("got %v, want ErrInUse with process %d", err, o.Process.Pid)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}

	// The end of kill -9: its socket stays and is known as stale.
	o.kill(t)
	if got := names(t, dir); len(got) != 1 {
		t.Fatalf("the killed daemon left %v", got)
	}
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("a clean end left %v", got)
	}
}

func TestListenWhereSomethingIs(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(t *testing.T, path string)
		want error
		pid  int
	}{
		{"an ordinary file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrPath, 0},
		{"a live socket without the lock", func(t *testing.T, path string) { foreignSocket(t, "unixpacket", path) }, ErrInUse, os.Getpid()},
		{"a live socket of another kind", func(t *testing.T, path string) { foreignSocket(t, "unix", path) }, ErrInUse, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := shortDir(t)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, SocketName)
			c.put(t, path)
			_, err := Listen(dir)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if inUse, ok := errors.AsType[*InUseError](err); ok && inUse.PID != c.pid {
				t.Errorf("got process %d, want %d", inUse.PID, c.pid)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("it is gone: %v", err)
			}
		})
	}
}

func foreignSocket(t *testing.T, network, path string) {
	t.Helper()
	l, err := net.Listen(network, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

func TestListenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/nowhere/at/all", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		want      error
		words     string
	}{
		{"a link to nothing", link, ErrPath, "symbolic link to /nowhere/at/all, which does not exist"},
		{"a file in the way", filepath.Join(file, "run"), ErrPath, "not a directory"},
		{"a file itself", file, ErrPath, "not a directory"},
		{"path too long", "/tmp/" + strings.Repeat("d", 93), ErrPath, "at most 107"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := openFiles(t)
			if _, err := Listen(c.dir); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v; want %v with %q", err, c.want, c.words)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

func TestLongestPath(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "camd-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, strings.Repeat("d", maxSocketPath-len(base)-len(SocketName)-2))
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(l.Path()) != maxSocketPath {
		t.Fatalf("path of %d bytes", len(l.Path()))
	}
	c, err := Dial(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func TestOtherUser(t *testing.T) {
	const stranger = 12345
	open := func(t *testing.T, dir string, mode os.FileMode) { // and all above it
		t.Helper()
		for p := filepath.Dir(dir); p != "/tmp" && p != "/"; p = filepath.Dir(p) {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("may not make a directory here", func(t *testing.T) {
		dir := shortDir(t)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		open(t, dir, 0o755)
		o := startOther(t, "listen", filepath.Join(dir, "deeper"), stranger)
		if !strings.HasPrefix(o.said, ErrPermissionDenied.Error()) || !strings.Contains(o.said, "user 12345 can write") {
			t.Errorf("got %q", o.said)
		}
	})
	t.Run("may not make a socket here", func(t *testing.T) {
		dir := shortDir(t)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		open(t, dir, 0o755)
		o := startOther(t, "listen", dir, stranger)
		if !strings.HasPrefix(o.said, ErrPermissionDenied.Error()) || !strings.Contains(o.said, dir) {
			t.Errorf("got %q", o.said)
		}
	})
	t.Run("may not connect, nor take the lock", func(t *testing.T) {
		l := listening(t)
		open(t, l.Dir(), 0o711)
		for _, helper := range []string{"connect", "listen"} {
			o := startOther(t, helper, l.Dir(), stranger)
			if !strings.HasPrefix(o.said, ErrPermissionDenied.Error()) {
				t.Errorf("%s: got %q", helper, o.said)
			}
		}
	})
	t.Run("connects to a socket that is open to it, and is known", func(t *testing.T) {
		l := listening(t)
		open(t, l.Dir(), 0o711)
		if err := os.Chmod(l.Path(), 0o666); err != nil {
			t.Fatal(err)
		}
		o := startOther(t, "connect", l.Dir(), stranger)
		if o.said != "ok\n" {
			t.Fatalf("got %q", o.said)
		}
		p := accept(t, l).Peer()
		if p.UID != stranger || p.GID != stranger || p.PID != o.Process.Pid {
			t.Errorf("the daemon sees %+v", p)
		}
		if err := (Policy{}).Allow(p); !errors.Is(err, ErrPermissionDenied) {
			t.Errorf("policy: %v", err)
		}
	})
}

func TestModes(t *testing.T) {
	old := unix.Umask(0)
	t.Cleanup(func() { unix.Umask(old) })
	var group string
	for _, g := range []string{"nogroup", "nobody", "users"} {
		if _, ok := groupID(g); ok {
			group = g
			break
		}
	}
	for _, c := range []struct {
		name, group string
		shared      bool
		mode        os.FileMode
	}{
		{"alone", "camd-no-such-group", false, 0o600},
		{"no group wanted", "", false, 0o600},
		{"with the group", group, true, 0o660},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.shared && (group == "" || os.Geteuid() != 0) {
				t.Skip("needs root and a group to give the socket to")
			}
			env := testEnvironment(t, nil)
			for dir, dirMode := range map[string]os.FileMode{shortDir(t): 0o711, env.fallback(): 0o700} {
				l, err := listen(dir, env, c.group)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				info, err := os.Lstat(l.Path())
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Perm() != c.mode || l.Shared() != c.shared {
					t.Errorf("socket has mode %o, shared %v", info.Mode().Perm(), l.Shared())
				}
				if c.shared {
					gid, _ := groupID(c.group)
					var st unix.Stat_t
					if err := unix.Lstat(l.Path(), &st); err != nil || int(st.Gid) != gid {
						t.Errorf("socket of group %d, want %d (%v)", st.Gid, gid, err)
					}
				}
				if info, err = os.Stat(dir); err != nil || info.Mode().Perm() != dirMode {
					t.Errorf("directory %s has mode %o, want %o (%v)", dir, info.Mode().Perm(), dirMode, err)
				}
			}
		})
	}
}

func TestCloseLeavesWhatIsNotItsOwn(t *testing.T) {
	l := listening(t)
	if err := os.Remove(l.Path()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path(), []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(l.Path()); err != nil || string(b) != "another's" {
		t.Errorf("the other file: %q, %v", b, err)
	}
}

func TestAcceptWithoutDescriptors(t *testing.T) {
	l := listening(t)
	c, err := Dial(context.Background(), l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	release := exhaustFiles(t)
	if _, err := l.Accept(); !IsTemporary(err) || !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v, want a temporary EMFILE", err)
	}
	release()
	d := accept(t, l) // the client waited
	if err := c.SendKick(); err != nil {
		t.Fatal(err)
	}
	if m, _, err := d.Receive(soon()); err != nil || m.Type != TypeKick {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestAcceptEndsWithClose(t *testing.T) {
	l := listening(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || IsTemporary(err) {
			t.Errorf("got %v, want net.ErrClosed", err)
		}
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestAcceptOfClientThatLeft(t *testing.T) {
	l := listening(t)
	c, err := Dial(context.Background(), l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	d, err := l.Accept()
	if err != nil {
		if !IsTemporary(err) {
			t.Errorf("got %v, which ends the daemon", err)
		}
		return
	}
	defer d.Close()
	if _, _, err := d.Receive(soon()); !errors.Is(err, ErrPeerGone) {
		t.Errorf("got %v, want ErrPeerGone", err)
	}
}

func TestInUseErrorSaysWho(t *testing.T) {
	for _, c := range []struct {
		err  InUseError
		want string
	}{
		{InUseError{Dir: "/run/camd", PID: 4711}, "runtime directory in use by another camd: /run/camd is served by process 4711"},
		{InUseError{Dir: "/run/camd"}, "runtime directory in use by another camd: /run/camd"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
