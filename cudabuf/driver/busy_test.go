// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os/exec"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// A call that hangs can be seen, by whose it is and as what, and keeps no
// program from being started.
func TestBusy(t *testing.T) {
	if !dl.Available {
		t.Skip("built without libraries")
	}
	if !alone.Run(t) {
		return
	}
	dir := sim.Setenv(t, sim.Options{})
	d, err := Open(sim.Build(t))
	if err != nil {
		t.Fatal(err)
	}
	devices, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	th, err := d.Start(devices[0], "one of two")
	if err != nil {
		t.Fatal(err)
	}
	if call, age := Busy(""); call != "" || age != 0 {
		t.Errorf("%s runs for %v", call, age)
	}
	sim.Inject(t, dir, "cuMemExportToShareableHandle:1:-60")
	done := make(chan error, 1)
	go func() {
		done <- th.Do(func() error {
			unit, err := th.Granularity()
			if err != nil {
				return err
			}
			h, err := th.MemCreate(unit)
			if err != nil {
				return err
			}
			_, err = th.ExportFD(h)
			return err
		})
	}()
	for end := time.Now().Add(20 * time.Second); ; {
		if call, _ := Busy("one of two"); call == "cuMemExportToShareableHandle" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the call is not seen")
		}
	}
	if call, _ := Busy("another"); call != "" {
		t.Errorf("%s is taken for another's", call)
	}
	if err := exec.Command("true").Run(); err != nil {
		t.Error(err)
	}
	if call, age := Busy(""); call != "cuMemExportToShareableHandle" || age <= 0 {
		t.Errorf("after starting a program: %q for %v", call, age)
	}
	sim.Inject(t, dir, "")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := th.Close(); err != nil {
		t.Error(err)
	}
}
