// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// afterwardsVariable has the helper go on when its GPU fails.
const afterwardsVariable = "CAMD_TEST_GPU_AFTERWARDS"

// goOn takes frames until one comes by another path than cuda, or the
// subscription ends, and says so in r.
func goOn(ctx context.Context, r *helperResult, dev *Device, s *Subscription) error {
	dst := make([]byte, testWidth*testHeight)
	for {
		f, err := s.Next(ctx)
		if err != nil {
			r.Refused = err.Error()
			return nil
		}
		_, err = f.CopyToHost(dst)
		r.Lost = r.Lost || errors.Is(err, ErrLost)
		r.Sequence = f.Meta().Sequence
		by := s.Path().Backend
		if err == nil && by == shm {
			r.Whole = dst[0] == byte(r.Sequence) && dst[len(dst)-1] == byte(r.Sequence)
		}
		if err := f.Release(); err != nil && !errors.Is(err, ErrLost) {
			return err
		}
		if by == shm {
			r.Path = s.Path()
			var h negotiate.Hello
			dev.Hello(&h)
			r.Told = h.DeviceReason
			return nil
		}
	}
}

// A subscription leaves a GPU that fails below it, and goes on by the next path
// or, if it may not, ends. What the GPU may still read is not given back.
func TestLeavesLostGPU(t *testing.T) {
	for name, tc := range map[string]struct {
		require negotiate.Backend
		offers  []negotiate.Backend
	}{
		"the next path":    {offers: []negotiate.Backend{cuda, shm}},
		"no other allowed": {require: cuda, offers: []negotiate.Backend{cuda}},
	} {
		t.Run(name, func(t *testing.T) {
			rules(t)
			d := newDaemon(t, tc.offers...)
			env, _ := sim.Env(t, sim.Options{Dir: simDir, Profile: "two-gpus", Fail: "op:2:719"}) // the first one is the probe
			env = append(env, EnvLibrary+"="+sim.Build(t), helperVariable+"="+d.dir, requireVariable+"="+string(tc.require), afterwardsVariable+"=1")
			r := run(t, d, env)
			excepted = append(excepted, r.PID)
			if !r.Lost {
				t.Errorf("the GPU was not lost: %+v", r)
			}
			if tc.require == "" && (r.Path.Backend != shm || !r.Whole || r.Told != negotiate.ReasonGPULost || len(r.Path.Rejected) != 1 || r.Path.Rejected[0].Reason != negotiate.ReasonGPULost) {
				t.Errorf("got %+v", r)
			}
			if tc.require != "" && r.Refused == "" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func notLost(err error) error {
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}
