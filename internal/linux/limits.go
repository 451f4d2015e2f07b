// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Limit is a bound on what this process may use, with its name for messages.
type Limit struct {
	Name  string // for example "RLIMIT_AS" or "memory.max of cgroup /x"
	Max   int64  // bytes
	Inuse int64  // bytes in use now, as far as known
}

// Room is what is left.
func (l Limit) Room() int64 { return max(l.Max-l.Inuse, 0) }

// MemoryLimits lists the finite limits on memory of this process: address
// space, the cgroup and its parents (version 2 and version 1), and what the
// host has available. In a cgroup, pages of ordinary files do not count as in
// use: the kernel drops them when memory is needed.
func MemoryLimits() []Limit { return memoryLimits("/") }

func memoryLimits(root string) []Limit {
	var out []Limit
	var rl unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &rl) == nil && rl.Cur < math.MaxInt64 {
		out = append(out, Limit{"RLIMIT_AS (ulimit -v)", int64(rl.Cur), addressSpace(root)})
	}
	out = append(out, cgroupLimits(root)...)
	if n, ok := meminfo(root, "MemAvailable"); ok {
		out = append(out, Limit{"memory of the host (MemAvailable)", n, 0})
	}
	return out
}

// FileSizeLimit is the largest size in bytes of one file, memory files
// included (RLIMIT_FSIZE). To go beyond it kills the process (SIGXFSZ).
func FileSizeLimit() int64 {
	var rl unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &rl) != nil || rl.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(rl.Cur)
}

// FileLimit is the soft limit on open files after Go raised it at start.
func FileLimit() int64 {
	var rl unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &rl) != nil || rl.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(rl.Cur)
}

func addressSpace(root string) int64 {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/statm"))
	if err != nil {
		return 0
	}
	var pages int64
	if _, err := fmt.Sscan(string(b), &pages); err != nil {
		return 0
	}
	return pages * int64(PageSize)
}

func meminfo(root, key string) (int64, bool) {
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), key+":"); ok {
			fields := strings.Fields(rest)
			if len(fields) == 0 {
				return 0, false
			}
			n, err := strconv.ParseInt(fields[0], 10, 64)
			return n * 1024, err == nil
		}
	}
	return 0, false
}

// cgroupLimits follows /proc/self/cgroup upwards. Version 2 has one line
// "0::PATH"; version 1 one per controller, of which memory counts.
func cgroupLimits(root string) []Limit {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	var out []Limit
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, maxFile, useFile := "", "", ""
		switch {
		case parts[1] == "":
			base, maxFile, useFile = "sys/fs/cgroup", "memory.max", "memory.current"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			base, maxFile, useFile = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		default:
			continue
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			limit, ok := readNumber(filepath.Join(root, base, dir, maxFile))
			if ok && limit < 1<<60 { // version 1 writes a huge number for "none"
				use, _ := readNumber(filepath.Join(root, base, dir, useFile))
				use = max(use-filePages(filepath.Join(root, base, dir, "memory.stat")), 0)
				out = append(out, Limit{maxFile + " of cgroup " + dir, limit, use})
			}
			if dir == "/" {
				break
			}
		}
	}
	return out
}

// filePages is the page cache of a cgroup in bytes, from its memory.stat.
// Shared memory is not in it. Version 1 has the sums over children under
// names of their own, to match its usage_in_bytes.
func filePages(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	stat := map[string]int64{}
	for _, line := range strings.Split(string(b), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			stat[key] = n
		}
	}
	if n, ok := stat["total_inactive_file"]; ok {
		return n + stat["total_active_file"]
	}
	return stat["inactive_file"] + stat["active_file"]
}

func readNumber(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
