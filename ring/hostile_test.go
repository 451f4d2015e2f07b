// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"testing"
)

func TestHostilePage(t *testing.T) {
	cases := map[string]func(*View){
		"return of a word never granted": func(v *View) { v.Release(makeWord(1<<40, 1)) },
		"return of zero":                 func(v *View) { v.Release(0) },
		"head far ahead":                 func(v *View) { v.page.u32(pageHead).Store(1 << 31) },
		"head behind":                    func(v *View) { v.page.u32(pageHead).Store(^uint32(0)) },
		"forged mailbox":                 func(v *View) { v.page.u64(pageMailbox).Store(0xdeadbeef) },
		"same word twice": func(v *View) {
			w := Word(v.page.u64(pageMailbox).Load())
			v.Release(w)
			v.Release(w)
		},
	}
	for name, attack := range cases {
		t.Run(name, func(t *testing.T) {
			rg := newRig(t, nil)
			bad, v := rg.open(2, -1)
			_, good := rg.open(2, -1)
			rg.publish()
			attack(v)
			for range 10 {
				l := wantFrame(t, good, rg.publish())
				good.Release(l.Word)
			}
			<-bad.Done()
			if !errors.Is(bad.Err(), ErrMisbehaved) {
				t.Errorf("ended with %v, want ErrMisbehaved", bad.Err())
			}
			bad.Remove()
			if u := rg.Usage(); u.Leased > 1 {
				t.Errorf("%d slots leased after the bad reader left: %+v", u.Leased, u)
			}
		})
	}
}

func FuzzHostilePage(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, uint16(pageMailbox))
	f.Add([]byte{255, 255, 255, 255}, uint16(pageHead))
	f.Fuzz(func(t *testing.T, junk []byte, offset uint16) {
		rg := newRig(t, nil)
		_, bad := rg.open(2, -1)
		_, good := rg.open(2, -1)
		for i := range 8 {
			seq := rg.publish()
			if i%2 == 0 {
				var l Lease
				_, _ = bad.Take(&l) // whatever it finds, it must not crash
			}
			if len(junk) > 0 {
				copy(bad.page[int(offset)%len(bad.page):], junk[i%len(junk):])
			}
			good.Release(wantFrame(t, good, seq).Word)
		}
		if n := rg.Stats().NoSlot; n != 0 {
			t.Errorf("%d frames found no slot", n)
		}
	})
}

// FuzzView gives the reader's side a header and a mailbox that no writer would
// make: it may refuse them, it must not crash or hand out memory beyond a slot.
func FuzzView(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(hdrSlots), uint64(5<<8|1))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255}, uint16(recordStart+recBytes), uint64(1<<8|1))
	f.Add([]byte{}, uint16(0), uint64(1<<8|255))
	f.Fuzz(func(t *testing.T, junk []byte, offset uint16, word uint64) {
		rg := newRig(t, nil)
		_, v := rg.open(2, -1)
		rg.publish()
		h := rg.hdr.Data
		copy(h[int(offset)%len(h):], junk)
		v.page.u64(pageMailbox).Store(word)
		var l Lease
		if ok, err := v.Take(&l); ok && err == nil {
			if int64(len(l.Data)) > v.layout.StrideBytes || l.Meta.Bytes != len(l.Data) {
				t.Errorf("%d bytes from a slot of %d", len(l.Data), v.layout.StrideBytes)
			}
			v.Release(l.Word)
		}
		_ = v.checkHeader()
	})
}
