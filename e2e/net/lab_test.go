// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// run runs a command line of iproute2.
func run(line string, args ...any) error {
	f := strings.Fields(fmt.Sprintf(line, args...))
	if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(f, " "), err, out)
	}
	return nil
}

// lab is a set of hosts.
type lab struct {
	t testing.TB
}

// prefix begins the names of our network namespaces, before a process id.
const prefix = "camdnet"

// newLab skips the test where there can be no hosts, and fails it in CI.
func newLab(t testing.TB) *lab {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("CI") == "true" {
		skip = t.Fatalf
	}
	if os.Geteuid() != 0 {
		skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc", "mount", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip("%v (packages iproute2, mount, util-linux)", err)
		}
	}
	l := &lab{t: t}
	l.sweep()
	probe := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), next())
	if err := run("ip netns add %s", probe); err != nil {
		skip("no network namespaces: %v", err)
	}
	_ = run("ip netns del %s", probe)
	return l
}

// sweep removes what runs left that were killed.
func (l *lab) sweep() {
	names, err := filepath.Glob("/run/netns/" + prefix + "*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range names {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), prefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, 0) == syscall.ESRCH {
			_ = run("ip netns del %s", filepath.Base(name))
		}
	}
}

func (l *lab) must(line string, args ...any) {
	l.t.Helper()
	if err := run(line, args...); err != nil {
		l.t.Fatal(err)
	}
}

// host is what a program takes for a machine of its own: network, name, boot
// id and /run are not those of the others.
type host struct {
	*lab
	name, ns string
	run      string // what is /run there
	boot     string // file with the boot id
	pids     bool   // each program has process ids of its own
	user     string // who runs programs there; "": root
}

// host makes one, without any link yet.
func (l *lab) host(name string) *host {
	l.t.Helper()
	dir, err := os.MkdirTemp("", "camd-host-")
	if err != nil {
		l.t.Fatal(err)
	}
	// Users other than root look into it too.
	h := &host{lab: l, name: name, ns: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), next()), run: filepath.Join(dir, "run"), boot: filepath.Join(dir, "boot_id")}
	l.t.Cleanup(func() {
		_ = run("ip netns del %s", h.ns)
		_ = os.RemoveAll(dir)
	})
	var id [16]byte
	_, _ = rand.Read(id[:])
	text := fmt.Sprintf("%x-%x-%x-%x-%x\n", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(h.run, 0o755), os.WriteFile(h.boot, []byte(text), 0o644)} {
		if err != nil {
			l.t.Fatal(err)
		}
	}
	l.must("ip netns add %s", h.ns)
	l.must("ip -n %s link set lo up", h.ns)
	return h
}

var made atomic.Int64

// next is a number that no other host of this process has.
func next() int { return int(made.Add(1)) }

// container is a host's second set of namespaces: network, mounts, names and
// process ids are others, the kernel is the same.
func (h *host) container(name string) *host {
	h.t.Helper()
	c := h.lab.host(name)
	c.boot, c.pids = h.boot, true
	return c
}

// enter makes a program's own view of the file system and goes on with it.
// What is mounted is seen by that program alone: ip netns exec saw to it.
const enter = `
name=$1 run=$2 boot=$3 pids=$4 user=$5; shift 5
hostname "$name"
mount --bind "$run" /run
[ ! -d /tmp/camd-0 ] || mount -t tmpfs tmpfs /tmp/camd-0
[ -z "$pids" ] || mount -t proc proc /proc
mount --bind "$boot" /proc/sys/kernel/random/boot_id
[ -z "$user" ] || exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
exec "$@"
`

// start runs a program on the host.
func (h *host) start(line ...string) *process {
	h.t.Helper()
	return h.startWith(nil, line...)
}

// startWith runs it with more in the environment.
func (h *host) startWith(env []string, line ...string) *process {
	h.t.Helper()
	pids := ""
	flags := uintptr(syscall.CLONE_NEWUTS)
	if h.pids {
		pids, flags = "own", flags|syscall.CLONE_NEWPID
	}
	args := append([]string{"netns", "exec", h.ns, "sh", "-ec", enter, "sh", h.name, h.run, h.boot, pids, h.user}, line...)
	cmd := exec.Command("ip", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: flags}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/", "NO_COLOR=1"}, env...)
	return begin(h.t, title(h.name, line), cmd)
}

// link makes a network of a host with others, each behind the same switch. The
// interfaces are called dev, the addresses are net.1, net.2 ….
func (l *lab) link(dev, net string, hosts ...*host) {
	l.t.Helper()
	middle := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), next())
	l.t.Cleanup(func() { _ = run("ip netns del %s", middle) })
	l.must("ip netns add %s", middle)
	l.must("ip -n %s link add br0 type bridge", middle)
	l.must("ip -n %s link set br0 up", middle)
	for i, h := range hosts {
		l.must("ip -n %s link add port%d type veth peer name %s netns %s", middle, i, dev, h.ns)
		l.must("ip -n %s link set port%d master br0 up", middle, i)
		h.address(dev, fmt.Sprintf("%s.%d", net, i+1))
	}
}

func (h *host) address(dev, address string) {
	h.t.Helper()
	h.must("ip -n %s addr add %s/24 broadcast + dev %s", h.ns, address, dev)
	h.must("ip -n %s link set %s up", h.ns, dev)
}

// slow lets an interface send no more than a rate.
func (h *host) slow(dev, rate string) {
	h.t.Helper()
	h.must("ip netns exec %s tc qdisc replace dev %s root tbf rate %s burst 32kb latency 150ms", h.ns, dev, rate)
}

// fast takes that back.
func (h *host) fast(dev string) {
	h.t.Helper()
	h.must("ip netns exec %s tc qdisc del dev %s root", h.ns, dev)
}

// cut takes an interface down, and mend up again.
func (h *host) cut(dev string) { h.must("ip -n %s link set %s down", h.ns, dev) }

func (h *host) mend(dev string) { h.must("ip -n %s link set %s up", h.ns, dev) }
