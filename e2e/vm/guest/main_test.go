// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The machine's cameras. One loading of vivid makes all of them; their order is
// that of the parameters below.
const (
	camMain    = "/dev/video0" // HDMI, everything is possible
	camPlanes  = "/dev/video1" // HDMI, multi-planar
	camContig  = "/dev/video2" // HDMI, its driver refuses memory of others
	camWebcam  = "/dev/video3" // webcam: discrete sizes, a rate for each
	camUnplug  = "/dev/video4" // HDMI, is unplugged by its test
	vividParam = "n_devs=5 node_types=0x1,0x1,0x1,0x1,0x1 num_inputs=1,1,1,1,1 input_types=3,3,3,0,3 multiplanar=1,2,1,1,1 allocators=0,0,1,0,0"
)

// TestMain is the init process of the machine when it is the first one.
func TestMain(m *testing.M) {
	if os.Getenv(bareVariable) != "" {
		if err := bare(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getpid() != 1 {
		os.Exit(m.Run())
	}
	code := 1
	if err := boot(); err != nil {
		fmt.Println("boot:", err)
	} else {
		code = m.Run()
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

func boot() error {
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
			param = vividParam
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
