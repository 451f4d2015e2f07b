// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// A configuration that makes no sense is no router that is not there, whoever
// gives it; a flag that cannot be read is a wrong command line.
func TestWrongNetworkSettings(t *testing.T) {
	dir := t.TempDir()
	fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "f.json5")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{ transport: { link: { tls: { root_ca_certificate: "`+fifo+`" } } }, connect: { endpoints: ["tls/127.0.0.1:1"] } }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, variable, value string
		args                  []string
		code                  int
		want, not             string
	}{
		{"domain", "ROS_DOMAIN_ID", "-1", nil, ExitConfig, `ROS_DOMAIN_ID="-1"`, ""},
		{"no file", config.EnvFile, "/nope", nil, ExitConfig, "$" + config.EnvFile + ": open /nope", ""},
		{"pipe", config.EnvFile, fifo, nil, ExitConfig, "is a pipe to which nobody writes", ""},
		{"override", config.EnvOverride, "garbage", nil, ExitConfig, `$` + config.EnvOverride + `: "garbage"`, ""},
		{"override beside a flag", config.EnvOverride, "garbage", []string{"--connect", "tcp/127.0.0.1:1"}, ExitConfig, `"garbage"`, ""},
		{"endpoint of the override", config.EnvOverride, `connect/endpoints=["tcp/x:99999"]`, nil, ExitConfig, "port 99999", ""},
		{"device by flag", "", "", []string{"--zenoh-config", "/dev/zero"}, ExitConfig, "--zenoh-config: unreadable file: /dev/zero is not a regular file", config.EnvFile},
		{"endpoint by flag", "", "", []string{"--connect", "garbage"}, ExitUsage, `--connect: invalid endpoint: "garbage"`, ""},
	} {
		for _, command := range [][]string{{"list"}, {"hz", "/a/b"}, {"info", "/a/b"}} {
			t.Run(c.name+" "+command[0], func(t *testing.T) {
				t.Setenv("CAMD_RUNTIME_DIR", dir)
				t.Setenv("ROS_DOMAIN_ID", "")
				t.Setenv(config.EnvFile, "")
				t.Setenv(config.EnvFileAny, "")
				if c.variable != "" {
					t.Setenv(c.variable, c.value)
				}
				var out, errs bytes.Buffer
				code := Execute(t.Context(), NewCamsub(), append(command, c.args...), &out, &errs)
				if code != c.code || !strings.Contains(errs.String(), c.want) || c.not != "" && strings.Contains(errs.String(), c.not) {
					t.Errorf("exit code %d, %s; want %d, %q", code, errs.String(), c.code, c.want)
				}
			})
		}
	}
	t.Run("certificate that is a pipe", func(t *testing.T) {
		t.Setenv(config.EnvOverride, "")
		var out, errs bytes.Buffer
		if code := Execute(t.Context(), NewCamsub(), []string{"hz", "/a/b", "--zenoh-config", file}, &out, &errs); code != ExitConfig {
			t.Errorf("exit code %d, %s", code, errs.String())
		}
	})
}
