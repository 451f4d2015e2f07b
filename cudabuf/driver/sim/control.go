// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// controlSize is that of struct control in libcuda/run.c, in bytes.
const controlSize = 4096

// Inject gives a plan of failures to all processes of a run, in the place of
// the plan before. A plan is a list with commas between its words:
//
//	cuMemCreate:3:2   the third call of cuMemCreate from now on returns 2 (3+: all
//	                  from the third; 0: all)
//	cuMemUnmap:1:-30  the next call of cuMemUnmap takes 30 seconds, or until
//	                  another plan comes
//	op:5:719          the fifth operation given to a stream breaks with 719,
//	                  which a later call tells; the GPU is lost then
//	lost:719          the GPU is lost at the process's next call
//	hang              operations do not finish any more
//	oom               there is no memory left
//	pid:N             the plan is for the process N only
//
// "" ends it; a lost GPU stays lost.
func Inject(t testing.TB, dir, plan string) {
	t.Helper()
	name := filepath.Join(dir, "control")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, controlSize)
	if _, err := f.ReadAt(text, 0); err != nil {
		if err := f.Truncate(controlSize); err != nil {
			t.Fatal(err)
		}
	}
	generation := binary.NativeEndian.Uint32(text) + 1
	clear(text)
	if copy(text[4:controlSize-1], plan) != len(plan) {
		t.Fatalf("plan of %d bytes", len(plan))
	}
	if _, err := f.WriteAt(text[4:], 4); err != nil {
		t.Fatal(err)
	}
	binary.NativeEndian.PutUint32(text, generation)
	if _, err := f.WriteAt(text[:4], 0); err != nil {
		t.Fatal(err)
	}
}
