// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package inside is what the first process of a virtual machine of e2e/vm does
// that is not a test: it prepares the machine, and tells QEMU how the tests went.
// Nothing here may run on a host.
package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// First reports whether this is the machine's first process.
func First() bool { return os.Getpid() == 1 }

// Run prepares the machine and runs its tests, then switches it off. vivid is
// the parameters of the module of that name.
func Run(vivid string, tests func() int) {
	code := 1
	if err := boot(vivid); err != nil {
		fmt.Println("boot:", err)
	} else {
		code = tests()
	}
	if code == 0 {
		report()
	}
	unix.Sync()
	fmt.Println("power off:", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
}

// report tells QEMU, which then ends (device isa-debug-exit).
func report() {
	f, err := os.OpenFile("/dev/port", os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{1}, 0xf4)
	}
	fmt.Println("reporting success:", err)
}

func boot(vivid string) error {
	for _, m := range []struct{ source, dir, kind string }{
		{"proc", "/proc", "proc"},
		{"sysfs", "/sys", "sysfs"},
		{"devtmpfs", "/dev", "devtmpfs"},
		{"tmpfs", "/tmp", "tmpfs"},
		{"tmpfs", "/run", "tmpfs"},
	} {
		if err := unix.Mount(m.source, m.dir, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.dir, err)
		}
	}
	for k, v := range map[string]string{"PATH": "/bin", "HOME": "/tmp", "TMPDIR": "/tmp"} {
		if err := os.Setenv(k, v); err != nil {
			return err
		}
	}
	modules, err := filepath.Glob("/modules/*.ko")
	if err != nil {
		return err
	}
	for _, path := range modules {
		param := ""
		if strings.HasSuffix(path, "-vivid.ko") {
			param = vivid
		}
		if err := load(path, param); err != nil {
			return err
		}
	}
	return nil
}

func load(path, param string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), param, 0); err != nil {
		return fmt.Errorf("loading %s: %w", filepath.Base(path), err)
	}
	return nil
}

const vidiocSetControl = 0xc008561c

// Control sets a control of a camera by another way than those under test.
func Control(path string, id uint32, value int32) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	c := struct {
		id    uint32
		value int32
	}{id, value}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), vidiocSetControl, uintptr(unsafe.Pointer(&c))); errno != 0 {
		return errno
	}
	return nil
}
