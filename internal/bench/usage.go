// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Usage is what was used up to one moment.
type Usage struct {
	AtNanos         int64 // CLOCK_MONOTONIC
	SubscriberNanos int64 // processor time of this process
	PublisherNanos  int64 // of the publisher; -1 = not known
	SystemBusy      uint64
	SystemTotal     uint64 // ticks of all cores; 0 = not known
	GPU             GPUUsage
}

// GPUUsage is what is told of the subscriber's GPU.
type GPUUsage struct {
	Told   bool
	Load   int64 // for how much of the last moments something ran, in hundredths of per cent
	Memory int64 // in use, by all processes, in KiB
}

// readUsage reads the clocks of two processes and /proc/stat.
func readUsage(publisher int) Usage {
	u := Usage{
		AtNanos:         clock(unix.CLOCK_MONOTONIC),
		SubscriberNanos: clock(unix.CLOCK_PROCESS_CPUTIME_ID),
		PublisherNanos:  -1,
	}
	if publisher > 0 {
		u.PublisherNanos = clock(processClock(publisher))
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		u.SystemBusy, u.SystemTotal = parseStat(b)
	}
	return u
}

// processClock is the CPU clock of another process, as clock_getcpuclockid(3)
// makes it: the complement of the number above three bits, of which 2 stands
// for the scheduler's count in nanoseconds (kernel/time/posix-cpu-timers.c).
func processClock(pid int) int32 { return ^int32(pid)<<3 | 2 }

func clock(id int32) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return -1
	}
	return ts.Nano()
}

// parseStat reads the line "cpu" of /proc/stat (proc_stat(5)): user nice system
// idle iowait irq softirq steal guest guest_nice, of which the guests are in
// user and nice already.
func parseStat(b []byte) (busy, total uint64) {
	in := bufio.NewScanner(bytes.NewReader(b))
	for in.Scan() {
		fields := bytes.Fields(in.Bytes())
		if len(fields) < 5 || string(fields[0]) != "cpu" {
			continue
		}
		var idle uint64
		for i, f := range fields[1:min(len(fields), 9)] {
			n, err := strconv.ParseUint(string(f), 10, 64)
			if err != nil {
				return 0, 0
			}
			total += n
			if i == 3 || i == 4 {
				idle += n
			}
		}
		return total - min(idle, total), total
	}
	return 0, 0
}
