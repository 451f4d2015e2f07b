// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "testing"

func BenchmarkImage(b *testing.B) {
	m := Image{
		Header: Header{stamp, "front_optical_frame"}, Height: 1080, Width: 1920, Encoding: "rgb8", Step: 5760,
		Data: make([]byte, 1080*5760),
	}
	b.Run("Prefix", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 256)
		for b.Loop() {
			buf = m.AppendPrefix(buf[:0], len(m.Data))
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		payload := m.AppendCDR(nil)
		for b.Loop() {
			if err := m.DecodeCDR(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
}
