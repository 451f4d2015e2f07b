// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionText(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	for name, tc := range map[string]struct {
		linked string
		info   debug.BuildInfo
		want   string
	}{
		"nothing known": {"", debug.BuildInfo{GoVersion: "go1"}, "camd devel (go1, " + platform + ")"},
		"checkout":      {"", debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "camd devel 0123456789ab+changes (go1, " + platform + ")"},
		"module":        {"", debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "v1.2.3"}}, "camd v1.2.3 (go1, " + platform + ")"},
		"linker":        {"1.2.4", debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "v1.2.3"}}, "camd 1.2.4 (go1, " + platform + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf("camd", tc.linked, &tc.info).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestVersionCommand(t *testing.T) {
	code, stdout, stderr := newFake(t).run(t, "version", "--format", "json")
	var v Version
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit %d, stderr %q, %v", code, stderr, err)
	}
	if v.Program != "camsub" || v.Go != runtime.Version() {
		t.Errorf("got %+v", v)
	}
	for _, arg := range []string{"version", "--version"} {
		if _, stdout, _ := newFake(t).run(t, arg); stdout != v.String()+"\n" {
			t.Errorf("%s: got %q, want %q", arg, stdout, v)
		}
	}
}
