// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// bareVariable makes this binary the floor of the measurement: the same frames
// taken by a loop of poll, DQBUF and QBUF that does nothing else.
const bareVariable = "CAMD_GUEST_BARE"

const (
	benchFrames = 240
	benchCamera = "cam=v4l2:" + camMain + ",640x360,encoding=yuyv"
	benchWidth  = 640
	benchHeight = 360
)

// bare prints the nanoseconds of processor time that a frame took.
func bare() error {
	const (
		setFmt, reqBufs, queue, dequeue = 0xc0d05605, 0xc0145608, 0xc058560f, 0xc0585611
		streamOn                        = 0x40045612
		buffers, bytes                  = 4, benchWidth * benchHeight * 2
	)
	fd, err := unix.Open(camMain, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	call := func(req uintptr, p unsafe.Pointer) error {
		for {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
			switch errno {
			case 0:
				return nil
			case unix.EINTR:
			default:
				return errno
			}
		}
	}
	var format [52]uint32 // type, padding, then width, height, fourcc, field
	format[0], format[2], format[3], format[4], format[5] = 1, benchWidth, benchHeight, 'Y'|'U'<<8|'Y'<<16|'V'<<24, 1
	request := [5]uint32{buffers, 1, 2} // capture, user pointers
	if err := call(setFmt, unsafe.Pointer(&format)); err != nil {
		return err
	}
	if err := call(reqBufs, unsafe.Pointer(&request)); err != nil {
		return err
	}
	m, err := linux.NewMemory("bare", linux.PageRound(bytes)*buffers, true)
	if err != nil {
		return err
	}
	var b [11]uint64 // struct v4l2_buffer: index and type, ..., memory at byte 60, pointer, length
	give := func(i uint64) error {
		b = [11]uint64{0: i | 1<<32, 7: 2 << 32, 8: uint64(uintptr(unsafe.Pointer(&m.Data[int(i)*int(linux.PageRound(bytes))]))), 9: bytes}
		return call(queue, unsafe.Pointer(&b))
	}
	for i := range uint64(buffers) {
		if err := give(i); err != nil {
			return err
		}
	}
	kind := uint32(1)
	if err := call(streamOn, unsafe.Pointer(&kind)); err != nil {
		return err
	}
	var before, after unix.Rusage
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for n := 0; n < benchFrames; {
		if n == 0 {
			_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
		}
		if _, err := unix.Poll(p, 10_000); err != nil && err != unix.EINTR {
			return err
		}
		b = [11]uint64{0: 1 << 32, 7: 2 << 32}
		if err := call(dequeue, unsafe.Pointer(&b)); err == unix.EAGAIN {
			continue
		} else if err != nil {
			return err
		}
		if err := give(b[0] & 0xffffffff); err != nil {
			return err
		}
		n++
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	used := func(r unix.Rusage) int64 { return r.Utime.Nano() + r.Stime.Nano() }
	fmt.Println((used(after) - used(before)) / benchFrames)
	return nil
}

// processorTime is what all threads of a process have used, in nanoseconds.
func processorTime(b *testing.B, pid int) int64 {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Fatalf("no threads of process %d: %v", pid, err)
	}
	var sum int64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // ended meanwhile
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum
}

// perFrame is the processor time that camd needs for a frame with one subscriber
// while nothing else is asked of it.
func (c *camd) perFrame() float64 {
	b := c.t.(*testing.B)
	b.Helper()
	sub := exec.Command("camsub", "hz", "cam/color")
	if err := sub.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = sub.Process.Kill()
		_ = sub.Wait()
	}()
	eventually(b, "camsub subscribes", func() bool { return statusOf(b, "cam/color").Subscribed == 1 })
	first, used := statusOf(b, "cam/color").Published, processorTime(b, c.cmd.Process.Pid)
	<-time.After(4 * time.Second)
	used = processorTime(b, c.cmd.Process.Pid) - used
	return float64(used) / float64(statusOf(b, "cam/color").Published-first)
}

// BenchmarkDaemon compares the processor time that camd needs for a frame with
// one subscriber to that of a bare loop. The machine is emulated: only the
// ratio means something.
func BenchmarkDaemon(b *testing.B) {
	const rounds = 3
	var ratios []float64
	for range b.N {
		for range rounds {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), bareVariable+"=1")
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			floor, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				b.Fatal(err)
			}
			c := startCamd(b, benchCamera)
			mine := c.perFrame()
			c.stop()
			ratios = append(ratios, mine/floor)
			b.Logf("bare loop %.0f ns, camd %.0f ns a frame", floor, mine)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-bare")
}
