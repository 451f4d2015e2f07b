// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// geometry is the layout with pad bytes behind each row.
func geometry(t testing.TB, e frame.Encoding, width, height, pad int) frame.Geometry {
	t.Helper()
	g, err := frame.NewGeometry(e, width, height)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = frame.NewGeometryStep(e, width, height, g.Step+pad); err != nil {
		t.Fatal(err)
	}
	return g
}

// wide is the layout of 16-bit samples with their byte order and used bits.
func wide(t testing.TB, e frame.Encoding, width, height, pad int, big bool, bits int) frame.Geometry {
	t.Helper()
	g := geometry(t, e, width, height, pad)
	g.BigEndian, g.Bits = big, bits
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

// noise fills a frame, padding included, with every value there is. Samples of
// 16 bits keep to the bits that are used.
func noise(g frame.Geometry, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, g.Size())
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for y := 0; g.Bits != 0 && y < g.Height; y++ {
		for x := range g.Width {
			high := y*g.Step + 2*x + 1
			if g.BigEndian {
				high--
			}
			data[high] &= 1<<(g.Bits-8) - 1
		}
	}
	return data
}

// padding is what tests fill destinations with, to see what was written.
const padding = 0xa5

func blank(g frame.Geometry) []byte {
	data := make([]byte, g.Size())
	for i := range data {
		data[i] = padding
	}
	return data
}

// paddingKept reports the first byte between rows that was written; -1 = none.
func paddingKept(g frame.Geometry, data []byte) int {
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		for y := range p.Rows {
			for at := p.Offset + y*p.Step + p.RowBytes; at < p.Offset+(y+1)*p.Step; at++ {
				if data[at] != padding {
					return at
				}
			}
		}
	}
	return -1
}
