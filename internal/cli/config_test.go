// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/config"
)

func runCamd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Execute(t.Context(), NewCamd(), args, &out, &errs)
	return code, out.String(), errs.String()
}

const someConfig = `log:
  level: warn
cameras:
  test:
    kind: pattern
    size: 64x48
    rate: 5
`

func configFile(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("camd.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "camd.yaml"
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		yaml   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"fine", someConfig, nil, 0, "camd.yaml: ok, 1 camera\n", ""},
		{"no file", "", []string{"-c", ""}, 0, "no file: ok, 0 cameras\n", ""},
		{"with a camera", someConfig, []string{"--camera", "b=pattern"}, 0, "camd.yaml: ok, 2 cameras\n", ""},
		{
			"unknown key", "cameras:\n  test:\n    kind: pattern\n    rat: 5\n", nil, ExitConfig, "",
			"camd: camd.yaml:4:5: unknown key \"rat\" of camera test, did you mean rate?\n     3 |     kind: pattern\n>    4 |     rat: 5\n       |     ^\n",
		},
		{"file that is not there", "", []string{"-c", "none.yaml"}, ExitConfig, "", "camd: invalid configuration: open none.yaml: no such file or directory\n"},
		{"set that makes no sense", someConfig, []string{"--set", "log.level=x"}, ExitConfig, "", "camd: --set log.level: log.level: \"x\": want one of debug, info, warn, error\n"},
		{"camera without its flag", someConfig, []string{"b=pattern"}, ExitUsage, "", "camd: camd check takes no argument, there was \"b=pattern\", did you mean --camera b=pattern?\n"},
		{"user by name", someConfig, []string{"--allow-uid", "root,7"}, 0, "camd.yaml: ok, 1 camera\n", ""},
		{"user that is none", someConfig, []string{"--allow-uid", "no-such-user"}, ExitConfig, "", "camd: --allow-uid: allow_uids: \"no-such-user\": no user has this name; want a name or a number, for example 1000\n"},
		{"empty directory", someConfig, []string{"--runtime-dir", ""}, ExitUsage, "", "camd: invalid argument \"\" for \"--runtime-dir\" flag: must be the path of a directory; \"camd check --help\" lists the flags\n"},
		{"set without a value", someConfig, []string{"--set", "log.level"}, ExitUsage, "", "camd: --set log.level: want key=value, for example log.level=debug\n"},
		{
			"calibration that is none", someConfig + "    camera_info: none.yaml\n", nil, ExitConfig, "",
			"camd: camd.yaml:8:18: camera test: camera_info: open none.yaml: no such file or directory\n     7 |     rate: 5\n>    8 |     camera_info: none.yaml\n       |                  ^\n",
		},
		{
			"Zenoh's file is of something else", someConfig,
			[]string{"--set", "zenoh.config=camd.yaml"},
			ExitConfig, "",
			"camd: --set zenoh.config: zenoh.config: invalid setting: camd.yaml: only JSON5 is read\n",
		},
		{
			"setting of Zenoh without effect", someConfig,
			[]string{"--set", "zenoh.override=adminspace/enabled=true"},
			0, "camd.yaml: ok, 1 camera\n",
			"camd: note: adminspace/enabled: has no effect: not built in (zenoh.override)\n",
		},
		{"camera that is none", someConfig, []string{"--camera", "test"}, ExitUsage, "", "camd: --camera \"test\": there is no = in \"test\", want NAME=KIND[:TARGET][,WxH@R][,key=value...] instead\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := configFile(t, c.yaml)
			code, stdout, stderr := runCamd(t, append([]string{"check", "-c", file}, c.args...)...)
			if code != c.code || stdout != c.stdout || stderr != c.stderr {
				t.Errorf("exit %d, stdout %q, stderr %q\nwant %d, %q, %q", code, stdout, stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

func TestCheckWarnsOfVariables(t *testing.T) {
	file := configFile(t, someConfig)
	t.Setenv("CAMD_LOG_LVEL", "debug")
	code, stdout, stderr := runCamd(t, "check", "-c", file)
	if code != 0 || stdout == "" || stderr != "camd: warning: CAMD_LOG_LVEL: no key of this name, did you mean CAMD_LOG_LEVEL?\n" {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestExplain(t *testing.T) {
	file := configFile(t, someConfig)
	t.Setenv("CAMD_RUNTIME_DIR", "")
	t.Setenv("CAMD_CAMERAS_TEST_SEED", "7")
	for _, name := range []string{"ROS_NAMESPACE", "ZENOH_CONFIG", "ZENOH_SESSION_CONFIG_URI", "ZENOH_CONFIG_OVERRIDE"} {
		t.Setenv(name, "")
	}
	t.Setenv("ROS_DOMAIN_ID", "7")
	code, stdout, stderr := runCamd(t, "explain", "-c", file, "--set", "cameras.test.fault.drop=5%", "--set", "runtime_dir=/run/x")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, line := range []string{
		"KEY                           VALUE               SET BY",
		"runtime_dir                   /run/x              --set runtime_dir",
		"allow_uids                    -                   built-in",
		"log.level                     warn                camd.yaml:2:10",
		"cameras.test.size             64x48               camd.yaml:6:11",
		"cameras.test.required         true                built-in",
		"cameras.test.seed             7                   CAMD_CAMERAS_TEST_SEED",
		"cameras.test.fault.drop       5%                  --set cameras.test.fault.drop",
		"cameras.test.frame_id         test_optical_frame  built-in",
		"zenoh.connect                 tcp/localhost:7447  built-in",
		"ros2.domain                   7                   ROS_DOMAIN_ID",
		"cameras.test.jpeg.quality     90                  built-in",
	} {
		if !strings.Contains(stdout, line+"\n") {
			t.Errorf("no line %q in\n%s", line, stdout)
		}
	}

	code, stdout, _ = runCamd(t, "explain", "-c", file, "--format", "json")
	var got []config.Setting
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	want := config.Setting{Key: "log.level", Value: "warn", Set: config.Origin{Layer: config.File, Name: "camd.yaml", Line: 2, Column: 10}, Env: "CAMD_LOG_LEVEL"}
	if got[2] != want || got[0].Key != "runtime_dir" || got[0].Value == "" || got[0].Set.Layer != config.BuiltIn {
		t.Errorf("%+v", got[:3])
	}
	if code, stdout, _ := runCamd(t, "explain", "-c", file, "--set", "nix=1"); code != ExitConfig || stdout != "" {
		t.Errorf("unknown key: exit %d, %q", code, stdout)
	}
}

func TestRunRefusesAWrongConfiguration(t *testing.T) {
	file := configFile(t, "cameras:\n  a: v4l2:/dev/x\n  b: v4l2:/dev/x\n")
	code, stdout, stderr := runCamd(t, "run", "-c", file, "--runtime-dir", t.TempDir(), "--allow-uid", "1", "--allow-uid", "2")
	if code != ExitConfig || stdout != "" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	mustContain(t, "stderr", stderr, "camd.yaml:3:6: camera b is on the device of a, /dev/x")
}
