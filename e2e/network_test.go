// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// internetSockets lists what a process has open in the network: the table of
// /proc/net with the local address, "tcp 0100007F:1D17 LISTEN".
func internetSockets(t *testing.T, pid int) (out []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, e := range entries {
		to, err := os.Readlink(dir + "/" + e.Name())
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if os.IsNotExist(err) {
			continue // a host without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			c := strings.Fields(lines.Text())
			if len(c) < 10 || !own[c[9]] {
				continue
			}
			line := table + " " + c[1]
			if c[3] == "0A" {
				line += " LISTEN"
			}
			out = append(out, line)
		}
		_ = f.Close()
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// zenohStatus is the session in the status.
type zenohStatus struct {
	State, Mode, As string
	Listening       []string
}

// zenoh waits until the session of a camd is as wanted.
func (d *daemon) zenoh(what string, ok func(*zenohStatus) bool) {
	d.t.Helper()
	eventually(d.t, what, func() (bool, string) {
		z := d.status().Zenoh
		text, err := json.Marshal(z)
		if err != nil {
			d.t.Fatal(err)
		}
		return ok(z), string(text)
	})
}

// What camd has open in the network is what the settings say.
func TestSocketsInTheNetwork(t *testing.T) {
	t.Parallel()
	const nobody = "zenoh.connect=tcp/127.0.0.1:1"
	run := func(t *testing.T, set ...string) *daemon {
		d := &daemon{dir: newDir(t)}
		args := []string{"run", "--runtime-dir", d.dir, "--camera", "test=pattern,64x48@30"}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		d.process = start(t, nil, built.camd, args...)
		d.ready()
		t.Cleanup(d.stop)
		return d
	}
	t.Run("not enabled", func(t *testing.T) {
		d := run(t, "zenoh.enabled=false")
		if z := d.status().Zenoh; z != nil {
			t.Errorf("status %+v", z)
		}
		if got := internetSockets(t, d.pid()); len(got) > 0 {
			t.Errorf("open: %v", got)
		}
	})
	t.Run("client without a router", func(t *testing.T) {
		d := run(t, nobody, "zenoh.mode=client")
		d.zenoh("it looks for a router", func(z *zenohStatus) bool { return z.State == "connecting" && z.As == "client" })
		for _, s := range internetSockets(t, d.pid()) {
			if strings.HasPrefix(s, "udp") || strings.HasSuffix(s, "LISTEN") {
				t.Errorf("open: %s", s)
			}
		}
	})
	t.Run("peer on loopback", func(t *testing.T) {
		d := run(t, nobody)
		d.zenoh("it is a peer", func(z *zenohStatus) bool {
			return z.State == "alone" && z.Mode == "auto" && len(z.Listening) == 1 && strings.HasPrefix(z.Listening[0], "tcp/127.0.0.1:")
		})
		listening := 0
		for _, s := range internetSockets(t, d.pid()) {
			switch {
			case strings.HasPrefix(s, "udp"):
				t.Errorf("open: %s", s)
			case strings.HasSuffix(s, "LISTEN"):
				listening++
				if !strings.HasPrefix(s, "tcp 0100007F:") {
					t.Errorf("open: %s", s)
				}
			}
		}
		if listening != 1 {
			t.Errorf("it listens at %d ports", listening)
		}
	})
}

// A host without any network is nothing to warn of: not without an interface,
// nor with loopback alone.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	needRoot(t)
	if out, err := exec.Command("unshare", "-n", "true").CombinedOutput(); err != nil {
		t.Skipf("unshare -n: %v: %s", err, out)
	}
	for name, prepare := range map[string]string{"no interface": "true", "loopback": "ip link set lo up"} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{dir: newDir(t)}
			script := prepare + `; exec "$0" "$@"`
			d.process = start(t, []with{func(c *exec.Cmd) { c.Env = slices.DeleteFunc(c.Env, func(s string) bool { return s == isolated }) }}, "unshare", "-n", "/bin/sh", "-c", script,
				built.camd, "run", "--runtime-dir", d.dir, "--camera", "test=pattern,64x48@30")
			d.ready()
			t.Cleanup(d.stop)
			d.zenoh("it is a peer", func(z *zenohStatus) bool { return z.State == "alone" })
			for _, line := range strings.Split(d.err.String(), "\n") {
				if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
					t.Error(line)
				}
			}
		})
	}
}
