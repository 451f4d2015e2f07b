// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestMemoryLimits(t *testing.T) {
	const v2 = "sys/fs/cgroup"
	const v1 = "sys/fs/cgroup/memory"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []Limit
	}{
		{"nothing to read", nil, nil},
		{"host alone", map[string]string{
			"proc/meminfo": "MemTotal:       16000 kB\nMemAvailable:    9000 kB\n",
		}, []Limit{{"memory of the host (MemAvailable)", 9000 * 1024, 0}}},
		{"version 2, own and parent's", map[string]string{
			"proc/self/cgroup":                             "0::/user.slice/camd.service\n",
			v2 + "/user.slice/camd.service/memory.max":     "67108864\n",
			v2 + "/user.slice/camd.service/memory.current": "4096\n",
			v2 + "/user.slice/memory.max":                  "134217728\n",
			v2 + "/user.slice/memory.current":              "8192\n",
		}, []Limit{
			{"memory.max of cgroup /user.slice/camd.service", 67108864, 4096},
			{"memory.max of cgroup /user.slice", 134217728, 8192},
		}},
		{"version 2 without a limit", map[string]string{
			"proc/self/cgroup":       "0::/a\n",
			v2 + "/a/memory.max":     "max\n",
			v2 + "/a/memory.current": "4096\n",
		}, nil},
		{"version 2 inside a container, whose root carries the limit", map[string]string{
			"proc/self/cgroup":     "0::/\n",
			v2 + "/memory.max":     "67108864\n",
			v2 + "/memory.current": "1048576\n",
		}, []Limit{{"memory.max of cgroup /", 67108864, 1048576}}},
		{"version 2, process outside of the namespace's root", map[string]string{
			"proc/self/cgroup": "0::/../b\n",
			v2 + "/memory.max": "67108864\n",
		}, []Limit{{"memory.max of cgroup /", 67108864, 0}}},
		{"version 2, file pages are not in use", map[string]string{
			"proc/self/cgroup":       "0::/a\n",
			v2 + "/a/memory.max":     "67108864\n",
			v2 + "/a/memory.current": "67000000\n",
			v2 + "/a/memory.stat":    "anon 1000000\nfile 65000000\nshmem 1000000\ninactive_file 60000000\nactive_file 4000000\n",
		}, []Limit{{"memory.max of cgroup /a", 67108864, 3000000}}},
		{"version 1", map[string]string{
			"proc/self/cgroup":                       "12:cpu,cpuacct:/x\n7:memory:/docker/abc\n1:name=systemd:/x\n",
			v1 + "/docker/abc/memory.limit_in_bytes": "33554432\n",
			v1 + "/docker/abc/memory.usage_in_bytes": "5000\n",
			v1 + "/memory.limit_in_bytes":            "9223372036854771712\n",
			v1 + "/memory.usage_in_bytes":            "7000\n",
		}, []Limit{{"memory.limit_in_bytes of cgroup /docker/abc", 33554432, 5000}}},
		{"version 1 inside a container, whose own path is not mounted", map[string]string{
			"proc/self/cgroup":            "7:cpuset,memory:/docker/abc\n",
			v1 + "/memory.limit_in_bytes": "33554432\n",
			v1 + "/memory.usage_in_bytes": "5000\n",
			v1 + "/memory.stat":           "inactive_file 1\nactive_file 1\ntotal_inactive_file 1000\ntotal_active_file 500\n",
		}, []Limit{{"memory.limit_in_bytes of cgroup /", 33554432, 3500}}},
		{"both versions, memory in the first", map[string]string{
			"proc/self/cgroup":              "7:memory:/a\n0::/b\n",
			v1 + "/a/memory.limit_in_bytes": "33554432\n",
		}, []Limit{{"memory.limit_in_bytes of cgroup /a", 33554432, 0}}},
		{"nonsense", map[string]string{
			"proc/self/cgroup":   "nonsense\n0\n::\n0::/a\n",
			v2 + "/a/memory.max": "many\n",
			"proc/meminfo":       "MemAvailable:\n",
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []Limit
			for _, l := range memoryLimits(writeTree(t, c.files)) {
				if !strings.HasPrefix(l.Name, "RLIMIT_AS") { // of the test's own process
					got = append(got, l)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit Limit
		want  int64
	}{
		{"some", Limit{Max: 10, Inuse: 3}, 7},
		{"full", Limit{Max: 10, Inuse: 10}, 0},
		{"over", Limit{Max: 10, Inuse: 12}, 0},
	} {
		if got := c.limit.Room(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestLimitsOfThisHost(t *testing.T) {
	if n := FileLimit(); n < 3 {
		t.Errorf("limit of %d open files", n)
	}
	if n := addressSpace("/"); n < int64(PageSize) {
		t.Errorf("address space of %d bytes", n)
	}
	if _, ok := meminfo("/", "MemAvailable"); !ok {
		t.Error("MemAvailable of this host is not found")
	}
}
