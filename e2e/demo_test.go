// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDemo runs what make demo runs, without a GPU and with a simulated one.
// Each must end by itself and say what its subscribers saw.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cuda string
		want       []string // lines, as regular expressions
	}{
		{"plain", "0", []string{`^1 +\d+ +\d`, `^2 +\d+ +\d`, `^\S+/\S+ +\d+x\d+ `}},
		{"simulated", "sim", []string{
			`^simulated: camsub +cuda +[1-9]\d* +\d+ +0$`,
			`^simulated: camsub +shm +[1-9]\d* +\d+ +0$`,
			`^simulated: reader \(C\) +cuda +[1-9]\d* +\d+ +0$`,
			`^simulated: SIMULATED GPU 0 +ready +GPU-`,
			`^simulated: \S+/\S+ +\d+ .* yes `, // uploaded, out of a pinned ring
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("cc"); err != nil && tt.cuda == "sim" && os.Getenv("CI") != "true" {
				t.Skip("no C compiler for the simulated driver")
			}
			out := t.TempDir()
			p := start(t, []with{withEnv("CUDA="+tt.cuda, "CLIP=", "DURATION=2s", "BIN="+filepath.Dir(built.camd), "OUT="+out)}, "sh", "../scripts/demo.sh")
			if code := p.wait(); code != 0 {
				t.Fatalf("exit code %d; it said:\n%s%s", code, p.out, p.err)
			}
			for _, want := range tt.want {
				if !regexp.MustCompile(`(?m)` + want).MatchString(p.out.String()) {
					t.Errorf("no line is like %q in:\n%s", want, p.out)
				}
			}
			log, err := os.ReadFile(filepath.Join(out, "camd.log"))
			if err != nil || !strings.Contains(string(log), "camd stopped") {
				t.Errorf("camd was not stopped, error %v:\n%s", err, log)
			}
		})
	}
}
