// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// machine is what is booted.
type machine struct {
	kernel  string
	modules []module
	files   map[string]string // path in the guest: path here
	cpus    int
	memory  int    // MiB
	args    string // of the guest's first process, after "--"
	// counted makes the guest's clocks count its instructions in place of the
	// host's time, so that what it measures does not depend on the host's load.
	counted bool
}

// exitSuccess is QEMU's exit status after the guest wrote 1 to its debug port.
const exitSuccess = 3

// errGuest: the machine ended without saying that all went well.
var errGuest = errors.New("the guest did not report success")

// boot runs the machine to its end and copies what it says to serial. Nothing
// of the host is needed but QEMU: no rights, no acceleration.
func (m machine) boot(ctx context.Context, dir string, serial io.Writer) error {
	image := filepath.Join(dir, "initrd")
	if err := m.writeImage(image); err != nil {
		return fmt.Errorf("initial file system: %w", err)
	}
	// Never KVM: where it opens, it need not be able to boot a stock kernel.
	clock := []string{"-accel", "tcg,thread=multi"}
	if m.counted {
		clock = []string{"-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off"}
	}
	args := append(clock,
		"-M", "q35", "-cpu", "qemu64",
		"-smp", fmt.Sprint(m.cpus), "-m", fmt.Sprint(m.memory),
		"-kernel", m.kernel, "-initrd", image,
		"-append", "console=ttyS0 quiet loglevel=1 panic=-1 -- "+m.args,
		"-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nodefaults",
		"-device", "isa-debug-exit,iobase=0xf4,iosize=0x04")
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	cmd.Stdout, cmd.Stderr = serial, serial
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the guest was stopped: %w", ctx.Err())
	case errors.As(err, &exit) && exit.ExitCode() == exitSuccess:
		return nil
	case err != nil:
		return fmt.Errorf("%w: QEMU: %w", errGuest, err)
	}
	return errGuest
}

func (m machine) writeImage(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a := newArchive(f)
	for _, d := range []string{"proc", "sys", "dev", "tmp", "run", "bin", "modules"} {
		a.dir(d)
	}
	for i, mod := range m.modules {
		a.file(fmt.Sprintf("modules/%02d-%s.ko", i, mod.name), 0o644, mod.data)
	}
	for guest, host := range m.files {
		data, err := os.ReadFile(host)
		if err != nil {
			return err
		}
		a.file(guest, 0o755, data)
	}
	return a.close()
}
