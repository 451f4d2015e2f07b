// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink of two slots that counts. The guard calls it one call at a
// time; with -race that is checked here, as nothing is locked.
type recorder struct {
	calls, held, dropped, misuse int
	frames                       []Stamp
	current                      *recorderWriter
}

type recorderWriter struct {
	r     *recorder
	f     Format
	slots [2]Slot
	out   [2]bool
}

func (r *recorder) Open(_ string, f Format) (Writer, error) {
	r.calls++
	if r.current != nil && r.current.f == f {
		return r.current, nil
	}
	if r.held > 0 {
		r.misuse++
	}
	w := &recorderWriter{r: r, f: f}
	for i := range w.slots {
		w.slots[i] = Slot{Index: i, Data: make([]byte, f.Geometry.Size())}
	}
	r.current = w
	return w, nil
}

func (w *recorderWriter) Acquire() (*Slot, error) {
	w.r.calls++
	for i := range w.slots {
		if !w.out[i] {
			w.out[i] = true
			w.r.held++
			return &w.slots[i], nil
		}
	}
	return nil, ErrNoSlot
}

func (w *recorderWriter) back(s *Slot) {
	w.r.calls++
	if w.r.current != w || !w.out[s.Index] {
		w.r.misuse++
		return
	}
	w.out[s.Index] = false
	w.r.held--
}

func (w *recorderWriter) Commit(s *Slot, st Stamp) {
	w.back(s)
	w.r.frames = append(w.r.frames, st)
}

func (w *recorderWriter) Discard(s *Slot) { w.back(s) }

func (w *recorderWriter) Drop(n int, _ DropReason) {
	w.r.calls++
	w.r.dropped += n
}
