// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
)

// plotProgram draws the pictures of a run. It is a program and a module of its
// own, so that camsub carries no drawing library.
const plotProgram = "camsub-plot"

// plot draws if the program is there, else says how to get it.
func (b *benchRun) plot(dir string) {
	path, err := findPlot()
	if err != nil {
		b.notes.say("no pictures: %s is not beside camsub and not in PATH; make build in the source tree makes it", plotProgram)
		return
	}
	cmd := exec.CommandContext(b.cmd.Context(), path, dir)
	cmd.Stderr = b.cmd.ErrOrStderr()
	if err := cmd.Run(); err != nil {
		b.notes.say("no pictures: %s: %v", path, err)
	}
}

func findPlot() (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), plotProgram)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return exec.LookPath(plotProgram)
}
