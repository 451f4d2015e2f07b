package check

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestProbe(t *testing.T) {
	for _, c := range []Config{
		{Frames: 3, Credit: 1, Kills: true},
		{Frames: 3, Credit: 1},
		{Frames: 4, Credit: 1},
		{Frames: 3, Credit: 1, OneThread: true},
		{Frames: 4, Credit: 1, OneThread: true},
		{Frames: 4, Credit: 1, OneThread: true, Kills: true},
		{Frames: 0, Credit: 1, OneThread: true},
		{Frames: 0, Credit: 1, OneThread: true, Kills: true},
	} {
		s := time.Now()
		c.MaxStates = 25000000
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		res, err := Run(ctx, c)
		cancel()
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		t.Logf("%+v: %+v %v %dMB", c, res, time.Since(s), ms.Sys>>20)
		if err != nil {
			t.Log(err)
		}
	}
}
